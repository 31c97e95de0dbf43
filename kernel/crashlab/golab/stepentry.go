package golab

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel"
	"github.com/zeroframe/zeroframe/tracer"
)

// No death but a loop through the kernel's entry code, by each way that leads there. The
// trap flag does not follow it: SYSCALL and the gates clear it. So gdb stops the loop at
// each instruction of that code, and sends an NMI; it ends the loop by stepDone.

var (
	// stepFS is the FS base of the loop's thread: gdb lets others pass.
	stepFS   uintptr
	stepDone uint32
)

//go:noinline
func stepEntryA() {
	runtime.GOMAXPROCS(2) // one for the loop, one for stepOther
	runtime.LockOSThread()
	const room = 32 << 20
	b, err := syscall.Mmap(-1, 0, room, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	kernel.OnInterrupt(stepVector, stepInterrupt)
	go stepOther()
	stepFS = amd64.UserFS()
	for i := 0; stepDone == 0; i += amd64.PageSize {
		stepEntryB(uintptr(unsafe.Pointer(&b[i])))
	}
	os.Stdout.WriteString("stepped\n")
	os.Exit(0)
}

// stepOther sleeps on a goroutine's stack: it is what the kernel has been entered for when
// it resumes the loop's thread.
//
//go:noinline
func stepOther() {
	runtime.LockOSThread()
	for t := (syscall.Timespec{Nsec: 5e6}); stepDone == 0; {
		stepSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)))
	}
}

// stepEntryB begins a turn. page is not there yet.
//
//go:noinline
func stepEntryB(page uintptr) { stepEntryC(page); sink++ }

//go:noinline
func stepEntryC(page uintptr) {
	stepSyscall(syscall.SYS_GETPID, 0)
	t := syscall.Timespec{Nsec: 1e6}
	stepSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)))
	stepTouch(page)
	stepSend(stepVector)
	sink++
}

// stepVector is the vector of an interrupt that stepInterrupt takes.
const stepVector = 0x61

// stepInterrupt's load faults, and is fixed up.
func stepInterrupt() { tracer.ReadWord(1 << 46) }

// In assembly (stepentry_amd64.s).

func stepSyscall(number, arg uintptr)
func stepTouch(address uintptr)

// stepSend sends the CPU an interrupt.
func stepSend(vector uint32)
