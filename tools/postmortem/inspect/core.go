package inspect

// The core file is looked at before Delve opens it. Delve takes what memory a core does not
// have from the ELF file without a word, and reads zeros behind the end of the file: so a core
// that is cut short, or one of another build, would show values that no program had.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Limits of a core file.
const (
	maxNotes    = 64 << 20 // bytes of notes
	maxSegments = 1 << 20
	maxIDNotes  = 1 << 16 // bytes of an ELF file's notes
)

// ErrNotCore says that a file is something else, a log perhaps. Host.
var ErrNotCore = errors.New("no ELF core file")

// segments is the memory that a core has, and no other.
type segments struct {
	loads []elf.ProgHeader
	file  io.ReaderAt
}

// openCore reads the headers of a core file, and checks that it is one.
func openCore(r io.ReaderAt) (*elf.File, error) {
	var magic [len(elf.ELFMAG)]byte
	r.ReadAt(magic[:], 0) // of what is shorter the rest stays 0
	switch string(magic[:]) {
	case "\x28\xb5\x2f\xfd":
		return nil, errors.New("the core is compressed; decompress it with: zstd -d FILE")
	case elf.ELFMAG:
	default:
		return nil, ErrNotCore
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("the core is cut short or corrupt: %w", err)
	}
	switch {
	case f.Type != elf.ET_CORE:
		return nil, fmt.Errorf("%w but an ELF file of type %v; the core comes behind -e ELF",
			ErrNotCore, f.Type)
	case f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB:
		return nil, fmt.Errorf("the core is of a machine with %v, %v; want 64 bits, little-endian",
			f.Class, f.Data)
	case len(f.Progs) > maxSegments:
		return nil, fmt.Errorf("the core is corrupt: it has %d segments", len(f.Progs))
	}
	return f, nil
}

// readCore reads the table of what a core of size bytes has, and checks that it is all there.
// Delve would crash or make something up where this says an error.
func readCore(r io.ReaderAt, size int64) (*segments, error) {
	f, err := openCore(r)
	if err != nil {
		return nil, err
	}
	s := &segments{file: r}
	notes := false
	for _, p := range f.Progs {
		switch {
		case p.Type == elf.PT_LOAD, p.Type == elf.PT_NOTE:
		case p.Type == elf.PT_NULL, p.Type >= elf.PT_LOOS:
			continue
		default:
			return nil, fmt.Errorf("the core is corrupt: it has a segment of type %#x", uint32(p.Type))
		}
		end := p.Off + p.Filesz
		if end < p.Off || end > uint64(size) {
			return nil, fmt.Errorf(
				"the core is cut short: it has %d bytes, and the memory at %#x lies in it at %d", size,
				p.Vaddr, p.Off)
		}
		if p.Type == elf.PT_LOAD {
			if p.Vaddr+p.Memsz < p.Vaddr || p.Filesz > p.Memsz {
				return nil, fmt.Errorf(
					"the core is corrupt: the segment at %#x has %d bytes in memory, %d in the file", p.Vaddr,
					p.Memsz, p.Filesz)
			}
			s.loads = append(s.loads, p.ProgHeader)
			continue
		}
		if p.Filesz > maxNotes {
			return nil, fmt.Errorf("the core is corrupt: it has %d bytes of notes", p.Filesz)
		}
		if !notes { // Delve reads the first
			if err := checkNotes(io.NewSectionReader(r, int64(p.Off), int64(p.Filesz)),
				p.Filesz); err != nil {
				return nil, err
			}
		}
		notes = true
	}
	if !notes || len(s.loads) == 0 {
		return nil, errors.New("the core is corrupt: it has no notes or no memory")
	}
	return s, nil
}

// checkNotes checks that notes fit into the bytes that hold them.
func checkNotes(r io.Reader, size uint64) error {
	for left := size; left > 0; {
		var h struct{ Name, Desc, Type uint32 }
		if err := binary.Read(r, binary.LittleEndian, &h); err != nil {
			return fmt.Errorf("the core is corrupt: its notes end within one")
		}
		left -= 12
		n := align4(h.Name) + align4(h.Desc)
		if n > left {
			return fmt.Errorf("the core is corrupt: a note of %d bytes lies where %d are left", n, left)
		}
		if _, err := io.CopyN(io.Discard, r, int64(n)); err != nil {
			return fmt.Errorf("the core is cut short in its notes: %w", err)
		}
		left -= n
	}
	return nil
}

func align4(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }

// read reads the core's own memory; len(b) bytes or an error.
func (s *segments) read(b []byte, addr uint64) error {
	for _, p := range s.loads {
		if off := addr - p.Vaddr; addr >= p.Vaddr && off < p.Filesz && uint64(len(b)) <= p.Filesz-off {
			_, err := s.file.ReadAt(b, int64(p.Off+off))
			return err
		}
	}
	return fmt.Errorf("the core has no memory at %#x", addr)
}

// buildID returns the build ID in notes, as hexadecimal digits, or "".
func buildID(notes []byte) string {
	const gnuBuildID = 3
	for len(notes) >= 12 {
		name, desc := uint64(binary.LittleEndian.Uint32(notes)),
			uint64(binary.LittleEndian.Uint32(notes[4:]))
		kind := binary.LittleEndian.Uint32(notes[8:])
		from := 12 + align4(uint32(name))
		end := from + align4(uint32(desc))
		if from+desc > uint64(len(notes)) {
			return ""
		}
		if kind == gnuBuildID && bytes.HasPrefix(notes[12:from], []byte("GNU\x00")) {
			return hex.EncodeToString(notes[from : from+desc])
		}
		if end > uint64(len(notes)) {
			return ""
		}
		notes = notes[end:]
	}
	return ""
}

// sameBuild checks that the core has, where the ELF file's build ID is in memory, the same one.
// bias is how much further up than the file says the program lay. A core without that page, and
// a file without an ID, tell nothing: known is false.
func (s *segments) sameBuild(path string, bias uint64) (known bool, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	sec := f.Section(".note.gnu.build-id")
	if sec == nil || sec.Addr == 0 || sec.Size > maxIDNotes {
		return false, nil
	}
	want, err := sec.Data()
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	have := make([]byte, len(want))
	if s.read(have, sec.Addr+bias) != nil {
		return false, nil
	}
	if a, b := buildID(have), buildID(want); a != b {
		if a == "" {
			a = "an unknown one"
		}
		return true,
			fmt.Errorf("the core is of another build: there is %s where %s has build ID %s; give the ELF file that was running", a, path, b)
	}
	return true, nil
}

// openSegments opens a core file for what readCore says.
func openSegments(path string) (*segments, *os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotCore
	}
	var s *segments
	if err == nil {
		s, err = readCore(f, st.Size())
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, f, nil
}

// IsCore reports whether a file is an ELF core file. Host.
func IsCore(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Type == elf.ET_CORE
}

// Check says what is wrong with a core file, or with its belonging to an ELF file, without
// opening it. Host.
func Check(path, image string) error {
	s, f, err := openSegments(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if moves, err := movable(image); err != nil || moves {
		return err
	}
	_, err = s.sameBuild(image, 0)
	return err
}
