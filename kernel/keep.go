package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/memdump"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// What the kernel needs in order to die is stored twice: its code, and what the packages between a
// trap and the last byte of a trace set once at boot. The copy is made just before the program
// starts, in pages that are then read-only.

// keptRoom is the address of the copy, and keptSize its size; 0: there is no room for one. Set once
// at boot.
var keptRoom, keptSize uintptr

// findKept registers what must be copied, and finds room for it. Early context, before mem.Release.
func findKept() {
	lo, hi := stack.KernelText()
	if filesLo, filesHi := stack.FilesText(); filesLo != 0 {
		arch.Keep(arch.Pointer(lo), filesLo-lo)
		lo = filesHi
	}
	arch.Keep(arch.Pointer(lo), hi-lo)
	arch.KeepCPU()
	percpu.Keep()
	console.Keep()
	image.Keep()
	goinfo.Keep()
	mem.KeepRoot()
	stack.Keep()
	fault.Keep()
	memdump.Keep()
	for _, m := range tracer.Tables() {
		arch.Keep(arch.Pointer(m.At), m.Size)
	}
	keptSize = (arch.KeptSize() + arch.PageSize - 1) &^ (arch.PageSize - 1)
	keptRoom = mem.Contiguous(keptSize)
}

// saveKept makes the copy.
func saveKept() {
	if keptRoom != 0 {
		arch.SaveKept(keptRoom, fault.GiveUp)
		mem.ReadOnly(keptRoom, keptRoom+keptSize)
		smp.CloseTables()
	}
}
