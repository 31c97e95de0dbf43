package arch

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// The CPU: amd64. doc.go is the list.

// Traps and system calls.

// TrapFrame is what a trap or a system call interrupted: PC, SP, FP, TLS, Trap, Error, Addr.
type TrapFrame = amd64.TrapFrame

// CPU is the CPU's part of its own record, at the start of the record.
type CPU = amd64.CPU

// ThisCPU returns the running CPU's record. Early and kernel context.
func ThisCPU() *CPU { return amd64.ThisCPU() }

const MaxCPUs = amd64.MaxCPUs // the largest number of CPUs

// CompareAndSwap atomically sets a word if it has the old value.
func CompareAndSwap(p *uint32, old, new uint32) bool { return amd64.CompareAndSwap(p, old, new) }

// CompareAndSwap64 is CompareAndSwap for eight bytes, such as a page table's entry.
func CompareAndSwap64(p *uint64, old, new uint64) bool {
	return amd64.CompareAndSwap64(p, old, new)
}

// FetchAdd atomically adds to a word and returns the old value.
func FetchAdd(p *uint32, n uint32) (old uint32) { return amd64.FetchAdd(p, n) }

const (
	RingSize  = amd64.RingSize  // size in bytes of a ring of events, and its alignment
	EventSize = amd64.EventSize // size of an event: the time and three words
	NotNoted  = amd64.NotNoted  // the result of NoteEvent if there is no ring
)

// NoteEvent writes an event after the latest one of the running CPU's ring, and returns its
// address.
func NoteEvent(c *CPU, kind, thread, number uint32, a, b uintptr) (at uintptr) {
	return amd64.NoteEvent(c, kind, thread, number, a, b)
}

// SetTrapHandler sets the top-level function that every trap calls, interrupts off.
func SetTrapHandler(f func(*TrapFrame)) { amd64.SetTrapHandler(f) }

const (
	TrapDivide       = amd64.VectorDE   // divide error
	TrapDebug        = amd64.VectorDB   // debug exception: a single step
	TrapNMI          = amd64.VectorNMI  // non-maskable interrupt
	TrapBreakpoint   = amd64.VectorBP   // breakpoint
	TrapOpcode       = amd64.VectorUD   // invalid opcode
	TrapFPU          = amd64.VectorNM   // FPU not available
	TrapDouble       = amd64.VectorDF   // double fault
	TrapStackSegment = amd64.VectorSS   // stack fault
	TrapProtection   = amd64.VectorGP   // general protection
	TrapPage         = amd64.VectorPF   // page fault
	TrapFloat        = amd64.VectorMF   // floating-point error of the old unit
	TrapMachine      = amd64.VectorMC   // machine check
	TrapSIMD         = amd64.VectorXM   // floating-point error
	TrapInterrupt    = amd64.VectorIRQ  // the first interrupt; its number is the interrupt's
	TrapCall         = amd64.VectorCall // trap in the record of a switch of stacks
	// Trap in the record of a system call, whose number is the error.
	TrapSyscall = amd64.VectorSyscall
	TrapMark    = amd64.TrapMark // marks a TrapFrame's record, in place of a return address
)

// FrameOf returns the TrapFrame that contains the record.
func FrameOf(record uintptr) *TrapFrame { return amd64.FrameOf(record) }

// TLSOf returns the address of the word that holds the TLS of a record's TrapFrame.
func TLSOf(record uintptr) uintptr { return amd64.TLSOf(record) }

// CopyFrame copies the registers of a trap or system call.
func CopyFrame(to, from *TrapFrame) { amd64.CopyFrame(to, from) }

// LoadTables makes traps reach the handler; the trap stacks must be set.
func LoadTables() { amd64.LoadTables() }

// Keep adds size bytes at p to what is stored twice.
//
//go:noinline
func Keep(p unsafe.Pointer, size uintptr) bool { return amd64.Keep(p, size) }

