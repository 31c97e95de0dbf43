// Many addresses at once. They are sorted, so that each unit of DWARF is read once
// for all of its addresses and then forgotten; and the units are shared out among
// the processors.

package symbol

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// LookupAll answers as Lookup does for each of addrs, in their order, in far less
// time than one by one. The answers share memory, also among equal addresses: they
// are not to be changed. Context: host.
func (f *File) LookupAll(addrs []uint64, ret bool) [][]lookup.Call {
	return f.lookupAll(addrs, ret, nil)
}

// lookupAll is LookupAll that gives up when cancel is closed.
func (f *File) lookupAll(addrs []uint64, ret bool, cancel <-chan struct{}) [][]lookup.Call {
	answers := make([][]lookup.Call, len(addrs))
	if len(addrs) == 1 {
		answers[0] = f.Lookup(addrs[0], ret)
		return answers
	}
	b := batch{f: f, asked: make([]asked, len(addrs)), cancel: cancel}
	order := make([]funcSymbol, len(addrs)) // index is the place among addrs
	for i, addr := range addrs {
		order[i] = funcSymbol{addr: addr, index: uint32(i)}
	}
	sortByAddr(order)
	plain := f.functionsInOrder()
	for i, o := range order {
		a := &b.asked[i]
		*a = asked{addr: o.addr, pc: o.addr, at: int(o.index)}
		// What is looked up lies a byte before a call's return, or is the address: it rises
		// as the addresses do.
		if i > 0 && b.asked[i-1].addr == o.addr {
			a.pc = b.asked[i-1].pc
		} else if ret && plain.inside(o.addr) {
			a.pc = o.addr - 1
		} else if ret {
			a.pc = f.callAt(o.addr, ret)
		}
	}
	for _, s := range f.sources() {
		s.all(&b)
	}
	for i := range b.asked {
		a := &b.asked[i]
		if b.again(i) {
			a.frames = b.asked[i-1].frames
		}
		answers[a.at] = a.frames
	}
	return answers
}

// asked is one address and its answer.
type asked struct {
	addr, pc uint64
	at       int  // its place among the addresses
	known    bool // frames are the answer
	frames   []lookup.Call
}

// A batch is the addresses of one LookupAll, sorted.
type batch struct {
	f      *File
	asked  []asked
	cancel <-chan struct{} // nil: never

	// Of those that the infoSource is asked, without duplicates:
	todo    []int       // their indices
	hits    []symbolHit // what the symbol table says, if they are few
	several []bool      // whether several units have code there
	units   []unitTask
	mu      sync.Mutex
	rest    []int // indices of todo: what is in no unit, or not in the first of several
	keep    bool  // what was read of units is kept for the next batch
}

// A unitTask is the addresses in one unit, as indices of todo.
type unitTask struct {
	base uint64
	todo []int
}

// sideBySide calls work for each of the numbers below n, on as many processors as there are, but of
// each for at least the given number of them. newWork returns what one of these calls.
func sideBySide(n, least int, newWork func() (work func(i int))) {
	var next atomic.Int64
	loop := func() {
		work := newWork()
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			work(i)
		}
	}
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+least-1)/least) {
		wait.Go(loop)
	}
	wait.Wait()
}

func (s goSource) all(b *batch) {
	g := s.f.goTable()
	if g == nil {
		return
	}
	if len(b.asked) > 1024 {
		g.needAll() // they are all over the table
	}
	const share = 4096
	sideBySide((len(b.asked)+share-1)/share, 1, func() func(int) {
		var m goMemory
		return func(n int) {
			end := min((n+1)*share, len(b.asked))
			for i := n * share; i < end; i++ {
				if i == n*share && b.cancelled() {
					return
				}
				if b.again(i) {
					continue
				}
				if frames, entry := g.lookup(s.f, b.asked[i].pc, &m); len(frames) > 0 {
					b.answer(i, m.keep(frames), entry)
				}
			}
		}
	})
}

func (s infoSource) all(b *batch) {
	// What was asked before is likely to be a log, whose next batch asks for the same units.
	b.keep = s.f.asked.Swap(true) && len(b.asked) <= manyAsked
	for i := range b.asked {
		if !b.asked[i].known && !b.again(i) {
			b.todo = append(b.todo, i)
		}
	}
	if len(b.todo) == 0 {
		return
	}
	b.scan()
	b.share()
	// A unit takes about a millisecond; a reader has to be worth its buffers.
	sideBySide(len(b.units), 4, b.work)
	for i, t := range b.rest {
		if i%64 == 0 && b.cancelled() {
			return
		}
		pc := b.asked[b.todo[t]].pc
		hit, ok := b.symbol(t)
		frames, low := s.f.dwarfData().Lookup(pc, hit.name)
		b.choose(t, hit, ok, frames, low)
	}
}

