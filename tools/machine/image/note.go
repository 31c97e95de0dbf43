package image

// ELF notes carry three facts of an image: how PVH enters it (Xen's note), which
// Go build made it (Go's) and which build it is (GNU's build ID). A note is
// three 32-bit words (name size, descriptor size, type), the name with its NUL
// and the descriptor, each padded to 4 bytes (gABI 4.1, "Note Section").

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
)

const (
	noteHeaderSize = 12

	noteGo         = 4  // owner "Go": Go's own build ID (cmd/link)
	noteGNUBuildID = 3  // owner "GNU": NT_GNU_BUILD_ID
	notePhys32     = 18 // owner "Xen": XEN_ELFNOTE_PHYS32_ENTRY (Xen public/elfnote.h)
)

// note is one parsed ELF note.
type note struct {
	owner string // without its NUL
	typ   uint32
	desc  []byte
	size  uint64 // of the whole note with its padding, in bytes
}

// parseNote reads the note at the start of b, and reports whether there is one.
func parseNote(b []byte) (note, bool) {
	if len(b) < noteHeaderSize {
		return note{}, false
	}
	nameSize := uint64(binary.LittleEndian.Uint32(b))
	descSize := uint64(binary.LittleEndian.Uint32(b[4:]))
	descOff := noteHeaderSize + align4(nameSize)
	if nameSize == 0 || descOff+descSize > uint64(len(b)) {
		return note{}, false
	}
	name := b[noteHeaderSize : noteHeaderSize+nameSize]
	// The size of a name counts its NUL, and the Go linker's own counts the
	// padding too ("Go\0\0", 4): compare what is before the NULs.
	for len(name) > 0 && name[len(name)-1] == 0 {
		name = name[:len(name)-1]
	}
	return note{
		owner: string(name),
		typ:   binary.LittleEndian.Uint32(b[8:]),
		desc:  b[descOff : descOff+descSize],
		size:  min(descOff+align4(descSize), uint64(len(b))),
	}, true
}

// eachNote calls f for the notes in b, in order, until b ends or is no note.
func eachNote(b []byte, f func(note)) {
	for {
		n, ok := parseNote(b)
		if !ok {
			return
		}
		f(n)
		b = b[n.size:]
	}
}

// notes calls f for every note of the file: those that are loaded through
// PT_NOTE first, then those that only the section table knows.
func (l *layout) notes(file []byte, f func(note)) {
	at := func(off, size uint64) {
		if have := uint64(len(file)); off <= have && size <= have-off {
			eachNote(file[off:off+size], f)
		}
	}
	for _, p := range l.progs {
		if elf.ProgType(p.Type) == elf.PT_NOTE {
			at(p.Off, p.Filesz)
		}
	}
	for _, s := range l.sects {
		if elf.SectionType(s.Type) == elf.SHT_NOTE {
			at(s.Off, s.Size)
		}
	}
}

// buildID returns the GNU build ID in hexadecimal, or "" if the file has none.
func (l *layout) buildID(file []byte) string {
	id := ""
	l.notes(file, func(n note) {
		if id == "" && n.owner == "GNU" && n.typ == noteGNUBuildID {
			id = hex.EncodeToString(n.desc)
		}
	})
	return id
}

// xenNote returns a PHYS32_ENTRY note for a physical entry address. Its
// descriptor has 8 bytes, as Linux's has: Xen and the VMMs take 4 or 8, but
// QEMU reads 8 whatever the size says (hw/i386/x86.c, read_pvh_start_addr).
func xenNote(entry uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 4)
	b = binary.LittleEndian.AppendUint32(b, 8)
	b = binary.LittleEndian.AppendUint32(b, notePhys32)
	b = append(b, "Xen\x00"...)
	return binary.LittleEndian.AppendUint64(b, entry)
}

func align4(n uint64) uint64 { return (n + 3) &^ 3 }
