package stack

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// Each CPU has all of the kernel's stacks, in memory of its own. The table shows those of one CPU:
// the boot CPU's, except while another CPU is being traced.

// areas holds the start of each CPU's stacks, by CPU number. Set once at boot.
var areas [arch.MaxCPUs]uintptr

// AreaSize is the size in bytes of the stacks of a CPU other than the first, with their guard
// pages.
const AreaSize = areaSize - arch.PageSize + boot.StackSize

// Add sets where the stacks of a CPU are: from the first page boundary at or after at. Early
// context.
func Add(number uint32, at uintptr) {
	areas[number] = (at + arch.PageSize - 1) &^ (arch.PageSize - 1)
}

// Bounds returns the bounds of a CPU's stack i: lo <= address < hi. Early and kernel context.
func Bounds(number uint32, i int) (lo, hi uintptr) {
	if i == Boot && number == 0 {
		return boot.StackLo, boot.StackHi
	}
	lo = areas[number] + guardSize
	for j := Boot + 1; j != i && j < Count; j++ { // the boot stack comes after all others
		lo += sizes[j] + guardSize
	}
	return lo, lo + sizes[i]
}

// shown is 1 + the number of the CPU whose stacks Show has put into the table, if that is not the
// running one, or 0. Under the kernel lock; the panic path takes none.
var shown uint32

// walked returns the record of the CPU whose stacks are walked.
func walked() *percpu.Record {
	if shown != 0 {
		return percpu.At(shown - 1)
	}
	return percpu.This()
}

// Show puts the stacks of a CPU into the table. Early and kernel context.
func Show(number uint32) {
	if shown = number + 1; percpu.At(number) == percpu.This() {
		shown = 0
	}
	for i := range Table[:Count] {
		s := &Table[i]
		lo, hi := Bounds(number, i)
		if s.Lo != lo || s.Hi != hi {
			s.Lo, s.Hi, s.Used = lo, hi, 0
		}
	}
}

// Prepare paints the stacks of a CPU that has not started, and unmaps the page below each. It
// returns false if there is no RAM for the page tables that this needs. Early context.
func Prepare(number uint32) bool {
	for i := range Count {
		lo, hi := Bounds(number, i)
		tracer.Paint(lo, hi)
		if !mem.Unmap(lo - guardSize) {
			return false
		}
	}
	return true
}

// SetTraps makes the running CPU's traps run on its stacks. Early context.
func SetTraps(number uint32) {
	for slot := 1; slot < arch.NumTrapStacks; slot++ {
		lo, hi := Bounds(number, PageFault+slot-1)
		arch.SetTrapStack(slot, lo, hi)
	}
}
