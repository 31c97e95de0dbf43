//go:build lockcheck

package mem

import "unsafe"

// onAccess is the address of a function, 0 before it is set. Set once at boot.
var onAccess uintptr

// OnAccess sets a function that is called wherever what is under the kernel lock is accessed:
// percpu.AssertLocked, which would make the chain of imports too long. It must be a top-level
// function. Early context.
func OnAccess(f func()) { onAccess = **(**uintptr)(unsafe.Pointer(&f)) }

func assertLocked() {
	if onAccess != 0 {
		p := &onAccess
		(*(*func())(unsafe.Pointer(&p)))()
	}
}
