package amd64

// Single instructions, each a Go function. All except CPUID, RDTSC, PAUSE, MUL and DIV are
// privileged; early and kernel context.

// In8 reads a byte from an I/O port.
func In8(port uint16) uint8

// Out8 writes a byte to an I/O port.
func Out8(port uint16, v uint8)

// InAll reads bytes from an I/O port, one after another.
func InAll(port uint16, p []byte)

// OutAll writes bytes to an I/O port, one after another.
func OutAll(port uint16, p []byte)

// Out32 writes four bytes to an I/O port.
func Out32(port uint16, v uint32)

// CPUID returns the four registers of a leaf and subleaf (SDM Vol. 2A, CPUID).
func CPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// ReadMSR reads a model-specific register.
func ReadMSR(msr uint32) uint64

// WriteMSR writes a model-specific register; a wrong one causes #GP.
func WriteMSR(msr uint32, v uint64)

// ReadCR0 returns CR0.
func ReadCR0() uint64

// WriteCR0 sets CR0.
func WriteCR0(v uint64)

// ReadCR3 returns the physical address of the page tables' root.
func ReadCR3() uintptr

// WriteCR3 sets the root of the page tables and drops the TLB's entries.
func WriteCR3(v uintptr)

// ReadCR4 returns CR4.
func ReadCR4() uint64

// WriteCR4 sets CR4.
func WriteCR4(v uint64)

// SetTrapFlag sets or clears RFLAGS.TF: with it, the debug exception follows each
// instruction (SDM Vol. 3B, 18.3.1.4).
func SetTrapFlag(on bool)

// Invlpg drops the TLB's entry for the page that holds addr.
func Invlpg(addr uintptr)

// ReadTSC returns the time stamp counter, in ticks.
func ReadTSC() uint64

// Breakpoint raises the breakpoint exception.
func Breakpoint()

// Pause tells the CPU that this is a spin loop.
func Pause()

// Halt waits for an interrupt (or, with interrupts off, for an NMI).
func Halt()

// DisableInterrupts clears RFLAGS.IF.
func DisableInterrupts()

// EnableInterrupts sets RFLAGS.IF.
func EnableInterrupts()

// InterruptsEnabled reports whether RFLAGS.IF is set.
func InterruptsEnabled() bool

// TripleFault resets the CPU: it loads an empty IDT and traps. It does not return.
func TripleFault()

// Bits of CR0 and CR4 and the EFER register (SDM Vol. 3A, 2.5 and 2.2.1).
const (
	CR0WriteProtect = 1 << 16 // read-only pages are read-only for ring 0, too
	CR4MachineCheck = 1 << 6  // #MC is delivered; without it a machine check resets
	cr4FSGSBASE     = 1 << 16 // the FS and the GS base can be read and written by instructions

	MSRAPICBase   = 0x1b
	MSREFER       = 0xc0000080
	EFERNoExecute = 1 << 11
	MSRFSBase     = 0xc0000100
	MSRGSBase     = 0xc0000101
)

// ReadRandom returns a number from the CPU's random generator, RDRAND; ok is false if it has none
// at the moment. The CPU must have it (CPUID.1:ECX[30]). Any context.
func ReadRandom() (v uint64, ok bool)

// ReadSeed returns a number from the CPU's entropy source, RDSEED; ok is false if it has none at
// the moment. The CPU must have it (CPUID.7:EBX[18]). Any context.
func ReadSeed() (v uint64, ok bool)

// Mul64 returns the 128 bits of a product. It replaces that of package math/bits, as Div64 does:
// the kernel imports no standard package but unsafe, because a package under test is compiled anew
// with its tests, and would differ from the one that the kernel was compiled with. Any context.
func Mul64(a, b uint64) (hi, lo uint64)

// Div64 divides 128 bits. Any context. The quotient must fit in 64 bits, that is,
// hi < den; otherwise it is a divide error.
func Div64(hi, lo, den uint64) (quo, rem uint64)
