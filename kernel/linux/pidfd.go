package linux

import (
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Descriptors of processes (pidfd_open(2)). There is one process, the program, which is never seen
// to end. And waiting for children, of which there are none.

func sysPidfdOpen(c *call) int64 {
	const ofThread = 0x80
	p, flags := c.int(0), c.flags(1)
	switch {
	case flags&^(oNonblock|ofThread) != 0 || p <= 0:
		return -eINVAL
	case thread.Get(p) == nil:
		return -eSRCH
	case p != pid && flags&ofThread == 0:
		return -eNOENT
	}
	return open(file{kind: ourProcess, flags: oRdwr | flags, obj: p}, oCloexec)
}

// process returns 0 if a descriptor is one of a process.
func process(fd uintptr) int64 {
	f := get(fd)
	switch {
	case f == nil || f.kind != ourProcess:
		return -eBADF
	case thread.Get(f.obj) == nil:
		return -eSRCH
	}
	return 0
}

func sysPidfdSendSignal(c *call) int64 {
	const toThread, toGroup, toAll = 1, 2, 4
	sig, flags := c.signal(1), c.flags(3)
	if flags&^(toThread|toGroup|toAll) != 0 || flags&(flags-1) != 0 {
		return -eINVAL
	}
	if errno := process(c.fd(0)); errno != 0 {
		return errno
	}
	if at := c.pointer(2); at != 0 {
		var info siginfo
		switch {
		case !load(&info, at):
			return -eFAULT
		case uintptr(uint32(info.signo)) != sig:
			return -eINVAL
		}
	}
	if sig > numSignals {
		return -eINVAL
	}
	f := get(c.fd(0))
	switch {
	case sig == 0:
	case flags == toThread || flags == 0 && f.obj != pid:
		send(thread.Get(f.obj), int(sig))
	default:
		send(nil, int(sig))
	}
	return 0
}

// sysWaitid fails, because there are no children.
func sysWaitid(c *call) int64 {
	const (
		anyone, ofID, ofDescriptor = 0, 1, 3

		which = 2 | 4 | 8                                      // WSTOPPED, WEXITED, WCONTINUED
		known = which | 1 | 0x01000000 | 1<<29 | 1<<30 | 1<<31 // WNOHANG, WNOWAIT, and which threads
	)
	options, id := c.flags(3), c.int(1)
	if options&^known != 0 || options&which == 0 {
		return -eINVAL
	}
	switch of := c.op(0); {
	case of > ofDescriptor, of != anyone && id < 0, of == ofID && id == 0:
		return -eINVAL
	case of == ofDescriptor:
		if errno := process(c.fd(1)); errno != 0 {
			return errno
		}
	}
	return -eCHILD
}
