package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/tracer"
)

// How the machine ends. Under QEMU, the debug-exit device ends it with a status that tells zf how
// the program ended; elsewhere the CPU halts.

// The values written to the debug-exit device; QEMU exits with value*2+1. Package qemu reads them
// on the host.
const (
	exitOK    = 0x20 // the program ended with status 0
	exitTrace = 0x21 // the program ended in a trace
	// A program's own status is reported as exitStatus + status, for 1 to 63.
	exitStatus = 0x40
)

// Exit ends the machine with a status from 0 to 255. The emulator is told 63 for larger ones, and
// the host by its virtio console what they are, if there is one. Early and kernel context. It does
// not return.
func Exit(status int) {
	sendCounts()
	v := uint32(exitOK)
	if status != 0 {
		if status < 0 || status > 63 {
			console.TellStatus(uint64(status & 0xff))
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

// leave ends the emulator, if there is one that takes a status.
func leave(v uint32) {
	arch.DisableInterrupts()
	stopAlarm()
	flush()
	arch.Exit(v)
}

// flush sends all that is still to be sent.
func flush() {
	netconsole.Flush()
	eventstream.Flush()
	console.Flush()
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
	endKeep
)

// endRow is a row of the table of ends.
type endRow struct {
	run  func() // ends the machine; if it returns, the CPU halts
	word uint32 // the status to end an emulator with after all stages failed; 0: the emulator goes on
	last func() // what follows then, before the CPU halts; nil: nothing
}

// row returns the table's row for an end. The table is a constant in the code, which nothing can
// damage. Not inlined, so that the row's stack room is free again when the end runs.
//
//go:noinline
func (e end) row() endRow {
	ends := [...]endRow{
		endExit:    {Quit, exitTrace, nil},
		endHalt:    {turnPages, 0, nil},
		endReset:   {resetAfterTrace, 0, arch.Restart},
		endMonitor: {monitorThenQuit, exitTrace, nil},
		endKeep:    {keepOrQuit, exitTrace, nil},
	}
	if int(e) >= len(ends) {
		e = endExit
	}
	return ends[e]
}

// afterTrace is read from the command line at boot, because the end after a failed stage must not
// depend on reading anything then. Set once at boot.
var afterTrace end

// SetEnd reads the option panic=exit|halt|reset|monitor|keep.
func SetEnd() {
	how, _ := option.Word("panic")
	afterTrace = end(how)
	if afterTrace == endMonitor && !parts.Monitor {
		option.Ignored("panic", ascii.Bytes("monitor"),
			"this image is without the part monitor (zf help build)")
		afterTrace = endExit
	}
}

// EndMachine does what follows a fatal trace. When all stages have failed, it only leaves its
// record, sends what the stages wrote before they died, and ends. Neither is tried twice, so a
// fault in both still leads to the end.
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

// GiveUp ends the machine when EndMachine has died, too: it does what panic= asks for, as far as no
// other code is needed.
func GiveUp() {
	e := afterTrace.row()
	arch.LastWord(e.word)
	if e.last != nil {
		e.last()
	}
	halt()
}

// Quit ends the machine after a fatal trace; if the machine cannot be ended, the CPU halts.
func Quit() {
	leave(exitTrace)
	turnPages()
	halt()
}

// keepOrQuit halts if the machine has died for want of memory, so that the host can read who has
// it, and ends it otherwise.
func keepOrQuit() {
	if stageDetails[0].Kind != tracer.KindOOM {
		Quit()
	}
	flush()
	turnPages()
}

func monitorThenQuit() {
	monitorAfterTrace()
	Quit()
}

func resetAfterTrace() {
	holdPage()
	Reset()
}

// Reset restarts the machine once all output is sent.
func Reset() {
	flush()
	arch.Restart()
}
