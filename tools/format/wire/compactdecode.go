package wire

// The byte string of a compact trace, decoded into the records that the text form
// would have as lines. What arrives may be damaged or made up: every length is bounded
// before anything of it is kept, and the first record that makes no sense ends the
// string.

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/zeroframe/zeroframe/tracer"
)

// maxRecords bounds the records of one string: each takes two bytes or more,
// but a Record takes far more than that.
const maxRecords = MaxFrames + MaxWords/wordsPerLine + MaxStacks + 64

// wordsPerLine and regsPerLine are how many the text form puts into a line.
const (
	wordsPerLine = tracer.WordsPerLine
	regsPerLine  = 3
)

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
	v, n := binary.Uvarint(r.b)
	switch {
	case r.err != nil:
		return 0
	case n > 0:
		r.b = r.b[n:]
	case n == 0:
		r.b, r.err = nil, errShort
	default:
		r.err = errors.New("it has a number of more than 64 bits")
	}
	return v
}

// high reads n bytes as a number, the highest first.
func (r *reader) high(n int) uint64 {
	var v uint64
	for ; n > 0; n-- {
		v = v<<8 | uint64(r.byte())
	}
	return v
}

// signed extends the sign of a number of so many bits.
func signed(v uint64, bits int) uint64 {
	return uint64(int64(v<<(64-bits)) >> (64 - bits))
}

// bytes reads a length and so many bytes.
func (r *reader) bytes(max int) []byte {
	n := r.uvarint()
	if r.err == nil && n > uint64(max) {
		r.err = errors.New("it has a name that is too long")
	}
	if r.err != nil {
		return nil
	}
	return r.take(int(n))
}

// take reads n bytes.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// decodeCompact decodes the byte string of a compact trace into the records
// that the text form would have as lines. known is the table of stacks as earlier traces
// gave it, for a trace that comes without one or with what has changed; if the string is
// not intact, nothing is shown of it but names. On an error there are the records before it.
func decodeCompact(b []byte, known *table, intact bool) *decoder {
	d := &decoder{r: reader{b: b}, known: known, intact: intact, stack: -1}
	d.remember(uint64(tracer.Signature))
	for len(d.r.b) > 0 && d.err == nil {
		if len(d.recs) >= maxRecords {
			d.err = errTooMany
			break
		}
		d.err = d.record()
	}
	d.showTable()
	d.nameStacks()
	return d
}

// decoder holds the records so far and what values and differences are taken from.
type decoder struct {
	r      reader
	recs   []Record
	on     []int // for each record, the number of its frame's stack, or -1
	err    error // what ended the string too early
	known  *table
	intact bool

	values   [tracer.RecentValues]uint64 // a ring
	next     int                         // where the next one goes
	forget   bool
	addr, fp uint64 // of the frame before
	step     uint64 // from the frame pointer before to fp, of an ra in the short form
	stack    int
	frames   uint64
	unsent   uint64 // frames that are folded or left out

	seq     uint64
	table   bool    // there is one, or a change to one
	delta   bool    // it is a change
	at      int     // where its records belong
	rows    []Stack // by number
	sent    []bool  // those that this trace has sent
	row     int     // number of the row to come, if it has none
	before  Stack   // the row before
	missing string  // what the trace builds on and is not here
}

var errTooMany = errors.New("it has too many records")

func (d *decoder) add(rec Record, stack int) {
	d.recs = append(d.recs, rec)
	d.on = append(d.on, stack)
}

// remember makes v the latest value.
func (d *decoder) remember(v uint64) {
	if !d.forget {
		d.values[d.next%len(d.values)] = v
		d.next++
	}
}

// recent returns latest value i.
func (d *decoder) recent(i byte) uint64 {
	return d.values[(d.next-1-int(i)+len(d.values))%len(d.values)]
}

