//go:build amd64

package tracer

import (
	"runtime"
	"runtime/debug"
	"testing"
)

//go:noinline
func useStack(n int) byte {
	var block [4096]byte
	for i := range block {
		block[i] = byte(i ^ n)
	}
	if n > 1 {
		return useStack(n-1) + block[n&4095]
	}
	return block[7]
}

// grown calls f on a stack that has room for 400 KiB.
//
//go:noinline
func grown(f func()) {
	useStack(100)
	f()
}

func TestMeasureCall(t *testing.T) {
	// A collection shrinks stacks, which moves them: no collection may begin or run.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	done := make(chan bool)
	go func() {
		defer close(done)
		grown(func() {
			// Take the least of several: the runtime may preempt one, on the same stack.
			empty := ^uintptr(0)
			for range 10 {
				if used, ok := Measure(func() {}); ok {
					empty = min(empty, used)
				}
			}
			if empty != 8 {
				t.Errorf("Measure of nothing = %d; want 8, the return address", empty)
			}
			last := uintptr(0)
			for n := 1; n < 20; n++ {
				used, ok := Measure(func() { captureSink += int(useStack(n)) })
				if want := uintptr(n) * 4096; !ok || used < want || used > want+uintptr(n)*128+512 {
					t.Errorf("Measure of %d blocks of 4096 bytes = %d, %v", n, used, ok)
				}
				if n > 2 && used-last > 4096+128 {
					t.Errorf("one block more took %d bytes", used-last)
				}
				last = used
			}
		})
	}()
	<-done
	// A stack that has to grow moves, and is not measured.
	moved := make(chan bool)
	go func() {
		_, ok := Measure(func() { captureSink += int(useStack(300)) })
		moved <- ok
	}()
	if <-moved {
		t.Error("Measure of a call that moved the stack says that it knows")
	}
}

func TestNeed(t *testing.T) {
	res := make(chan [3]bool)
	go func() {
		grown(func() {
			res <- [3]bool{Need(0), Need(100 << 10), Need(1 << 40)}
		})
	}()
	if got := <-res; got != [3]bool{true, true, false} {
		t.Errorf("Need of 0, 100 KiB, 1 TiB = %v", got)
	}
}
