package image

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/tracer"
)

// The kernel's own image, read from its ELF header in memory: the header lies in the page below the
// text, and every loader loads it. So the rights of pages and the build ID come from the file
// itself, and nothing is written down twice.

const maxSegments = 8

// Set once at boot.
var (
	Segments    [maxSegments]mem.Segment
	NumSegments int
	End         uintptr // just above the highest segment
	TextLo      uintptr
	TextHi      uintptr

	buildIDBytes [32]byte
	buildIDLen   int
)

// ELF constants (System V ABI, gABI 4.1, chapters 4 and 5).
const (
	elfMagic   = 0x464c457f
	ptLoad     = 1
	ptNote     = 4
	pfExec     = 1
	pfWrite    = 2
	noteGNU    = 0x00554e47 // "GNU\0"
	buildIDTyp = 3
	HeaderRoom = 4096 // between the ELF header and the text
)

// FindText sets the bounds of the text, which every trace needs.
func FindText() {
	TextLo, TextHi = arch.TextBounds()
}

// Read reads the ELF header. It returns what is wrong with the image, or "". Early context, after
// FindText.
func Read() (wrong string) {
	h := TextLo&^(HeaderRoom-1) - HeaderRoom
	if load32(h) != elfMagic {
		return "the ELF header is not in the page below the text: was the image made by zf build?"
	}
	ph := h + uintptr(load64(h+32))
	size, n := uintptr(load16(h+54)), int(load16(h+56))
	for ; n > 0; n-- {
		flags, addr := load32(ph+4), uintptr(load64(ph+16))
		switch load32(ph) {
		case ptLoad:
			if NumSegments == maxSegments {
				return "the image has too many segments"
			}
			s := &Segments[NumSegments]
			s.Lo, s.Hi = addr, addr+uintptr(load64(ph+40))
			s.Write, s.Exec = flags&pfWrite != 0, flags&pfExec != 0
			NumSegments++
			if s.Hi > End {
				End = s.Hi
			}
		case ptNote:
			findBuildID(addr, addr+uintptr(load64(ph+32)))
		}
		ph += size
	}
	return ""
}

// findBuildID searches notes: name size, description size, type, then name and description, each
// padded to 4 bytes.
func findBuildID(p, end uintptr) {
	for p+12 <= end {
		name, desc, typ := uintptr(load32(p)), uintptr(load32(p+4)), load32(p+8)
		d := p + 12 + (name+3)&^3
		if name > end-p || desc > end-p || d+desc > end {
			return
		}
		if name == 4 && load32(p+12) == noteGNU && typ == buildIDTyp &&
			desc <= uintptr(len(buildIDBytes)) {
			for i := range desc {
				buildIDBytes[i] = *(*byte)(arch.Pointer(d + i))
			}
			buildIDLen = int(desc)
		}
		p = d + (desc+3)&^3
	}
}

// Keep stores a second copy of what is known of the image (arch.Keep). Early context.
func Keep() {
	arch.KeepVar(&Segments)
	arch.KeepVar(&NumSegments)
	arch.KeepVar(&End)
	arch.KeepVar(&TextLo)
	arch.KeepVar(&TextHi)
	arch.KeepVar(&buildIDBytes)
	arch.KeepVar(&buildIDLen)
}

// BuildID returns the bytes of the image's GNU build ID, none if it has none. Any context.
func BuildID() []byte { return buildIDBytes[:buildIDLen] }

// PCTable returns Go's pc tables, as the linker placed them.
func PCTable() (t tracer.PCTable, ok bool) {
	lo, hi := arch.PCTableBounds()
	return tracer.ParsePCTable(unsafe.Slice((*byte)(arch.Pointer(lo)), int(hi-lo)), TextLo)
}

// SPDelta is the walker's SPDelta.
func SPDelta(pc uintptr) (delta uintptr, ok bool) {
	t, ok := PCTable()
	if !ok {
		return 0, false
	}
	f, ok := t.Find(pc)
	if !ok {
		return 0, false
	}
	d, ok := f.SPDelta(pc)
	return uintptr(d), ok && d >= 0
}

// Returns is the walker's Returns.
func Returns(pc, ra uintptr) bool {
	t, ok := PCTable()
	return !ok || t.Returns(pc, ra)
}

// load16 loads from memory that is mapped. Any context.
func load16(a uintptr) uint16 { return *(*uint16)(arch.Pointer(a)) }
func load32(a uintptr) uint32 { return *(*uint32)(arch.Pointer(a)) }
func load64(a uintptr) uint64 { return *(*uint64)(arch.Pointer(a)) }
