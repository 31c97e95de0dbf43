package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// The words that hold the arguments of the innermost frames. Only DWARF tells where an argument
// lives at a pc, and only the host reads DWARF. So the target sends every word that may hold one:
//
//	CFA ...        the function's arguments on the stack, and the places where it spills those
//	               that came in registers: as many bytes as the pc tables say
//	CFA-8, -16     return address, frame pointer
//	below          the function's own variables, among them the parameters of inlined calls
//
// Where a word and the next one can be a pointer and a length, it also sends what the pointer leads
// to: a string or a slice. The host reads from the ELF file whatever is there.

// Limits of what is sent.
const (
	argFrames    = 24 // frames that are examined
	argWords     = 16 // words of one frame's arguments
	ownWords     = 8  // words of one function's own variables
	contentBytes = 32 // bytes of one string or slice
	maxLength    = 1 << 24
	usualArgs    = 2048
)

// argsRoom is the number of words that args= allows. Set once at boot.
var argsRoom = usualArgs / 8

// State of the trace that is being written: how many words may still be sent, and a ring of the
// places whose contents were sent last. Panic path only.
var (
	argsLeft     int
	contentsSent [16]uintptr
	nextContent  int
)

// setArgs reads the option args=BYTES.
func setArgs() {
	if n, ok := option.Number("args"); ok {
		argsRoom = int(min(n, maxStackDump) / 8)
	}
}

// writeArgs writes the argument words of the walk's frames. The stack of frame 0 has already been
// dumped, up to the address dumped.
func writeArgs(d *Details, dumped uintptr) {
	t, ok := image.PCTable()
	if argsLeft = argsRoom; argsLeft == 0 || !ok {
		return
	}
	contentsSent, nextContent = [16]uintptr{}, 0
	w := &stack.Walker
	on, cfa := int8(tracer.NoStack), uintptr(0) // of the previous frame
	for i := 0; i < min(w.N, argFrames) && argsLeft > 0; i++ {
		f := &w.Frames[i]
		if f.Stack != on {
			on, cfa = f.Stack, 0
			if i > 0 {
				dumped = 0
			}
		}
		if f.Kind != tracer.PC && f.Kind != tracer.RA || on == tracer.NoStack {
			continue
		}
		fn, ok := t.Find(f.Addr - uintptr(f.Kind-tracer.PC))
		if !ok {
			continue
		}
		lo := cfa
		if f.Kind == tracer.PC {
			lo = f.SP
		}
		cfa = f.FP + 16
		if f.Kind == tracer.PC {
			// The function may have no frame record.
			if delta, ok := fn.SPDelta(f.Addr); ok {
				cfa = f.SP + uintptr(delta) + 8
			}
		}
		own, ofRuntime := uintptr(ownWords*8), runtimeName(fn.Name())
		if ofRuntime {
			own = 0 // the runtime's own variables are of no interest
		}
		if i == 0 && f.Kind == tracer.PC && !ofRuntime {
			writeRegisterArgs(d)
		}
		if f.Kind == tracer.RA && ofRuntime {
			writeSavedRegisters(f, &fn)
		}
		if i > 0 && f.Kind == tracer.PC && w.Frames[i-1].Kind == tracer.RA {
			writeFaultRegisters(f)
		}
		if lo == 0 || lo > cfa-16 || cfa-16-lo > own {
			lo = cfa - 16 - own
		}
		if own == 0 {
			lo = cfa
		}
		hi := cfa + min(fn.ArgsSize(), argWords*8)
		writeWhere(&stack.Table[on], lo&^7, hi, &dumped, !ofRuntime)
		cfa = f.Last() + 16
	}
}

// writeSavedRegisters writes the registers of its caller that a function of the runtime has saved.
func writeSavedRegisters(f *tracer.Frame, fn *tracer.Func) {
	switch {
	case ascii.Same(fn.Name(), "runtime.panicBounds"):
		writeBoundsRegisters(f.FP)
	case ascii.Same(fn.Name(), "runtime.asyncPreempt"):
		// Those of a goroutine that the runtime stops between two instructions lie below the frame
		// record. By them the host tells whether the goroutine is in a loop.
		if size, ok := fn.SPDelta(f.Addr - 1); ok {
			writePart(f.FP+8-uintptr(size), uintptr(size))
		}
	}
}