// KeepVar adds the variable at p to what is stored twice. A generic function here calls none of
// package amd64: each type would have two names in the image.
func KeepVar[T any](p *T) { Keep(unsafe.Pointer(p), unsafe.Sizeof(*p)) }

// KeepCPU adds what the CPU's own code needs.
func KeepCPU() { amd64.KeepCPU() }

// KeptSize returns the room in bytes that SaveKept needs.
func KeptSize() uintptr { return amd64.KeptSize() }

// SaveKept copies what is kept to room; giveUp is called when traps do not end.
func SaveKept(room uintptr, giveUp func()) { amd64.SaveKept(room, giveUp) }

// RestoreKept restores what has changed since it was copied; it returns the number of words, and
// the first one's address.
func RestoreKept() (words, first uintptr) { return amd64.RestoreKept() }

// CloseTrap makes delivering a trap fault; for the crash lab.
func CloseTrap(v uint8) { amd64.ClearGate(v) }

// DropNMI makes NMIs be counted and dropped, or ends that.
func DropNMI(on bool) { amd64.DropNMI(on) }

// DroppedNMIs returns how many NMIs have been dropped since boot.
func DroppedNMIs() uint32 { return amd64.DroppedNMIs() }

// SetSyscallHandler sets the function that every system call calls, with the CPU's record, on the
// given stack.
func SetSyscallHandler(f func(*TrapFrame, *CPU), lo, top uintptr) {
	amd64.SetSyscallHandler(f, lo, top)
}

const (
	SyscallSize = amd64.SyscallSize // length in bytes of the system call instruction
)

// BehindSyscall reports whether the instruction before pc, which must be code, is a system call.
func BehindSyscall(pc uintptr) bool { return amd64.BehindSyscall(pc) }

// LastCall returns the frame of the latest system call; the call may be over.
func LastCall() *TrapFrame { return amd64.LastCall() }

// BeginKernelStack calls f, a top-level function that does not return, on the kernel stack from its
// top, without overwriting [LastCall]'s frame. A trace of f ends there: for that, the two words
// above the top that SetSyscallHandler got must belong to the stack, too. It does not return.
// Kernel context.
func BeginKernelStack(f func()) { amd64.BeginKernelStack(f) }

// UserTLS returns the TLS of the running thread, to which its system call or trap returns.
func UserTLS() uintptr { return amd64.ThisCPU().UserTLS() }

// Resume leaves the kernel for a thread; fpu is its save area, or 0.
func Resume(f *TrapFrame, fpu uintptr, control uint64) { amd64.Resume(f, fpu, control) }

// Walks through the entry code.

// EntryBounds bounds the code that AtEntry knows.
func EntryBounds() (lo, hi uintptr) { return amd64.EntryBounds() }

// AtEntry tells how a walk passes an exact pc of a CPU in the entry code; a and b are
// EntryRegisters'.
func AtEntry(c *CPU, pc, sp, bp, ax, cx uintptr,
	load func(uintptr) (uintptr, bool)) (i Interrupted, s EntryState) {
	return amd64.AtEntry(c, pc, sp, bp, ax, cx, load)
}

// Interrupted is what a trap, a system call or a switch of stacks interrupted.
type Interrupted = amd64.Interrupted

// EntryState is AtEntry's answer.
type EntryState = amd64.EntryState

const (
	EntryRecord = amd64.EntryRecord // the frame pointer leads to a record; the pc tables are not valid
	EntryBare   = amd64.EntryBare   // it leads to no record; what was interrupted is in an Interrupted
)

// EntryRegisters returns the registers that AtEntry needs besides SP and FP.
func EntryRegisters(r []uintptr) (a, b uintptr) { return amd64.EntryRegisters(r) }

// EntryRegistersAt is EntryRegisters for a trap record.
func EntryRegistersAt(record uintptr, load func(uintptr) (uintptr, bool)) (a, b uintptr) {
	return amd64.EntryRegistersAt(record, load)
}

