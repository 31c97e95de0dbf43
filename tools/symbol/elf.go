// A File is an ELF file of which little has been read. Its headers are read when
// it is opened and are checked against the file's length there, so that whatever
// is read later is at most as long as the file. No number in the file is used
// as a size or an offset before it has been compared with that length.

package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/code"
)

// ErrNotELF is wrapped by the errors of Open and NewFile for a file that is no
// ELF file at all.
var ErrNotELF = errors.New("not an ELF file")

// ErrNoSymbols is wrapped by the error of [File.CanResolve] for a file that has
// nothing to resolve an address with.
var ErrNoSymbols = errors.New("no symbols: no Go pc table, no DWARF, no symbol table")

// maxSectionName is how much of a section's name is kept. Compilers write longer
// ones only in object files.
const maxSectionName = 256

// A File is an open ELF file. Its methods may be called from several goroutines
// at once. Context: host.
type File struct {
	name   string
	r      io.ReaderAt
	closer io.Closer
	size   uint64 // of the file, in bytes
	class  elf.Class
	order  binary.ByteOrder

	bigEndian bool // which order is, too
	typ       elf.Type
	machine   elf.Machine

	sections []section
	segments []segment

	goOnce sync.Once
	goTab  *goTable
	goErr  error // why goTab is nil; nil if there is no table

	symOnce sync.Once
	syms    *symbolTable
	names   nameIndex

	dwarfOnce sync.Once
	dwarf     *dwarfData
	dwarfErr  error

	splitOnce sync.Once
	split     *File // with the debug information, if this file has none

	textOnce sync.Once
	text     []span

	relocMu   sync.Mutex
	relocSyms map[*section][]uint64

	scans atomic.Int32 // passes over the symbol table
	strs  *pages       // of names found by such passes
	strMu sync.Mutex

	index *index       // nil if there is none
	asked atomic.Int64 // look-ups in DWARF

	badIndex bool // there is one that cannot be used

	codeOnce sync.Once
	code     *code.Image
	found    []code.Func // functions of a stripped file, sorted
}

type section struct {
	name           string
	typ            elf.SectionType
	flags          elf.SectionFlag
	addr, off, len uint64
	link, info     uint32
	align          uint64
}

type segment struct {
	typ                      elf.ProgType
	flags                    elf.ProgFlag
	off, addr, filesz, memsz uint64
	align                    uint64
}

// Open opens the ELF file at path, which may be compressed by xz, zstd or gzip, as the
// modules of Linux are. Its errors name the file and the cause. Context: host.
func Open(path string) (*File, error) {
	fd, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	f, err := newFile(fd, size, path)
	if err != nil {
		fd.Close()
		return nil, err
	}
	return f, nil
}

