// One look-up, whatever the source: from an address to the calls it is in. The
// one subtle rule is kept here: what to look up for a return address.

package symbol

import (
	"debug/elf"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/code"
)

// A Frame is one call an address is in.
type Frame struct {
	// Function is the function's name: for Go as the runtime prints it, for
	// other languages as the compiler wrote it (mangled). It may be empty if
	// only the line is known.
	Function string
	// Offset is the distance in bytes of the address that was looked up from
	// the entry of the physical function, for inlined calls too. For a return
	// address it is that of the return address itself.
	Offset uint64
	// File and Line are "" and 0 if not known. A symbol table alone may give a
	// file without a line, and without its directory.
	File string
	Line int
	// Inlined is set for each frame but the physical function's, the last one.
	// That is there even if it is a wrapper the compiler made around a method,
	// which the runtime's own traces leave out.
	Inlined bool
	// Discriminator is DWARF's number of the block within the line, 0 if none.
	Discriminator int
}

// Lookup returns the calls that the instruction at addr is in, innermost first,
// or nil if addr is in no known function. With ret, addr is a return address,
// and what counts is the call before it, which the byte at addr-1 belongs to:
// addr itself may be another line, or, after a call that never returns, another
// function. Without ret addr is taken exactly as it is. A "return address" at a
// function's entry with no call before it is one that was made up, to start the
// function with a return; it too is taken as it is. Context: host.
func (f *File) Lookup(addr uint64, ret bool) []Frame {
	pc := f.callAt(addr, ret)
	frames, entry := f.lookup(pc)
	for i := range frames {
		frames[i].Offset = addr - entry
	}
	return frames
}

// callAt returns what to look up for addr.
func (f *File) callAt(addr uint64, ret bool) uint64 {
	if ret && addr > 0 && (!f.isEntry(addr) || f.IsText(addr-1) && f.followsCall(addr)) {
		return addr - 1
	}
	return addr
}

// lookup asks the sources in the order of their worth. entry is the address that
// offsets count from.
func (f *File) lookup(pc uint64) (frames []Frame, entry uint64) {
	if g := f.goTable(); g != nil {
		if frames, entry := g.lookup(f, pc, nil); len(frames) > 0 {
			return frames, entry
		}
	}
	if frames, entry, _, ok := f.index.lookup(pc); ok {
		return frames, entry
	}
	hit, ok := f.funcAt(pc)
	f.asked.Add(1)
	frames, low := f.dwarfLookup(pc, hit)
	return f.choose(pc, hit, ok, frames, low)
}

// choose makes the answer of what the symbol table and DWARF say.
func (f *File) choose(pc uint64, hit symbolHit, ok bool, frames []Frame, low uint64) ([]Frame, uint64) {
	switch {
	case len(frames) > 0 && ok:
		return frames, hit.start
	case len(frames) > 0:
		return frames, low
	case ok:
		return []Frame{{Function: hit.name, File: f.hitFile(hit)}}, hit.start
	}
	if fn := f.unnamedAt(pc); fn != nil {
		return []Frame{{Function: fn.Name}}, fn.Start
	}
	return nil, 0
}

// unnamedAt is foundAt, without a look at the code of a file that is obviously not
// stripped.
func (f *File) unnamedAt(pc uint64) *code.Func {
	if f.goTable() != nil || f.dwarfData() != nil && f.hasSection(elf.SHT_SYMTAB) {
		return nil
	}
	return f.foundAt(pc)
}

// FullNames puts the full name of the function that holds addr into frames, which
// Lookup(addr, false) returned: of Go functions with type arguments the pc table and
// the runtime have a short name ("main.f[...]"), the symbol table the one that nm and
// addr2line print ("main.f[go.shape.int]"). It stays as it is if the symbol table
// lacks it, and so do the names of inlined calls, which only DWARF has in full: to
// read that takes a hundred times as long as all the rest. Context: host.
func (f *File) FullNames(addr uint64, frames []Frame) {
	f.FullNamesAll([]uint64{addr}, [][]Frame{frames})
}

// FullNamesAll is FullNames for what LookupAll(addrs, false) returned. Context: host.
func (f *File) FullNamesAll(addrs []uint64, answers [][]Frame) {
	// The entry is looked up, not the address: to the pc table the padding after a
	// function is a part of it.
	short := func(i int) (fr *Frame, entry uint64) {
		if n := len(answers[i]); n > 0 && strings.Contains(answers[i][n-1].Function, "[...]") {
			fr = &answers[i][n-1]
			entry = addrs[i] - fr.Offset
		}
		return fr, entry
	}
	var entries []uint64
	for i := range answers {
		if fr, entry := short(i); fr != nil {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return // the symbols would be read for nothing
	}
	slices.Sort(entries)
	entries = slices.Compact(entries)
	hits := f.funcsAt(entries)
	for i := range answers {
		if fr, entry := short(i); fr != nil {
			n, _ := slices.BinarySearch(entries, entry)
			if name := hits[n].name; printedName(name) == fr.Function {
				fr.Function = name
			}
		}
	}
}

// isEntry reports whether addr is a function's first instruction.
func (f *File) isEntry(addr uint64) bool {
	if g := f.goTable(); g != nil {
		if fn, ok := g.Find(uintptr(addr)); ok {
			return uint64(fn.Entry()) == addr
		}
	}
	if _, entry, sure, ok := f.index.lookup(addr); ok && (sure || !f.index.partial()) {
		return sure && entry == addr
	}
	if hit, ok := f.funcAt(addr); ok {
		return hit.start == addr
	}
	fn := f.unnamedAt(addr)
	return fn != nil && fn.Start == addr
}

// followsCall reports whether a call instruction ends right before addr. Where
// it does not know the machine's instructions it says yes. Source: Intel SDM
// volume 2, CALL: E8 rel32, and FF /2 with an operand of 0 to 5 bytes more.
func (f *File) followsCall(addr uint64) bool {
	if f.machine != elf.EM_X86_64 && f.machine != elf.EM_386 {
		return true
	}
	const longest = 7
	b, ok := f.readAddr(addr-longest, longest)
	if !ok {
		return true
	}
	if b[longest-5] == 0xe8 {
		return true
	}
	for n := 2; n <= longest; n++ {
		if op := b[longest-n:]; op[0] == 0xff && op[1]>>3&7 == 2 && n == callLen(op) {
			return true
		}
	}
	return false
}

// callLen returns the length of the FF /2 instruction that op begins with: opcode,
// ModRM, a SIB byte if the ModRM says so, and a displacement. Source: Intel SDM
// volume 2, tables 2-2 and 2-3.
func callLen(op []byte) int {
	mod, rm, n := op[1]>>6, op[1]&7, 2
	if mod != 3 && rm == 4 {
		if n++; len(op) < n {
			return 0
		}
		if mod == 0 && op[2]&7 == 5 {
			n += 4
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && rm == 5:
		n += 4
	}
	return n
}
