package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/crashlog"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/tracer"
)

// Across a reboot: once its trace is out, a crash leaves a record in RAM (package crashlog), and
// the next boot reports it. The trace in the record is in the compact form, whatever trace= says.
// The next boot sends its lines unchanged, after a line that says that they are not of this boot
// (tracer/wire.go).

// toCrashLog is set while the writer's output goes into the record; savedForm is the form to go
// back to if the panic path faults meanwhile. Panic path only.
var (
	toCrashLog bool
	savedForm  tracer.Form
)

// triedLog is the stage that last tried to write a crash log. Each stage writes less than the one
// before it, which has failed: everything; addresses; the reason only. Panic path only.
var triedLog Stage

// writeCrashLog leaves a record of the first crash, if it can. The record says no more than the
// trace could. If the trace said nothing, the record still has the reason, which needs no walk.
func writeCrashLog() {
	if stage() == noStage || triedLog == StageLine {
		return
	}
	triedLog = min(max(triedLog.row().next, stage()), StageLine)
	onPanicStack(inCrashLog | triedLog)
	triedLog = StageLine // the log exists, and no later crash replaces it
}

// tryCrashLog writes as much as a stage can.
func tryCrashLog(s Stage) {
	d := &stageDetails[0]
	crashlog.Start()
	for _, b := range d.Reason.b[:d.Reason.N] {
		crashlog.Byte(b)
	}
	if write := s.row().log; write != nil && d.Seq != 0 {
		crashlog.Next(crashlog.Trace)
		toCrashLog, savedForm = true, writer.Form
		writer.Form = tracer.Compact
		// Its number is no later than the writer's latest, so it builds on no other trace.
		startTrace(d)
		write(d, true)
		endCrashLogTrace()
	}
	deathSent.boot, deathSent.seq = netconsole.Sent()
	finishCrashLog()
}

// finishCrashLog writes the part after the traces.
func finishCrashLog() {
	crashlog.Next(crashlog.Console)
	n := min(console.TailLen(), crashlog.Room()-sentBytes)
	for i := console.TailLen() - n; i < console.TailLen(); i++ {
		crashlog.Byte(console.Tail(i))
	}
	if deathSent.seq != 0 {
		crashlog.Next(crashlog.Sent)
		for shift := 0; shift < 64; shift += 8 {
			crashlog.Byte(byte(deathSent.boot >> uint(shift)))
		}
		for shift := 0; shift < 32; shift += 8 {
			crashlog.Byte(byte(deathSent.seq >> uint(shift)))
		}
	}
	crashlog.Finish()
	arch.WriteBackCaches()
}

// tailRoom is the room reserved for the console's tail, in bytes, when other CPUs' traces are many.
const tailRoom = 1 << 10

// cpusLeftOut is the number of CPUs whose traces are not in the crash log. Panic path only.
var cpusLeftOut uint32

// beginCPULog begins the other CPUs' part of the crash log, if there is a log. The finished copy
// stays as it is until endCPULog.
func beginCPULog() {
	cpusLeftOut = 0
	crashlog.Again(crashlog.CPUs)
}

// logCPU adds the trace of another CPU to the log, after it was written to the wire, in the stage's
// form.
func logCPU(s Stage) {
	d := &stageDetails[s-1]
	crashlog.BeginEntry()
	toCrashLog, savedForm = true, writer.Form
	writer.Form = tracer.Compact
	writer.Whole()
	startTrace(d)
	if d.silent {
		writer.Done()
	} else {
		s.row().log(d, true)
	}
	endCrashLogTrace()
	_, sent := netconsole.Sent()
	if crashlog.EndEntry(sent, min(console.TailLen(), tailRoom)+behindCPUs) {
		cpusLeftOut--
	}
}

// behindCPUs is the size of what follows the CPUs' traces, apart from the console's tail, in bytes:
// the entry of endCPULog, and crashlog.Sent.
const behindCPUs = 8 + sentBytes

// endCPULog ends the other CPUs' part: the last entry is empty, and its number says how many traces
// are left out.
func endCPULog() {
	crashlog.BeginEntry()
	crashlog.EndEntry(cpusLeftOut, sentBytes)
	finishCrashLog()
}

// sentBytes is the length of crashlog.Sent: the number of the boot and the number of the trace,
// both little-endian.
const sentBytes = 8 + 4

