package argument

// A value's bytes as text, much as Go's source has it:
//
//	17  -1.5  true  (1+2i)  "apple"  "0123456789..."+7 more  nil  0xc000012080
//	[1 2 3]  [1 2 ...+40 more]  {x:1 y:2}
//	0xc000012080[:70000] (a string or slice of which only this is known)
//
// A value with a part that is not known has none, but that what a string or a slice points to
// may be missing.

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits of the text.
const (
	maxDepth   = 8
	maxContent = 32 // bytes of a string or slice that are shown
	maxText    = 512
)

// A value is the bytes of an argument.
type value struct {
	im    *Image
	f     *Frame
	bytes []byte
	known []bool
}

// typeName is a type as Go's source has it.
func typeName(t dwarf.Type) string {
	if s, ok := t.(*dwarf.StructType); ok && s.StructName != "" {
		return s.StructName
	}
	if n := t.Common().Name; n != "" {
		return n
	}
	return t.String()
}

// structName is a struct's name; in a generic function that of what the type parameter stands for.
func structName(t *dwarf.StructType) string { return strings.TrimPrefix(t.StructName, "go.shape.") }

// has reports whether the n bytes at off are known.
func (v *value) has(off, n int64) bool {
	if off < 0 || n < 0 || off > int64(len(v.bytes)) || n > int64(len(v.bytes))-off {
		return false
	}
	for _, k := range v.known[off : off+n] {
		if !k {
			return false
		}
	}
	return true
}

// uint returns the number of n bytes at off.
func (v *value) uint(off, n int64) (u uint64, ok bool) {
	if n < 1 || n > 8 || !v.has(off, n) {
		return 0, false
	}
	var b [8]byte
	copy(b[:], v.bytes[off:off+n])
	return binary.LittleEndian.Uint64(b[:]), true
}

// format returns what of a type is at off.
func (v *value) format(t dwarf.Type, off int64, depth int) (text string, ok bool) {
	if depth > maxDepth {
		return "", false
	}
	n := t.Size()
	switch t := t.(type) {
	case *dwarf.TypedefType:
		if s, ok := t.Type.(*dwarf.StructType); ok &&
			(structName(s) == "runtime.iface" || structName(s) == "runtime.eface") {
			return v.dynamic(structName(s) == "runtime.iface", off, depth)
		}
		if _, ok := t.Type.(*dwarf.FuncType); ok {
			return v.function(off)
		}
		return v.format(t.Type, off, depth+1)
	case *dwarf.QualType:
		return v.format(t.Type, off, depth+1)
	case *dwarf.BoolType:
		u, ok := v.uint(off, n)
		if u > 1 {
			return "", false
		}
		return strconv.FormatBool(u == 1), ok
	case *dwarf.IntType:
		u, ok := v.uint(off, n)
		if !ok {
			return "", false
		}
		return strconv.FormatInt(int64(u<<(64-8*n))>>(64-8*n), 10), true
	case *dwarf.CharType:
		u, ok := v.uint(off, n)
		return strconv.FormatInt(int64(int8(u)), 10), ok
	case *dwarf.UintType, *dwarf.UcharType:
		u, ok := v.uint(off, n)
		return strconv.FormatUint(u, 10), ok
	case *dwarf.FloatType:
		return v.float(off, n)
	case *dwarf.ComplexType:
		re, ok1 := v.float(off, n/2)
		im, ok2 := v.float(off+n/2, n/2)
		if !strings.HasPrefix(im, "-") && !strings.HasPrefix(im, "+") {
			im = "+" + im
		}
		return "(" + re + im + "i)", ok1 && ok2
	case *dwarf.PtrType, *dwarf.AddrType, *dwarf.UnspecifiedType:
		return v.pointer(off)
	case *dwarf.FuncType:
		return v.function(off)
	case *dwarf.ArrayType:
		if t.Count < 0 || t.StrideBitSize != 0 {
			return "", false
		}
		return v.elements(t.Type, off, t.Count, t.Count, depth)
	case *dwarf.StructType:
		return v.structure(t, off, depth)
	}
	return "", false
}

