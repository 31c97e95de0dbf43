// The code itself, for those who follow calls and jumps in it; and functions of a
// file without symbols, which are found in the code.

package symbol

import (
	stdelf "debug/elf"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// Code returns the program's code with the functions in it: those that the file
// names, or in a stripped file those that package code finds, with names like
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

// codeSections returns the code as it lies in the file, and with all the rest too.
func (f *File) codeSections(all bool) (text, data []code.Segment, frames code.Segment) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Type == stdelf.SHT_NOBITS ||
			s.Flags&stdelf.SHF_COMPRESSED != 0 ||
			!all && s.Flags&stdelf.SHF_EXECINSTR == 0 {
			continue
		}
		b, err := f.Data(s)
		if err != nil {
			continue
		}
		switch seg := (code.Segment{Addr: s.Addr, Bytes: b}); {
		case s.Flags&stdelf.SHF_EXECINSTR != 0:
			text = append(text, seg)
		case s.Name == ".eh_frame":
			frames = seg
		default:
			data = append(data, seg)
		}
	}
	if len(f.Sections) > 0 {
		return text, data, frames
	}
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != stdelf.PT_LOAD || !all && s.Flags&stdelf.PF_X == 0 {
			continue
		}
		b, err := f.Read(s.Off, s.FileSize)
		if err != nil {
			continue
		}
		if seg := (code.Segment{Addr: s.Addr, Bytes: b}); s.Flags&stdelf.PF_X != 0 {
			text = append(text, seg)
		} else {
			data = append(data, seg)
		}
	}
	return text, data, frames
}

func (f *File) readCode() {
	if f.Machine != stdelf.EM_X86_64 || f.Class != stdelf.ELFCLASS64 {
		return
	}
	has := f.goTable() != nil || f.hasSymtab()
	text, data, frames := f.codeSections(!has)
	named := f.namedFuncs()
	if has {
		f.code = code.NewImage(text, named)
		return
	}
	in := code.Input{Data: data, EHFrame: frames}
	for _, s := range text {
		// The stubs for calls of shared libraries are no functions.
		if name, _, _ := f.Section(s.Addr); !strings.HasPrefix(name, ".plt") {
			in.Text = append(in.Text, s)
		}
	}
	if b, err := f.Read(24, 8); err == nil {
		in.Starts = append(in.Starts, f.Order.Uint64(b)) // e_entry
	}
	for i := range named {
		in.Starts = append(in.Starts, named[i].Start)
	}
	f.found = code.Find(&in)
	f.code = code.NewImage(text, f.found)
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
		g.needAll()
		for i := range g.NumFuncs() {
			fn, ok := g.Func(i)
			if !ok {
				continue
			}
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
		s := f.rawSymbol(&t.parts[fs.part], uint64(fs.index))
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
// func_2797c0, since the file is stripped but its code shows where they are.
// Context: host.
func (f *File) FindsFunctions() bool {
	f.Code()
	return len(f.found) > 0
}

// foundAt returns the function of a stripped file that has the address.
func (f *File) foundAt(addr uint64) *code.Func {
	if m := f.Code(); m != nil && len(f.found) > 0 {
		return m.Func(addr)
	}
	return nil
}
