package core

// What the ELF file knows of the memory: its segments that nobody writes.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// maxHeaders is how far into the file the notes may lie.
const maxHeaders = 64 << 10

// imageOf returns the description of the note NT_FILE for an image, and the memory with
// its headers and notes; that is empty if they are not loaded.
func imageOf(path string) (files []byte, headers run, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, run{}, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return nil, run{}, fmt.Errorf("%s is for %v; core files are made for x86-64 alone",
			path, f.Machine)
	}
	end := uint64(0) // of the notes, in the file
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE && p.Off+p.Filesz > end && p.Off < maxHeaders && p.Filesz < maxHeaders {
			end = p.Off + p.Filesz
		}
	}
	var maps, names bytes.Buffer
	count := uint64(0)
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 || p.Filesz == 0 {
			continue
		}
		count++
		put(&maps, []uint64{p.Vaddr, p.Vaddr + p.Filesz, p.Off})
		names.WriteString(path)
		names.WriteByte(0)
		size := (end + 7) &^ 7
		if p.Off != 0 || end == 0 || size > p.Filesz || p.Vaddr%8 != 0 {
			continue
		}
		b := make([]byte, size)
		if _, err := p.ReadAt(b, 0); err != nil && err != io.EOF {
			return nil, run{}, fmt.Errorf("%s: the first segment: %w", path, err)
		}
		headers = run{p.Vaddr, make([]uint64, len(b)/8)}
		binary.Decode(b, binary.LittleEndian, headers.words)
	}
	var b bytes.Buffer
	put(&b, []uint64{count, 1}) // offsets are in bytes
	b.Write(maps.Bytes())
	b.Write(names.Bytes())
	return b.Bytes(), headers, nil
}
