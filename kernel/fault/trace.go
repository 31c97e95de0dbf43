package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// The trace, in the order of tracer/wire.go: what and where, then the walk, then the long tables.
// The second stage leaves out the pc tables, the marks and the memory dump; the third leaves out
// everything but what is known of the crash.

// maxWords and fewWords are the numbers of words at SP in a trace, in the readable forms and in the
// compact one, unless trace.stack= gives another.
const (
	maxWords  = 64
	fewWords  = 16
	lineWords = tracer.WordsPerLine
)

// maxStackDump bounds trace.stack=, in bytes: enough for any whole stack of the kernel, and at most
// some fifteen seconds on a line of 115,200 bits a second.
const maxStackDump = 64 << 10

// stackDump is the number of words that trace.stack= asks for; stackDumpSet says that it was given.
// Set once at boot.
var (
	stackDump    int
	stackDumpSet bool
)

var writer = tracer.Writer{Put: putTrace} // panic path only

// panicHook is the address of a function that is called at the beginning of each stage, or 0. For
// the crash lab. Set once at boot.
var panicHook uintptr

func runHook(s Stage) {
	if panicHook != 0 {
		arch.FuncAt[func(Stage)](&panicHook)(s)
	}
}

// OnPanic sets a function that is called at the beginning of each panic stage that writes a trace,
// with [StageSending] before a trace is sent by network, and with [StageDumping] before the memory
// is sent. It must be a top-level function. It is for the crash lab, which faults there. Not
// inlined, like [OnInterrupt].
//
//go:noinline
func OnPanic(f func(s Stage)) { panicHook = arch.EntryOf(f) }

// SetForm reads the option trace=text|markup|compact.
func SetForm() {
	forms := [...]tracer.Form{tracer.Text, tracer.Markup, tracer.Compact}
	form, _ := option.Word("trace")
	writer.Form = forms[form]
	setStackDump()
	setArgs()
}

// setStackDump reads the option trace.stack=BYTES.
func setStackDump() {
	n, ok := option.Number("trace.stack")
	if !ok {
		return
	}
	if n > maxStackDump {
		n = maxStackDump
		console.Printf("trace.stack= is cut to %d bytes\n", n)
	}
	stackDump, stackDumpSet = int(n+7)/8, true
}

// writeStage writes the trace of a stage, or as much of the crash log as that stage can.
func writeStage(n uintptr) {
	s := Stage(n)
	switch {
	case s&inCrashLog != 0:
		tryCrashLog(s &^ inCrashLog)
		return
	case s&cpuInLog != 0:
		logCPU(s &^ cpuInLog)
		return
	case s == inDump:
		callDump()
		return
	}
	endCrashLogTrace()
	endCodes()
	d := &stageDetails[s-1]
	netconsole.Begin(s == StageFull, d.Kind != tracer.KindTrace)
	checkScreen(d)
	console.FreshLine()
	tellOverwritten()
	d.silent = d.other && !d.fromCPU(s) && s != StageLine
	if d.silent {
		begin(d)
		writer.Done()
	} else {
		s.row().write(d)
	}
	sendByNetwork()
	keepCodes(s, d)
}

func fullTrace(d *Details) {
	d.FindStacks()
	if repeated(d) {
		return
	}
	begin(d)
	writeDetails(d, false)
}

