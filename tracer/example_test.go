package tracer_test

import (
	"fmt"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// A kernel of one's own: a table of stacks, the bounds of the text, a function
// that sends a byte. Here the "stack" is an array with three frame records, as a
// compiler that keeps frame pointers would have made them, and the "serial port"
// is the standard output.
func Example() {
	var stack [32]uintptr
	at := func(i int) uintptr { return uintptr(unsafe.Pointer(&stack[i])) }
	stack[10], stack[11] = at(20), 0x201080 // of the function that died: called from 0x201080
	stack[20], stack[21] = at(30), 0x201040
	stack[30], stack[31] = 0, 0 // of the entry stub: FP 0, return address 0

	stacks := []tracer.Stack{{Name: "boot", Lo: at(0), Hi: at(31) + 8}}
	walker := tracer.Walker{
		Stacks: stacks,
		TextLo: 0x200000, TextHi: 0x280000,
		Frames: make([]tracer.Frame, 64),
	}
	walker.Walk(0x201100, at(8), at(10)) // PC, SP, FP of the trap

	for _, f := range walker.Frames[:walker.N] {
		fmt.Printf("%v %#x\n", f.Kind, f.Addr)
	}
	fmt.Println(walker.End)
	// Output:
	// pc 0x201100
	// ra 0x201080
	// ra 0x201040
	// zero
}

// The wire format, written a byte at a time.
func ExampleWriter() {
	writer := tracer.Writer{Put: func(b byte) {
		if b != '\r' {
			fmt.Printf("%c", b)
		}
	}}
	buildID := []byte{0xc0, 0xff, 0xee}
	writer.Begin(1, tracer.KindFault, tracer.ContextEarly, 0, 0, buildID, 0x200000, 0x280000)
	writer.Reason([]byte("invalid opcode"))
	writer.Cause(6, 0, 0x201100, 0, false)
	writer.Frame(0, &tracer.Frame{Kind: tracer.PC, Addr: 0x201100, SP: 0x9040, FP: 0x9050}, "boot")
	writer.Stop(tracer.EndZero, 0)
	writer.Done()
	// Output:
	// zf1 begin 1 fault early thread=0 build=c0ffee
	// zf1 reason invalid opcode
	// zf1 cause vector=6 name=#UD error=0x0 pc=0x201100
	// zf1 #0 pc 0x201100 sp 0x9040 fp 0x9050 boot
	// zf1 stop zero (complete)
	// zf1 done 5 crc=0xf8678131
}
