package dump

// What a machine that has died leaves in RAM (core=ram), in an area that nothing else uses: a
// description, copies of the pages that the next boot overwrites, and a mark for each page of RAM. The next
// boot finds it by its first bytes. It has been anything's memory meanwhile, so that nothing in it is
// believed without a check. All numbers are little-endian.
//
//	 0  "zfkept", and the version of the form in two digits
//	 8  CRC-32C of the description from byte 12 on, 4 bytes
//	12  length of the description, 4 bytes
//	16  how often a boot has begun to send it, 4 bytes
//	20  how many bytes are zeros since they are secret, 4 bytes
//	24  length of the area, 8 bytes
//	32  number of the dump, 8 bytes
//	40  address of the marks, 8 bytes
//	48  how many ranges of RAM there are, 2 bytes
//	50  how many ranges are copied, 2 bytes
//	52  length of the announcement, 2 bytes
//	54  0, 2 bytes
//
// then the announcement, the ranges of RAM (lo and hi, 8 bytes each), those that are copied (lo, hi, and the address
// of the copy), and the CPUs. The marks are 8 bytes each, in the order of the ranges.

// KeptDescription is the room for a description; MaxSaved is how many ranges are copied at most.
const (
	KeptDescription = 28 << 10
	MaxSaved        = 16

	keptHeader   = 56
	keptMagic    = 0x7470656b667a // "zfkept"
	keptVersion  = '0' | '1'<<8
	longest      = keptHeader + announceSize + 32 + 16*MaxRanges + 24*MaxSaved + cpuSize*MaxCPUs
	_            = uint(KeptDescription - longest)
	bytesOfRange = 16
	bytesOfSaved = 24
)

// A Span is lo <= address < hi.
type Span struct{ Lo, Hi uint64 }

// Saved are pages that are copied.
type Saved struct {
	Span
	At uint64 // where the copy is
}

// Kept is a description, but for the CPUs.
type Kept struct {
	Tries    uint32
	Hidden   uint32
	Size     uint64 // of the area in bytes
	Dump     uint64
	Marks    uint64
	Announce Announce
	NumRAM   int
	RAM      [MaxRanges]Span
	NumSaved int
	Saved    [MaxSaved]Saved
}

// IsKept reports whether b begins as a description does, of whatever version.
func IsKept(b []byte) bool { return len(b) >= 8 && Uint64(b)<<16 == keptMagic<<16 }

// PutKept writes a description to b, which has room for KeptDescription, and returns its length. [KeptCPU] takes the
// place of each CPU, and [FinishKept] ends it: before that it is none.
func PutKept(b []byte, k *Kept) int {
	for i := 0; i < keptHeader; i++ {
		b[i] = 0
	}
	PutUint32(b[16:], k.Tries)
	PutUint32(b[20:], k.Hidden)
	PutUint64(b[24:], k.Size)
	PutUint64(b[32:], k.Dump)
	PutUint64(b[40:], k.Marks)
	b[48], b[50] = byte(k.NumRAM), byte(k.NumSaved)
	n := keptHeader + PutAnnounce(b[keptHeader:], &k.Announce)
	b[52] = byte(n - keptHeader)
	for i := 0; i < k.NumRAM; i++ {
		PutUint64(b[n:], k.RAM[i].Lo)
		PutUint64(b[n+8:], k.RAM[i].Hi)
		n += bytesOfRange
	}
	for i := 0; i < k.NumSaved; i++ {
		PutUint64(b[n:], k.Saved[i].Lo)
		PutUint64(b[n+8:], k.Saved[i].Hi)
		PutUint64(b[n+16:], k.Saved[i].At)
		n += bytesOfSaved
	}
	n += int(k.Announce.CPUs) * cpuSize
	PutUint32(b[12:], uint32(n))
	return n
}

// KeptCPU returns the place of a CPU in a description of n bytes, for [PutCPU] and [ParseCPU].
func KeptCPU(b []byte, n int, k *Kept, cpu uint32) []byte {
	at := n - int(k.Announce.CPUs-cpu)*cpuSize
	return b[at : at+cpuSize]
}

// FinishKept makes n bytes a description.
func FinishKept(b []byte, n int) {
	PutUint32(b[8:], checksum(b[12:n]))
	b[6], b[7] = keptVersion&255, keptVersion>>8
	PutUint32(b, keptMagic&0xffffffff)
	b[4], b[5] = byte(keptMagic>>32&255), byte(keptMagic>>40)
}

