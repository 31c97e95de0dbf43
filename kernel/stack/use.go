package stack

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// How much of the stacks is used, for programs that ask: the marks since boot or the last reset,
// and the use of one call.

// All measures the kernel's stacks and returns their table: names, bounds, limits, and as Used the
// most bytes that were in use at a time since boot or [Reset]. It is the kernel's own table: do not
// write to it. Any context; it takes a few instructions for each page that is still all paint, and
// two for each unused word of the others.
func All() []tracer.Stack {
	on := holdInterrupts()
	for i := range Table[:Count] {
		Measure(&Table[i])
	}
	allowInterrupts(on)
	return Table[:Count]
}

// MeasureCall calls fn and returns how many bytes of the running stack it used: see
// [tracer.Measure]. The stack's earlier mark is kept. Early and kernel context.
func MeasureCall(fn func()) (bytes uintptr, ok bool) {
	All()
	return tracer.Measure(fn)
}

// Reset restarts the stacks' marks: memory that is not in use now is painted, and only what is in
// use counts. Any context. If a walk cannot tell which stacks are in use, it changes nothing and
// returns false.
func Reset() bool {
	on := holdInterrupts()
	ok := resetStacks(arch.FramePointer())
	allowInterrupts(on)
	return ok
}

// belowLive is how far below a live stack pointer, in bytes, painting stops, because the frames of
// the painting functions are there.
const belowLive = 1024

//go:noinline
func resetStacks(fp uintptr) bool {
	percpu.AssertLocked()
	// A goroutine runs on none of them.
	var live [Count]uintptr
	if arch.OnFakeG() {
		saved, ra := arch.FrameRecord(fp)
		w := Walk(ra, fp+16, saved, false)
		if !w.End.Complete() {
			return false
		}
		for i := range w.N {
			if f := &w.Frames[i]; f.Stack >= 0 && int(f.Stack) < Count && live[f.Stack] == 0 {
				sp := f.SP
				if f.Kind != tracer.PC {
					sp = fp // of the first frame, on the running stack
				}
				live[f.Stack] = sp
			}
		}
	}
	for i := range live {
		s := &Table[i]
		hi := s.Hi
		if sp := live[i]; s.Contains(sp) {
			hi = max(s.Lo, sp-min(belowLive, sp-s.Lo)) &^ 7
		}
		tracer.Paint(s.Lo, hi)
		s.Used = 0
		for p := s.Lo; p < s.Hi; p += arch.PageSize {
			mem.SetDirty(p, p+arch.PageSize > hi)
		}
	}
	warned = 0
	return true
}

func holdInterrupts() (on bool) {
	on = arch.InterruptsEnabled()
	arch.DisableInterrupts()
	return on
}

func allowInterrupts(on bool) {
	if on {
		arch.EnableInterrupts()
	}
}
