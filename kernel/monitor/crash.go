package monitor

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor's ways to die, to see how a machine's crash is reported.

const crashHelp = `KIND is
  panic     the kernel gives up where the machine was stopped
  nil       read through a nil pointer, in the monitor
  gp        read of a non-canonical address
  divide    integer division by zero
  bounds    index out of range
  overflow  recursion without end
  quit      SIGQUIT to the program, after continue: Go lists its goroutines
  triple    a triple fault: the machine resets without a word`

func runCrash(args []byte) {
	kind, _ := Word(args)
	switch {
	case ascii.Same(kind, "panic"):
		d := fault.NextStage(tracer.KindPanic)
		*d = fault.Stop
		d.Kind, d.Begun, d.Seq, d.Cause, d.Reason.N = tracer.KindPanic, false, 0, false, 0
		d.Reason.Str("crash panic was typed at the monitor")
		fault.WriteTrace()
		fault.EndMachine()
	case ascii.Same(kind, "nil"):
		crashSink = *(*uintptr)(arch.Pointer(8))
	case ascii.Same(kind, "gp"):
		crashSink = *(*uintptr)(arch.Pointer(1 << 60))
	case ascii.Same(kind, "divide"):
		crashSink = 1 / crashZero
	case ascii.Same(kind, "bounds"):
		crashSink = uintptr(joined[len(joined)+int(crashZero)])
	case ascii.Same(kind, "overflow"):
		crashSink = recurse(1)
	case ascii.Same(kind, "quit"):
		if fault.StopWhy != fault.StopKey {
			console.String("there is no program that could take it\n")
			return
		}
		linux.Send(tty.SIGQUIT)
		console.String("SIGQUIT is on its way; `continue`\n")
	case ascii.Same(kind, "triple"):
		console.Flush()
		arch.ResetCPU()
	default:
		console.Line(crashHelp)
	}
}

//lint:ignore U1000 what is written to it makes the reads happen
var crashSink uintptr // under the kernel lock

var crashZero uintptr // never written

//go:noinline
//lint:ignore SA5007 the stack is to end
func recurse(n uintptr) uintptr { return recurse(n+1) + n }
