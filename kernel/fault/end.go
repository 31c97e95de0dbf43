package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/option"
)

// What happens when the kernel is done. Under QEMU the debug-exit device ends
// the machine with a status that tells zf how it went; elsewhere the CPU halts.

// The values written to the debug-exit device; QEMU exits with value*2+1. The
// host's side is in package qemu.
const (
	exitOK    = 0x20 // the program ended with status 0
	exitTrace = 0x21 // it ended in a trace
	// A program's own status is reported as exitStatus + status, for 1 to 63.
	exitStatus = 0x40
)

// Exit ends the machine with a status from 0 to 63; larger ones are 63. Early and
// kernel context. It does not return.
func Exit(status int) {
	sendCounts()
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

// sendCounts sends the profile and the counts of probes.
func sendCounts() {
	observe.SendProfile(linux.CallName)
	observe.SendProbes()
}

// leave ends an emulator that can be told how it went.
func leave(v uint32) {
	arch.DisableInterrupts()
	stopAlarm()
	netconsole.Flush()
	eventstream.Flush()
	console.Flush()
	arch.Exit(v)
}

func halt() {
	for {
		arch.DisableInterrupts()
		arch.Halt()
	}
}

// An end is what follows a fatal trace: the words of the option panic=, in their order
// (kernel/option/table.go).
type end uint8

const (
	endExit end = iota
	endHalt
	endReset
	endMonitor
)

// endRow is a row of the table of ends.
type endRow struct {
	run  func() // ends the machine, if it does not return; then the CPU halts
	word uint32 // what the last word says when all stages have failed; not 0: it ends an emulator
	last func() // what follows then, before the CPU halts; nil: nothing
}

// row returns what an end is. The table is a constant of the code, which nothing can damage.
// Not inlined: it takes room on the stack, which is free again when the end runs.
//
//go:noinline
func (e end) row() endRow {
	ends := [...]endRow{
		endExit:    {Quit, exitTrace, nil},
		endHalt:    {turnPages, 0, nil},
		endReset:   {resetAfterTrace, 0, arch.Restart},
		endMonitor: {monitorThenQuit, exitTrace, nil},
	}
	if int(e) >= len(ends) {
		e = endExit
	}
	return ends[e]
}

// afterTrace is read from the command line at boot: the end of a stage that has failed must
// not depend on anything that is read then. Set once at boot.
var afterTrace end

// SetEnd reads the option panic=exit|halt|reset|monitor.
func SetEnd() {
	how, _ := option.Word("panic")
	afterTrace = end(how)
}

// EndMachine is what follows a fatal trace. When all stages have failed, it leaves its record,
// sends what the stages have written before they died, and ends, no more. Neither is tried
// twice, so that a fault in both still leads to the end.
func EndMachine() {
	writeCrashLog()
	if stage() > StageLine {
		sendByNetwork()
	} else {
		traceOthers()
		observe.SendHandles("death")
		sendCounts()
	}
	sendDump()
	afterTrace.row().run()
	halt()
}

// GiveUp is the end when what EndMachine does has died, too: what panic= asks for, as far as
// that can be without any other code.
func GiveUp() {
	e := afterTrace.row()
	arch.LastWord(e.word)
	if e.last != nil {
		e.last()
	}
	halt()
}

// Quit ends the machine after a fatal trace; where that cannot be, it halts.
func Quit() {
	leave(exitTrace)
	turnPages()
	halt()
}

func monitorThenQuit() {
	monitorAfterTrace()
	Quit()
}

func resetAfterTrace() {
	holdPage()
	Reset()
}

// Reset restarts the machine once all is out.
func Reset() {
	netconsole.Flush()
	eventstream.Flush()
	console.Flush()
	arch.Restart()
}
