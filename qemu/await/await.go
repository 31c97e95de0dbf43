// Package await is how tests wait: for what is sent, which wakes them ([Log]), never for a
// time. What sends no message is asked again and again ([Poll]), and that is the one place
// that sleeps. The limit is so wide that only what hangs meets it, on a busy host, too.
//
// It is for tests only, and imports nothing of ours. Context: the host.
package await

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a test waits for what does not come.
const Patience = 5 * time.Minute

// A Log is what a guest, or a program, has sent. The zero value is empty. Its methods may
// be called from any goroutine, those that take a test only from the test's own.
type Log struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	more  chan struct{} // closed when there is more, or the end
	ended bool
}

// Write adds to the log and wakes who waits.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	l.wake()
	return len(p), nil
}

// End says that nothing more can come.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.wake()
}

func (l *Log) wake() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// String returns what has been sent so far.
func (l *Log) String() string {
	s, _, _ := l.Now()
	return s
}

// Now returns what has been sent, a channel that is closed when there is more, and whether
// that was all.
func (l *Log) Now() (sent string, more <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return l.buf.String(), l.more, l.ended
}

// Until waits until what has been sent is as wanted, and returns it. The words say what is
// wanted.
func (l *Log) Until(t testing.TB, wanted func(sent string) bool, format string,
	args ...any) string {
	t.Helper()
	timeout := time.NewTimer(Patience)
	defer timeout.Stop()
	for {
		sent, more, ended := l.Now()
		if wanted(sent) {
			return sent
		}
		if ended {
			t.Fatalf("the end has come after %q; want %s", last(sent), fmt.Sprintf(format, args...))
		}
		select {
		case <-more:
		case <-timeout.C:
			t.Fatalf("what has come is %q; want %s", last(sent), fmt.Sprintf(format, args...))
		}
	}
}

// For waits until s has been sent.
func (l *Log) For(t testing.TB, s string) { t.Helper(); l.Times(t, s, 1) }

// Times waits until s has been sent n times.
func (l *Log) Times(t testing.TB, s string, n int) {
	t.Helper()
	l.Until(t, func(sent string) bool { return strings.Count(sent, s) >= n },
		"%q in it, %d times", s, n)
}

// last returns the end of what has been sent.
func last(sent string) string { return sent[max(0, len(sent)-2000):] }

// Poll asks again and again until the answer is yes. It is for what nobody sends a message
// of: that a processor has halted, what QEMU has drawn, what another process has opened or
// written. It leaves the others twice the time that the question takes.
func Poll(t testing.TB, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); ; {
		asked := time.Now()
		if yes() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", Patience, what)
		}
		time.Sleep(max(10*time.Millisecond, 2*time.Since(asked)))
	}
}
