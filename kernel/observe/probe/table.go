package probe

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// The table of places from the host. All numbers are little-endian.
//
//	8 bytes  Magic
//	4, 4, 4  number of functions, of places, Flags
//	4, 32    length of the build ID, and the build ID
//	         places, in the order of their addresses

const (
	// File is the name of the table in the boot archive.
	File = ".zf/probes"
	// Magic begins it.
	Magic = "zfprobe1"
	// FlagStacks asks for numbers by the stack of callers.
	FlagStacks = 1

	// MaxFunctions and MaxPlaces bound the table.
	MaxFunctions = 1 << 16
	MaxPlaces    = 1 << 20
)

// header is the table's beginning.
type header struct {
	magic            [8]byte
	functions, sites uint32
	flags            uint32
	buildIDLen       uint32
	buildID          [32]byte
}

// Kinds of places.
const (
	Entry  = iota // the function was called: RSP points to its return address
	Return        // it is about to return
	Tail          // it is about to end in a jump to another function
)

// How to handle the instruction at a place.
const (
	ActStep   = iota // run it
	ActPushBP        // PUSH RBP
	ActRet           // RET
	ActJump          // a direct JMP, by Arg from the end of the instruction
)

// A Place is a row of the table.
type Place struct {
	Offset   uint32 // of the instruction from the start of the text
	Function uint32 // number of the function
	Arg      int32
	Kind     uint8
	Action   uint8
	Byte     uint8 // the instruction's first
	Len      uint8 // of the instruction
}

// The rest is addresses of memory that Start got, and numbers. Set once at boot.
var (
	on        bool
	stacks    bool // by callers
	textLo    uintptr
	places    uintptr // []Place
	numPlaces uint32
	index     uintptr // hash table: 1 + number of a place, 0 is free
	indexMask uint32
	numFuncs  uint32
)

func placeAt(i uint32) *Place {
	return (*Place)(arch.Pointer(places + uintptr(i)*unsafe.Sizeof(Place{})))
}

func hash(off uint32) uint32 { return off * 0x9e37_79b1 >> 7 }

// find returns the place at an offset in the text.
func find(off uint32) (i uint32, ok bool) {
	for h := hash(off); ; h++ {
		i := *(*uint32)(arch.Pointer(index + uintptr(h&indexMask)*4))
		if i == 0 {
			return 0, false
		}
		if placeAt(i-1).Offset == off {
			return i - 1, true
		}
	}
}

// On reports whether anything is probed. Kernel context.
func On() bool { return parts.Observe && on }

// Places returns the number of probed functions and that of their places.
func Places() (functions, places int) {
	if !on {
		return 0, 0
	}
	return int(numFuncs), int(numPlaces)
}

// Start takes the table at address at, of size bytes, for the text textLo <= pc < textHi of the
// build with that ID, and arms its places. memory returns zeroed memory that is never freed, or 0.
// It returns what is wrong, or "". Early context.
func Start(at, size, lo, hi uintptr, buildID []byte,
	memory func(size uintptr) uintptr) (wrong string) {
	h := (*header)(arch.Pointer(at))
	const row = unsafe.Sizeof(Place{})
	if size < unsafe.Sizeof(header{}) || !begins(&h.magic) || h.functions > MaxFunctions ||
		h.sites > MaxPlaces ||
		size < unsafe.Sizeof(header{})+uintptr(h.sites)*row {
		return "the table of probes is damaged"
	}
	if int(h.buildIDLen) != len(buildID) {
		return "the table of probes is of another build"
	}
	for i := range buildID {
		if h.buildID[i] != buildID[i] {
			return "the table of probes is of another build"
		}
	}
	if h.sites == 0 {
		return ""
	}
	textLo, numPlaces, numFuncs = lo, h.sites, h.functions
	stacks = h.flags&FlagStacks != 0
	n := uint32(1)
	for n < 2*numPlaces {
		n *= 2
	}
	indexMask = n - 1
	places, index = memory(uintptr(numPlaces)*row), memory(uintptr(n)*4)
	if places == 0 || index == 0 || !setCounts(memory) {
		return "there is not enough RAM for the probes"
	}
	from := at + unsafe.Sizeof(header{})
	for i := range numPlaces {
		p := placeAt(i)
		*p = *(*Place)(arch.Pointer(from + uintptr(i)*row))
		addr := lo + uintptr(p.Offset)
		if p.Function >= numFuncs || addr >= hi || *(*byte)(arch.Pointer(addr)) != p.Byte ||
			p.Byte == arch.BreakpointCode {
			return "the table of probes does not fit the program"
		}
		if _, ok := find(p.Offset); ok {
			return "the table of probes has a place twice"
		}
		for h := hash(p.Offset); ; h++ {
			if slot := (*uint32)(arch.Pointer(index + uintptr(h&indexMask)*4)); *slot == 0 {
				*slot = i + 1
				break
			}
		}
	}
	for i := range numPlaces {
		arch.PatchCode(lo+uintptr(placeAt(i).Offset), arch.BreakpointCode)
	}
	on = true
	calibrate()
	return ""
}

func begins(b *[8]byte) bool {
	for i := range len(Magic) {
		if b[i] != Magic[i] {
			return false
		}
	}
	return true
}
