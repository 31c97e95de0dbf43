// Command culprits5 dies of something that another place has done, as culprits does: of one operand of several, of what
// was copied in large pieces, of words that were counted, and of what a comparison has left undone. Each kind has one line
// that is to blame, marked with its name.
package main

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

var kinds = map[string]func(){
	"gridalias": gridAlias, "base": base, "offset": offset, "length": length, "columns": columns, "apart": apart,
	"callee": callee, "product": product, "difference": difference, "pointersum": pointerSum, "shrunk": shrunk, "first": first,
	"copied20": copied20, "copied200": copied200, "backwards": backwards, "grown": grown, "mapgrown": mapGrown,
	"joined": joined, "stackgrown": stackGrown, "cleared": cleared, "sent": sent, "unaligned": unaligned, "repeated": repeated,
	"counted": counted, "looped": looped, "plain": plain,
	"truncated": truncated, "skipped": skipped, "trailing": trailing, "remainder": remainder, "spare": spare, "limited": limited,
	"popped": popped, "swapped": swapped, "forgotten": forgotten, "anyway": anyway,
	"held": held, "drained": drained, "stuck": stuck, "widened": widened,
	"delayed": delayed, "faulted": faulted,
}

func main() { culprit.Main(kinds) }

// One operand of several.

type grid struct {
	cells      []int
	cols       int
	names      map[string]int
	base, off  int
	low, high  int
	pad        [4]int
	rows       int
	n          int
	divisor    uint32
	mask       uint64
	bytes      []byte
	next, prev *grid
}

func newGrid() *grid {
	return &grid{cells: make([]int, 15), cols: 5, names: map[string]int{"a": 0, "b": 1}, base: 2, off: 3, low: 3, high: 8, rows: 3, n: 4, divisor: 7, mask: 8, bytes: make([]byte, 16)}
}

func (g *grid) cell(row int, name string) *int { return &g.cells[row*g.cols+g.names[name]] }

//go:noinline
func (g *grid) alias(name, of string) {
	g.names[name] = g.names[of]*g.cols + g.high*g.cols // culprit gridalias
}

func gridAlias() {
	g := newGrid()
	g.alias("c", "b")
	*g.cell(2, "b") = 1
	*g.cell(0, "a") = 1
	*g.cell(1, "c") = 1
}

//go:noinline
func (g *grid) at() int { return g.cells[g.base+g.off] }

//go:noinline
func (g *grid) set(p *int, n int) { *p = n }

//go:noinline
func (g *grid) badBase() {
	g.base = 13 // culprit base
}

func base() {
	g := newGrid()
	for i := range 4 {
		g.set(&g.off, 5-i)
		fmt.Print(g.at())
	}
	g.badBase()
	g.set(&g.off, 3)
	fmt.Println(g.at())
}

//go:noinline
func (g *grid) badOffset() {
	g.off = 13 // culprit offset
}

func offset() {
	g := newGrid()
	for i := range 4 {
		g.set(&g.base, 5-i)
		fmt.Print(g.at())
	}
	g.badOffset()
	g.set(&g.base, 3)
	fmt.Println(g.at())
}

//go:noinline
func (g *grid) piece() []byte { return g.bytes[g.off : g.off+g.n] }

//go:noinline
func (g *grid) badLength() {
	g.n = 40 // culprit length
}

func length() {
	g := newGrid()
	for i := range 3 {
		g.set(&g.off, 4*i)
		fmt.Print(len(g.piece()))
	}
	g.badLength()
	g.set(&g.off, 2)
	fmt.Println(len(g.piece()))
}

//go:noinline
func (g *grid) pick(row, col int) int { return g.cells[row*g.cols+col] }

//go:noinline
func (g *grid) badColumns() {
	g.cols = 9 // culprit columns
}

func columns() {
	g := newGrid()
	for i := range 3 {
		fmt.Print(g.pick(i, 4-i))
	}
	g.badColumns()
	fmt.Println(g.pick(2, 3))
}

//go:noinline
func (g *grid) apart() int {
	i := g.off
	i += g.base
	fmt.Print()
	return g.cells[i]
}

//go:noinline
func (g *grid) badApart() {
	g.base = 14 // culprit apart
}

func apart() {
	g := newGrid()
	fmt.Print(g.apart())
	g.set(&g.off, 4)
	fmt.Print(g.apart())
	g.badApart()
	fmt.Println(g.apart())
}

//go:noinline
func (g *grid) index() int { return g.base + g.off }

//go:noinline
func (g *grid) badCallee() {
	g.off = 100 // culprit callee
}

func callee() {
	g := newGrid()
	fmt.Print(g.cells[g.index()])
	g.badCallee()
	fmt.Println(g.cells[g.index()])
}

