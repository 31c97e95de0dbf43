package stackid

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/depot"
)

// maxKernel is the largest number of the kernel's frames above a trap frame.
const maxKernel = 64

// maxFrame bounds the size of the kernel's frames in bytes: no stack is larger.
const maxFrame = 32 << 10

// Here returns the ID of the stack for which the kernel works: in a system call or a fault that of
// the program, with the system call's number as its innermost frame. In an interrupt the program's
// stack is there by chance, so the stack is the handler's own, and ends at the trap frame. Before
// the program has started it is the running stack. ok is false, and the ID 0, if there is no depot
// or it is full. Kernel context.
func Here() (id uint32, ok bool) {
	percpu.AssertLocked()
	if !the.Ready() {
		return 0, false
	}
	fp := arch.FramePointer()
	first := fp
	for range maxKernel {
		next, ra := arch.FrameRecord(fp) // the kernel's own frames, upwards on a stack of its own
		if ra == arch.TrapMark {
			f := arch.FrameOf(fp)
			switch {
			case f.Trap == arch.TrapSyscall:
				return Program(f, int(f.Error))
			case f.Trap == arch.TrapPage && f.InKernel():
				// The kernel has accessed the program's memory in a system call.
				fp, first = f.FP, f.FP
				if fp == 0 {
					return 0, false
				}
				continue
			case f.Trap >= arch.TrapInterrupt || f.InKernel():
				return handler(first, fp, uint32(f.Trap))
			}
			return Program(f, -1)
		}
		if next <= fp || next-fp > maxFrame || next%8 != 0 {
			break
		}
		fp = next
	}
	return handler(first, fp, 0)
}

// handler interns the kernel's own frames from the record at first up to the one at last, which is
// a trap frame if the vector is not 0.
func handler(first, last uintptr, vector uint32) (id uint32, ok bool) {
	the.Begin(&packed)
	packed.Walk(first, last+16, 0, first)
	end := tracer.EndZero
	if vector != 0 {
		the.Trap(&packed, vector)
		end = depot.EndCut
	}
	return the.Finish(&packed, end)
}
