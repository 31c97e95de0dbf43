package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/tracer"
)

// The branches that the CPU took last before a fault, as far as it records them
// (arch.ReadBranches). They are part of a fatal trace. They are read when a fault becomes fatal,
// and when it becomes a signal that the program may die of later.

// branchesFound is the number of records, and branchState says whether the CPU writes them. Set
// once at boot.
var (
	branchesFound int
	branchState   branchUse
)

// branchUse says whether branches are recorded, and why not.
type branchUse uint8

const (
	branchesNone    branchUse = iota // the CPU has no records
	branchesMade                     // branches are recorded
	branchesOff                      // lbr=off
	branchesVirtual                  // not in a virtual machine without lbr=on
	branchesRefused                  // the CPU or the hypervisor does not do what it announces
)

// branchesWordOff is the index of the word off in the option lbr=.
const branchesWordOff = 1

// StartBranches looks for branch records and starts recording on this CPU, as the option lbr= says.
// Early context, on the first CPU; each other CPU calls JoinBranches.
func StartBranches() {
	n, virtual := arch.FindBranches()
	word, given := option.Word("lbr")
	branchesFound = n
	switch {
	case n == 0:
	case given && word == branchesWordOff:
		branchState = branchesOff
	case virtual && !given:
		branchState = branchesVirtual
	case !arch.StartBranches():
		branchState = branchesRefused
	default:
		branchState = branchesMade
	}
}

// JoinBranches starts recording branches on another CPU. Early context.
func JoinBranches() {
	if branchState == branchesMade {
		arch.StartBranches()
	}
}

// PrintBranches prints the boot report's line on branch records. Early context.
func PrintBranches() {
	switch branchState {
	case branchesNone:
		console.String("no records: this CPU keeps none")
		return
	case branchesOff:
		console.String("not recorded: lbr=off")
		return
	case branchesVirtual:
		console.String("not recorded in a virtual machine without lbr=on")
		return
	case branchesRefused:
		console.String("no records: a register for them is missing")
		return
	}
	console.String(arch.BranchesName())
	console.Printf(", %d entries", uint64(branchesFound))
}

// lastBranches holds the branches that were read last, and numBranches their number; branchesRead
// is set when they belong to the death. Under the kernel lock; the panic path takes none.
var (
	lastBranches [arch.MaxBranches]arch.Branch
	numBranches  int
	branchesRead bool
)

// noteBranches reads the branches of a fault that becomes a signal, because the program may die of
// it.
func noteBranches() {
	if arch.BranchesHeld() {
		numBranches = arch.ReadBranches(&lastBranches)
	}
}

// takeBranches reads the branches of a death, the first time only. Recording has been stopped.
func takeBranches() {
	if !branchesRead {
		branchesRead = true
		numBranches = arch.ReadBranches(&lastBranches)
	}
}

// keepBranches is called when a program dies: from here on the CPU records only how the program
// ends. ofFault says that it dies of a fault, the latest one that became a signal.
func keepBranches(ofFault bool) {
	branchesRead = true
	if !ofFault {
		numBranches = 0
	}
}

// branchWords holds a branch for the compact form. Panic path only.
var branchWords [tracer.BranchWords]uintptr

// writeBranches writes the branches, the oldest first. Like the events, they are left out of the
// screen's codes.
func writeBranches(d *Details) {
	if d.other || !branchesRead || toCodes {
		return
	}
	for i := range numBranches {
		b := &lastBranches[i]
		v := tracer.Branch{From: uint64(b.From), To: uint64(b.To), Cycles: uint32(b.Cycles),
			Missed: b.Missed}
		if writer.Form >= tracer.Compact {
			branchWords = v.Words()
			writer.Mem(tracer.BranchMark+uintptr(i)*tracer.BranchWords*8, branchWords[:])
			continue
		}
		writer.Branch(&v)
	}
}
