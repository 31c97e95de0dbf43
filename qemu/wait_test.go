package qemu

// How tests wait: for what a guest sends, which wakes them, never for a time. The limits
// are so wide that only a guest that hangs meets them, on a busy host, too. Where time is
// the subject, the guest's time is virtual ([virtualTime]).

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// limit ends a machine of a test that hangs, and patience the wait for a guest that says
// nothing. They are never reached otherwise.
const (
	limit    = 2 * patience
	patience = await.Patience
)

// virtualTime are arguments for QEMU: the guest's time is that of the instructions that
// it has run, one a nanosecond, and while it sleeps the time is at once the next timer's.
// So the guest's times are the same in every run and on every host.
var virtualTime = []string{"-icount", "shift=0,sleep=off"}

// untilBegun runs what ends when its time is over. On a host so busy that the program did not say the
// words well before that, at the place where its time is to find it, it is given more.
func untilBegun(words string, run func(limit string, says io.Writer)) {
	for limit := 10 * time.Second; limit < 5*time.Minute; limit *= 3 {
		w := &beginning{words: words, began: time.Now()}
		run(limit.String(), w)
		if w.begun && w.after < limit*3/4 {
			return
		}
	}
}

// A beginning sees after what time words are said.
type beginning struct {
	words string
	said  []byte
	began time.Time
	begun bool
	after time.Duration
}

func (b *beginning) Write(p []byte) (int, error) {
	if b.said = append(b.said, p...); !b.begun && bytes.Contains(b.said, []byte(b.words)) {
		b.begun, b.after = true, time.Since(b.began)
	}
	return len(p), nil
}

// A log is what a guest, or a program, has sent. The zero value is empty.
type log struct{ await.Log }

// waitForTraces waits until that many traces are out.
func (l *log) waitForTraces(t testing.TB, n int) {
	t.Helper()
	l.Until(t, func(sent string) bool { return len(lastLine.FindAllString(sent, -1)) >= n }, "%d traces", n)
}

// waitHalted waits until the processor has halted with interrupts off.
func waitHalted(t testing.TB, vm *VM) {
	t.Helper()
	await.Poll(t, "the processor has halted", func() bool {
		halted, err := vm.Halted()
		if err != nil {
			t.Fatal(err)
		}
		return halted
	})
}

// waitIdle waits until the processor waits for an interrupt: no goroutine runs.
func waitIdle(t testing.TB, vm *VM) {
	t.Helper()
	await.Poll(t, "the processor waits for an interrupt", func() bool {
		regs, err := vm.Registers()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(regs, "HLT=1")
	})
}

// endOf returns the last n bytes of what a guest has sent.
func endOf(sent string, n int) string { return sent[max(0, len(sent)-n):] }
