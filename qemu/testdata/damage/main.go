// Damage breaks something that the panic path meets, and dies.
package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

//go:linkname vga github.com/zeroframe/zeroframe/kernel/screen.vga
var vga uintptr

//go:linkname threads github.com/zeroframe/zeroframe/kernel/sched.table
var threads [2]uintptr

// nowhere is an address that nothing is mapped at.
const nowhere = 0x70_0000_0000

func main() {
	switch os.Args[1] {
	case "screen":
		vga = nowhere
		fmt.Print("a line that is begun")
	case "threads":
		threads[1] = nowhere
		call()
	case "threads-wild":
		threads[1] = 1 << 63
		call()
	case "gdt":
		zero(gdt() + 8)
	case "idt":
		zero(idt() + 14*16)
	case "tss":
		g := gdt() + 3*8
		low := *(*uint64)(at(g))
		zero(uintptr(low>>16&0xffffff|low>>56<<24) + 36)
	case "task-switched":
		taskSwitched()
	case "no-sse":
		noSSE()
	case "mute":
		mute = [2]uint64{0x0101010101010101, 0x0101010101010101}
		load(nil)
	case "console", "ladder":
		noWriteProtect()
		f := consoleTrace
		if os.Args[1] == "ladder" {
			f = climb
		}
		const ud2 = 0x0b0f
		*(*uint16)(at(**(**uintptr)(unsafe.Pointer(&f)))) = ud2
		load(nil)
	case "asleep":
		for range 3 {
			go func() { select {} }()
		}
		<-make(chan int)
	}
}

//go:linkname mute github.com/zeroframe/zeroframe/kernel/console.midway
var mute [2]uint64

//go:linkname consoleTrace github.com/zeroframe/zeroframe/kernel/console.Trace
func consoleTrace()

//go:linkname climb github.com/zeroframe/zeroframe/kernel.climb
func climb()

func at(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// call enters the kernel at once: an allocation before it might do so on another stack.
//
//go:noinline
func call() { syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0) }

//go:noinline
func zero(a uintptr) { *(*uint64)(at(a)) = 0 }

//go:noinline
func load(p *int) int { return *p }

// In assembly (cpu_amd64.s): where the CPU's tables are, and what takes its FPU away and
// then reads through a nil pointer.

func gdt() uintptr
func idt() uintptr
func taskSwitched()
func noSSE()
func noWriteProtect()
