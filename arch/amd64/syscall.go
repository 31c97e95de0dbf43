package amd64

import "unsafe"

// The system call entry, and the return to a thread. Threads run in ring 0, on stacks that they
// manage themselves, so only the SYSCALL instruction separates them from the kernel: it masks
// interrupts and jumps to syscallEntry, which saves the registers on the one kernel stack and calls
// the kernel's handler.

// VectorSyscall is the vector in the trap record that a system call's entry makes. It equals the
// tracer's constant of that name; the kernel checks that at compile time. The record's error code
// is the number of the call.
const VectorSyscall = 257

// Selectors in a TrapFrame.
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

// What the entry code needs besides the CPU's record. Set once at boot.
var (
	syscallHandler uintptr // address of the kernel's handler
	hasFSGSBASE    uint32  // WRFSBASE can be used, which is faster than WRMSR
)

// SetSyscallHandler sets the function that every system call calls, with the saved registers and
// the CPU's record, on the stack lo <= address < top (a multiple of 16), and turns SYSCALL on. The
// call's result goes into f.AX; the thread loses f.CX and f.R11, as the instruction demands. The
// function must be a top-level one. Early context.
func SetSyscallHandler(f func(*TrapFrame, *CPU), lo, top uintptr) {
	syscallHandler = EntryOf(f)
	c := ThisCPU()
	c.syscallTop, c.syscallGuard = top, lo+StackGuard
	entry, _, _ := entryCode()
	const trap, direction, nested, alignment = 1 << 8, 1 << 10, 1 << 14, 1 << 18
	WriteMSR(msrSTAR, selCode<<32|selCode<<48)
	WriteMSR(msrLSTAR, uint64(entry))
	WriteMSR(msrSFMASK, FlagInterrupt|trap|direction|nested|alignment)
	WriteMSR(MSREFER, ReadMSR(MSREFER)|eferSyscall)
}

// InKernel reports whether the kernel was interrupted, not a thread.
func (f *TrapFrame) InKernel() bool { return f.InKernelOf(ThisCPU()) }

// InKernelOf is InKernel for the CPU with the record c.
func (f *TrapFrame) InKernelOf(c *CPU) bool { return f.TLS == c.KernelFS() || inEntry(f.PC) }

// entryCode bounds syscallEntry, which begins at enter, and resume after it.
func entryCode() (enter, resume, hi uintptr)

// LastCall returns the frame of the latest system call; the call may be over. Kernel
// context, once SetSyscallHandler has been called.
func LastCall() *TrapFrame {
	return (*TrapFrame)(Pointer(ThisCPU().syscallTop - unsafe.Sizeof(TrapFrame{})))
}

// BeginKernelStack calls f, a top-level function that does not return, on the kernel stack from its
// top, without overwriting [LastCall]'s frame. A trace of f ends there: for that, the two words
// above the top that SetSyscallHandler got must belong to the stack, too. It does not return.
// Kernel context, on any stack.
func BeginKernelStack(f func()) {
	c := ThisCPU()
	c.leaveInterrupt()
	SetStackGuard(c.syscallGuard - StackGuard)
	beginStack(c.syscallTop, uintptr(unsafe.Pointer(LastCall())), EntryOf(f))
}

func beginStack(last, top, f uintptr)

// UserTLS returns the FS base of the thread that the CPU runs, to which its system call or
// trap returns.
func (c *CPU) UserTLS() uintptr { return c.userFS }

// SetUserTLS sets it for the thread whose system call is being handled, also in the frame, from
// which it is restored.
func (f *TrapFrame) SetUserTLS(base uintptr) {
	f.TLS = base
	ThisCPU().userFS = base
}

// Resume leaves the kernel: it loads the registers from f and continues at f.PC. If fpu is not 0,
// it also loads the FPU from the save area at that address; otherwise only its control words (see
// SaveControl). It does not return. Kernel context, with interrupts off.
func Resume(f *TrapFrame, fpu uintptr, control uint64) {
	c := ThisCPU()
	c.userFS, c.resumed = f.TLS, uintptr(unsafe.Pointer(f))
	if several {
		c.leaveInterrupt()
	}
	if c.branches == branchesHeld { // the fault that held them was the resumed thread's
		WriteMSR(branchMSR, branchOn)
		c.branches = branchesOn
	}
	resume(f, fpu, control)
}

// leaveInterrupt is for an interrupt's handler that does not return: the next interrupt must find
// its stack free, whether that strikes an idle CPU or a page fault that waits for the kernel lock.
func (c *CPU) leaveInterrupt() { *(*uintptr)(Pointer(c.irqSS)) = 0 }

func resume(f *TrapFrame, fpu uintptr, control uint64)

// WaitForInterrupt enables interrupts, halts until one has been handled, and returns with
// interrupts off. It does not miss an interrupt that is already pending. Kernel context.
func WaitForInterrupt()

func haltAt() uintptr

// SkipHalt is for an NMI between the two instructions of [WaitForInterrupt]. The IRETQ that ends
// the NMI also ends the shadow of STI, so an interrupt would be handled before the HLT, which would
// then wait for another one. So the HLT is skipped; whoever waits looks again.
func (f *TrapFrame) SkipHalt() {
	if at := haltAt(); f.PC == at {
		f.PC = at + 1
	}
}
