package linux

// The tables of sockets in /proc/net, as proc_net(5) has them.

// netFiles are the tables of Internet sockets. Never written.
var netFiles = [...]struct {
	made             uint16
	family, protocol uint16
	head             string
	width            int // of a line
}{
	{madeTCP, afInet, protoTCP, "  sl  local_address rem_address   " + socketColumns, 149},
	{madeTCP6, afInet6, protoTCP, "  sl  local_address                         remote_address                        " + socketColumns, 0},
	{madeUDP, afInet, protoUDP, "   sl  local_address rem_address   " + socketColumns + " ref pointer drops", 127},
	{madeUDP6, afInet6, protoUDP, "  sl  local_address                         remote_address                        " + socketColumns + " ref pointer drops", 0},
}

const socketColumns = "st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"

// putInetSockets puts the table that made says.
func putInetSockets(made uint16) {
	for i := range netFiles {
		t := &netFiles[i]
		if t.made != made {
			continue
		}
		put(t.head)
		putTo(t.width)
		put("\n")
		line := uint64(0)
		for n := int32(1); n <= highSocket; n++ {
			s := socketOf(n)
			if s == nil || s.family != t.family || s.protocol != t.protocol || s.local.port == 0 {
				continue
			}
			state, queued := s.inetState()
			if state == 0 {
				continue
			}
			if t.made == madeUDP {
				putByte(' ')
			}
			putRight(line, 4)
			put(": ")
			putInetAddress(&s.local)
			putInetAddress(&s.remote)
			putUpper(state, 2)
			put(" 00000000:")
			putUpper(queued, 8)
			put(" 00:00000000 00000000     0        0 ")
			putNumber(s.inode())
			if t.protocol == protoTCP {
				put(" 1 0000000000000000 100 0 0 10 0")
			} else {
				put(" 2 0000000000000000 0")
			}
			putTo(t.width)
			put("\n")
			line++
		}
	}
}

// inetState returns the state of an Internet socket as TCP numbers it, 0 if it is in no table, and
// what is there to receive: bytes, or connections.
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

// inode returns the number by which links in /proc/self/fd name the socket; 0: nobody has it yet.
func (s *socket) inode() uint64 {
	if s.file == 0 {
		return 0
	}
	return infoOf(&files[s.file-1]).Ino
}

// putInetAddress puts an address, whose words are swapped as they lie in memory, and the port.
func putInetAddress(a *address) {
	if a.family != afInet {
		putSwapped(uint32(a.hi >> 32))
		putSwapped(uint32(a.hi))
		putSwapped(uint32(a.lo >> 32))
	}
	putSwapped(uint32(a.lo))
	put(":")
	putUpper(uint64(a.port), 4)
	put(" ")
}

func putSwapped(v uint32) {
	putUpper(uint64(v<<24|v&0xff00<<8|v>>8&0xff00|v>>24), 8)
}

// putUpper is putHex with capital letters, for so many digits.
func putUpper(v uint64, digits int) {
	for i := digits - 1; i >= 0; i-- {
		const all = "0123456789ABCDEF"
		putByte(all[v>>(4*uint(i))&15])
	}
}

// putRight puts a number so that it ends so many columns from here.
func putRight(v uint64, columns int) {
	var digits [maxDigits]byte
	i := decimal(&digits, v)
	putTo(text.line + columns - (len(digits) - i))
	putBytes(digits[i:])
}

// putLocalSockets puts the table of local sockets.
func putLocalSockets() {
	put("Num       RefCount Protocol Flags    Type St Inode Path\n")
	for n := int32(1); n <= highSocket; n++ {
		s := socketOf(n)
		if s == nil || s.family != afUnix {
			continue
		}
		put("0000000000000000: ")
		flags, state, refs := uint64(0), uint64(1), uint64(2)
		if s.stage == listening {
			flags = 1 << 16
		} else if s.stage == connected && s.connects() {
			state, refs = 3, 3
		}
		putHex(refs, 8)
		put(" 00000000 ")
		putHex(flags, 8)
		put(" ")
		putHex(uint64(s.kind), 4)
		put(" ")
		putHex(state, 2)
		put(" ")
		putRight(s.inode(), 5)
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
