package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/netconsole"
	"github.com/zeroframe/zeroframe/tracer"
)

// The trace, in the order of tracer/wire.go: what and where, then the walk, then
// the long tables. The second rung leaves the pc tables, the marks and the memory
// dump aside, the third everything but what is known of the death.

// maxFrames is the limit of a walk.
const maxFrames = 128

// maxWords and fewWords are how many words at SP a trace carries, in the
// readable forms and in the compact one, unless trace.stack= says otherwise.
const (
	maxWords  = 64
	fewWords  = 16
	lineWords = tracer.WordsPerLine
)

// maxStackDump bounds trace.stack=, in bytes: all of any stack of the kernel's, and
// no more than some fifteen seconds on a line of 115,200 bits a second.
const maxStackDump = 64 << 10

// stackDump is how many words trace.stack= asks for; stackDumpSet says that it does.
var (
	stackDump    int
	stackDumpSet bool
)

// These are slice literals, not slices of arrays: only those does the compiler
// lay out in the image.
var (
	frames = []tracer.Frame{maxFrames - 1: {}}
	walker = tracer.Walker{Stacks: stacks, Frames: frames, SPDelta: spDelta, Marks: marks, Saved: savedState, Switching: switching, Entry: atEntry, Unknown: unknownStack}
	writer = tracer.Writer{Put: wire}
)

// panicHook, when not 0, is the address of a function that is called at the
// beginning of each rung. For the crash lab.
var panicHook uintptr

func runPanicHook(rung int) {
	if panicHook != 0 {
		p := &panicHook
		(*(*func(int))(unsafe.Pointer(&p)))(rung)
	}
}

// OnPanic sets a function that is called at the beginning of each rung of the
// panic path, with the rung's number from 1, and before a trace leaves by the
// network, with [HookNetwork]. It must be a top-level function. For the crash lab, which
// faults there. Not inlined, as [OnInterrupt].
//
//go:noinline
func OnPanic(f func(rung int)) { panicHook = **(**uintptr)(unsafe.Pointer(&f)) }

// setForm reads the option trace=text|markup|compact.
func setForm() {
	form, ok := Option("trace")
	switch {
	case !ok || Same(form, "text"):
		writer.Form = tracer.Text
	case Same(form, "markup"):
		writer.Form = tracer.Markup
	case Same(form, "compact"):
		writer.Form = tracer.Compact
	default:
		console.String("trace=")
		console.Bytes(form)
		console.String(" is ignored: want text, markup or compact\n")
	}
	setStackDump()
}

// setStackDump reads the option trace.stack=BYTES.
func setStackDump() {
	v, ok := Option("trace.stack")
	if !ok {
		return
	}
	n, ok := parseUint(v)
	if !ok {
		console.String("trace.stack=")
		console.Bytes(v)
		console.String(" is ignored: want a number of bytes\n")
		return
	}
	if n > maxStackDump {
		n = maxStackDump
		console.String("trace.stack= is cut to ")
		console.Dec(n)
		console.String(" bytes\n")
	}
	stackDump, stackDumpSet = int(n+7)/8, true
}

// writeRung writes the trace of rung n (from 1), or from recordRung on the record that
// is left to the next boot.
func writeRung(n uintptr) {
	if n >= recordRung {
		writeRecord(int(n - recordRung + 1))
		return
	}
	endRecording()
	d := &deaths[n-1]
	netconsole.Begin(int(n))
	checkScreen(d)
	console.FreshLine()
	switch n {
	case 1:
		fullTrace(d)
	case 2:
		shortTrace(d)
	default:
		runPanicHook(int(n))
		if below := &deaths[1]; !below.told {
			last(below)
		}
		last(d)
	}
	sendTrace()
}

func fullTrace(d *death) {
	threadStacks(d)
	if repeated(d) {
		return
	}
	begin(d)
	writeDeath(d, false)
}

// writeDeath writes a whole trace, behind its begin; one that is kept for the next boot
// with few words of the stack, as there is little room.
func writeDeath(d *death, kept bool) {
	next := first(d)
	if !kept {
		runPanicHook(1)
	}
	others(d)
	writer.Registers(&d.regs, d.have)
	for i := range stacks {
		s := &stacks[i]
		if s.Lo == s.Hi {
			if writer.Form == tracer.Compact {
				writer.Stack(s) // its frames know their stacks by number
			}
			continue
		}
		if i == stackG {
			s.Used = s.Hi - lowest(s, d.sp) // it grows as needed, and is not painted
		} else {
			measure(s)
		}
		writer.Stack(s)
	}
	more := maxWords
	switch {
	case stackDumpSet && !kept:
		more = stackDump
	case writer.Form == tracer.Compact:
		more = fewWords
	}
	dump(next, more-lineWords)
	if stackDumpSet && !kept {
		// So much of each other stack too, from where it was left.
		on := walker.Frames[0].Stack
		for i := 1; i < walker.N; i++ {
			if f := &walker.Frames[i]; f.Kind == tracer.PC && f.Stack != on {
				on = f.Stack
				dump(f.SP+lineWords*8, more-lineWords)
			}
		}
	}
	writer.Done()
}

