package image

// Half of what the linker writes is not loaded: symbols and DWARF. It compresses that in a
// hurry, and writes the name of each function twice, for the debugger and for the runtime.
// Packing compresses well, and has the symbols refer to the runtime's names. Sections may
// overlap in a file, so every ELF tool reads the same symbols and the same DWARF as before.

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// pack returns a copy of an image in which what is not loaded takes less room, without the
// sections that drops says of by their names. What is loaded stays as it is. An error wraps
// [ErrNotELF] or [ErrLayout].
func pack(file []byte, drops func(name string) bool) ([]byte, error) {
	l, err := parse(file)
	if err != nil {
		return nil, err
	}
	headers := l.header.Shoff
	cut := l.drop(file, drops)
	end := uint64(0) // of what is loaded
	for _, p := range l.progs {
		end = max(end, p.Off+p.Filesz)
	}
	size := uint64(len(file))
	if end > size || l.header.Shoff+uint64(len(l.sects))*sectSize > end {
		return nil, fmt.Errorf("%w: the section headers are not in what is loaded", ErrLayout)
	}
	order, err := l.unloaded(end, size)
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, len(l.sects))
	var wg sync.WaitGroup
	for _, i := range order {
		s := l.sects[i]
		contents[i] = file[s.Off : s.Off+s.Size]
		if elf.SectionFlag(s.Flags)&elf.SHF_COMPRESSED != 0 {
			wg.Go(func() { contents[i] = recompress(contents[i]) })
		}
	}
	wg.Wait()
	out := slices.Clone(file[:end])
	names, from := l.shareNames(file, contents, end)
	if names >= 0 {
		order = slices.DeleteFunc(order, func(i int) bool { return i == names })
		out = append(out, contents[names]...)
		l.sects[names].Off, l.sects[names].Size = from, uint64(len(out))-from
	}
	for _, i := range order {
		s := &l.sects[i]
		if n := uint64(len(out)); s.Addralign > 1 && n%s.Addralign != 0 {
			out = append(out, make([]byte, s.Addralign-n%s.Addralign)...)
		}
		s.Off, s.Size = uint64(len(out)), uint64(len(contents[i]))
		out = append(out, contents[i]...)
	}
	for i := range l.sects {
		writeStruct(out, headers+uint64(i)*sectSize, &l.sects[i])
	}
	clear(out[headers+uint64(len(l.sects))*sectSize:][:cut*sectSize])
	writeStruct(out, 0, &l.header)
	return out, nil
}

// unloaded returns the numbers of the sections that are not loaded, in their order in the file.
// They have to be behind what is, which ends at end.
func (l *layout) unloaded(end, size uint64) (order []int, err error) {
	for i, s := range l.sects {
		if elf.SectionType(s.Type) == elf.SHT_NULL || elf.SectionType(s.Type) == elf.SHT_NOBITS ||
			elf.SectionFlag(s.Flags)&elf.SHF_ALLOC != 0 {
			continue
		}
		if s.Off < end || s.Off > size || size-s.Off < s.Size {
			return nil, fmt.Errorf("%w: section %d, which is not loaded, is not behind what is",
				ErrLayout, i)
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(l.sects[a].Off, l.sects[b].Off)
	})
	return order, nil
}

// drops says which sections the flags -s and -w of the linker leave out.
func (o *BuildOptions) drops(name string) bool {
	return o.dropSymbols && (name == ".symtab" || name == ".strtab") ||
		o.dropDWARF && (strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, ".zdebug_"))
}

// drop takes those sections out that are not loaded and that drops says of, and returns their
// number. What is loaded comes first, so that no symbol's section gets another number.
func (l *layout) drop(file []byte, drops func(name string) bool) (cut int) {
	if int(l.header.Shstrndx) >= len(l.sects) {
		return 0
	}
	names := l.sects[l.header.Shstrndx].Off
	now := make([]uint32, len(l.sects)) // the new number of each section
	var left []elf.Section64
	for i, s := range l.sects {
		now[i] = uint32(len(left))
		if at := names + uint64(s.Name); at < uint64(len(file)) &&
			elf.SectionFlag(s.Flags)&elf.SHF_ALLOC == 0 && i > 0 {
			if name, _, _ := bytes.Cut(file[at:], []byte{0}); drops(string(name)) {
				now[i] = 0
				continue
			}
		}
		left = append(left, s)
	}
	for i := range left {
		if s := &left[i]; int(s.Link) < len(now) {
			s.Link = now[s.Link]
		}
	}
	cut = len(l.sects) - len(left)
	l.sects, l.header.Shnum, l.header.Shstrndx = left, uint16(len(left)),
		uint16(now[l.header.Shstrndx])
	return cut
}

