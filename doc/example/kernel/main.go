// Command kernel is a whole small kernel for a PC that dies legibly: it uses package tracer
// and nothing else of Zeroframe. doc/tracer.md explains its parts.
//
//	die.go           ways to die
//	entry_amd64.s    from the loader to start
//	main.go          start, and what a death prints
//	trap_amd64.s     from a trap to trap, and the instructions that Go lacks
//	finish/          makes the linker's output bootable
package main

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// The Go runtime is in the image, as in every Go program, and never starts.
func main() {}

// Without a runtime, compiled Go still needs a g, and thread-local storage with its address
// (entry_amd64.s). The numbers are offsets in runtime.g, in words. Go compares SP with
// stackGuard0 in each function that needs a frame. The m is a non-canonical address: code that
// strays into the runtime, as a panic does, faults at once, and the trace shows its caller.
var (
	fakeG = [64]uintptr{gM: 0xbad0_bad0_bad0_0000}
	tls   uintptr
)

const (
	gStackLo, gStackHi         = 0, 1
	gStackGuard0, gStackGuard1 = 2, 3
	gM                         = 6

	// stackGuard is the distance from a stack's lowest word to its guard, in bytes: 800
	// for chains of nosplit functions and 128 for small frames (internal/abi).
	stackGuard = 928
)

// The stacks, and their table, which walks, measurements and the trace use.
var (
	bootStack, trapStack [stackSize / 8]uintptr

	stacks [2]tracer.Stack
)

const (
	stackSize = 32 << 10 // bytes
	signature = tracer.Signature
)

// The state of a walk and a trace. Each takes some KiB, so they are not local variables.
var (
	frames [96]tracer.Frame
	walker tracer.Walker
	writer = tracer.Writer{Put: put}
)

// loaderInfo is the address of the loader's information block.
var loaderInfo uintptr

func start() {
	setStack(0, "boot", &bootStack)
	setStack(1, "trap", &trapStack)
	tracer.Paint(stacks[1].Lo, stacks[1].Hi) // entry_amd64.s has painted the other one
	fakeG[gStackLo], fakeG[gStackHi] = stacks[0].Lo, stacks[0].Hi
	fakeG[gStackGuard0], fakeG[gStackGuard1] = stacks[0].Lo+stackGuard, stacks[0].Lo+stackGuard

	textLo, textHi, _, _ := bounds()
	walker = tracer.Walker{
		Stacks: stacks[:], Frames: frames[:], Outer: 16,
		TextLo: textLo, TextHi: textHi,
		SPDelta: spDelta, Returns: returns,
	}
	loadGates()
	if _, ok := tracer.ReadWord(0); ok {
		say("kernel: page 0 is mapped\r\n")
	}
	say("kernel: up\r\n")
	dieBy(commandLine())
}

func setStack(i int, name string, s *[stackSize / 8]uintptr) {
	lo := uintptr(unsafe.Pointer(s))
	stacks[i] = tracer.Stack{Name: name, Lo: lo, Hi: lo + stackSize, Limit: stackSize * 3 / 4}
}

// spDelta answers from the pc tables, which every Go program has. They lead to the caller of a
// function that has no frame record, whether at this instruction or at all.
func spDelta(pc uintptr) (delta uintptr, ok bool) {
	t, ok := pcTable()
	if !ok {
		return 0, false
	}
	f, ok := t.Find(pc)
	if !ok {
		return 0, false
	}
	d, ok := f.SPDelta(pc)
	return uintptr(d), ok && d >= 0
}

// returns checks the return address that spDelta led to: assembly may move SP by hand.
func returns(pc, ra uintptr) bool {
	t, ok := pcTable()
	return !ok || t.Returns(pc, ra)
}

func pcTable() (tracer.PCTable, bool) {
	textLo, _, lo, hi := bounds()
	return tracer.ParsePCTable(unsafe.Slice((*byte)(at(lo)), int(hi-lo)), textLo)
}

// buildID finds the GNU build ID in the ELF header, which lies in the page below the text. By
// it zf knows whether it has the right file.
func buildID() []byte {
	h := walker.TextLo - 4096
	for i := range uintptr(word[uint16](h + 56)) {
		p := h + word[uintptr](h+32) + 56*i
		if word[uint32](p) != 4 { // PT_NOTE
			continue
		}
		note, end := word[uintptr](p+16), word[uintptr](p+16)+word[uintptr](p+32)
		for note+16 < end {
			name, size := uintptr(word[uint32](note)), uintptr(word[uint32](note+4))
			desc := note + 12 + (name+3)&^3
			if word[uint32](note+8) == 3 && word[uint32](note+12) == 0x00554e47 { // "GNU\0"
				return unsafe.Slice((*byte)(at(desc)), int(size))
			}
			note = desc + (size+3)&^3
		}
	}
	return nil
}

// trapFrame is what trapEntry pushes, the lowest address first. From fp on it is the trap
// record that a walk knows.
type trapFrame struct {
	cr2                                  uintptr
	r15, r14, r13, r12, r11, r10, r9, r8 uintptr
	di, si, dx, cx, bx, ax               uintptr
	fp, mark, vector, code               uintptr
	pc, cs, flags, sp, ss                uintptr
}

