package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/tracer"
)

// The branches that the CPU took last before a fault, as far as it records them (arch.ReadBranches), at the end of the trace
// of a death. They are read when the fault becomes fatal, or a signal of which the program may die later.

// branchesFound is how many records there are, and branchState whether they are made. Set once at boot.
var (
	branchesFound int
	branchState   branchUse
)

// branchUse is what is done with the records.
type branchUse uint8

const (
	branchesNone    branchUse = iota // there are none
	branchesMade                     // they are made
	branchesOff                      // lbr=off
	branchesVirtual                  // not in a virtual machine, without lbr=on
	branchesRefused                  // the CPU, or the hypervisor, does not do what it says that it can
)

// branchesWordOff is the number of the word off of the option lbr=.
const branchesWordOff = 1

// StartBranches looks for records of branches, and has the running CPU make them, as the option lbr= says. Early context, on
// the first CPU; each other one calls JoinBranches.
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

// JoinBranches has a CPU that has been started record its branches, too. Early context.
func JoinBranches() {
	if branchState == branchesMade {
		arch.StartBranches()
	}
}

// PrintBranches prints what the boot report says of them. Early context.
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
	console.String(", ")
	console.Dec(uint64(branchesFound))
	console.String(" entries")
}

// lastBranches are the branches that were read last, and numBranches is how many; branchesRead is set when they are
// those of the death. Under the kernel lock; the panic path takes none.
var (
	lastBranches [arch.MaxBranches]arch.Branch
	numBranches  int
	branchesRead bool
)

// noteBranches is for a fault that becomes a signal: the program may die of it.
func noteBranches() {
	if arch.BranchesHeld() {
		numBranches = arch.ReadBranches(&lastBranches)
	}
}

// takeBranches reads those of a death, if it is the first time; the records have been stopped.
func takeBranches() {
	if !branchesRead {
		branchesRead = true
		numBranches = arch.ReadBranches(&lastBranches)
	}
}

// keepBranches is for a program that dies: what the CPU records now is how it does so. ofFault says that it is of a fault,
// the latest that has become a signal.
func keepBranches(ofFault bool) {
	branchesRead = true
	if !ofFault {
		numBranches = 0
	}
}

// branchWords holds a branch for the compact form. Panic path only.
var branchWords [tracer.BranchWords]uintptr

// writeBranches writes them, the oldest first. As with the events, the codes of a screen are without.
func writeBranches(d *Details) {
	if d.other || !branchesRead || toCodes {
		return
	}
	for i := range numBranches {
		b := &lastBranches[i]
		v := tracer.Branch{From: uint64(b.From), To: uint64(b.To), Cycles: uint32(b.Cycles), Missed: b.Missed}
		if writer.Form >= tracer.Compact {
			branchWords = v.Words()
			writer.Mem(tracer.BranchMark+uintptr(i)*tracer.BranchWords*8, branchWords[:])
			continue
		}
		writer.Branch(&v)
	}
}
