package linux

import "github.com/zeroframe/zeroframe/kernel/parts"

// The send and receive families of calls, which differ in how a program names its memory. All of
// them become a transfer.

const (
	msgOOB       = 0x1
	msgPeek      = 0x2
	msgCtrunc    = 0x8
	msgTrunc     = 0x20
	msgDontWait  = 0x40
	msgWaitAll   = 0x100
	msgErrQueue  = 0x2000
	msgNoSignal  = 0x4000
	msgCloexec   = 0x40000000
	maxParts     = 1024
	headerSize   = 56 // struct msghdr
	controlStart = 16 // struct cmsghdr
)

// transfer is what a call moves.
type transfer struct {
	// The memory: left bytes at base, then count parts of struct iovec at vec, total bytes in all,
	// of which next has returned passed.
	base, left    uintptr
	vec, count    uintptr
	own           bool // the memory is the kernel's
	total, passed uintptr

	flags          uintptr
	name, nameSize uintptr // the address: where, and its length or the room for it
	nameDone       uintptr // the length of the address that was written

	control, controlSize uintptr // the control messages
	controlDone          uintptr // bytes of them that were written

	outFlags uint32
	head     datagram // the header of what is sent: where, and how
	parcel   int      // the parcel that goes with the message, plus 1; 0: none
}

// next returns the next part of the memory, which is not empty.
func (x *transfer) next() (at, n uintptr, ok bool) {
	for x.left == 0 && x.count > 0 {
		base, size, ok := inPair(x.vec)
		if !ok {
			return 0, 0, false
		}
		x.base, x.left = uintptr(base), uintptr(size)
		x.vec += 16
		x.count--
	}
	at, n = x.base, min(x.left, x.total-x.passed)
	x.left = 0
	x.passed += n
	return at, n, n > 0
}

// skip skips what a call moved before it waited.
func (x *transfer) skip(n uintptr) {
	for n > 0 {
		at, part, ok := x.next()
		if !ok {
			return
		}
		if part > n {
			x.base, x.left = at+n, part-n
			x.passed -= part - n
			return
		}
		n -= part
	}
}

// setParts sets the memory to count parts of struct iovec at vec, up to what one call moves.
func (x *transfer) setParts(vec, count uintptr) (errno int64) {
	if count > maxParts {
		return -eMSGSIZE
	}
	x.vec, x.count = vec, count
	x.total, errno = checkParts(vec, count, ^uintptr(0))
	return errno
}

// setHeader sets the transfer to what a struct msghdr names.
func (x *transfer) setHeader(at uintptr) int64 {
	var h [headerSize / 8]uint64
	if !copyIn(addressOf(&h), at, headerSize) {
		return -eFAULT
	}
	x.name, x.nameSize = uintptr(h[0]), uintptr(uint32(h[1]))
	if x.name == 0 {
		x.nameSize = 0
	}
	if int32(x.nameSize) < 0 {
		return -eINVAL
	}
	x.nameSize = min(x.nameSize, maxAddress)
	x.control, x.controlSize = uintptr(h[4]), uintptr(h[5])
	return x.setParts(uintptr(h[2]), uintptr(h[3]))
}

// outName writes the address of the sender, for socket s.
func (x *transfer) outName(a *address, s *socket) {
	if x.name == 0 {
		return
	}
	var raw rawAddress
	n := a.raw(&raw, s.family)
	if s.isLocal() && a.n == 0 {
		n = 0 // a socket without a name has no address
	}
	if copyOut(x.name, addressOf(&raw), min(n, x.nameSize)) {
		x.nameDone = n
	}
}

// sendOn sends by a socket.
func (c *call) sendOn(f *file, s *socket, x *transfer) int64 {
	switch {
	case x.flags&msgOOB != 0:
		return -eOPNOTSUPP
	case s.family == afNetlink:
		return s.askLink(x)
	case s.kind == sockStream:
		if x.name != 0 && x.nameSize != 0 && s.isLocal() {
			if s.stage == connected {
				return -eISCONN
			}
			return -eOPNOTSUPP
		}
		return c.sendStream(f, s, x)
	case s.kind == sockSeqpacket:
		return c.sendPacket(f, s, x)
	}
	return c.sendDatagram(f, s, x)
}

