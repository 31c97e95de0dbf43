// Vectors has 256-bit registers while a signal's handler runs, and says what the handler has
// found of them in its frame, and what of the handler's own values is in them behind it.
package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// Seen is what the handler has found. It is the handler's alone until the signal is over.
var seen struct {
	flags    uint64
	magic1   uint32
	size     uint32
	features uint64
	state    uint32
	magic2   uint32
	low      [2]uint64 // of register 3
	high     [2]uint64
}

// state is where the upper halves begin in a save area (CPUID 0xD, 2: EBX).
var upper uint64

func handlerAddress() uintptr
func restorerAddress() uintptr
func upperOffset() uint64

// raise loads the registers from in, has a handler run for an instruction that there is none
// of, and stores the registers to out.
func raise(in, out *[64]uint64)

// bare has the handler leave a frame that says of itself that it is FXSAVE's alone.
var bare uint64

func main() {
	fmt.Printf("AVX %v, AVX2 %v, FMA %v, AES %v\n", cpu.X86.HasAVX, cpu.X86.HasAVX2, cpu.X86.HasFMA, cpu.X86.HasAES)
	if !cpu.X86.HasAVX {
		os.Exit(1)
	}
	upper = upperOffset()
	action := struct {
		handler  uintptr
		flags    uint64
		restorer uintptr
		mask     uint64
	}{handlerAddress(), 0x4 | 0x04000000 | 0x08000000, restorerAddress(), 0} // SA_SIGINFO, SA_RESTORER, SA_ONSTACK
	if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGILL), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); e != 0 {
		fmt.Println("rt_sigaction:", e)
		os.Exit(1)
	}
	var in, out [64]uint64
	for i := range in {
		in[i] = uint64(i+1) * 0x0101010101010101
	}
	for bare = range uint64(2) {
		raise(&in, &out)
		fmt.Printf("flags %d, magic %#x and %#x, sizes differ by %d, features %d\n", seen.flags&1, seen.magic1, seen.magic2, seen.size-seen.state, seen.features&7)
		fmt.Printf("in the frame: %x %x\n", seen.low, seen.high)
		for r := range 16 {
			fmt.Printf("%d: %x\n", r, out[4*r:][:4])
		}
	}
}