// writeDetails writes a whole trace after its begin line. A trace that is kept for the next boot
// has few words of the stack, as there is little room.
func writeDetails(d *Details, kept bool) {
	next := writeFirst(d)
	if !kept {
		runHook(StageFull)
	}
	writeRest(d)
	if d.brief && writer.Form < tracer.Compact { // its frames need the table
		writer.Done()
		return
	}
	writer.Registers(&d.Regs, d.Have)
	for i := range stack.Table {
		s := &stack.Table[i]
		if s.Lo == s.Hi {
			if writer.Form >= tracer.Compact {
				writer.Stack(s) // its frames refer to their stacks by number
			}
			continue
		}
		if i == stack.Goroutine {
			s.Used = s.Hi - lowest(s, d.sp) // it grows as needed, and is not painted
		} else {
			stack.Measure(s)
		}
		writer.Stack(s)
	}
	more := maxWords
	switch {
	case stackDumpSet && !kept:
		more = stackDump
	case writer.Form >= tracer.Compact:
		more = fewWords
	}
	dump(next, more-lineWords)
	if stackDumpSet && !kept {
		// As much of each other stack, too, from where it was left.
		on := stack.Walker.Frames[0].Stack
		for i := 1; i < stack.Walker.N; i++ {
			if f := &stack.Walker.Frames[i]; f.Kind == tracer.PC && f.Stack != on {
				on = f.Stack
				dump(f.SP+lineWords*8, more-lineWords)
			}
		}
	}
	if !kept {
		writeArgs(d, d.sp&^7+uintptr(more)*8)
		writeWaits(d)
	}
	writeEvents(d)
	writeBranches(d)
	writer.Done()
}

// lowest returns the lowest address of the goroutine's stack s that the crash or the walk has
// reached.
func lowest(s *tracer.Stack, sp uintptr) uintptr {
	low := s.Hi
	if s.Contains(sp) {
		low = sp
	}
	for i := 0; i < stack.Walker.N; i++ {
		f := &stack.Walker.Frames[i]
		if f.Stack == stack.Goroutine && s.Contains(f.SP) {
			low = min(low, f.SP)
		}
		if f.Stack == stack.Goroutine && s.Contains(f.FP) {
			low = min(low, f.FP)
		}
	}
	return low
}

// repeated reports whether the trace equals the previous one; if so, it has written one line that
// says that, in a form that has such a line. It does not do so if trace.stack= asks for words,
// which are wanted each time. It walks before anything is written, but only for a trace after which
// the kernel goes on; if the walk faults, the next stage begins with what happened.
func repeated(d *Details) bool {
	if stackDumpSet || d.other ||
		!writer.Compare(seq+1, d.Kind, d.Context, d.Thread, d.Goroutine, d.PC) {
		return false
	}
	why(d)
	writeFirst(d)
	writeRest(d)
	if !writer.Repeat() {
		return false
	}
	seq++
	d.Begun = true
	return true
}

// writeFirst writes the words at SP and frame 0, before any walk. It returns where the dump can
// continue, or 0.
func writeFirst(d *Details) (next uintptr) {
	next = dumpPiece(d.sp, lineWords)
	firstFrame(d)
	return next
}

// writeRest walks, and writes the frames after the first one and why the walk ended.
func writeRest(d *Details) {
	stack.Walker.Plain = false
	walkEnds(d)
	writeWalk(true)
}

// walkEnds walks to the outermost frame, and keeps both ends of a deep stack.
func walkEnds(d *Details) {
	stack.Walker.Outer = stack.OuterFrames
	Walk(d)
	stack.Walker.Outer = 0
}

// writeWalk writes the walk's frames after the first one, with the words at SP if asked, and why
// the walk ended.
func writeWalk(words bool) {
	w := &stack.Walker
	n := 1
	for i := 1; i < w.N; i++ {
		f := &w.Frames[i]
		if i == stack.InnerFrames && w.LeftOut > 0 {
			writer.LeftOut(w.LeftOut)
			screenLeftOut(w.LeftOut)
			n += int(w.LeftOut)
		}
		if words && f.Kind == tracer.PC {
			dumpPiece(f.SP, lineWords)
		}
		frame(n, f)
		n += 1 + int(f.Repeat)
	}
	writer.Stop(w.End, w.EndValue)
	screenStop(w.End, w.EndValue)
}

// shortTrace is for a fault in fullTrace: addresses only, without the pc tables.
func shortTrace(d *Details) {
	if first := &stageDetails[0]; !first.Begun {
		begin(first) // the first stage died before it could write anything
	}
	begin(d)
	writeShort(d, false)
}