// trapMark takes the place of a return address in the record.
var trapMark = tracer.TrapMark

// dying counts the traps that ended in a death.
var dying int

// trap handles all traps. It runs on the stack "trap".
func trap(f *trapFrame) {
	// The walk read memory that is not there: resume it, and it reports that.
	if resume := tracer.Fixup(f.pc); resume != 0 {
		f.pc = resume
		return
	}
	// The CPU starts each trap at the top of the stack, which this trap occupies. Let later
	// ones start below.
	setTrapTop(stacks[1].Hi - stackSize/2)
	reason := tracer.VectorName(uint32(f.vector))
	dying++
	switch dying {
	case 1:
		trace(f, reason)
	case 2:
		writer.Last(tracer.KindFault, f.pc, unsafe.Slice(unsafe.StringData(reason), len(reason)))
	}
	out(0xf4, 0x21) // QEMU's isa-debug-exit: zf run takes this for "it ended in a trace"
	halt()
}

func trace(f *trapFrame, reason string) {
	walker.Walk(f.pc, f.sp, f.fp)

	writer.Begin(1, tracer.KindFault, tracer.ContextKernel, 0, 0, buildID(),
		walker.TextLo, walker.TextHi)
	writer.Reason(unsafe.Slice(unsafe.StringData(reason), len(reason)))
	writer.Cause(uint32(f.vector), uint32(f.code), f.pc, f.cr2, f.vector == 14)
	n := 0 // the frame's number, counting folded and left-out frames
	for i := range walker.Frames[:walker.N] {
		if walker.LeftOut != 0 && i == len(frames)-2*walker.Outer {
			writer.LeftOut(walker.LeftOut)
			n += int(walker.LeftOut)
		}
		w := &walker.Frames[i]
		name := ""
		if w.Stack >= 0 {
			name = stacks[w.Stack].Name
		}
		writer.Frame(n, w, name)
		n += 1 + int(w.Repeat)
	}
	writer.Stop(walker.End, walker.EndValue)
	values := [tracer.NumRegisters]uintptr{
		f.pc, f.sp, f.fp, f.flags, f.ax, f.bx, f.cx, f.dx, f.si, f.di,
		f.r8, f.r9, f.r10, f.r11, f.r12, f.r13, f.r14, f.r15, f.cr2,
	}
	writer.Registers(&values, 1<<19-1)
	for i := range stacks {
		stacks[i].Measure()
		writer.Stack(&stacks[i])
	}
	writer.Done()
}

// The CPU's tables: a GDT with the segments of the boot and a TSS, the TSS with the stack of
// all traps in IST 1, and 32 interrupt gates (Intel SDM Vol. 3A, 3.4.5, 7.7 and 6.14.1).
var (
	gdt = [5]uint64{1: 0x00af9b000000ffff, 2: 0x00cf93000000ffff}
	tss [26]uint32
	idt [2 * 32]uint64
)

func setTrapTop(top uintptr) { tss[9], tss[10] = uint32(top), uint32(top>>32) }

func loadGates() {
	setTrapTop(stacks[1].Hi)
	t := uint64(uintptr(unsafe.Pointer(&tss)))
	gdt[3] = uint64(unsafe.Sizeof(tss)-1) | (t&0xffffff)<<16 | 0x89<<40 | (t>>24&0xff)<<56
	gdt[4] = t >> 32
	for v := range 32 {
		e := uint64(vectorsAddr()) + 12*uint64(v)
		idt[2*v] = e&0xffff | 8<<16 | 1<<32 | 0x8e<<40 | (e>>16&0xffff)<<48
		idt[2*v+1] = e >> 32
	}
	loadTables(uintptr(unsafe.Pointer(&idt)), unsafe.Sizeof(idt))
}

// put waits until the first serial port is ready and sends a byte.
func put(b byte) {
	for in(0x3f8+5)&0x20 == 0 {
	}
	out(0x3f8, b)
}

func say(s string) {
	for i := range len(s) {
		put(s[i])
	}
}

// commandLine returns the command line that the loader passes: PVH (start_info.h) and multiboot 1
// (3.3).
func commandLine() string {
	var p uintptr
	if word[uint32](loaderInfo) == 0x336ec578 {
		p = word[uintptr](loaderInfo + 24)
	} else if word[uint32](loaderInfo)&4 != 0 {
		p = uintptr(word[uint32](loaderInfo + 16))
	}
	if p == 0 {
		return ""
	}
	n := 0
	for word[byte](p+uintptr(n)) != 0 {
		n++
	}
	return unsafe.String((*byte)(at(p)), n)
}

// at turns an address into a pointer; word reads the value there.
func at(a uintptr) unsafe.Pointer     { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
func word[T any](a uintptr) (value T) { return *(*T)(at(a)) }

func vectorsAddr() uintptr
func loadTables(idt, idtSize uintptr)
func bounds() (textLo, textHi, tableLo, tableHi uintptr)
func in(port uint16) byte
func out(port uint16, value byte)
func halt()
