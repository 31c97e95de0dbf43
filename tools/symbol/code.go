// The code itself, for those who follow calls and jumps in it; and the functions of a
// file without symbols, which .eh_frame tells.

package symbol

import (
	stdelf "debug/elf"
	"fmt"
	"sort"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// Code returns the program's code with the functions in it: those that the file
// names, or in a stripped file those that .eh_frame describes, with names like
// func_2797c0. It is nil for machines other than the 64-bit x86. Context: host.
func (f *File) Code() *code.Image {
	f.codeOnce.Do(f.readCode)
	return f.code
}

// CallEnds reports whether a call instruction ends at addr, as it does before a return address;
// known is false for machines whose code is not decoded. Context: host.
func (f *File) CallEnds(addr uint64) (call, known bool) {
	im := f.Code()
	if im == nil {
		return false, false
	}
	_, call = im.CallBefore(addr)
	return call, true
}

// FollowsCall reports whether a call instruction ends right before addr, as it
// does before every return address. Where it does not know the machine's
// instructions, or has no bytes, it says yes. Context: host. Source: Intel SDM
// volume 2, CALL: E8 rel32, and FF /2 with an operand of 0 to 5 bytes more.
func (f *File) FollowsCall(addr uint64) bool {
	const longest = 7
	b, ok := f.BytesAt(addr-longest, longest)
	if !ok || f.Machine != stdelf.EM_X86_64 && f.Machine != stdelf.EM_386 {
		return true
	}
	for n := 2; n <= longest; n++ {
		op := b[longest-n:]
		if (op[0] == 0xe8 || op[0] == 0xff && op[1]>>3&7 == 2) && code.Decode(op).Len == n {
			return true
		}
	}
	return false
}

// codeSections returns the code as it lies in the file.
func (f *File) codeSections() (text []code.Segment) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Flags&stdelf.SHF_EXECINSTR == 0 ||
			s.Flags&stdelf.SHF_COMPRESSED != 0 {
			continue
		}
		if b, err := f.Data(s); err == nil {
			text = append(text, code.Segment{Addr: s.Addr, Bytes: b})
		}
	}
	for i := range f.Segments {
		s := &f.Segments[i]
		if len(f.Sections) > 0 || s.Type != stdelf.PT_LOAD || s.Flags&stdelf.PF_X == 0 {
			continue
		}
		if b, err := f.Read(s.Off, s.FileSize); err == nil {
			text = append(text, code.Segment{Addr: s.Addr, Bytes: b})
		}
	}
	return text
}

func (f *File) readCode() {
	if f.Machine != stdelf.EM_X86_64 || f.Class != stdelf.ELFCLASS64 {
		return
	}
	text, named := f.codeSections(), f.namedFuncs()
	if f.goTable() != nil || f.hasSymtab() {
		f.code = code.NewImage(text, named)
		return
	}
	addr, b, _ := f.SectionBytes(".eh_frame")
	var described []code.Func
	for _, fn := range elf.NewFrames(b, addr, true).FDEs {
		// The stubs for calls of shared libraries are no functions.
		if name, _, _ := f.Section(fn.Low); !strings.HasPrefix(name, ".plt") {
			described = append(described, code.Func{Start: fn.Low, End: fn.High,
				Name: fmt.Sprintf("func_%x", fn.Low)})
		}
	}
	f.found = code.NewImage(text, described).Funcs()
	f.code = code.NewImage(text, append(named, f.found...))
}

// hasSymtab reports whether the file has its whole symbol table: it is not stripped.
func (f *File) hasSymtab() bool {
	for i := range f.Sections {
		if f.Sections[i].Type == stdelf.SHT_SYMTAB {
			return len(f.symbols().funcs) > 0
		}
	}
	return false
}

// namedFuncs returns the functions of the Go pc table and of the symbol tables.
func (f *File) namedFuncs() []code.Func {
	var funcs []code.Func
	goEnd := uint64(0)
	if g := f.goTable(); g != nil {
		for fn := range g.funcs() {
			if n := len(funcs); n > 0 {
				funcs[n-1].End = uint64(fn.Entry())
			}
			funcs = append(funcs, code.Func{Start: uint64(fn.Entry()), End: uint64(fn.Entry())})
		}
		if n := len(funcs); n > 0 {
			goEnd = f.SectionEnd(funcs[n-1].Start)
			funcs[n-1].End = goEnd
		}
	}
	t := f.symbols()
	covered := uint64(0) // up to here by functions with a size
	for _, fs := range t.funcs {
		s := f.raw(t, &fs)
		if len(funcs) > 0 && s.Value >= funcs[0].Start && s.Value < goEnd {
			continue // the pc table knows better
		}
		if s.Size == 0 {
			if s.Value >= covered {
				funcs = append(funcs, code.Func{Start: s.Value, End: f.SectionEnd(s.Value)})
			}
			continue // or a label in a function
		}
		funcs = append(funcs, code.Func{Start: s.Value, End: s.Value + min(s.Size, ^s.Value)})
		covered = max(covered, funcs[len(funcs)-1].End)
	}
	return funcs
}

// FindsFunctions reports whether Lookup names functions by their addresses, as
// func_2797c0, since the file is stripped but its .eh_frame tells where they are.
// Context: host.
func (f *File) FindsFunctions() bool {
	f.Code()
	return len(f.found) > 0
}

// foundAt returns the function of a stripped file that has the address.
func (f *File) foundAt(addr uint64) *code.Func {
	f.Code()
	i := sort.Search(len(f.found), func(i int) bool { return f.found[i].Start > addr }) - 1
	if i >= 0 && f.found[i].Holds(addr) {
		return &f.found[i]
	}
	return nil
}
