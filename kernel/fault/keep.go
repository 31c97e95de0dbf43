package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// What the panic path needs is kept twice (arch.Keep). A fatal trace first puts back what has
// been overwritten, and says so.

// Keep has arch keep what this package sets once at boot. Early context.
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

// overwritten is how many words have been put back and not been told of, and the address of
// the first. Panic path only.
var overwritten, overwrittenAt uintptr

// restoreKept puts back what is kept, and must be as it was, and what the walker has made of it.
func restoreKept() {
	putBack()
	prepareWalks()
}

// beginDeath is restoreKept for a death, with takeMachine, whose parameters it has: before that
// the walker may be another CPU's, behind it that one stands still.
func beginDeath(f *arch.TrapFrame, fp uintptr) {
	recorded := arch.StopBranches() // first: each branch from here on would take an older one's place
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

// tellOverwritten says what restoreKept has found.
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