const (
	RegisterPC    = amd64.RegisterPC    // numbers of registers in a trace: the pc
	RegisterSP    = amd64.RegisterSP    // the stack pointer
	RegisterFP    = amd64.RegisterFP    // the frame pointer
	RegisterSpace = amd64.RegisterSpace // the root of the page tables
)

// IsPoisoned reports whether a trap can be an access to the m of the fake g.
func IsPoisoned(trap, code uint32, registers []uintptr) bool {
	return amd64.IsPoisoned(trap, code, registers)
}

// Stacks.

const (
	NumTrapStacks = amd64.NumIST // number of stacks that traps run on; 0 stands for none
)

// SetTrapStack sets a trap stack: its lowest address, and the one just above it, a multiple of 16.
func SetTrapStack(slot int, lo, top uintptr) { amd64.ThisCPU().SetIST(slot, lo, top) }

// TrapStack returns the values that SetTrapStack set.
func TrapStack(slot int) (lo, top uintptr) { return amd64.ThisCPU().IST(slot) }

const (
	TrapStackNMI = amd64.ISTNMI // the one of NMIs
)

// OnStack calls f(arg) on the stack lo <= address < top, so that a walk finds its way back.
func OnStack(lo, top uintptr, f func(arg uintptr), arg uintptr) { amd64.OnStack(lo, top, f, arg) }

// OnFakeG reports whether this is early or kernel context.
func OnFakeG() bool { return amd64.OnFakeG() }

// ClearStackGuard lets the running code use its stack down to the guard page; for the crash lab.
func ClearStackGuard() { amd64.ClearStackGuard() }

// FramePointer returns the address of the caller's frame record; the caller must not be inlined.
func FramePointer() uintptr { return amd64.FramePointer() }

// FrameRecord reads a frame record.
func FrameRecord(fp uintptr) (saved, ra uintptr) { return amd64.FrameRecord(fp) }

// Signals.

// SignalContext is the CPU's part of a signal's frame: Linux's struct sigcontext.
type SignalContext = amd64.SignalContext

// ContextRegisters is the number of words at the start of a SignalContext that are registers. The
// stack pointer and the pc are the last of them.
const ContextRegisters = amd64.ContextRegisters

const (
	RecordSize = amd64.RecordSize // size in bytes of a trap record
	RedZone    = amd64.RedZone    // number of bytes below its stack pointer that a function may use
)

// Address space.

const (
	PageSize     = amd64.PageSize    // sizes of pages, in bytes
	PageSize2    = amd64.PageSize2   // the larger one
	PTEPresent   = amd64.PTEPresent  // bits of a page-table entry: mapped
	PTEWrite     = amd64.PTEWrite    // writable
	PTEUncached  = amd64.PTEUncached // of a device
	PTEDirty     = amd64.PTEDirty    // written to
	PTELarge     = amd64.PTELarge    // a page of PageSize2
	PTENoExec    = amd64.PTENoExec   // not executable
	PTEAddr      = amd64.PTEAddr     // mask of the address
	FaultPresent = amd64.PFPresent   // bits of a page fault's error code: a protection violation
	FaultWrite   = amd64.PFWrite     // a write
	FaultFetch   = amd64.PFFetch     // an execution
	DirectMap    = amd64.DirectMap   // where the kernel's map of physical memory begins
	MaxPhysical  = amd64.MaxPhysical // just above the highest physical address that it contains
)

// Virtual returns the address of a physical address in the kernel's map of physical memory.
func Virtual(physical uintptr) uintptr { return amd64.Virtual(physical) }

// Physical returns the physical address of an address in that map, or in the image.
func Physical(virtual uintptr) uintptr { return amd64.Physical(virtual) }

// EnableNoExec makes it possible to forbid execution of pages; false if the CPU cannot do that.
func EnableNoExec() bool { return amd64.EnableNoExec() }

