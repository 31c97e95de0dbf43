// One look-up, whatever the source: from an address to the calls it is in. The
// one subtle rule is kept here: what to look up for a return address.

package symbol

import (
	stdelf "debug/elf"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Lookup returns the calls that the instruction at addr is in, innermost first,
// or nil if addr is in no known function. With ret, addr is a return address,
// and what counts is the call before it, which the byte at addr-1 belongs to:
// addr itself may be another line, or, after a call that never returns, another
// function. Without ret addr is taken exactly as it is. A "return address" at a
// function's entry with no call before it is one that was made up, to start the
// function with a return; it too is taken as it is. Context: host.
func (f *File) Lookup(addr uint64, ret bool) []lookup.Call {
	pc := f.callAt(addr, ret)
	frames, entry := f.lookup(pc)
	for i := range frames {
		frames[i].Offset = addr - entry
	}
	return frames
}

// callAt returns what to look up for addr.
func (f *File) callAt(addr uint64, ret bool) uint64 {
	if ret && addr > 0 && (!f.isEntry(addr) || f.IsText(addr-1) && f.FollowsCall(addr)) {
		return addr - 1
	}
	return addr
}

// lookup returns the frames at pc, and the address that offsets count from.
func (f *File) lookup(pc uint64) (frames []lookup.Call, entry uint64) {
	for _, s := range f.sources() {
		if frames, entry, known := s.one(pc); known {
			return frames, entry
		}
	}
	return nil, 0
}

// choose makes the answer of what the symbol table and DWARF say.
func (f *File) choose(pc uint64, hit symbolHit, ok bool, frames []lookup.Call,
	low uint64) ([]lookup.Call, uint64) {
	switch {
	case len(frames) > 0 && ok:
		return frames, hit.start
	case len(frames) > 0:
		return frames, low
	case ok:
		return []lookup.Call{{Function: hit.name, File: f.hitFile(hit)}}, hit.start
	}
	if fn := f.unnamedAt(pc); fn != nil {
		return []lookup.Call{{Function: fn.Name}}, fn.Start
	}
	return nil, 0
}

// unnamedAt is foundAt, without a look at the code of a file that is obviously not
// stripped.
func (f *File) unnamedAt(pc uint64) *code.Func {
	if f.goTable() != nil || f.dwarfData() != nil && f.HasSection(stdelf.SHT_SYMTAB) {
		return nil
	}
	return f.foundAt(pc)
}

// FullNamesAll puts the full names of the functions that hold addrs into answers, which
// LookupAll(addrs, false) returned: of Go functions with type arguments the pc table and
// the runtime have a short name ("main.f[...]"), the symbol table the one that nm and
// addr2line print ("main.f[go.shape.int]"). It stays as it is if the symbol table
// lacks it, and so do the names of inlined calls, which only DWARF has in full: to
// read that takes a hundred times as long as all the rest. Context: host.
func (f *File) FullNamesAll(addrs []uint64, answers [][]lookup.Call) {
	// The entry is looked up, not the address: to the pc table the padding after a
	// function is a part of it.
	short := func(i int) (fr *lookup.Call, entry uint64) {
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
			if name := hits[n].name; f.goTable().print(name) == fr.Function {
				fr.Function = name
			}
		}
	}
}

// isEntry reports whether addr is a function's first instruction.
func (f *File) isEntry(addr uint64) bool {
	for _, s := range f.sources() {
		if yes, known := s.isEntry(addr); known {
			return yes
		}
	}
	return false
}
