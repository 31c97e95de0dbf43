package wire

// The table of stacks in a compact trace: whole in one trace, in what has changed in
// those after it. What a later one builds on is kept from trace to trace (table), and
// what it builds on without having it is said to be missing, not made up.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tracer"
)

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
		for i, row := range d.rows {
			if !d.sent[i] {
				continue
			}
			k.rows = append(k.rows, make([]Stack, max(i+1-len(k.rows), 0))...)
			k.rows[i].Name = row.Name
		}
	}
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
		d.missing = fmt.Sprintf(
			"the table of stacks that it builds on came with trace %d, which did not arrive: stacks are missing", base)
		return nil
	}
	d.rows = slices.Clone(d.known.rows)
	d.sent = make([]bool, len(d.rows))
	return nil
}

// setRow puts a row into the table.
func (d *decoder) setRow(i int, s Stack) {
	row := tracer.Stack{Lo: uintptr(s.Lo), Hi: uintptr(s.Hi), Used: uintptr(s.Used),
		Limit: uintptr(s.Limit)}
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
