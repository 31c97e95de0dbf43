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
)

// The version is part of the file's name in the cache.
const (
	cxxVersion = 1
	cxxUnits   = 20_000
	cxxText    = 0x400000  // where the code is
	cxxHead    = 0x1000    // and where in the file
	cxxSize    = 64        // bytes of a function
	cxxFuncs   = 40        // functions of a unit
	cxxTypes   = 210       // classes of one
	cxxHuge    = 100_000   // functions of the huge one
	cxxAll     = 200 << 20 // bytes of its debug information
)

// cxxPlaces are an address in a unit, and one in the huge unit.
const (
	cxxSmallPlace = cxxText + 100*cxxFuncs*cxxSize + 20
	cxxHugePlace  = cxxText + (cxxUnits/2*cxxFuncs+cxxHuge/2)*cxxSize + 20
)

// A cxx writes the program.
type cxx struct {
	w                        *bufio.Writer
	off                      uint64 // of .debug_info, written so far
	line, aranges, str, syms []byte
	unit                     []byte // the one at hand
	text                     uint64 // bytes of code so far
	rand                     *rand.Rand
	word                     []uint32 // offsets of names that many use
}

var le = binary.LittleEndian

// The entries' shapes.
const (
	cxxUnit byte = 1 + iota
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
const cxxAbbrev = "" +
	"\x01\x11\x01\x25\x0e\x13\x05\x03\x0e\x1b\x0e\x11\x01\x12\x06\x10\x17\x00\x00" + // unit
	"\x02\x39\x01\x03\x0e\x00\x00" + // namespace
	"\x03\x02\x01\x03\x0e\x0b\x0b\x3a\x0b\x3b\x05\x01\x13\x00\x00" + // class
	"\x04\x0d\x00\x03\x0e\x49\x13\x3a\x0b\x3b\x05\x38\x0b\x00\x00" + // member
	"\x05\x2e\x00\x3f\x19\x03\x0e\x6e\x0e\x3a\x0b\x3b\x05\x3c\x19\x00\x00" + // method
	"\x06\x24\x00\x0b\x0b\x3e\x0b\x03\x0e\x00\x00" + // base type
	"\x07\x2e\x00\x47\x13\x20\x0b\x00\x00" + // abstract function
	"\x08\x2e\x01\x47\x13\x11\x01\x12\x06\x40\x18\x01\x13\x00\x00" + // function
	"\x09\x05\x00\x03\x0e\x3a\x0b\x3b\x05\x49\x13\x02\x18\x00\x00" + // parameter
	"\x0a\x1d\x01\x31\x13\x11\x01\x12\x06\x58\x0b\x59\x05\x01\x13\x00\x00" + // inlined
	"\x00"

// put appends numbers in the target's order, and strings with the zero at their end.
func put(to *[]byte, values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case byte:
			*to = append(*to, v)
		case uint16:
			*to = le.AppendUint16(*to, v)
		case uint32:
			*to = le.AppendUint32(*to, v)
		case uint64:
			*to = le.AppendUint64(*to, v)
		case string:
			*to = append(append(*to, v...), 0)
		}
	}
}

// writeCxx writes the program, always the same one.
func writeCxx(file *os.File) {
	// The code is a hole in the file, before the sections that are not empty.
	const code = (cxxUnits*cxxFuncs + cxxHuge) * cxxSize
	get(file.Seek(cxxHead+code, io.SeekStart))
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
	var names []byte
	var sections []elf.Section64
	add := func(name string, s elf.Section64) {
		s.Name, s.Addralign = uint32(len(names)), min(1, uint64(s.Type))
		put(&names, name)
		sections = append(sections, s)
	}
	const bits = uint32(elf.SHT_PROGBITS)
	add("", elf.Section64{})
	add(".text", elf.Section64{Type: bits, Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: cxxText, Off: cxxHead, Size: code})
	add(".debug_info", elf.Section64{Type: bits, Off: cxxHead + code, Size: c.off})
	at := cxxHead + code + c.off
	data := func(name string, b []byte, s elf.Section64) {
		s.Off, s.Size = at, uint64(len(b))
		add(name, s)
		c.w.Write(b)
		at += s.Size
	}
	data(".debug_abbrev", []byte(cxxAbbrev), elf.Section64{Type: bits})
	data(".debug_line", c.line, elf.Section64{Type: bits})
	data(".debug_aranges", c.aranges, elf.Section64{Type: bits})
	data(".debug_str", c.str, elf.Section64{Type: uint32(elf.SHT_STRTAB)}) // of .symtab's names, too
	data(".symtab", c.syms, elf.Section64{Type: uint32(elf.SHT_SYMTAB), Link: 6, Info: 1, Entsize: 24})
	add(".shstrtab", elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: at})
	n := len(sections)
	sections[n-1].Size = uint64(len(names))
	c.w.Write(names)
	check(binary.Write(c.w, le, sections))
	check(c.w.Flush())
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: cxxText,
		Phoff: 64, Shoff: at + uint64(len(names)), Ehsize: 64, Phentsize: 56, Phnum: 1,
		Shentsize: 64, Shnum: uint16(n), Shstrndx: uint16(n - 1)}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	p := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: cxxHead, Vaddr: cxxText, Paddr: cxxText,
		Filesz: code, Memsz: code, Align: 0x1000}
	var head bytes.Buffer
	check(binary.Write(&head, le, &h))
	check(binary.Write(&head, le, &p))
	get(file.WriteAt(head.Bytes(), 0))
}

