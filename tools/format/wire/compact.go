package wire

// The compact form: lines of Ascii85 that make up one byte string, which is a run
// of records. The string is decoded when the trace ends: the names of the
// stacks come after the frames that refer to them, and lines decoded one by one
// would stand between the lines on the wire without making either readable.
//
// A string that was cut, or whose bytes were damaged, yields the records up to
// the first that makes no sense.
//
// A trace may build on earlier ones (wire.go): the table of stacks is kept, and the
// trace that a later line may repeat. When what it builds on did not arrive, the trace
// is intact all the same; it says what is missing.

import (
	"encoding/ascii85"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// MaxCompact is the longest byte string of a compact trace that is kept.
const MaxCompact = 512 << 10

// compactTrace is a compact trace that has not ended yet.
type compactTrace struct {
	b      []byte
	lines  uint64 // lines seen, the damaged ones included
	broken string // why nothing is added any more
	ending []byte // how its lines end
	// previous is Trace.Previous.
	previous uint64
}

// number returns what the line to come has for a number.
func (c *compactTrace) number() uint64 {
	if c.lines == 0 {
		return 0
	}
	return (c.lines-1)%84 + 1
}

// areDigits reports whether there are only digits of Ascii85. 'z' is none of the target's.
func areDigits(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < '!' || c > 'u' }) < 0
}

// Ascii85 reads the digits of bytes as the target writes them. It refuses a group of more than 32
// bits, which ascii85 would cut.
func Ascii85(s string) (b []byte, ok bool) {
	b = make([]byte, len(s)+4) // Decode wants room for a whole group
	n, used, err := ascii85.Decode(b, []byte(s), true)
	for i := 0; i < len(s); i += 5 {
		if s[i] >= largest[0] && s[i:min(i+5, len(s))]+"uuuu" > largest+"uuuu" {
			return nil, false
		}
	}
	return b[:n], err == nil && used == len(s) && len(s)%5 != 1 && areDigits(s)
}

// largest is the largest group, of 32 set bits.
const largest = "s8W-!"

// piece reads a line of the compact form behind its tag.
func piece(s string) (n uint64, b []byte, ok bool) {
	s = strings.TrimRight(s, " ")
	if len(s) < 3 || !areDigits(s) {
		return 0, nil, false
	}
	b, ok = Ascii85(s[1:])
	return uint64(s[0] - '!'), b, ok
}

// compactLine takes a line of the compact form, without its tag; end says that it
// has the tag of the last one.
func (p *Parser) compactLine(l *Line, s string, end bool) {
	n, b, ok := piece(s)
	if end {
		ok = ok && len(b) >= crc32.Size
	}
	if !ok && p.c == nil {
		p.foreign()
		return
	}
	if ok && n == 0 || p.c == nil {
		p.cut()
		p.c = &compactTrace{previous: p.takePrevious()}
	}
	c := p.c
	var crc uint32
	if ok && end {
		k := len(b) - crc32.Size
		b, crc = b[:k], binary.BigEndian.Uint32(b[k:])
	}
	switch {
	case c.broken != "":
	case ok && n != c.number():
		c.broken = fmt.Sprintf("line %d is missing", c.lines)
	case !ok:
		c.broken = fmt.Sprintf("line %d is malformed", c.lines)
	case len(c.b)+len(b) > MaxCompact:
		c.broken = "it is too long"
	default:
		c.b = append(c.b, b...)
	}
	c.lines++
	c.ending = append(c.ending[:0], l.Ending...)
	p.emit(l, Record{Op: OpCompact})
	if ok && end {
		p.finishCompact(crc, true)
	}
}

// endsCompact reports whether s, behind the tag of a last line, is the intact end of
// the open trace.
func (p *Parser) endsCompact(s string) bool {
	n, b, ok := piece(s)
	if k := len(b) - crc32.Size; ok && k >= 0 && p.c.broken == "" && n == p.c.number() {
		return crc32.Update(crc32.ChecksumIEEE(p.c.b), crc32.IEEETable,
			b[:k]) == binary.BigEndian.Uint32(b[k:])
	}
	return false
}

// finishCompact ends the open compact trace and reports what it says.
func (p *Parser) finishCompact(crc uint32, ended bool) {
	c := p.c
	p.c = nil
	t := p.built(Trace{Previous: c.previous})
	// A boot before has had a table of its own, and nothing of this boot builds on it.
	known := &p.table
	if t.Previous > 0 {
		known = &table{}
	}
	switch got := crc32.ChecksumIEEE(c.b); {
	case c.broken != "":
		t.MarkDamaged(c.broken)
	case !ended:
		t.MarkDamaged(CutDamage)
	case got != crc:
		t.MarkDamaged(fmt.Sprintf("CRC 0x%08x, expected 0x%08x", got, crc))
	}
	t.Cut = !ended
	d := decodeCompact(c.b, known, !t.Damaged)
	if d.err != nil {
		t.MarkDamaged(d.err.Error())
	}
	if len(d.recs) == 0 || d.recs[0].Op != OpBegin {
		t.MarkDamaged("its begin record is missing")
		t.NoBegin = true
	}
	t.Missing = d.missing
	for i, r := range d.recs {
		p.records = d.recs[i+1:]
		if r.Op == OpBegin {
			if r.PartBuild && p.build.known && strings.HasPrefix(p.build.id, r.BuildID) {
				r.BuildID, r.PartBuild = p.build.id, p.build.part
			}
			p.build = build{r.BuildID, r.PartBuild, true}
		}
		p.h.Line(&Line{Ending: c.ending, Record: r, Trace: t, Frame: t.add(&r)})
	}
	p.records = nil
	if t.Previous > 0 {
		p.done(t)
		return
	}
	p.table.learn(d, !t.Damaged)
	p.last = nil
	if !t.Damaged {
		p.last, p.lastCRC, p.lastSeq = t, crc, t.Seq
	}
	p.compact = true
	p.h.Done(t)
}