// lowest returns the lowest place of the goroutine's stack s that the death or the walk has
// been at.
func lowest(s *tracer.Stack, sp uintptr) uintptr {
	low := s.Hi
	if s.Contains(sp) {
		low = sp
	}
	for i := 0; i < walker.N; i++ {
		f := &walker.Frames[i]
		if f.Stack == stackG && s.Contains(f.SP) {
			low = min(low, f.SP)
		}
		if f.Stack == stackG && s.Contains(f.FP) {
			low = min(low, f.FP)
		}
	}
	return low
}

// repeated writes a trace that is the one before once more in one line, where the form
// has one for that, and reports whether it did. Who asks for so many words wants them each
// time. It walks before anything is out, but only a trace after which the kernel goes on;
// should the walk fault, the next rung begins with what happened.
func repeated(d *death) bool {
	if stackDumpSet || !writer.Compare(seq+1, d.kind, d.context, d.thread, d.goroutine, d.pc) {
		return false
	}
	why(d)
	first(d)
	others(d)
	if !writer.Repeat() {
		return false
	}
	seq++
	d.told = true
	return true
}

// first writes the words at SP and frame 0, before any walk. It returns where the dump
// can go on, or 0.
func first(d *death) (next uintptr) {
	next = mem(d.sp, lineWords)
	firstFrame(d)
	return next
}

// others walks and writes the frames behind the first one, and why the walk ended.
func others(d *death) {
	w := &walker
	w.Plain = false
	walk(d)
	for i := 1; i < w.N; i++ {
		if f := &w.Frames[i]; f.Kind == tracer.PC {
			mem(f.SP, lineWords)
		}
		frame(i, &w.Frames[i])
	}
	writer.Stop(w.End, w.EndValue)
	screenStop(w.End, w.EndValue)
}

// shortTrace is for a fault in fullTrace: addresses only, without the pc tables.
func shortTrace(d *death) {
	if first := &deaths[0]; !first.told {
		begin(first) // it died before it could say anything
	}
	begin(d)
	shortDeath(d, false)
}

// shortDeath writes the addresses of a trace, behind its begin.
func shortDeath(d *death, kept bool) {
	firstFrame(d)
	if !kept {
		runPanicHook(2)
	}
	walker.Plain = true
	walk(d)
	for i := 1; i < walker.N; i++ {
		frame(i, &walker.Frames[i])
	}
	writer.Stop(walker.End, walker.EndValue)
	screenStop(walker.End, walker.EndValue)
	writer.Done()
}

// last writes all that the last rung has to say of a death.
func last(d *death) {
	writer.Last(d.kind, d.pc, d.reason.b[:d.reason.n])
	screenLast(d)
}

// begin writes what happened and where, reading nothing but d.
func begin(d *death) {
	d.told = true
	seq++
	d.seq = seq
	startTrace(d)
}

// startTrace writes the begin of the trace with the death's number.
func startTrace(d *death) {
	writer.Begin(d.seq, d.kind, d.context, d.thread, d.goroutine, buildID(), image.textLo, image.textHi)
	why(d)
	screenBegin(d)
}

// why writes what is known of the cause.
func why(d *death) {
	writer.Reason(d.reason.b[:d.reason.n])
	if d.cause {
		writer.Cause(d.vector, d.code, d.at, d.addr, d.vector == amd64.VectorPF)
	}
}

func walk(d *death) {
	startAX, startCX = d.regs[regRAX], d.regs[regRCX]
	if d.call {
		walker.WalkCaller(d.pc, d.sp, d.fp)
	} else {
		walker.Walk(d.pc, d.sp, d.fp)
	}
}

// firstFrame writes frame 0, which needs no walk.
func firstFrame(d *death) {
	f := tracer.Frame{Kind: tracer.PC, Addr: d.pc, SP: d.sp, FP: d.fp, Stack: tracer.NoStack}
	if d.call {
		f.Kind = tracer.RA
	}
	for i := range stacks {
		if s := &stacks[i]; s.Contains(d.sp) || f.Stack == tracer.NoStack && s.Contains(d.fp) {
			f.Stack = int8(i)
		}
	}
	frame(0, &f)
}

func frame(i int, f *tracer.Frame) {
	name := ""
	if f.Stack != tracer.NoStack {
		name = stacks[f.Stack].Name
	}
	writer.Frame(i, f, name)
	screenFrame(i, f)
}

// dump dumps up to n words from sp upwards, as mem does, in pieces.
func dump(sp uintptr, n int) {
	const piece = maxWords / lineWords * lineWords // whole lines
	for sp != 0 && n > 0 {
		sp = mem(sp, min(n, piece))
		n -= piece
	}
}

// words holds what mem has read.
var words [maxWords]uintptr

// mem dumps up to n words from sp upwards, no further than the end of the stack
// that sp is in, and returns where the dump could go on, or 0. When sp is in a
// guard page, below a stack that has overflowed, it starts at the stack.
func mem(sp uintptr, n int) (next uintptr) {
	if s := guardOf(sp); s != nil {
		sp = s.Lo
	}
	sp &^= 7
	want := n
	for i := range stacks {
		if s := &stacks[i]; s.Contains(sp) && uintptr(n) > (s.Hi-sp)/8 {
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
