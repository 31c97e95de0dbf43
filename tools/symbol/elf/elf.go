// A File is an ELF file of which little has been read. Its headers are read when
// it is opened and are checked against the file's length there, so that whatever
// is read later is at most as long as the file. No number in the file is used
// as a size or an offset before it has been compared with that length.

package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// ErrNotELF is wrapped by the errors of elfOpen and elfNewFile for a file that is no
// ELF file at all.
var ErrNotELF = errors.New("not an ELF file")

// DefaultDebugDir is where systems keep debug files.
const DefaultDebugDir = "/usr/lib/debug"

// maxSectionName is how much of a section's name is kept. Compilers write longer
// ones only in object files.
const maxSectionName = 256

// A File is an open ELF file. Its methods may be called from several goroutines
// at once. Context: host.
type File struct {
	name   string
	r      io.ReaderAt
	closer io.Closer
	Size   uint64 // of the file, in bytes
	Class  elf.Class
	Order  binary.ByteOrder

	bigEndian bool // which order is, too
	Type      elf.Type
	Machine   elf.Machine

	Sections []Section // in an object file with addresses that it has not itself
	Segments []segment

	opdOnce sync.Once
	opd     *opd

	textOnce sync.Once
	text     []Span

	// DebugDir is where the system keeps debug files; "" stands for DefaultDebugDir. Set before
	// anything is read.
	DebugDir string
	// Elsewhere returns the path of the file of a build ID that is in none of the usual
	// places, or "". Set before anything is read; nil: there is none.
	Elsewhere func(buildID string) (path string)

	relocMu   sync.Mutex
	relocSyms map[*Section][]uint64
}

// A Section is a section header: what is in the file at Off, Len bytes, and in memory at
// Addr, unless it has no contents in one of them. Name is at most maxSectionName bytes.
type Section struct {
	Name           string
	Type           elf.SectionType
	Flags          elf.SectionFlag
	Addr, Off, Len uint64
	Link, Info     uint32
	Align          uint64
}

// A segment is a program header.
type segment struct {
	Type                         elf.ProgType
	Flags                        elf.ProgFlag
	Off, Addr, FileSize, MemSize uint64
	align                        uint64
}

// Open opens the ELF file at path, which may be compressed by xz, zstd or gzip, as the
// modules of Linux are. Its errors name the file and the cause. Context: host.
func Open(path string) (*File, error) {
	fd, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	f, err := unpackFile(fd, size, path)
	if err != nil {
		fd.Close()
		return nil, err
	}
	return f, nil
}

// OpenRegular opens a file of size bytes. Others, such as a pipe, might keep us waiting.
func OpenRegular(path string) (fd *os.File, size int64, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !st.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: %w (not a regular file)", path, ErrNotELF)
	}
	if fd, err = os.Open(path); err != nil {
		return nil, 0, err
	}
	// It may have been replaced in between.
	if st, err = fd.Stat(); err != nil {
		fd.Close()
		return nil, 0, err
	}
	return fd, st.Size(), nil
}

// unpackFile is elfNewFile for a file that may be compressed, and closes it when the File is.
func unpackFile(fd *os.File, size int64, path string) (*File, error) {
	b, packing, err := unpacked(fd, size)
	if err != nil {
		return nil, fmt.Errorf("%s: a file compressed by %s: %w", path, packing, err)
	}
	if packing == "" {
		f, err := NewFile(fd, size, path)
		if err == nil {
			f.closer = fd
		}
		return f, err
	}
	f, err := NewFile(bytes.NewReader(b), int64(len(b)), path)
	if err != nil {
		return nil, fmt.Errorf("%w, within a file compressed by %s", err, packing)
	}
	f.closer = fd
	return f, nil
}

