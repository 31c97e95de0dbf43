// Attack overwrites eight bytes of a running kernel, once in each of many machines, and makes
// a table of how they died. It is what `make attack` runs; -h says more.
//
//	main.go             the command, and its table
//	target.go           what is overwritten with what, by the image's symbols
//	machine.go          one machine: what is left of it, by what zf makes of its serial port
//	testdata/victim     the program: it overwrites, works, and dies
//
// Every machine dies: of the case, or else when its work is done. So each case also shows
// whether the panic path needs what was overwritten. A case depends on the seed, its number
// and the image alone, and time is virtual. Context: the host.
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

const usageText = `Usage: attack [flags]

Attack boots -n machines. In each, the program overwrites eight bytes of the kernel's code
or data, or of the runtime's data, or a whole word of the kernel's; then it works and dies.
The table says what was left of them, by what was overwritten, and after it comes a line for
each machine that did not leave a whole trace. A run that is interrupted makes the table of
what it has done, and says with which -first to go on.

Exit status: 0 the table is complete, whatever is in it; 2 it is not.

Flags:

`

func main() {
	image.RunTool() // if the go command started us in the compiler's place
	batch.Main("attack", newAttack().Command)
}

// newAttack returns the command.
func newAttack() *batch.Machines[*result] {
	var all targets
	var options string
	m := &batch.Machines[*result]{
		Name: "attack", Usage: usageText, Package: batch.Module + "qemu/attack/testdata/victim", N: 5000,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&options, "append", "", "add `OPTIONS` to the kernel's command line")
		},
		Prepare: func(l *batch.Lab) (err error) {
			all, err = readTargets(l.Image)
			return err
		},
		Boot: func(ctx context.Context, l *batch.Lab, seed uint64, n int) (*result, error) {
			return (&lab{l, options}).boot(ctx, all.aim(seed, n))
		},
		Columns: []string{"kernel text", "kernel data", "runtime data", "kernel word"},
		Column:  func(r *result) int { return int(r.kind) },
		Rows:    []string{"machines", "deaths", "died of it"},
		Count: func(r *result) []int {
			counts := make([]int, 3+ends)
			counts[0], counts[1], counts[2] = 1, r.death(), batch.If(r.died && r.end >= full)
			counts[3+r.end] = 1
			return counts
		},
		More: func(n int, all []*result) string {
			deaths := 0
			for _, r := range all {
				deaths += r.death()
			}
			if deaths == 0 {
				return "-"
			}
			return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(deaths))
		},
	}
	for e := range ends {
		m.Rows = append(m.Rows, e.String())
	}
	return m
}

// death is 1 for a machine that has died.
func (r *result) death() int { return batch.If(r.end != survived && r.end != hungTraced) }

// Line tells of a machine; one that left no whole trace, or did not end after it, is bad.
func (r *result) Line() (string, bool) {
	return fmt.Sprintf("%v\t%v\t%.140s", r.end, r.hit, strings.ReplaceAll(r.how, "\n", "; ")),
		r.end > full || strings.Contains(r.how, "; then ")
}
