// A stripped program may bring a small symbol table with it: .gnu_debugdata is an ELF file,
// packed by xz, with the functions that are not in .dynsym. Fedora makes it of all programs.
//
// Source: GDB manual, "Debugging information in a special section".

package symbol

import (
	stdelf "debug/elf"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// miniCompanion returns the file that is packed within this one, or nil.
func (f *File) miniCompanion() *File {
	s := f.FirstSection(".gnu_debugdata")
	if s == nil || f.HasSection(stdelf.SHT_SYMTAB) {
		return nil
	}
	b, err := f.Data(s)
	if err != nil {
		return nil
	}
	packed, err := elf.NewPacked(b, f.Name()+" (.gnu_debugdata)")
	if err != nil || packed.Machine != f.Machine || packed.Class != f.Class ||
		packed.Big() != f.Big() {
		return nil
	}
	m := &File{File: packed, around: f}
	if !m.HasSection(stdelf.SHT_SYMTAB) {
		return nil
	}
	m.scans.Store(manyScans) // a pass over its own table would miss .dynsym
	return m
}
