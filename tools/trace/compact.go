package trace

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
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
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

// piece reads a line of the compact form behind its tag.
func piece(s string) (n uint64, b []byte, ok bool) {
	s = strings.TrimRight(s, " ")
	if len(s) < 3 {
		return 0, nil, false
	}
	for i := range len(s) {
		if s[i] < '!' || s[i] > 'u' { // 'z' too is none of the target's digits
			return 0, nil, false
		}
	}
	n, s = uint64(s[0]-'!'), s[1:]
	b = make([]byte, len(s)+4) // Decode wants room for a whole group
	k, used, err := ascii85.Decode(b, []byte(s), true)
	return n, b[:k], err == nil && used == len(s) && len(s)%5 != 1
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
		return crc32.Update(crc32.ChecksumIEEE(p.c.b), crc32.IEEETable, b[:k]) == binary.BigEndian.Uint32(b[k:])
	}
	return false
}

// finishCompact ends the open compact trace and reports what it says.
func (p *Parser) finishCompact(crc uint32, ended bool) {
	c := p.c
	p.c = nil
	t := &Trace{BuildID: p.build, partBuild: p.partBuild, noBuild: !p.known, Previous: c.previous}
	// A boot before has had a table of its own, and nothing of this boot builds on it.
	known := &p.table
	if t.Previous > 0 {
		known = &table{}
	}
	switch got := crc32.ChecksumIEEE(c.b); {
	case c.broken != "":
		t.damage(c.broken)
	case !ended:
		t.damage(cutDamage)
	case got != crc:
		t.damage(fmt.Sprintf("CRC 0x%08x, expected 0x%08x", got, crc))
	}
	t.Cut = !ended
	d := decodeCompact(c.b, known, !t.Damaged)
	if d.err != nil {
		t.damage(d.err.Error())
	}
	if len(d.recs) == 0 || d.recs[0].Op != OpBegin {
		t.damage("its begin record is missing")
		t.noBegin = true
	}
	t.missing = d.missing
	for i, r := range d.recs {
		p.records = d.recs[i+1:]
		if r.Op == OpBegin {
			if r.PartBuild && p.known && strings.HasPrefix(p.build, r.BuildID) {
				r.BuildID, r.PartBuild = p.build, p.partBuild
			}
			p.build, p.partBuild, p.known = r.BuildID, r.PartBuild, true
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

// repeatLine takes the line that stands for a trace like the one before, without its tag.
func (p *Parser) repeatLine(l *Line, s string) {
	s = strings.TrimRight(s, " ")
	seq, ok := p.repeats(s)
	if !isRepeat(s) || !ok && (!p.compact || p.t != nil || p.c != nil) {
		p.foreign()
		return
	}
	p.cut()
	t := &Trace{Repeat: true, BuildID: p.build, partBuild: p.partBuild, noBuild: !p.known}
	if ok {
		t = p.last.again(seq)
		p.lastSeq = seq
	} else {
		t.damage("it repeats a trace that did not arrive, or its line is damaged")
	}
	l.Record, l.Trace = Record{Op: OpRepeat}, t
	p.h.Line(l)
	p.h.Done(t)
}

func isRepeat(s string) bool {
	return len(s) == 3 && strings.IndexFunc(s, func(c rune) bool { return c < '!' || c > 'u' }) < 0
}

// repeats returns the number of the trace for which the line stands, if it is one after
// the trace that is known.
func (p *Parser) repeats(s string) (seq uint64, ok bool) {
	if p.last == nil || !isRepeat(s) {
		return 0, false
	}
	seq = p.lastSeq + 1
	seq += (uint64(s[0]-'!') + 85 - seq%85) % 85
	var b []byte
	b = binary.BigEndian.AppendUint32(b, p.lastCRC)
	b = binary.BigEndian.AppendUint32(b, uint32(seq))
	check := crc32.ChecksumIEEE(b) % (85 * 85)
	return seq, check == uint32(s[1]-'!')*85+uint32(s[2]-'!')
}

// again returns the trace for one that is like t, with the number seq. Of the registers
// it has those that are known to be the same.
func (t *Trace) again(seq uint64) *Trace {
	r := *t
	r.Seq, r.Repeat, r.RepeatOf = seq, true, t.Seq
	r.Frames = slices.Clone(t.Frames)
	r.Registers, r.Stacks, r.words, r.missing = nil, nil, nil, ""
	for _, name := range []string{"rip", "rsp", "rbp"} {
		if v, ok := t.Registers[name]; ok && len(t.Frames) > 0 && r.Registers == nil {
			r.Registers = map[string]uint64{name: v}
		} else if ok && len(t.Frames) > 0 {
			r.Registers[name] = v
		}
	}
	return &r
}

// table is a target's table of stacks.
type table struct {
	seq  uint64  // the trace that it is of; 0: of none that a later one can build on
	rows []Stack // by number; a row of the size 0 is empty
}

// learn keeps the table that a trace has given. That of a damaged one serves for names
// alone.
func (k *table) learn(d *decoder, intact bool) {
	switch {
	case !d.table:
		return
	case intact && d.missing == "":
		k.seq = d.seq
		k.rows = d.rows
	default:
		k.seq = 0
		for i := range d.rows {
			if d.sent[i] && i < len(k.rows) {
				k.rows[i].Name = d.rows[i].Name
			} else if d.sent[i] {
				k.rows = append(k.rows, make([]Stack, i+1-len(k.rows))...)
				k.rows[i].Name = d.rows[i].Name
			}
		}
	}
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
		n := r.uvarint()
		if k := len(d.recs); k == 0 || d.recs[k-1].Op != OpBegin {
			return errors.New("it has a goroutine number that is not behind its begin")
		}
		if r.err == nil {
			d.recs[len(d.recs)-1].Goroutine = n
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
		if rec.HasValue = !completeEnd(rec.End); rec.HasValue {
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
	d.add(Record{Op: OpFrame, Index: d.frames, Frame: f}, d.stack)
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
	if n > MaxWords {
		return errors.New("it has a memory dump that is too long")
	}
	var words []uint64
	for ; n > 0 && d.r.err == nil; n-- {
		words = append(words, d.value())
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

// registers decodes registers into records of one line each.
func (d *decoder) registers() error {
	set := d.r.uvarint()
	if set>>tracer.NumRegisters != 0 {
		return fmt.Errorf("it has unknown registers %#x", set)
	}
	var regs []Register
	for ; set != 0; set &= set - 1 {
		regs = append(regs, Register{tracer.RegisterNames[bits.TrailingZeros64(set)], d.value()})
	}
	if d.r.err != nil {
		return d.r.err
	}
	for line := range slices.Chunk(regs, regsPerLine) {
		d.add(Record{Op: OpReg, Regs: line}, -1)
	}
	return nil
}

// startTable notes where the table begins.
func (d *decoder) startTable() {
	if !d.table {
		d.table, d.at = true, len(d.recs)
	}
}

// change begins a table that says what has changed since an earlier trace.
func (d *decoder) change() error {
	n := d.r.uvarint()
	if d.r.err != nil {
		return d.r.err
	}
	if d.table || n > d.seq {
		return errors.New("it has changes to a table that cannot be")
	}
	d.startTable()
	d.delta = true
	if base := d.seq - n; base != d.known.seq || base == 0 {
		d.missing = fmt.Sprintf("the table of stacks that it builds on came with trace %d, which did not arrive: stacks are missing", base)
		return nil
	}
	d.rows = slices.Clone(d.known.rows)
	d.sent = make([]bool, len(d.rows))
	return nil
}

// setRow puts a row into the table.
func (d *decoder) setRow(i int, s Stack) {
	row := tracer.Stack{Lo: uintptr(s.Lo), Hi: uintptr(s.Hi), Used: uintptr(s.Used), Limit: uintptr(s.Limit)}
	s.Level = row.Level().String()
	for len(d.rows) <= i {
		d.rows, d.sent = append(d.rows, Stack{}), append(d.sent, false)
	}
	d.rows[i], d.sent[i] = s, true
}

// used decodes the change of a high-water mark.
func (d *decoder) used() error {
	i, used := d.r.uvarint(), d.r.uvarint()
	if d.r.err != nil {
		return d.r.err
	}
	if !d.delta || i >= MaxStacks {
		return errors.New("it has a change to a stack that cannot be")
	}
	if i >= uint64(len(d.rows)) || d.rows[i].Size == 0 {
		return nil // its table is missing
	}
	s := d.rows[i]
	s.Used = used
	d.setRow(int(i), s)
	return nil
}

// knownRow decodes a row of the table with a usual name.
func (d *decoder) knownRow(flags, n byte) error {
	if int(n) >= len(tracer.StackNames) {
		return fmt.Errorf("it has a stack with an unknown name, %d", n)
	}
	name := tracer.StackNames[n]
	if strings.HasSuffix(name, ".") {
		name += fmt.Sprint(d.r.uvarint())
	}
	return d.tableRow(flags, name)
}

// tableRow decodes the fields of a row of the table.
func (d *decoder) tableRow(flags byte, name string) error {
	r := &d.r
	if flags > tracer.RowAll {
		return fmt.Errorf("it has a stack with unknown fields, %#02x", flags)
	}
	d.startTable()
	s := Stack{Name: name, Lo: d.before.Hi + tracer.RowGap, Size: d.before.Size, Limit: d.before.Limit}
	i := uint64(d.row)
	if flags&tracer.RowNext == 0 {
		i = r.uvarint()
	}
	if flags&tracer.RowBehind == 0 {
		s.Lo = d.value()
	}
	if flags&tracer.RowSize == 0 {
		s.Size = d.value()
	}
	if flags&tracer.RowUnused == 0 {
		s.Used = r.uvarint()
	}
	if flags&tracer.RowLimit == 0 {
		s.Limit = d.value()
	}
	if r.err != nil {
		return r.err
	}
	if i >= MaxStacks {
		return errors.New("it has too many stacks")
	}
	s.Hi = s.Lo + s.Size
	d.row, d.before = int(i)+1, s
	d.setRow(int(i), s)
	return nil
}

// showTable puts the rows of the table among the records.
func (d *decoder) showTable() {
	var recs []Record
	for i, s := range d.rows {
		if s.Size != 0 && (d.sent[i] || d.intact && d.err == nil) {
			recs = append(recs, Record{Op: OpStack, Stack: s})
		}
	}
	d.recs = slices.Insert(d.recs, d.at, recs...)
	d.on = slices.Insert(d.on, d.at, slices.Repeat([]int{-1}, len(recs))...)
}

// nameStacks gives the frames the names of their stacks.
func (d *decoder) nameStacks() {
	for i := range d.recs {
		n := d.on[i]
		if n < 0 {
			continue
		}
		name := ""
		if n < len(d.rows) {
			name = d.rows[n].Name
		}
		if name == "" && n < len(d.known.rows) && (!d.table || d.missing != "" || !d.intact) {
			name = d.known.rows[n].Name
		}
		if name == "" {
			name = fmt.Sprintf("stack%d", n)
		}
		d.recs[i].Frame.Stack = name
	}
}
