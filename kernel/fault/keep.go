package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// What the panic path needs is stored twice (arch.Keep). A fatal trace first restores what was
// overwritten, and reports that.

// Keep stores a second copy of what this package sets once at boot (arch.Keep). Early context.
func Keep() {
	arch.KeepVar(&stackDump)
	arch.KeepVar(&stackDumpSet)
	arch.KeepVar(&codesAt)
	arch.KeepVar(&argsRoom)
	arch.KeepVar(&writer.Put)
	arch.KeepVar(&panicHook)
	arch.KeepVar(&afterTrace)
	arch.KeepVar(&dumpEntry)
	arch.KeepVar(&monitorEntry)
	arch.KeepVar(&patience)
	arch.KeepVar(&alarm)
	arch.KeepVar(&boundsFormats)
	arch.KeepVar(&negativeFormats)
	arch.KeepVar(&boundsNames)
	arch.KeepVar(&signalNames)
}

// overwritten is the number of words that were restored and not reported yet, and overwrittenAt the
// address of the first. Panic path only.
var overwritten, overwrittenAt uintptr

// restoreKept restores everything that arch.Keep holds, which must be as it was at boot, and what
// the walker derived from it.
func restoreKept() {
	putBack()
	prepareWalks()
}

// beginDeath calls takeMachine, with its parameters, and restoreKept. Before takeMachine another
// CPU may be using the walker; after it, that CPU stands still.
func beginDeath(f *arch.TrapFrame, fp uintptr) {
	recorded := arch.StopBranches() // first: each branch from here on would overwrite an older one
	putBack()
	endEvents()
	takeMachine(f, fp)
	if recorded {
		takeBranches()
	}
	prepareWalks()
}

func putBack() {
	if n, first := arch.RestoreKept(); n != 0 {
		if overwritten == 0 {
			overwrittenAt = first
		}
		overwritten += n
	}
}

func prepareWalks() {
	stack.Show(percpu.This().Number)
	stack.Walker.Prepare()
}

// tellOverwritten reports what restoreKept found.
func tellOverwritten() {
	if overwritten == 0 {
		return
	}
	console.Printf(
		"the kernel's own memory had been overwritten, and was put back: words %d, the first at %x\n",
		uint64(overwritten), uint64(overwrittenAt))
	overwritten = 0
}
