package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// What a panic of compiled Go was about. Where no runtime runs, the code that the compiler inserts
// (bounds and division checks, panic, the stack check at function entry) still calls the runtime's
// functions. They use the m of the fake g, which is no address, and fault. This file recognizes
// such a fault by the functions on the stack, and reports what the caller had done: the index and
// the length, the text of the panic, the stack that is too small. The trace then starts at that
// caller.
//
// Such a fault has the poisoned m in a register; any other fault in a function of the runtime is
// reported as an ordinary fault. What the caller had done is read from the words that compiled code
// left on the stack, whose layout depends on the Go version. The layouts are those of Go 1.26 and
// 1.27, each with its source; where Go 1.25 differs, the comment says so.

// goPanic checks whether the fault d is such a panic, and if so rewrites d. The names of those that
// are not listed tell what happened (panicdottypeE, panicnildottype, panicunsafeslicelen, ...).
func (d *Details) goPanic() bool {
	if !d.poisoned() {
		return false
	}
	t, ok := image.PCTable()
	if !ok {
		return false
	}
	f, ok := t.Find(d.PC)
	if !ok || !runtimeName(f.Name()) {
		return false
	}
	if ascii.Same(f.Name(), "runtime.morestack") {
		return d.stackCheck()
	}
	w := &stack.Walker
	w.Plain = true
	w.Walk(d.PC, d.sp, d.fp)
	// Find frame i, the runtime function that our code called.
	i, fp, name := 0, d.fp, f.Name()
	for ; i+1 < w.N; i++ {
		next := &w.Frames[i+1]
		if next.Kind != tracer.RA {
			return false
		}
		f, ok := t.Find(next.Addr - 1)
		if !ok {
			return false
		}
		if !runtimeName(f.Name()) {
			break
		}
		fp, name = next.FP, f.Name()
	}
	if i+1 >= w.N {
		return false
	}
	ra := w.Frames[i+1].Addr
	r := &d.Reason
	switch {
	case ascii.Same(name, "runtime.panicBounds"):
		d.bounds(&t, fp, ra)
	case ascii.HasPrefix(name, "runtime.goPanic"):
		d.boundsByName(name[len("runtime.goPanic"):], fp)
	case ascii.Same(name, "runtime.gopanic"):
		d.panicValue(fp)
	case ascii.Same(name, "runtime.panicdivide"):
		r.Str("runtime error: integer divide by zero")
	case ascii.Same(name, "runtime.panicshift"):
		r.Str("runtime error: negative shift amount")
	case ascii.HasPrefix(name, "runtime.panic"):
		r.Str("runtime error: ")
		r.bytes(name)
	default:
		r.Str("call of the Go runtime, which is not there: ")
		r.bytes(name)
	}
	d.goCaller(ra, fp)
	return true
}

// poisoned reports whether a register holds the m of the fake g.
func (d *Details) poisoned() bool { return arch.IsPoisoned(d.vector, d.code, d.Regs[:]) }

// goCaller restarts the trace at the caller of a runtime function whose frame
// record is at fp.
func (d *Details) goCaller(ra, fp uintptr) {
	saved, ok := tracer.ReadWord(fp)
	if !ok {
		return
	}
	d.Kind = tracer.KindPanic
	// The other registers hold the runtime's values.
	d.Cause, d.Have = false, d.Have&(1<<arch.RegisterSpace)
	d.callerAt(ra, fp+16, saved)
}

// stackCheck handles a function whose entry found less than StackGuard bytes of stack and called
// morestack, before it pushed anything:
//
//	[RSP]    return address into that function
//	[RSP+8]  its own return address
func (d *Details) stackCheck() bool {
	ra, ok := tracer.ReadWord(d.sp)
	if !ok {
		return false
	}
	d.Kind = tracer.KindPanic
	d.Reason.Str("stack overflow: ")
	name := "an unknown stack"
	for i := range stack.Table {
		if stack.Table[i].Contains(d.sp) {
			name = stack.Table[i].Name
		}
	}
	d.Reason.Str(name)
	d.Reason.Str(" has no room for another frame")
	sp, fp := d.sp+8, d.fp
	d.Cause, d.Have = false, d.Have&(1<<arch.RegisterSpace)
	d.callerAt(ra, sp, fp)
	return true
}

