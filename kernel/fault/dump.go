package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	format "github.com/zeroframe/zeroframe/tracer/dump"
)

// The machine's memory, sent after all traces if core= asks for it (package memdump, which imports
// this one). It is tried once. A fault meanwhile writes no trace, which could cut short a trace
// that is already whole. It ends the dump with one line, and the end that panic= asks for follows.

// dumpEntry is the address of the function that sends the memory, or 0. Set once at boot.
var dumpEntry uintptr

// OnDump sets the function that sends the memory. It must be a top-level function; it runs on the
// stack that traces are written on. Early context. Not inlined, like [OnInterrupt].
//
//go:noinline
func OnDump(f func()) { dumpEntry = arch.EntryOf(f) }

// Panic path only.
var (
	dumpTried bool
	dumping   bool
)

// sendDump sends the memory.
func sendDump() {
	if dumpTried || dumpEntry == 0 {
		return
	}
	dumpTried, dumping = true, true
	onPanicStack(inDump)
	dumping = false
}

// callDump runs sendDump on the stack of its stage.
func callDump() {
	runHook(StageDumping)
	arch.FuncAt[func()](&dumpEntry)()
}

// DescribeCPU fills in what CPU c.Number was doing when the machine died. Panic path.
func DescribeCPU(c *format.CPU) {
	r := percpu.At(c.Number)
	if c.Number == percpu.This().Number {
		d := &stageDetails[0]
		c.State, c.Have, c.Registers, c.TLS = format.CPUDied, d.Have, d.Regs, uint64(d.fs)
		return
	}
	switch r.State.Now() {
	case percpu.Stopped:
		c.State = format.CPUStopped
	case percpu.Dying:
		c.State = format.CPUDiedToo
	default:
		return
	}
	if r.Frame != 0 {
		f := (*arch.TrapFrame)(arch.Pointer(r.Frame))
		c.Have, c.TLS = f.Registers(c.Registers[:]), uint64(f.TLS)
	}
}

// dumpFaulted ends the machine if the fault happened in the dump.
func dumpFaulted(f *arch.TrapFrame) {
	if !dumping {
		return
	}
	dumping = false
	console.FreshLine()
	console.Printf("core: ended by a fault in the kernel at %x\n", uint64(f.PC))
	afterTrace.row().run()
	halt()
}
