package tracer

import "unsafe"

// The inline trees: for each function a table of the calls in it that the compiler has
// put the callee's code in place of. Source: runtime/symtabinl.go.

// Offsets in a record of an inline tree (runtime.inlinedCall).
const (
	inlNameOff  = 4 // int32, into the name table
	inlParentPC = 8 // int32, from the function's entry: a pc in the call
	inlSize     = 16
)

// WithFuncData gives the table the memory that [Func.FuncData] counts from, without which
// [Func.Inlined] finds nothing: the symbol go:func.*. Any context.
func (t PCTable) WithFuncData(data []byte) PCTable {
	t.data = data
	return t
}

// An InlinedCall is a call whose callee's code stands in the caller's. Any context.
type InlinedCall struct {
	f  Func
	at uint32 // offset of its record in the table's data
}

// Inlined returns the innermost inlined call that pc is in. ok is false if there is
// none, or nothing is known. A return address is looked up as pc - 1.
func (f Func) Inlined(pc uintptr) (c InlinedCall, ok bool) {
	index, ok := f.PCData(PCDataInlTreeIndex, pc)
	if !ok || index < 0 {
		return InlinedCall{}, false
	}
	off, ok := f.FuncData(FuncDataInlTree)
	at := uint64(off) + inlSize*uint64(index)
	if !ok || at+inlSize > uint64(len(f.t.data)) {
		return InlinedCall{}, false
	}
	return InlinedCall{f, uint32(at)}, true
}

// Name returns the name of the function that is called: a part of the table.
func (c InlinedCall) Name() []byte { return c.f.t.NameAt(int32(c.word(inlNameOff))) }

// Outer returns an address in the call, in the code of its caller, and whether that is in
// an inlined call itself (for [Func.Inlined]) or the caller is the function. A damaged
// table may lead in a circle.
func (c InlinedCall) Outer() (pc uintptr, inlined bool) {
	pc = c.f.Entry() + uintptr(c.word(inlParentPC))
	_, inlined = c.f.Inlined(pc)
	return pc, inlined
}

func (c InlinedCall) word(off uint32) uint32 {
	b := c.f.t.data[c.at+off : c.at+off+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// OwnTable returns the pc table of the running program, inline trees included, which the
// linker has put into its memory. Without one that this package can read, ok is false.
// Any context.
func OwnTable() (t PCTable, ok bool) {
	text, lo, hi := ownTables()
	if lo == 0 || hi <= lo {
		return PCTable{}, false
	}
	t, ok = ParsePCTable(unsafe.Slice((*byte)(pointer(lo)), hi-lo), text)
	if ok {
		t = t.WithFuncData(ownFuncData(moduleData, lo, hi))
	}
	return t, ok
}

// moduleData is the address of the runtime's: where the linker says what lies where.
//
//go:linkname moduleData runtime.lastmoduledatap
var moduleData uintptr

// ModuleData returns the address of the runtime's description of the program, a runtime.moduledata.
// Any context.
func ModuleData() uintptr { return moduleData }

// Offsets in runtime.moduledata, as of Go 1.20.
const (
	mdText      = 176
	mdRodata    = 312
	mdGofunc    = 320
	mdSearchEnd = 448
)

// ownFuncData finds go:func.* by the words of the module data, as it has no symbol that
// could be named. From Go 1.26 on it is the end of the pc table's section, and the word
// after it that section's end, by which it can be told. Before, it lies in the read-only
// data, after their start.
func ownFuncData(module, lo, hi uintptr) []byte {
	for off := uintptr(mdText + 8); off+16 <= mdSearchEnd; off += 8 {
		a, ok1 := ReadWord(module + off)
		b, ok2 := ReadWord(module + off + 8)
		if ok1 && ok2 && lo < a && a <= b && b <= hi {
			return unsafe.Slice((*byte)(pointer(a)), hi-a)
		}
	}
	rodata, ok1 := ReadWord(module + mdRodata)
	a, ok2 := ReadWord(module + mdGofunc)
	if ok1 && ok2 && rodata != 0 && rodata < a && a < lo {
		return unsafe.Slice((*byte)(pointer(a)), lo-a)
	}
	return nil
}