// value reads a value.
func (d *decoder) value() uint64 {
	r := &d.r
	c := r.byte()
	var v uint64
	switch {
	case c < 0x40:
		return d.recent(c)
	case c < 0x60:
		v = d.recent(c&31) + signed(r.high(1), 8)*8
	case c < 0x80:
		v = d.addr + signed(uint64(c&31)<<8|r.high(1), 13)
	case c < 0xc0:
		v = d.addr + signed(uint64(c&63)<<16|r.high(2), 22)
	case c < 0xe0:
		v = d.recent(c&31) + signed(r.high(2), 16)*8
	case c < 0xf0:
		n := int(c&7) + 1
		if v = r.high(n); c&8 != 0 {
			v = signed(v, n*8)
		}
	default:
		return uint64(c & 15)
	}
	d.remember(v)
	return v
}

// record decodes the next record.
func (d *decoder) record() error {
	r := &d.r
	rec := Record{}
	switch tag := r.byte(); {
	case tag >= tracer.RecNext:
		step := (uint64(tag-tracer.RecNext) + 1) * 8
		d.forget = d.frames >= tracer.RecentFrames
		return d.nextFrame(d.value(), step)
	case tag >= tracer.RecRowFlags:
		return d.knownRow(r.byte()|tracer.RowName, tag-tracer.RecRowFlags)
	case tag >= tracer.RecRow:
		return d.knownRow(tracer.RowAll, tag-tracer.RecRow)
	case tag == tracer.RecBegin:
		rec.Op = OpBegin
		rec.Seq = r.uvarint()
		kind := r.byte()
		rec.Kind = tracer.TraceKind(kind >> 4).String()
		rec.Context = tracer.Context(kind & 15).String()
		rec.Thread = r.uvarint()
		n := r.byte()
		rec.BuildID = hex.EncodeToString(r.take(int(n & 0x7f)))
		rec.HasBuild, rec.PartBuild = true, n&0x80 != 0
		d.seq = rec.Seq
	case tag == tracer.RecGo:
		n, begin := r.uvarint(), d.begun()
		if begin == nil {
			return errors.New("it has a goroutine number that is not behind its begin")
		}
		if r.err == nil {
			begin.Goroutine = n
		}
		return r.err
	case tag == tracer.RecCPU:
		cpu, of, begin := r.uvarint(), r.uvarint(), d.begun()
		if begin == nil {
			return errors.New("it has a CPU's number that is not behind its begin")
		}
		if r.err == nil {
			begin.HasCPU, begin.CPU, begin.Of = true, cpu, of
		}
		return r.err
	case tag == tracer.RecReason:
		rec.Op, rec.Text = OpReason, string(r.bytes(MaxReason))
		if r.err == errShort && len(r.b) > 0 {
			// Cut in the middle of the words: the first of them say the most.
			rec.Text = string(r.b)
			d.add(rec, -1)
		}
	case tag == tracer.RecCause, tag == tracer.RecCauseAddr:
		rec.Op = OpCause
		rec.Cause.Vector = r.uvarint()
		rec.Cause.ErrorCode = r.uvarint()
		if rec.Cause.HasAddress = tag == tracer.RecCauseAddr; rec.Cause.HasAddress {
			rec.Cause.Address = d.value()
		}
	case tag == tracer.RecMem:
		return d.mem()
	case tag == tracer.RecStop:
		rec.Op = OpStop
		rec.End = tracer.End(r.byte()).String()
		if rec.HasValue = !CompleteEnd(rec.End); rec.HasValue {
			rec.Value = d.value()
		}
	case tag == tracer.RecReg:
		return d.registers()
	case tag == tracer.RecStack:
		flags := r.byte()
		return d.tableRow(flags, string(r.bytes(MaxName)))
	case tag == tracer.RecTable:
		return d.change()
	case tag == tracer.RecUsed:
		return d.used()
	case tag == tracer.RecAgain:
		return d.again()
	default:
		kind := tracer.Kind(tag - tracer.RecFrame)
		if kind.String() == "?" {
			return fmt.Errorf("it has an unknown record %#02x", tag)
		}
		return d.frame(kind)
	}
	if r.err != nil {
		return r.err
	}
	d.add(rec, -1)
	return nil
}