// openRegular opens a file of size bytes. Others, such as a pipe, might keep us waiting.
func openRegular(path string) (fd *os.File, size int64, err error) {
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

// newFile is NewFile for a file that may be compressed, and closes it when the File is.
func newFile(fd *os.File, size int64, path string) (*File, error) {
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
	f := &File{name: name, r: r, size: uint64(max(size, 0))}
	if err := f.readHeaders(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Close closes what Open opened. Context: host.
func (f *File) Close() error {
	f.splitOnce.Do(func() {}) // it is not looked for any more
	f.dwarfOnce.Do(func() {})
	f.dwarf.close()
	if f.split != nil {
		f.split.Close()
	}
	if f.index != nil {
		f.index.close()
	}
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Name returns the name the file was opened under. Context: host.
func (f *File) Name() string { return f.name }

// big reports whether the file is big-endian.
func (f *File) big() bool { return f.bigEndian }

// AddressSize returns the size of an address in bytes, 4 or 8. Context: host.
func (f *File) AddressSize() int {
	if f.class == elf.ELFCLASS32 {
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
	name, ok := archNames[f.machine]
	switch {
	case !ok:
		return f.machine.String()
	case f.machine == elf.EM_RISCV && f.class == elf.ELFCLASS32:
		return "riscv32"
	}
	return name
}

// RequireArch returns an error that says what the file is if it is not for the
// machine arch (Go's name). Context: host.
func (f *File) RequireArch(arch string) error {
	if got := f.Arch(); got != arch {
		return fmt.Errorf("%s: ELF for %s, want %s", f.name, got, arch)
	}
	return nil
}

// CanResolve returns nil if the file has anything to resolve addresses with,
// otherwise an error that wraps [ErrNoSymbols] and says what is missing.
// Context: host.
func (f *File) CanResolve() error {
	if f.HasIndex() {
		return nil
	}
	// The symbols come last: they cost most.
	if f.goTable() != nil || f.dwarfData() != nil || len(f.symbols().funcs) > 0 {
		return nil
	}
	for _, cause := range []error{f.goErr, f.dwarfErr} {
		if cause != nil {
			return fmt.Errorf("%s: %w (%v)", f.name, ErrNoSymbols, cause)
		}
	}
	return fmt.Errorf("%s: %w (stripped?)", f.name, ErrNoSymbols)
}

func (f *File) readHeaders() error {
	var h [64]byte
	n, err := f.r.ReadAt(h[:min(uint64(len(h)), f.size)], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n < 4 || string(h[:4]) != elf.ELFMAG {
		return fmt.Errorf("%w (%s)", ErrNotELF, looksLike(h[:n]))
	}
	f.class = elf.Class(h[elf.EI_CLASS])
	want := 64
	switch f.class {
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
		f.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.order, f.bigEndian = binary.BigEndian, true
	default:
		return fmt.Errorf("ELF of unknown byte order %d", h[elf.EI_DATA])
	}
	f.typ = elf.Type(f.order.Uint16(h[16:]))
	f.machine = elf.Machine(f.order.Uint16(h[18:]))

	// The two classes differ in the width of three fields, which come first,
	// and then agree again.
	var phoff, shoff uint64
	rest := h[52:]
	if f.class == elf.ELFCLASS64 {
		phoff, shoff = f.order.Uint64(h[32:]), f.order.Uint64(h[40:])
	} else {
		phoff, shoff = uint64(f.order.Uint32(h[28:])), uint64(f.order.Uint32(h[32:]))
		rest = h[40:]
	}
	// ehsize, phentsize, phnum, shentsize, shnum, shstrndx
	half := func(i int) uint64 { return uint64(f.order.Uint16(rest[2*i:])) }
	if err := f.readSections(shoff, half(3), half(4), half(5)); err != nil {
		return err
	}
	if f.typ == elf.ET_REL {
		f.layOut()
	}
	return f.readSegments(phoff, half(1), half(2))
}

// readSections reads the section headers. Source: System V ABI, "Sections".
func (f *File) readSections(off, entsize, num, strndx uint64) error {
	if off == 0 {
		return nil
	}
	want := uint64(64)
	if f.class == elf.ELFCLASS32 {
		want = 40
	}
	if entsize < want {
		return fmt.Errorf("section headers of %d bytes, want %d", entsize, want)
	}
	first, err := f.read(off, entsize)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	// Numbers that do not fit the ELF header are in section 0.
	s0, _ := f.parseSection(first)
	if num == 0 {
		num = s0.len
	}
	if strndx == uint64(elf.SHN_XINDEX) {
		strndx = uint64(s0.link)
	}
	if num > f.size/entsize {
		return fmt.Errorf("%d section headers do not fit a file of %d bytes: cut short or damaged", num, f.size)
	}
	table, err := f.read(off, num*entsize)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	nameOffs := make([]uint32, num)
	f.sections = make([]section, num)
	for i := range f.sections {
		f.sections[i], nameOffs[i] = f.parseSection(table[uint64(i)*entsize:])
	}
	if strndx >= num {
		return nil // a file without names is odd but legal
	}
	names, err := f.data(&f.sections[strndx])
	if err != nil {
		return fmt.Errorf("section names: %w", err)
	}
	for i := range f.sections {
		name := cstring(names, uint64(nameOffs[i]))
		f.sections[i].name = string(name[:min(len(name), maxSectionName)])
	}
	return nil
}

func (f *File) parseSection(b []byte) (s section, nameOff uint32) {
	nameOff = f.order.Uint32(b)
	s.typ = elf.SectionType(f.order.Uint32(b[4:]))
	if f.class == elf.ELFCLASS64 {
		s.flags = elf.SectionFlag(f.order.Uint64(b[8:]))
		s.addr = f.order.Uint64(b[16:])
		s.off = f.order.Uint64(b[24:])
		s.len = f.order.Uint64(b[32:])
		s.link, s.info = f.order.Uint32(b[40:]), f.order.Uint32(b[44:])
		s.align = f.order.Uint64(b[48:])
	} else {
		s.flags = elf.SectionFlag(f.order.Uint32(b[8:]))
		s.addr = uint64(f.order.Uint32(b[12:]))
		s.off = uint64(f.order.Uint32(b[16:]))
		s.len = uint64(f.order.Uint32(b[20:]))
		s.link, s.info = f.order.Uint32(b[24:]), f.order.Uint32(b[28:])
		s.align = uint64(f.order.Uint32(b[32:]))
	}
	return s, nameOff
}

// readSegments reads the program headers. Source: System V ABI, "Program Header".
func (f *File) readSegments(off, entsize, num uint64) error {
	if off == 0 || num == 0 {
		return nil
	}
	want := uint64(56)
	if f.class == elf.ELFCLASS32 {
		want = 32
	}
	if entsize < want {
		return fmt.Errorf("program headers of %d bytes, want %d", entsize, want)
	}
	table, err := f.read(off, num*entsize)
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	f.segments = make([]segment, num)
	for i := range f.segments {
		b, s := table[uint64(i)*entsize:], &f.segments[i]
		s.typ = elf.ProgType(f.order.Uint32(b))
		if f.class == elf.ELFCLASS64 {
			s.flags = elf.ProgFlag(f.order.Uint32(b[4:]))
			s.off = f.order.Uint64(b[8:])
			s.addr = f.order.Uint64(b[16:])
			s.filesz = f.order.Uint64(b[32:])
			s.memsz = f.order.Uint64(b[40:])
			s.align = f.order.Uint64(b[48:])
		} else {
			s.off = uint64(f.order.Uint32(b[4:]))
			s.addr = uint64(f.order.Uint32(b[8:]))
			s.filesz = uint64(f.order.Uint32(b[16:]))
			s.memsz = uint64(f.order.Uint32(b[20:]))
			s.flags = elf.ProgFlag(f.order.Uint32(b[24:]))
			s.align = uint64(f.order.Uint32(b[28:]))
		}
	}
	return nil
}

// looksLike describes the beginning of a file that is not ELF.
func looksLike(b []byte) string {
	switch {
	case len(b) == 0:
		return "empty"
	case bytes.HasPrefix(b, []byte("#!")):
		return "a script"
	case bytes.HasPrefix(b, []byte("MZ")):
		return "a PE file"
	case bytes.HasPrefix(b, []byte("!<arch>\n")):
		return "an archive"
	case bytes.HasPrefix(b, []byte{0xcf, 0xfa, 0xed, 0xfe}), bytes.HasPrefix(b, []byte{0xce, 0xfa, 0xed, 0xfe}):
		return "a Mach-O file"
	case bytes.HasPrefix(b, []byte{0xca, 0xfe, 0xba, 0xbe}):
		return "a Mach-O file for several machines"
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		return "a gzip file"
	}
	return fmt.Sprintf("starts with %q", b[:min(len(b), 4)])
}
