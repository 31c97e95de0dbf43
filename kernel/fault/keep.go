package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// What the panic path needs is stored twice (arch.Keep). A fatal trace first restores what was
// overwritten, and reports that.

// Keep stores a second copy of what this package sets once at boot (arch.Keep). Early context.
func Keep() {
	arch.Keep(unsafe.Pointer(&stackDump), unsafe.Sizeof(stackDump))
	arch.Keep(unsafe.Pointer(&stackDumpSet), unsafe.Sizeof(stackDumpSet))
	arch.Keep(unsafe.Pointer(&codesAt), unsafe.Sizeof(codesAt))
	arch.Keep(unsafe.Pointer(&argsRoom), unsafe.Sizeof(argsRoom))
	arch.Keep(unsafe.Pointer(&writer.Put), unsafe.Sizeof(writer.Put))
	arch.Keep(unsafe.Pointer(&panicHook), unsafe.Sizeof(panicHook))
	arch.Keep(unsafe.Pointer(&afterTrace), unsafe.Sizeof(afterTrace))
	arch.Keep(unsafe.Pointer(&dumpEntry), unsafe.Sizeof(dumpEntry))
	arch.Keep(unsafe.Pointer(&monitorEntry), unsafe.Sizeof(monitorEntry))
	arch.Keep(unsafe.Pointer(&patience), unsafe.Sizeof(patience))
	arch.Keep(unsafe.Pointer(&alarm), unsafe.Sizeof(alarm))
	arch.Keep(unsafe.Pointer(&boundsFormats), unsafe.Sizeof(boundsFormats))
	arch.Keep(unsafe.Pointer(&negativeFormats), unsafe.Sizeof(negativeFormats))
	arch.Keep(unsafe.Pointer(&boundsNames), unsafe.Sizeof(boundsNames))
	arch.Keep(unsafe.Pointer(&signalNames), unsafe.Sizeof(signalNames))
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
	console.String("the kernel's own memory had been overwritten, and was put back: words ")
	console.Dec(uint64(overwritten))
	console.String(", the first at ")
	console.Hex(uint64(overwrittenAt))
	console.String("\n")
	overwritten = 0
}