// The layout of runtime.panicBounds' frame (runtime/asm_amd64.s): 144 bytes below the frame record;
// the 16 registers start 16 bytes into them.
const (
	boundsFrame = 144
	boundsRegs  = 16
	boundsTable = 4 // PCDATA_PanicBounds (internal/abi/symtab.go)
)

// bounds reports the index and the length of a failed bounds check: the call's pcdata tells which
// registers or constants hold them.
func (d *Details) bounds(t *tracer.PCTable, fp, ra uintptr) {
	r := &d.Reason
	r.Str("runtime error: ")
	f, ok := t.Find(ra - 1)
	var c tracer.BoundsCheck
	if ok {
		var v int32
		if v, ok = f.PCData(boundsTable, ra-1); ok {
			c, ok = tracer.DecodeBoundsCheck(v)
		}
	}
	if !ok {
		r.Str("index or slice bounds out of range")
		return
	}
	x, y := int64(c.X), int64(c.Y)
	regs := fp - boundsFrame + boundsRegs
	if c.XIsReg {
		v, _ := tracer.ReadWord(regs + uintptr(c.X)*8)
		x = int64(v)
	}
	if c.YIsReg {
		v, _ := tracer.ReadWord(regs + uintptr(c.Y)*8)
		y = int64(v)
	}
	r.outOfBounds(c.Code, c.Signed, x, y)
}

// boundsByName is bounds for Go 1.25, which has a function for each kind of check
// (runtime/panic.go, goPanicIndex and so on). Such a function stores its two arguments, the
// numbers, in its caller's spill area, as gopanic does.
func (d *Details) boundsByName(kind []byte, fp uintptr) {
	r := &d.Reason
	r.Str("runtime error: ")
	signed := true
	if n := len(kind); n > 0 && kind[n-1] == 'U' {
		kind, signed = kind[:n-1], false
	}
	x, ok0 := tracer.ReadWord(fp + 16)
	y, ok1 := tracer.ReadWord(fp + 24)
	for code := range boundsNames {
		if ok0 && ok1 && ascii.Same(kind, boundsNames[code]) {
			r.outOfBounds(tracer.BoundsCode(code), signed, int64(x), int64(y))
			return
		}
	}
	r.Str("index or slice bounds out of range")
}

// boundsNames are the kinds of checks in the names of Go 1.25's functions. Never written.
var boundsNames = [len(boundsFormats)]string{
	tracer.BoundsIndex:      "Index",
	tracer.BoundsSliceAlen:  "SliceAlen",
	tracer.BoundsSliceAcap:  "SliceAcap",
	tracer.BoundsSliceB:     "SliceB",
	tracer.BoundsSlice3Alen: "Slice3Alen",
	tracer.BoundsSlice3Acap: "Slice3Acap",
	tracer.BoundsSlice3B:    "Slice3B",
	tracer.BoundsSlice3C:    "Slice3C",
	tracer.BoundsConvert:    "SliceConvert",
}

// outOfBounds appends the runtime's words for a failed check.
func (r *text) outOfBounds(c tracer.BoundsCode, signed bool, x, y int64) {
	format := formatOf(&boundsFormats, c)
	if signed && x < 0 {
		format = formatOf(&negativeFormats, c)
	}
	for i := 0; i < len(format); i++ {
		switch format[i] {
		case 'X':
			if signed {
				r.int(x)
			} else {
				r.Dec(uint64(x))
			}
		case 'Y':
			r.int(y)
		default:
			r.byte(format[i])
		}
	}
}

// The runtime's words for each kind of check (runtime/error.go), with X and Y for the two numbers,
// and those for a negative X, which need no Y. Never written.
var (
	boundsFormats = [...]string{
		tracer.BoundsIndex:      "index out of range [X] with length Y",
		tracer.BoundsSliceAlen:  "slice bounds out of range [:X] with length Y",
		tracer.BoundsSliceAcap:  "slice bounds out of range [:X] with capacity Y",
		tracer.BoundsSliceB:     "slice bounds out of range [X:Y]",
		tracer.BoundsSlice3Alen: "slice bounds out of range [::X] with length Y",
		tracer.BoundsSlice3Acap: "slice bounds out of range [::X] with capacity Y",
		tracer.BoundsSlice3B:    "slice bounds out of range [:X:Y]",
		tracer.BoundsSlice3C:    "slice bounds out of range [X:Y:]",
		tracer.BoundsConvert:    "cannot convert slice with length Y to array or pointer to array with length X",
	}
	negativeFormats = [len(boundsFormats)]string{
		tracer.BoundsIndex:      "index out of range [X]",
		tracer.BoundsSliceAlen:  "slice bounds out of range [:X]",
		tracer.BoundsSliceAcap:  "slice bounds out of range [:X]",
		tracer.BoundsSliceB:     "slice bounds out of range [X:]",
		tracer.BoundsSlice3Alen: "slice bounds out of range [::X]",
		tracer.BoundsSlice3Acap: "slice bounds out of range [::X]",
		tracer.BoundsSlice3B:    "slice bounds out of range [:X:]",
		tracer.BoundsSlice3C:    "slice bounds out of range [X::]",
	}
)

