package image

// This file states what the finished image relies on and refuses everything
// else. The Go linker, told to place text at 0x200000, writes an ELF64 whose
// first page is loaded with the text and has room to spare:
//
//	file     address   what
//	0x000    0x1ff000  ELF header
//	0x040              program headers
//	0x190              section headers (their number varies)
//	  ...              unused, zero        <- multiboot header, Xen note
//	0xf78              .note.go.buildid    <- PT_NOTE covers this one only
//	0xfdc              .note.gnu.build-id
//	0x1000   0x200000  text
//
// Address minus file offset is the same for every loaded byte. That lets a
// multiboot loader, which knows nothing of ELF64, load the file as one flat
// piece (Multiboot 0.6.96, section 3.1.3, address fields) and arrive at the
// same memory as an ELF loader. It is checked, not assumed: a linker that lays
// its file out in another way yields an error, never an image that dies at boot.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// TextAddress is the physical (and virtual) address the text is linked at, 2
// MiB: above the legacy areas below 1 MiB and on a large-page boundary.
const TextAddress = 0x200000

// ErrNotELF is returned for a file that is no 64-bit little-endian x86-64 ELF.
var ErrNotELF = errors.New("not an amd64 ELF64 file")

// ErrLayout is returned for an ELF file that is not laid out as the Go linker
// does for an image (see the top of this file for what is expected).
var ErrLayout = errors.New("unexpected ELF layout")

// ErrDynamic is returned for an ELF file that needs a dynamic linker, or is
// position-independent: the result of cgo, or of a -buildmode other than exe.
var ErrDynamic = errors.New("not a static executable")

const (
	headerSize = 64 // ELF64 header, in bytes (elf.Header64)
	progSize   = 56 // one program header (elf.Prog64)
	sectSize   = 64 // one section header (elf.Section64)
	pageSize   = 0x1000
)

// layout is what an ELF file says of itself, as far as loading it goes.
type layout struct {
	header elf.Header64
	progs  []elf.Prog64
	sects  []elf.Section64

	bias     uint64 // address - file offset, the same for every loaded byte
	fileEnd  uint64 // address behind the last byte that comes from the file
	memEnd   uint64 // address behind the last byte of memory (end of bss)
	notePart int    // index in progs of the only PT_NOTE
}

// parse reads the ELF headers of file. It checks that they are within the file,
// and nothing about where things are loaded.
func parse(file []byte) (*layout, error) {
	l := new(layout)
	if len(file) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes are too few for an ELF header", ErrNotELF, len(file))
	}
	readStruct(file, 0, &l.header)
	h := &l.header
	switch {
	case !bytes.HasPrefix(h.Ident[:], []byte(elf.ELFMAG)):
		return nil, fmt.Errorf("%w: it starts with % x, not with the ELF magic", ErrNotELF, h.Ident[:4])
	case elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 ||
		elf.Data(h.Ident[elf.EI_DATA]) != elf.ELFDATA2LSB:
		return nil, fmt.Errorf("%w: %v, %v", ErrNotELF, elf.Class(h.Ident[elf.EI_CLASS]),
			elf.Data(h.Ident[elf.EI_DATA]))
	case elf.Machine(h.Machine) != elf.EM_X86_64:
		return nil, fmt.Errorf("%w: its machine is %v", ErrNotELF, elf.Machine(h.Machine))
	}

	size := uint64(len(file))
	if h.Phnum > 0 && (h.Phentsize != progSize || h.Phoff > size ||
		size-h.Phoff < uint64(h.Phnum)*progSize) {
		return nil, fmt.Errorf("%w: the program headers are cut off", ErrLayout)
	}
	if h.Shnum > 0 && (h.Shentsize != sectSize || h.Shoff > size ||
		size-h.Shoff < uint64(h.Shnum)*sectSize) {
		return nil, fmt.Errorf("%w: the section headers are cut off", ErrLayout)
	}
	l.progs = make([]elf.Prog64, h.Phnum)
	for i := range l.progs {
		readStruct(file, h.Phoff+uint64(i)*progSize, &l.progs[i])
	}
	l.sects = make([]elf.Section64, h.Shnum)
	for i := range l.sects {
		readStruct(file, h.Shoff+uint64(i)*sectSize, &l.sects[i])
	}
	return l, nil
}

