package tracer

// Arch is what a walk and a trace need to know of a CPU. Everything else in this package is the
// same on each: a frame record is two words, the caller's frame pointer and above it the return
// address into the caller, and the frame pointer (FP) holds the record's address. Two things
// differ, as in Go's own traceback (runtime/traceback.go, usesLR): where the record lies, and where
// the return address is before there is a record (LinkRegister).
type Arch struct {
	// Name is the CPU's name in GOARCH.
	Name string
	// LinkRegister says where a call leaves the return address.
	//
	// false: on the stack. The function pushes FP below it, so its record lies at the
	// top of its frame, and the pc tables tell how far it is from SP to the return address.
	//
	// true: in the register LR. A function that calls others puts LR into the lowest word
	// of its frame, at SP, and FP below that, so its record lies at SP - 8. A leaf keeps
	// its return address in LR: the pc tables say then that its frame has no size.
	LinkRegister bool
	// MinInstruction is the size in bytes of the smallest instruction. Every address of
	// an instruction is a multiple of it.
	MinInstruction uintptr
	// CallLengths are the lengths in bytes that a call instruction may have.
	CallLengths []uint8
	// Registers are the names of the registers that a trace may carry, at most NumRegisters. Text
	// and JSON use these names, the compact form uses their index.
	Registers []string
	// Arguments are the registers in which Go passes integers and pointers, in order, as indexes of
	// Registers (Go internal ABI specification).
	Arguments []uint8
	// Trap is the layout of a trap record.
	Trap TrapLayout
}

// TrapLayout is the layout of a CPU's trap record (walk.go): the offsets, in bytes, that differ
// between CPUs.
type TrapLayout struct {
	PC, SP uintptr
	LR     uintptr // only with LinkRegister
	Size   uintptr // of the record
}

// AMD64 describes amd64. A trap record ends with what the CPU pushed (Intel SDM Vol. 3, 6.14): RIP,
// CS, RFLAGS, RSP, SS. A call without needless prefixes is E8 with four bytes, or FF /2, which has
// two bytes with a register and eight with REX, SIB and displacement.
var AMD64 = Arch{
	Name:           "amd64",
	MinInstruction: 1,
	CallLengths:    []uint8{2, 3, 4, 5, 6, 7, 8},
	Registers: []string{
		"rip", "rsp", "rbp", "rflags", "rax", "rbx", "rcx", "rdx", "rsi", "rdi",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cr2", "cr3",
	},
	Arguments: []uint8{4, 5, 6, 9, 8, 10, 11, 12, 13},
	Trap:      TrapLayout{PC: 32, SP: 56, Size: 72},
}

// ARM64 describes arm64. Its entry code builds the whole trap record.
var ARM64 = Arch{
	Name:           "arm64",
	LinkRegister:   true,
	MinInstruction: 4,
	CallLengths:    []uint8{4},
	Registers: []string{
		"pc", "sp", "x29", "x30", "pstate", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
		"x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19",
		"x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "esr", "far",
	},
	Arguments: []uint8{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
	Trap:      TrapLayout{PC: 32, SP: 40, LR: 48, Size: 64},
}

// NumRegisters is the largest number of registers that a trace can carry.
const NumRegisters = 40

// Native describes the CPU that the program was built for. Any context.
func Native() *Arch {
	if onARM64 {
		return &ARM64
	}
	return &AMD64
}

// calls reports whether the instruction before ra is a direct call of the function at
// entry: E8 with four bytes on amd64, BL on arm64.
func (a *Arch) calls(ra, entry uintptr) bool {
	word := func(p uintptr) (v uint32) {
		for i := range uintptr(4) {
			v |= uint32(*(*byte)(pointer(p + i))) << (8 * i)
		}
		return v
	}
	if a.LinkRegister {
		bl := word(ra - 4)
		return bl>>26 == 0x25 && ra-4+uintptr(int32(bl<<6)>>4) == entry
	}
	return *(*byte)(pointer(ra - 5)) == 0xe8 && ra+uintptr(int32(word(ra-4))) == entry
}

// behindCall reports whether a call instruction ends at ra: E8, or FF with 2 in the middle of its
// ModRM byte, on amd64 (SDM Vol. 2A, 2.1); BL and BLR on arm64.
func (a *Arch) behindCall(ra uintptr) bool {
	at := func(before uintptr) uint8 { return *(*byte)(pointer(ra - before)) }
	if a.LinkRegister {
		return at(1)>>2 == 0x25 || at(1) == 0xd6 && at(2) == 0x3f
	}
	if at(5) == 0xe8 {
		return true
	}
	for n := uintptr(2); n <= 7; n++ {
		if at(n) != 0xff || at(n-1)>>3&7 != 2 {
			continue
		}
		size, mod, base := uintptr(2), at(n-1)>>6, at(n-1)&7
		if base == 4 && mod != 3 {
			size++
			base = at(n-2) & 7 // of the SIB byte
		}
		switch {
		case mod == 1:
			size++
		case mod == 2, mod == 0 && base == 5:
			size += 4
		}
		if size == n {
			return true
		}
	}
	return false
}

// or returns a, or Native for nil.
func (a *Arch) or() *Arch {
	if a == nil {
		return Native()
	}
	return a
}
