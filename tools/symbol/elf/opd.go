// Function descriptors. In 64-bit PowerPC's first ABI a function's symbol is that of its
// descriptor in .opd, whose first word is the address of the code.
//
// Source: 64-bit PowerPC ELF ABI Supplement 1.9, section 3.2.5 (function descriptors).

package elf

import "debug/elf"

// opd is a file's section of descriptors.
type opd struct {
	section *Section
	index   elf.SectionIndex
	data    []byte
}

// readOPD returns the descriptors of a linked file, or nil. In an object file they are not
// filled in.
func (f *File) readOPD() *opd {
	if f.Machine != elf.EM_PPC64 || f.Type == elf.ET_REL {
		return nil
	}
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == ".opd" && s.Type == elf.SHT_PROGBITS {
			if b, err := f.Data(s); err == nil {
				return &opd{s, elf.SectionIndex(i), b}
			}
		}
	}
	return nil
}

// code makes a descriptor's symbol that of the code.
func (f *File) code(s *Symbol) {
	o := f.descriptors()
	if o == nil || s.Shndx != o.index || s.Value < o.section.Addr {
		return
	}
	at := s.Value - o.section.Addr
	if n := uint64(len(o.data)); n < 8 || at > n-8 {
		return
	}
	addr := f.Order.Uint64(o.data[at:])
	for i := range f.Sections {
		if t := &f.Sections[i]; t.Flags&elf.SHF_EXECINSTR != 0 && t.Holds(addr) {
			s.Value, s.Shndx = addr, elf.SectionIndex(i)
			return
		}
	}
}

// ShareDescriptors lets f, a debug file, which has kept none, use the descriptors of the
// file that it belongs to. It is called before any symbol is read. Context: host.
func (f *File) ShareDescriptors(of *File) {
	f.opdOnce.Do(func() { f.opd = of.descriptors() })
}

func (f *File) descriptors() *opd {
	f.opdOnce.Do(func() { f.opd = f.readOPD() })
	return f.opd
}
