package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// What a panic of compiled Go was about. Where there is no runtime, the code
// that the compiler inserts (bounds and division checks, panic, the stack check
// at function entry) still calls the runtime's functions; they go for the m of
// the fake g, which is no address, and fault. This file recognizes such a fault
// by the functions on the stack, and says what the caller had done: the index
// and the length, the text of the panic, the stack that is too small. The trace
// then starts at that caller.
//
// It reads what compiled code has left on the stack, which depends on the Go
// version; a test holds it against every toolchain that is supported. Where it
// recognizes nothing, the fault is reported as the fault that it is.

// goPanic looks whether the fault d is one of those, and if so rewrites d.
func (d *death) goPanic() bool {
	t, ok := pcTable()
	if !ok {
		return false
	}
	f, ok := t.Find(d.pc)
	if !ok || !runtimeName(f.Name()) {
		return false
	}
	w := &walker
	w.Plain = true
	w.Walk(d.pc, d.sp, d.fp)
	if name := f.Name(); Same(name, "runtime.morestack") {
		return d.stackCheck(&t)
	}
	for i := 0; i+1 < w.N; i++ {
		fr := &w.Frames[i]
		pc := fr.Addr
		if fr.Kind == tracer.RA {
			pc--
		}
		f, ok := t.Find(pc)
		if !ok || fr.Kind == tracer.Trap || !runtimeName(f.Name()) {
			return false
		}
		name, ra := f.Name(), w.Frames[i+1].Addr
		switch {
		case Same(name, "runtime.panicBounds"):
			d.bounds(&t, fr.FP, ra)
		case Same(name, "runtime.gopanic"):
			d.panicValue(fr.FP)
		case Same(name, "runtime.panicdivide"):
			d.reason.str("runtime error: integer divide by zero")
		case Same(name, "runtime.panicshift"):
			d.reason.str("runtime error: negative shift amount")
		case Same(name, "runtime.panicoverflow"):
			d.reason.str("runtime error: integer overflow")
		case Same(name, "runtime.throw"), Same(name, "runtime.fatal"):
			d.reason.str("fatal error in the Go runtime (")
			d.reason.bytes(name)
			d.reason.byte(')')
		case hasPrefix(name, "runtime.panic"), hasPrefix(name, "runtime.goPanic"):
			// The rest say by their name what happened (panicdottypeE,
			// panicnildottype, panicunsafealignment, ...).
			if i+2 < w.N && isRuntimePanic(&t, ra) {
				continue
			}
			d.reason.str("runtime error: ")
			d.reason.bytes(name)
		default:
			continue
		}
		d.goCaller(w.Frames[i+1].Addr, fr.FP)
		return true
	}
	return false
}

// goCaller restarts the trace at the caller of a runtime function whose frame
// record is at fp.
func (d *death) goCaller(ra, fp uintptr) {
	saved, ok := tracer.ReadWord(fp)
	if !ok {
		return
	}
	d.kind = tracer.KindPanic
	d.cause, d.have = false, 0
	d.callerAt(ra, fp+16, saved)
}

// stackCheck: a function's entry found less than StackGuard bytes of stack and
// called morestack, before it pushed anything:
//
//	[RSP]    return address into that function
//	[RSP+8]  its own return address
func (d *death) stackCheck(t *tracer.PCTable) bool {
	ra, ok := tracer.ReadWord(d.sp)
	if !ok {
		return false
	}
	d.kind = tracer.KindPanic
	d.reason.str("stack overflow: ")
	name := "an unknown stack"
	for i := range stacks {
		if stacks[i].Contains(d.sp) {
			name = stacks[i].Name
		}
	}
	d.reason.str(name)
	d.reason.str(" has no room for another frame")
	sp, fp := d.sp+8, d.fp
	d.cause, d.have = false, 0
	d.callerAt(ra, sp, fp)
	return true
}

// The layout of runtime.panicBounds' frame (runtime/asm_amd64.s): below the
// frame record lie 144 bytes, in which the 16 registers start 16 bytes up.
const (
	boundsFrame = 144
	boundsRegs  = 16
	boundsTable = 4 // PCDATA_PanicBounds (internal/abi/symtab.go)
)

// bounds says which index and length a failed bounds check had: the call's
// pcdata tells in which registers, or as which constants.
func (d *death) bounds(t *tracer.PCTable, fp, ra uintptr) {
	r := &d.reason
	r.str("runtime error: ")
	f, ok := t.Find(ra - 1)
	var c tracer.BoundsCheck
	if ok {
		var v int32
		if v, ok = f.PCData(boundsTable, ra-1); ok {
			c, ok = tracer.DecodeBoundsCheck(v)
		}
	}
	if !ok {
		r.str("index or slice bounds out of range")
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
	format := formatOf(&boundsFormats, c.Code)
	if c.Signed && x < 0 {
		format = formatOf(&negativeFormats, c.Code)
	}
	for i := 0; i < len(format); i++ {
		switch format[i] {
		case 'X':
			if c.Signed {
				r.int(x)
			} else {
				r.dec(uint64(x))
			}
		case 'Y':
			r.int(y)
		default:
			r.byte(format[i])
		}
	}
}

// The runtime's words for each kind of check (runtime/error.go), with X and Y
// for the two numbers; and those for a negative X, which need no Y.
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

// Values whose type words panicValue knows.
var (
	aString any = ""
	anInt   any = 0
)

// typeWord returns the first word of an interface value: its type.
func typeWord(v *any) uintptr { return *(*uintptr)(unsafe.Pointer(v)) }

// panicValue says what panic was called with. gopanic stores its argument, an
// interface value, in the room that its caller leaves above the return address
// (cmd/compile/abi-internal.md, "spill area").
func (d *death) panicValue(fp uintptr) {
	r := &d.reason
	r.str("panic: ")
	typ, ok0 := tracer.ReadWord(fp + 16)
	data, ok1 := tracer.ReadWord(fp + 24)
	switch {
	case !ok0 || !ok1:
		r.str("(its value cannot be read)")
	case typ == 0:
		r.str("nil")
	case typ == typeWord(&aString):
		p, _ := tracer.ReadWord(data)
		n, _ := tracer.ReadWord(data + 8)
		for ; n > 0 && r.n < len(r.b); n-- {
			w, ok := tracer.ReadWord(p &^ 7)
			if !ok {
				break
			}
			r.byte(byte(w >> (p & 7 * 8)))
			p++
		}
	case typ == typeWord(&anInt):
		v, _ := tracer.ReadWord(data)
		r.int(int64(v))
	default:
		r.str("(a value that is no string)")
	}
}

func runtimeName(name []byte) bool {
	return hasPrefix(name, "runtime.") || hasPrefix(name, "internal/")
}

func isRuntimePanic(t *tracer.PCTable, ra uintptr) bool {
	f, ok := t.Find(ra - 1)
	return ok && runtimeName(f.Name())
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && Same(b[:len(s)], s) }
