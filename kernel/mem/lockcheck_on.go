//go:build lockcheck

package mem

import "unsafe"

// onAccess is the address of a function, 0 before it is set. Set once at boot.
var onAccess uintptr

// OnAccess sets a function that is called at each access to data under the kernel lock:
// percpu.AssertLocked, which cannot be imported because the chain of imports would become too long.
// It must be a top-level function. Early context.
func OnAccess(f func()) { onAccess = **(**uintptr)(unsafe.Pointer(&f)) }

func assertLocked() {
	if onAccess != 0 {
		p := &onAccess
		(*(*func())(unsafe.Pointer(&p)))()
	}
}
