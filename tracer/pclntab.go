// The pc tables of a Go program (.gopclntab) say, for every instruction, which function it belongs
// to, which line it came from and how far SP is from the return address. They are linked into every
// Go program, stripped or not, so a dying kernel can read them as well as a host tool can. This
// reader is written for the kernel: it reads one []byte only, allocates nothing, calls nothing
// outside this file, and checks each offset by hand before use, because whatever broke the kernel
// may have broken the tables, too. A damaged table gives ok = false or an empty name, never a
// panic.
//
// Sources: runtime/symtab.go (pcHeader, functab, pcvalue, step), runtime/runtime2.go (_func),
// internal/abi/symtab.go (the numbers of the tables) and cmd/link/internal/ld/pcln.go (the writer),
// all of Go 1.26. The layout has been the same since Go 1.20, as its magic number says; a table
// with any other magic is refused.

package tracer

// pcMagic is Go120PCLnTabMagic of internal/abi/symtab.go: Go 1.20 to (at least)
// Go 1.26.
const pcMagic = 0xfffffff1

// Offsets in the table's header (runtime.pcHeader) on a 64-bit machine.
const (
	hdrMagic     = 0  // uint32
	hdrPad       = 4  // two bytes, zero
	hdrMinLC     = 6  // byte: size of the smallest instruction
	hdrPtrSize   = 7  // byte
	hdrNFunc     = 8  // int
	hdrNameOff   = 32 // uintptr; 24 is the former textStart, now always 0
	hdrCUOff     = 40 // uintptr
	hdrFileOff   = 48 // uintptr
	hdrPCOff     = 56 // uintptr
	hdrFuncOff   = 64 // uintptr
	hdrSize      = 72
	functabEntry = 8 // entryoff, funcoff: two uint32
)

// Offsets in a function's record (runtime._func).
const (
	fnEntryOff  = 0  // uint32, from the start of text
	fnNameOff   = 4  // int32, into the name table
	fnArgs      = 8  // int32, bytes of arguments above the return address
	fnPCSP      = 16 // uint32, into the pc table; 0 is "no table"
	fnPCFile    = 20 // uint32, likewise
	fnPCLine    = 24 // uint32, likewise
	fnNPCData   = 28 // uint32
	fnCUOff     = 32 // uint32, index into the compile units' file lists
	fnStartLine = 36 // int32
	fnFuncID    = 40 // byte
	fnFlag      = 41 // byte
	fnNFuncData = 43 // byte
	fnSize      = 44 // then npcdata and nfuncdata uint32s
)

// Indexes for [Func.PCData] and [Func.FuncData], from internal/abi/symtab.go.
const (
	PCDataInlTreeIndex = 2 // index of the inlined call a pc is in, -1 for none
	PCDataPanicBounds  = 4 // what a bounds check compares; see DecodeBoundsCheck
	FuncDataInlTree    = 3 // offset of the inline tree from go:func.*
)

// Bits of [Func.Flags], from internal/abi/symtab.go.
const (
	FuncFlagTopFrame = 1 << iota // a walk that reaches the function is complete
	FuncFlagSPWrite              // the function loads SP with a computed value
	FuncFlagAsm                  // written in assembly
)

// A PCTable reads one .gopclntab. It is a plain value that refers to the bytes that it was made
// from; copy it freely. Any context.
type PCTable struct {
	tab   []byte
	text  uintptr // address of runtime.text
	data  []byte  // from go:func.* on; see WithFuncData
	nfunc uint32
	// Offsets of the parts of tab. Each part ends where the next begins; ParsePCTable has checked
	// their order.
	names, cus, files, pcs, funcs uint32
}

