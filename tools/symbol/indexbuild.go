// What goes into an index: the answer for every address. An answer can change only
// where a symbol, a unit, a function, an inlined call or a row of a line table
// begins or ends. So these places cut the address space into pieces, each with one
// answer, found as a look-up finds it (lookup.go, frames in tools/dwarf/die.go).
//
// Units are read one at a time by each of several goroutines, and written in the
// file's order by one: the index is the same, however many there are, and memory
// holds a few units and the names.

package symbol

import (
	"cmp"
	stdelf "debug/elf"
	"errors"
	"io"
	"runtime"
	"slices"
	"sort"

	"github.com/zeroframe/zeroframe/tools/dwarf"
	"github.com/zeroframe/zeroframe/tools/elf"
	"github.com/zeroframe/zeroframe/tools/lookup"
)

var (
	errDeep = errors.New("inlined calls are nested too deeply")
	// What such files say can change without any change of the one they belong to.
	errParts = errors.New("its debug information is in .dwo files")
	// Nobody waits for it any more.
	errStopped = errors.New("stopped")
)

// An indexBuilder knows what the goroutines share.
type indexBuilder struct {
	f, sf *File
	d     *dwarf.Data      // nil if there is none
	free  chan *unitPieces // which were written, to be filled again
	cuts  []uint64         // where what the symbol table says can change, rising
}

// An indexTask is a unit and the text that is its own, or the pieces of text that
// several units claim, each with its units, or with unit nil what no unit has.
type indexTask struct {
	base  uint64
	spans []elf.Span
	units [][]uint64 // of each span, if not one and the same
}

// An indexOutput takes an index: a file or memory.
type indexOutput interface {
	io.Writer
	io.WriterAt
}

// buildIndex writes an index of f into file, unless stop is closed meanwhile. progress and stop
// may be nil.
func (f *File) buildIndex(file indexOutput, id [indexIDSize]byte, progress func(done, total int), stop <-chan struct{}) error {
	b := &indexBuilder{f: f, sf: f.symbolFile(), d: f.dwarfData(), free: make(chan *unitPieces, 4*runtime.GOMAXPROCS(0))}
	b.findCuts()
	tasks := b.tasks()
	w := newIndexWriter(file)
	// The writer takes the results in the order of the tasks; this many may wait.
	type result struct {
		pieces *unitPieces
		err    error
	}
	results := make(chan chan result, 4*runtime.GOMAXPROCS(0))
	type job struct {
		task *indexTask
		to   chan result
	}
	jobs := make(chan job)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			k := b.newWorker()
			for j := range jobs {
				k.run(j.task)
				j.to <- result{k.out, k.err}
			}
		}()
	}
	go func() {
	all:
		for i := range tasks {
			to := make(chan result, 1)
			select {
			case <-stop:
				to <- result{err: errStopped}
				results <- to
				break all
			default:
			}
			results <- to
			jobs <- job{&tasks[i], to}
		}
		close(jobs)
		close(results)
	}()
	done := 0
	for to := range results {
		r := <-to
		if w.err == nil {
			w.err = r.err
		}
		if w.err == nil {
			w.add(r.pieces)
		}
		select {
		case b.free <- r.pieces:
		default:
		}
		if done++; progress != nil {
			progress(done, len(tasks))
		}
	}
	flags := byte(0)
	if b.d == nil || !f.HasSection(stdelf.SHT_SYMTAB) {
		flags |= indexPartial // unnamedAt may know more
	}
	return w.finish(id, flags)
}

// findCuts collects where what the symbol table says changes.
func (b *indexBuilder) findCuts() {
	b.sf.scans.Store(1 << 20) // sorted it serves best
	t := b.sf.symbols()
	for _, fs := range t.funcs {
		s := b.sf.rawSymbol(&t.parts[fs.part], uint64(fs.index))
		b.cuts = append(b.cuts, s.Value, s.Value+s.Size)
	}
	for i := range b.sf.Sections {
		s := &b.sf.Sections[i]
		b.cuts = append(b.cuts, s.Addr, s.Addr+s.Len)
	}
	slices.Sort(b.cuts)
	b.cuts = slices.Compact(b.cuts)
}

