// Where in the table the answers lie, for a reader on the host that has not read the whole table:
// these methods say which bytes the others will read. A kernel does not need them, because its
// table is in memory.

package tracer

// EntryPart returns the offset and the number of the bytes that say where the i'th function begins
// and where its record lies. Of the list of functions, Func(i) reads these bytes and those of
// EntryPart(i+1); i may be NumFuncs. Any context.
func (t *PCTable) EntryPart(i int) (off, n uint32) {
	return t.funcs + uint32(i)*functabEntry, functabEntry
}

// EntryAt returns the address of the i'th function. Any context.
func (t *PCTable) EntryAt(i int) uintptr {
	return t.text + uintptr(t.u32(t.funcs+uint32(i)*functabEntry))
}

// RecordPart returns where the fixed part of the i'th function's record lies. It reads the bytes of
// EntryPart(i). Any context.
func (t *PCTable) RecordPart(i int) (off, n uint32) {
	rec := uint64(t.funcs) + uint64(t.u32(t.funcs+uint32(i)*functabEntry+4))
	if rec+fnSize > uint64(len(t.tab)) {
		return 0, 0
	}
	return uint32(rec), fnSize
}

// DataPart returns where the rest of the function's record lies, which PCData and FuncData read.
// Any context.
func (f Func) DataPart() (off, n uint32) {
	words := uint64(f.u32(fnNPCData)) + uint64(f.u8(fnNFuncData))
	return f.rec + fnSize, uint32(min(4*words, uint64(len(f.t.tab))-uint64(f.rec)-fnSize))
}

// SPPart returns where the table that SPDelta reads lies; the range may be longer than the table,
// never shorter. Any context.
func (f Func) SPPart() (off, n uint32) { return f.valuePart(f.u32(fnPCSP)) }

// FilePart and LinePart are SPPart for the tables that FileLine reads. Any context.
func (f Func) FilePart() (off, n uint32) { return f.valuePart(f.u32(fnPCFile)) }

// LinePart: see FilePart. Any context.
func (f Func) LinePart() (off, n uint32) { return f.valuePart(f.u32(fnPCLine)) }

// PCDataPart is SPPart for the table that PCData(i) reads. It reads the bytes of DataPart. Any
// context.
func (f Func) PCDataPart(i uint32) (off, n uint32) {
	at := uint64(f.rec) + fnSize + 4*uint64(i)
	if i >= f.u32(fnNPCData) || at+4 > uint64(len(f.t.tab)) {
		return 0, 0
	}
	return f.valuePart(f.t.u32(uint32(at)))
}

// valuePart returns the longest possible range of a pc-value table: each turn advances by one
// instruction at least, and each of its two numbers takes five bytes at most.
func (f Func) valuePart(off uint32) (at, n uint32) {
	t := f.t
	size := t.funcs - t.pcs
	if off == 0 || off >= size {
		return 0, 0
	}
	return t.pcs + off, uint32(min(10*(uint64(f.end-f.entry)+2), uint64(size-off)))
}

// NamePart returns where the name at offset off of the table's names begins; it ends
// at a zero byte. Any context.
func (t *PCTable) NamePart(off int32) uint32 {
	return uint32(min(uint64(t.names)+uint64(uint32(off)), uint64(t.cus)))
}

// NameOffset returns the offset of the function's name in the table of names. Any context.
func (f Func) NameOffset() int32 { return int32(f.u32(fnNameOff)) }

// FilePlace returns where FileLine at pc finds the offset of the file's name, in 4 bytes; 0 if
// there is none. Any context.
func (f Func) FilePlace(pc uintptr) uint32 {
	t := f.t
	no, ok := f.value(t.u32(f.rec+fnPCFile), pc)
	if !ok || no < 0 {
		return 0
	}
	at := uint64(t.cus) + 4*(uint64(t.u32(f.rec+fnCUOff))+uint64(no))
	if at+4 > uint64(t.files) {
		return 0
	}
	return uint32(at)
}

// FileName returns where the file name at that FilePlace is. It ends at a zero byte. Any context.
func (f Func) FileName(place uint32) uint32 {
	if place == 0 {
		return 0
	}
	return uint32(min(uint64(f.t.files)+uint64(f.t.u32(place)), uint64(f.t.pcs)))
}
