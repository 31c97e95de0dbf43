// The entries of a symbol table.
//
// Source: System V ABI, "Symbol Table".

package elf

import (
	"debug/elf"
	"encoding/binary"
)

// A Symbol is one decoded entry of a symbol table. Name is the offset of its name in the
// section with the names.
type Symbol struct {
	Name        uint32
	Info        byte
	Shndx       elf.SectionIndex
	Value, Size uint64
}

// SymbolSize returns the size in bytes of an entry of a symbol table.
func (f *File) SymbolSize() uint64 {
	if f.Class == elf.ELFCLASS32 {
		return 16
	}
	return 24
}

// SymbolSections returns the sections with symbols of type typ and their names, or
// nil. A file has one of each; more would only cost memory.
func (f *File) SymbolSections(typ elf.SectionType) (tab, str *Section) {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == typ && uint64(s.Link) < uint64(len(f.Sections)) {
			return s, &f.Sections[s.Link]
		}
	}
	return nil, nil
}

// DecodeSymbol decodes an entry of a symbol table.
func (f *File) DecodeSymbol(b []byte) Symbol {
	var s Symbol
	switch {
	case f.Class == elf.ELFCLASS64 && !f.Big(): // nearly all files
		le := binary.LittleEndian
		s = Symbol{
			Name: le.Uint32(b), Info: b[4], Shndx: elf.SectionIndex(le.Uint16(b[6:])),
			Value: le.Uint64(b[8:]), Size: le.Uint64(b[16:]),
		}
	default:
		c, word := Cursor{B: b, Big: f.Big()}, f.AddressSize()
		s.Name = uint32(c.Uint(4))
		if word == 4 {
			s.Value, s.Size = c.Uint(4), c.Uint(4)
		}
		s.Info = c.U8()
		c.U8() // visibility
		s.Shndx = elf.SectionIndex(c.Uint(2))
		if word == 8 {
			s.Value, s.Size = c.Uint(8), c.Uint(8)
		}
	}
	// In an object file the value counts from the section.
	if f.Type == elf.ET_REL && s.Shndx != elf.SHN_UNDEF && int(s.Shndx) < len(f.Sections) {
		s.Value += f.Sections[s.Shndx].Addr
	}
	switch f.Machine {
	case elf.EM_PPC64:
		f.code(&s)
	case elf.EM_ARM, elf.EM_MIPS:
		// The lowest bit of a function's value is its instruction set, Thumb or microMIPS
		// (ELF for the Arm Architecture, 5.5.3).
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			s.Value &^= 1
		}
	}
	return s
}
