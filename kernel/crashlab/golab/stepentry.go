package golab

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/tracer"
)

// No crash but a loop through the kernel's entry code, by each way into it. The trap flag does not
// work there, because SYSCALL and the gates clear it. So gdb stops the loop at each instruction of
// that code, and sends an NMI; it ends the loop by stepDone.

// Crash lab only.
var (
	// stepFS is the FS base of the loop's thread; gdb lets other threads pass.
	//lint:ignore U1000 gdb reads it
	stepFS uintptr
	// stepCommand is the local APIC's interrupt command register.
	stepCommand uintptr
	stepDone    uint32
)

//go:noinline
func stepEntryA() {
	runtime.GOMAXPROCS(2) // one for the loop, one for stepOther
	runtime.LockOSThread()
	const room = 32 << 20
	b, err := syscall.Mmap(-1, 0, room, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	fault.OnInterrupt(stepVector, stepInterrupt)
	go stepOther()
	stepFS, stepCommand = arch.UserTLS(), arch.Virtual(0xfee00300)
	for i := 0; stepDone == 0; i += arch.PageSize {
		stepEntryB(uintptr(unsafe.Pointer(&b[i])))
	}
	os.Stdout.WriteString("stepped\n")
	os.Exit(0)
}

// stepOther sleeps on a goroutine's stack, so that the kernel was entered from there when it
// resumes the loop's thread. It sleeps for 1 to 6 ms, each time for another duration, so that it
// does not wake at the same place of the loop again and again.
//
//go:noinline
func stepOther() {
	runtime.LockOSThread()
	for t := (syscall.Timespec{Nsec: 1e6}); stepDone == 0; t.Nsec = 1e6 + (t.Nsec+1_370_003)%5e6 {
		stepSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)))
	}
}

// stepEntryB begins a turn. page is not mapped yet. No function of a turn asks for more stack,
// because the runtime would then take a goroutine that has run for long off its thread, and a
// goroutine that gdb has held seems to have run for long.
//
//go:noinline
//go:nosplit
func stepEntryB(page uintptr) { stepEntryC(page); sink++ }

//go:noinline
//go:nosplit
func stepEntryC(page uintptr) {
	stepSyscall(syscall.SYS_GETPID, 0)
	t := syscall.Timespec{Nsec: 1e6}
	stepSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)))
	stepTouch(page)
	stepSend(stepVector, stepCommand)
	sink++
}

// stepVector is the vector of an interrupt that stepInterrupt takes.
const stepVector = 0x61

// stepInterrupt's load faults, and is fixed up.
func stepInterrupt() { tracer.ReadWord(1 << 46) }

// In assembly (stepentry_amd64.s).

func stepSyscall(number, arg uintptr)
func stepTouch(address uintptr)

// stepSend sends the CPU an interrupt by the register at command.
func stepSend(vector uint32, command uintptr)
