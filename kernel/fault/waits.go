package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// Who waits for whom, the host finds out, from the traces of all goroutines and from the words
// that are written here behind each of them:
//
//	the goroutine   the parts of its runtime.g that say what it waits for
//	its sudogs      one for each channel of a select, one for any other wait
//	their objects   the channel; the words around a semaphore, which is in a Mutex, a RWMutex, a
//	                WaitGroup, a Once, or around a condition's list
//	variables       those of the program, and words of the stack, that point to one of these
//	                objects, or to what has it: by their names it is spoken of
//
// One trace stands for a group of goroutines, which wait at the same place, but not for the same
// thing: of the others that the trace names, the same words follow, and their arguments.

// What is sent at most.
const (
	waitSudogs   = 16       // of one goroutine
	waitObjects  = 32       // of one trace: their variables are looked for
	waitPointers = 4        // variables that point to one object
	aroundLo     = 24       // bytes before a semaphore's word
	aroundHi     = 24       // and from it on
	insideObject = 256      // bytes behind the beginning of what has an object
	insideSync   = 64       // the same of a Mutex and its like
	waitLocals   = 16       // words of one goroutine's stack that lead there
	waitStack    = 16 << 10 // bytes of it that are looked at
	waitInside   = 64       // bytes of a value that are
	spinFrames   = 4
	spinCode     = 64 // bytes before a pc and behind it
)

// waitedFor are the objects of the trace that is being written, the first waitingFor of the array;
// of a goroutine that is at work, the variables that have been sent.
// Panic path only.
var (
	waitedFor  [waitObjects]uintptr
	waitingFor int
)

// traced is the group of goroutines for which one is being traced, and member the one of them that
// is looked at. Panic path only.
var (
	traced Group
	member Details
)

// writeWaits writes what the goroutine of the trace waits on, and the others of its group.
func writeWaits(d *Details) {
	waitingFor = 0
	if argsRoom == 0 || d.g == 0 {
		if argsRoom != 0 && d.hung {
			writeSpin(d)
		}
		return
	}
	g, ok := goinfo.ReadG(d.g)
	if !ok || g.ID != d.Goroutine || g.Running() {
		return
	}
	writeWait(&g)
	writeLocals(&g)
	for i := range min(traced.N, namedMembers) {
		g, ok := goinfo.GAt(traced.places[i])
		if !ok || g.ID != traced.ids[i] || g.ID == d.Goroutine {
			continue
		}
		member = Details{}
		if !member.FromGoroutine(&g) {
			continue
		}
		member.FindStacks()
		stack.Walker.Plain = false
		walkEnds(&member)
		writeArgs(&member, 0)
		writeWait(&g)
		writeLocals(&g)
	}
	writePointers()
	if traced.N > 1 {
		// The walk is that of the trace again, for what comes behind it.
		d.FindStacks()
		walkEnds(d)
	}
}

// writeWait writes what one goroutine waits on.
func writeWait(g *goinfo.G) {
	for i := range goinfo.NumParts() {
		if p, ok := goinfo.GPart(i); ok {
			writePart(g.Addr+p.Off, p.Size)
		}
	}
	if !g.Waiting() {
		return
	}
	s := g.Sudog()
	for n := 0; s != 0 && n < waitSudogs; n++ {
		writePart(s, goinfo.SudogSize())
		if c := goinfo.Channel(s); c != 0 {
			writePart(c, goinfo.ChannelSize())
			if when, ok := goinfo.TimerWhen(c); ok {
				writePart(when, 8)
			}
			waitFor(c)
		} else if a := goinfo.Semaphore(s) &^ 7; a != 0 && hasContent(a) {
			writePart(a-aroundLo, aroundLo+aroundHi)
			waitFor(a)
		}
		s = goinfo.NextSudog(s)
	}
}

// writePart writes the words that hold size bytes at addr.
func writePart(addr, size uintptr) {
	n := 0
	for a := addr &^ 7; a < addr+size && n < maxWords; a += 8 {
		v, ok := tracer.ReadWord(a)
		if !ok {
			break
		}
		words[n] = v
		n++
	}
	if n > 0 {
		writer.Mem(addr&^7, words[:n])
	}
}

// waitFor notes an object whose variables are looked for.
func waitFor(a uintptr) {
	for i := range waitingFor {
		if waitedFor[i] == a {
			return
		}
	}
	if waitingFor < waitObjects {
		waitedFor[waitingFor] = a
		waitingFor++
	}
}

