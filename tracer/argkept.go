package tracer

// Where a function has stored the arguments that came in registers. The caller sets aside a slot
// for each above the return address. For each pc, the pc tables say which of these slots the
// function has written so far, because the runtime's own traces need it. Source:
// runtime/traceback.go (printArgs) and internal/abi/symtab.go of Go 1.26.

const (
	pcdataArgLive   = 3
	funcdataArgInfo = 5
	funcdataArgLive = 6
	argEnd          = 0xff
	argOpen         = 0xfe
	argClose        = 0xfd
	argMore         = 0xfc
	argFar          = 0xfb
	maxArgInfo      = 256 // bytes of one description
)

// ArgKept reports whether the function, before it runs the instruction at pc, has stored an
// argument in the slot that many bytes above the CFA. It is false for what the pc tables do not
// cover: arguments that come on the stack, and those after the first ten words. For a call, pc is
// inside the call instruction. Any context.
func (f Func) ArgKept(pc uintptr, offset uint8) bool {
	info, ok1 := f.FuncData(funcdataArgInfo)
	live, ok2 := f.FuncData(funcdataArgLive)
	index, ok3 := f.PCData(pcdataArgLive, pc)
	if !ok1 || !ok2 || !ok3 || index <= 0 {
		return false
	}
	first := f.t.funcByte(uint64(live))
	if offset < first {
		return false
	}
	slot := uint64(0)
	for at := uint64(info); at < uint64(info)+maxArgInfo; at++ {
		switch o := f.t.funcByte(at); o {
		case argEnd:
			return false
		case argOpen, argClose, argMore, argFar:
		case offset:
			return f.t.funcByte(uint64(live)+uint64(index)+slot/8)>>(slot%8)&1 != 0
		default:
			at++ // its size
			if o >= first {
				slot++
			}
		}
	}
	return false
}

// funcByte reads the data that FuncData counts from; outside it returns the byte that ends a
// description.
func (t *PCTable) funcByte(off uint64) byte {
	if off >= uint64(len(t.data)) {
		return argEnd
	}
	return t.data[off]
}

// An ArgWord is a scalar of a function's parameters: the offset of its slot from the CFA, and its
// size, both in bytes.
type ArgWord struct{ Offset, Size int64 }

// ArgWords calls each with the scalars of the parameters in order. It reports whether these are
// all: a description has ten at most. Any context.
func (f Func) ArgWords(each func(ArgWord)) (whole bool) {
	info, ok := f.FuncData(funcdataArgInfo)
	if !ok {
		return f.ArgsSize() == 0
	}
	for at := uint64(info); at < uint64(info)+maxArgInfo; at++ {
		switch o := f.t.funcByte(at); o {
		case argEnd:
			return true
		case argOpen, argClose:
		case argMore, argFar:
			return false
		default:
			at++
			each(ArgWord{int64(o), int64(f.t.funcByte(at))})
		}
	}
	return false
}

// A StackObject is a variable with pointers whose address the function takes: its offset from the
// CFA, and its size, both in bytes.
type StackObject struct{ Offset, Size int64 }

const funcdataStackObjects = 2

// StackObjects calls each with the stack objects of a function that has a frame record. Any
// context. Source: runtime/stkframe.go (getStackMap) and runtime/stack.go (stackObjectRecord).
func (f Func) StackObjects(each func(StackObject)) {
	at, ok := f.FuncData(funcdataStackObjects)
	if !ok {
		return
	}
	word := func(at uint64) (v int64) {
		for i := range uint64(4) {
			v |= int64(f.t.funcByte(at+i)) << (8 * i)
		}
		return int64(int32(v))
	}
	const records, varp = 1 << 12, -16
	for i := range min(word(uint64(at)), records) {
		r := uint64(at) + 8 + 16*uint64(i)
		o := StackObject{word(r), word(r + 4)}
		if o.Offset < 0 {
			o.Offset += varp
		}
		each(o)
	}
}
