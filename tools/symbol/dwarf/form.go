// The values of DWARF. Strings stay references into their section until a name is wanted.
//
// Source: DWARF 5, section 7.5.6 "Form Encodings".

package dwarf

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// The forms that are named outside of the table.
const (
	formString   = 0x08
	formRef4     = 0x13
	formImplicit = 0x21
)

// A valueKind says what a value's number is.
type valueKind uint8

const (
	valueNone     valueKind = iota // no value, or one of no use here
	valueAddr                      // an address
	valueAddrx                     // an index into the unit's part of .debug_addr
	valueConst                     // a number
	valueOffset                    // an offset into another section
	valueRnglistx                  // an index into the unit's part of .debug_rnglists
	valueRef                       // an offset into .debug_info
	valueString                    // an offset into the section read, of the string itself
	valueStrp                      // an offset into .debug_str
	valueLineStrp                  // an offset into .debug_line_str
	valueStrx                      // an index into the unit's part of .debug_str_offsets
	valueRefSup                    // an offset into .debug_info of the supplementary file
	valueStrpSup                   // an offset into .debug_str there
	valueBlock                     // an offset into the section read, of size bytes
)

type value struct {
	kind valueKind
	size uint32 // of a block
	n    uint64
}

// number returns a value that is a number like that of a line.
func (v value) number() uint32 {
	if v.kind == valueBlock {
		return 0
	}
	return uint32(v.n)
}

// How a value is written that has not the same number of bytes in all files.
const (
	sizeUnknown = -1 - iota
	sizeAddress
	sizeOffset
	sizeRefAddr // an offset, but in DWARF 2 an address
	sizeULEB
	sizeSLEB
	sizeString
	sizeBlock1 // a block behind its length in one byte
	sizeBlock2
	sizeBlock4
	sizeBlock
	sizeTrue     // not at all: it is 1
	sizeImplicit // not at all: the abbreviation has it
	sizeIndirect // behind the number of its form
)

// These are the names of the kinds and of the sizes in formTable, in their order.
const (
	kindNames = "none addr addrx const offset rnglistx ref string strp linestrp strx refsup strpsup block"
	sizeNames = "unknown address offset refaddr uleb sleb string block1 block2 block4 block " +
		"true implicit indirect"
)

// formTable has each form: its number, the kind of its values, and how they are written, which may
// be a number of bytes. Numbers from gnuForms on stand for GNU's from 0x1f00 on.
const formTable = `
01 addr address     03 block block2     04 block block4   05 const 2         06 const 4
07 const 8          08 string string    09 block block    0a block block1    0b const 1
0c const 1          0d const sleb       0e strp offset    0f const uleb      10 ref refaddr
11 ref 1            12 ref 2            13 ref 4          14 ref 8           15 ref uleb
16 none indirect    17 offset offset    18 block block    19 const true      1a strx uleb
1b addrx uleb       1c refsup 4         1d strpsup offset 1e none 16         1f linestrp offset
20 none 8           21 const implicit   22 none uleb      23 rnglistx uleb   24 refsup 8
25 strx 1           26 strx 2           27 strx 3         28 strx 4          29 addrx 1
2a addrx 2          2b addrx 3          2c addrx 4
41 addrx uleb       42 strx uleb        60 refsup offset  61 strpsup offset`

const gnuForms = 0x40

// A shape is what a form says of its values.
type shape struct {
	kind valueKind
	size int8 // in bytes, or one of the above
}

var formShapes = func() (all [gnuForms + 0x22]shape) {
	for i := range all {
		all[i].size = sizeUnknown
	}
	kinds, sizes := strings.Fields(kindNames), strings.Fields(sizeNames)
	for form := range slices.Chunk(strings.Fields(formTable), 3) {
		no, _ := strconv.ParseUint(form[0], 16, 8)
		size, err := strconv.Atoi(form[2])
		if err != nil {
			size = -1 - slices.Index(sizes, form[2])
		}
		all[no] = shape{valueKind(slices.Index(kinds, form[1])), int8(size)}
	}
	return all
}()

// shapeOf returns the shape of a form; that of an unknown one has sizeUnknown.
func shapeOf(form uint64) shape {
	switch at := form - 0x1f00 + gnuForms; {
	case form < gnuForms:
		return formShapes[form]
	case form >= 0x1f00 && at < uint64(len(formShapes)):
		return formShapes[at]
	}
	return formShapes[0]
}

// A format is what the size of a value depends on.
type format struct {
	version  uint16
	addrSize int
	dwarf64  bool
	base     uint64 // of the unit's header in .debug_info, for references
}

// offsetSize returns the size of an offset in bytes.
func (f *format) offsetSize() int {
	if f.dwarf64 {
		return 8
	}
	return 4
}

// read reads a value. implicit is the abbreviation's own value for DW_FORM_implicit_const.
// An unknown form makes the cursor bad, as nothing after it can be found.
func (s shape) read(c *elf.Cursor, implicit int64, f *format) (v value) {
	if s.size == sizeIndirect {
		s = shapeOf(c.ULEB())
		c.Bad = c.Bad || s.size == sizeIndirect || s.size == sizeImplicit
	}
	switch v.kind = s.kind; s.size {
	case sizeULEB:
		v.n = c.ULEB()
	case sizeSLEB:
		v.n = uint64(c.SLEB())
	case sizeString:
		v.n = c.Base + uint64(c.At)
		c.SkipString()
	case sizeBlock1, sizeBlock2, sizeBlock4:
		return readBlock(c, c.Uint(1<<(sizeBlock1-s.size)))
	case sizeBlock:
		return readBlock(c, c.ULEB())
	case sizeTrue:
		v.n = 1
	case sizeImplicit:
		v.n = uint64(implicit)
	case sizeUnknown, sizeIndirect:
		c.Bad = true
	default:
		if n := s.fixed(f); s.kind == valueNone {
			c.Skip(uint64(n))
		} else {
			v.n = c.Uint(n)
		}
	}
	switch {
	case s.kind == valueNone:
		return value{}
	case s.kind == valueRef && s.size != sizeRefAddr:
		v.n += f.base
	}
	return v
}

// readBlock reads a block behind its length.
func readBlock(c *elf.Cursor, size uint64) value {
	v := value{kind: valueBlock, size: uint32(size), n: c.Base + uint64(c.At)}
	c.Skip(size)
	return v
}

// fixed returns the size in bytes of every value of the shape, or -1 if it depends on the value.
func (s shape) fixed(f *format) int {
	switch {
	case s.size >= 0:
		return int(s.size)
	case s.size == sizeAddress, s.size == sizeRefAddr && f.version == 2:
		return f.addrSize
	case s.size == sizeOffset, s.size == sizeRefAddr:
		return f.offsetSize()
	case s.size == sizeTrue, s.size == sizeImplicit:
		return 0
	}
	return -1
}
