package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/fs"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// Sockets. There is no network: sockets talk to sockets of the same program, by the
// loopback addresses of the Internet's families, by names in the file tree, by abstract
// names, and in pairs. What one sends lies at once in the buffer of the one that is to
// receive it, so no packet is ever under way, and everything but waiting for room happens
// within a system call.
//
//	socket.go          the table, making and closing
//	socketaddr.go      addresses as programs write them
//	socketbind.go      who has which address
//	socketname.go      names of local sockets
//	socketring.go      the buffer
//	socketstream.go    connections
//	socketdatagram.go  datagrams
//	socketmessage.go   the send and receive families of calls
//	socketrights.go    descriptors and credentials on their way
//	socketoption.go    options
//	socketlink.go      netlink: which interfaces there are

// Families and types (Linux: include/linux/socket.h, include/linux/net.h).
const (
	afUnspec  = 0
	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16

	sockStream    = 1
	sockDgram     = 2
	sockRaw       = 3
	sockSeqpacket = 5

	protoTCP = 6
	protoUDP = 17
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
	eNETUNREACH           = 101
	eCONNRESET            = 104
	eNOBUFS               = 105
	eISCONN               = 106
	eNOTCONN              = 107
	eCONNREFUSED          = 111
	eALREADY              = 114
	eINPROGRESS           = 115
	maxSockets            = 512
	noSocket        int32 = 0
)

// stage is how far a socket has come.
type stage uint8

const (
	fresh      stage = iota // not connected
	connecting              // it waits for room in a backlog
	connected               // a datagram socket: it has a destination
	listening
	ended // the connection was reset
)

// socket is one end of a connection, or who receives datagrams. It lies in a page frame
// of its own.
type socket struct {
	number   int32 // in the table, from 1
	family   uint16
	kind     uint8 // sockStream and so on
	stage    stage
	protocol uint16
	file     int32 // open file, plus 1; 0 while it is in a backlog
	err      int32 // what the next call returns
	peer     int32 // the other end, or a local datagram socket's destination; 0: none, or gone

	bound         bool
	shutRead      bool // nothing is received any more
	shutWrite     bool // nothing can be sent any more
	finished      bool // the peer sends nothing any more
	local, remote address
	node          fs.ID // its name in the file tree, which it holds; 0: none

	// A listener's connections that nobody has accepted yet.
	backlog, waiting  int32
	first, last, next int32
	listener          int32 // of one that is connecting

	full int32 // the local datagram socket that had no room

	in      ring
	taken   uint64 // bytes that have left the ring, ever
	options [numOptions]int32
	linger  [2]int32
	timeout [2]uint64 // ns, of receiving and of sending; 0: none
}

// A socket fits into its frame.
const _ = pageSize - unsafe.Sizeof(socket{})

// sockets holds the addresses of the sockets by number; 0 is none.
var (
	sockets    [maxSockets + 1]uintptr
	highSocket int32 // no socket has had a higher number
)

// socketOf returns socket n, or nil.
func socketOf(n int32) *socket {
	if n <= 0 || n > maxSockets || sockets[n] == 0 {
		return nil
	}
	return (*socket)(amd64.Pointer(sockets[n]))
}

// newSocket makes a socket without a file, or returns nil.
func newSocket(family uint16, kind uint8, protocol uint16) *socket {
	for n := int32(1); n <= maxSockets; n++ {
		if sockets[n] != 0 {
			continue
		}
		frame := mm.Frame()
		if frame == 0 {
			return nil
		}
		sockets[n] = frame
		highSocket = max(highSocket, n)
		s := socketOf(n)
		s.number, s.family, s.kind, s.protocol = n, family, kind, protocol
		s.local.family, s.remote.family = family, family
		if family == afInet {
			s.local.lo = mapped
		}
		s.setDefaults()
		return s
	}
	return nil
}

// free ends a socket that has neither file nor peer.
func (s *socket) free() {
	if s.node != 0 {
		fs.Release(s.node)
	}
	n := s.number
	s.in.take(s.in.n)
	s.in.free()
	mm.FreeFrame(sockets[n])
	sockets[n] = 0
	dropRights(n)
}

// local reports whether a socket is of the family of names.
func (s *socket) isLocal() bool { return s.family == afUnix }

// isInet reports whether a socket has Internet addresses.
func (s *socket) isInet() bool { return s.family == afInet || s.family == afInet6 }

// connects reports whether a socket is for connections, not for single datagrams.
func (s *socket) connects() bool { return s.kind == sockStream || s.kind == sockSeqpacket }

// changed says that something has happened to a socket.
func (s *socket) changed() {
	if s.file != 0 {
		changed(int(s.file - 1))
	}
}

// takeError returns what has gone wrong since it was last asked, as a call's result.
func (s *socket) takeError() int64 {
	e := s.err
	s.err = 0
	return -int64(e)
}

