package datagram

// One datagram: its header, read and written. There is only one way to write a header, and Parse
// accepts no other, so that what was parsed is what was sent.

// Sizes, in bytes.
const (
	// MaxPayload is the size of the largest datagram: the most that Linux's netconsole sends.
	MaxPayload = 1000
	// MaxPiece is the largest piece.
	MaxPiece = 880
	// MaxTrace is the length of the longest trace. For a longer one, the first MaxTrace bytes are
	// sent.
	MaxTrace = 64 << 10
	// MaxBuild is the longest build ID, in hexadecimal digits.
	MaxBuild = 64

	maxHeader = len("zf1 ") + MaxBuild + len(" ") + bootDigits + len(" 4294967295 255 x65536! ") +
		crcDigits + len("\n")

	bootDigits = 16
	crcDigits  = 8

	_ = uint(MaxPayload - maxHeader - MaxPiece)
)

// MaxPieces is the largest number of pieces and parity pieces of one trace together.
const MaxPieces = 256

// tag begins each header.
const tag = "zf1 "

// Part is one datagram.
type Part struct {
	Build []byte // build ID in hexadecimal, empty if there is none
	Boot  uint64 // which boot
	Seq   uint32 // which trace of it, from 1
	No    uint32 // which piece, from 0

	Last   bool   // the last piece (parity pieces apart)
	Parity bool   // a parity piece
	Total  uint32 // parity only: the length of the trace in bytes
	Cut    bool   // last and parity only: the trace was longer, and the rest is missing

	Chunk []byte // the piece
}

// Reject says why a datagram is not part of a trace.
type Reject uint8

const (
	// None: it is part of a trace.
	None Reject = iota
	// Foreign: it has no header of ours. It may be a log line.
	Foreign
	// Damaged: header and piece do not match the CRC in the header.
	Damaged
	// Impossible: its numbers contradict each other, so its sender does not follow the format.
	Impossible
)

// String returns a word for the rejection.
func (r Reject) String() string {
	if int(r) < len(rejectNames) {
		return rejectNames[r]
	}
	return "unknown"
}

var rejectNames = [...]string{
	None: "accepted", Foreign: "no part of a trace", Damaged: "damaged", Impossible: "impossible",
}

// Parse reads a datagram. Its result refers to b. Any context.
func Parse(b []byte) (p Part, why Reject) {
	p, covered, sum, why := Unchecked(b)
	if why != None {
		return Part{}, why
	}
	if crcFinish(AddCRC(AddCRC(crcStart, b[:covered]), p.Chunk)) != sum {
		return Part{}, Damaged
	}
	if !p.Possible() {
		return Part{}, Impossible
	}
	return p, None
}

// Unchecked reads a datagram as Parse does, but leaves the check of the CRC, and of whether the
// part is Possible, to the caller, who may have a faster way or know the part already. sum is the
// CRC of the first covered bytes of b and the piece. Any context.
func Unchecked(b []byte) (p Part, covered int, sum uint32, why Reject) {
	if len(b) > MaxPayload {
		return p, 0, 0, Foreign
	}
	r := reader{b: b}
	p.Build = r.build()
	p.Boot = r.hex(bootDigits)
	r.blank()
	p.Seq = r.dec()
	r.blank()
	p.No = r.dec()
	r.blank()
	switch r.next() {
	case '+':
	case '.':
		p.Last = true
	case '!':
		p.Last, p.Cut = true, true
	case 'x':
		p.Parity = true
		p.Total = r.dec()
		if r.pos < len(b) && b[r.pos] == '!' {
			p.Cut = true
			r.pos++
		}
	default:
		r.bad = true
	}
	covered = r.pos
	r.blank()
	sum = uint32(r.hex(crcDigits))
	if r.next() != '\n' || r.bad {
		return Part{}, 0, 0, Foreign
	}
	p.Chunk = b[r.pos:]
	return p, covered, sum, None
}

// Possible reports whether the numbers are consistent. Any context.
func (p *Part) Possible() bool {
	n := uint32(len(p.Chunk))
	if p.Seq == 0 || n == 0 || n > MaxPiece || p.No >= MaxPieces {
		return false
	}
	if p.Parity {
		return p.Total >= n && p.Total <= MaxTrace && p.No+(p.Total+n-1)/n < MaxPieces
	}
	// All pieces before the last are full, so they tell the size. Only the last piece may be
	// shorter.
	return p.Last || (p.No+1)*n < MaxTrace
}

// reader reads the fields of a header. Once bad is set, it stays set.
type reader struct {
	b   []byte
	pos int
	bad bool
}

// next returns the next byte, or 0 at the end.
func (r *reader) next() byte {
	if r.pos >= len(r.b) {
		r.bad = true
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

func (r *reader) blank() {
	if r.next() != ' ' {
		r.bad = true
	}
}

// build reads the tag and the build ID, with the blank after it.
func (r *reader) build() []byte {
	for i := 0; i < len(tag); i++ {
		if r.next() != tag[i] {
			r.bad = true
			return nil
		}
	}
	start := r.pos
	if r.next() == '-' {
		r.blank()
		return nil
	}
	r.pos = start
	for r.pos < len(r.b) {
		if _, ok := hexValue(r.b[r.pos]); !ok {
			break
		}
		r.pos++
	}
	id := r.b[start:r.pos]
	if len(id) == 0 || len(id)%2 != 0 || len(id) > MaxBuild {
		r.bad = true
	}
	r.blank()
	return id
}

// hex reads a number of n hexadecimal digits.
func (r *reader) hex(n int) (v uint64) {
	for ; n > 0; n-- {
		d, ok := hexValue(r.next())
		if !ok {
			r.bad = true
		}
		v = v<<4 | uint64(d)
	}
	return v
}

// dec reads a decimal number of 32 bits.
func (r *reader) dec() uint32 {
	v, start := uint64(0), r.pos
	for r.pos < len(r.b) && r.b[r.pos]-'0' <= 9 {
		v = v*10 + uint64(r.b[r.pos]-'0')
		r.pos++
		if v > 1<<32-1 {
			r.bad = true
			return 0
		}
	}
	if n := r.pos - start; n == 0 || n > 1 && r.b[start] == '0' {
		r.bad = true
	}
	return uint32(v)
}

func hexValue(c byte) (v byte, ok bool) {
	switch {
	case c-'0' <= 9:
		return c - '0', true
	case c-'a' <= 5:
		return c - 'a' + 10, true
	}
	return 0, false
}
