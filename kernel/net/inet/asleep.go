package inet

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/zeroframe/zeroframe/arch"
)

// The runtime says that all goroutines are asleep when no thread of its own has anything to do. One
// always waits for events of descriptors while any goroutine does, as those of this package do. So
// at times, when no other goroutine waits for a descriptor, they are left out of the runtime's
// count for a moment: a program that nothing can wake ends then, as it does without a network.
// Whether something can, such as a timer, the runtime decides itself.

const (
	firstLook    = time.Second
	longestLook  = 16 * time.Second // between one look and the next
	firstTrial   = time.Millisecond // in the first ones, a thread may wait for events since before
	longestTrial = 32 * time.Millisecond
	maxTrace     = 1 << 20
)

// findAsleep goes on for as long as the program runs.
func (n *network) findAsleep() {
	a, err := newAlarm()
	if err != nil {
		return
	}
	count := arch.PollWaiters()
	for wait := firstLook; ; wait = min(2*wait, longestLook) {
		<-n.clock.after(wait)
		ours := uint32(n.waiting.Load())
		if !n.over.Load() {
			ours += uint32(n.streams.Load())
		}
		if atomic.LoadUint32(count) != ours || !onlyOurs(int(ours)) {
			continue
		}
		atomic.AddUint32(count, -ours)
		for trial := firstTrial; trial <= longestTrial; trial *= 2 {
			a.set(trial)
			atomic.AddUint32(count, ^uint32(0))
			a.wait()
			atomic.AddUint32(count, 1)
		}
		atomic.AddUint32(count, ours)
	}
}

// onlyOurs reports whether the goroutines that wait for a descriptor are those of this package,
// want in number, and none is in a system call, which would keep the runtime from looking for
// events.
func onlyOurs(want int) bool {
	b := make([]byte, maxTrace)
	n := runtime.Stack(b, true)
	if n == len(b) {
		return false
	}
	for _, g := range bytes.Split(b[:n], []byte("\n\n")) {
		_, state, _ := bytes.Cut(g, []byte("["))
		switch {
		case bytes.HasPrefix(state, []byte("syscall")):
			return false
		case bytes.HasPrefix(state, []byte("IO wait")):
			if !bytes.Contains(g, []byte("\ncreated by github.com/zeroframe/zeroframe/kernel/net/inet.")) {
				return false
			}
			want--
		}
	}
	return want == 0
}
