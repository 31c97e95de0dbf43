package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/crashlog"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/tracer"
)

// Across a reboot: a crash leaves a record in RAM (package crashlog) once its trace is out,
// and the next boot reports it. The trace in it is in the compact form, whatever trace=
// says, and goes out again as the lines that it is; a line before it says that it is not
// of this boot (tracer/wire.go).

// toCrashLog is set while what the writer writes goes into the record; savedForm is the
// form to go back to if the panic path faults then. Panic path only.
var (
	toCrashLog bool
	savedForm  tracer.Form
)

// triedLog is the stage as which a crash log was last tried. Each says less than the one before,
// which has failed: all; addresses; no more than the reason. Panic path only.
var triedLog Stage

// writeCrashLog leaves a record of the first crash, if that can be done. It says no more than
// the trace could: if that was nothing, the reason all the same, which needs no walk.
func writeCrashLog() {
	if stage() == noStage || triedLog == StageLine {
		return
	}
	triedLog = min(max(triedLog.row().next, stage()), StageLine)
	onPanicStack(inCrashLog | triedLog)
	triedLog = StageLine // it is there, and no later crash takes its place
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
		// Its number is no later than the writer's latest, so that it builds on no other trace.
		startTrace(d)
		write(d, true)
		endCrashLogTrace()
	}
	deathSent.boot, deathSent.seq = netconsole.Sent()
	finishCrashLog()
}

// finishCrashLog writes what comes behind the traces.
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

// tailRoom is how much of the console's tail, in bytes, is left room for when other CPUs' traces are
// many.
const tailRoom = 1 << 10

// cpusLeftOut is how many CPUs' traces are not in the crash log. Panic path only.
var cpusLeftOut uint32

// beginCPULog begins the other CPUs' part of the crash log, if there is one. The copy that is
// finished stays as it is until endCPULog.
func beginCPULog() {
	cpusLeftOut = 0
	crashlog.Again(crashlog.CPUs)
}

// logCPU adds the trace of another CPU, which has been written to the wire, as the stage can.
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

// behindCPUs is what comes behind the CPUs' traces besides the console's tail, in bytes: the entry
// of endCPULog, and crashlog.Sent.
const behindCPUs = 8 + sentBytes

// endCPULog ends that part: the last entry is empty, and its number says how many are left out.
func endCPULog() {
	crashlog.BeginEntry()
	crashlog.EndEntry(cpusLeftOut, sentBytes)
	finishCrashLog()
}

// sentBytes is the length of crashlog.Sent: the number of the boot and that of the trace, the
// lowest byte first.
const sentBytes = 8 + 4

// deathSent is under which number the trace of the death that the record is of has left. Panic path
// only.
var deathSent sentAs

// sentBefore returns these of the crash that the record is of, 0 if its trace was not sent.
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

// sentAs is under which number of which boot a trace was sent; seq is 0 if it was not.
type sentAs struct {
	boot uint64
	seq  uint32
}

// endCrashLogTrace makes the writer write to the wire again.
func endCrashLogTrace() {
	if toCrashLog {
		toCrashLog = false
		writer.Form = savedForm
	}
}

// previous is what is known of the boot before. Set once at boot.
var previous crashlog.State

// PreviousCrashed reports whether the boot before this one died, as far as its record in
// RAM says. Any context.
func PreviousCrashed() bool { return previous != crashlog.None }

// PreviousState says what was found of it. Any context.
func PreviousState() crashlog.State { return previous }

// FindPrevious looks for a record of the boot before, before anything can be written there.
func FindPrevious(ram []boot.Region) {
	crashlog.Choose(ram)
	previous = crashlog.Find()
}

// PrintPrevious reports it, once.
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

// sendPrevious sends the trace. By network it goes as a trace does, and under the number that it
// had then: who has got it knows it, and who has not got it, since no card was up or the
// receiver was away, gets it now.
func sendPrevious(lines []byte, as sentAs) {
	var line text
	line.Str(tracer.Tag + "previous ")
	line.Dec(uint64(crashlog.Generation()))
	line.Str("\r\n")
	netconsole.Begin(true)
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

// printPreviousCPUs sends the traces of the other CPUs, and says how many there was no room for.
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
			console.String("there was no room for the traces of ")
			console.Dec(uint64(number))
			console.String(" more CPUs\n")
		}
	}
}

// previousLines is how many lines of the console's tail are told; all of it is in the file.
const previousLines = 12

func printPreviousConsole(tail []byte) {
	if len(tail) == 0 {
		return
	}
	at := len(tail) - 1 // the last line's end ends no line before it
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
			console.String("  | ") // so that no line of it is taken for one of this boot
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
