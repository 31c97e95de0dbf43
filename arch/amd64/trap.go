package amd64

import "unsafe"

// TrapFrame is what trap_amd64.s leaves on the stack of a trap, lowest address first. From FP up it
// is the trap record, by which the tracer crosses from the handler to the interrupted code.
type TrapFrame struct {
	Guard uintptr // fake g's stack guard in the interrupted code
	TLS   uintptr // interrupted FS base
	Addr  uintptr // CR2 at entry: for a page fault, the accessed address

	R15, R14, R13, R12, R11, R10, R9, R8 uintptr
	DI, SI, DX, CX, BX, AX               uintptr

	FP     uintptr // interrupted frame pointer
	Mark   uintptr // TrapMark, where a return address would be
	Trap   uintptr // vector
	Error  uintptr // error code, 0 for vectors without one
	PC     uintptr
	CS     uintptr
	RFLAGS uintptr
	SP     uintptr
	SS     uintptr
}

// A landing is the uppermost part of each IST stack, above what the CPU pushes. The CPU begins at
// the top each time; by its landing a trap finds out that another one is being handled on the
// stack, and what that one's words were. A trap's entry fills it in, and clears ss when the handler
// has returned.
type landing struct {
	// What the CPU pushed. ss is selData while a trap is being handled, because a stack is painted
	// with something else.
	error, pc, cs, flags, sp, ss uintptr

	gdt        [2]uintptr // for the entry: room for SGDT
	vector     uintptr
	lo         uintptr // for the entry: lowest address of the stack
	ax, bx, cx uintptr // for the entry: registers
	_          uintptr // the size is a multiple of 16
}

const (
	gateSize   = 7 * 8   // what the CPU and the stub push: SS to the vector
	nestedRoom = 3 << 10 // what must be left of a stack for one more trap
	_          = -(unsafe.Sizeof(landing{}) % 16)
)

// Resume makes the interrupted code continue at pc, with all registers but RFLAGS unchanged. It is
// for faults that are fixed up. If interrupts are off, as they are while a trace is written, the
// entry code then returns without IRETQ, because that instruction would end the blocking of NMIs
// (SDM Vol. 3A, 6.7.1): if the fixed-up code runs on behalf of an NMI, the next NMI would overwrite
// the frame to which the first one must still return.
func (f *TrapFrame) Resume(pc uintptr) {
	const interruptFlag = 1 << 9
	f.PC = pc
	if f.RFLAGS&interruptFlag == 0 {
		f.CS = 0 // IRETQ would load it, and nothing else does
	}
}

// TrapMark marks the trap record in a TrapFrame. It equals the tracer's
// constant of that name; the kernel checks that at compile time.
const TrapMark uintptr = 0xf1_7061_7274_3166_7a

// trapMark is TrapMark in memory, from where it can be pushed without a register. Set once at boot.
var trapMark = TrapMark

// Exception vectors (SDM Vol. 3A, table 6-1).
const (
	VectorDE  = 0  // divide error
	VectorDB  = 1  // debug
	VectorNMI = 2  // non-maskable interrupt
	VectorBP  = 3  // breakpoint
	VectorUD  = 6  // invalid opcode
	VectorNM  = 7  // FPU not available
	VectorDF  = 8  // double fault
	VectorSS  = 12 // stack fault
	VectorGP  = 13 // general protection
	VectorPF  = 14 // page fault
	VectorMF  = 16 // x87 floating-point error
	VectorMC  = 18 // machine check
	VectorXM  = 19 // SIMD floating-point error
	VectorIRQ = 32 // first vector that is not an exception
)

// IST slots: the stacks that traps run on (SDM Vol. 3A, 6.14.5). A trap that
// can strike inside another must not share its stack.
const (
	ISTPageFault = 1 // #PF
	ISTException = 2 // all exceptions without a stack of their own
	ISTInterrupt = 3 // vectors from 32 up
	ISTDouble    = 4 // #DF
	ISTNMI       = 5 // NMI
	ISTMachine   = 6 // #MC
	ISTDebug     = 7 // #DB and #BP: a breakpoint may be in any handler; #NM, as the FPU
	NumIST       = 8 // slot 0 means "the current stack" and is not used
)

// ISTOf returns the IST slot of a vector.
func ISTOf(vector int) int {
	switch {
	case vector == VectorPF:
		return ISTPageFault
	case vector == VectorDF:
		return ISTDouble
	case vector == VectorNMI:
		return ISTNMI
	case vector == VectorMC:
		return ISTMachine
	case vector == VectorDB || vector == VectorBP || vector == VectorNM:
		return ISTDebug
	case vector >= VectorIRQ:
		return ISTInterrupt
	}
	return ISTException
}

// vectorIST is ISTOf for the entry code, filled by LoadTables. Set once at boot.
var vectorIST [256]uint8

// nmiOff is not 0 while NMIs are dropped at the gate; nmiDropped counts them. All CPUs share them,
// because GS may be wrong at the gate. Panic path only.
var nmiOff, nmiDropped uint32

// SetTrapHandler sets the function that every trap of the running CPU calls. It runs on the trap's
// stack with interrupts off; when it returns, the interrupted code resumes. It must be a top-level
// function: only its address is kept, as a number, so that no write barrier is needed. Early
// context, first before LoadTables.
func SetTrapHandler(f func(*TrapFrame)) {
	c := ThisCPU()
	cr0 := c.openTables()
	c.tables().handler = EntryOf(f)
	c.closeTables(cr0)
}

// DropNMI turns on or off that the entry code counts NMIs and returns from them at once, using only
// the gate's seven words of their stack.
func DropNMI(on bool) {
	if on {
		nmiOff = 1
	} else {
		nmiOff = 0
	}
}

// DroppedNMIs returns how many NMIs have been dropped since boot.
func DroppedNMIs() uint32 { return nmiDropped }

func entryAddrs() (vectors, entry, leave, ret, nmi, fpu uintptr)

// errorCodes has bit v set if the CPU pushes an error code for exception v (SDM
// Vol. 3A, table 6-1): #DF, #TS, #NP, #SS, #GP, #PF, #AC, #CP, #VC, #SX.
const errorCodes = 0x60227d00

// CopyFrame copies the registers of a trap or system call.
func CopyFrame(to, from *TrapFrame) {
	copyWords(uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)), unsafe.Sizeof(TrapFrame{}))
}
