package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
)

// System calls that are not answered: they return ENOSYS, and are counted.

const maxCall = 512

var unknown [maxCall]uint32 // under the kernel lock

func noSuchCall(n uintptr) int64 {
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
	n := min(c.args[1].Size(), uintptr(len(block)))
	if !copyIn(blockAddr(), c.args[0].Pointer(), n) {
		n = 0
	}
	p := &onPanic
	(*(*func(*arch.TrapFrame, []byte))(unsafe.Pointer(&p)))(c.f, block[:n])
	return 0
}

// resource is by what a goroutine logs events of its own kinds (package handle).
func (c *call) resource() int64 {
	at, n := handle.NameArgument(c.args[0].Word(), c.args[1].Word(), c.args[2].Word())
	if !copyIn(blockAddr(), at, n) {
		return -eFAULT
	}
	return handle.Answer(c.args[0].Word(), c.args[1].Word(), c.args[2].Word(), c.args[3].Word(), c.args[4].Word(), block[:n])
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
func (c *call) refused() int64     { return -ePERM }
func (c *call) noAccess() int64    { return -eACCES }
func (c *call) unsupported() int64 { return -eOPNOTSUPP }
