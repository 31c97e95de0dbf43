package stack

import (
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// Walking stacks: one walker, with the table of stacks and the rules for the Go runtime's
// functions.

// MaxFrames is the limit of a walk. A trace has both ends of a deeper stack.
const (
	InnerFrames = 64
	OuterFrames = 32
	MaxFrames   = InnerFrames + 2*OuterFrames
)

// The walker and its frames. They are slice literals, not slices of arrays, because the compiler
// puts only those into the image. One per CPU.
var (
	Frames = []tracer.Frame{MaxFrames - 1: {}}
	Walker = tracer.Walker{Stacks: Table, Frames: Frames, SPDelta: image.SPDelta,
		Returns: image.Returns, Marks: Marks, Saved: savedState, Switching: switching, Entry: atEntry,
		Unknown: unknownStack}
)

// WalkFrom walks the stacks from an exact pc, or, with call, from a return address. a and b are the
// registers of arch.EntryRegisters at that place. Early and kernel context.
func WalkFrom(call bool, pc, sp, fp, a, b uintptr) {
	startA, startB = a, b
	if call {
		Walker.WalkCaller(pc, sp, fp)
	} else {
		Walker.Walk(pc, sp, fp)
	}
}

// Walk walks the stacks from the return address ra of a call, after which the stack pointer is sp
// and the frame pointer fp; with tables it also reads Go's pc tables for the first frame (see
// tracer.Walker.SPDelta). The result is valid until the next walk. Early and kernel context, not
// inside a trap that can interrupt another walk.
func Walk(ra, sp, fp uintptr, tables bool) *tracer.Walker {
	Walker.Plain = !tables
	Walker.WalkCaller(ra, sp, fp)
	return &Walker
}

// Of returns the row of the kernel's stack that holds the address sp, or nil. Early
// and kernel context.
func Of(sp uintptr) *tracer.Stack {
	for i := range Table[:Count] {
		if s := &Table[i]; s.Contains(sp) {
			return s
		}
	}
	return nil
}

// SetCapture prepares c for walks of a stack through the image's text. Any context.
func SetCapture(c *tracer.Capture, s *tracer.Stack) { c.Set(s, image.TextLo, image.TextHi) }
