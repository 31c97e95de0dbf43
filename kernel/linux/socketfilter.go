package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// Filters of datagrams: a program of the classic BPF says of each how much of it a socket receives
// (Linux: net/core/filter.c; McCanne and Jacobson, The BSD Packet Filter, 1993). It jumps only
// forwards, so it ends. It sees a UDP datagram, starting at its header. There is no IP header, and
// a program that asks for one is refused (SKF_NET_OFF, SKF_LL_OFF); so is one that asks for more
// than filterLoads.

const (
	soAttachFilter = 26

	instructionBytes = 8
	maxInstructions  = pageSize / (instructionBytes + 2) // with the notes of isFilter about each
	mostInstructions = 4096                              // on Linux, if it has the memory
	filterWords      = 16                                // of memory of a program
	udpHeader        = 8

	// From this number on, a load is not of the datagram's bytes.
	filterLoads = 0xfffff000 // SKF_AD_OFF
	filterOther = 0xffe00000 // SKF_LL_OFF: not allowed from here on, either
)

// instruction is struct sock_filter.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Codes of instructions (include/uapi/linux/bpf_common.h, filter.h): a class in three bits, and the
// operation.
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
	bpfX     = 0x08 // ALU and JMP: with X, not with a constant
	bpfHigh  = 0xf0 // the operation, or the way to load
	bpfMode  = 0xe0
	bpfJA    = 0x05
	bpfABS   = 0x20
	bpfMEM   = 0x60

	// bpfCodes are all valid codes.
	bpfCodes = "\x00\x20\x28\x30\x40\x48\x50\x60\x80\x01\x61\x81\xb1\x02\x03" +
		"\x04\x14\x24\x34\x44\x54\x64\x74\x84\x94\xa4\x0c\x1c\x2c\x3c\x4c\x5c\x6c\x7c\x9c\xac" +
		"\x05\x15\x25\x35\x45\x1d\x2d\x3d\x4d\x06\x16\x07\x87"
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
	if s.filter == 0 {
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

// isFilter reports whether a program of n instructions can be run: all of them are valid, no jump
// leads out of it, it ends in a return, and no word of its memory is loaded before it is stored.
func isFilter(program, n uintptr) bool {
	// After the program: for each instruction, the words that were stored on every way to it.
	notes := program + n*instructionBytes
	for i := range n {
		arch.Store16(notes+2*i, 1<<filterWords-1)
	}
	stored := uint16(0)
	for i := range n {
		in := filterAt(program, i)
		stored &= arch.Load16(notes + 2*i)
		left := n - i - 1 // after this one
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
		switch class := in.code & bpfClass; {
		case class == bpfST, class == bpfSTX:
			stored |= 1 << in.k
		case in.inMemory():
			if stored>>in.k&1 == 0 {
				return false
			}
		case in.code == bpfJA && !jump(uintptr(in.k)), class == bpfJMP && in.code != bpfJA &&
			!(jump(uintptr(in.jt)) && jump(uintptr(in.jf))):
			return false
		case class == bpfJMP:
			stored = 1<<filterWords - 1
		}
	}
	return filterAt(program, n-1).code&bpfClass == bpfRET
}

// inMemory reports whether an instruction accesses a word of the program's memory.
func (in *instruction) inMemory() bool {
	class := in.code & bpfClass
	return class == bpfST || class == bpfSTX || class <= bpfLDX && in.code&bpfMode == bpfMEM
}

// known reports whether the instruction is valid, together with its own numbers.
func (in *instruction) known() bool {
	const divide, modulo, left, right = 0x34, 0x94, 0x64, 0x74
	found := false
	for i := range len(bpfCodes) {
		found = found || uint16(bpfCodes[i]) == in.code
	}
	switch {
	case in.inMemory():
		return found && in.k < filterWords
	case in.code&(bpfClass|bpfMode) == bpfABS && in.k >= filterOther:
		n := in.k - filterLoads
		return found && in.k >= filterLoads && n%4 == 0 && n < 64 && loadsKnown>>(n/4)&1 != 0
	case in.code == divide, in.code == modulo:
		return in.k != 0
	case in.code == left, in.code == right:
		return in.k < 32
	}
	return found
}

// Loads other than bytes, as numbers from filterLoads on (SKF_AD_*): what is known of a datagram on
// lo.
const (
	loadProtocol = 0
	loadIndex    = 8
	loadHardware = 28
	loadXOR      = 40 // not a load: A ^= X

	// loadsKnown has bit n/4 for each number n that can be loaded.
	loadsKnown = 1<<0 | 1<<1 | 1<<2 | 1<<5 | 1<<6 | 1<<7 | 1<<9 | 1<<10 | 1<<11 | 1<<12 | 1<<15

	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
)

// packet is a datagram as a filter sees it.
type packet struct {
	ring   *ring
	off    uintptr // in the ring, of its data
	size   uint32  // with the header
	header [udpHeader]byte
	v4     bool
}

// load returns a number of n bytes of the datagram.
func (p *packet) load(at, n uint32) (v uint32, ok bool) {
	if at > p.size || n > p.size-at {
		return 0, false
	}
	for ; n > 0; n-- {
		var b byte
		if at < udpHeader {
			b = p.header[at]
		} else {
			p.ring.peek(addressOf(&b), p.off+uintptr(at-udpHeader), 1, true)
		}
		v = v<<8 | uint32(b)
		at++
	}
	return v, true
}

// passes runs the socket's filter on the datagram of size bytes at offset off in its ring. It
// returns how many of them the socket receives; ok is false if it receives nothing.
func (s *socket) passes(h *datagram, off, size uintptr, to uint16) (kept uintptr, ok bool) {
	p := packet{ring: &s.in, off: off, size: uint32(size) + udpHeader, v4: h.to.isV4()}
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
		k, ok, v := in.k, true, uint32(0)
		class := in.code & bpfClass
		if class <= bpfLDX {
			v, ok = p.loaded(in, a, x, &words)
		}
		switch class {
		case bpfLD:
			a = v
		case bpfLDX:
			x = v
		case bpfST:
			words[k%filterWords] = a
		case bpfSTX:
			words[k%filterWords] = x
		case bpfALU:
			if in.code&bpfX != 0 {
				k = x
			}
			a, ok = compute(in.code&bpfHigh, a, k)
		case bpfJMP:
			i += in.jump(a, x)
		case bpfRET:
			if in.code&bpfHigh != 0 {
				return a
			}
			return k
		case bpfMISC:
			if in.code&bpfHigh != 0 {
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

// loaded returns what an instruction loads into A or X.
func (p *packet) loaded(in *instruction, a, x uint32, words *[filterWords]uint32) (v uint32,
	ok bool) {
	const immediate, indirect, length = 0x00, 0x40, 0x80
	size := uint32(4) >> (in.code >> 3 & 3) // of a word, a half or a byte
	switch in.code & bpfMode {
	case immediate:
		return in.k, true
	case bpfABS:
		if in.k >= filterLoads {
			return p.special(in.k-filterLoads, a, x), true
		}
		return p.load(in.k, size)
	case indirect:
		return p.load(x+in.k, size)
	case bpfMEM:
		return words[in.k%filterWords], true
	case length:
		return p.size, true
	}
	v, ok = p.load(in.k, 1) // BPF_MSH: four times the lower half of a byte
	return v & 0xf * 4, ok
}

// special returns the value of A after a load that is not of bytes.
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

// compute returns the new value of A; ok is false if there is no result.
func compute(op uint16, a, k uint32) (v uint32, ok bool) {
	const divide, modulo = 3, 9
	op >>= 4
	if (op == divide || op == modulo) && k == 0 {
		return 0, false
	}
	switch op {
	case 0:
		a += k
	case 1:
		a -= k
	case 2:
		a *= k
	case divide:
		a /= k
	case 4:
		a |= k
	case 5:
		a &= k
	case 6:
		a <<= k & 31
	case 7:
		a >>= k & 31
	case 8:
		a = -a
	case modulo:
		a %= k
	default:
		a ^= k
	}
	return a, true
}

// jump returns the number of instructions that a jump skips.
func (in *instruction) jump(a, x uint32) uintptr {
	v := in.k
	if in.code&bpfX != 0 {
		v = x
	}
	op := in.code & bpfHigh >> 4 // always, equal, greater, greater or equal, a common bit
	switch {
	case op == 0:
		return uintptr(in.k)
	case op == 1 && a == v, op == 2 && a > v, op == 3 && a >= v, op == 4 && a&v != 0:
		return uintptr(in.jt)
	}
	return uintptr(in.jf)
}
