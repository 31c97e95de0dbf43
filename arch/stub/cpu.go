//go:build stub

package arch

import "unsafe"

func SetTrapHandler(f func(*TrapFrame)) { panic(stub) }

const (
	TrapDivide       = 0
	TrapDebug        = 1
	TrapNMI          = 2
	TrapBreakpoint   = 3
	TrapOpcode       = 6
	TrapFPU          = 7
	TrapDouble       = 8
	TrapStackSegment = 12
	TrapProtection   = 13
	TrapPage         = 14
	TrapFloat        = 16
	TrapMachine      = 18
	TrapSIMD         = 19
	TrapInterrupt    = 32
	TrapCall         = 256
	TrapSyscall      = 257
	TrapMark         = 17397512504735786618
)

func FrameOf(record uintptr) *TrapFrame { panic(stub) }

func TLSOf(record uintptr) uintptr { panic(stub) }

func ThisCPU() *CPU { panic(stub) }

func CopyFrame(to, from *TrapFrame) { panic(stub) }

func LoadTables() { panic(stub) }

const (
	MaxCPUs = 64
)

func CompareAndSwap(p *uint32, old, new uint32) bool { panic(stub) }

func CompareAndSwap64(p *uint64, old, new uint64) bool { panic(stub) }

func FetchAdd(p *uint32, n uint32) (old uint32) { panic(stub) }

const (
	RingSize  = 4096
	EventSize = 32
	NotNoted  = 1
)

func NoteEvent(c *CPU, kind, thread, number uint32, a, b uintptr) (at uintptr) { panic(stub) }

func Keep(p unsafe.Pointer, size uintptr) bool { panic(stub) }

func KeepCPU() { panic(stub) }

func KeptSize() uintptr { panic(stub) }

func SaveKept(room uintptr, giveUp func()) { panic(stub) }

func RestoreKept() (words, first uintptr) { panic(stub) }

func CloseTrap(v uint8) { panic(stub) }

func DropNMI(on bool) { panic(stub) }

func DroppedNMIs() uint32 { panic(stub) }

func SetSyscallHandler(f func(*TrapFrame, *CPU), lo, top uintptr) { panic(stub) }

const (
	SyscallSize = 2
)

func BehindSyscall(pc uintptr) bool { panic(stub) }

func LastCall() *TrapFrame { panic(stub) }

func BeginKernelStack(f func()) { panic(stub) }

func UserTLS() uintptr { panic(stub) }

func Resume(f *TrapFrame, fpu uintptr, control uint64) { panic(stub) }

func EntryBounds() (lo, hi uintptr) { panic(stub) }

func AtEntry(c *CPU, pc, sp, bp, ax, cx uintptr,
	load func(uintptr) (uintptr, bool)) (i Interrupted, s EntryState) {
	panic(stub)
}

const (
	EntryRecord = EntryState(1)
	EntryBare   = EntryState(2)
)

func EntryRegisters(r []uintptr) (a, b uintptr) { panic(stub) }

func EntryRegistersAt(record uintptr, load func(uintptr) (uintptr, bool)) (a, b uintptr) {
	panic(stub)
}

const (
	RegisterPC    = 0
	RegisterSP    = 1
	RegisterFP    = 2
	RegisterSpace = 19
)

func IsPoisoned(trap, code uint32, registers []uintptr) bool { panic(stub) }

const (
	NumTrapStacks = 8
)

func SetTrapStack(slot int, lo, top uintptr) { panic(stub) }

func TrapStack(slot int) (lo, top uintptr) { panic(stub) }

const (
	TrapStackPage = 1
	TrapStackNMI  = 5
)

func OnStack(lo, top uintptr, f func(arg uintptr), arg uintptr) { panic(stub) }

func OnFakeG() bool { panic(stub) }

func ClearStackGuard() { panic(stub) }

func FramePointer() uintptr { panic(stub) }

func FrameRecord(fp uintptr) (saved, ra uintptr) { panic(stub) }

const (
	ContextRegisters = 17
	RecordSize       = 72
	RedZone          = 128
)

const (
	PageSize     = 4096
	PageSize2    = 2097152
	PTEPresent   = 1
	PTEWrite     = 2
	PTEUncached  = 24
	PTEDirty     = 64
	PTELarge     = 128
	PTENoExec    = 9223372036854775808
	PTEAddr      = 4503599627366400
	FaultPresent = 1
	FaultWrite   = 2
	FaultFetch   = 16
	DirectMap    = 0xffff_8000_0000_0000
	MaxPhysical  = 1 << 40
)

func Allows(entry uint64, code uintptr) bool { panic(stub) }

func Virtual(physical uintptr) uintptr { panic(stub) }

