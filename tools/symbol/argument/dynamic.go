package argument

// What an interface holds, which the runtime's own types say: they are in the image, in
// memory that nobody writes to. A type that the program has made at run time is not known.
//
// Source: internal/abi/type.go (Type, Name), internal/abi/iface.go (ITab) of Go 1.26.

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
)

// Offsets and bits of internal/abi.Type and ITab.
const (
	itabType      = 8
	typeTFlag     = 20
	typeKind      = 23
	typeStr       = 40
	tflagStar     = 1 << 1 // its name has an extra star
	kindMask      = 1<<5 - 1
	kindChan      = 18
	kindFunc      = 19
	kindMap       = 21
	kindPointer   = 22
	kindString    = 24
	kindUnsafe    = 26
	maxNameLength = 256
)

// basic are the types whose values are shown, by their kind.
var basic = map[byte]dwarf.Type{
	1: &dwarf.BoolType{BasicType: sized(1)},
	2: &dwarf.IntType{BasicType: sized(8)}, 3: &dwarf.IntType{BasicType: sized(1)},
	4: &dwarf.IntType{BasicType: sized(2)},
	5: &dwarf.IntType{BasicType: sized(4)}, 6: &dwarf.IntType{BasicType: sized(8)},
	7: &dwarf.UintType{BasicType: sized(8)}, 8: &dwarf.UintType{BasicType: sized(1)},
	9:  &dwarf.UintType{BasicType: sized(2)},
	10: &dwarf.UintType{BasicType: sized(4)}, 11: &dwarf.UintType{BasicType: sized(8)},
	12: &dwarf.UintType{BasicType: sized(8)},
	13: &dwarf.FloatType{BasicType: sized(4)}, 14: &dwarf.FloatType{BasicType: sized(8)},
	15: &dwarf.ComplexType{BasicType: sized(8)}, 16: &dwarf.ComplexType{BasicType: sized(16)},
	kindString: &dwarf.StructType{CommonType: dwarf.CommonType{ByteSize: 16}, StructName: "string",
		Kind: "struct", Field: make([]*dwarf.StructField, 2)},
}

func sized(n int64) dwarf.BasicType {
	return dwarf.BasicType{CommonType: dwarf.CommonType{ByteSize: n}}
}

// dynamic formats an interface: nil, int(5), *main.T(0xc000012080), main.T at 0xc000012080.
func (v *value) dynamic(methods bool, off int64, depth int) (string, bool) {
	tab, ok1 := v.uint(off, 8)
	data, ok2 := v.uint(off+8, 8)
	if !ok1 || ok1 && tab != 0 && !ok2 {
		return "", false
	}
	if tab == 0 {
		return "nil", true
	}
	unknown := fmt.Sprintf("{%#x %#x}", tab, data)
	if methods {
		var ok bool
		if tab, ok = v.f.word(tab + itabType); !ok {
			return unknown, true
		}
	}
	name, kind, ok := v.im.runtimeType(tab)
	if !ok {
		return unknown, true
	}
	switch kind {
	case kindChan, kindFunc, kindMap, kindPointer, kindUnsafe:
		if data == 0 {
			return name + "(nil)", true
		}
		return fmt.Sprintf("%s(%#x)", name, data), true
	}
	if t := basic[kind]; t != nil {
		if b, ok := v.f.memory(data, uint64(t.Size())); ok {
			c := value{im: v.im, f: v.f, bytes: b, known: allKnown(len(b))}
			if s, ok := c.format(t, 0, depth+1); ok {
				return name + "(" + s + ")", true
			}
		}
	}
	return fmt.Sprintf("%s at %#x", name, data), true
}

// runtimeType returns the name and the kind of a type of the runtime.
func (im *Image) runtimeType(addr uint64) (name string, kind byte, ok bool) {
	b, ok := im.constant(addr, typeStr+4)
	if !ok || im.types == 0 {
		return "", 0, false
	}
	at := im.types + uint64(int64(int32(binary.LittleEndian.Uint32(b[typeStr:]))))
	head, ok := im.constant(at, 3)
	if !ok {
		return "", 0, false
	}
	n, used := binary.Uvarint(head[1:])
	if used <= 0 || n == 0 || n > maxNameLength {
		return "", 0, false
	}
	s, ok := im.constant(at+1+uint64(used), n)
	if !ok {
		return "", 0, false
	}
	if name = string(s); b[typeTFlag]&tflagStar != 0 {
		name = name[1:]
	}
	return name, b[typeKind] & kindMask, true
}

// function formats a func: the function that it calls, by its closure.
func (v *value) function(off int64) (string, bool) {
	p, ok := v.uint(off, 8)
	if !ok || p == 0 {
		return "nil", ok
	}
	if pc, ok := v.f.word(p); ok {
		if name := v.im.name(pc); name != "" {
			return name, true
		}
	}
	return fmt.Sprintf("%#x", p), true
}
