//go:build lockcheck

package percpu

import "github.com/zeroframe/zeroframe/arch"

// AssertLocked is for a function that accesses data under the kernel lock: the machine dies if the
// running CPU does not have it. The trace begins at that function.
//
// The lock is not needed with one CPU, before threads run on several, on the panic path, in an NMI,
// and while all other CPUs stand still.
func AssertLocked() {
	if Many {
		This().assertLocked()
	}
}

//go:noinline
func (r *Record) assertLocked() {
	switch fp := arch.FramePointer(); {
	case r.Locked, r.Stage != 0, r.State.Now() != Running, inNMI(fp), r.alone():
	default:
		panic("kernel state is accessed without the kernel lock")
	}
}

// inNMI reports whether a frame record is on the stack of the running CPU's NMIs.
func inNMI(fp uintptr) bool {
	lo, top := arch.TrapStack(arch.TrapStackNMI)
	return fp >= lo && fp < top
}

// alone reports whether no other CPU runs: they stand still for the monitor, or after a death.
func (r *Record) alone() bool {
	for n := range Count() {
		if o := At(n); o != r && o.State.Now() == Running {
			return false
		}
	}
	return true
}
