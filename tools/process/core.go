package process

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tools/elf"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Notes of Linux's core files (Linux, include/uapi/linux/elf.h).
const (
	ntAuxv = 6
	ntFile = 0x46494c45

	atSysinfoEhdr = 33 // where the vDSO is
)

// ErrNoCore is wrapped by the error of [Core] for a file that is no core file.
var ErrNoCore = errors.New("no core file")

// Core returns the process that has left a core file. The file must stay open as long as the
// Process is used. Files are opened under their names, and compared with the build IDs that the
// core file's memory holds.
func Core(f *elf.File) (*Process, error) {
	if f.Type != stdelf.ET_CORE {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNoCore)
	}
	note := f.Note("CORE", ntFile)
	if note == nil {
		return nil, fmt.Errorf("%s: it does not say which files were mapped (no note NT_FILE); -e names them", f.Name())
	}
	maps, err := fileNote(f, note)
	if err != nil {
		return nil, fmt.Errorf("%s: NT_FILE: %w", f.Name(), err)
	}
	mem := &memory{f}
	for i := range maps {
		if m := &maps[i]; m.Offset == 0 {
			m.BuildID = mem.buildID(m.Low, m.High)
		}
	}
	if m, ok := mem.vdso(); ok {
		maps = append(maps, m)
	}
	p, err := newProcess(f.Name(), maps, f.AddressSize())
	if err == nil {
		p.Open = func(m Mapping) (*symbol.File, error) {
			if m.Path == vdso {
				return mem.open(m)
			}
			s, err := symbol.Open(m.Path)
			if err != nil {
				return nil, err
			}
			if have := s.BuildID(); m.BuildID != "" && have != m.BuildID {
				s.Close()
				return nil, fmt.Errorf("%s is of another build than the one that ran, which is %s", m.Path, m.BuildID)
			}
			return s, nil
		}
	}
	return p, err
}

// fileNote reads NT_FILE: a table of numbers, then the names. Source: Linux, fs/binfmt_elf.c,
// fill_files_note.
func fileNote(f *elf.File, note []byte) (maps []Mapping, err error) {
	word := f.AddressSize()
	c := elf.Cursor{B: note, Big: f.Big()}
	n, page := c.Uint(word), c.Uint(word)
	if c.Bad || n > uint64(len(note)/(3*word)) {
		return nil, errors.New("cut short, or damaged")
	}
	names := c
	names.Take(n * 3 * uint64(word))
	for range n {
		m := Mapping{Low: c.Uint(word), High: c.Uint(word)}
		m.Offset = c.Uint(word) * page
		end := bytes.IndexByte(names.B[min(names.At, len(names.B)):], 0)
		if c.Bad || end < 0 {
			return nil, errors.New("cut short, or damaged")
		}
		m.Path = string(names.Take(uint64(end)))
		names.Take(1)
		if m.Low < m.High {
			maps = append(maps, m)
		}
	}
	return maps, nil
}

// memory is what a core file holds of the process's memory.
type memory struct{ f *elf.File }

// read returns the bytes from low on that are there, high-low at most.
func (mem *memory) read(low, high uint64) *io.SectionReader {
	for i := range mem.f.Segments {
		s := &mem.f.Segments[i]
		if s.Type == stdelf.PT_LOAD && low >= s.Addr && low-s.Addr < s.FileSize {
			n := min(high-low, s.FileSize-(low-s.Addr))
			return io.NewSectionReader(mem.f, int64(s.Off+low-s.Addr), int64(n))
		}
	}
	return nil
}

// buildID returns the build ID of the file whose beginning is mapped at low, or "".
func (mem *memory) buildID(low, high uint64) string {
	r := mem.read(low, high)
	if r == nil {
		return ""
	}
	im, err := elf.NewImage(r, r.Size(), "")
	if err != nil {
		return ""
	}
	return im.BuildID()
}

// vdso returns where the vDSO is.
func (mem *memory) vdso() (m Mapping, ok bool) {
	word := mem.f.AddressSize()
	c := elf.Cursor{B: mem.f.Note("CORE", ntAuxv), Big: mem.f.Big()}
	for len(c.B)-c.At >= 2*word {
		tag, value := c.Uint(word), c.Uint(word)
		if tag != atSysinfoEhdr {
			continue
		}
		if r := mem.read(value, value+1<<20); r != nil {
			return Mapping{Low: value, High: value + uint64(r.Size()), Code: true, Path: vdso}, true
		}
	}
	return m, false
}

// open opens a file that is in the memory as a whole.
func (mem *memory) open(m Mapping) (*symbol.File, error) {
	r := mem.read(m.Low, m.High)
	if r == nil {
		return nil, fmt.Errorf("%s: %s is not in it", mem.f.Name(), m.Path)
	}
	return symbol.NewFile(r, r.Size(), m.Path)
}
