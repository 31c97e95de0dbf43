package golab

import (
	"syscall"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// A bug of the kernel in a system call made by a goroutine.

//go:noinline
func syscallBugA() {
	linux.OnUnknown(syscallBugHandler)
	syscallBugB()
	sink++
}

//go:noinline
func syscallBugB() { syscallBugC(); sink++ }

//go:noinline
func syscallBugC() { syscall.RawSyscall(linux.OwnCalls, 0, 0, 0); sink++ }

// syscallBugHandler runs in kernel context, and so do the next two.
//
//go:noinline
func syscallBugHandler(number uintptr) int64 { syscallBugD(); sink++; return int64(number) }

//go:noinline
func syscallBugD() { syscallBugE(nilPointer); sink++ }

//go:noinline
func syscallBugE(p *[4]uint64) { arch.Pause(); p[2] = 1 }

//go:noinline
func kernelSpinA() {
	linux.OnUnknown(kernelSpinHandler)
	kernelSpinB()
	sink++
}

//go:noinline
func kernelSpinB() { kernelSpinC(); sink++ }

//go:noinline
func kernelSpinC() { syscall.RawSyscall(linux.OwnCalls, 0, 0, 0); sink++ }

// kernelSpinHandler runs in kernel context with interrupts off, and so does the next.
//
//go:noinline
func kernelSpinHandler(number uintptr) int64 { kernelSpinD(); sink++; return int64(number) }

//go:noinline
func kernelSpinD() {
	for five != 0 {
		sink++
	}
}

//go:noinline
func overLimitA() { overLimitB(); sink++ }

//go:noinline
func overLimitB() { overLimitC(); sink++ }

// overLimitC runs on no stack of the kernel's: the timer's check finds the stack over its limit.
//
//go:noinline
func overLimitC() {
	for _, s := range stack.All() {
		if s.Name == "irq" {
			*(*uintptr)(arch.Pointer(s.Lo)) = 1
		}
	}
	say("over the limit")
	for five != 0 {
		sink++
	}
}
