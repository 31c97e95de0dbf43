package main

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// Branch records for a CPU that has none: crash.branches=on.

// branchRoom replaces the registers of such records. Crash lab only.
var branchRoom [arch.FakeBranchMSRs]arch.FakeMSR

// fakeBranches makes the CPU look as if it had recorded three branches: into the functions of the
// kind nil-write, and back.
func fakeBranches() {
	fakeBranch[0] = arch.Branch{From: entryOf(lab), To: entryOf(nilWriteA), Cycles: 12}
	fakeBranch[1] = arch.Branch{From: entryOf(nilWriteA), To: entryOf(nilWriteB), Missed: true}
	fakeBranch[2] = arch.Branch{From: entryOf(nilWriteB), To: entryOf(lab)}
	arch.FakeBranches(&branchRoom, fakeBranch[:])
	arch.StartBranches()
	if _, ok := arch.LoadUser64(0); ok || arch.BranchesHeld() {
		fault.Panic("behind a fault that is over, the CPU does not record branches again")
	}
}

// fakeBranch are these branches. Crash lab only.
var fakeBranch [3]arch.Branch

// entryOf returns the address of a function's code.
func entryOf(f func()) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }
