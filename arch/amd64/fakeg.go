package amd64

// What compiled Go needs to run without a runtime. Go code keeps its g in R14 and, after a call to
// assembly, reloads it from FS:-8; each function with a frame compares SP with the g's stackguard0.
// So every entry into the kernel's Go code sets R14 and FS to a fake g, one for each CPU.
//
// The fake g's m is no canonical address: code that strays into the runtime faults at its first
// access to the m, and the trace shows exactly who called what.

// Layout of runtime.g, as far as the compiler and the linker depend on it
// (cmd/internal/obj/stackcheck and runtime/runtime2.go: "offset known to liblink"), in words.
const (
	gStackLo     = 0
	gStackHi     = 1
	gStackGuard0 = 2
	gStackGuard1 = 3
	gM           = 6
)

// PoisonM is the fake g's m: non-canonical, and easy to recognize in a dump.
const PoisonM uintptr = 0xbad0_bad0_bad0_0000

// StackGuard is the distance in bytes from the bottom of a stack to the
// stackguard0 of Go code that runs on it (internal/abi and runtime/stack.go:
// 800 for nosplit chains plus 128 for small frames).
const StackGuard = 928

// OnFakeG reports whether the running Go code uses the fake g, that is, whether this is early or
// kernel context.
func OnFakeG() bool

// SetStackGuard sets the stack of the running Go code: lo is its lowest
// address. It returns the previous guard for RestoreStackGuard.
func SetStackGuard(lo uintptr) (old uintptr) {
	g := &ThisCPU().g
	old = g[gStackGuard0]
	g[gStackLo], g[gStackGuard0], g[gStackGuard1] = lo, lo+StackGuard, lo+StackGuard
	return old
}

// RestoreStackGuard undoes SetStackGuard.
func RestoreStackGuard(old uintptr) {
	g := &ThisCPU().g
	g[gStackGuard0], g[gStackGuard1] = old, old
}

// ClearStackGuard lets the running Go code use its stack down to the guard page: the check at
// function entry then never fires. It is for the crash lab.
func ClearStackGuard() { RestoreStackGuard(0) }
