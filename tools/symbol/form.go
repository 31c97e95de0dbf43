// The values of DWARF. A cursor reads bytes and, once it has run out of them,
// reads zeros and says so; no loop over a cursor goes on after that. Strings stay
// references into their section until a name is wanted.
//
// Source: DWARF 5, section 7.5.6 "Form Encodings" and 7.6 "Variable Length Data".

package symbol

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A cursor reads a piece of a section, which lies at offset base of the section,
// from at on, up to the piece's end.
type cursor struct {
	b    []byte
	at   int
	base uint64
	big  bool // big-endian
	bad  bool // something was read beyond the end
}

// take returns the next n bytes, or nil at the end.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(len(c.b)-c.at) {
		c.bad = true
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

// uint reads an unsigned number of n bytes: 1, 2, 3, 4 or 8.
func (c *cursor) uint(n int) uint64 {
	b := c.take(uint64(n))
	var v uint64
	switch {
	case b == nil:
		return 0
	case n == 1:
		return uint64(b[0])
	case n == 2:
		v = uint64(binary.LittleEndian.Uint16(b))
	case n == 3:
		v = uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16
	case n == 4:
		v = uint64(binary.LittleEndian.Uint32(b))
	case n == 8:
		v = binary.LittleEndian.Uint64(b)
	default:
		c.bad = true
		return 0
	}
	if c.big {
		v = bits.ReverseBytes64(v) >> (64 - 8*n)
	}
	return v
}

func (c *cursor) u8() uint8 {
	if c.bad || c.at >= len(c.b) {
		c.bad = true
		return 0
	}
	v := c.b[c.at]
	c.at++
	return v
}

// offset reads an offset: 8 bytes in the 64-bit format of DWARF, otherwise 4.
func (c *cursor) offset(dwarf64 bool) uint64 {
	if dwarf64 {
		return c.uint(8)
	}
	return c.uint(4)
}

