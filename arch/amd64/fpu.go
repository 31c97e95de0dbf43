package amd64

import "unsafe"

// The state of the FPU: x87, SSE, AVX, AVX-512. Trap entries save the part that kernel code may
// change, in an FXSAVE area on the trap's stack. The whole state is saved only when a thread loses
// the CPU in the middle of its code, or gets a signal there.

// Sizes of a save area (SDM Vol. 1, 10.5 and 13.4).
const (
	fxsaveSize = 512
	xheaderEnd = 576
	// MaxFPU is the room for a save area in bytes: x87, SSE, AVX and AVX-512 take 2,696, and a
	// signal's frame four more. AMX is left off.
	MaxFPU = 2752
	// FPUAlign is the alignment in bytes of a save area.
	FPUAlign = 64
)

// State components (SDM Vol. 1, 13.1).
const (
	xstateX87    = 1 << 0
	xstateSSE    = 1 << 1
	xstateAVX    = 1 << 2
	xstateAVX512 = 7 << 5
	cr4OSXSAVE   = 1 << 18
)

var (
	xsaveMask uint32              // components that XSAVE saves; 0: FXSAVE is used; set once at boot
	xsaveSize uint32 = fxsaveSize // set once at boot
)

// InitFPU turns on all parts of the FPU that the CPU has and that fit a save area. Early context.
func InitFPU() {
	const hasXSAVE = 1 << 26 // CPUID.1:ECX
	if _, _, ecx, _ := CPUID(1, 0); ecx&hasXSAVE == 0 {
		return
	}
	// QEMU 7.2 without an accelerator repeats a write of OSXSAVE for ever if the CPU has none of
	// XSAVE's variants, like Opteron_G4 and G5 (target/i386/cpu.h, cr4_reserved_bits).
	variants, _, _, _ := CPUID(0xd, 1)
	if h, _ := FindHypervisor(); h == HypervisorQEMU && variants == 0 {
		return
	}
	setCR4(cr4OSXSAVE)
	have, _, _, _ := CPUID(0xd, 0)
	mask := uint32(xstateX87 | xstateSSE)
	if have&xstateAVX != 0 {
		mask |= xstateAVX
		if have&xstateAVX512 == xstateAVX512 {
			mask |= xstateAVX512
		}
	}
	xsetbv(mask)
	_, size, _, _ := CPUID(0xd, 0) // of the parts that are turned on
	if size > MaxFPU-magic2Size {
		mask = xstateX87 | xstateSSE
		xsetbv(mask)
		_, size, _, _ = CPUID(0xd, 0)
	}
	xsaveMask, xsaveSize = mask, size
}

// rightCR4 is the value that CR4 must have. With another, or with CR0.TS or CR0.EM, the entry
// code's own use of the FPU would fault again and again. fpuEntry corrects them. Set once at boot.
var rightCR4 uint64

// setCR4 sets bits of CR4 permanently.
func setCR4(bits uint64) {
	rightCR4 |= ReadCR4() | bits // another CPU may have set more
	WriteCR4(rightCR4)
}

// Repaired reports whether the fault f (#NM, #UD, #PF, #GP) is over and the code may go on: a
// control register or GS was wrong, and the entry of the trap has corrected it. Kernel context.
func (f *TrapFrame) Repaired() bool {
	const enough = 16 // if more are needed, something else is wrong
	c := ThisCPU()
	if enter, resume, _ := entryCode(); f.PC-enter < resume-enter && c.call == callReady {
		f.PC = enter // the test of callReady did not read the record
		return true
	}
	if f.Trap == VectorPF || f.Trap == VectorGP || c.repairs == enough ||
		f.Trap == VectorUD && !inEntry(f.PC) || !f.InKernel() {
		return false
	}
	c.repairs++
	return true
}

// FPUSize returns the size of a save area in bytes, including its mark in a signal's frame.
func FPUSize() uintptr {
	if xsaveMask == 0 {
		return fxsaveSize
	}
	return uintptr(xsaveSize) + magic2Size
}

// frameMark is what Linux puts into the last 48 of FXSAVE's 512 bytes, which are for software, if
// more follows: the kind and the length. After the last byte comes magic2. (Linux:
// arch/x86/include/uapi/asm/sigcontext.h, struct _fpx_sw_bytes.)
type frameMark struct {
	magic, size uint32
	features    uint64
	stateSize   uint32
	_           [7]uint32
}

const (
	frameMarkAt = fxsaveSize - unsafe.Sizeof(frameMark{})
	magic1      = 0x46505853
	magic2      = 0x46505845
	magic2Size  = 4
)

