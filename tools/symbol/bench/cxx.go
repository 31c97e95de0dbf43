package main

// A big C++ program to measure with: 2 GiB, of which nearly all is debug information as gcc writes
// it (DWARF 5, .debug_aranges, DW_AT_sibling), in 20,000 units and a huge one. It cannot run. Most
// of a unit is types, as headers have them; the functions inline one another.

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
)

// The version is part of the file's name in the cache.
const (
	cxxVersion = 1
	cxxUnits   = 20_000
	cxxText    = 0x400000  // where the code is
	cxxSize    = 64        // bytes of a function
	cxxFuncs   = 40        // functions of a unit
	cxxTypes   = 210       // classes of one
	cxxHuge    = 100_000   // functions of the huge one
	cxxAll     = 200 << 20 // bytes of its debug information
)

// A cxx writes the program.
type cxx struct {
	w    *bufio.Writer
	off  uint64 // of .debug_info, written so far
	line []byte
	rang []byte // .debug_aranges
	str  []byte
	syms []byte
	text uint64 // bytes of code so far
	rand *rand.Rand
	word []uint32 // offsets of names that many use
	unit []byte   // at hand
}

var le = binary.LittleEndian

// The entries' shapes.
const (
	cxxUnit = 1 + iota
	cxxNamespace
	cxxClass
	cxxMember
	cxxMethod
	cxxBase
	cxxAbstract
	cxxFunction
	cxxParameter
	cxxInlined
)

// cxxAbbrev is .debug_abbrev: code, tag, children, then attribute and form.
var cxxAbbrev = []byte{
	cxxUnit, 0x11, 1, 0x25, 0x0e, 0x13, 0x05, 0x03, 0x0e, 0x1b, 0x0e, 0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0,
	cxxNamespace, 0x39, 1, 0x03, 0x0e, 0, 0,
	cxxClass, 0x02, 1, 0x03, 0x0e, 0x0b, 0x0b, 0x3a, 0x0b, 0x3b, 0x05, 0x01, 0x13, 0, 0,
	cxxMember, 0x0d, 0, 0x03, 0x0e, 0x49, 0x13, 0x3a, 0x0b, 0x3b, 0x05, 0x38, 0x0b, 0, 0,
	cxxMethod, 0x2e, 0, 0x3f, 0x19, 0x03, 0x0e, 0x6e, 0x0e, 0x3a, 0x0b, 0x3b, 0x05, 0x3c, 0x19, 0, 0,
	cxxBase, 0x24, 0, 0x0b, 0x0b, 0x3e, 0x0b, 0x03, 0x0e, 0, 0,
	cxxAbstract, 0x2e, 0, 0x47, 0x13, 0x20, 0x0b, 0, 0,
	cxxFunction, 0x2e, 1, 0x47, 0x13, 0x11, 0x01, 0x12, 0x06, 0x40, 0x18, 0x01, 0x13, 0, 0,
	cxxParameter, 0x05, 0, 0x03, 0x0e, 0x3a, 0x0b, 0x3b, 0x05, 0x49, 0x13, 0x02, 0x18, 0, 0,
	cxxInlined, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x05, 0x01, 0x13, 0, 0,
	0,
}

// getCxx makes the program, or finds it where it was made before.
func (b *bench) getCxx() {
	b.cxx = filepath.Join(b.cache, fmt.Sprintf("cxx-%d", cxxVersion))
	if _, err := os.Stat(b.cxx); err == nil {
		return
	}
	progress("making a C++ program of 2 GiB, to keep in %s", b.cache)
	path := filepath.Join(b.dir, "cxx")
	file := get(os.Create(path))
	check(writeCxx(file))
	check(file.Close())
	run(".", "mv", path, b.cxx)
}

