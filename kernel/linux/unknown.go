package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
)

// System calls without an answer: they return ENOSYS, and are counted. callList says why.

const maxCall = 512

var unknown [maxCall]uint32 // under the kernel lock

// noSuchCall answers a call that is in none of the tables.
func noSuchCall(c *call, n uintptr) int64 {
	switch {
	case n == PanicCall:
		return c.panic()
	case n == handle.Call:
		return c.resource()
	case n < numCalls && callTraits[n]&starts != 0:
		noProgram.say()
	case n < numCalls && callTraits[n]&debugs != 0:
		noDebugger.say()
	}
	if n >= OwnCalls && ownCalls != 0 {
		return arch.FuncAt[func(uintptr) int64](&ownCalls)(n)
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

// PanicCall is the number of the system call by which a goroutine calls the kernel's Panic. Its
// arguments are the address and length of the reason, the frame pointer of the function that was
// called to give up, and 1 if the machine goes on after the trace, or else 0.
const PanicCall = 0x7a66_0001

var ownCalls, onPanic uintptr // set once at boot

// OnPanic sets the function that handles PanicCall, in kernel context, and returns if the
// machine goes on. It must be a top-level function. Early context.
func OnPanic(f func(frame *arch.TrapFrame, reason []byte)) {
	onPanic = arch.EntryOf(f)
}

func (c *call) panic() int64 {
	n := min(c.size(1), uintptr(len(block)))
	if !copyIn(blockAddr(), c.pointer(0), n) {
		n = 0
	}
	arch.FuncAt[func(*arch.TrapFrame, []byte)](&onPanic)(c.f, block[:n])
	return 0
}

// resource logs an event of a goroutine's own kind (package handle).
func (c *call) resource() int64 {
	at, n := handle.NameArgument(c.word(0), c.word(1), c.word(2))
	if !copyIn(blockAddr(), at, n) {
		return -eFAULT
	}
	return handle.Answer(c.word(0), c.word(1), c.word(2), c.word(3), c.word(4), block[:n])
}

// OnUnknown sets a function that answers the system calls from OwnCalls up, in kernel context. It
// must be a top-level function. It is for the crash lab. It is not inlined, so that
// tools/symbol/stacks can find in its calls what runs on the kernel stack.
//
//go:noinline
func OnUnknown(f func(number uintptr) (result int64)) {
	ownCalls = arch.EntryOf(f)
}

// Unknown returns how often system call n was made without an answer; the last number stands for
// all above it. Any context.
func Unknown(n int) int {
	if n < 0 || n >= maxCall {
		return 0
	}
	return int(unknown[n])
}

// MaxCall is the number of counters that Unknown has.
const MaxCall = maxCall

// Calls that a process without privileges may not make are refused here, too: programs handle this
// error better than ENOSYS.
func sysRefused(c *call) int64     { return -ePERM }
func sysNoAccess(c *call) int64    { return -eACCES }
func sysUnsupported(c *call) int64 { return -eOPNOTSUPP }
