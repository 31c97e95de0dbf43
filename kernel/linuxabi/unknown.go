package linuxabi

import "unsafe"

// System calls that are not answered: they return ENOSYS, and are counted.

const maxCall = 512

var unknown [maxCall]uint32

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

var ownCalls uintptr

// OnUnknown sets a function that answers the system calls from OwnCalls up, in kernel
// context. It must be a top-level function. For the crash lab.
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