// tasks shares the address space out.
func (b *indexBuilder) tasks() []indexTask {
	var tasks []indexTask
	var rest indexTask
	shared := indexTask{units: [][]uint64{}}
	free := uint64(0) // what lies below has been shared out
	if b.d != nil {
		of := make(map[uint64]int)
		for _, c := range b.d.Claims() {
			s, units := c.Span, c.Units
			if free < s.Low {
				rest.spans = append(rest.spans, elf.Span{Low: free, High: s.Low})
			}
			free = s.High
			if len(units) > 1 {
				shared.spans, shared.units = append(shared.spans, s), append(shared.units, units)
				continue
			}
			n, ok := of[units[0]]
			if !ok {
				n = len(tasks)
				of[units[0]] = n
				tasks = append(tasks, indexTask{base: units[0]})
			}
			t := &tasks[n]
			if last := len(t.spans) - 1; last >= 0 && t.spans[last].High == s.Low {
				t.spans[last].High = s.High
			} else {
				t.spans = append(t.spans, s)
			}
		}
	}
	rest.spans = append(rest.spans, elf.Span{Low: free, High: ^uint64(0)})
	rest.units = make([][]uint64, len(rest.spans))
	slices.SortFunc(tasks, func(a, c indexTask) int { return cmp.Compare(a.base, c.base) })
	return append(tasks, shared, rest)
}

// An indexWorker finds the pieces of one task at a time.
type indexWorker struct {
	*indexBuilder
	r   *dwarf.Reader
	out *unitPieces
	ids map[string]int32 // of out.strings
	err error

	textOf   *dwarf.Loaded // whose cuts and files these are:
	unitCuts []uint64      // where functions and sequences of rows begin and end
	fileIDs  []int32       // of l.lines.files, 1 more; 0 if not asked for yet
	callCuts []uint64
	callAt   []int32 // of each of callCuts: the call from there on, or -1
	callIDs  []int32 // of r.tree.calls, one more, by at+1; 0 if not made yet
	hitAt    int     // index of the cut that hit is of
	hit      symbolHit
	hitOK    bool
	hitName  int32
	newRun   bool
}

func (b *indexBuilder) newWorker() *indexWorker {
	k := &indexWorker{indexBuilder: b, ids: make(map[string]int32)}
	if b.d != nil {
		k.r = b.d.NewReader()
	}
	return k
}

// run puts the pieces of a task into k.out.
func (k *indexWorker) run(t *indexTask) {
	clear(k.ids)
	select {
	case k.out = <-k.free:
		clear(k.out.strings)
		k.out.strings, k.out.calls, k.out.pieces = k.out.strings[:0], k.out.calls[:0], k.out.pieces[:0]
	default:
		k.out = &unitPieces{}
	}
	k.id("")
	k.hitAt, k.textOf = -2, nil
	var l *dwarf.Loaded
	if t.units == nil {
		l = k.r.Begin(t.base, dwarf.AllLines)
	}
	for i, s := range t.spans {
		k.newRun = true
		switch {
		case t.units != nil:
			k.shared(t.units[i], s)
		case l == nil:
			k.symbols(s)
		default:
			k.unit(l, nil, s)
		}
	}
	if k.r != nil {
		k.r.End(t.base)
	}
}

// id returns the number of a string.
func (k *indexWorker) id(s string) int32 {
	n, ok := k.ids[s]
	if !ok {
		n = int32(len(k.out.strings))
		k.ids[s] = n
		k.out.strings = append(k.out.strings, s)
	}
	return n
}

// emit adds a piece.
func (k *indexWorker) emit(p unitPiece) {
	if n := len(k.out.pieces); n > 0 && !k.newRun {
		if l := &k.out.pieces[n-1]; l.call == p.call && l.file == p.file && l.line == p.line && l.disc == p.disc {
			return
		}
	}
	p.run, k.newRun = k.newRun, false
	k.out.pieces = append(k.out.pieces, p)
}

