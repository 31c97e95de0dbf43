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
)

// LookupAll answers as Lookup does for each of addrs, in their order, in far less
// time than one by one. The answers share memory, also among equal addresses: they
// are not to be changed. Context: host.
func (f *File) LookupAll(addrs []uint64, ret bool) [][]Frame {
	answers := make([][]Frame, len(addrs))
	if len(addrs) == 1 {
		answers[0] = f.Lookup(addrs[0], ret)
		return answers
	}
	b := batch{f: f, asked: make([]asked, len(addrs))}
	order := make([]funcSymbol, len(addrs)) // index is the place among addrs
	for i, addr := range addrs {
		order[i] = funcSymbol{addr: f.callAt(addr, ret), index: uint32(i)}
	}
	sortByAddr(order)
	for i, o := range order {
		b.asked[i] = asked{addr: addrs[o.index], pc: o.addr, at: int(o.index)}
	}
	b.run()
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
	at       int // its place among the addresses
	frames   []Frame
}

// A batch is the addresses of one LookupAll, sorted.
type batch struct {
	f     *File
	asked []asked
	hits  []symbolHit // of todo, if there are few
	todo  []int       // those that Go's table has no answer for, without duplicates
	units []unitTask
	next  atomic.Int32 // of units
}

// A unitTask is the addresses in one unit, as indices of todo.
type unitTask struct {
	base uint64
	todo []int
}

func (b *batch) run() {
	if g := b.f.goTable(); g != nil {
		const share = 4096
		if len(b.asked) > 1024 {
			g.needAll() // they are all over the table
		}
		var wait sync.WaitGroup
		var next atomic.Int32
		for range min(runtime.GOMAXPROCS(0), len(b.asked)/share+1) {
			wait.Go(func() {
				var m goMemory
				for {
					first := share * (int(next.Add(1)) - 1)
					if first >= len(b.asked) {
						return
					}
					b.askGo(first, min(first+share, len(b.asked)), &m)
				}
			})
		}
		wait.Wait()
	}
	if b.askIndex() {
		return
	}
	for i := range b.asked {
		if len(b.asked[i].frames) == 0 && !b.again(i) {
			b.todo = append(b.todo, i)
		}
	}
	if len(b.todo) == 0 {
		return
	}
	b.f.asked.Add(int64(len(b.todo)))
	b.scan()
	rest := b.share()
	if len(b.units) > 0 {
		var wait sync.WaitGroup
		// A unit takes about a millisecond; a reader has to be worth its buffers.
		for range min(runtime.GOMAXPROCS(0), (len(b.units)+3)/4) {
			wait.Go(b.work)
		}
		wait.Wait()
	}
	for _, t := range rest {
		b.alone(t)
	}
}

// again reports whether the i'th address is the same as the one before.
func (b *batch) again(i int) bool {
	return i > 0 && b.asked[i-1].pc == b.asked[i].pc && b.asked[i-1].addr == b.asked[i].addr
}

// askGo answers what Go's table has an answer for.
func (b *batch) askGo(first, end int, m *goMemory) {
	g := b.f.goTable()
	for i := first; i < end; i++ {
		if !b.again(i) {
			if frames, entry := g.lookup(b.f, b.asked[i].pc, m); len(frames) > 0 {
				b.answer(i, m.keep(frames), entry)
			}
		}
	}
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

// share sorts todo by unit and returns what is in none, or in several.
func (b *batch) share() (rest []int) {
	d := b.f.dwarfData()
	if d == nil {
		for t := range b.todo {
			rest = append(rest, t)
		}
		return rest
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(b.todo) > 8 {
		d.index.asked = max(d.index.asked, 2)
	}
	tasks := make(map[uint64]int)
	var buf [4]uint64
	for t, i := range b.todo {
		units := d.unitsAt(b.asked[i].pc, buf[:0])
		if len(units) != 1 {
			rest = append(rest, t)
			continue
		}
		n, ok := tasks[units[0]]
		if !ok {
			n = len(b.units)
			tasks[units[0]] = n
			b.units = append(b.units, unitTask{base: units[0]})
		}
		b.units[n].todo = append(b.units[n].todo, t)
	}
	slices.SortFunc(b.units, func(a, c unitTask) int { return cmp.Compare(a.base, c.base) })
	return rest
}

// work answers the addresses of one unit after the other, until none is left.
func (b *batch) work() {
	r := b.f.dwarfData().newReader()
	l := &r.scratch
	var room []Frame
	for {
		n := int(b.next.Add(1)) - 1
		if n >= len(b.units) {
			return
		}
		task := &b.units[n]
		r.allow()
		r.treeOf = nil
		u := r.unit(task.base)
		if u != nil {
			r.loadInto(l, u, b.asked[b.todo[task.todo[len(task.todo)-1]]].pc)
		}
		for _, t := range task.todo {
			pc := b.asked[b.todo[t]].pc
			hit, ok := b.symbol(t)
			if u == nil {
				b.answer2(t, pc, hit, ok, nil, 0)
				continue
			}
			r.allow()
			if cap(room)-len(room) < 64 {
				room = make([]Frame, 0, 4096)
			}
			first := len(room)
			frames, low := r.frames(l, pc, hit, room[first:])
			if len(frames) <= cap(room)-first {
				room = room[:first+len(frames)]
			}
			b.answer2(t, pc, hit, ok, frames[:len(frames):len(frames)], low)
		}
		delete(r.units, task.base)
	}
}

// alone answers what is in no unit, or in several.
func (b *batch) alone(t int) {
	pc := b.asked[b.todo[t]].pc
	hit, ok := b.symbol(t)
	frames, low := b.f.dwarfLookup(pc, hit)
	b.answer2(t, pc, hit, ok, frames, low)
}

func (b *batch) answer2(t int, pc uint64, hit symbolHit, ok bool, frames []Frame, low uint64) {
	frames, entry := b.f.choose(pc, hit, ok, frames, low)
	b.answer(b.todo[t], frames, entry)
}

func (b *batch) answer(i int, frames []Frame, entry uint64) {
	a := &b.asked[i]
	for n := range frames {
		frames[n].Offset = a.addr - entry
	}
	a.frames = frames
}
