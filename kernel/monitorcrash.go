package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/kernel/monitor"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor's ways to die, to see how a machine's death reaches whom it should.

const crashHelp = `KIND is
  panic     the kernel gives up where the machine was stopped
  nil       read through a nil pointer, in the monitor
  gp        read of a non-canonical address
  divide    integer division by zero
  bounds    index out of range
  overflow  recursion without end
  quit      SIGQUIT to the program, after continue: Go lists its goroutines
  triple    a triple fault: the machine resets without a word`

func monitorCrash(args []byte) {
	kind, _ := monitor.Word(args)
	switch {
	case Same(kind, "panic"):
		d := climb(tracer.KindPanic)
		*d = stop
		d.kind, d.told, d.seq, d.cause, d.reason.n = tracer.KindPanic, false, 0, false, 0
		d.reason.str("crash panic was typed at the monitor")
		perform()
		endFatal()
	case Same(kind, "nil"):
		crashSink = *(*uintptr)(amd64.Pointer(8))
	case Same(kind, "gp"):
		crashSink = *(*uintptr)(amd64.Pointer(1 << 60))
	case Same(kind, "divide"):
		crashSink = 1 / crashZero
	case Same(kind, "bounds"):
		crashSink = uintptr(joined[len(joined)+int(crashZero)])
	case Same(kind, "overflow"):
		crashSink = recurse(1)
	case Same(kind, "quit"):
		if stopWhy != stopKey {
			console.String("there is no program that could take it\n")
			return
		}
		linuxabi.Send(tty.SIGQUIT)
		console.String("SIGQUIT is on its way; `continue`\n")
	case Same(kind, "triple"):
		console.Flush()
		amd64.TripleFault()
	default:
		console.String(crashHelp)
		console.String("\n")
	}
}

var crashSink, crashZero uintptr

//go:noinline
func recurse(n uintptr) uintptr { return recurse(n+1) + n }
