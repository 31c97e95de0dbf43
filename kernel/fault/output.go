package fault

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/crashlog"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
)

// Where the bytes of a trace go: to the console and the network, into the crash log, or into the
// codes of the screen.

// putTrace takes each byte of a trace, also of a crash record's.
func putTrace(b byte) {
	switch {
	case toCrashLog:
		crashlog.Byte(b)
		return
	case toCodes:
		codeByte(b)
		return
	}
	console.TraceByte(b)
	netconsole.Keep(b)
}

// sendByNetwork sends what netconsole.Keep collected in the stage that ends.
func sendByNetwork() {
	if netconsole.End() {
		runHook(StageSending)
		if !netconsole.Send() {
			console.String("netconsole: the network card takes no frames; the traces that it does not take are here alone\n")
		}
	}
}
