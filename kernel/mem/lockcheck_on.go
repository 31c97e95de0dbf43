//go:build lockcheck

package mem

import "github.com/zeroframe/zeroframe/arch"

// onAccess is the address of a function, 0 before it is set. Set once at boot.
var onAccess uintptr

// OnAccess sets a function that is called at each access to data under the kernel lock:
// percpu.AssertLocked, which cannot be imported because the chain of imports would become too long.
// It must be a top-level function. Early context.
func OnAccess(f func()) { onAccess = arch.EntryOf(f) }

func assertLocked() {
	if onAccess != 0 {
		arch.FuncAt[func()](&onAccess)()
	}
}