// KeptSize returns the size of the area that the description in b, the first bytes of it, is of, and what is wrong with the
// description, or "".
func KeptSize(b []byte) (size uint64, wrong string) {
	_, wrong = keptLength(b)
	if wrong != "" {
		return 0, wrong
	}
	return Uint64(b[24:]), ""
}

// keptLength returns the length of a description.
func keptLength(b []byte) (n int, wrong string) {
	switch {
	case len(b) < KeptDescription || !IsKept(b):
		return 0, "there is none"
	case uint64(b[6])|uint64(b[7])<<8 != keptVersion:
		return 0, "another version of Zeroframe has kept it, in another form"
	}
	n = int(Uint32(b[12:]))
	if n < keptHeader || n > KeptDescription || checksum(b[12:n]) != Uint32(b[8:]) {
		return 0, "its description is damaged"
	}
	return n, ""
}

// ParseKept reads the description that b, the first bytes of the area at an address, begins with, and returns its length,
// and what is wrong with it, or "".
func ParseKept(b []byte, area uint64, k *Kept) (n int, wrong string) {
	if n, wrong = keptLength(b); wrong != "" {
		return 0, wrong
	}
	const nonsense = "its description makes no sense"
	k.Tries, k.Hidden, k.Size, k.Dump, k.Marks = Uint32(b[16:]), Uint32(b[20:]), Uint64(b[24:]), Uint64(b[32:]), Uint64(b[40:])
	k.NumRAM, k.NumSaved = int(b[48])|int(b[49])<<8, int(b[50])|int(b[51])<<8
	length := int(b[52]) | int(b[53])<<8
	at := keptHeader + length
	if k.NumRAM > MaxRanges || k.NumSaved > MaxSaved || at > n {
		return 0, nonsense
	}
	var ok bool
	if k.Announce, ok = ParseAnnounce(b[keptHeader:at]); !ok ||
		at+k.NumRAM*bytesOfRange+k.NumSaved*bytesOfSaved+int(k.Announce.CPUs)*cpuSize != n {
		return 0, nonsense
	}
	pages, last := uint64(0), uint64(0)
	for i := 0; i < k.NumRAM; i++ {
		r := &k.RAM[i]
		r.Lo, r.Hi = Uint64(b[at:]), Uint64(b[at+8:])
		if r.Lo == 0 || r.Lo%PageSize != 0 || r.Hi%PageSize != 0 || r.Lo >= r.Hi || r.Hi > k.Announce.Highest {
			return 0, nonsense
		}
		pages += (r.Hi - r.Lo) / PageSize
		at += bytesOfRange
		last = max(last, r.Hi)
	}
	if pages != uint64(k.Announce.Pages) || last > maxAddress || k.Size > maxAddress || !within(k.Marks, 8*pages, area, k.Size) {
		return 0, nonsense
	}
	for i := 0; i < k.NumSaved; i++ {
		s := &k.Saved[i]
		s.Lo, s.Hi, s.At = Uint64(b[at:]), Uint64(b[at+8:]), Uint64(b[at+16:])
		if s.Lo%PageSize != 0 || s.Hi%PageSize != 0 || s.At%PageSize != 0 || s.Lo >= s.Hi || !within(s.At, s.Hi-s.Lo, area, k.Size) {
			return 0, nonsense
		}
		at += bytesOfSaved
	}
	return n, ""
}

// maxAddress bounds addresses of RAM.
const maxAddress = 1 << 52

// within reports whether n bytes at an address lie in an area, behind its description.
func within(at, n, area, size uint64) bool {
	return at >= area+KeptDescription && at-area <= size && n <= size-(at-area)
}

// Where returns where the page at an address is now: there, or in the area.
func (k *Kept) Where(addr uintptr) (at uintptr, copied bool) {
	for i := 0; i < k.NumSaved; i++ {
		if s := &k.Saved[i]; uint64(addr)-s.Lo < s.Hi-s.Lo {
			return addr - uintptr(s.Lo) + uintptr(s.At), true
		}
	}
	return addr, false
}

// A Mark says of a page what class it had, and what was in it: 0 if it could not be read.
//
//	60..63  the class, plus 1
//	59      it is lost: what is there now is something else
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

// Same reports whether a page is what it was when the mark was made.
func (m Mark) Same(page *[PageSize / 8]uint64) bool { return Mark(hash(page)&markHash) == m&markHash }

// hash returns a hash of a page, in which each word is one to one with one of four sums.
func hash(page *[PageSize / 8]uint64) uint64 {
	a, b, c, d := uint64(0x5a66726d), uint64(0x16a09e667f3bcc90), uint64(0x3c6ef372fe94f82b), uint64(0x510e527fade682d1)
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
