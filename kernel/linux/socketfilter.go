package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// Filters of datagrams: a program of the classic BPF says of each how much of it a socket is to
// get (Linux: net/core/filter.c; McCanne and Jacobson, The BSD Packet Filter, 1993). It jumps
// forwards only, so that it ends. It sees a datagram of UDP from its header on. There is no header
// of IP, and a program that asks for it is refused (SKF_NET_OFF, SKF_LL_OFF); so is one that asks
// for more than filterLoads.

const (
	soAttachFilter = 26 // SO_GET_FILTER, where options are asked for
	soLockFilter   = 44

	instructionBytes = 8
	maxInstructions  = pageSize / (instructionBytes + 2) // with what isFilter notes of each
	mostInstructions = 4096                              // on Linux, if it has the memory
	filterWords      = 16                                // of memory of a program
	udpHeader        = 8

	// Behind this number what is loaded is no byte of the datagram.
	filterLoads = 0xfffff000 // SKF_AD_OFF
	filterOther = 0xffe00000 // SKF_LL_OFF: nor from here on
)

// instruction is struct sock_filter.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Codes of instructions (include/uapi/linux/bpf_common.h, filter.h): a class, and what it is of
// that.
const (
	bpfLD   = 0
	bpfLDX  = 1
	bpfST   = 2
	bpfSTX  = 3
	bpfALU  = 4
	bpfJMP  = 5
	bpfRET  = 6
	bpfMISC = 7

	bpfClass = 0x07
	bpfHalf  = 0x08
	bpfByte  = 0x10
	bpfABS   = 0x20
	bpfIND   = 0x40
	bpfMEM   = 0x60
	bpfLEN   = 0x80
	bpfMSH   = 0xa0
	bpfMode  = 0xe0

	bpfX  = 0x08
	bpfA  = 0x10
	bpfOp = 0xf0

	bpfDIV = 0x30
	bpfLSH = 0x60
	bpfRSH = 0x70
	bpfNEG = 0x80
	bpfMOD = 0x90
	bpfXOR = 0xa0

	bpfJA   = 0x00
	bpfJSET = 0x40
	bpfTXA  = 0x80
)

// filterAt returns instruction i of a program.
func filterAt(program, i uintptr) *instruction {
	return (*instruction)(arch.Pointer(program + i*instructionBytes))
}

// attachFilter is SO_ATTACH_FILTER, with struct sock_fprog at an address.
func (s *socket) attachFilter(at, size uintptr) int64 {
	n, ok := in32(at)
	from, ok2 := in64(at + 8)
	count := uintptr(uint16(n))
	switch {
	case !ok:
		return -eFAULT
	case size != 16:
		return -eINVAL
	case !ok2:
		return -eFAULT
	case s.filterLocked:
		return -ePERM
	case from == 0 || count == 0 || count > mostInstructions:
		return -eINVAL
	case count > maxInstructions:
		return -eNOMEM
	}
	program := mem.Frame()
	if program == 0 {
		return -eNOMEM
	}
	errno := int64(0)
	if !copyIn(program, uintptr(from), count*instructionBytes) {
		errno = -eFAULT
	} else if !isFilter(program, count) {
		errno = -eINVAL
	}
	if errno != 0 {
		mem.FreeFrame(program)
		return errno
	}
	s.dropFilter()
	s.filter, s.filterLength = program, uint16(count)
	return 0
}

// detachFilter is SO_DETACH_FILTER.
func (s *socket) detachFilter() int64 {
	switch {
	case s.filterLocked:
		return -ePERM
	case s.filter == 0:
		return -eNOENT
	}
	s.dropFilter()
	return 0
}

func (s *socket) dropFilter() {
	if s.filter != 0 {
		mem.FreeFrame(s.filter)
		s.filter, s.filterLength = 0, 0
	}
}

// lockFilter is SO_LOCK_FILTER: a lock stays.
func (s *socket) lockFilter(at uintptr) int64 {
	v, ok := in32(at)
	switch {
	case !ok:
		return -eFAULT
	case s.filterLocked && v == 0:
		return -ePERM
	}
	s.filterLocked = v != 0
	return 0
}

// getFilter is SO_GET_FILTER: room and the result are instructions.
func (s *socket) getFilter(at, room, sizeAt uintptr) int64 {
	n := uintptr(s.filterLength)
	switch {
	case room == 0 || n == 0:
	case room < n:
		return -eINVAL
	case !copyOut(at, s.filter, n*instructionBytes):
		return -eFAULT
	}
	return copied(out32(sizeAt, uint32(n)))
}

