package argument

// What is known of one frame. Memory is what the trace carries, and what the image has in
// segments that nobody writes to.

import "encoding/binary"

// A Frame is what is known of a function's frame.
type Frame struct {
	// CFA is the stack pointer in the caller, behind its call; 0: it is not known.
	CFA uint64
	// Register returns what a register holds in this frame, by its name; nil: none is known.
	Register func(name string) (v uint64, ok bool)
	// Word returns the 8 bytes of memory at an address that is a multiple of 8.
	Word func(addr uint64) (v uint64, ok bool)

	// Behind is where the frame goes on when the function that it has called returns; 0: it is at
	// no call, or at one that never returns. What is in memory there is there now.
	Behind uint64

	// PC is an address in the instruction that the frame is at: for a call that, not the one behind
	// it.
	PC uint64
	// Up is the frame that has called this one, nil if that is not certain.
	Up *Frame

	made   bool
	active *activation // made: nil if the function's code cannot be followed

	kept     func(offset uint8) bool             // tracer.Func.ArgKept at the pc
	constant func(addr, n uint64) ([]byte, bool) // memory that the image has
}

// registerNames are the names by DWARF's numbers (System V ABI, AMD64 supplement, figure 3.36).
var registerNames = [...]string{
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
}

func (f *Frame) register(n uint64) (v uint64, ok bool) {
	if f.Register == nil || n >= uint64(len(registerNames)) {
		return 0, false
	}
	return f.Register(registerNames[n])
}

// word returns 8 bytes of memory.
func (f *Frame) word(addr uint64) (v uint64, ok bool) { return f.number(addr, 8) }

// number returns a number of up to 8 bytes of memory.
func (f *Frame) number(addr uint64, size int) (v uint64, ok bool) {
	b, ok := f.memory(addr, uint64(size))
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:]), ok
}

// memory returns n bytes of memory, if all of them are known.
func (f *Frame) memory(addr, n uint64) ([]byte, bool) {
	if n == 0 {
		return nil, true
	}
	if n > maxBytes || addr+n < addr {
		return nil, false
	}
	if f.constant != nil {
		if b, ok := f.constant(addr, n); ok {
			return b, true
		}
	}
	if f.Word == nil {
		return nil, false
	}
	var b []byte
	for a := addr &^ 7; a-addr&^7 < addr&7+n; a += 8 {
		w, ok := f.Word(a)
		if !ok {
			return nil, false
		}
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b[addr&7:][:n], true
}

// maxBytes bounds what is read of one value.
const maxBytes = 1024

// read returns the size bytes of a value whose pieces are laid out. known says of each whether
// it is known.
func (f *Frame) read(all []piece, size uint64) (b []byte, known []bool) {
	b, known = make([]byte, size), make([]bool, size)
	for _, p := range all {
		if p.at > size || p.size > size-p.at {
			continue
		}
		var got []byte
		ok := false
		switch p.kind {
		case inMemory:
			got, ok = f.memory(p.n, p.size)
		case inRegister, isValue:
			v := p.n
			if ok = p.size <= 8; ok && p.kind == inRegister {
				v, ok = f.register(p.n)
			}
			got = binary.LittleEndian.AppendUint64(nil, v)[:min(p.size, 8)]
		}
		for i := range got {
			b[p.at+uint64(i)], known[p.at+uint64(i)] = got[i], ok
		}
	}
	return b, known
}