// Allows reports whether an entry allows the access that caused a page fault with that error code.
func Allows(entry uint64, code uintptr) bool { return amd64.Allows(entry, code) }

// UseTables switches to the page tables with that root; their rights apply to the kernel, too.
func UseTables(root uintptr) { amd64.UseTables(root) }

// FlushPage drops the cached entry of the page that holds addr.
func FlushPage(addr uintptr) { amd64.Invlpg(addr) }

// FlushPages drops all cached entries of the page tables.
func FlushPages() { amd64.FlushPages() }

// EntryOf returns the address of the code of f, a top-level function.
func EntryOf[F any](f F) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

// FuncAt returns the function, of type F, whose code's address is at code: a func value is a
// pointer to a word that holds the address.
func FuncAt[F any](code *uintptr) F { return *(*F)(unsafe.Pointer(&code)) }

// Pointer converts an address to a pointer.
func Pointer(a uintptr) unsafe.Pointer { return amd64.Pointer(a) }

// The program's memory, which may fault.

// CopyUser copies bytes and returns how many were not copied.
func CopyUser(to, from, n uintptr) (left uintptr) { return amd64.CopyUser(to, from, n) }

// FillUser fills bytes with a word and returns how many were not filled.
func FillUser(to, n uintptr, word uint64) (left uintptr) { return amd64.FillUser(to, n, word) }

// LoadUser32 reads four bytes; ok is false if that faults.
func LoadUser32(a uintptr) (v uint32, ok bool) { return amd64.LoadUser32(a) }

// LoadUser64 reads eight bytes; ok is false if that faults.
func LoadUser64(a uintptr) (v uint64, ok bool) { return amd64.LoadUser64(a) }

// StoreUser32 writes four bytes and reports whether that was possible.
func StoreUser32(a uintptr, v uint32) (ok bool) { return amd64.StoreUser32(a, v) }

// StoreUser64 writes eight bytes and reports whether that was possible.
func StoreUser64(a uintptr, v uint64) (ok bool) { return amd64.StoreUser64(a, v) }

// UserFixup returns where to resume after a fault at pc in one of these functions, or 0.
func UserFixup(pc uintptr) uintptr { return amd64.UserFixup(pc) }

// FPU.

// InitFPU turns the FPU on.
func InitFPU() { amd64.InitFPU() }

// FPUName says how the FPU is saved.
func FPUName() string { return amd64.FPUName() }

// FPUSize returns the size of a save area, including its mark for a signal's frame.
func FPUSize() uintptr { return amd64.FPUSize() }

const (
	MaxFPU   = amd64.MaxFPU   // room in bytes for a save area
	FPUFirst = amd64.FPUFirst // bytes of it that exist on every CPU
	FPUAlign = amd64.FPUAlign // its alignment
)

// SaveFPU fills a save area with the FPU's state in the code that f interrupted.
func SaveFPU(to uintptr, f *TrapFrame) { amd64.SaveFPU(to, f) }

// ResetFPU fills a save area with the state at the start of a call.
func ResetFPU(to uintptr, control uint64) { amd64.ResetFPU(to, control) }

// CheckFPU makes what a program wrote into a save area safe to load.
func CheckFPU(a uintptr, whole bool) { amd64.CheckFPU(a, whole) }

// MarkFPU marks a save area for a signal's frame and reports whether it continues after the first
// bytes.
func MarkFPU(a uintptr) bool { return amd64.MarkFPU(a) }

// FPUMarked reports whether a save area continues after its first bytes.
func FPUMarked(a uintptr) bool { return amd64.FPUMarked(a) }

// SaveControl returns the FPU's control words, which a system call preserves.
func SaveControl() uint64 { return amd64.SaveControl() }

const (
	InitialControl = amd64.InitialControl // the value of SaveControl in a new process
)

// Instructions.

// DisableInterrupts blocks interrupts.
func DisableInterrupts() { amd64.DisableInterrupts() }

// EnableInterrupts allows interrupts.
func EnableInterrupts() { amd64.EnableInterrupts() }

