package qr

import "github.com/zeroframe/zeroframe/tracer"

// A trace in codes (package tracer, wire.go: "Codes on a screen"): each code has a head that says
// which trace it is a part of, and which part.

const (
	// Magic is the first byte of each code: it is part of a trace, in this form.
	Magic = 'Z'
	// HeadBytes is the length of the head, one group of digits.
	HeadBytes = groupBytes
	// MaxParts is the largest number of codes of a trace.
	MaxParts = 255
)

// Plan says which codes a trace is cut into.
type Plan struct {
	Parts   int // number of codes
	Bytes   int // bytes of the trace in each but the last
	Version int
	Level   Level
}

// PlanFor chooses the codes for n bytes on a screen that has room for size modules a side: as few
// codes as possible, of the smallest version, with the highest level of error correction that fits
// that version. It returns no parts if no code fits.
func PlanFor(n, size int) (p Plan) {
	most := Version(size)
	if most < 1 || n <= 0 || Capacity(most, L) <= HeadBytes {
		return p
	}
	room := Capacity(most, L) - HeadBytes
	p.Parts = (n + room - 1) / room
	if p.Parts > MaxParts {
		return Plan{}
	}
	p.Bytes = (n + p.Parts - 1) / p.Parts
	for p.Version = 1; Capacity(p.Version, L) < p.Bytes+HeadBytes; {
		p.Version++
	}
	for p.Level < H && Capacity(p.Version, p.Level+1) >= p.Bytes+HeadBytes {
		p.Level++
	}
	return p
}

// Part encodes part i, from 0, of a trace with the CRC crc ([tracer.CRC]) of all its bytes.
func (c *Code) Part(p Plan, i int, trace []byte, crc uint32) bool {
	lo := min(i*p.Bytes, len(trace))
	hi := min(lo+p.Bytes, len(trace))
	head := [HeadBytes]byte{Magic, byte(p.Parts), byte(i), byte(crc >> 24), byte(crc >> 16),
		byte(crc >> 8), byte(crc)}
	return c.Encode(p.Version, p.Level, head[:], trace[lo:hi])
}

// Sum returns the CRC of a trace's bytes.
func Sum(trace []byte) uint32 {
	var c tracer.CRC
	for _, b := range trace {
		c.Byte(b)
	}
	return c.Sum()
}