// writeCxx writes the program, always the same one.
func writeCxx(file *os.File) error {
	// The code is a hole in the file, in front of the sections that are not empty.
	code := uint64(cxxUnits*cxxFuncs+cxxHuge) * cxxSize
	const head = 0x1000
	infoOff := head + code
	get(file.Seek(int64(infoOff), io.SeekStart))
	c := &cxx{w: bufio.NewWriterSize(file, 1<<20), rand: rand.New(rand.NewSource(1)), str: []byte{0}, syms: make([]byte, 24)}
	for i := range 4096 {
		c.word = append(c.word, c.name(fmt.Sprintf("name_%d", i)))
	}
	for i := range cxxUnits {
		if i == cxxUnits/2 {
			c.addUnit(cxxUnits, cxxHuge, cxxAll)
		}
		c.addUnit(i, cxxFuncs, 0)
	}
	at := infoOff + c.off
	names := []byte{0}
	sections := make([]byte, 64) // the first is none
	number := uint32(0)
	add := func(name string, typ elf.SectionType, flags elf.SectionFlag, addr, off, size uint64, link, info uint32, entry uint64) {
		sections = le.AppendUint32(sections, uint32(len(names)))
		names = append(append(names, name...), 0)
		sections = le.AppendUint32(sections, uint32(typ))
		for _, n := range []uint64{uint64(flags), addr, off, size} {
			sections = le.AppendUint64(sections, n)
		}
		sections = le.AppendUint32(le.AppendUint32(sections, link), info)
		sections = le.AppendUint64(le.AppendUint64(sections, 1), entry)
		number++
	}
	put := func(name string, typ elf.SectionType, b []byte, link, info uint32, entry uint64) {
		add(name, typ, 0, 0, at, uint64(len(b)), link, info, entry)
		c.w.Write(b)
		at += uint64(len(b))
	}
	add(".text", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, cxxText, head, code, 0, 0, 0)
	add(".debug_info", elf.SHT_PROGBITS, 0, 0, infoOff, c.off, 0, 0, 0)
	put(".debug_abbrev", elf.SHT_PROGBITS, cxxAbbrev, 0, 0, 0)
	put(".debug_line", elf.SHT_PROGBITS, c.line, 0, 0, 0)
	put(".debug_aranges", elf.SHT_PROGBITS, c.rang, 0, 0, 0)
	put(".debug_str", elf.SHT_STRTAB, c.str, 0, 0, 0) // of .symtab's names, too
	put(".symtab", elf.SHT_SYMTAB, c.syms, number, 1, 24)
	names = append(names, ".shstrtab\x00"...)
	sections = le.AppendUint32(sections, uint32(len(names)-len(".shstrtab\x00")))
	sections = le.AppendUint32(sections, uint32(elf.SHT_STRTAB))
	for _, n := range []uint64{0, 0, at, uint64(len(names)), 0, 1, 0} {
		sections = le.AppendUint64(sections, n)
	}
	c.w.Write(names)
	at += uint64(len(names))
	c.w.Write(sections)
	if err := c.w.Flush(); err != nil {
		return err
	}
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: cxxText, Phoff: 64, Shoff: at,
		Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: uint16(number + 2), Shstrndx: uint16(number + 1)}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	p := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: head, Vaddr: cxxText, Paddr: cxxText,
		Filesz: code, Memsz: code, Align: 0x1000}
	var out bytes.Buffer
	check(binary.Write(&out, le, &h))
	check(binary.Write(&out, le, &p))
	_, err := file.WriteAt(out.Bytes(), 0)
	return err
}

// name adds a string to .debug_str.
func (c *cxx) name(s string) uint32 {
	at := uint32(len(c.str))
	c.str = append(append(c.str, s...), 0)
	return at
}

// any returns one of the names that many use.
func (c *cxx) any() uint32 { return c.word[c.rand.Intn(len(c.word))] }

func (c *cxx) u8(n ...byte) { c.unit = append(c.unit, n...) }
func (c *cxx) u16(n int)    { c.unit = le.AppendUint16(c.unit, uint16(n)) }
func (c *cxx) u32(n ...uint32) {
	for _, v := range n {
		c.unit = le.AppendUint32(c.unit, v)
	}
}
func (c *cxx) u64(n uint64)      { c.unit = le.AppendUint64(c.unit, n) }
func (c *cxx) here() uint32      { return uint32(len(c.unit)) }
func (c *cxx) sibling(at uint32) { le.PutUint32(c.unit[at:], c.here()) } // what lies at at leads here