// ParsePCTable reads the header of pclntab, the whole of .gopclntab (in a running program: from
// runtime.pclntab). textStart is the address of runtime.text, which is no longer in the header
// since Go 1.26. ok is false if the bytes are not a table of a known layout for a 64-bit machine.
// It returns a value because filling in the caller's would store a pointer through a pointer, which
// takes a write barrier. Any context.
func ParsePCTable(pclntab []byte, textStart uintptr) (t PCTable, ok bool) {
	if len(pclntab) < hdrSize || uint64(len(pclntab)) > 1<<32-1 {
		return PCTable{}, false
	}
	t.tab = pclntab
	t.text = textStart
	if t.u32(hdrMagic) != pcMagic || t.u8(hdrPad) != 0 || t.u8(hdrPad+1) != 0 ||
		t.u8(hdrMinLC) != 1 && t.u8(hdrMinLC) != 2 && t.u8(hdrMinLC) != 4 || t.u8(hdrPtrSize) != 8 {
		return PCTable{}, false
	}
	var off [5]uint32
	prev := uint64(hdrSize)
	for i := range uint32(5) {
		o := t.u64(hdrNameOff + 8*i)
		if o < prev || o > uint64(len(pclntab)) {
			return PCTable{}, false
		}
		off[i], prev = uint32(o), o
	}
	// nfunc entries and then the end of text.
	n := t.u64(hdrNFunc)
	if n == 0 || n > 1<<28 || prev+n*functabEntry+4 > uint64(len(pclntab)) {
		return PCTable{}, false
	}
	t.nfunc = uint32(n)
	t.names, t.cus, t.files, t.pcs, t.funcs = off[0], off[1], off[2], off[3], off[4]
	return t, true
}

// NumFuncs returns the number of functions in the table. Any context.
func (t *PCTable) NumFuncs() int { return int(t.nfunc) }

// TextRange returns the addresses that the table covers: its first function's entry and the end of
// its last. Any context.
func (t *PCTable) TextRange() (start, end uintptr) {
	if t.nfunc == 0 {
		return 0, 0
	}
	return t.text + uintptr(t.u32(t.funcs)), t.text + uintptr(t.u32(t.funcs+t.nfunc*functabEntry))
}

// Find returns the function that contains the address pc. The padding after a function belongs to
// it. Look up a return address as pc - 1. Any context.
func (t *PCTable) Find(pc uintptr) (f Func, ok bool) {
	start, end := t.TextRange()
	if pc < start || pc >= end {
		return Func{}, false
	}
	want := uint32(pc - t.text) // fits: start and end are text + uint32
	// Invariant: entry of lo <= want < entry of hi.
	lo, hi := uint32(0), t.nfunc
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if t.u32(t.funcs+mid*functabEntry) <= want {
			lo = mid
		} else {
			hi = mid
		}
	}
	return t.Func(int(lo))
}

// Func returns the i'th function in address order, 0 <= i < NumFuncs. ok is false if there is no
// such function or its record lies outside the table. Any context.
func (t *PCTable) Func(i int) (f Func, ok bool) {
	if i < 0 || uint64(i) >= uint64(t.nfunc) {
		return Func{}, false
	}
	e := t.funcs + uint32(i)*functabEntry
	rec := uint64(t.funcs) + uint64(t.u32(e+4))
	if rec+fnSize > uint64(len(t.tab)) {
		return Func{}, false
	}
	f.t = t
	f.rec = uint32(rec)
	f.entry = t.u32(e)
	f.end = t.u32(e + functabEntry)
	if f.entry != t.u32(f.rec+fnEntryOff) || f.end < f.entry {
		return Func{}, false
	}
	return f, true
}

// NameAt returns the name at offset off of the table's names, such as the records of an inline tree
// have. It is a part of the table itself, empty if off is outside. Any context.
func (t *PCTable) NameAt(off int32) []byte {
	return t.cstring(t.names, t.cus, uint32(off))
}

// A Func is one function of a PCTable. Any context.
type Func struct {
	t          *PCTable
	rec        uint32 // offset of its runtime._func in t.tab
	entry, end uint32 // from the start of text
}

// u32 and u8 read a field of the function's record, by its offset.
func (f Func) u32(off uint32) uint32 { return f.t.u32(f.rec + off) }
func (f Func) u8(off uint32) byte    { return f.t.u8(f.rec + off) }

// Entry returns the address of the function's first instruction.
func (f Func) Entry() uintptr { return f.t.text + uintptr(f.entry) }

