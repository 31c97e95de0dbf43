package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
)

// System calls that are not answered: they return ENOSYS, and are counted. callList says why.

const maxCall = 512

var unknown [maxCall]uint32 // under the kernel lock

// noSuchCall is a call that the table has no answer for.
func noSuchCall(c *call, n uintptr) int64 {
	switch {
	case n == PanicCall:
		return c.panic()
	case n == handle.Call:
		return c.resource()
	case n < uintptr(len(table)) && table[n].starts:
		refuseProgram()
	}
	if n >= OwnCalls && ownCalls != 0 {
		p := &ownCalls
		return (*(*func(uintptr) int64)(unsafe.Pointer(&p)))(n)
	}
	if n < maxCall {
		unknown[n]++
	} else {
		unknown[maxCall-1]++
	}
	return -eNOSYS
}

// OwnCalls is the first number of the system calls that Linux does not have and never
// will.
const OwnCalls = 1000

// PanicCall is the number by which a goroutine gives up with the kernel's Panic: its arguments
// are the address and length of the reason, and the frame pointer of the function
// that has been called to give up.
const PanicCall = 0x7a66_0001

var ownCalls, onPanic uintptr // set once at boot

// OnPanic sets the function that is called for PanicCall, in kernel context, and does
// not return. It must be a top-level function. Early context.
func OnPanic(f func(frame *arch.TrapFrame, reason []byte)) {
	onPanic = **(**uintptr)(unsafe.Pointer(&f))
}

func (c *call) panic() int64 {
	n := min(c.size(1), uintptr(len(block)))
	if !copyIn(blockAddr(), c.pointer(0), n) {
		n = 0
	}
	p := &onPanic
	(*(*func(*arch.TrapFrame, []byte))(unsafe.Pointer(&p)))(c.f, block[:n])
	return 0
}

// resource is by what a goroutine logs events of its own kinds (package handle).
func (c *call) resource() int64 {
	at, n := handle.NameArgument(c.word(0), c.word(1), c.word(2))
	if !copyIn(blockAddr(), at, n) {
		return -eFAULT
	}
	return handle.Answer(c.word(0), c.word(1), c.word(2), c.word(3), c.word(4), block[:n])
}

// OnUnknown sets a function that answers the system calls from OwnCalls up, in kernel
// context. It must be a top-level function. For the crash lab. It is not inlined, so that
// the calls of it tell what runs on the kernel stack (tools/stacks).
//
//go:noinline
func OnUnknown(f func(number uintptr) (result int64)) {
	ownCalls = **(**uintptr)(unsafe.Pointer(&f))
}

// Unknown returns how often system call n was made without being answered; the last
// number stands for all above. Any context.
func Unknown(n int) int {
	if n < 0 || n >= maxCall {
		return 0
	}
	return int(unknown[n])
}

// MaxCall is the number of counters that Unknown knows.
const MaxCall = maxCall

// What a process without rights may not do, it may not do here either: who asks knows these errors
// better than ENOSYS.
func sysRefused(c *call) int64     { return -ePERM }
func sysNoAccess(c *call) int64    { return -eACCES }
func sysUnsupported(c *call) int64 { return -eOPNOTSUPP }
