package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fs"
	"github.com/zeroframe/zeroframe/kernel/netconsole"
	"github.com/zeroframe/zeroframe/kernel/record"
	"github.com/zeroframe/zeroframe/tracer"
)

// Across a reboot: a death leaves a record in RAM (package record) once its trace is out,
// and the next boot tells it. The trace in it is in the compact form, whatever trace=
// says, and goes out again as the lines that it is; a line before it says that it is not
// of this boot (tracer/wire.go).

// recording is set while what the writer writes goes into the record; recordForm is the
// form to go back to if the panic path dies then.
var (
	recording  bool
	recordForm tracer.Form
)

// recorded counts the tries at a record. Each says less than the one before, which has
// died: all; addresses; no more than the reason.
var recorded int

// recordRung is what writeRung gets for the first try.
const recordRung = numRungs + 1

// keepRecord leaves a record of the first death, if that can be done. It says no more than
// the trace could: if that was nothing, the reason all the same, which needs no walk.
func keepRecord() {
	if rung == 0 || recorded == numRungs {
		return
	}
	try := min(max(recorded+1, rung), numRungs)
	recorded = try
	performRung(uintptr(recordRung + try - 1))
	recorded = numRungs // it is there, and nothing that dies later takes its place
}

// writeRecord is a try.
func writeRecord(try int) {
	d := &deaths[0]
	record.Start()
	for _, b := range d.reason.b[:d.reason.n] {
		record.Byte(b)
	}
	if try < numRungs && d.seq != 0 {
		record.Next(record.Trace)
		recording, recordForm = true, writer.Form
		writer.Form = tracer.Compact
		// Its number is no later than the writer's latest, so that it builds on no other trace.
		startTrace(d)
		if try == 1 {
			writeDeath(d, true)
		} else {
			shortDeath(d, true)
		}
		endRecording()
	}
	record.Next(record.Console)
	n := min(console.TailLen(), record.Room()-sentBytes)
	for i := console.TailLen() - n; i < console.TailLen(); i++ {
		record.Byte(console.Tail(i))
	}
	if boot, seq := netconsole.Sent(); seq != 0 {
		record.Next(record.Sent)
		for shift := 0; shift < 64; shift += 8 {
			record.Byte(byte(boot >> uint(shift)))
		}
		for shift := 0; shift < 32; shift += 8 {
			record.Byte(byte(seq >> uint(shift)))
		}
	}
	record.Finish()
	amd64.WriteBackCaches()
}

// sentBytes is the length of record.Sent: the number of the boot and that of the trace, the
// lowest byte first.
const sentBytes = 8 + 4

// sentBefore returns these of the death that the record is of, 0 if its trace was not sent.
func sentBefore() (boot uint64, seq uint32) {
	b := record.Bytes(record.Sent)
	if len(b) != sentBytes {
		return 0, 0
	}
	for i := range 8 {
		boot |= uint64(b[i]) << (8 * uint(i))
	}
	for i := range 4 {
		seq |= uint32(b[8+i]) << (8 * uint(i))
	}
	return boot, seq
}

// endRecording makes the writer write to the wire again.
func endRecording() {
	if recording {
		recording = false
		writer.Form = recordForm
	}
}

// previous is what is known of the boot before.
var previous record.State

// PreviousDeath reports whether the boot before this one died, as far as its record in
// RAM says. Any context.
func PreviousDeath() bool { return previous != record.None }

// findRecord looks for a record of the boot before, before anything can be written there.
func findRecord() {
	record.Choose(info.Regions())
	previous = record.Find()
}

// tellRecord tells it, once.
func tellRecord() {
	switch previous {
	case record.Damaged:
		console.String("previous boot died, but its crash record is damaged: nothing of it is told\n")
	case record.Whole:
		console.String("previous boot died: ")
		console.Bytes(record.Bytes(record.Reason))
		console.String("\n")
		if lines := record.Bytes(record.Trace); len(lines) > 0 {
			tellTrace(lines)
		}
		tellConsole(record.Bytes(record.Console))
	default:
		return
	}
	record.Tell()
}

// tellTrace tells the trace. By network it goes as a trace does, and under the number that it
// had then: who has got it knows it, and who has not got it, since no card was up or the
// receiver was away, gets it now.
func tellTrace(lines []byte) {
	var line text
	line.str(tracer.Tag + "previous ")
	line.dec(uint64(record.Generation()))
	line.str("\r\n")
	netconsole.Begin(1)
	for _, b := range line.b[:line.n] {
		wire(b)
	}
	for _, b := range lines {
		wire(b)
	}
	console.FreshLine()
	if netconsole.End() {
		netconsole.SendAs(sentBefore())
	}
}

// tellLines is how many lines of the console's tail are told; all of it is in the file.
const tellLines = 12

func tellConsole(tail []byte) {
	if len(tail) == 0 {
		return
	}
	at := len(tail) - 1 // the last line's end ends no line before it
	for lines := 1; at > 0; at-- {
		if tail[at-1] == '\n' {
			if lines == tellLines {
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

// storeRecord makes a file of the record, where Linux has them, for the program; and
// clears it.
func storeRecord() {
	if previous == record.Whole {
		now := clock.Wall()
		for _, dir := range [...]string{"/sys", "/sys/fs", "/sys/fs/pstore"} {
			fs.Mkdir(fs.Root, path(dir), 0o755, now)
		}
		const name = "/sys/fs/pstore/dmesg-zeroframe-0"
		if id, e := fs.Open(fs.Root, path(name), fs.O_CREAT|fs.O_WRONLY, 0o644, now); e == 0 {
			off := int64(0)
			for _, b := range [...][]byte{
				path("previous boot died: "), record.Bytes(record.Reason), path("\r\n"),
				record.Bytes(record.Trace), record.Bytes(record.Console),
			} {
				if n, e := fs.WriteAt(id, b, off, now); e == 0 {
					off += int64(n)
				}
			}
			fs.Release(id)
		}
	}
	record.Clear()
}