// writeShort writes the addresses of a trace, after its begin line.
func writeShort(d *Details, kept bool) {
	firstFrame(d)
	if !kept {
		runHook(StageAddresses)
	}
	stack.Walker.Plain = true
	walkEnds(d)
	writeWalk(false)
	writer.Done()
}

// writeLines writes one line, after a fault in shortTrace, too.
func writeLines(d *Details) {
	runHook(StageLine)
	if below := &stageDetails[StageAddresses-1]; !below.Begun {
		writeLine(below)
	}
	writeLine(d)
}

// writeLine writes the last stage's report of a crash.
func writeLine(d *Details) {
	writer.Last(d.Kind, d.PC, d.Reason.b[:d.Reason.N])
	screenLast(d)
}

// begin writes what happened and where; it reads nothing but d.
func begin(d *Details) {
	d.Begun = true
	seq++
	d.Seq = seq
	startTrace(d)
}

// startTrace writes the begin line of the trace with the crash's number.
func startTrace(d *Details) {
	writer.CPU, writer.Of = 0, d.of
	if percpu.Count() > 1 {
		writer.CPU = d.cpu + 1
	}
	writer.Begin(d.Seq, d.Kind, d.Context, d.Thread, d.Goroutine, image.BuildID(), image.TextLo,
		image.TextHi)
	why(d)
	screenBegin(d)
}

// why writes what is known of the cause.
func why(d *Details) {
	writer.Reason(d.Reason.b[:d.Reason.N])
	if d.Cause {
		writer.Cause(d.vector, d.code, d.at, d.addr, d.vector == arch.TrapPage)
	}
}

// Walk walks the stacks, starting where d is.
func Walk(d *Details) {
	a, b := arch.EntryRegisters(d.Regs[:])
	stack.WalkFrom(d.Call, d.PC, d.sp, d.fp, a, b)
}

// firstFrame writes frame 0, which needs no walk.
func firstFrame(d *Details) {
	f := tracer.Frame{Kind: tracer.PC, Addr: d.PC, SP: d.sp, FP: d.fp, Stack: tracer.NoStack}
	if d.Call || d.behind {
		f.Kind = tracer.RA
	}
	for i := range stack.Table {
		if s := &stack.Table[i]; s.Contains(d.sp) || f.Stack == tracer.NoStack && s.Contains(d.fp) {
			f.Stack = int8(i)
		}
	}
	frame(0, &f)
}

func frame(i int, f *tracer.Frame) {
	name := ""
	if f.Stack != tracer.NoStack {
		name = stack.Table[f.Stack].Name
	}
	writer.Frame(i, f, name)
	screenFrame(i, f)
}

// dump dumps up to n words from sp upwards, one dumpPiece after another.
func dump(sp uintptr, n int) {
	const piece = maxWords / lineWords * lineWords // whole lines
	for sp != 0 && n > 0 {
		sp = dumpPiece(sp, min(n, piece))
		n -= piece
	}
}

// words is the buffer of dumpPiece. Panic path only.
var words [maxWords]uintptr

// dumpPiece dumps up to n words from sp upwards, at most to the end of sp's stack, and returns
// where the dump could continue, or 0. When sp is in a guard page, below a stack that has
// overflowed, it starts at the stack.
func dumpPiece(sp uintptr, n int) (next uintptr) {
	if s := stack.GuardOf(sp); s != nil {
		sp = s.Lo
	}
	sp &^= 7
	want := n
	for i := range stack.Table {
		if s := &stack.Table[i]; s.Contains(sp) && uintptr(n) > (s.Hi-sp)/8 {
			n = int(s.Hi-sp) / 8
		}
	}
	found := 0
	for found < n && found < maxWords {
		v, ok := tracer.ReadWord(sp + uintptr(found)*8)
		if !ok {
			break
		}
		words[found] = v
		found++
	}
	if found > 0 {
		writer.Mem(sp, words[:found])
	}
	if found < want {
		return 0
	}
	return sp + uintptr(found)*8
}