// name adds a string to .debug_str.
func (c *cxx) name(s string) uint32 {
	at := uint32(len(c.str))
	put(&c.str, s)
	return at
}

// add adds to the unit; any is one of the names that many use, row the number of a line.
func (c *cxx) add(values ...any) { put(&c.unit, values...) }
func (c *cxx) any() uint32       { return c.word[c.rand.Intn(len(c.word))] }
func (c *cxx) row() uint16       { return uint16(c.rand.Intn(3000)) }
func (c *cxx) here() uint32      { return uint32(len(c.unit)) }

// open adds an entry with children and room for its sibling's place, which close fills.
func (c *cxx) open(values ...any) (sibling uint32) {
	c.add(values...)
	c.add(uint32(0))
	return c.here() - 4
}

func (c *cxx) close(sibling uint32) {
	c.add(byte(0))
	le.PutUint32(c.unit[sibling:], c.here())
}

// addUnit adds a unit with so many functions, and so many bytes of entries at least.
func (c *cxx) addUnit(number, funcs, size int) {
	low := cxxText + c.text
	end := low + uint64(funcs*cxxSize)
	file := fmt.Sprintf("lib/part%d/unit%d.cpp", number/100, number)
	c.unit = c.unit[:0]
	c.add(uint32(0), uint16(5), byte(1), byte(8), uint32(0)) // the length later
	c.add(cxxUnit, c.word[0], uint16(0x21), c.name(file), c.word[1], low, uint32(end-low), uint32(len(c.line)))
	integer := c.here()
	c.add(cxxBase, byte(4), byte(5), c.word[2], cxxNamespace, c.word[3])
	var methods, linkage []uint32
	for i := 0; i < cxxTypes || len(c.unit) < size*9/10 || len(methods) < funcs; i++ {
		class := c.open(cxxClass, c.any(), byte(64), byte(1), c.row())
		for m := range 12 + c.rand.Intn(16) {
			c.add(cxxMember, c.any(), integer, byte(1), c.row(), byte(4*m))
		}
		for m := range 4 + c.rand.Intn(12) {
			link := c.word[4]
			if len(methods) < funcs {
				link = c.name(fmt.Sprintf("_ZN4llvm4unitILi%dEE5class%d6methodEiRKNS_9StringRefE%d", number, i, m))
				methods, linkage = append(methods, c.here()), append(linkage, link)
			}
			c.add(cxxMethod, c.any(), link, byte(1), c.row())
		}
		c.close(class)
	}
	c.add(byte(0))
	abstract := make([]uint32, len(methods))
	for i := range funcs {
		abstract[i] = c.here()
		c.add(cxxAbstract, methods[i], byte(1))
	}
	for i := range funcs {
		at := low + uint64(i*cxxSize)
		c.function(methods[i], abstract[:funcs], integer, at)
		put(&c.syms, linkage[i], elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), byte(0), uint16(1), at, uint64(cxxSize))
	}
	c.add(byte(0))
	le.PutUint32(c.unit, c.here()-4)
	c.addLines(file, low, end)
	put(&c.aranges, uint32(44), uint16(2), uint32(c.off), byte(8), byte(0), uint32(0), low, end-low, uint64(0), uint64(0))
	c.w.Write(c.unit)
	c.off += uint64(len(c.unit))
	c.text = end - cxxText
}

// function adds a function, which two others are inlined into, one within the other.
func (c *cxx) function(method uint32, abstract []uint32, integer uint32, low uint64) {
	parameters := func(n int) {
		for range n {
			c.add(cxxParameter, c.any(), byte(1), c.row(), integer, byte(2), byte(0x91), byte(0x68))
		}
	}
	function := c.open(cxxFunction, method, low, uint32(cxxSize), byte(1), byte(0x9c))
	parameters(3)
	var calls [2]uint32
	for i := range calls {
		calls[i] = c.open(cxxInlined, abstract[c.rand.Intn(len(abstract))], low+16+uint64(8*i), uint32(32-16*i), byte(1), c.row())
		parameters(2)
	}
	c.close(calls[1])
	c.close(calls[0])
	c.close(function)
}

// addLines adds the line table of a unit.
func (c *cxx) addLines(file string, low, end uint64) {
	start := len(c.line)
	const before = "\x01\x01\x01\xfb\x0e\x0d\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00\x00\x01" +
		"\x01\x01\x08\x01/build/llvm\x00" + // folders: a path each, in place
		"\x02\x01\x08\x02\x0b\x02" // files: a path and a folder
	table := before + file + "\x00\x00" + file + "\x00\x00"
	put(&c.line, uint32(0), uint16(5), byte(8), byte(0), uint32(len(table)))
	c.line = append(c.line, table...)
	put(&c.line, byte(0), byte(9), byte(2), low)
	first := 1000
	for at := low; at < end; at += 8 {
		// By so many lines, then a row, and 8 bytes on.
		n := c.rand.Intn(40) - 10 + first
		c.line = append(c.line, 3)
		if n >= -64 && n < 64 {
			c.line = append(c.line, byte(n&0x7f))
		} else {
			c.line = append(c.line, byte(n|0x80), byte(n>>7&0x7f))
		}
		first = 0
		c.line = append(c.line, 1, 2, 8)
	}
	c.line = append(c.line, 0, 1, 1)
	le.PutUint32(c.line[start:], uint32(len(c.line)-start-4))
}