//go:noinline
func (g *grid) last() int { return g.cells[g.cols*g.rows-1] }

//go:noinline
func (g *grid) badRows() {
	g.rows += 4 // culprit product
}

func product() {
	g := newGrid()
	fmt.Print(g.last())
	g.badRows()
	fmt.Println(g.last())
}

//go:noinline
func (g *grid) width() int { return g.cells[g.high-g.low] }

//go:noinline
func (g *grid) badLow() {
	g.low = 12 // culprit difference
}

func difference() {
	g := newGrid()
	for i := range 3 {
		g.set(&g.high, 9-i)
		fmt.Print(g.width())
	}
	g.badLow()
	g.set(&g.high, 8)
	fmt.Println(g.width())
}

//go:noinline
func load(p *int, off int) int { return *(*int)(unsafe.Add(unsafe.Pointer(p), off)) }

//go:noinline
func (g *grid) badSum() {
	g.off = -1 << 52 // culprit pointersum
}

func pointerSum() {
	g := newGrid()
	for i := range 3 {
		g.set(&g.off, 16-8*i)
		fmt.Print(load(&g.cells[0], g.off))
	}
	g.badSum()
	fmt.Println(load(&g.cells[0], g.off))
}

//go:noinline
func (g *grid) shrink() {
	g.cells = g.cells[:4] // culprit shrunk
}

func shrunk() {
	g := newGrid()
	for i := range 3 {
		g.set(&g.base, 3-i)
		fmt.Print(g.at())
	}
	g.shrink()
	g.set(&g.base, 3)
	fmt.Println(g.at())
}

//go:noinline
func (g *grid) badFirst() {
	g.off = 200 // culprit first
}

func first() {
	g := newGrid()
	g.badFirst()
	fmt.Println(g.at())
}

// Copies.

type rec struct{ id, slot int }

//go:noinline
func clone(rs []rec) []rec {
	n := make([]rec, len(rs))
	copy(n, rs)
	return n
}

//go:noinline
func use(rs []rec, i int) int { return rs[rs[i].slot].id }

//go:noinline
func spoil20(rs []rec) {
	rs[3].slot = 4711 // culprit copied20
}

func copied20() {
	rs := make([]rec, 20)
	spoil20(rs)
	fmt.Println(use(clone(rs), 3))
}

//go:noinline
func spoil200(rs []rec) {
	rs[100].slot = 4711 // culprit copied200
}

func copied200() {
	rs := make([]rec, 200)
	spoil200(rs)
	fmt.Println(use(clone(rs), 100))
}

//go:noinline
func spoilBackwards(rs []rec) {
	rs[60].slot = -4 // culprit backwards
}

func backwards() {
	rs := make([]rec, 120)
	spoilBackwards(rs)
	for range 3 {
		copy(rs[1:], rs)
	}
	copy(rs, rs[1:])
	fmt.Println(use(rs, 62))
}

//go:noinline
func gives(i int) *rec {
	if i == 30 {
		return nil // culprit grown
	}
	return &rec{id: i}
}

func grown() {
	var all []*rec
	for i := range 70 {
		all = append(all, gives(i))
	}
	for _, r := range all {
		fmt.Print(r.id)
	}
}

type wide struct {
	pad  [12]int
	next *rec
	more [3]int
}

//go:noinline
func forget(m map[int]wide) {
	w := m[3]
	w.next = nil // culprit mapgrown
	m[3] = w
}

func mapGrown() {
	m := map[int]wide{}
	for i := range 5 {
		m[i] = wide{next: &rec{id: i}}
	}
	forget(m)
	for i := range 40 {
		m[100+i] = wide{next: &rec{}}
	}
	for i := range 5 {
		fmt.Print(m[i].next.id)
	}
}

//go:noinline
func digit(b []byte) {
	b[99] = 'z' // culprit joined
}

func joined() {
	b := make([]byte, 700)
	digit(b)
	s := "head " + string(b) + " tail"
	s = "more: " + s
	fmt.Println(kept[s[5+6+99]])
}

var kept = make([]int, 100)

//go:noinline
func deep(n int, pad [40]int) int {
	if n == 0 {
		return pad[0]
	}
	pad[n%40] = n
	return deep(n-1, pad) + 1
}

//go:noinline
func spoilFrame(a *[64]int) {
	a[9] = 1 << 40 // culprit stackgrown
}

func stackGrown() {
	done := make(chan bool)
	go func() {
		var a [64]int
		spoilFrame(&a)
		fmt.Print(deep(100, [40]int{}))
		fmt.Println(kept[a[9]])
		close(done)
	}()
	<-done
}

//go:noinline
func wipe(ns []int) {
	clear(ns) // culprit cleared
}