func formatOf(formats *[len(boundsFormats)]string, c tracer.BoundsCode) string {
	if int(c) < len(formats) {
		return formats[c]
	}
	return "index or slice bounds out of range"
}

// panicValue reports the value that panic was called with. gopanic stores its argument, an
// interface value, in the room that its caller leaves above the return address
// (cmd/compile/abi-internal.md, "spill area").
func (d *Details) panicValue(fp uintptr) {
	r := &d.Reason
	r.Str("panic: ")
	typ, ok0 := tracer.ReadWord(fp + 16)
	data, ok1 := tracer.ReadWord(fp + 24)
	if !ok0 || !ok1 {
		r.Str("(its value cannot be read)")
		return
	}
	if typ == 0 {
		r.Str("nil")
		return
	}
	kind, _ := readByte(typ + typeKind)
	v, ok := tracer.ReadWord(data)
	switch kind &= kindMask; {
	case kind == kindString && ok:
		n, _ := tracer.ReadWord(data + 8)
		r.memory(v, n)
		return
	case kind >= kindInt && kind <= kindInt64 && ok:
		r.int(int64(v) << narrow(kind-kindInt) >> narrow(kind-kindInt))
	case kind >= kindUint && kind <= kindUint64 && ok:
		r.Dec(uint64(v) << narrow(kind-kindUint) >> narrow(kind-kindUint))
	default:
		r.Str("a value")
	}
	r.Str(" of type ")
	r.typeName(typ)
}

// Layout of a type (internal/abi/type.go, Type) and of its name (Name there).
const (
	typeFlags = 20
	typeKind  = 23
	typeStr   = 40 // offset of the name from runtime.types

	kindMask   = 31
	kindInt    = 2
	kindInt64  = 6
	kindUint   = 7
	kindUint64 = 11
	kindString = 24

	flagExtraStar = 2 // the name begins with a star that is not the type's
)

// narrow returns the left shift that moves the bits of the n-th kind of integer (word, 8, 16, 32,
// 64 bits) to the top of a word.
func narrow(n byte) uint {
	if n == 0 || n == 4 {
		return 0
	}
	return 64 - 4<<n
}

// typeName appends the name of the type at typ.
func (t *text) typeName(typ uintptr) {
	w, _ := tracer.ReadWord(typ + typeStr)
	p := arch.TypesBase() + uintptr(uint32(w))
	flags, _ := readByte(typ + typeFlags)
	// The name is a byte of flags, the length (7 bits a byte, lowest first), the bytes.
	p++
	n := uintptr(0)
	for shift := uint(0); shift < 21; shift += 7 {
		b, _ := readByte(p)
		p++
		n |= uintptr(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	if flags&flagExtraStar != 0 && n > 0 {
		p, n = p+1, n-1
	}
	t.memory(p, n)
}

// memory appends the n bytes at p, as far as they can be read and fit.
func (t *text) memory(p, n uintptr) {
	for ; n > 0; n-- {
		b, ok := readByte(p)
		if !ok {
			return
		}
		t.byte(b)
		if p++; t.N == len(t.b) {
			if n > 1 {
				t.byte(0) // marks the cut: there is more
			}
			return
		}
	}
}

// readByte reads a byte of memory that may not be mapped.
func readByte(p uintptr) (byte, bool) {
	w, ok := tracer.ReadWord(p &^ 7)
	return byte(w >> (p & 7 * 8)), ok
}

func runtimeName(name []byte) bool {
	return ascii.HasPrefix(name, "runtime.") || ascii.HasPrefix(name, "internal/")
}