// NewFile reads the headers of the ELF file of size bytes in r. The name is used
// in errors. r must stay readable as long as the File is used. Context: host.
func NewFile(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, r: r, Size: uint64(max(size, 0))}
	if err := f.readHeaders(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Close closes what elfOpen opened. Context: host.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Name returns the name the file was opened under. Context: host.
func (f *File) Name() string { return f.name }

// Big reports whether the file is big-endian.
func (f *File) Big() bool { return f.bigEndian }

// DebugFolder returns where debug files are: DebugDir, or what it stands for.
func (f *File) DebugFolder() string {
	if f.DebugDir == "" {
		return DefaultDebugDir
	}
	return f.DebugDir
}

// OnDisk reports whether elfOpen opened the file, so that its name is its path.
func (f *File) OnDisk() bool { return f.closer != nil }

// AddressSize returns the size of an address in bytes, 4 or 8. Context: host.
func (f *File) AddressSize() int {
	if f.Class == elf.ELFCLASS32 {
		return 4
	}
	return 8
}

// archNames are Go's names for the machines Go has; others go by their ELF name.
var archNames = map[elf.Machine]string{
	elf.EM_X86_64:  "amd64",
	elf.EM_386:     "386",
	elf.EM_AARCH64: "arm64",
	elf.EM_ARM:     "arm",
	elf.EM_RISCV:   "riscv64",
	elf.EM_S390:    "s390x",
}

// Arch returns the machine the file is for: Go's name for it ("amd64") where
// there is one, otherwise the ELF name ("EM_SPARC"). Context: host.
func (f *File) Arch() string {
	name, ok := archNames[f.Machine]
	switch {
	case !ok:
		return f.Machine.String()
	case f.Machine == elf.EM_RISCV && f.Class == elf.ELFCLASS32:
		return "riscv32"
	}
	return name
}

func (f *File) readHeaders() error {
	var h [64]byte
	n, err := f.r.ReadAt(h[:min(uint64(len(h)), f.Size)], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n < 4 || string(h[:4]) != elf.ELFMAG {
		return fmt.Errorf("%w (%s)", ErrNotELF, looksLike(h[:n]))
	}
	f.Class = elf.Class(h[elf.EI_CLASS])
	want := 64
	switch f.Class {
	case elf.ELFCLASS32:
		want = 52
	case elf.ELFCLASS64:
	default:
		return fmt.Errorf("ELF of unknown class %d", h[elf.EI_CLASS])
	}
	if n < want {
		return fmt.Errorf("cut short: %d bytes, shorter than an ELF header", n)
	}
	switch elf.Data(h[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.Order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.Order, f.bigEndian = binary.BigEndian, true
	default:
		return fmt.Errorf("ELF of unknown byte order %d", h[elf.EI_DATA])
	}
	f.Type = elf.Type(f.Order.Uint16(h[16:]))
	f.Machine = elf.Machine(f.Order.Uint16(h[18:]))

	// The two classes differ in the width of three fields, which come first,
	// and then agree again.
	var phoff, shoff uint64
	rest := h[52:]
	if f.Class == elf.ELFCLASS64 {
		phoff, shoff = f.Order.Uint64(h[32:]), f.Order.Uint64(h[40:])
	} else {
		phoff, shoff = uint64(f.Order.Uint32(h[28:])), uint64(f.Order.Uint32(h[32:]))
		rest = h[40:]
	}
	// ehsize, phentsize, phnum, shentsize, shnum, shstrndx
	half := func(i int) uint64 { return uint64(f.Order.Uint16(rest[2*i:])) }
	if err := f.readSections(shoff, half(3), half(4), half(5)); err != nil {
		return err
	}
	if f.Type == elf.ET_REL {
		f.layOut()
	}
	return f.readSegments(phoff, half(1), half(2))
}

// readSections reads the section headers. Source: System V ABI, "Sections".
func (f *File) readSections(off, entsize, num, strndx uint64) error {
	if off == 0 {
		return nil
	}
	want := uint64(16 + 6*f.AddressSize())
	if entsize < want {
		return fmt.Errorf("section headers of %d bytes, want %d", entsize, want)
	}
	first, err := f.Read(off, entsize)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	// Numbers that do not fit the ELF header are in section 0.
	s0, _ := f.parseSection(first)
	if num == 0 {
		num = s0.Len
	}
	if strndx == uint64(elf.SHN_XINDEX) {
		strndx = uint64(s0.Link)
	}
	if num > f.Size/entsize {
		return fmt.Errorf("%d section headers do not fit a file of %d bytes: cut short or damaged", num,
			f.Size)
	}
	table, err := f.Read(off, num*entsize)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	nameOffs := make([]uint32, num)
	f.Sections = make([]Section, num)
	for i := range f.Sections {
		f.Sections[i], nameOffs[i] = f.parseSection(table[uint64(i)*entsize:])
	}
	if strndx >= num {
		return nil // a file without names is odd but legal
	}
	names, err := f.Data(&f.Sections[strndx])
	if err != nil {
		return fmt.Errorf("section names: %w", err)
	}
	for i := range f.Sections {
		name := CString(names, uint64(nameOffs[i]))
		f.Sections[i].Name = string(name[:min(len(name), maxSectionName)])
	}
	return nil
}

func (f *File) parseSection(b []byte) (s Section, nameOff uint32) {
	word := f.AddressSize()
	c := Cursor{B: b, Big: f.Big()}
	nameOff, s.Type = uint32(c.Uint(4)), elf.SectionType(c.Uint(4))
	s.Flags, s.Addr, s.Off, s.Len = elf.SectionFlag(c.Uint(word)), c.Uint(word),
		c.Uint(word), c.Uint(word)
	s.Link, s.Info, s.Align = uint32(c.Uint(4)), uint32(c.Uint(4)), c.Uint(word)
	return s, nameOff
}

// readSegments reads the program headers. Source: System V ABI, "Program Header".
func (f *File) readSegments(off, entsize, num uint64) error {
	if off == 0 || num == 0 {
		return nil
	}
	word := f.AddressSize()
	want, wide := uint64(8+6*word), word == 8
	if entsize < want {
		return fmt.Errorf("program headers of %d bytes, want %d", entsize, want)
	}
	table, err := f.Read(off, num*entsize)
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	f.Segments = make([]segment, num)
	for i := range f.Segments {
		c, s := Cursor{B: table[uint64(i)*entsize:], Big: f.Big()}, &f.Segments[i]
		s.Type = elf.ProgType(c.Uint(4))
		if wide {
			s.Flags = elf.ProgFlag(c.Uint(4))
		}
		s.Off, s.Addr = c.Uint(word), c.Uint(word)
		c.Skip(uint64(word)) // the physical address
		s.FileSize, s.MemSize = c.Uint(word), c.Uint(word)
		if !wide {
			s.Flags = elf.ProgFlag(c.Uint(4))
		}
		s.align = c.Uint(word)
	}
	return nil
}

// beginnings are those of files that may be taken for ELF files.
var beginnings = []struct{ magic, what string }{
	{"#!", "a script"}, {"MZ", "a PE file"}, {arMagic, "an archive"},
	{"\xcf\xfa\xed\xfe", "a Mach-O file"}, {"\xce\xfa\xed\xfe", "a Mach-O file"},
	{"\xca\xfe\xba\xbe", "a Mach-O file for several machines"}, {"\x1f\x8b", "a gzip file"},
}

// looksLike describes the beginning of a file that is not ELF.
func looksLike(b []byte) string {
	if len(b) == 0 {
		return "empty"
	}
	for _, kind := range beginnings {
		if bytes.HasPrefix(b, []byte(kind.magic)) {
			return kind.what
		}
	}
	return fmt.Sprintf("starts with %q", b[:min(len(b), 4)])
}