func cleared() {
	ns := make([]int, 1000)
	for i := range ns {
		ns[i] = i + 1
	}
	wipe(ns[300:])
	fmt.Println(5 / ns[400])
}

type parcel struct {
	pad  [50]int
	slot int
	tail [20]int
}

//go:noinline
func pack(i int) (p parcel) {
	p.slot = i * 1000 // culprit sent
	return p
}

func sent() {
	ch := make(chan parcel, 3)
	for i := range 3 {
		ch <- pack(i)
	}
	for range 3 {
		p := <-ch
		fmt.Print(kept[p.slot])
	}
}

//go:noinline
func spoilByte(b []byte) {
	b[401] = 120 // culprit unaligned
}

func unaligned() {
	b := make([]byte, 1000)
	spoilByte(b)
	c := make([]byte, 1000)
	copy(c[5:], b[1:780])
	fmt.Println(kept[c[405]])
}

//go:noinline
func spoilRepeated(b []byte) {
	b[3333] = 120 // culprit repeated
}

// repeated is run on a CPU without AVX, where long copies are made by the string instructions.
func repeated() {
	b := make([]byte, 6000)
	spoilRepeated(b)
	c := make([]byte, 6000)
	copy(c[5:], b[1:5001])
	fmt.Println(kept[c[3337]])
}

// Words that were counted.

var left = 10

//go:noinline
func take(n int) {
	left -= n // culprit counted
}

func counted() {
	take(1)
	take(2)
	take(3)
	take(5)
	if left < 0 {
		panic("below zero")
	}
}

var tokens = 40

//go:noinline
func spend() {
	tokens -= 7 // culprit looped
}

func looped() {
	for range 6 {
		spend()
	}
	fmt.Println(kept[tokens])
}

var total, price = 5, 1

//go:noinline
func raise() {
	price = 500 // culprit plain
}

//go:noinline
func add() int { return kept[total+price] }

func plain() {
	fmt.Print(add())
	fmt.Print(add())
	raise()
	fmt.Print(add())
}

// What a comparison has left undone.

type reader struct {
	buf    []byte
	length uint32
}

//go:noinline
func size(r *reader) uint16 {
	return uint16(r.length) // culprit truncated
}