func Physical(virtual uintptr) uintptr { panic(stub) }

func EnableNoExec() bool { panic(stub) }

func UseTables(root uintptr) { panic(stub) }

func FlushPage(addr uintptr) { panic(stub) }

func FlushPages() { panic(stub) }

func Pointer(a uintptr) unsafe.Pointer { panic(stub) }

func CopyUser(to, from, n uintptr) (left uintptr) { panic(stub) }

func FillUser(to, n uintptr, word uint64) (left uintptr) { panic(stub) }

func LoadUser32(a uintptr) (v uint32, ok bool) { panic(stub) }

func LoadUser64(a uintptr) (v uint64, ok bool) { panic(stub) }

func StoreUser32(a uintptr, v uint32) (ok bool) { panic(stub) }

func StoreUser64(a uintptr, v uint64) (ok bool) { panic(stub) }

func UserFixup(pc uintptr) uintptr { panic(stub) }

func InitFPU() { panic(stub) }

func FPUName() string { panic(stub) }

func FPUSize() uintptr { panic(stub) }

const (
	MaxFPU   = 2752
	FPUFirst = 512
	FPUAlign = 64
)

func SaveFPU(to uintptr, f *TrapFrame) { panic(stub) }

func ResetFPU(to uintptr, control uint64) { panic(stub) }

func CheckFPU(a uintptr, whole bool) { panic(stub) }

func MarkFPU(a uintptr) bool { panic(stub) }

func FPUMarked(a uintptr) bool { panic(stub) }

func SaveControl() uint64 { panic(stub) }

const (
	InitialControl = 3843995737984
)

func DisableInterrupts() { panic(stub) }

func EnableInterrupts() { panic(stub) }

func InterruptsEnabled() bool { panic(stub) }

func WaitForInterrupt() { panic(stub) }

func Halt() { panic(stub) }

func Pause() { panic(stub) }

func Fence() { panic(stub) }

func ReadCounter() uint64 { panic(stub) }

func Mul64(a, b uint64) (hi, lo uint64) { panic(stub) }

func Div64(hi, lo, den uint64) (quo, rem uint64) { panic(stub) }

func SingleStep(on bool) { panic(stub) }

const NumWatches = 4

func SetWatches(w *[NumWatches]Watch) { panic(stub) }

func HoldWatches() { panic(stub) }

func WatchesExact() bool { panic(stub) }

func TakeWatchHits() (hits uint32, step bool) { panic(stub) }

const (
	MaxBranches    = 32
	FakeBranchMSRs = 97
)

func FindBranches() (n int, virtual bool) { panic(stub) }

func BranchesName() string { panic(stub) }

func StartBranches() bool { panic(stub) }

func StopBranches() bool { panic(stub) }

func BranchesHeld() bool { panic(stub) }

func ReadBranches(to *[MaxBranches]Branch) (n int) { panic(stub) }

func FakeBranches(room *[FakeBranchMSRs]FakeMSR, all []Branch) { panic(stub) }

func Breakpoint() { panic(stub) }

const (
	BreakpointCode = 204
	BreakpointSize = 1
)

func PatchCode(addr uintptr, b byte) { panic(stub) }

func WriteBackCaches() { panic(stub) }

func ResetCPU() { panic(stub) }

func CPUName(to *[48]byte) (n int) { panic(stub) }

func FindRandom() bool { panic(stub) }

func RandomName() string { panic(stub) }

func Random() (v uint64, ok bool) { panic(stub) }

func Seed() (v uint64, ok bool) { panic(stub) }

func TextBounds() (lo, hi uintptr) { panic(stub) }

func TypesBase() uintptr { panic(stub) }

func PCTableBounds() (lo, hi uintptr) { panic(stub) }

func RuntimeEntry() uintptr { panic(stub) }

func Syscall(number, a, b, c, d, e uintptr) (result uintptr) { panic(stub) }

func Load8(addr uintptr) uint8 { panic(stub) }

func Load16(addr uintptr) uint16 { panic(stub) }

func Load32(addr uintptr) uint32 { panic(stub) }

func Store8(addr uintptr, v uint8) { panic(stub) }

func Store16(addr uintptr, v uint16) { panic(stub) }

func Store32(addr uintptr, v uint32) { panic(stub) }

func Store64(addr, v uintptr) { panic(stub) }

func ReadPort8(port uint16) uint8 { panic(stub) }

func ReadPort16(port uint16) uint16 { panic(stub) }

func ReadPort32(port uint16) uint32 { panic(stub) }

func WritePort8(port uint16, v uint8) { panic(stub) }

func WritePort16(port uint16, v uint16) { panic(stub) }

func WritePort32(port uint16, v uint32) { panic(stub) }