// End returns the address of the next function: the end of this one's code and
// of the padding after it.
func (f Func) End() uintptr { return f.t.text + uintptr(f.end) }

// Name returns the name as the linker wrote it, package path and all, with the
// type arguments of a generic function in brackets (which the runtime prints as
// "[...]"): a part of the table itself.
func (f Func) Name() []byte { return f.t.NameAt(int32(f.u32(fnNameOff))) }

// StartLine returns the line of the func keyword or TEXT directive, 0 if not known.
func (f Func) StartLine() int32 { return int32(f.u32(fnStartLine)) }

// FuncID returns the function's number among those that the runtime treats specially, 0 for an
// ordinary one. The numbers differ between Go releases (internal/abi/symtab.go).
func (f Func) FuncID() byte { return f.u8(fnFuncID) }

// Flags returns the FuncFlag bits of the function.
func (f Func) Flags() byte { return f.u8(fnFlag) }

// ArgsSize returns the number of bytes that the caller has set aside for the function above the
// return address: for arguments and results on the stack, and to spill arguments that come in
// registers. It is 0 if that is not known.
func (f Func) ArgsSize() uintptr { return uintptr(max(int32(f.u32(fnArgs)), 0)) }

// SPDelta returns the distance in bytes from SP up to the slot of the return address when the
// instruction at pc is about to run. At a function's entry it is 0. In a function with
// FuncFlagSPWrite it is valid only up to the instruction that loads SP. ok is false if the table
// does not say.
func (f Func) SPDelta(pc uintptr) (delta int32, ok bool) {
	return f.value(f.u32(fnPCSP), pc)
}

// Returns reports whether ra, found in the word that [Func.SPDelta] names, can be the return
// address of the function at pc, or of an address that is no function. ra must follow a call, or a
// function's first byte, as in the returns to goexit that the runtime makes up. If code was
// overwritten, or pc is in data, SP may not be what the table means. In a function that moves SP by
// hand, only the first instruction has that SP; after it, ra must be where a direct call of the
// function returns to. For the thunk of [OnReturn], which nothing calls, any ra counts. ra must be
// in mapped memory. Any context.
func (t PCTable) Returns(pc, ra uintptr) bool {
	caller, ok := t.Find(ra - 1)
	if !ok {
		return false
	}
	f, ok := t.Find(pc)
	switch {
	case ok && (f.Entry() == exitThunkPC() || f.Entry() == exitBodyPC()):
		return true
	case ok && f.Flags()&FuncFlagSPWrite != 0 && pc != f.Entry():
		return Native().calls(ra, f.Entry())
	}
	return ra-1 == caller.Entry() || Native().behindCall(ra)
}

// PCData returns the value of the function's i'th PCDATA table at pc. ok is false if there is no
// such table or it does not cover pc. Most tables use -1 for "nothing here". For the entry of a
// call, pc is inside the call instruction: the return address - 1.
func (f Func) PCData(i uint32, pc uintptr) (v int32, ok bool) {
	if i >= f.u32(fnNPCData) {
		return -1, false
	}
	off := uint64(f.rec) + fnSize + 4*uint64(i)
	if off+4 > uint64(len(f.t.tab)) {
		return -1, false
	}
	return f.value(f.t.u32(uint32(off)), pc)
}

// PCDataSpan is PCData that also returns the first address after pc at which the value may differ,
// for callers that want all values of a function.
func (f Func) PCDataSpan(i uint32, pc uintptr) (v int32, end uintptr, ok bool) {
	if i >= f.u32(fnNPCData) {
		return -1, f.End(), false
	}
	off := uint64(f.rec) + fnSize + 4*uint64(i)
	if off+4 > uint64(len(f.t.tab)) {
		return -1, f.End(), false
	}
	return f.span(f.t.u32(uint32(off)), pc)
}

