package tracer

// The table of stacks in the compact form: most of a trace's bytes, and nearly the same in each
// trace of a boot. So it is sent whole once, each row as the difference from the row before it, and
// then only the rows that have changed.

// row is a row of the table of stacks as it was last sent.
type row struct {
	lo, size, used, limit uintptr
	name                  uint64 // a digest
}

// packStack sends the next row of the table, if it has changed.
func (w *Writer) packStack(s *Stack) {
	c := &w.c
	i := c.rowNo
	if c.rowNo++; c.comparing || i >= MaxStacks {
		return
	}
	if i == 0 && c.table != 0 {
		w.rec(RecTable)
		w.uvarint(uint64(c.seq - c.table))
	}
	now := row{lo: s.Lo, size: s.Size(), used: s.Used, limit: s.Limit}
	for k := 0; k < len(s.Name); k++ {
		now.name = mix(now.name, uint64(s.Name[k]))
	}
	was := &c.rows[i]
	rest := now.lo == was.lo && now.size == was.size && now.limit == was.limit && now.name == was.name
	used := now.used == was.used
	*was = now
	switch {
	case c.table == 0 && now.size == 0:
		return
	case c.table != 0 && rest && used:
		return
	case c.table != 0 && rest:
		w.rec(RecUsed)
		w.uvarint(uint64(i))
		w.uvarint(uint64(s.Used))
		return
	}
	w.packRow(i, s)
}

// packRow sends row i of the table whole, as the difference from the row that was sent before.
func (w *Writer) packRow(i int, s *Stack) {
	c := &w.c
	flags, name, number := byte(0), 0, uint64(0)
	for name < len(StackNames) {
		if n, ok := nameNumber(s.Name, StackNames[name]); ok {
			flags, number = RowName, n
			break
		}
		name++
	}
	flags |= when(i == c.rowSent, RowNext) | when(s.Lo == c.rowHi+RowGap, RowBehind) |
		when(s.Size() == c.rowSize, RowSize) | when(s.Used == 0, RowUnused) |
		when(s.Limit == c.rowLimit, RowLimit)
	switch {
	case flags&RowName == 0:
		w.rec(RecStack)
		w.pack(flags)
		w.uvarint(uint64(len(s.Name)))
		for k := 0; k < len(s.Name); k++ {
			w.pack(s.Name[k])
		}
	case flags == RowAll:
		w.rec(RecRow | byte(name))
	default:
		w.rec(RecRowFlags | byte(name))
		w.pack(flags)
	}
	if number != 0 {
		w.uvarint(number)
	}
	if flags&RowNext == 0 {
		w.uvarint(uint64(i))
	}
	if flags&RowBehind == 0 {
		w.value(s.Lo)
	}
	if flags&RowSize == 0 {
		w.value(s.Size())
	}
	if flags&RowUnused == 0 {
		w.uvarint(uint64(s.Used))
	}
	if flags&RowLimit == 0 {
		w.value(s.Limit)
	}
	c.rowSent, c.rowHi, c.rowSize, c.rowLimit = i+1, s.Hi, s.Size(), s.Limit
}

// when returns the flag if is is true, else 0.
func when(is bool, flag byte) byte {
	if is {
		return flag
	}
	return 0
}

// nameNumber reports whether name is the known one. If known ends in a dot, number is the number
// that follows it, from 1.
func nameNumber(name, known string) (number uint64, ok bool) {
	n := len(known)
	if len(name) < n {
		return 0, false
	}
	for i := range n {
		if name[i] != known[i] {
			return 0, false
		}
	}
	if known[n-1] != '.' {
		return 0, len(name) == n
	}
	if len(name) == n || len(name) > n+9 || name[n] == '0' {
		return 0, false
	}
	for i := n; i < len(name); i++ {
		d := name[i] - '0'
		if d > 9 {
			return 0, false
		}
		number = number*10 + uint64(d)
	}
	return number, true
}
