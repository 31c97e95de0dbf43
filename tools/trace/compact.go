package trace

// The compact form: base64 lines that make up one byte string, which is a run
// of records. The string is decoded when the trace ends: the names of the
// stacks come after the frames that refer to them, and lines decoded one by one
// would stand between the lines of base64 without making either readable.
//
// A string that was cut, or whose bytes were damaged, yields the records up to
// the first that makes no sense.

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/zeroframe/zeroframe/tracer"
)

// MaxCompact is the longest byte string of a compact trace that is kept.
const MaxCompact = 512 << 10

// maxRecords bounds the records of one string: each takes two bytes or more,
// but a Record takes far more than that.
const maxRecords = MaxFrames + MaxWords/wordsPerLine + MaxStacks + 64

// wordsPerLine and regsPerLine are how many the text form puts into a line.
const (
	wordsPerLine = tracer.WordsPerLine
	regsPerLine  = 3
)

// compactTrace is a compact trace that has not ended yet.
type compactTrace struct {
	b      []byte
	lines  uint64 // lines seen, the damaged ones included
	broken string // why nothing is added any more
	ending []byte // how its lines end
}

// compactLine takes a line of the compact form, without its tag.
func (p *Parser) compactLine(l *Line, s string) {
	if lines, crc, ok := compactEnd(s); ok {
		if p.c == nil {
			p.foreign()
			return
		}
		p.emit(l, Record{Op: OpCompact})
		p.finishCompact(lines, crc, true)
		return
	}
	num, data, _ := strings.Cut(s, " ")
	n, numOK := number(num)
	b, err := base64.StdEncoding.Strict().DecodeString(strings.TrimRight(data, " "))
	ok := numOK && err == nil && len(b) > 0
	if !ok && p.c == nil {
		p.foreign()
		return
	}
	if ok && n == 0 || p.c == nil {
		p.cut()
		p.c = &compactTrace{}
	}
	c := p.c
	switch {
	case c.broken != "":
	case numOK && n != c.lines:
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
}

// compactEnd reads "end LINES crc=0xCRC".
func compactEnd(s string) (lines uint64, crc uint32, ok bool) {
	rest, ok := strings.CutPrefix(s, "end ")
	if !ok {
		return 0, 0, false
	}
	var r Record
	if !r.done(strings.Fields(rest)) {
		return 0, 0, false
	}
	return r.Lines, r.CRC, true
}

// check returns what is wrong with the string, or "".
func (c *compactTrace) check(lines uint64, crc uint32) string {
	got := crc32.ChecksumIEEE(c.b)
	switch {
	case c.broken != "":
		return c.broken
	case got != crc:
		return fmt.Sprintf("CRC 0x%08x, expected 0x%08x", got, crc)
	case lines != c.lines:
		return fmt.Sprintf("%d lines, expected %d", c.lines, lines)
	}
	return ""
}

// finishCompact ends the open compact trace and reports what it says.
func (p *Parser) finishCompact(lines uint64, crc uint32, ended bool) {
	c := p.c
	p.c = nil
	t := &Trace{BuildID: p.build, noBuild: !p.known}
	if why := c.check(lines, crc); !ended {
		t.Cut = true
		if c.broken == "" {
			why = cutDamage
		}
		t.damage(why)
	} else if why != "" {
		t.damage(why)
	}
	recs, err := DecodeCompact(c.b, p.stacks)
	if err != nil {
		t.damage(err.Error())
	}
	if len(recs) == 0 || recs[0].Op != OpBegin {
		t.damage("its begin record is missing")
		t.noBegin = true
	}
	for _, r := range recs {
		l := &Line{Ending: c.ending, Record: r, Trace: t, Frame: t.add(&r)}
		if r.Op == OpBegin {
			p.build, p.known = r.BuildID, true
		}
		p.h.Line(l)
	}
	p.remember(t)
	p.h.Done(t)
}

var errShort = errors.New("it ends in the middle of a record")

// reader takes fields off a byte string. After the first error all of them are
// zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.err = errShort
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// uvarint reads an unsigned LEB128 number of at most 64 bits.
func (r *reader) uvarint() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == 63 && c > 1 {
			r.err = errors.New("it has a number of more than 64 bits")
			return 0
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
}

// zigzag reads a difference.
func (r *reader) zigzag() uint64 {
	v := r.uvarint()
	return v>>1 ^ -(v & 1)
}

// bytes reads a length and so many bytes.
func (r *reader) bytes(max int) []byte {
	n := r.uvarint()
	if r.err == nil && n > uint64(max) {
		r.err = errors.New("it has a name that is too long")
	}
	if r.err == nil && n > uint64(len(r.b)) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// DecodeCompact decodes the byte string of a compact trace into the records
// that the text form would have as lines. stacks are the names of the target's
// stacks as an earlier trace gave them, for a trace that comes without its
// table; it may be nil. On an error the records before it are returned as well.
func DecodeCompact(b []byte, stacks []string) ([]Record, error) {
	d := decoder{r: reader{b: b}}
	var err error
	for len(d.r.b) > 0 && err == nil {
		if len(d.recs) >= maxRecords {
			err = errors.New("it has too many records")
			break
		}
		err = d.record()
	}
	d.nameStacks(stacks)
	return d.recs, err
}

// decoder holds the records so far and what differences are taken from.
type decoder struct {
	r            reader
	recs         []Record
	on           []int // for each record, the index of its frame's stack, or -1
	addr, fp, lo uint64
	frames       uint64
	names        []string
}

func (d *decoder) add(rec Record, stack int) {
	d.recs = append(d.recs, rec)
	d.on = append(d.on, stack)
}

// record decodes the next record.
func (d *decoder) record() error {
	r := &d.r
	stack := -1
	rec := Record{}
	switch tag := r.byte(); tag {
	case tracer.RecBegin:
		rec.Op = OpBegin
		rec.Seq = r.uvarint()
		rec.Kind = tracer.TraceKind(r.byte()).String()
		rec.Context = tracer.Context(r.byte()).String()
		rec.Thread = r.uvarint()
		rec.BuildID = hex.EncodeToString(r.bytes(MaxName / 2))
		rec.HasBuild = true
	case tracer.RecGo:
		n := r.uvarint()
		if k := len(d.recs); k == 0 || d.recs[k-1].Op != OpBegin {
			return errors.New("it has a goroutine number that is not behind its begin")
		}
		if r.err == nil {
			d.recs[len(d.recs)-1].Goroutine = n
		}
		return r.err
	case tracer.RecReason:
		rec.Op, rec.Text = OpReason, string(r.bytes(MaxReason))
		if r.err == errShort && len(r.b) > 0 {
			// Cut in the middle of the words: the first of them say the most.
			rec.Text = string(r.b)
			d.add(rec, -1)
		}
	case tracer.RecCause:
		rec.Op = OpCause
		rec.Cause.Vector = r.uvarint()
		rec.Cause.ErrorCode = r.uvarint()
		if rec.Cause.HasAddress = r.byte() != 0; rec.Cause.HasAddress {
			rec.Cause.Address = r.uvarint()
		}
	case tracer.RecMem:
		return d.mem()
	case tracer.RecStop:
		rec.Op = OpStop
		rec.End = tracer.End(r.byte()).String()
		rec.Value = r.uvarint()
		rec.HasValue = !completeEnd(rec.End)
	case tracer.RecReg:
		return d.register()
	case tracer.RecStack:
		rec.Op = OpStack
		s := &rec.Stack
		s.Name = string(r.bytes(MaxName))
		d.lo += r.zigzag()
		s.Lo = d.lo
		s.Size, s.Used, s.Limit = r.uvarint(), r.uvarint(), r.uvarint()
		s.Hi = s.Lo + s.Size
		row := tracer.Stack{Lo: uintptr(s.Lo), Hi: uintptr(s.Hi), Used: uintptr(s.Used), Limit: uintptr(s.Limit)}
		s.Level = row.Level().String()
		if r.err == nil && len(d.names) < MaxStacks {
			d.names = append(d.names, s.Name)
		}
		if s.Size == 0 {
			return nil // it keeps the place of a stack that is not there
		}
	default:
		kind := tracer.Kind(tag - tracer.RecFrame)
		if kind.String() == "?" {
			return fmt.Errorf("it has an unknown record %#02x", tag)
		}
		rec.Op, rec.Index = OpFrame, d.frames
		f := &rec.Frame
		f.Kind = kind
		d.addr += r.zigzag()
		f.Address = d.addr
		switch kind {
		case tracer.Trap:
			f.Vector, f.ErrorCode = r.uvarint(), r.uvarint()
		case tracer.PC:
			f.SP = r.zigzag() // from the frame pointer, which comes next
			fallthrough
		default:
			d.fp += r.zigzag()
			f.FP = d.fp
			if kind == tracer.PC {
				f.SP += f.FP
			}
		}
		stack = int(int8(r.byte()))
		d.frames++
	}
	if r.err != nil {
		return r.err
	}
	d.add(rec, stack)
	return nil
}

// mem decodes a dump into records of one line of words each.
func (d *decoder) mem() error {
	addr, n := d.r.uvarint(), d.r.uvarint()
	if n > MaxWords {
		return errors.New("it has a memory dump that is too long")
	}
	var words []uint64
	for ; n > 0 && d.r.err == nil; n-- {
		words = append(words, d.r.uvarint())
	}
	if d.r.err != nil {
		return d.r.err
	}
	for len(words) > 0 {
		k := min(len(words), wordsPerLine)
		d.add(Record{Op: OpMem, Address: addr, Words: words[:k:k]}, -1)
		words, addr = words[k:], addr+uint64(k)*8
	}
	return nil
}

// register decodes a register and adds it to the record before, as long as
// that is a line of registers with room.
func (d *decoder) register() error {
	n, v := d.r.byte(), d.r.uvarint()
	if d.r.err != nil {
		return d.r.err
	}
	if n >= tracer.NumRegisters {
		return fmt.Errorf("it has an unknown register %d", n)
	}
	reg := Register{tracer.RegisterNames[n], v}
	if k := len(d.recs) - 1; k >= 0 && d.recs[k].Op == OpReg && len(d.recs[k].Regs) < regsPerLine {
		d.recs[k].Regs = append(d.recs[k].Regs, reg)
		return nil
	}
	d.add(Record{Op: OpReg, Regs: []Register{reg}}, -1)
	return nil
}

// nameStacks gives the frames the names of their stacks.
func (d *decoder) nameStacks(known []string) {
	names := d.names
	if len(names) == 0 {
		names = known
	}
	for i := range d.recs {
		switch n := d.on[i]; {
		case n < 0:
		case n < len(names):
			d.recs[i].Frame.Stack = names[n]
		default:
			d.recs[i].Frame.Stack = fmt.Sprintf("stack%d", n)
		}
	}
}