// addUnit adds a unit with so many functions, and so many bytes of entries at least.
func (c *cxx) addUnit(number, funcs, size int) {
	low := cxxText + c.text
	end := low + uint64(funcs*cxxSize)
	c.unit = c.unit[:0]
	c.u32(0) // the length, later
	c.u16(5)
	c.u8(1, 8)
	c.u32(0)
	c.u8(cxxUnit)
	c.u32(c.word[0])
	c.u16(0x21) // C++ 14
	c.u32(c.name(fmt.Sprintf("lib/part%d/unit%d.cpp", number/100, number)), c.word[1])
	c.u64(low)
	c.u32(uint32(end-low), uint32(len(c.line)))
	integer := c.here()
	c.u8(cxxBase, 4, 5)
	c.u32(c.word[2])
	c.u8(cxxNamespace)
	c.u32(c.word[3])
	var methods, linkage []uint32
	for i := 0; i < cxxTypes || len(c.unit) < size*9/10 || len(methods) < funcs; i++ {
		c.u8(cxxClass)
		c.u32(c.any())
		c.u8(64, 1)
		c.u16(c.rand.Intn(3000))
		next := c.here()
		c.u32(0)
		for m := range 12 + c.rand.Intn(16) {
			c.u8(cxxMember)
			c.u32(c.any(), integer)
			c.u8(1)
			c.u16(c.rand.Intn(3000))
			c.u8(byte(4 * m))
		}
		for m := range 4 + c.rand.Intn(12) {
			link := c.word[4]
			if len(methods) < funcs {
				link = c.name(fmt.Sprintf("_ZN4llvm4unitILi%dEE5class%d6methodEiRKNS_9StringRefE%d", number, i, m))
				methods, linkage = append(methods, c.here()), append(linkage, link)
			}
			c.u8(cxxMethod)
			c.u32(c.any(), link)
			c.u8(1)
			c.u16(c.rand.Intn(3000))
		}
		c.u8(0)
		c.sibling(next)
	}
	c.u8(0)
	abstract := make([]uint32, len(methods))
	for i := range funcs {
		abstract[i] = c.here()
		c.u8(cxxAbstract)
		c.u32(methods[i])
		c.u8(1)
	}
	for i := range funcs {
		c.function(funcs, methods[i], abstract, integer, low+uint64(i*cxxSize))
		c.syms = le.AppendUint32(c.syms, linkage[i])
		c.syms = append(c.syms, elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), 0, 1, 0)
		c.syms = le.AppendUint64(le.AppendUint64(c.syms, low+uint64(i*cxxSize)), cxxSize)
	}
	c.u8(0)
	le.PutUint32(c.unit, c.here()-4)
	c.addLines(number, low, end)
	c.rang = le.AppendUint32(c.rang, 44)
	c.rang = le.AppendUint16(c.rang, 2)
	c.rang = le.AppendUint32(c.rang, uint32(c.off))
	c.rang = append(c.rang, 8, 0, 0, 0, 0, 0)
	for _, n := range []uint64{low, end - low, 0, 0} {
		c.rang = le.AppendUint64(c.rang, n)
	}
	c.w.Write(c.unit)
	c.off += uint64(len(c.unit))
	c.text = end - cxxText
}

// function adds a function, which two others are inlined into, one within the other.
func (c *cxx) function(funcs int, method uint32, abstract []uint32, integer uint32, low uint64) {
	c.u8(cxxFunction)
	c.u32(method)
	c.u64(low)
	c.u32(cxxSize)
	c.u8(1, 0x9c)
	next := c.here()
	c.u32(0)
	c.parameters(3, integer)
	calls := [2]uint32{}
	for i := range calls {
		c.u8(cxxInlined)
		c.u32(abstract[c.rand.Intn(funcs)])
		c.u64(low + 16 + uint64(8*i))
		c.u32(uint32(32 - 16*i))
		c.u8(1)
		c.u16(c.rand.Intn(3000))
		calls[i] = c.here()
		c.u32(0)
		c.parameters(2, integer)
	}
	for i := range calls {
		c.u8(0)
		c.sibling(calls[1-i])
	}
	c.u8(0)
	c.sibling(next)
}

func (c *cxx) parameters(n int, integer uint32) {
	for range n {
		c.u8(cxxParameter)
		c.u32(c.any())
		c.u8(1)
		c.u16(c.rand.Intn(3000))
		c.u32(integer)
		c.u8(2, 0x91, 0x68)
	}
}

// addLines adds the line table of a unit.
func (c *cxx) addLines(number int, low, end uint64) {
	start := len(c.line)
	c.line = append(c.line, 0, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0)
	after := len(c.line)
	c.line = append(c.line, 1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
	c.line = append(c.line, 1, 1, 8, 1) // folders: a path each, in place
	c.line = append(c.line, "/build/llvm\x00"...)
	c.line = append(c.line, 2, 1, 8, 2, 11, 2) // files: a path and a folder
	for range 2 {
		c.line = append(c.line, fmt.Sprintf("lib/part%d/unit%d.cpp\x00\x00", number/100, number)...)
	}
	le.PutUint32(c.line[after-4:], uint32(len(c.line)-after))
	c.line = append(c.line, 0, 9, 2)
	c.line = le.AppendUint64(c.line, low)
	first := 1000
	for at := low; at < end; at += 8 {
		c.line = append(c.line, 3) // by so many lines, then a row, and 8 bytes on
		c.line = appendSLEB(c.line, int64(c.rand.Intn(40)-10+first))
		first = 0
		c.line = append(c.line, 1, 2, 8)
	}
	c.line = append(c.line, 0, 1, 1)
	le.PutUint32(c.line[start:], uint32(len(c.line)-start-4))
}

func appendSLEB(b []byte, n int64) []byte {
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
