package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// Branch records for a CPU that has none: crash.branches=on.

// branchRoom replaces the registers of such records. Crash lab only.
var branchRoom [arch.FakeBranchMSRs]arch.FakeMSR

// fakeBranches makes the CPU look as if it had recorded three branches: into the functions of the
// kind nil-write, and back.
func fakeBranches() {
	fakeBranch[0] = arch.Branch{From: arch.EntryOf(lab), To: arch.EntryOf(nilWriteA), Cycles: 12}
	fakeBranch[1] = arch.Branch{From: arch.EntryOf(nilWriteA), To: arch.EntryOf(nilWriteB),
		Missed: true}
	fakeBranch[2] = arch.Branch{From: arch.EntryOf(nilWriteB), To: arch.EntryOf(lab)}
	arch.FakeBranches(&branchRoom, fakeBranch[:])
	arch.StartBranches()
	if _, ok := arch.LoadUser64(0); ok || arch.BranchesHeld() {
		fault.Panic("behind a fault that is over, the CPU does not record branches again")
	}
}

// fakeBranch are these branches. Crash lab only.
var fakeBranch [3]arch.Branch
