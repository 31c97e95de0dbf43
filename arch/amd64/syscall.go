package amd64

import "unsafe"

// The system call entry, and the way back to a thread. Threads run in ring 0, on
// stacks that they manage themselves, so nothing but the SYSCALL instruction parts
// them from the kernel: it masks interrupts and jumps to syscallEntry, which saves
// the registers on the one kernel stack and calls the kernel's handler.

// VectorSyscall is the vector in the trap record that a system call's entry makes.
// It equals the tracer's constant of that name; the kernel checks that at compile
// time. The record's error code is the number of the call.
const VectorSyscall = 257

// Selectors as a TrapFrame holds them.
const (
	SelCode = selCode
	SelData = selData
)

// FlagInterrupt is RFLAGS.IF. FlagsFixed is the bit of RFLAGS that is always 1.
const (
	FlagInterrupt = 1 << 9
	FlagsFixed    = 1 << 1
)

// Model-specific registers of SYSCALL (AMD64 manual Vol. 2, 6.1.1).
const (
	msrSTAR     = 0xc0000081
	msrLSTAR    = 0xc0000082
	msrSFMASK   = 0xc0000084
	eferSyscall = 1 << 0
)

// What the entry code needs beside the CPU's record. Set once at boot.
var (
	syscallHandler uintptr // address of the kernel's handler
	hasFSGSBASE    uint32  // WRFSBASE can be used, which is faster than WRMSR
)

// SetSyscallHandler sets the function that every system call calls, with the saved
// registers and the CPU's record, on the stack lo <= address < top (a multiple of 16), and turns SYSCALL
// on. The call's result goes into f.AX; f.CX and f.R11 are lost to the thread, as
// the instruction has it. The function must be a top-level one. Early context.
func SetSyscallHandler(f func(*TrapFrame, *CPU), lo, top uintptr) {
	syscallHandler = **(**uintptr)(unsafe.Pointer(&f))
	c := ThisCPU()
	c.syscallTop, c.syscallGuard = top, lo+StackGuard
	entry, _, _ := entryCode()
	const trap, direction, nested, alignment = 1 << 8, 1 << 10, 1 << 14, 1 << 18
	WriteMSR(msrSTAR, selCode<<32|selCode<<48)
	WriteMSR(msrLSTAR, uint64(entry))
	WriteMSR(msrSFMASK, FlagInterrupt|trap|direction|nested|alignment)
	WriteMSR(MSREFER, ReadMSR(MSREFER)|eferSyscall)
}

// InKernel reports whether the interrupted code is the kernel's, not a thread's.
func (f *TrapFrame) InKernel() bool { return f.InKernelOf(ThisCPU()) }

// InKernelOf is InKernel for what the CPU with the record c has run.
func (f *TrapFrame) InKernelOf(c *CPU) bool { return f.TLS == c.KernelFS() || inEntry(f.PC) }

// entryCode bounds syscallEntry, which begins at enter, and resume behind it.
func entryCode() (enter, resume, hi uintptr)

// LastCall returns the frame of the latest system call; the call may be over. Kernel
// context, once SetSyscallHandler has been called.
func LastCall() *TrapFrame {
	return (*TrapFrame)(Pointer(ThisCPU().syscallTop - unsafe.Sizeof(TrapFrame{})))
}

// BeginKernelStack calls f, a top-level function that does not return, on the kernel stack from its
// top, and leaves [LastCall]'s frame alone. A trace of f ends there: for that the two words above the
// top that SetSyscallHandler got are of that stack, too. It does not return. Kernel context, on any stack.
func BeginKernelStack(f func()) {
	c := ThisCPU()
	c.leaveInterrupt()
	SetStackGuard(c.syscallGuard - StackGuard)
	beginStack(c.syscallTop, uintptr(unsafe.Pointer(LastCall())), **(**uintptr)(unsafe.Pointer(&f)))
}

func beginStack(last, top, f uintptr)

// UserTLS returns the FS base of the thread that the CPU runs, to which its system call or
// trap returns.
func (c *CPU) UserTLS() uintptr { return c.userFS }

// SetUserTLS sets it, for the thread whose system call is being handled: in the
// frame too, from where it is restored.
func (f *TrapFrame) SetUserTLS(base uintptr) {
	f.TLS = base
	ThisCPU().userFS = base
}

// Resume leaves the kernel: it loads the registers from f and goes on at f.PC.
// With fpu not 0, it loads the FPU from the save area at that address, too;
// otherwise only its control words (see SaveControl). It does not return. Kernel
// context, with interrupts off.
func Resume(f *TrapFrame, fpu uintptr, control uint64) {
	c := ThisCPU()
	c.userFS, c.resumed = f.TLS, uintptr(unsafe.Pointer(f))
	if several {
		c.leaveInterrupt()
	}
	if c.branches == branchesHeld { // a fault was the thread's that was left
		WriteMSR(branchMSR, branchOn)
		c.branches = branchesOn
	}
	resume(f, fpu, control)
}

// leaveInterrupt is for an interrupt's handler that does not go on: the next one is to find its stack free,
// be it one of an idle CPU, or one within a page fault, as there are while the kernel lock is waited for.
func (c *CPU) leaveInterrupt() { *(*uintptr)(Pointer(c.irqSS)) = 0 }

func resume(f *TrapFrame, fpu uintptr, control uint64)

// WaitForInterrupt lets interrupts in, halts until one has been handled, and
// returns with interrupts off. An interrupt that is already pending is not missed.
// Kernel context.
func WaitForInterrupt()

func haltAt() uintptr

// SkipHalt is for an NMI that comes in between the two instructions of [WaitForInterrupt]. The IRETQ that
// ends it ends the shadow of STI, too: an interrupt would be handled in front of the HLT, which would then
// wait for another one. So the HLT is left out; who waits looks again.
func (f *TrapFrame) SkipHalt() {
	if at := haltAt(); f.PC == at {
		f.PC = at + 1
	}
}
