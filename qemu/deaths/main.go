// Deaths boots many machines with 1 to 8 CPUs that die in random ways, and makes a table of what
// their traces said. It is what `make deaths` runs; -h says more.
//
//	main.go   the command: and its table
//	case.go   a case, by seed and number: how the machine dies
//	judge.go  one machine, and what its traces must say
//
// A case depends on the seed and its number alone. Time is virtual, but where CPUs are to die at
// the same time: half of those machines have a thread of the host for each CPU. Context: the host.
package main

import (
	"strconv"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

const usageText = `Usage: deaths [flags]

Deaths boots -n machines with 1 to 8 CPUs. In each, the last CPU dies in a way
that is chosen by chance, at a time that is, too, while the others wait, spin
with interrupts off, or die as well. A quarter of them run a program that keeps
all CPUs busy, and dies in the kernel or in a goroutine. Every trace must be
whole, every CPU must have one, and the first must be of the function that died.
The table says of how many that is so; after it comes a line for each other one.
A run that is interrupted makes the table of what it has done, and says with
which -first to go on.

Exit status: 0 the table is complete, whatever is in it; 2 it is not.

Flags:

`

func main() {
	image.RunTool() // if the go command started us in the compiler's place
	batch.Main("deaths", newDeaths().Command)
}

// newDeaths returns the command.
func newDeaths() *batch.Machines[*result] {
	m := &batch.Machines[*result]{
		Name: "deaths", Usage: usageText, Package: batch.Module + "kernel/crashlab", N: 10000, Boot: boot,
		Corner: "CPUs", Column: func(r *result) int { return r.cpus - 1 },
		Rows: []string{"machines", "under a program", "whose CPUs are threads", "right", "traces",
			"traces of CPUs that died, too",
			"did not answer"},
		Count: func(r *result) []int {
			return []int{1, batch.If(r.busy), batch.If(r.threads), batch.If(r.wrong == ""), r.traces,
				r.died, r.silent}
		},
	}
	for n := range mostCPUs {
		m.Columns = append(m.Columns, strconv.Itoa(n+1))
	}
	return m
}
