// Where answers come from. What is asked, one address or many, is asked of one source after
// the other, here and nowhere else, until one knows the answer; so that it is the same
// whatever else is asked with it.

package symbol

import (
	"runtime"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A source answers for addresses.
type source interface {
	// one returns the frames at pc, innermost first, and the address that offsets count
	// from. If known, that is the answer, even if it is no frames.
	one(pc uint64) (frames []lookup.Call, entry uint64, known bool)
	// all answers what it knows of b, as one does.
	all(b *batch)
	// isEntry reports whether pc is a function's first instruction, if it is known.
	isEntry(pc uint64) (yes, known bool)
}

// sources returns the sources in the order of their worth. An infoSource knows in any case, if only
// that there is nothing. Their methods for many addresses are in batch.go.
func (f *File) sources() [2]source { return [2]source{goSource{f}, infoSource{f}} }

// A goSource is Go's pc table.
type goSource struct{ f *File }

func (s goSource) one(pc uint64) (frames []lookup.Call, entry uint64, known bool) {
	if g := s.f.goTable(); g != nil {
		frames, entry = g.lookup(s.f, pc, nil)
	}
	return frames, entry, len(frames) > 0
}

func (s goSource) isEntry(pc uint64) (yes, known bool) {
	if g := s.f.goTable(); g != nil {
		if fn, ok := g.Find(uintptr(pc)); ok {
			return uint64(fn.Entry()) == pc, true
		}
	}
	return false, false
}

// An infoSource is DWARF and the symbol table, or else the code itself.
type infoSource struct{ f *File }

func (s infoSource) one(pc uint64) (frames []lookup.Call, entry uint64, known bool) {
	if d := s.f.dwarfData(); d != nil && !s.f.asked.Load() && s.f.IsText(pc) &&
		runtime.GOMAXPROCS(0) > 1 {
		go d.Prepare() // beside the symbols; what is looked up below waits for it
	}
	hit, ok := s.f.funcAt(pc)
	s.f.asked.Store(true)
	frames, low := s.f.dwarfData().Lookup(pc, hit.name)
	frames, entry = s.f.choose(pc, hit, ok, frames, low)
	return frames, entry, true
}

func (s infoSource) isEntry(pc uint64) (yes, known bool) {
	if hit, ok := s.f.funcAt(pc); ok {
		return hit.start == pc, true
	}
	fn := s.f.unnamedAt(pc)
	return fn != nil && fn.Start == pc, true
}