// InterruptsEnabled reports whether interrupts are allowed.
func InterruptsEnabled() bool { return amd64.InterruptsEnabled() }

// WaitForInterrupt allows interrupts, halts until one has been handled, and returns with interrupts
// off.
func WaitForInterrupt() { amd64.WaitForInterrupt() }

// Halt waits for an interrupt.
func Halt() { amd64.Halt() }

// Pause says that this is a spin loop.
func Pause() { amd64.Pause() }

// Fence returns when all earlier loads and stores are done, before a ReadCounter that follows.
func Fence() { amd64.Fence() }

// ReadCounter returns the CPU's counter of time, in ticks.
func ReadCounter() uint64 { return amd64.ReadTSC() }

// Mul64 returns the 128 bits of a product.
func Mul64(a, b uint64) (hi, lo uint64) { return amd64.Mul64(a, b) }

// Div64 divides 128 bits.
func Div64(hi, lo, den uint64) (quo, rem uint64) { return amd64.Div64(hi, lo, den) }

// SingleStep makes the debug exception follow each instruction, or ends that.
func SingleStep(on bool) { amd64.SetTrapFlag(on) }

// A Watch is a place whose accesses raise the debug exception, after the access. Size is 1, 2, 4 or
// 8, and Addr a multiple of it; Size 0: none. Reads says that reads count, too.
type Watch = amd64.Watch

const NumWatches = amd64.NumWatches // number of places that can be watched

// SetWatches makes the CPU watch these places only.
func SetWatches(w *[NumWatches]Watch) { amd64.SetWatches(w) }

// HoldWatches makes the CPU watch nothing, until SetWatches is called.
func HoldWatches() { amd64.HoldWatches() }

// WatchesExact reports whether the debug exception is raised only by accesses to the places; an
// emulator may raise it otherwise. Early context.
func WatchesExact() bool { return amd64.WatchesExact() }

// TakeWatchHits is for the debug exception: it returns a bit for each place that was accessed, and
// whether the exception is a single step, too.
func TakeWatchHits() (hits uint32, step bool) { return amd64.TakeWatchHits() }

// Branch is a branch that the CPU recorded: From, To, Cycles since the previous one (0: not known),
// Missed if it was mispredicted.
type Branch = amd64.Branch

const MaxBranches = amd64.MaxBranches // largest number of records that are read

// FindBranches looks for branch records and returns their number; virtual says that this is a
// virtual machine. Early context, on the first CPU, when traps are handled.
func FindBranches() (n int, virtual bool) { return amd64.FindBranches() }

// BranchesName names the kind of records that FindBranches found.
func BranchesName() string { return amd64.BranchesName() }

// StartBranches starts recording, except while an exception is handled. Early context, on each CPU.
func StartBranches() bool { return amd64.StartBranches() }

// StopBranches stops recording; it returns false if the CPU records nothing.
func StopBranches() bool { return amd64.StopBranches() }

// BranchesHeld reports whether the records are those before the exception that is being handled.
func BranchesHeld() bool { return amd64.BranchesHeld() }

// ReadBranches reads the records while recording is stopped, the oldest first, and returns their
// number.
func ReadBranches(to *[MaxBranches]Branch) (n int) { return amd64.ReadBranches(to) }

// FakeMSR is a register of the CPU, for FakeBranches.
type FakeMSR = amd64.FakeMSR

const FakeBranchMSRs = amd64.FakeBranchMSRs // number of them that it needs

// FakeBranches makes the CPU look like one with these records, the oldest first; room must stay.
// For the crash lab.
func FakeBranches(room *[FakeBranchMSRs]FakeMSR, all []Branch) { amd64.FakeBranches(room, all) }

// Breakpoint raises the breakpoint exception.
func Breakpoint() { amd64.Breakpoint() }

const (
	BreakpointCode = amd64.BreakpointCode // the instruction of a breakpoint
	BreakpointSize = amd64.BreakpointSize // how far the pc of its trap is after it, in bytes
)