// getSocket returns the socket of a descriptor.
func getSocket(fd uintptr) (f *file, s *socket, errno int64) {
	f = get(fd)
	switch {
	case f == nil:
		return nil, nil, -eBADF
	case f.kind != socketFile:
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

// socketWaits puts the running thread aside until something happens to a socket, or its
// time for receiving (0) or sending (1) is over. A call that is not to wait gets EAGAIN.
func (c *call) socketWaits(f *file, s *socket, what int, flags uintptr) int64 {
	if f.flags&oNonblock != 0 || flags&msgDontWait != 0 {
		return -eAGAIN
	}
	t := sched.Current()
	if !c.again {
		t.Until = never
		if ns := s.timeout[what]; ns != 0 {
			t.Until = clock.Now() + ns
		}
	}
	if t.Until <= clock.Now() {
		return -eAGAIN
	}
	sched.Block(c.f, sched.ForFile, index(f), t.Until, -eAGAIN)
	return 0
}

// kindOf checks the arguments of socket and socketpair.
func (c *call) kindOf() (family uint16, kind uint8, protocol uint16, errno int64) {
	const typeMask = 0xf
	if c.b&^(typeMask|oNonblock|oCloexec) != 0 {
		return 0, 0, 0, -eINVAL
	}
	family, kind, protocol = uint16(c.a), uint8(c.b&typeMask), uint16(c.c)
	switch family {
	case afUnix:
		switch {
		case protocol != 0 && protocol != afUnix:
			return 0, 0, 0, -ePROTONOSUPPORT
		case kind == sockRaw:
			kind = sockDgram
		case kind != sockStream && kind != sockDgram && kind != sockSeqpacket:
			return 0, 0, 0, -eSOCKTNOSUPPORT
		}
		protocol = 0
	case afInet, afInet6:
		want := uint16(protoTCP)
		switch kind {
		case sockStream:
		case sockDgram:
			want = protoUDP
		default:
			return 0, 0, 0, -eSOCKTNOSUPPORT
		}
		if protocol != 0 && protocol != want {
			return 0, 0, 0, -ePROTONOSUPPORT
		}
		protocol = want
	case afNetlink:
		if kind != sockRaw && kind != sockDgram {
			return 0, 0, 0, -eSOCKTNOSUPPORT
		}
		if protocol != 0 { // NETLINK_ROUTE
			return 0, 0, 0, -ePROTONOSUPPORT
		}
	default:
		return 0, 0, 0, -eAFNOSUPPORT
	}
	return family, kind, protocol, 0
}

func (c *call) socket() int64 {
	family, kind, protocol, errno := c.kindOf()
	if errno != 0 {
		return errno
	}
	s := newSocket(family, kind, protocol)
	if s == nil {
		return -eNFILE
	}
	fd := openSocket(s, c.b)
	if fd < 0 {
		s.free()
	}
	return fd
}

func (c *call) socketpair() int64 {
	family, kind, protocol, errno := c.kindOf()
	if errno != 0 {
		return errno
	}
	if family != afUnix {
		return -eOPNOTSUPP
	}
	if !mm.Allowed(c.d, 8, true) {
		return -eFAULT
	}
	var made [2]*socket
	var got [2]int64
	for i := range made {
		s := newSocket(family, kind, protocol)
		got[i] = -eNFILE
		if s != nil {
			if got[i] = openSocket(s, c.b); got[i] < 0 {
				s.free()
			}
		}
		if got[i] < 0 {
			if i == 1 {
				closeFD(uintptr(got[0]))
			}
			return got[i]
		}
		made[i] = s
	}
	for i, s := range made {
		s.stage, s.peer = connected, made[1-i].number
	}
	if !out32(c.d, uint32(got[0])) || !out32(c.d+4, uint32(got[1])) {
		closeFD(uintptr(got[0]))
		closeFD(uintptr(got[1]))
		return -eFAULT
	}
	return 0
}

// closeSocket ends the socket of an open file.
func closeSocket(n int32) {
	s := socketOf(n)
	s.file = 0
	if s.connects() {
		s.hangUp()
	} else if s.isLocal() {
		leaveDatagrams(n)
	}
	s.free()
}

func (c *call) shutdown() int64 {
	_, s, errno := getSocket(c.a)
	switch {
	case errno != 0:
		return errno
	case c.b > 2:
		return -eINVAL
	case s.family == afNetlink:
		return -eOPNOTSUPP
	}
	read, write := c.b != 1, c.b != 0
	if s.stage == listening && s.isInet() && read {
		s.unlisten()
		s.stage = fresh
		s.changed()
		return 0
	}
	if s.stage != connected {
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

// socketState returns the events that hold for a socket now, as Linux's tcp_poll,
// datagram_poll and unix_poll tell them.
func (s *socket) socketState() (events uint32) {
	if s.err != 0 {
		events |= epollErr
	}
	over := s.shutRead || s.finished
	switch {
	case s.stage == listening:
		if s.first != 0 {
			events |= epollIn
		}
		return events
	case s.stage == connecting:
		return events
	case s.connects() && s.stage == fresh:
		return events | epollOut | epollHup
	}
	if s.in.n > 0 || over {
		events |= epollIn
	}
	if over {
		events |= epollRdhup
		if s.shutWrite {
			events |= epollHup
		}
	}
	if s.shutWrite || s.hasRoom() {
		events |= epollOut
	}
	return events
}

// hasRoom reports whether it is worth to send: there is room for a good part of what a
// buffer holds.
func (s *socket) hasRoom() bool {
	if !s.connects() {
		return s.full == noSocket
	}
	p := socketOf(s.peer)
	return p == nil || p.in.room() >= ringSize/4
}

// unread is the number of bytes that the next receiving call can have (FIONREAD).
func (s *socket) unread() uintptr {
	if s.kind == sockStream || s.in.n == 0 {
		return s.in.n
	}
	var h datagram
	s.in.peek(uintptr(unsafe.Pointer(&h)), 0, unsafe.Sizeof(h), true)
	return uintptr(h.size)
}