func (c *cursor) uleb() uint64 {
	if c.at < len(c.b) && !c.bad {
		if b := c.b[c.at]; b < 0x80 { // most are short
			c.at++
			return uint64(b)
		}
	}
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// skipString skips a string and its NUL.
func (c *cursor) skipString() {
	if n := bytes.IndexByte(c.b[c.at:], 0); n >= 0 {
		c.at += n + 1
	} else {
		c.at, c.bad = len(c.b), true
	}
}

// skip skips n bytes.
func (c *cursor) skip(n uint64) {
	if c.bad || n > uint64(len(c.b)-c.at) {
		c.bad = true
		return
	}
	c.at += int(n)
}

// The forms that mean something here; the others are only skipped.
const (
	formAddr        = 0x01
	formBlock2      = 0x03
	formBlock4      = 0x04
	formData2       = 0x05
	formData4       = 0x06
	formData8       = 0x07
	formString      = 0x08
	formBlock       = 0x09
	formBlock1      = 0x0a
	formData1       = 0x0b
	formFlag        = 0x0c
	formSdata       = 0x0d
	formStrp        = 0x0e
	formUdata       = 0x0f
	formRefAddr     = 0x10
	formRef1        = 0x11
	formRef2        = 0x12
	formRef4        = 0x13
	formRef8        = 0x14
	formRefUdata    = 0x15
	formIndirect    = 0x16
	formSecOffset   = 0x17
	formExprloc     = 0x18
	formFlagPresent = 0x19
	formStrx        = 0x1a
	formAddrx       = 0x1b
	formRefSup4     = 0x1c
	formStrpSup     = 0x1d
	formData16      = 0x1e
	formLineStrp    = 0x1f
	formRefSig8     = 0x20
	formImplicit    = 0x21
	formLoclistx    = 0x22
	formRnglistx    = 0x23
	formRefSup8     = 0x24
	formStrx1       = 0x25
	formStrx2       = 0x26
	formStrx3       = 0x27
	formStrx4       = 0x28
	formAddrx1      = 0x29
	formAddrx2      = 0x2a
	formAddrx3      = 0x2b
	formAddrx4      = 0x2c
	formGNUAddrx    = 0x1f01
	formGNUStrx     = 0x1f02
	formGNURefAlt   = 0x1f20
	formGNUStrpAlt  = 0x1f21
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
)

type value struct {
	kind valueKind
	n    uint64
}

// A format is what the size of a value depends on.
type format struct {
	version  uint16
	addrSize int
	dwarf64  bool
	base     uint64 // of the unit's header in .debug_info, for references
}

// form reads a value of the given form. implicit is the abbreviation's own value
// for DW_FORM_implicit_const. An unknown form makes the cursor bad, as nothing
// after it can be found.
func (c *cursor) form(form uint64, implicit int64, f *format) value {
	if form == formIndirect {
		if form = c.uleb(); form == formIndirect || form == formImplicit {
			c.bad = true
		}
	}
	switch form {
	case formAddr:
		return value{valueAddr, c.uint(f.addrSize)}
	case formAddrx, formGNUAddrx:
		return value{valueAddrx, c.uleb()}
	case formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		return value{valueAddrx, c.uint(int(form-formAddrx1) + 1)}
	case formData1, formFlag:
		return value{valueConst, c.uint(1)}
	case formData2:
		return value{valueConst, c.uint(2)}
	case formData4:
		return value{valueConst, c.uint(4)}
	case formData8:
		return value{valueConst, c.uint(8)}
	case formUdata:
		return value{valueConst, c.uleb()}
	case formSdata:
		return value{valueConst, uint64(c.sleb())}
	case formImplicit:
		return value{valueConst, uint64(implicit)}
	case formFlagPresent:
		return value{valueConst, 1}
	case formSecOffset:
		return value{valueOffset, c.offset(f.dwarf64)}
	case formRnglistx:
		return value{valueRnglistx, c.uleb()}
	case formRef1:
		return value{valueRef, f.base + c.uint(1)}
	case formRef2:
		return value{valueRef, f.base + c.uint(2)}
	case formRef4:
		return value{valueRef, f.base + c.uint(4)}
	case formRef8:
		return value{valueRef, f.base + c.uint(8)}
	case formRefUdata:
		return value{valueRef, f.base + c.uleb()}
	case formRefAddr:
		if f.version == 2 {
			return value{valueRef, c.uint(f.addrSize)}
		}
		return value{valueRef, c.offset(f.dwarf64)}
	case formString:
		v := value{valueString, c.base + uint64(c.at)}
		c.skipString()
		return v
	case formStrp:
		return value{valueStrp, c.offset(f.dwarf64)}
	case formLineStrp:
		return value{valueLineStrp, c.offset(f.dwarf64)}
	case formStrx, formGNUStrx:
		return value{valueStrx, c.uleb()}
	case formStrx1, formStrx2, formStrx3, formStrx4:
		return value{valueStrx, c.uint(int(form-formStrx1) + 1)}
	case formBlock1:
		c.skip(c.uint(1))
	case formBlock2:
		c.skip(c.uint(2))
	case formBlock4:
		c.skip(c.uint(4))
	case formBlock, formExprloc:
		c.skip(c.uleb())
	case formData16:
		c.skip(16)
	case formLoclistx:
		c.uleb()
	case formRefSig8:
		c.take(8)
	case formRefSup8:
		return value{valueRefSup, c.uint(8)}
	case formRefSup4:
		return value{valueRefSup, c.uint(4)}
	case formGNURefAlt:
		return value{valueRefSup, c.offset(f.dwarf64)}
	case formStrpSup, formGNUStrpAlt:
		return value{valueStrpSup, c.offset(f.dwarf64)}
	default:
		c.bad = true
	}
	return value{}
}

// fixedSize returns the size in bytes of every value of a form, or -1 if it depends
// on the value.
func fixedSize(form uint64, f *format) int {
	offset := 4
	if f.dwarf64 {
		offset = 8
	}
	switch form {
	case formFlagPresent, formImplicit:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return f.addrSize
	case formSecOffset, formStrp, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return offset
	case formRefAddr:
		if f.version == 2 {
			return f.addrSize
		}
		return offset
	}
	return -1
}
