package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// The host finds out who waits for whom. It reads the traces of all goroutines, and the words that
// are written here after each of them:
//
//	the goroutine   the parts of its runtime.g that say what it waits for
//	its sudogs      one for each channel of a select, one for any other wait
//	their objects   the channel; the words around a semaphore, which is in a Mutex, a RWMutex, a
//	                WaitGroup, a Once, or around a condition's list
//	variables       those of the program, and words of the stack, that point to one of these
//	                objects, or to the value that contains it: their names are its name
//
// One trace stands for a group of goroutines, which wait at the same place, but not for the same
// thing. So the same words, and the arguments, follow for each other goroutine that the trace
// names.

// Limits of what is sent.
const (
	waitSudogs   = 16       // of one goroutine
	waitObjects  = 32       // of one trace: objects whose variables are looked for
	waitPointers = 4        // variables that point to one object
	aroundLo     = 24       // bytes before a semaphore's word
	aroundHi     = 24       // and from it on
	insideObject = 256      // bytes after the start of a value in which an object may lie
	insideSync   = 64       // the same for a Mutex and its like
	waitLocals   = 16       // words of one goroutine's stack that lead to an object
	waitStack    = 16 << 10 // bytes of it that are searched
	waitInside   = 64       // bytes of a value that are searched
	spinFrames   = 4
	spinCode     = 64 // bytes before and after a pc
)

// waitedFor holds the objects of the trace that is being written, in its first waitingFor elements;
// for a running goroutine, the variables that have been sent. Panic path only.
var (
	waitedFor  [waitObjects]uintptr
	waitingFor int
)

// traced is the group for which one goroutine is being traced, and member the one of its goroutines
// that is being examined. Panic path only.
var (
	traced Group
	member Details
)

// writeWaits writes what the traced goroutine waits for, and what the others of its group wait for.
func writeWaits(d *Details) {
	waitingFor = 0
	if argsRoom == 0 || d.g == 0 {
		if argsRoom != 0 && d.hung {
			writeSpin(d)
			writeLeaving(d.Goroutine)
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
		// What follows needs the walk of the trace itself again.
		d.FindStacks()
		walkEnds(d)
	}
}

// writeWait writes what one goroutine waits for.
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

// writeLeaving writes the state of a goroutine that is not running any more though its thread has
// the CPU: the runtime is about to take another one.
func writeLeaving(id uint64) {
	for i := range goinfo.NumG() {
		if g, ok := goinfo.GAt(i); ok && g.ID == id && !g.Dead() && !g.Running() {
			writeWait(&g)
		}
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

// waitFor notes an object whose variables are to be found.
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

// writePointers writes the program's variables that point to the objects.
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

// bounds returns the lowest and the highest address of the objects.
func bounds() (first, last uintptr) {
	first = ^uintptr(0)
	for i := range waitingFor {
		first, last = min(first, waitedFor[i]), max(last, waitedFor[i])
	}
	return first, last
}

// pointsTo returns the index of an object that v may point to, or that lies in the value that v may
// point to; -1 if there is none.
func pointsTo(v uintptr) int {
	for k := range waitingFor {
		if waitedFor[k]-v < insideObject {
			return k
		}
	}
	return -1
}

// writeLocals writes the words of a goroutine's stack that point to an object, or to a value that
// has a pointer to one among its first words, and that pointer.
func writeLocals(g *goinfo.G) {
	first, last := bounds()
	left := waitLocals
	for a := g.SchedSP &^ 7; a < min(g.StackHi, g.SchedSP+waitStack) && left > 0 &&
		waitingFor > 0; a += 8 {
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

// writeSpin writes the variables that a program reads when the watchdog found it running: it may be
// in a loop until another goroutine changes a variable. It finds variables that the code around the
// pc may name, by the distances in 64-bit x86 instructions, and those that registers point to. The
// runtime's own calls, by which the goroutine is being stopped, do not count.
func writeSpin(d *Details) {
	t, _ := image.PCTable()
	sent, left := 0, spinFrames
	for i := -1; i < stack.Walker.N && left > 0; i++ {
		pc := d.PC
		if i >= 0 {
			pc = stack.Walker.Frames[i].Addr
		}
		if pc < image.TextLo+spinCode || pc+spinCode+8 > image.TextHi || i == 0 && pc == d.PC {
			continue
		}
		if fn, ok := t.Find(pc); ok && runtimeName(fn.Name()) {
			continue
		}
		left--
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

// inVariables reports whether a is in the writable part of the image.
func inVariables(a uintptr) bool {
	for i := 0; i < image.NumSegments; i++ {
		if s := &image.Segments[i]; s.Write && a-s.Lo < s.Hi-s.Lo {
			return true
		}
	}
	return false
}

// endGoroutines ends the list of all goroutines: it says how many there are, and at how many of
// them a CPU is, without the runtime's own. If it got fewer traces, the host knows that some are
// missing.
func endGoroutines() {
	all, running := uint64(0), uint64(0)
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || g.Dead() || SystemGoroutine(&g) {
			continue
		}
		all++
		if hasCPU(&g) {
			running++
		}
	}
	console.FreshLine()
	console.String(tracer.AllGoroutines)
	console.Dec(all)
	console.String(tracer.OfThemRun)
	console.Printf("%d\n", running)
}
