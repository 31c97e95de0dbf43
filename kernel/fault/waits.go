package fault

import (
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
//	variables       those of the program that point to one of these objects, or to what has it:
//	                by their names it is spoken of
//
// One trace stands for a group of goroutines, which wait at the same place, but not for the same
// thing: of the others that the trace names, the same words follow, and their arguments.

// What is sent at most.
const (
	waitSudogs   = 16  // of one goroutine
	waitObjects  = 32  // of one trace: their variables are looked for
	waitPointers = 4   // variables that point to one object
	aroundLo     = 24  // bytes before a semaphore's word
	aroundHi     = 24  // and from it on
	insideObject = 256 // bytes behind the beginning of what has an object
)

// waitedFor are the objects of the trace that is being written, the first waitingFor of the array.
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
		return
	}
	g, ok := goinfo.ReadG(d.g)
	if !ok || g.ID != d.Goroutine || g.Running() {
		return
	}
	writeWait(&g)
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
	}
	writePointers()
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

// writePointers writes the variables that point to what is waited for. Those that lie among the
// variables themselves have their own names.
func writePointers() {
	lo, hi, ok := goinfo.Variables()
	if !ok {
		return
	}
	n := 0
	first, last := ^uintptr(0), uintptr(0)
	for i := range waitingFor {
		if a := waitedFor[i]; !inVariables(a) {
			waitedFor[n] = a
			n++
			first, last = min(first, a), max(last, a)
		}
	}
	waitingFor = n
	if n == 0 {
		return
	}
	var found [waitObjects]uint8
	for i := range lo {
		for a := lo[i]; a < hi[i]; a += 8 {
			v, ok := tracer.ReadWord(a)
			if !ok {
				break
			}
			if v > last || v+insideObject <= first {
				continue
			}
			for k := range waitingFor {
				if waitedFor[k]-v < insideObject && found[k] < waitPointers {
					found[k]++
					words[0] = v
					writer.Mem(a, words[:1])
					break
				}
			}
		}
	}
}

// inVariables reports whether a is in the image.
func inVariables(a uintptr) bool {
	for i := 0; i < image.NumSegments; i++ {
		if s := &image.Segments[i]; a-s.Lo < s.Hi-s.Lo {
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