// receiveOn receives by a socket. x says how much of the sender's name and of control messages was
// written.
func (c *call) receiveOn(f *file, s *socket, x *transfer) int64 {
	switch {
	case x.flags&msgErrQueue != 0:
		return -eAGAIN
	case x.flags&msgOOB != 0 && s.isInet():
		return -eINVAL
	case x.flags&msgOOB != 0:
		return -eOPNOTSUPP
	case s.kind == sockStream:
		return c.receiveStream(f, s, x)
	}
	return c.receiveDatagram(f, s, x)
}

func sysSendto(c *call, f *file, s *socket) int64 {
	n := min(c.size(2), ioMax)
	x := transfer{base: c.pointer(1), left: n, total: n, flags: c.flags(3), name: c.pointer(4),
		nameSize: uintptr(c.uint(5))}
	if x.name != 0 && x.nameSize == 0 && s.protocol == protoUDP {
		return -eINVAL
	}
	activity++
	return c.sendOn(f, s, &x)
}

func sysRecvfrom(c *call, f *file, s *socket) int64 {
	n := min(c.size(2), ioMax)
	x := transfer{base: c.pointer(1), left: n, total: n, flags: c.flags(3), name: c.pointer(4)}
	if x.name != 0 {
		size, ok := in32(c.pointer(5))
		if !ok {
			return -eFAULT
		}
		if int32(size) < 0 {
			return -eINVAL
		}
		x.nameSize = uintptr(size)
	}
	activity++
	got := c.receiveOn(f, s, &x)
	if got >= 0 && x.name != 0 && !out32(c.pointer(5), uint32(x.nameDone)) {
		return -eFAULT
	}
	return got
}

func sysSendmsg(c *call, f *file, s *socket) int64 {
	return c.sendMessage(f, s, c.pointer(1), c.flags(2))
}

func sysRecvmsg(c *call, f *file, s *socket) int64 {
	return c.receiveMessage(f, s, c.pointer(1), c.flags(2))
}

// sendMessage sends what a struct msghdr names.
func (c *call) sendMessage(f *file, s *socket, header, flags uintptr) int64 {
	x := transfer{flags: flags}
	if errno := x.setHeader(header); errno != 0 {
		return errno
	}
	activity++
	return c.sendOn(f, s, &x)
}

// receiveMessage receives what a struct msghdr has room for.
func (c *call) receiveMessage(f *file, s *socket, header, flags uintptr) int64 {
	x := transfer{flags: flags}
	if errno := x.setHeader(header); errno != 0 {
		return errno
	}
	activity++
	got := c.receiveOn(f, s, &x)
	if got < 0 {
		return got
	}
	if x.name != 0 && !out32(header+8, uint32(x.nameDone)) ||
		!out64(header+40, uint64(x.controlDone)) ||
		!out32(header+48, x.outFlags|uint32(x.flags&msgCloexec)) {
		return -eFAULT
	}
	return got
}

// readSocket and writeSocket are read and write for sockets.
func readSocket(c *call, f *file, to, n uintptr) int64 {
	if n == 0 || !parts.Sockets {
		return 0
	}
	x := transfer{base: to, left: n, total: n}
	return c.receiveOn(f, socketOf(f.obj), &x)
}

func writeSocket(c *call, f *file, from, n uintptr) int64 {
	if !parts.Sockets {
		return 0
	}
	x := transfer{base: from, left: n, total: n}
	return c.sendOn(f, socketOf(f.obj), &x)
}

// socketVector is readv or writev, which move one message.
func (c *call) socketVector(f *file, write bool) int64 {
	var x transfer
	if errno := x.setParts(c.pointer(1), c.size(2)); errno != 0 {
		return errno
	}
	activity++
	switch {
	case write:
		return c.sendOn(f, socketOf(f.obj), &x)
	case x.total == 0:
		return 0
	}
	return c.receiveOn(f, socketOf(f.obj), &x)
}
