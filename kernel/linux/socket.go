package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Sockets. They talk to sockets of the same program, by Internet loopback addresses, by names in
// the file tree, by abstract names, and in pairs. What goes to other machines goes to sockets of
// the program's network stack, if it has one (gateway.go). Whatever a socket sends is
// at once in the receiver's buffer, so no packet is ever under way, and everything but waiting for
// room happens within a system call.
//
//	socket.go          the table, closing, waiting
//	socketmake.go      socket and socketpair
//	socketstate.go     what poll and epoll see
//	socketaddr.go      addresses as programs write them
//	socketbind.go      which socket has which address
//	socketname.go      names of local sockets
//	ring.go            the buffer
//	socketstream.go    connections
//	socketbytes.go     bytes on connections
//	socketdatagram.go  datagrams
//	socketcontrol.go   control messages of Internet datagrams
//	socketgroup.go     multicast
//	socketfilter.go    filters of datagrams
//	socketmessage.go   the send and receive families of calls
//	socketmany.go      calls that move several messages
//	socketrights.go    descriptors and credentials on their way
//	socketoption.go    options
//	socketlink.go      netlink: which interfaces there are
//	socketioctl.go     ioctl of sockets
//	gateway.go         the network stack's sockets, for what goes to other machines

// Families and types (Linux: include/linux/socket.h, include/linux/net.h).
const (
	afUnspec  = 0
	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16
	afPacket  = 17

	sockStream    = 1
	sockDgram     = 2
	sockRaw       = 3
	sockSeqpacket = 5

	protoICMP  = 1
	protoTCP   = 6
	protoUDP   = 17
	protoICMP6 = 58
)

// Errors of sockets.
const (
	eNFILE                = 23
	eNOTSOCK              = 88
	eDESTADDRREQ          = 89
	eMSGSIZE              = 90
	ePROTOTYPE            = 91
	eNOPROTOOPT           = 92
	ePROTONOSUPPORT       = 93
	eSOCKTNOSUPPORT       = 94
	eADDRINUSE            = 98
	eADDRNOTAVAIL         = 99
	eNETDOWN              = 100
	eNETUNREACH           = 101
	eCONNRESET            = 104
	eNOBUFS               = 105
	eISCONN               = 106
	eNOTCONN              = 107
	eCONNREFUSED          = 111
	eTOOMANYREFS          = 109
	eALREADY              = 114
	eINPROGRESS           = 115
	maxSockets            = maxFiles
	noSocket        int32 = 0
)

// stage is the state of a socket.
type stage uint8

const (
	fresh      stage = iota // not connected
	connecting              // it waits for room in a backlog
	connected               // a datagram socket: it has a destination
	listening
	ended // the connection was reset
)

// socket is one end of a connection, or a receiver of datagrams. It lies in a page frame of its
// own.
type socket struct {
	number int32 // in the table, from 1
	socketKind
	stage stage
	file  int32 // open file, plus 1; 0 while it is in a backlog
	err   int32 // the result of the next call
	peer  int32 // the other end, or a local datagram socket's destination; 0: none, or gone

	bound         bool
	accepted      bool  // which list of its port it is in, if its address is an Internet address
	nextOfPort    int32 // in that list
	beforeOfPort  int32
	shutRead      bool // nothing more is received
	shutWrite     bool // nothing more can be sent
	finished      bool // the peer sends nothing more
	told          bool // the network's stack, whose socket it is, is to look at its options
	local, remote address
	node          vfs.ID // its name in the file tree, which it holds; 0: none

	// A listener's connections that have not been accepted yet.
	backlog, waiting  int32
	crowded           bool // some may wait for room in it
	first, last, next int32
	listener          int32 // of one that is connecting

	full int32 // the local datagram socket that had no room

	in      ring
	taken   uint64 // bytes that have ever left the ring
	options [numOptions]int32
	linger  [2]int32
	timeout [2]uint64 // ns, of receiving and of sending; 0: none

	groupFrom uint32 // IP_MULTICAST_IF: the address as the program wrote it
	groupLink uint32 // and the interface, 0: the usual one
	groups    [maxGroups]membership

	filter       uintptr // a page frame with a program (socketfilter.go); 0: none
	filterLength uint16  // in instructions
}

// A socket must fit into its frame.
const _ = pageSize - unsafe.Sizeof(socket{})

// sockets holds the addresses of the sockets by number; 0 is none. Under the kernel lock.
var (
	socketFrames [maxSockets/frameSockets + 1]uintptr     // of frameSockets addresses each
	highSocket   int32                                    // the highest number that any socket has had
	freeSocket   int32                                = 1 // all below are in use
)

const frameSockets = pageSize / 8

// socketSlot returns where the address of socket n is. The table has room for that number.
func socketSlot(n int32) *uintptr {
	return (*uintptr)(arch.Pointer(socketFrames[n/frameSockets] + uintptr(n%frameSockets)*8))
}

// socketOf returns socket n, or nil.
//
//go:noinline
func socketOf(n int32) *socket {
	if n <= 0 || n > highSocket {
		return nil
	}
	at := *socketSlot(n)
	if at == 0 {
		return nil
	}
	return (*socket)(arch.Pointer(at))
}

