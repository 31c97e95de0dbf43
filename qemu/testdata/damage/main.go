// Damage breaks something that the panic path meets, and dies.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

//go:linkname cellsAt github.com/zeroframe/zeroframe/kernel/dev/screen.cellsAt
var cellsAt uintptr

//go:linkname threads github.com/zeroframe/zeroframe/kernel/thread.table
var threads [2]uintptr

//go:linkname tables github.com/zeroframe/zeroframe/kernel/mem.root
var tables uintptr

// mapped is memory that a GS base leads to.
var mapped [512]uint64

// nowhere is an address that nothing is mapped at.
const nowhere = 0x70_0000_0000

func main() {
	switch os.Args[1] {
	case "screen":
		cellsAt = nowhere
		fmt.Print("a line that is begun")
	case "threads":
		threads[1] = nowhere
		call()
	case "threads-wild":
		threads[1] = 1 << 63
		call()
	case "tables":
		page, err := syscall.Mmap(-1, 0, 1<<12, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		tables = nowhere
		store(&page[0])
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
	case "gs":
		const setGS = 0x1001 // ARCH_SET_GS of arch_prctl(2)
		for range 2 {
			_, _, e := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, setGS, uintptr(unsafe.Pointer(&mapped)), 0)
			fmt.Println("ARCH_SET_GS:", e)
		}
		// A system call, a timer's interrupt, a page that is not there yet.
		for _, base := range []uintptr{0, nowhere, uintptr(unsafe.Pointer(&mapped))} {
			setGSBase(base)
			call()
			setGSBase(base)
			for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
			}
			setGSBase(base)
			fresh := make([]byte, 1<<20)
			fresh[len(fresh)/2]++
		}
		fmt.Println("mapped memory is as it was:", mapped == [512]uint64{})
		clearGS()
	case "record":
		record[0] = 0
		load(nil)
	case "record-all":
		record = [len(record)]uint64{}
		load(nil)
	case "mute":
		mute = [2]uint64{0x0101010101010101, 0x0101010101010101}
		load(nil)
	case "console", "stages", "entry", "console-lost", "stages-lost":
		noWriteProtect()
		mode, lost := strings.CutSuffix(os.Args[1], "-lost")
		f := consoleTrace
		switch mode {
		case "stages":
			f = climb
		case "entry":
			f = trap
		}
		if lost {
			// The first two rows of what is kept twice are the code: their lengths.
			*(*uintptr)(at(keptRoom + 8)) = 0
			*(*uintptr)(at(keptRoom + 32)) = 0
		}
		const ud2 = 0x0b0f
		*(*uint16)(at(**(**uintptr)(unsafe.Pointer(&f)))) = ud2
		load(nil)
	case "asleep":
		// Alike they would be one trace.
		go func() { select {} }()
		go func() { <-make(chan int) }()
		go func() { make(chan int) <- 1 }()
		<-make(chan int)
	}
}

// record begins with its own address.
//
//go:linkname record github.com/zeroframe/zeroframe/kernel/percpu.first
var record [80]uint64

//go:linkname mute github.com/zeroframe/zeroframe/kernel/console.midway
var mute [2]uint64

//go:linkname consoleTrace github.com/zeroframe/zeroframe/kernel/console.TraceByte
func consoleTrace()

//go:linkname keptRoom github.com/zeroframe/zeroframe/kernel.keptRoom
var keptRoom uintptr

//go:linkname trap github.com/zeroframe/zeroframe/kernel/fault.Trap
func trap()

//go:linkname climb github.com/zeroframe/zeroframe/kernel/fault.NextStage
func climb()

func at(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// call enters the kernel at once: an allocation before it might do so on another stack.
//
//go:noinline
func call() { syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0) }

//go:noinline
func zero(a uintptr) { *(*uint64)(at(a)) = 0 }

//go:noinline
func store(p *byte) { *p = 1 }

//go:noinline
func load(p *int) int { return *p }

// In assembly (cpu_amd64.s): where the CPU's tables are, and what takes its FPU away, or
// clears GS, and then reads through a nil pointer.

func gdt() uintptr
func idt() uintptr
func taskSwitched()
func noSSE()
func clearGS()
func setGSBase(base uintptr)
func noWriteProtect()