func (v *value) float(off, n int64) (string, bool) {
	u, ok := v.uint(off, n)
	switch {
	case ok && n == 4:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(u))), 'g', -1, 32), true
	case ok && n == 8:
		return strconv.FormatFloat(math.Float64frombits(u), 'g', -1, 64), true
	}
	return "", false
}

func (v *value) pointer(off int64) (string, bool) {
	u, ok := v.uint(off, 8)
	if u == 0 {
		return "nil", ok
	}
	return fmt.Sprintf("%#x", u), ok
}

// structure formats a struct; Go's strings and slices are structs by their fields.
func (v *value) structure(t *dwarf.StructType, off int64, depth int) (string, bool) {
	if t.Kind != "struct" {
		return "", false
	}
	switch f, name := t.Field, structName(t); {
	case name == "string" && len(f) == 2:
		return v.text(off)
	case strings.HasPrefix(name, "[]") && len(f) == 3 && f[0].Name == "array":
		if p, ok := f[0].Type.(*dwarf.PtrType); ok {
			return v.slice(p.Type, off, depth)
		}
	case name == "runtime.iface" || name == "runtime.eface":
		return v.dynamic(name == "runtime.iface", off, depth)
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range t.Field {
		if f.BitSize != 0 {
			return "", false
		}
		s, ok := v.format(f.Type, off+f.ByteOffset, depth+1)
		if !ok || b.Len() > maxText {
			return "", false
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.Name + ":" + s)
	}
	return b.String() + "}", true
}

// text formats a string.
func (v *value) text(off int64) (string, bool) {
	p, ok1 := v.uint(off, 8)
	n, ok2 := v.uint(off+8, 8)
	if ok2 && n == 0 {
		return `""`, true
	}
	if !ok1 || !ok2 {
		return "", false
	}
	b, ok := v.f.memory(p, min(n, maxContent))
	switch {
	case !ok:
		return fmt.Sprintf("%#x[:%d]", p, n), true
	case n > maxContent:
		return strconv.Quote(string(b)+"...") + fmt.Sprintf("+%d more", n-maxContent), true
	}
	return strconv.Quote(string(b)), true
}

// slice formats a slice.
func (v *value) slice(elem dwarf.Type, off int64, depth int) (string, bool) {
	p, ok1 := v.uint(off, 8)
	n, ok2 := v.uint(off+8, 8)
	if !ok1 || !ok2 {
		return "", false
	}
	size := elem.Size()
	switch {
	case p == 0 && n == 0:
		return "nil", true
	case n == 0:
		return "[]", true
	case size <= 0 || size > maxContent || n > math.MaxInt64/maxContent:
		return fmt.Sprintf("%#x[:%d]", p, n), true
	}
	show := min(n, uint64(maxContent/size))
	b, ok := v.f.memory(p, show*uint64(size))
	if ok {
		c := value{im: v.im, f: v.f, bytes: b, known: allKnown(len(b))}
		if s, ok := c.elements(elem, 0, int64(show), int64(n), depth+1); ok {
			return s, true
		}
	}
	return fmt.Sprintf("%#x[:%d]", p, n), true
}

func allKnown(n int) []bool {
	k := make([]bool, n)
	for i := range k {
		k[i] = true
	}
	return k
}

// elements formats the first of n elements, and says how many more there are.
func (v *value) elements(t dwarf.Type, off, show, n int64, depth int) (string, bool) {
	var b strings.Builder
	b.WriteByte('[')
	for i := range show {
		s, ok := v.format(t, off+i*t.Size(), depth+1)
		if !ok || b.Len() > maxText {
			return "", false
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	if n > show {
		fmt.Fprintf(&b, " ...+%d more", n-show)
	}
	return b.String() + "]", true
}