// MarkFPU marks the save area at a as Linux does for a signal handler. It reports whether the area
// is larger than FXSAVE's.
func MarkFPU(a uintptr) bool {
	m := (*frameMark)(Pointer(a + frameMarkAt))
	*m = frameMark{}
	if xsaveMask == 0 {
		return false
	}
	m.magic, m.size, m.features, m.stateSize = magic1, xsaveSize+magic2Size, uint64(xsaveMask),
		xsaveSize
	*(*uint32)(Pointer(a + uintptr(xsaveSize))) = magic2
	return true
}

// FPUMarked reports whether the save area at a continues after FXSAVE's bytes.
func FPUMarked(a uintptr) bool {
	m := (*frameMark)(Pointer(a + frameMarkAt))
	return xsaveMask != 0 && m.magic == magic1 && m.size == xsaveSize+magic2Size &&
		m.stateSize == xsaveSize
}

// FPUFirst is the number of bytes of a save area that exist on every CPU.
const FPUFirst = fxsaveSize

// FPUName says how the FPU is saved, for the boot report.
func FPUName() string {
	switch {
	case xsaveMask&xstateAVX512 != 0:
		return "XSAVE, AVX-512"
	case xsaveMask&xstateAVX != 0:
		return "XSAVE, AVX"
	case xsaveMask != 0:
		return "XSAVE, SSE"
	}
	return "FXSAVE"
}

// SaveFPU fills the save area at the address to, of FPUSize bytes, with the FPU's state in the code
// that f interrupted. Kernel context, in f's handler.
func SaveFPU(to uintptr, f *TrapFrame) {
	// What lies above the 512 bytes of FXSAVE is still in the registers.
	if xsaveMask != 0 {
		clearWords(to+fxsaveSize, xheaderEnd-fxsaveSize)
		xsave(to, xsaveMask)
	}
	from := (uintptr(unsafe.Pointer(f)) &^ 15) - fxsaveSize
	copyWords(to, from, fxsaveSize)
	if xsaveMask != 0 {
		*(*uint64)(Pointer(to + fxsaveSize)) |= xstateX87 | xstateSSE
	}
}

// ResetFPU fills the save area at the address to with the state at the start of a call: the given
// control words, all registers zero.
func ResetFPU(to uintptr, control uint64) {
	clearWords(to, xsaveAligned())
	*(*uint16)(Pointer(to)) = uint16(control >> 32)
	*(*uint32)(Pointer(to + 24)) = uint32(control)
	if xsaveMask != 0 {
		*(*uint64)(Pointer(to + fxsaveSize)) = xstateX87 | xstateSSE
	}
}

// CheckFPU makes what a program wrote into the save area at a safe to load, which faults on
// reserved bits. The bytes after FXSAVE's count only if whole is set and the mark at the end is
// there; otherwise they become as in a new process.
func CheckFPU(a uintptr, whole bool) {
	*(*uint32)(Pointer(a + 24)) &= mxcsrMask
	if xsaveMask != 0 {
		if !whole || *(*uint32)(Pointer(a + uintptr(xsaveSize))) != magic2 {
			*(*uint64)(Pointer(a + fxsaveSize)) = xstateX87 | xstateSSE
		}
		*(*uint64)(Pointer(a + fxsaveSize)) &= uint64(xsaveMask)
		clearWords(a+fxsaveSize+8, xheaderEnd-fxsaveSize-8)
	}
}

// mxcsrMask are the bits of MXCSR that every CPU with SSE2 has.
const mxcsrMask = 0xffff

// SaveControl returns the FPU's control words, which a system call preserves: MXCSR in the low
// half, the x87 control word above.
func SaveControl() uint64 {
	var v uint64
	saveControl(&v)
	return v
}

// InitialControl are the control words of a new process (System V ABI, 3.4.1).
const InitialControl = 0x1f80 | 0x37f<<32

func xsaveAligned() uintptr { return (uintptr(xsaveSize) + 7) &^ 7 }

func clearWords(a, n uintptr) {
	for ; n > 0; n -= 8 {
		*(*uint64)(Pointer(a)) = 0
		a += 8
	}
}

func copyWords(to, from, n uintptr) {
	for ; n > 0; n -= 8 {
		*(*uint64)(Pointer(to)) = *(*uint64)(Pointer(from))
		to += 8
		from += 8
	}
}

func xsetbv(mask uint32)
func xsave(to uintptr, mask uint32)

//go:noescape
func saveControl(v *uint64)
