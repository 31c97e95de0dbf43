package image

// Finishing adds two small records to the first page and nothing else: a Xen
// note directly before the linker's notes, so that one PT_NOTE covers all three,
// and a multiboot header behind the section headers. Neither moves a byte that
// an ELF tool reads, and the ELF stays the only description of itself.

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrNoRoom is returned when the records do not fit into the first page.
var ErrNoRoom = errors.New("no room for the boot headers in the first page")

const (
	multibootMagic = 0x1badb002
	// Align modules to pages, give the memory map, and use the address fields
	// below instead of ELF's (Multiboot 0.6.96, section 3.1.2: bits 0, 1, 16).
	multibootFlags  = 1<<0 | 1<<1 | 1<<16
	multibootSearch = 8192 // the header is within these first bytes (section 3.1)
)

// multibootHeader is the header with its address fields (Multiboot 0.6.96,
// sections 3.1.1 to 3.1.3). Addresses are physical, in bytes.
type multibootHeader struct {
	Magic, Flags, Checksum uint32

	HeaderAddr  uint32 // where this header itself is loaded
	LoadAddr    uint32 // where the file's first byte is loaded
	LoadEndAddr uint32 // behind the last byte taken from the file
	BSSEndAddr  uint32 // behind the last byte zeroed
	EntryAddr   uint32
}

const multibootSize = 32 // bytes of a multibootHeader, behind which [WantScreen] has room

// Finish returns a copy of an ELF file, linked at [TextAddress] by the Go
// linker, that the given loaders boot at the ELF's own entry address. Physical
// addresses are virtual ones. Errors wrap [ErrNotELF], [ErrDynamic], [ErrLayout]
// or [ErrNoRoom]; the file passed in is not changed.
//
// Sources: Multiboot Specification 0.6.96, section 3.1; Xen public/elfnote.h and
// docs/misc/pvh.pandoc.
func Finish(file []byte, loaders Loaders) ([]byte, error) {
	l, err := parse(file)
	if err != nil {
		return nil, err
	}
	if err := l.checkLoad(uint64(len(file))); err != nil {
		return nil, err
	}
	goNote, notesEnd, err := l.linkerNotes(file)
	if err != nil {
		return nil, err
	}
	lo, hi, err := l.room(file, goNote)
	if err != nil {
		return nil, err
	}

	out := slices.Clone(file)
	notesStart := goNote
	if loaders&PVH != 0 {
		xen := xenNote(l.header.Entry)
		if hi-lo < uint64(len(xen)) {
			return nil, fmt.Errorf("%w: %d bytes left for a Xen note of %d", ErrNoRoom, hi-lo, len(xen))
		}
		notesStart -= uint64(len(xen))
		copy(out[notesStart:], xen)
		hi = notesStart
	}
	if loaders&Multiboot != 0 {
		at := (lo + 15) &^ 15 // the specification wants 4; 16 reads well in a dump
		if at+multibootSize+screenSize > hi {
			return nil, fmt.Errorf("%w: %d section headers leave %d bytes for a multiboot header of %d",
				ErrNoRoom, l.header.Shnum, hi-lo, multibootSize+screenSize)
		}
		// The sum of the first three words is zero modulo 1<<32.
		writeStruct(out, at, &multibootHeader{
			Magic:       multibootMagic,
			Flags:       multibootFlags,
			Checksum:    ^uint32(multibootMagic+multibootFlags) + 1,
			HeaderAddr:  uint32(l.bias + at),
			LoadAddr:    uint32(l.bias),
			LoadEndAddr: uint32(l.fileEnd),
			BSSEndAddr:  uint32(l.memEnd),
			EntryAddr:   uint32(l.header.Entry),
		})
	}

	for i := range l.progs {
		p := &l.progs[i]
		p.Paddr = p.Vaddr
		if i == l.notePart {
			p.Off = notesStart
			p.Vaddr, p.Paddr = l.bias+notesStart, l.bias+notesStart
			p.Filesz, p.Memsz = notesEnd-notesStart, notesEnd-notesStart
			p.Align = 4
		}
		writeStruct(out, l.header.Phoff+uint64(i)*progSize, p)
	}
	return out, nil
}

// linkerNotes finds the two notes that the Go linker writes at the end of the
// first page, and returns the file offsets where they start and end.
func (l *layout) linkerNotes(file []byte) (start, end uint64, err error) {
	l.notePart = -1
	for i, p := range l.progs {
		if elf.ProgType(p.Type) != elf.PT_NOTE {
			continue
		}
		if l.notePart >= 0 {
			return 0, 0, fmt.Errorf("%w: more than one PT_NOTE", ErrLayout)
		}
		l.notePart = i
	}
	if l.notePart < 0 {
		return 0, 0,
			fmt.Errorf("%w: no PT_NOTE, so no build ID; link without -buildid= and -B none", ErrLayout)
	}
	p := l.progs[l.notePart]
	if p.Off > pageSize || p.Filesz > pageSize-p.Off || p.Vaddr-p.Off != l.bias {
		return 0, 0, fmt.Errorf("%w: PT_NOTE is not in the first page", ErrLayout)
	}
	page := file[:pageSize] // the first LOAD has been checked to hold it
	first, ok := parseNote(page[p.Off:])
	switch {
	case ok && first.owner == "Xen":
		return 0, 0, fmt.Errorf("%w: the image is finished already", ErrLayout)
	case !ok || first.owner != "Go" || first.typ != noteGo:
		return 0, 0, fmt.Errorf("%w: PT_NOTE does not start with Go's build ID", ErrLayout)
	}
	second, ok := parseNote(page[p.Off+first.size:])
	if !ok || second.owner != "GNU" || second.typ != noteGNUBuildID {
		return 0, 0, fmt.Errorf(
			"%w: no GNU build ID directly behind Go's; link with Go 1.24 or newer and without -B none",
			ErrLayout)
	}
	return p.Off, p.Off + first.size + second.size, nil
}

// findMultiboot returns the header that a multiboot loader would find in file,
// and its file offset.
func findMultiboot(file []byte) (h multibootHeader, off uint64, ok bool) {
	end := min(len(file), multibootSearch)
	for i := 0; i+multibootSize <= end; i += 4 {
		if binary.LittleEndian.Uint32(file[i:]) != multibootMagic {
			continue
		}
		readStruct(file, uint64(i), &h)
		if h.Magic+h.Flags+h.Checksum == 0 {
			return h, uint64(i), true
		}
	}
	return multibootHeader{}, 0, false
}