// checkLoad checks the loaded parts of a file of the given size in bytes, and
// works out bias, fileEnd and memEnd.
func (l *layout) checkLoad(size uint64) error {
	const limit = 1 << 32 // both loaders enter in 32-bit mode
	loads := 0
	for _, p := range l.progs {
		switch elf.ProgType(p.Type) {
		case elf.PT_INTERP, elf.PT_DYNAMIC:
			return fmt.Errorf(
				"%w: it has a %v program header; build without cgo and without -buildmode or -linkmode",
				ErrDynamic, elf.ProgType(p.Type))
		case elf.PT_TLS:
			return fmt.Errorf("%w: it has thread-local storage (PT_TLS); build without cgo", ErrDynamic)
		}
	}
	if elf.Type(l.header.Type) != elf.ET_EXEC {
		return fmt.Errorf("%w: its type is %v; build with -buildmode=exe", ErrDynamic,
			elf.Type(l.header.Type))
	}
	for i, p := range l.progs {
		if elf.ProgType(p.Type) != elf.PT_LOAD {
			continue
		}
		if p.Off > size || size-p.Off < p.Filesz || p.Memsz < p.Filesz ||
			p.Vaddr > limit || p.Memsz > limit-p.Vaddr {
			return fmt.Errorf("%w: program header %d is beyond the file or above 4 GiB", ErrLayout, i)
		}
		if loads == 0 {
			if p.Off != 0 || p.Vaddr != TextAddress-pageSize || p.Filesz < pageSize {
				return fmt.Errorf(
					"%w: the first LOAD has offset %#x, address %#x, %#x bytes; want offset 0, address %#x: link with -T %#x",
					ErrLayout, p.Off, p.Vaddr, p.Filesz, TextAddress-pageSize, TextAddress)
			}
			l.bias = p.Vaddr
		} else {
			if p.Vaddr-p.Off != l.bias {
				return fmt.Errorf(
					"%w: program header %d has address - offset = %#x, the first LOAD %#x; a multiboot loader needs one value",
					ErrLayout, i, p.Vaddr-p.Off, l.bias)
			}
			if p.Vaddr < l.memEnd {
				return fmt.Errorf("%w: program header %d overlaps the one before it", ErrLayout, i)
			}
			// Memory that is not in the file is zeroed only behind the end
			// of the flat piece, so only the last LOAD may have any.
			if l.fileEnd != l.memEnd {
				return fmt.Errorf("%w: program header %d follows a bss", ErrLayout, i)
			}
		}
		l.fileEnd = p.Vaddr + p.Filesz
		l.memEnd = p.Vaddr + p.Memsz
		loads++
	}
	if loads == 0 {
		return fmt.Errorf("%w: nothing to load (no LOAD program header)", ErrLayout)
	}
	return l.checkEntry()
}

// checkEntry checks that the entry address is in code that comes from the file.
func (l *layout) checkEntry() error {
	e := l.header.Entry
	for _, p := range l.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD && elf.ProgFlag(p.Flags)&elf.PF_X != 0 &&
			e >= max(p.Vaddr, TextAddress) && e-p.Vaddr < p.Filesz {
			return nil
		}
	}
	return fmt.Errorf("%w: the entry address %#x is not in the text", ErrLayout, e)
}

// room returns the file offsets between which the first page is unused: behind
// the headers and before the notes, which start at file offset end.
func (l *layout) room(file []byte, end uint64) (lo, hi uint64, err error) {
	lo = l.header.Phoff + uint64(l.header.Phnum)*progSize
	if l.header.Shoff < pageSize {
		lo = max(lo, l.header.Shoff+uint64(l.header.Shnum)*sectSize)
	}
	if lo > end || end > pageSize {
		return 0, 0, fmt.Errorf("%w: no room between the headers (end %#x) and the notes (%#x)",
			ErrLayout, lo, end)
	}
	for i, s := range l.sects {
		if elf.SectionType(s.Type) != elf.SHT_NOBITS && s.Size > 0 && s.Off < end && s.Off+s.Size > lo {
			return 0, 0, fmt.Errorf("%w: section %d lies in the room behind the headers", ErrLayout, i)
		}
	}
	for off := lo; off < end; off++ {
		if file[off] != 0 {
			return 0, 0,
				fmt.Errorf("%w: the room behind the headers is in use at file offset %#x (finished already?)",
					ErrLayout, off)
		}
	}
	return lo, end, nil
}

// readStruct reads a fixed-size struct at a file offset that has been checked.
func readStruct(file []byte, off uint64, v any) {
	if _, err := binary.Decode(file[off:], binary.LittleEndian, v); err != nil {
		panic(err) // the caller has checked the size
	}
}

// writeStruct writes a fixed-size struct at a file offset that has been checked.
func writeStruct(file []byte, off uint64, v any) {
	if _, err := binary.Encode(file[off:], binary.LittleEndian, v); err != nil {
		panic(err) // the caller has checked the size
	}
}
