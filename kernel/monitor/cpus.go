package monitor

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// The monitor's commands about CPUs: one CPU runs the monitor and shows what was interrupted; the
// others stand still meanwhile (fault.HoldCPUs), or for good after a death.

// stateNames describe what another CPU does. Never written.
var stateNames = [...]string{
	percpu.Starting: "starts",
	percpu.Running:  "no answer",
	percpu.Dying:    "died, too",
	percpu.Stopped:  "stopped",
	percpu.Held:     "stopped",
}

func runCPUs() {
	console.String("cpu  state      thread  at\n")
	me := percpu.This().Number
	for n := range percpu.Count() {
		r := percpu.At(n)
		mark, state, known := byte('*'), "monitor", true
		if n == me {
			looked = fault.Stop
		} else {
			mark, state = ' ', stateNames[min(int(r.State.Now()), len(stateNames)-1)]
			known = looked.OfCPU(n)
		}
		console.Byte(mark)
		console.Printf("%2d  ", uint64(n))
		console.String(state)
		spaces(10 - len(state))
		console.Printf("%7d  ", uint64(looked.Thread))
		if known {
			printUser(&looked)
		}
		console.String("\n")
		stack.Show(me)
	}
}

// runLocks shows the use of the kernel lock.
func runLocks() {
	if !percpu.Many {
		console.String("the kernel lock is not in use: the program has not started, or runs on one CPU\n")
		return
	}
	fault.ReportLock()
}

func runCPU(args []byte) {
	n, ok := argument(args, "CPU: `cpus` lists them")
	switch {
	case !ok:
	case n >= uint64(percpu.Count()):
		console.String("there is no such CPU\n")
	case uint32(n) == percpu.This().Number:
		traceStop()
	default:
		fault.TraceCPU(uint32(n))
	}
}

func runTrace(args []byte) {
	switch word, _ := Word(args); {
	case len(word) == 0:
		traceStop()
	case ascii.Same(word, "all"):
		traceStop()
		for n := range percpu.Count() {
			if n != percpu.This().Number {
				fault.TraceCPU(n)
			}
		}
	default:
		console.String("want `bt` or `bt all`\n")
	}
}
