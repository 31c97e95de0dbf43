package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/netconsole"
	"github.com/zeroframe/zeroframe/kernel/recordport"
)

// What happens when the kernel is done. Under QEMU the debug-exit device ends
// the machine with a status that tells zf how it went; elsewhere the CPU halts.

// The values written to the debug-exit device; QEMU exits with value*2+1. The
// host's side is in package qemu.
const (
	exitPort  = 0xf4
	exitOK    = 0x20 // the program ended with status 0
	exitTrace = 0x21 // it ended in a trace
	// A program's own status is reported as exitStatus + status, for 1 to 63.
	exitStatus = 0x40
)

// Exit ends the machine with a status from 0 to 63; larger ones are 63. Early and
// kernel context. It does not return.
func Exit(status int) {
	sendProfile()
	sendProbes()
	v := uint32(exitOK)
	if status != 0 {
		if status < 0 || status > 63 {
			status = 63
		}
		v = exitStatus + uint32(status)
	}
	leave(v)
	console.FreshLine()
	console.String("the kernel has ended: halted\n")
	halt()
}

// leave ends QEMU if the debug-exit device is there. It reads as 0; a port that
// nothing answers on reads as 0xff.
func leave(v uint32) {
	amd64.DisableInterrupts()
	netconsole.Flush()
	recordport.Flush()
	console.Flush()
	if amd64.In8(exitPort) == 0 {
		amd64.Out32(exitPort, v)
	}
}

func halt() {
	for {
		amd64.DisableInterrupts()
		amd64.Halt()
	}
}

// What follows a fatal trace.
const (
	endExit = iota
	endHalt
	endReset
	endMonitor
)

// end is one of them. It is read from the command line at boot: the end of a
// ladder that has failed must not depend on anything that is read then.
var end uint8

// setEnd reads the option panic=exit|halt|reset|monitor.
func setEnd() {
	how, ok := Option("panic")
	switch {
	case !ok || Same(how, "exit"):
		end = endExit
	case Same(how, "halt"):
		end = endHalt
	case Same(how, "reset"):
		end = endReset
	case Same(how, "monitor"):
		end = endMonitor
	default:
		console.String("panic=")
		console.Bytes(how)
		console.String(" is ignored: want exit, halt, reset or monitor\n")
	}
}

// endFatal is what follows a fatal trace. When the ladder has failed, it leaves its record,
// sends what the rungs have written before they died, and ends, no more. Neither is tried
// twice, so that a fault in both still leads to the end.
func endFatal() {
	keepRecord()
	if rung > numRungs {
		sendTrace()
	} else {
		sendResources("death")
		sendProfile()
		sendProbes()
	}
	switch end {
	case endReset:
		holdPage()
		reset()
	case endExit:
		quit()
	case endMonitor:
		monitorAfterDeath()
		quit()
	}
	turnPages()
	halt()
}

// giveUp is the end when what endFatal does has died, too: what panic= asks for, as far as
// that can be without any other code.
func giveUp() {
	switch end {
	case endReset:
		amd64.LastWord(0, 0)
		restart()
	case endHalt:
		amd64.LastWord(0, 0)
	default:
		amd64.LastWord(exitPort, exitTrace)
	}
	halt()
}

// quit ends the machine after a fatal trace; where that cannot be, it halts.
func quit() {
	leave(exitTrace)
	turnPages()
	halt()
}

// reset restarts the machine once all is out.
func reset() {
	netconsole.Flush()
	recordport.Flush()
	console.Flush()
	restart()
}

// restart tries the chip set's reset control register, then the keyboard
// controller, then a triple fault, which every CPU knows.
func restart() {
	const (
		resetControl = 0xcf9 // Intel ICH/PCH: bit 1 hard, bit 2 now
		keyboard     = 0x64
	)
	amd64.Out8(resetControl, 0x02)
	amd64.Out8(resetControl, 0x06)
	amd64.Out8(keyboard, 0xfe)
	amd64.TripleFault()
}