// recompress returns a compressed section in fewer bytes, or as it is. A linker of Go or C
// compresses with zlib, which each debugger knows; not each knows zstd.
func recompress(b []byte) []byte {
	const head = 24 // of an elf.Chdr64
	if len(b) < head || elf.CompressionType(binary.LittleEndian.Uint32(b)) != elf.COMPRESS_ZLIB {
		return b
	}
	r, err := zlib.NewReader(bytes.NewReader(b[head:]))
	if err != nil {
		return b
	}
	out := bytes.NewBuffer(slices.Clone(b[:head]))
	w, err := zlib.NewWriterLevel(out, zlib.BestCompression)
	if err != nil {
		return b
	}
	_, err = io.Copy(w, r)
	if err := cmp.Or(err, w.Close()); err != nil || out.Len() >= len(b) {
		return b
	}
	return out.Bytes()
}

// shareNames has the symbols refer to the names in Go's pc table. It makes the string table
// one section from there to behind end, the file offset of what contents then has of it: the
// names that the pc table does not have. It returns that section's index and its start in the
// file; the index is -1 if nothing could be shared.
func (l *layout) shareNames(file []byte, contents [][]byte, end uint64) (strtab int, from uint64) {
	symtab := slices.IndexFunc(l.sects,
		func(s elf.Section64) bool { return elf.SectionType(s.Type) == elf.SHT_SYMTAB })
	if symtab < 0 {
		return -1, 0
	}
	strtab = int(l.sects[symtab].Link)
	from, to := l.functionNames(file)
	if strtab >= len(l.sects) || contents[strtab] == nil || strtab == int(l.header.Shstrndx) ||
		to <= from || uint64(len(file))-from > 1<<31 {
		return -1, 0
	}
	at := make(map[string]uint32) // in the new string table
	for off := from; off < to; {
		name, _, _ := bytes.Cut(file[off:to], []byte{0})
		at[string(name)] = uint32(off - from)
		off += uint64(len(name)) + 1
	}
	symbols, old := slices.Clone(contents[symtab]), contents[strtab]
	var more []byte
	for s := symbols; len(s) >= elf.Sym64Size; s = s[elf.Sym64Size:] {
		was := binary.LittleEndian.Uint32(s)
		if uint64(was) >= uint64(len(old)) {
			return -1, 0
		}
		name, _, _ := bytes.Cut(old[was:], []byte{0})
		now, ok := at[string(name)]
		if !ok {
			now = uint32(end-from) + uint32(len(more))
			at[string(name)] = now
			more = append(append(more, name...), 0)
		}
		binary.LittleEndian.PutUint32(s, now)
	}
	contents[symtab], contents[strtab] = symbols, append(more, 0)
	return strtab, from
}

// functionNames returns the file offsets between which Go's names of functions are, each with
// a zero behind it, and one in front of them all, with which a string table begins. They are
// equal if the file has no pc table of the kind that is known.
func (l *layout) functionNames(file []byte) (from, to uint64) {
	const (
		magic = 0xfffffff1 // since Go 1.20: runtime.pcHeader
		names = 8 + 3*8    // offset of the names, and behind it of what follows them
	)
	if int(l.header.Shstrndx) >= len(l.sects) {
		return 0, 0
	}
	strs := l.sects[l.header.Shstrndx]
	for _, s := range l.sects {
		name := strs.Off + uint64(s.Name)
		if elf.SectionType(s.Type) != elf.SHT_PROGBITS || s.Off > uint64(len(file)) ||
			uint64(len(file))-s.Off < s.Size || s.Size < names+16 ||
			name > uint64(len(file)) || !bytes.HasPrefix(file[name:], []byte(".gopclntab\x00")) {
			continue
		}
		tab := file[s.Off : s.Off+s.Size]
		lo, hi := binary.LittleEndian.Uint64(tab[names:]), binary.LittleEndian.Uint64(tab[names+8:])
		if binary.LittleEndian.Uint32(tab) == magic && 0 < lo && lo < hi && hi <= s.Size &&
			tab[lo-1] == 0 && tab[hi-1] == 0 {
			return s.Off + lo - 1, s.Off + hi
		}
	}
	return 0, 0
}