// writePointers writes the variables of the program that point to what is waited for.
func writePointers() {
	lo, hi, ok := goinfo.Variables()
	first, last := bounds()
	if !ok || waitingFor == 0 {
		return
	}
	found := [waitObjects]uint8{}
	for i := range lo {
		for a := lo[i]; a < hi[i]; a += 8 {
			v, ok := tracer.ReadWord(a)
			if !ok {
				break
			}
			if v > last || v+insideObject <= first {
				continue
			}
			if k := pointsTo(v); k >= 0 && found[k] < waitPointers {
				found[k]++
				writePart(a, 8)
			}
		}
	}
}

// bounds are those of what is waited for.
func bounds() (first, last uintptr) {
	first = ^uintptr(0)
	for i := range waitingFor {
		first, last = min(first, waitedFor[i]), max(last, waitedFor[i])
	}
	return first, last
}

// pointsTo returns which object v may point to, or to what has it; -1 if to none.
func pointsTo(v uintptr) int {
	for k := range waitingFor {
		if waitedFor[k]-v < insideObject {
			return k
		}
	}
	return -1
}

// writeLocals writes the words of a goroutine's stack that point to what is waited for, or to a
// value that has a pointer to it among its first words, and that.
func writeLocals(g *goinfo.G) {
	first, last := bounds()
	left := waitLocals
	for a := g.SchedSP &^ 7; a < min(g.StackHi, g.SchedSP+waitStack) && left > 0 && waitingFor > 0; a += 8 {
		v, ok := tracer.ReadWord(a)
		if !ok {
			return
		}
		if v <= last && v+insideObject > first && pointsTo(v) >= 0 {
			writePart(a, 8)
			left--
			continue
		}
		if v%8 != 0 || v-g.StackLo < g.StackHi-g.StackLo || !hasContent(v) {
			continue
		}
		for p := v; p < v+waitInside; p += 8 {
			w, ok := tracer.ReadWord(p)
			if !ok {
				break
			}
			for k := range waitingFor {
				if waitedFor[k]-w < insideSync {
					writePart(a, 8)
					writePart(p, 8)
					left--
				}
			}
		}
	}
}

// writeSpin writes what a program reads that the watchdog has met at work: it may be in a loop until
// another goroutine changes a variable. The variables are those that the code about there may name,
// as the instructions of the 64-bit x86 do it: by their distance; and where registers point.
func writeSpin(d *Details) {
	sent := 0
	for i := -1; i < min(stack.Walker.N, spinFrames); i++ {
		pc := d.PC
		if i >= 0 {
			pc = stack.Walker.Frames[i].Addr
		}
		if pc < image.TextLo+spinCode || pc+spinCode+8 > image.TextHi || i == 0 && pc == d.PC {
			continue
		}
		for at := pc - spinCode; at < pc+spinCode; at++ {
			distance := uintptr(*(*int32)(arch.Pointer(at)))
			for _, immediate := range [...]uintptr{0, 1, 4} {
				to := (at + 4 + immediate + distance) &^ 7
				new := inVariables(to)
				for _, a := range waitedFor[:sent] {
					new = new && a != to
				}
				if new && sent < waitObjects {
					writePart(to, 8)
					waitedFor[sent] = to
					sent++
				}
			}
		}
	}
	for i, r := range d.Regs {
		new := d.Have>>i&1 != 0 && hasContent(r)
		for _, before := range d.Regs[:i] {
			new = new && before != r
		}
		if new {
			writePart(r, 16)
		}
	}
}

// inVariables reports whether a is in the image, where it may be written to.
func inVariables(a uintptr) bool {
	for i := 0; i < image.NumSegments; i++ {
		if s := &image.Segments[i]; s.Write && a-s.Lo < s.Hi-s.Lo {
			return true
		}
	}
	return false
}

// endGoroutines ends the list of all goroutines: it says how many there are, and how many of them
// run, without the runtime's own. With fewer traces, the host knows that it does not have all.
func endGoroutines() {
	all, running := uint64(0), uint64(0)
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || g.Dead() || SystemGoroutine(&g) {
			continue
		}
		all++
		if g.Running() {
			running++
		}
	}
	console.FreshLine()
	console.String(tracer.AllGoroutines)
	console.Dec(all)
	console.String(tracer.OfThemRun)
	console.Dec(running)
	console.String("\n")
}