// nextSocket returns the socket with the lowest number above n, or nil, for loops over all sockets.
//
//go:noinline
func nextSocket(n int32) *socket {
	for n++; n <= highSocket; n++ {
		if s := socketOf(n); s != nil {
			return s
		}
	}
	return nil
}

// newSocket makes a socket without a file, or returns nil.
func newSocket(kind socketKind) *socket {
	percpu.AssertLocked()
	for n := freeSocket; n <= maxSockets; n++ {
		if table := &socketFrames[n/frameSockets]; *table == 0 {
			if *table = mem.Frame(); *table == 0 {
				return nil
			}
		}
		slot := socketSlot(n)
		if *slot != 0 {
			continue
		}
		frame := mem.Frame()
		if frame == 0 {
			return nil
		}
		*slot = frame
		freeSocket, highSocket = n+1, max(highSocket, n)
		s := socketOf(n)
		s.number, s.socketKind = n, kind
		s.local.family, s.remote.family = kind.family, kind.family
		if kind.family == afInet {
			s.local.lo = mapped
		}
		s.setDefaults()
		return s
	}
	return nil
}

// free frees a socket that has neither file nor peer.
func (s *socket) free() {
	percpu.AssertLocked()
	if s.node != 0 {
		vfs.Release(s.node)
	}
	n := s.number
	s.unlistPort()
	s.in.take(s.in.n)
	s.in.free()
	s.dropFilter()
	slot := socketSlot(n)
	mem.FreeFrame(*slot)
	*slot, freeSocket = 0, min(freeSocket, n)
	dropRights(n)
}

// isLocal reports whether a socket belongs to the family with names.
func (s *socket) isLocal() bool { return s.family == afUnix }

// isInet reports whether a socket has Internet addresses.
func (s *socket) isInet() bool { return s.family == afInet || s.family == afInet6 }

// connects reports whether a socket is for connections rather than single datagrams.
func (s *socket) connects() bool { return s.kind == sockStream || s.kind == sockSeqpacket }

// changed says that something has happened to a socket.
func (s *socket) changed() {
	percpu.AssertLocked()
	if s.file != 0 {
		changed(int(s.file - 1))
	}
}

// takeError returns the error since the last call of it, as a call's result, and clears it.
func (s *socket) takeError() int64 {
	e := s.err
	s.err = 0
	return -int64(e)
}

// getSocket returns the socket of a descriptor.
func getSocket(fd uintptr) (f *file, s *socket, errno int64) {
	f = usable(fd)
	switch {
	case f == nil:
		return nil, nil, -eBADF
	case !f.isSocket():
		return nil, nil, -eNOTSOCK
	}
	return f, socketOf(f.obj), 0
}

// openSocket gives a socket a file and a descriptor.
func openSocket(s *socket, flags uintptr) int64 {
	fd := open(file{kind: socketFile, flags: oRdwr | flags&oNonblock, obj: s.number}, flags)
	if fd >= 0 {
		s.file = int32(fds[fd])
	}
	return fd
}

// waits reports whether a call may wait.
func waits(f *file, flags uintptr) bool { return f.flags&oNonblock == 0 && flags&msgDontWait == 0 }

// socketWaits puts the running thread aside until something happens to a socket, or its time for
// receiving (0) or sending (1) is over. A call that may not wait gets EAGAIN. The thread's Done
// holds what the call has done so far.
func (c *call) socketWaits(f *file, s *socket, what int, flags uintptr) int64 {
	if !waits(f, flags) {
		return -eAGAIN
	}
	t := thread.Current()
	if !c.again {
		t.Until = never
		if ns := s.timeout[what]; ns != 0 {
			t.Until = clock.Now() + ns
		}
	}
	over := int64(-eAGAIN)
	if t.Done > 0 {
		over = int64(t.Done)
	}
	if t.Until <= clock.Now() {
		return over
	}
	c.takeTurn()
	thread.Block(c.f, thread.ForFile, index(f), t.Until, over)
	return 0
}

// closeSocket ends the socket of an open file.
func closeSocket(f *file) {
	n := f.obj
	s := socketOf(n)
	s.file = 0
	s.endGateway()
	s.leaveGroups()
	if s.connects() {
		s.hangUp()
	} else if s.isLocal() {
		leaveDatagrams(n)
	}
	s.free()
}

func sysShutdown(c *call, _ *file, s *socket) int64 {
	switch {
	case c.op(1) > 2:
		return -eINVAL
	case s.family == afNetlink:
		return -eOPNOTSUPP
	}
	read, write := c.op(1) != 1, c.args[1] != 0
	switch {
	case s.isLocal():
		// A socket without a connection can be shut down, too.
	case s.stage == listening && read:
		s.unlisten()
		s.stage = fresh
		s.changed()
		return 0
	case s.stage == listening:
		return 0 // there is nothing to send
	case s.stage != connected:
		return -eNOTCONN
	}
	s.shutRead = s.shutRead || read
	s.shutWrite = s.shutWrite || write
	if p := socketOf(s.peer); p != nil && s.connects() {
		p.finished = p.finished || write
		p.shutWrite = p.shutWrite || read && s.isLocal()
		p.changed()
	}
	s.changed()
	return 0
}