// shared finds the pieces of text that units claim, the first of which has the say.
func (k *indexWorker) shared(units []uint64, s elf.Span) {
	if len(units) == 0 {
		k.symbols(s)
		return
	}
	k.r.Allow()
	l := k.r.LoadAt(units[0])
	if l == nil {
		k.shared(units[1:], s)
		return
	}
	k.unit(l, units[1:], s)
}

// seek finds what the symbol table says at addr.
func (k *indexWorker) seek(addr uint64) {
	at := sort.Search(len(k.cuts), func(i int) bool { return k.cuts[i] > addr }) - 1
	if at != k.hitAt {
		k.hitAt = at
		k.hit, k.hitOK = k.sf.funcAt(addr)
		k.hitName = k.id(k.hit.name)
	}
}

// between returns those of cuts, which rise, that lie inside of s.
func between(cuts []uint64, s elf.Span) []uint64 {
	low := sort.Search(len(cuts), func(i int) bool { return cuts[i] > s.Low })
	high := sort.Search(len(cuts), func(i int) bool { return cuts[i] >= s.High })
	return cuts[low:max(low, high)]
}

// symbols finds the pieces of text that only the symbol table may know.
func (k *indexWorker) symbols(s elf.Span) {
	one := func(addr uint64) {
		k.seek(addr)
		if !k.hitOK {
			k.emit(unitPiece{addr: addr, call: -1})
			return
		}
		k.out.calls = append(k.out.calls, unitCall{name: k.hitName, entry: k.hit.start, flags: callSymbol})
		k.emit(unitPiece{addr: addr, call: int32(len(k.out.calls) - 1), file: k.id(k.sf.hitFile(k.hit))})
	}
	one(s.Low)
	for _, cut := range between(k.cuts, s) {
		one(cut)
	}
}

// prepare collects where functions and sequences of a unit begin and end.
func (k *indexWorker) prepare(l *dwarf.Loaded) {
	k.textOf = l
	k.unitCuts = k.unitCuts[:0]
	for i := range l.Funcs {
		k.unitCuts = append(k.unitCuts, l.Funcs[i].Low, l.Funcs[i].High)
	}
	for i := range l.Lines.Seqs {
		k.unitCuts = append(k.unitCuts, l.Lines.Seqs[i].Low, l.Lines.Seqs[i].High)
	}
	slices.Sort(k.unitCuts)
	k.fileIDs = grow(k.fileIDs, len(l.Lines.Files)+1)
}

// fileID returns the number of the string of a file that l's lines name.
func (k *indexWorker) fileID(l *dwarf.Loaded, n uint32) int32 {
	if uint64(n) >= uint64(len(k.fileIDs)) {
		return 0
	}
	if k.fileIDs[n] == 0 {
		k.fileIDs[n] = 1 + k.id(k.r.FileName(l, n))
	}
	return k.fileIDs[n] - 1
}

// unit finds the pieces of text that unit l answers for; where it has no answer, the
// units in rest are asked.
func (k *indexWorker) unit(l *dwarf.Loaded, rest []uint64, s elf.Span) {
	if l.InParts() {
		k.err = errParts
		return
	}
again:
	if k.textOf != l {
		k.prepare(l)
	}
	// A copy: others may be asked in between.
	bounds := append(append([]uint64{s.Low}, between(k.unitCuts, s)...), between(k.cuts, s)...)
	slices.Sort(bounds)
	bounds = append(slices.Compact(bounds), s.High)
	for i := 0; i+1 < len(bounds); i++ {
		part := elf.Span{Low: bounds[i], High: bounds[i+1]}
		k.r.Allow()
		fn := l.FuncAt(part.Low)
		if l.LooksDeeper(fn) { // as in Frames
			k.r.LoadFuncs(l, true)
			k.textOf, s.Low = nil, part.Low
			goto again
		}
		if k.textOf != l {
			k.prepare(l)
		}
		k.part(l, fn, rest, part)
	}
}