// writeWhere writes the words of a stack from lo up to hi, except those below dumped, which have
// already been sent. With contents it also writes what the words may point to.
func writeWhere(s *tracer.Stack, lo, hi uintptr, dumped *uintptr, contents bool) {
	if lo < s.Lo || hi > s.Hi {
		return
	}
	n, out := 0, 0 // words that were read; how many of them need not be sent
	for a := lo; a < hi && n < maxWords; a += 8 {
		v, ok := tracer.ReadWord(a)
		if !ok {
			break
		}
		words[n] = v
		n++
		if a < *dumped {
			out = n
		}
	}
	if n > out {
		k := min(n-out, argsLeft)
		writer.Mem(lo+uintptr(out)*8, words[out:out+k])
		argsLeft -= k
		*dumped = lo + uintptr(out+k)*8
	}
	for i := 0; contents && i+1 < n; i++ {
		room := uintptr(0)
		if i+2 < n {
			room = words[i+2]
		}
		writeContent(words[i], words[i+1], room)
	}
}

// writeRegisterArgs writes what the argument registers of frame 0 point to.
func writeRegisterArgs(d *Details) {
	regs := tracer.Native().Arguments
	for i := 0; i+1 < len(regs); i++ {
		room := uintptr(0)
		if i+2 < len(regs) {
			room = d.Regs[regs[i+2]]
		}
		if d.Have>>regs[i]&d.Have>>regs[i+1]&1 != 0 {
			writeContent(d.Regs[regs[i]], d.Regs[regs[i+1]], room)
		}
	}
}

// writeFaultRegisters writes the registers of a frame that faulted and whose signal handler then
// called the runtime's sigpanic, and what they point to. It does so only if that was the latest
// fault.
func writeFaultRegisters(f *tracer.Frame) {
	const n = arch.ContextRegisters
	c := linux.FaultRegisters()
	regs := (*[n]uintptr)(unsafe.Pointer(c))
	if regs[n-2] != f.SP || regs[n-1] != f.Addr || argsLeft < n {
		return
	}
	writer.Mem(uintptr(unsafe.Pointer(c)), regs[:])
	argsLeft -= n
	for i := range tracer.Native().Arguments {
		writeContent(c.Argument(i), c.Argument(i+1), c.Argument(i+2))
	}
}

// writeBoundsRegisters writes the registers of its caller that runtime.panicBounds has saved, with
// the return address, and what they point to (gopanic.go). fp is the address of panicBounds' frame
// record.
func writeBoundsRegisters(fp uintptr) {
	const n = (boundsFrame-boundsRegs)/8 + 2
	lo := fp - boundsFrame + boundsRegs
	for i := range n {
		v, ok := tracer.ReadWord(lo + uintptr(i)*8)
		if !ok || argsLeft < n {
			return
		}
		words[i] = v
	}
	writer.Mem(lo, words[:n])
	argsLeft -= n
	all := [...]uint8{0, 3, 1, 7, 6, 8, 9, 10, 11} // the argument registers
	for i := 0; i+2 < len(all); i++ {
		writeContent(words[all[i]], words[all[i+1]], words[all[i+2]])
	}
}

// writeContent writes the words at p if p may point to a string of n bytes, or to a slice of n
// elements with capacity room.
func writeContent(p, n, room uintptr) {
	if n == 0 || n > maxLength || n-image.TextLo < image.TextHi-image.TextLo || !hasContent(p) {
		return // or it is a frame record, whose return address is no length
	}
	if room < n || room > maxLength {
		n = min(n, contentBytes)
	} else {
		n = contentBytes // n elements of unknown size
	}
	for _, sent := range contentsSent {
		if sent == p {
			return
		}
	}
	found := 0
	for a := p &^ 7; a < p+n && found < argsLeft; a += 8 {
		v, ok := tracer.ReadWord(a)
		if !ok {
			break
		}
		content[found] = v
		found++
	}
	if found == 0 {
		return
	}
	writer.Mem(p&^7, content[:found])
	argsLeft -= found
	contentsSent[nextContent] = p
	nextContent = (nextContent + 1) % len(contentsSent)
}

// content is the buffer of writeContent. Panic path only.
var content [contentBytes/8 + 1]uintptr

// hasContent reports whether p may point to a string's or a slice's data that is not in the ELF
// file: writable memory of the image, a stack, or memory of the program. Anything else may be a
// device's registers, which change when they are read.
func hasContent(p uintptr) bool {
	for i := 0; i < image.NumSegments; i++ {
		if s := &image.Segments[i]; p-s.Lo < s.Hi-s.Lo {
			return s.Write
		}
	}
	if mem.Mappable(p) {
		return true
	}
	for i := range stack.Table {
		if stack.Table[i].Contains(p) {
			return true
		}
	}
	return false
}