// isFilter reports whether a program of n instructions can be run: each is one, no jump leads out
// of it, it ends in a return, and no word of its memory is loaded that was not stored before.
func isFilter(program, n uintptr) bool {
	// Behind the program: which words have been stored, whichever way an instruction is come to.
	notes := program + n*instructionBytes
	for i := range n {
		arch.Store16(notes+2*i, 1<<filterWords-1)
	}
	stored := uint16(0)
	for i := range n {
		in := filterAt(program, i)
		stored &= arch.Load16(notes + 2*i)
		left := n - i - 1 // behind it
		jump := func(to uintptr) bool {
			if to >= left {
				return false
			}
			to = notes + 2*(i+1+to)
			arch.Store16(to, arch.Load16(to)&stored)
			return true
		}
		if !in.known() {
			return false
		}
		switch in.code & bpfClass {
		case bpfST, bpfSTX:
			stored |= 1 << in.k
		case bpfLD, bpfLDX:
			if in.code&bpfMode == bpfMEM && stored>>in.k&1 == 0 {
				return false
			}
		case bpfJMP:
			ok := false
			if in.code&bpfOp == bpfJA {
				ok = jump(uintptr(in.k))
			} else {
				ok = jump(uintptr(in.jt)) && jump(uintptr(in.jf))
			}
			if !ok {
				return false
			}
			stored = 1<<filterWords - 1
		}
	}
	return filterAt(program, n-1).code&bpfClass == bpfRET
}

// known reports whether it is an instruction whose own numbers are right.
func (in *instruction) known() bool {
	kind := in.code &^ bpfClass
	switch in.code & bpfClass {
	case bpfLD:
		switch kind {
		case bpfABS, bpfABS | bpfHalf, bpfABS | bpfByte:
			return in.k < filterOther || in.k >= filterLoads && knownLoad(in.k-filterLoads)
		case 0, bpfLEN, bpfIND, bpfIND | bpfHalf, bpfIND | bpfByte:
			return true
		case bpfMEM:
			return in.k < filterWords
		}
	case bpfLDX:
		switch kind {
		case 0, bpfLEN, bpfMSH | bpfByte:
			return true
		case bpfMEM:
			return in.k < filterWords
		}
	case bpfST, bpfSTX:
		return kind == 0 && in.k < filterWords
	case bpfALU:
		op, byX := in.code&bpfOp, in.code&bpfX != 0
		switch {
		case kind == bpfNEG, op <= bpfXOR && op != bpfNEG && byX:
			return true
		case op > bpfXOR || op == bpfNEG:
			return false
		case op == bpfDIV || op == bpfMOD:
			return in.k != 0
		case op == bpfLSH || op == bpfRSH:
			return in.k < 32
		}
		return true
	case bpfJMP:
		return kind == bpfJA || in.code&bpfOp <= bpfJSET && in.code&bpfOp != bpfJA
	case bpfRET:
		return kind == 0 || kind == bpfA
	case bpfMISC:
		return kind == 0 || kind == bpfTXA
	}
	return false
}

// What else can be loaded than bytes, as numbers behind filterLoads (SKF_AD_*): what there is of
// a datagram that came by lo.
const (
	loadProtocol = 0
	loadKind     = 4 // it is for this machine: 0
	loadIndex    = 8
	loadMark     = 20
	loadQueue    = 24
	loadHardware = 28
	loadCPU      = 36
	loadXOR      = 40 // no load: A ^= X
	loadVLAN     = 44
	loadHasVLAN  = 48
	loadVLANType = 60

	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
)

func knownLoad(n uint32) bool {
	switch n {
	case loadProtocol, loadKind, loadIndex, loadMark, loadQueue, loadHardware, loadCPU, loadXOR, loadVLAN, loadHasVLAN, loadVLANType:
		return true
	}
	return false
}

// packet is a datagram as a filter sees it.
type packet struct {
	ring   *ring
	off    uintptr // in the ring, of its data
	size   uint32  // with the header
	header [udpHeader]byte
	v4     bool
}

// load returns a number of n bytes.
func (p *packet) load(at, n uint32) (v uint32, ok bool) {
	if at > p.size || n > p.size-at {
		return 0, false
	}
	for ; n > 0; n-- {
		var b byte
		if at < udpHeader {
			b = p.header[at]
		} else {
			p.ring.peek(uintptr(unsafe.Pointer(&b)), p.off+uintptr(at-udpHeader), 1, true)
		}
		v = v<<8 | uint32(b)
		at++
	}
	return v, true
}

