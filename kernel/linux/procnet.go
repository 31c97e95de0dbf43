package linux

import "github.com/zeroframe/zeroframe/kernel/parts"

const (
	socketColumns = "st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
	addresses     = "local_address rem_address   "
	addresses6    = "local_address                         remote_address                        "
)

// The tables of Internet sockets, whose lines have a fixed width.
func putTCP(int32)  { putInet(afInet, protoTCP, "  sl  "+addresses+socketColumns, 149) }
func putTCP6(int32) { putInet(afInet6, protoTCP, "  sl  "+addresses6+socketColumns, 0) }
func putUDP(int32) {
	putInet(afInet, protoUDP, "   sl  "+addresses+socketColumns+" ref pointer drops", 127)
}
func putUDP6(int32) {
	putInet(afInet6, protoUDP, "  sl  "+addresses6+socketColumns+" ref pointer drops", 0)
}

func putInet(family, protocol uint16, head string, width int) {
	put(head)
	putTo(width)
	line := uint64(0)
	for n := int32(1); parts.Sockets && n <= highSocket; n++ {
		s := socketOf(n)
		if s == nil || s.family != family || s.protocol != protocol || s.local.port == 0 {
			continue
		}
		state, queued := s.inetState()
		if state == 0 {
			continue
		}
		put("\n")
		if protocol == protoUDP && family == afInet {
			put(" ")
		}
		putf("%4d: ", line)
		putInetAddress(&s.local)
		putInetAddress(&s.remote)
		putf("%2X 00000000:%8X 00:00000000 00000000     0        0 %d", state, queued, s.inode())
		if protocol == protoTCP {
			put(" 1 0000000000000000 100 0 0 10 0")
		} else {
			put(" 2 0000000000000000 0")
		}
		putTo(width)
		line++
	}
	put("\n")
}

// inetState returns the state of an Internet socket by TCP's numbers, 0 if it is in no table, and
// how many bytes or connections wait to be received.
func (s *socket) inetState() (state, queued uint64) {
	const established, synSent, finWait2, unconnected, closeWait, listens = 1, 2, 5, 7, 8, 10
	queued = uint64(s.in.n)
	switch {
	case s.protocol == protoUDP && s.stage == fresh:
		state = unconnected
	case s.stage == listening:
		state, queued = listens, uint64(s.waiting)
	case s.stage == connecting:
		state = synSent
	case s.stage != connected:
	case s.protocol == protoTCP && s.shutWrite:
		state = finWait2
	case s.protocol == protoTCP && s.finished:
		state, queued = closeWait, queued+1 // the end counts as a byte
	default:
		state = established
	}
	return state, queued
}

// inode returns the number by which links in /proc/self/fd name the socket; 0: it has no file yet.
func (s *socket) inode() uint64 {
	if s.file == 0 {
		return 0
	}
	return infoOf(&files[s.file-1]).Ino
}

// putInetAddress writes an address, with the words in memory order, and the port.
func putInetAddress(a *address) {
	words := [4]uint64{a.hi >> 32, a.hi, a.lo >> 32, a.lo}
	from := 0
	if a.family == afInet {
		from = 3
	}
	for _, w := range words[from:] {
		putf("%2X%2X%2X%2X", w&0xff, w>>8&0xff, w>>16&0xff, w>>24&0xff)
	}
	putf(":%4X ", uint64(a.port))
}

// putLocalSockets writes the table of local sockets.
func putLocalSockets(int32) {
	put("Num       RefCount Protocol Flags    Type St Inode Path\n")
	for n := int32(1); parts.Sockets && n <= highSocket; n++ {
		s := socketOf(n)
		if s == nil || s.family != afUnix {
			continue
		}
		flags, state, refs := uint64(0), uint64(1), uint64(2)
		if s.stage == listening {
			flags = 1 << 16
		} else if s.stage == connected && s.connects() {
			state, refs = 3, 3
		}
		putf("0000000000000000: %8x 00000000 %8x %4x %2x %5d", refs, flags, uint64(s.kind), state,
			s.inode())
		for i, b := range s.local.name[:s.local.n] {
			if i == 0 {
				put(" ")
			}
			if b == 0 {
				b = '@'
			}
			putByte(b)
		}
		put("\n")
	}
}