// manyAsked is how many addresses are worth to read all units anew.
const manyAsked = 1 << 16

// cancelled reports whether nobody waits for the answers any more.
func (b *batch) cancelled() bool {
	select {
	case <-b.cancel:
		return true
	default:
		return false
	}
}

// again reports whether the i'th address is the same as the one before.
func (b *batch) again(i int) bool {
	return i > 0 && b.asked[i-1].pc == b.asked[i].pc && b.asked[i-1].addr == b.asked[i].addr
}

// scan looks the symbols up in one pass, if that is cheaper than to sort them.
func (b *batch) scan() {
	f := b.f.symbolFile()
	if len(b.todo) > fewSymbols || f.scans.Load() > fewSymbols {
		return
	}
	pcs := make([]uint64, len(b.todo))
	for t, i := range b.todo {
		pcs[t] = b.asked[i].pc
	}
	hits := make([]symbolHit, len(pcs))
	if f.scanSymbols(pcs, hits) {
		b.hits = hits
	}
}

// fewSymbols is up to how many symbols it is cheaper to look for in one pass than to
// sort the table.
const fewSymbols = 512

// funcsAt is funcAt for addresses that rise; no name means none.
func (f *File) funcsAt(addrs []uint64) []symbolHit {
	hits := make([]symbolHit, len(addrs))
	s := f.symbolFile()
	if len(addrs) <= fewSymbols && s.scans.Load() <= fewSymbols && s.scanSymbols(addrs, hits) {
		return hits
	}
	s.scans.Store(manyScans)
	for i, addr := range addrs {
		hits[i], _ = s.funcAt(addr)
	}
	return hits
}

// symbol returns what the symbol table says of the t'th of todo.
func (b *batch) symbol(t int) (symbolHit, bool) {
	if b.hits != nil {
		return b.hits[t], b.hits[t].name != ""
	}
	f := b.f.symbolFile()
	f.scans.Store(manyScans)
	return f.funcAt(b.asked[b.todo[t]].pc)
}

// share sorts todo by unit.
func (b *batch) share() {
	d := b.f.dwarfData()
	if d == nil {
		for t := range b.todo {
			b.rest = append(b.rest, t)
		}
		return
	}
	b.several = make([]bool, len(b.todo))
	tasks := make(map[uint64]int)
	d.UnitsOf(len(b.todo), func(t int) uint64 { return b.asked[b.todo[t]].pc },
		func(t int, units []uint64) {
			if len(units) == 0 {
				b.rest = append(b.rest, t)
				return
			}
			b.several[t] = len(units) > 1
			n, ok := tasks[units[0]]
			if !ok {
				n = len(b.units)
				tasks[units[0]] = n
				b.units = append(b.units, unitTask{base: units[0]})
			}
			b.units[n].todo = append(b.units[n].todo, t)
		})
	slices.SortFunc(b.units, func(a, c unitTask) int { return cmp.Compare(a.base, c.base) })
}

// work returns what answers the addresses of a unit.
func (b *batch) work() func(unit int) {
	r := b.f.dwarfData().NewReader()
	var room []lookup.Call
	return func(unit int) {
		if b.cancelled() {
			return
		}
		task := &b.units[unit]
		l := r.Begin(task.base, b.asked[b.todo[task.todo[len(task.todo)-1]]].pc)
		for _, t := range task.todo {
			pc := b.asked[b.todo[t]].pc
			hit, ok := b.symbol(t)
			var frames []lookup.Call
			var low uint64
			if l != nil {
				r.Allow()
				if cap(room)-len(room) < 64 {
					room = make([]lookup.Call, 0, 4096)
				}
				first := len(room)
				frames, low = r.Frames(l, pc, hit.name, room[first:])
				if len(frames) <= cap(room)-first {
					room = room[:first+len(frames)]
				}
			}
			if len(frames) == 0 && b.several[t] {
				b.mu.Lock()
				b.rest = append(b.rest, t)
				b.mu.Unlock()
				continue
			}
			b.choose(t, hit, ok, frames[:len(frames):len(frames)], low)
		}
		if !b.keep {
			l = nil
		}
		r.End(task.base, l)
	}
}

func (b *batch) choose(t int, hit symbolHit, ok bool, frames []lookup.Call, low uint64) {
	i := b.todo[t]
	frames, entry := b.f.choose(b.asked[i].pc, hit, ok, frames, low)
	b.answer(i, frames, entry)
}

// answer says what the i'th address is answered with.
func (b *batch) answer(i int, frames []lookup.Call, entry uint64) {
	a := &b.asked[i]
	for n := range frames {
		frames[n].Offset = a.addr - entry
	}
	a.frames, a.known = frames, true
}