// passes runs the socket's filter on the datagram of size bytes, off bytes behind the first one
// in its ring, and returns how many of them the socket is to get; ok is false if it is to get
// nothing.
func (s *socket) passes(h *datagram, off, size uintptr, to uint16) (kept uintptr, ok bool) {
	p := packet{ring: &s.in, off: off, size: uint32(size) + udpHeader, v4: h.toHi == 0 && h.toLo>>32 == mapped>>32}
	for i, v := range [...]uint16{h.port, to, uint16(p.size)} {
		p.header[2*i], p.header[2*i+1] = byte(v>>8), byte(v)
	}
	most := run(s.filter, uintptr(s.filterLength), &p)
	return min(size, uintptr(max(most, udpHeader)-udpHeader)), most != 0
}

// run runs a program of n instructions.
func run(program, n uintptr, p *packet) uint32 {
	var a, x uint32
	var words [filterWords]uint32
	for i := uintptr(0); i < n; i++ {
		in := filterAt(program, i)
		k, ok := in.k, true
		switch in.code & bpfClass {
		case bpfLD:
			bytes := uint32(4)
			if in.code&bpfHalf != 0 {
				bytes = 2
			} else if in.code&bpfByte != 0 {
				bytes = 1
			}
			switch in.code & bpfMode {
			case 0:
				a = k
			case bpfABS:
				if k >= filterLoads {
					a = p.special(k-filterLoads, a, x)
				} else {
					a, ok = p.load(k, bytes)
				}
			case bpfIND:
				a, ok = p.load(x+k, bytes)
			case bpfMEM:
				a = words[k%filterWords]
			case bpfLEN:
				a = p.size
			}
		case bpfLDX:
			switch in.code & bpfMode {
			case 0:
				x = k
			case bpfMEM:
				x = words[k%filterWords]
			case bpfLEN:
				x = p.size
			case bpfMSH:
				x, ok = p.load(k, 1)
				x = x & 0xf * 4
			}
		case bpfST:
			words[k%filterWords] = a
		case bpfSTX:
			words[k%filterWords] = x
		case bpfALU:
			if in.code&bpfX != 0 {
				k = x
			}
			a, ok = compute(in.code&bpfOp, a, k)
		case bpfJMP:
			i += in.jump(a, x)
		case bpfRET:
			if in.code&bpfA != 0 {
				return a
			}
			return k
		case bpfMISC:
			if in.code&bpfTXA != 0 {
				a = x
			} else {
				x = a
			}
		}
		if !ok {
			return 0
		}
	}
	return 0
}

// special returns what A becomes by a load of what is no byte.
func (p *packet) special(n, a, x uint32) uint32 {
	switch n {
	case loadProtocol:
		if p.v4 {
			return etherIPv4
		}
		return etherIPv6
	case loadIndex:
		return loIndex
	case loadHardware:
		return hardwareLo
	case loadXOR:
		return a ^ x
	}
	return 0
}

// compute returns what A becomes; ok is false where there is no result.
func compute(op uint16, a, k uint32) (v uint32, ok bool) {
	switch op {
	case 0x00:
		return a + k, true
	case 0x10:
		return a - k, true
	case 0x20:
		return a * k, true
	case bpfDIV, bpfMOD:
		if k == 0 {
			return 0, false
		}
		if op == bpfMOD {
			return a % k, true
		}
		return a / k, true
	case 0x40:
		return a | k, true
	case 0x50:
		return a & k, true
	case bpfLSH:
		return a << (k & 31), true
	case bpfRSH:
		return a >> (k & 31), true
	case bpfNEG:
		return -a, true
	}
	return a ^ k, true
}

// jump returns how many instructions a jump leaves out.
func (in *instruction) jump(a, x uint32) uintptr {
	v := in.k
	if in.code&bpfX != 0 {
		v = x
	}
	is := false
	switch in.code & bpfOp {
	case bpfJA:
		return uintptr(in.k)
	case 0x10:
		is = a == v
	case 0x20:
		is = a > v
	case 0x30:
		is = a >= v
	case bpfJSET:
		is = a&v != 0
	}
	if is {
		return uintptr(in.jt)
	}
	return uintptr(in.jf)
}