// PatchCode writes a byte of the text, which is otherwise read-only.
func PatchCode(addr uintptr, b byte) { amd64.PatchCode(addr, b) }

// WriteBackCaches writes the contents of the caches to RAM.
func WriteBackCaches() { amd64.WriteBackCaches() }

// ResetCPU resets the CPU by a fault that cannot be delivered.
func ResetCPU() { amd64.TripleFault() }

// CPUName writes the CPU's name for itself, and returns its length.
func CPUName(to *[48]byte) (n int) { return amd64.CPUName(to) }

// FindRandom reports whether the CPU has a random generator.
func FindRandom() bool { return amd64.FindRandom() }

// RandomName names the best generator that FindRandom found.
func RandomName() string { return amd64.RandomName() }

// Random returns a number from the generator; ok is false if it has none at the moment.
func Random() (v uint64, ok bool) { return amd64.Random() }

// Seed returns the most random number that the CPU can give; ok is false if it has none at the
// moment.
func Seed() (v uint64, ok bool) { return amd64.Seed() }

// The image.

// TextBounds bounds the program's code.
func TextBounds() (lo, hi uintptr) { return amd64.TextBounds() }

// TypesBase returns the address from which the runtime counts types' offsets.
func TypesBase() uintptr { return amd64.TypesBase() }

// PCTableBounds bounds Go's pc tables.
func PCTableBounds() (lo, hi uintptr) { return amd64.PCTableBounds() }

// RuntimeEntry returns where the Go runtime starts under Linux.
func RuntimeEntry() uintptr { return amd64.RuntimeEntry() }

// PollWaiters returns the address of the runtime's count of goroutines that wait for a descriptor's
// events.
func PollWaiters() *uint32 { return amd64.PollWaiters() }

// ExitCall returns the place of the function that a goroutine calls before the program exits; nil
// there: none. Set once, before main begins.
func ExitCall() *func() { return &amd64.ExitCall }

// Syscall makes a system call.
func Syscall(number, a, b, c, d, e uintptr) (result uintptr) {
	return amd64.Syscall(number, a, b, c, d, e)
}

// Registers of devices.

// Load8 reads a register of one byte.
func Load8(addr uintptr) uint8 { return amd64.Load8(addr) }

// Load16 reads a register of two bytes.
func Load16(addr uintptr) uint16 { return amd64.Load16(addr) }

// Load32 reads a register of four bytes.
func Load32(addr uintptr) uint32 { return amd64.Load32(addr) }

// Store8 writes a register of one byte.
func Store8(addr uintptr, v uint8) { amd64.Store8(addr, v) }

// Store16 writes a register of two bytes.
func Store16(addr uintptr, v uint16) { amd64.Store16(addr, v) }

// Store32 writes a register of four bytes.
func Store32(addr uintptr, v uint32) { amd64.Store32(addr, v) }

// Store64 writes a register of eight bytes, the lower half first.
func Store64(addr, v uintptr) {
	amd64.Store32(addr, uint32(v))
	amd64.Store32(addr+4, uint32(uint64(v)>>32))
}

// ReadPort8 reads a register in the I/O space of PCI, as do the following.
func ReadPort8(port uint16) uint8 { return amd64.In8(port) }

// ReadPort16 reads a register of two bytes.
func ReadPort16(port uint16) uint16 { return amd64.In16(port) }

// ReadPort32 reads a register of four bytes.
func ReadPort32(port uint16) uint32 { return amd64.In32(port) }

// WritePort8 writes a register of one byte.
func WritePort8(port uint16, v uint8) { amd64.Out8(port, v) }

// WritePort16 writes a register of two bytes.
func WritePort16(port uint16, v uint16) { amd64.Out16(port, v) }

// WritePort32 writes a register of four bytes.
func WritePort32(port uint16, v uint32) { amd64.Out32(port, v) }
