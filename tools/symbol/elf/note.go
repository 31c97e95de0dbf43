// The GNU build ID is what ties a trace to the file it came from, so it must
// never be read wrongly. A note counts only if its name is exactly "GNU\0", of
// four bytes, and its type exactly 3; name and contents are each padded to the
// note's alignment.

package elf

import (
	"debug/elf"
	"encoding/hex"
)

// ntGNUBuildID is NT_GNU_BUILD_ID (binutils, include/elf/common.h).
const ntGNUBuildID = 3

// maxBuildID is more than any linker writes (SHA-1: 20 bytes; ld --build-id=0x...
// takes any length, but nobody means a kilobyte).
const maxBuildID = 1024

// BuildID returns the file's GNU build ID in lower-case hexadecimal, or "" if it
// has none. It looks at the note sections and, if none of them has it, at the
// note segments. Context: host.
func (f *File) BuildID() string {
	if s := f.FirstSection(".note.gnu.build-id"); s != nil {
		if id := f.noteSection(s); id != "" {
			return id
		}
	}
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == elf.SHT_NOTE {
			if id := f.noteSection(s); id != "" {
				return id
			}
		}
	}
	for i := range f.Segments {
		if s := &f.Segments[i]; s.Type == elf.PT_NOTE {
			if b, err := f.Read(s.Off, s.FileSize); err == nil {
				if id := f.buildIDNote(b, s.align); id != "" {
					return id
				}
			}
		}
	}
	return ""
}

func (f *File) noteSection(s *Section) string {
	b, err := f.Data(s)
	if err != nil {
		return ""
	}
	return f.buildIDNote(b, s.Align)
}

// buildIDNote finds the build ID among notes, "" if there is none. Source: System V ABI, "Note
// Section"; alignment 8 is what newer linkers use for .note.gnu.property.
func (f *File) buildIDNote(b []byte, align uint64) string {
	if align != 8 {
		align = 4
	}
	total := uint64(len(b))
	for at := uint64(0); total-at >= 12; {
		namesz := uint64(f.Order.Uint32(b[at:]))
		descsz := uint64(f.Order.Uint32(b[at+4:]))
		typ := f.Order.Uint32(b[at+8:])
		name := at + 12
		desc := alignUp(name+namesz, align)
		end := desc + descsz // no overflow: each is below 1<<33 + total
		if name+namesz > total || end > total {
			break
		}
		if typ == ntGNUBuildID && string(b[name:name+namesz]) == "GNU\x00" &&
			0 < descsz && descsz <= maxBuildID {
			return hex.EncodeToString(b[desc:end])
		}
		at = min(alignUp(end, align), total)
	}
	return ""
}

func alignUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