//go:noinline
func (r *reader) room(n uint16) {
	if cap(r.buf) < int(n) {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
}

func truncated() {
	r := &reader{}
	for _, n := range []uint32{40, 300, 65536 + 20} {
		r.length = n
		r.room(size(r))
		fmt.Print(len(r.buf[:r.length-4]))
	}
}

//go:noinline
func (g *grid) enough(need int) {
	if g.n < need {
		g.cells = make([]int, need)
		g.n = need
	}
}

//go:noinline
func (g *grid) claim() {
	g.n = 1000 // culprit skipped
}

func skipped() {
	g := newGrid()
	g.enough(20)
	fmt.Print(g.pick(0, 19))
	g.claim()
	g.enough(30)
	fmt.Println(g.pick(0, 29))
}

//go:noinline
func (g *grid) lowest() int { return kept[bits.TrailingZeros64(g.mask)*2] }

//go:noinline
func (g *grid) none() {
	g.mask = 0 // culprit trailing
}

func trailing() {
	g := newGrid()
	fmt.Print(g.lowest())
	g.none()
	fmt.Println(g.lowest())
}

//go:noinline
func (g *grid) slot(hash uint32) int { return g.cells[hash%g.divisor] }

//go:noinline
func (g *grid) more() {
	g.divisor = 77 // culprit remainder
}

func remainder() {
	g := newGrid()
	for i := range 3 {
		fmt.Print(g.slot(uint32(1000 - i)))
	}
	g.more()
	fmt.Println(g.slot(999))
}

// spare has the branch of enough go by rightly: that nothing was written says nothing of the index.
func spare() {
	g := newGrid()
	g.enough(20)
	fmt.Print(g.pick(0, 19))
	g.enough(5)
	fmt.Println(g.pick(0, 29)) // culprit spare
}

// limited has a limit that was there before the last write: that, or what was asked for, may be wrong.
func limited() {
	g := newGrid()
	g.limit(25)
	g.allowed(20)
	fmt.Print(g.pick(0, 19))
	g.allowed(30)
	fmt.Println(g.pick(0, 29)) // culprit limited
}

//go:noinline
func (g *grid) limit(n int) { g.high = n }

//go:noinline
func (g *grid) allowed(need int) {
	if need <= g.high {
		g.cells = make([]int, need)
	}
}

// An index and a bound.

// popped has an index that is less than 0, and a length that was made later.
func popped() {
	g := newGrid()
	g.pop(9)
	fmt.Println(g.cells[g.n])
}

//go:noinline
func (g *grid) pop(n int) {
	g.n = -1 // culprit popped
	g.cells = g.cells[:len(g.cells)-n]
}

// swapped has a length that has become what it is after the index, and nothing tells which of the two is off.
func swapped() {
	g := newGrid()
	g.bytes = append(g.bytes[:0], 5, 0) // culprit swapped
	g.parse()
	g.bytes = append(g.bytes, make([]byte, 300)...)
	fmt.Println(g.bytes[2 : 2+g.n])
}

//go:noinline
func (g *grid) parse() {
	g.n = int(g.bytes[0])<<8 | int(g.bytes[1])
}

// A cache's own answer.

type cache map[int]*grid

func newCache() cache {
	c := cache{}
	for i := range 5 {
		c[i] = newGrid()
	}
	return c
}

//go:noinline
func (c cache) get(k int) *grid {
	g, ok := c[k]
	if !ok {
		return nil
	}
	return g
}

//go:noinline
func (c cache) evict(k int) { delete(c, k) } // culprit forgotten

func forgotten() {
	c := newCache()
	c.evict(3)
	fmt.Print(c.get(1).n)
	fmt.Println(c.get(3).n)
}

// anyway asks what answers nil whether the key is there or not.
func anyway() {
	c := newCache()
	delete(c, 3)
	fmt.Println(c.touch(3).n)
}

//go:noinline
func (c cache) touch(k int) *grid {
	if g, ok := c[k]; ok {
		g.n++
	}
	return nil // culprit anyway
}

// Words that were set anew in each round, until they were not.

type meter struct {
	n, high, step int
	held          bool
	cells         [32]int
}

//go:noinline
func (m *meter) rewind() {
	if !m.held {
		m.n = 0
	}
}

//go:noinline
func (m *meter) advance(n int) { m.n += n }

//go:noinline
func (m *meter) read() int { return m.cells[m.n] }

//go:noinline
func (m *meter) hold() { m.held = true } // culprit held

func held() {
	m := &meter{}
	for i := range 9 {
		if i == 5 {
			m.hold()
		}
		m.rewind()
		m.advance(12)
		fmt.Print(m.read())
	}
}

var filled, limit = 0, 10

//go:noinline
func fill(n int) { filled += n }

//go:noinline
func drain() { filled = 0 }

//go:noinline
func raiseLimit() {
	limit = 30 // culprit drained
}

// drained has the branch in a caller of the function that writes, and a value that is computed of the word. What the branch
// compares has changed before the first addition, as at the start of a new sum.
func drained() {
	for i := range 9 {
		if i == 5 {
			raiseLimit()
		}
		fill(4)
		fill(4)
		fmt.Print(kept[filled*10])
		if limit < 20 {
			drain()
		}
	}
}

//go:noinline
func (m *meter) stick() { m.held = true } // culprit stuck

// stuck has rounds of several lengths: that the last one was longer says little.
func stuck() {
	m := &meter{}
	for i, rewind := range []bool{true, true, false, true, true, true, true, true} {
		if i == 4 {
			m.stick()
		}
		if rewind {
			m.rewind()
		}
		m.advance(9)
		fmt.Print(m.read())
	}
}

//go:noinline
func (m *meter) lower() {
	if !m.held {
		m.high = 0
	}
}

//go:noinline
func (m *meter) widen() {
	m.step = 50 // culprit widened
}

// widened has a word that is set anew in each round, and a branch that leads past the write of another one.
func widened() {
	m := &meter{step: 12}
	for i := range 9 {
		m.n = 0
		if i == 5 {
			m.held = true
			m.widen()
		}
		m.lower()
		m.high++
		m.advance(m.step)
		fmt.Print(m.read())
	}
}

// delayed is limited with much work between the branch and the write.
func delayed() {
	g := newGrid()
	g.limit(25)
	g.later(20)
	fmt.Print(g.pick(0, 19))
	g.later(30)
	fmt.Println(g.pick(0, 29)) // culprit delayed
}

//go:noinline
func (g *grid) later(need int) {
	if need <= g.high {
		for range 4_000 {
			g.step()
		}
		g.cells = make([]int, need)
	}
}

//go:noinline
func (g *grid) step() { g.rows++ }

//go:noinline
func (g *grid) claimAll() {
	g.n = 1000 // culprit faulted
}

//go:noinline
func (g *grid) touch(page *byte, col int) int {
	*page = 1
	return g.cells[col]
}

// faulted has a page fault while its index is in a register, as skipped may have an interrupt.
func faulted() {
	g := newGrid()
	pages := make([]byte, 3<<20) // nothing has touched them
	g.enough(20)
	fmt.Print(g.touch(&pages[1<<20], 19))
	g.claimAll()
	g.enough(30)
	fmt.Println(g.touch(&pages[2<<20], 29))
}
