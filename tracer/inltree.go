package tracer

import "unsafe"

// The inline trees: for each function, a table of the calls that the compiler replaced with the
// callee's code. Source: runtime/symtabinl.go.

// Offsets in a record of an inline tree (runtime.inlinedCall).
const (
	inlNameOff  = 4 // int32, into the name table
	inlParentPC = 8 // int32, from the function's entry: a pc in the call
	inlSize     = 16
)

// WithFuncData gives the table the memory that [Func.FuncData] counts from: the symbol go:func.*.
// Without it [Func.Inlined] finds nothing. Any context.
func (t PCTable) WithFuncData(data []byte) PCTable {
	t.data = data
	return t
}

// An InlinedCall is a call that the compiler replaced with the callee's code. Any context.
type InlinedCall struct {
	f  Func
	at uint32 // offset of its record in the table's data
}

// Inlined returns the innermost inlined call that contains pc. ok is false if there is none, or if
// the table does not say. Look up a return address as pc - 1. Any context.
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

// Name returns the name of the called function; it is part of the table.
func (c InlinedCall) Name() []byte { return c.f.t.NameAt(int32(c.word(inlNameOff))) }

// Outer returns an address in the caller's code, inside the call. inlined says that this code is
// itself an inlined call (look it up with [Func.Inlined]); otherwise the caller is the function. A
// damaged table may lead in a circle.
func (c InlinedCall) Outer() (pc uintptr, inlined bool) {
	pc = c.f.Entry() + uintptr(c.word(inlParentPC))
	_, inlined = c.f.Inlined(pc)
	return pc, inlined
}

func (c InlinedCall) word(off uint32) uint32 {
	b := c.f.t.data[c.at+off : c.at+off+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// OwnTable returns the pc table of the running program, inline trees included, from the program's
// own memory. ok is false if there is no table that this package can read. Any context.
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

// moduleData is the address of the runtime's moduledata, in which the linker says where everything
// lies.
//
//go:linkname moduleData runtime.lastmoduledatap
var moduleData uintptr

// ModuleData returns the address of the runtime's description of the program, a runtime.moduledata.
// Any context.
func ModuleData() uintptr { return moduleData }

// Offsets in runtime.moduledata, since Go 1.20.
const (
	mdText      = 176
	mdRodata    = 312
	mdGofunc    = 320
	mdSearchEnd = 448
)

// ownFuncData finds go:func.* by the words of the module data, because the symbol cannot be named
// in the source. Since Go 1.26 it is the end of the pc table's section, and the word after it is
// that section's end, which identifies it. Before, it lies in the read-only data, after their
// start.
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
