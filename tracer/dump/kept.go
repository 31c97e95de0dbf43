package dump

import "unsafe"

// What a dead machine leaves in RAM (core=ram), in an area that nothing else uses: a description,
// which is a Kept as it lies in memory, copies of the pages that the next boot overwrites, and a
// mark for each page of RAM. The next boot finds it by its first bytes. Since then anything may
// have used that memory, so nothing in it is believed without a check.

// KeptDescription is the room for a description; MaxSaved is the largest number of copied ranges.
const (
	KeptDescription = 28 << 10
	MaxSaved        = 16

	_ = uint(KeptDescription - unsafe.Sizeof(Kept{}))

	// keptMagic is "zfkept" and the version of the form, in two digits.
	keptMagic = 0x3130_7470656b667a
	keptForm  = 1<<48 - 1 // the part that is the same in all versions
)

// A Span is lo <= address < hi.
type Span struct{ Lo, Hi uint64 }

// Saved is a range of copied pages.
type Saved struct {
	Span
	At uint64 // where the copy is
}

// Kept is a description. As read from memory, any field may have any value.
type Kept struct {
	magic    uint64
	crc      uint32 // CRC-32C of what follows
	length   uint32 // of the whole description
	Tries    uint32 // how many boots have begun to send it
	Hidden   uint32 // bytes that are zeros because they are secret
	Size     uint64 // of the area in bytes
	Dump     uint64 // number of the dump
	Marks    uint64 // address of the marks, in the order of the ranges of RAM
	NumRAM   uint32
	NumSaved uint32

	// The same as in an Announce.
	Highest, Root         uint64
	Pages, CPUs, Dead, ID uint32 // ID is the length of the build ID
	BuildID               [32]byte

	RAM   [MaxRanges]Span
	Saved [MaxSaved]Saved
	CPU   [MaxCPUs]CPU
}

// Is reports whether k begins like a description, of any version.
func (k *Kept) Is() bool { return k.magic&keptForm == keptMagic&keptForm }

// Clear makes k no description any more.
func (k *Kept) Clear() { k.magic = 0 }

// Finish completes k with its magic number and checksum.
func (k *Kept) Finish() {
	k.length = uint32(unsafe.Sizeof(*k))
	k.crc = k.sum()
	k.magic = keptMagic
}

func (k *Kept) sum() uint32 {
	const from = unsafe.Offsetof(k.length)
	return checksum(unsafe.Slice((*byte)(unsafe.Pointer(&k.length)), unsafe.Sizeof(*k)-from))
}

// Check says what is wrong with a description at the address of its area, or returns "".
func (k *Kept) Check(area uint64) (wrong string) {
	switch {
	case k.magic != keptMagic:
		return "another version of Zeroframe has kept it, in another form"
	case k.crc != k.sum():
		return "its description is damaged"
	case !k.sane(area):
		return "its description makes no sense"
	}
	return ""
}

// sane reports whether the description's values are possible.
func (k *Kept) sane(area uint64) bool {
	if k.NumRAM > MaxRanges || k.NumSaved > MaxSaved || k.CPUs > MaxCPUs ||
		k.ID > uint32(len(k.BuildID)) || k.Size > maxAddress || k.Highest > maxAddress {
		return false
	}
	pages := uint64(0)
	for i := range k.NumRAM {
		r := &k.RAM[i&(MaxRanges-1)]
		if r.Lo == 0 || !r.pages() || r.Hi > k.Highest {
			return false
		}
		pages += (r.Hi - r.Lo) / PageSize
	}
	if pages != uint64(k.Pages) || !k.within(k.Marks, 8*pages, area) {
		return false
	}
	for i := range k.NumSaved {
		s := &k.Saved[i&(MaxSaved-1)]
		if !s.pages() || s.At%PageSize != 0 || !k.within(s.At, s.Hi-s.Lo, area) {
			return false
		}
	}
	return true
}

// pages reports whether a span consists of whole pages.
func (s *Span) pages() bool { return (s.Lo|s.Hi)%PageSize == 0 && s.Lo < s.Hi }

// maxAddress bounds addresses of RAM.
const maxAddress = 1 << 52

// within reports whether n bytes at an address lie in the area, after the description.
func (k *Kept) within(at, n, area uint64) bool {
	return at >= area+KeptDescription && at-area <= k.Size && n <= k.Size-(at-area)
}

// Where returns where the contents of the page at addr are now: there, or as a copy in the area.
//
//go:noinline
func (k *Kept) Where(addr uintptr) (at uintptr, copied bool) {
	for i := range min(k.NumSaved, MaxSaved) {
		if s := &k.Saved[i]; uint64(addr)-s.Lo < s.Hi-s.Lo {
			return addr - uintptr(s.Lo) + uintptr(s.At), true
		}
	}
	return addr, false
}

// A Mark says which class a page had and what it contained; it is 0 if the page could not be read.
//
//	60..63  the class, plus 1
//	59      the page is lost: it holds something else now
//	 0..58  a hash of the page
type Mark uint64

const (
	markLost = 1 << 59
	markHash = markLost - 1
)

// MarkOf returns the mark of a page.
func MarkOf(c Class, page *[PageSize / 8]uint64) Mark {
	return Mark(c+1)<<60 | Mark(hash(page)&markHash)
}

// Class returns the class; ok is false if the page could not be read.
func (m Mark) Class() (c Class, ok bool) {
	return Class(m>>60) - 1, m>>60 != 0 && m>>60 <= Mark(NumClasses)
}

// Lost reports whether the page is lost, and Lose returns a mark that says so.
func (m Mark) Lost() bool { return m&markLost != 0 }
func (m Mark) Lose() Mark { return m | markLost }

// Same reports whether a page is unchanged since the mark was made.
func (m Mark) Same(page *[PageSize / 8]uint64) bool {
	return Mark(hash(page)&markHash) == m&markHash
}

// hash returns a hash of a page; each word goes one to one into one of four sums.
func hash(page *[PageSize / 8]uint64) uint64 {
	a, b, c, d := uint64(0x5a66726d), uint64(0x16a09e667f3bcc90), uint64(0x3c6ef372fe94f82b),
		uint64(0x510e527fade682d1)
	for i := 0; i < len(page); i += 4 {
		a = turn(a^page[i]) * 0x9e3779b97f4a7c15
		b = turn(b^page[i+1]) * 0xc2b2ae3d27d4eb4f
		c = turn(c^page[i+2]) * 0xd6e8feb86659fd93
		d = turn(d^page[i+3]) * 0xff51afd7ed558ccd
	}
	a = (turn(a^turn(b)) * 0x9e3779b97f4a7c15) ^ (turn(c^turn(d)) * 0xc2b2ae3d27d4eb4f)
	a = (a ^ a>>32) * 0xd6e8feb86659fd93
	return a ^ a>>29
}

func turn(v uint64) uint64 { return v<<29 | v>>35 }
