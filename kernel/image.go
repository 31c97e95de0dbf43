package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/tracer"
)

// The kernel's own image, read from its ELF header in memory: the header lies
// in the page below the text, and each loader brings it along. So the rights of
// pages and the build ID are the file's own, and nothing is written down twice.

const maxSegments = 8

var image struct {
	segments [maxSegments]mm.Segment
	n        int
	end      uintptr // just above the highest segment
	textLo   uintptr
	textHi   uintptr
	buildID  [32]byte
	nBuildID int
}

func textBounds() (lo, hi uintptr)
func pctabBounds() (lo, hi uintptr)

// ELF constants (System V ABI, gABI 4.1, chapters 4 and 5).
const (
	elfMagic   = 0x464c457f
	ptLoad     = 1
	ptNote     = 4
	pfExec     = 1
	pfWrite    = 2
	noteGNU    = 0x00554e47 // "GNU\0"
	buildIDTyp = 3
	headerRoom = 4096 // between the ELF header and the text
)

// findText sets the bounds of the text, which every trace needs.
func findText() {
	image.textLo, image.textHi = textBounds()
	walker.TextLo, walker.TextHi = image.textLo, image.textHi
	walker.EntryLo, walker.EntryHi = amd64.EntryBounds()
}

func findImage() {
	h := image.textLo&^(headerRoom-1) - headerRoom
	if load32(h) != elfMagic {
		Panic("the ELF header is not in the page below the text: was the image made by zf build?")
	}
	ph := h + uintptr(load64(h+32))
	size, n := uintptr(load16(h+54)), int(load16(h+56))
	for ; n > 0; n-- {
		flags, addr := load32(ph+4), uintptr(load64(ph+16))
		switch load32(ph) {
		case ptLoad:
			if image.n == maxSegments {
				Panic("the image has too many segments")
			}
			s := &image.segments[image.n]
			s.Lo, s.Hi = addr, addr+uintptr(load64(ph+40))
			s.Write, s.Exec = flags&pfWrite != 0, flags&pfExec != 0
			image.n++
			if s.Hi > image.end {
				image.end = s.Hi
			}
		case ptNote:
			findBuildID(addr, addr+uintptr(load64(ph+32)))
		}
		ph += size
	}
}

// findBuildID looks through notes: name size, description size, type, then name
// and description, each padded to 4 bytes.
func findBuildID(p, end uintptr) {
	for p+12 <= end {
		name, desc, typ := uintptr(load32(p)), uintptr(load32(p+4)), load32(p+8)
		d := p + 12 + (name+3)&^3
		if name > end-p || desc > end-p || d+desc > end {
			return
		}
		if name == 4 && load32(p+12) == noteGNU && typ == buildIDTyp && desc <= uintptr(len(image.buildID)) {
			for i := uintptr(0); i < desc; i++ {
				image.buildID[i] = *(*byte)(amd64.Pointer(d + i))
			}
			image.nBuildID = int(desc)
		}
		p = d + (desc+3)&^3
	}
}

func buildID() []byte { return image.buildID[:image.nBuildID] }

// pcTable returns Go's pc tables, as the linker placed them.
func pcTable() (t tracer.PCTable, ok bool) {
	lo, hi := pctabBounds()
	return tracer.ParsePCTable(unsafe.Slice((*byte)(amd64.Pointer(lo)), int(hi-lo)), image.textLo)
}

// spDelta is the walker's SPDelta.
func spDelta(pc uintptr) (delta uintptr, ok bool) {
	t, ok := pcTable()
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

func load16(a uintptr) uint16 { return *(*uint16)(amd64.Pointer(a)) }
func load32(a uintptr) uint32 { return *(*uint32)(amd64.Pointer(a)) }
func load64(a uintptr) uint64 { return *(*uint64)(amd64.Pointer(a)) }
