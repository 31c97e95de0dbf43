package golab

import (
	"syscall"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
)

// A bug of the kernel's in a system call that a goroutine makes.

//go:noinline
func syscallBugA() {
	linuxabi.OnUnknown(syscallBugHandler)
	syscallBugB()
	sink++
}

//go:noinline
func syscallBugB() { syscallBugC(); sink++ }

//go:noinline
func syscallBugC() { syscall.RawSyscall(linuxabi.OwnCalls, 0, 0, 0); sink++ }

// syscallBugHandler runs in kernel context, and so do the next two.
//
//go:noinline
func syscallBugHandler(number uintptr) int64 { syscallBugD(); sink++; return int64(number) }

//go:noinline
func syscallBugD() { syscallBugE(nilPointer); sink++ }

//go:noinline
func syscallBugE(p *[4]uint64) { amd64.Pause(); p[2] = 1 }