// deathSent is the number under which the recorded death's trace was sent. Panic path only.
var deathSent sentAs

// sentBefore returns the numbers under which the recorded crash was sent, or 0 if it was not.
func sentBefore() (s sentAs) {
	b := crashlog.Bytes(crashlog.Sent)
	if len(b) != sentBytes {
		return s
	}
	for i := range 8 {
		s.boot |= uint64(b[i]) << (8 * uint(i))
	}
	for i := range 4 {
		s.seq |= uint32(b[8+i]) << (8 * uint(i))
	}
	return s
}

// sentAs holds the number of a trace that was sent, and of its boot; seq is 0 if the trace was not
// sent.
type sentAs struct {
	boot uint64
	seq  uint32
}

// endCrashLogTrace switches the writer back to the wire.
func endCrashLogTrace() {
	if toCrashLog {
		toCrashLog = false
		writer.Form = savedForm
	}
}

// previous is what was found of the previous boot. Set once at boot.
var previous crashlog.State

// PreviousCrashed reports whether the previous boot died, as far as its record in RAM tells. Any
// context.
func PreviousCrashed() bool { return previous != crashlog.None }

// PreviousState returns what was found of the previous boot. Any context.
func PreviousState() crashlog.State { return previous }

// FindPrevious looks for a record of the previous boot. It must run before anything is written to
// that memory.
func FindPrevious(ram []boot.Region) {
	crashlog.Choose(ram)
	previous = crashlog.Find()
}

// PrintPrevious reports the previous boot's crash, once.
func PrintPrevious() {
	switch previous {
	case crashlog.Damaged:
		console.String("previous boot died, but its crash record is damaged: nothing of it is told\n")
	case crashlog.Whole:
		console.String("previous boot died: ")
		console.Bytes(crashlog.Bytes(crashlog.Reason))
		console.String("\n")
		if lines := crashlog.Bytes(crashlog.Trace); len(lines) > 0 {
			sendPrevious(lines, sentBefore())
		}
		printPreviousCPUs()
		printPreviousConsole(crashlog.Bytes(crashlog.Console))
	default:
		return
	}
	crashlog.SetReported()
}

// sendPrevious sends the previous boot's trace. Over the network it goes as any trace does, under
// the number that it had then: a receiver that has it recognizes it, and one that missed it,
// because no card was up or the receiver was away, gets it now.
func sendPrevious(lines []byte, as sentAs) {
	var line text
	line.Str(tracer.Tag + "previous ")
	line.Dec(uint64(crashlog.Generation()))
	line.Str("\r\n")
	netconsole.Begin(true, false)
	for _, b := range line.b[:line.N] {
		putTrace(b)
	}
	for _, b := range lines {
		putTrace(b)
	}
	console.FreshLine()
	if netconsole.End() {
		netconsole.SendAs(as.boot, as.seq)
	}
}

// printPreviousCPUs sends the traces of the other CPUs, and says how many did not fit.
func printPreviousCPUs() {
	as := sentBefore()
	entries := crashlog.Bytes(crashlog.CPUs)
	for {
		lines, rest, number, ok := crashlog.Entry(entries)
		if !ok {
			return
		}
		if entries = rest; len(lines) > 0 {
			as.seq = number
			sendPrevious(lines, as)
		} else if number != 0 {
			console.Printf("there was no room for the traces of %d more CPUs\n", uint64(number))
		}
	}
}

// previousLines is the number of lines of the console's tail that are printed; the file has all of
// them.
const previousLines = 12

func printPreviousConsole(tail []byte) {
	if len(tail) == 0 {
		return
	}
	at := len(tail) - 1 // the newline at the end is not the end of an earlier line
	for lines := 1; at > 0; at-- {
		if tail[at-1] == '\n' {
			if lines == previousLines {
				break
			}
			lines++
		}
	}
	tail = tail[at:]
	console.String("previous boot's last lines:\n")
	for begun := false; len(tail) > 0; tail = tail[1:] {
		if !begun {
			console.String("  | ") // so that no line is taken for one of this boot
			begun = true
		}
		switch c := tail[0]; c {
		case '\r':
		case '\t':
			console.Byte(c)
		case '\n':
			console.String("\n")
			begun = false
		default:
			console.Bytes(tail[:1])
		}
	}
	console.FreshLine()
}