// begun returns the begin record if it is the latest one, or else nil.
func (d *decoder) begun() *Record {
	if k := len(d.recs); k > 0 && d.recs[k-1].Op == OpBegin {
		return &d.recs[k-1]
	}
	return nil
}

// frame decodes a frame that says all of itself.
func (d *decoder) frame(kind tracer.Kind) error {
	r := &d.r
	d.forget = d.frames >= tracer.RecentFrames
	f := Frame{Kind: kind, Address: d.value()}
	// The base is the frame before until this one is whole.
	fp := d.fp
	switch kind {
	case tracer.Trap:
		f.Vector, f.ErrorCode = r.uvarint(), r.uvarint()
	case tracer.PC:
		f.SP = d.value()
		fallthrough
	default:
		f.FP = d.value()
		fp = f.FP
	}
	d.stack = int(int8(r.byte()))
	d.fp, d.step = fp, 0
	return d.addFrame(f)
}

// nextFrame adds a return address on the stack of the frame before.
func (d *decoder) nextFrame(address, step uint64) error {
	if d.frames == 0 {
		return errors.New("it has a frame behind none")
	}
	d.forget = d.frames >= tracer.RecentFrames
	d.fp += step
	d.step = step
	d.remember(d.fp)
	return d.addFrame(Frame{Kind: tracer.RA, Address: address, FP: d.fp})
}

func (d *decoder) addFrame(f Frame) error {
	d.forget = false
	if d.r.err != nil {
		return d.r.err
	}
	d.add(Record{Op: OpFrame, Index: d.frames + d.unsent, Frame: f}, d.stack)
	d.addr = f.Address
	d.frames++
	return nil
}

// again repeats the frame before.
func (d *decoder) again() error {
	n := d.r.uvarint()
	switch {
	case d.r.err != nil:
		return d.r.err
	case d.step == 0:
		return errors.New("it repeats a frame that cannot be")
	case n > uint64(maxRecords-len(d.recs)):
		return errTooMany
	}
	for ; n > 0; n-- {
		if err := d.nextFrame(d.addr, d.step); err != nil {
			return err
		}
	}
	return nil
}

// mem decodes a dump into records of one line of words each.
func (d *decoder) mem() error {
	addr, n := d.value(), d.r.uvarint()
	switch {
	case d.r.err != nil:
		return d.r.err
	case n == 0:
		return d.notSent(addr)
	case n > MaxWords:
		return errors.New("it has a memory dump that is too long")
	}
	var words []uint64
	for ; n > 0 && d.r.err == nil; n-- {
		words = append(words, d.value())
	}
	if d.r.err != nil {
		return d.r.err
	}
	for _, of := range [...]func(uint64, []uint64) ([]Record, bool){eventsOf, branchesOf} {
		if records, ok := of(addr, words); ok {
			for _, r := range records {
				d.add(r, -1)
			}
			return nil
		}
	}
	for line := range slices.Chunk(words, wordsPerLine) {
		d.add(Record{Op: OpMem, Address: addr, Words: line}, -1)
		addr += uint64(len(line)) * 8
	}
	return nil
}

// registers decodes registers into records of one line each.
func (d *decoder) registers() error {
	set := d.r.uvarint()
	if set>>len(tracer.AMD64.Registers) != 0 {
		return fmt.Errorf("it has unknown registers %#x", set)
	}
	var regs []Register
	for ; set != 0; set &= set - 1 {
		regs = append(regs, Register{tracer.AMD64.Registers[bits.TrailingZeros64(set)], d.value()})
	}
	if d.r.err != nil {
		return d.r.err
	}
	for line := range slices.Chunk(regs, regsPerLine) {
		d.add(Record{Op: OpReg, Regs: line}, -1)
	}
	return nil
}