// FuncData returns the i'th FUNCDATA of the function as an offset in bytes from symbol go:func.*.
// ok is false if the function has none.
func (f Func) FuncData(i uint32) (off uint32, ok bool) {
	if i >= uint32(f.u8(fnNFuncData)) {
		return 0, false
	}
	at := uint64(f.rec) + fnSize + 4*uint64(f.u32(fnNPCData)) + 4*uint64(i)
	if at+4 > uint64(len(f.t.tab)) {
		return 0, false
	}
	off = f.t.u32(uint32(at))
	return off, off != 1<<32-1
}

// FileLine returns the source file and line of the instruction at pc: those of the innermost
// inlined call, if there are any. file is a part of the table. ok is false where the table says
// nothing, as in the padding after a function.
func (f Func) FileLine(pc uintptr) (file []byte, line int32, ok bool) {
	t := f.t
	no, ok1 := f.value(t.u32(f.rec+fnPCFile), pc)
	line, ok2 := f.value(t.u32(f.rec+fnPCLine), pc)
	if !ok1 || !ok2 || no < 0 || line < 0 {
		return nil, 0, false
	}
	at := uint64(t.cus) + 4*(uint64(t.u32(f.rec+fnCUOff))+uint64(no))
	if at+4 > uint64(t.files) {
		return nil, 0, false
	}
	off := t.u32(uint32(at))
	if off >= t.pcs-t.files {
		return nil, 0, false // also ^0, the linker's "no file"
	}
	return t.cstring(t.files, t.pcs, off), line, true
}

// value reads the pc-value table at offset off of the pc tables: pairs of variable-length numbers,
// a zigzag difference of the value and a difference of the pc in units of the smallest instruction.
// It ends with a zero byte. Each turn consumes two bytes at least, so the loop ends.
func (f Func) value(off uint32, pc uintptr) (v int32, ok bool) {
	v, _, ok = f.span(off, pc)
	return v, ok
}

// span is value that also returns where the value's range ends.
func (f Func) span(off uint32, pc uintptr) (v int32, end uintptr, ok bool) {
	t := f.t
	size := t.funcs - t.pcs
	if off == 0 || off >= size || pc < f.Entry() || pc >= f.End() {
		return -1, f.End(), false
	}
	want := uint64(uint32(pc - t.text))
	at := uint64(f.entry)
	v = -1
	quantum := uint64(t.u8(hdrMinLC))
	p, last := t.pcs+off, t.funcs
	for first := true; ; first = false {
		var d uint32
		if d, p = t.varint(p, last); d == 0 && !first || p == 0 {
			return -1, f.End(), false
		}
		v += int32(-(d & 1) ^ d>>1)
		if d, p = t.varint(p, last); p == 0 {
			return -1, f.End(), false
		}
		at += uint64(d) * quantum
		if want < at {
			return v, t.text + uintptr(at), true
		}
	}
}

// varint reads a little-endian base-128 number at p and returns the offset
// after it, or 0 if it does not end before end or is longer than 32 bits need.
func (t *PCTable) varint(p, end uint32) (v, next uint32) {
	for shift := uint32(0); shift < 35 && p < end; shift += 7 {
		b := t.u8(p)
		p++
		v |= uint32(b&0x7f) << (shift & 31)
		if b < 0x80 {
			return v, p
		}
	}
	return 0, 0
}

// cstring returns the bytes from off up to the next NUL in the part [lo, hi).
func (t *PCTable) cstring(lo, hi, off uint32) []byte {
	if off >= hi-lo || uint64(hi) > uint64(len(t.tab)) {
		return nil
	}
	s := t.tab[lo+off : hi]
	for i := range s {
		if s[i] == 0 {
			return s[:i]
		}
	}
	return nil
}

// u8, u32 and u64 read the table, least significant byte first. Outside it they return 0, which
// every caller treats like a damaged field.

func (t *PCTable) u8(off uint32) byte {
	if uint64(off) >= uint64(len(t.tab)) {
		return 0
	}
	return t.tab[off]
}

func (t *PCTable) u32(off uint32) uint32 {
	if uint64(off)+4 > uint64(len(t.tab)) {
		return 0
	}
	b := t.tab[off : uint64(off)+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func (t *PCTable) u64(off uint32) uint64 {
	return uint64(t.u32(off)) | uint64(t.u32(off+4))<<32
}