// part finds the pieces of text that is wholly in fn, in one sequence of rows and in
// one symbol, or in none.
func (k *indexWorker) part(l *dwarf.Loaded, fn *dwarf.Function, rest []uint64, s elf.Span) {
	rows := l.Lines.RowsAt(s.Low)
	if fn == nil && rows == nil {
		k.shared(rest, s)
		return
	}
	k.seek(s.Low)
	k.callCuts, k.callAt = append(k.callCuts[:0], s.Low), append(k.callAt[:0], -1)
	k.callIDs = grow(k.callIDs, 1)
	if fn != nil {
		k.r.LoadTree(l, fn)
		k.paint(s)
		k.callIDs = grow(k.callIDs, len(k.r.Tree.Calls)+1)
	}
	// The row that holds at s.low, and the next.
	next := sort.Search(len(rows), func(i int) bool { return rows[i].Addr > s.Low })
	c := 0
	for addr := s.Low; ; {
		p := unitPiece{addr: addr, call: k.call(l, fn, k.callAt[c], 0)}
		if next > 0 {
			r := &rows[next-1]
			p.file, p.line, p.disc = k.fileID(l, r.File), r.Line, r.Disc
		}
		k.emit(p)
		addr = s.High
		if next < len(rows) {
			addr = min(addr, rows[next].Addr)
		}
		if c+1 < len(k.callCuts) {
			addr = min(addr, k.callCuts[c+1])
		}
		if addr == s.High {
			return
		}
		if next < len(rows) && rows[next].Addr == addr {
			next++
		}
		if c+1 < len(k.callCuts) && k.callCuts[c+1] == addr {
			c++
		}
	}
}

// paint finds which call of r.tree each address of s is in: as in at, the last whose
// piece has it.
func (k *indexWorker) paint(s elf.Span) {
	spans := k.r.Tree.Spans
	for i := range spans {
		for _, cut := range [2]uint64{spans[i].Low, spans[i].High} {
			if s.Low < cut && cut < s.High {
				k.callCuts = append(k.callCuts, cut)
			}
		}
	}
	slices.Sort(k.callCuts)
	k.callCuts = slices.Compact(k.callCuts)
	k.callAt = k.callAt[:0]
	for range k.callCuts {
		k.callAt = append(k.callAt, -1)
	}
	for i := range spans {
		p := &spans[i]
		first, _ := slices.BinarySearch(k.callCuts, p.Low)
		for ; first < len(k.callCuts) && k.callCuts[first] < p.High; first++ {
			k.callAt[first] = p.Call
		}
	}
}

// call returns the number of the call at of r.tree, as frames has it, in a piece of
// text where the symbol table says k.hit.
func (k *indexWorker) call(l *dwarf.Loaded, fn *dwarf.Function, at int32, depth int) int32 {
	if n := k.callIDs[at+1]; n != 0 {
		return n - 1
	}
	c := unitCall{name: k.hitName, entry: k.hit.start, flags: callSymbol}
	if !k.hitOK {
		if c.entry, c.flags = 0, callSelf; fn != nil {
			c.entry, c.flags = fn.Low, 0
		}
	}
	if at >= 0 {
		t := &k.r.Tree.Calls[at]
		switch {
		case depth == lookup.MaxInlined:
			k.err = errDeep
		case t.Parent >= 0:
			parent := k.call(l, fn, t.Parent, depth+1)
			c = unitCall{name: k.id(k.r.CallName(l, t)), flags: callInlined,
				parent: parent, file: k.fileID(l, t.CallFile), line: t.CallLine}
			if c.depth = k.out.calls[parent].depth + 1; c.depth > lookup.MaxInlined {
				k.err = errDeep
			}
		case k.hit.name == "":
			if name := k.r.CallName(l, t); name != "" {
				c.name = k.id(name)
			}
		}
	}
	k.out.calls = append(k.out.calls, c)
	k.callIDs[at+1] = int32(len(k.out.calls))
	return k.callIDs[at+1] - 1
}
