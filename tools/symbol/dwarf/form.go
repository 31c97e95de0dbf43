// The values of DWARF. Strings stay references into their section until a name is wanted.
//
// Source: DWARF 5, section 7.5.6 "Form Encodings".

package dwarf

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

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
func readForm(c *elf.Cursor, form uint64, implicit int64, f *format) value {
	if form == formIndirect {
		if form = c.ULEB(); form == formIndirect || form == formImplicit {
			c.Bad = true
		}
	}
	switch form {
	case formAddr:
		return value{valueAddr, c.Uint(f.addrSize)}
	case formAddrx, formGNUAddrx:
		return value{valueAddrx, c.ULEB()}
	case formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		return value{valueAddrx, c.Uint(int(form-formAddrx1) + 1)}
	case formData1, formFlag, formData2, formData4, formData8:
		return value{valueConst, c.Uint(fixedSize(form, f))}
	case formUdata:
		return value{valueConst, c.ULEB()}
	case formSdata:
		return value{valueConst, uint64(c.SLEB())}
	case formImplicit:
		return value{valueConst, uint64(implicit)}
	case formFlagPresent:
		return value{valueConst, 1}
	case formSecOffset:
		return value{valueOffset, c.Offset(f.dwarf64)}
	case formRnglistx:
		return value{valueRnglistx, c.ULEB()}
	case formRef1, formRef2, formRef4, formRef8:
		return value{valueRef, f.base + c.Uint(fixedSize(form, f))}
	case formRefUdata:
		return value{valueRef, f.base + c.ULEB()}
	case formRefAddr:
		return value{valueRef, c.Uint(fixedSize(form, f))}
	case formString:
		v := value{valueString, c.Base + uint64(c.At)}
		c.SkipString()
		return v
	case formStrp:
		return value{valueStrp, c.Offset(f.dwarf64)}
	case formLineStrp:
		return value{valueLineStrp, c.Offset(f.dwarf64)}
	case formStrx, formGNUStrx:
		return value{valueStrx, c.ULEB()}
	case formStrx1, formStrx2, formStrx3, formStrx4:
		return value{valueStrx, c.Uint(int(form-formStrx1) + 1)}
	case formBlock1:
		c.Skip(c.Uint(1))
	case formBlock2:
		c.Skip(c.Uint(2))
	case formBlock4:
		c.Skip(c.Uint(4))
	case formBlock, formExprloc:
		c.Skip(c.ULEB())
	case formData16, formRefSig8:
		c.Skip(uint64(fixedSize(form, f)))
	case formLoclistx:
		c.ULEB()
	case formRefSup4, formRefSup8, formGNURefAlt:
		return value{valueRefSup, c.Uint(fixedSize(form, f))}
	case formStrpSup, formGNUStrpAlt:
		return value{valueStrpSup, c.Offset(f.dwarf64)}
	default:
		c.Bad = true
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
