package tracer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// A million worlds. In most of them a call chain is made first, over several stacks and with
// everything that a chain can contain: records, leaves and prologues, traps, injected calls,
// switches. Then some of it is damaged, and walked. Each frame that does not depend on the damage
// must be the chain's; and memory must justify each frame, also in worlds that contain only noise.
// The rules that justify a frame are written here once more, from the documentation, for a finished
// walk: which words, tables and answers make this frame follow from the one before.

// worldsEnv repeats one world: its number in decimal.
const worldsEnv = "ZF_WORLD"

func TestRandomWorlds(t *testing.T) {
	n := uint64(1_000_000)
	if testing.Short() {
		n /= 20
	}
	from := uint64(0)
	if v := os.Getenv(worldsEnv); v != "" {
		var err error
		if from, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
		n = from + 1
	}
	var (
		wg    sync.WaitGroup
		next  atomic.Uint64
		wrong atomic.Int32
		mu    sync.Mutex
		total tally
	)
	next.Store(from)
	const batch = 1000
	for range runtime.GOMAXPROCS(0) {
		r := newRandomWorld(t)
		wg.Go(func() {
			defer func() {
				mu.Lock()
				total.add(&r.tally)
				mu.Unlock()
			}()
			for wrong.Load() < 10 {
				lo := next.Add(batch) - batch
				if lo >= n {
					return
				}
				for seed := lo; seed < min(lo+batch, n); seed++ {
					if why := r.try(seed); why != "" {
						wrong.Add(1)
						t.Errorf("world %d (%s=%d repeats it): %s", seed, worldsEnv, seed, why)
						break
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d worlds, %d frames held against the chain, ends %v, kinds %v, frames by %v", total.worlds, total.known, total.ends, total.kinds, total.by)
	if t.Failed() || n < 50_000 || from != 0 {
		return
	}
	// The dice must produce everything. (No memory is unreadable for the direct walk; the crash
	// lab's early.random tests that.)
	for e := EndZero; e < NumEnds; e++ {
		if total.ends[e] < int(n)/10_000 {
			t.Errorf("only %d walks ended as %v", total.ends[e], e)
		}
	}
	for _, k := range []Kind{PC, RA, Trap} {
		if total.kinds[k] < int(n)/100 {
			t.Errorf("only %d frames of the kind %v", total.kinds[k], k)
		}
	}
	for by := range total.by {
		if total.by[by] < int(n)/1000 {
			t.Errorf("only %d frames were justified by reason %d", total.by[by], by)
		}
	}
}

// tally counts the cases seen.
type tally struct {
	worlds, known int
	ends          [EndGoexit + 1]int
	kinds         [Trap + 1]int
	by            [numReasons]int
}

func (t *tally) add(o *tally) {
	t.worlds += o.worlds
	t.known += o.known
	for i := range t.ends {
		t.ends[i] += o.ends[i]
	}
	for i := range t.kinds {
		t.kinds[i] += o.kinds[i]
	}
	for i := range t.by {
		t.by[i] += o.by[i]
	}
}

// Geometry: four stacks of up to 64 words, each at the end of its pages.
const (
	worldStacks = 4
	worldWords  = 64
)

type randomWorld struct {
	*world
	tally
	src rand.PCG
	r   *rand.Rand
	all []Stack // whole

	// The chain, and where the walk begins.
	truth      []Frame
	end        End
	kind       Kind
	pc, sp, fp uintptr
	// Which frame a word decides: 2*i the address of the truth's frame i, 2*i+1 its frame pointer.
	// Words that decide nothing have a large number.
	decides [worldStacks][worldWords]int16
	damage  int // the first damaged decision

	untabled int // the first one that is not found without tables

	tables  bool   // SPDelta is given
	lie     uint64 // the answers of SPDelta are wrong, in this way
	answers []answer
	asked   []answer
	capture Capture
}

// An answer of Saved, or with exact of Switching.
type answer struct {
	exact      bool
	at, slot   uintptr
	pc, sp, fp uintptr
	ok         bool
}

const nothing = 1 << 14

func newRandomWorld(t testing.TB) *randomWorld {
	r := &randomWorld{world: newWorld(t, worldWords*8, worldWords*8, worldWords*8, worldWords*8)}
	r.all = append(r.all, r.stacks...)
	r.r = rand.New(&r.src)
	r.capture.Records = make([]Record, 32)
	for _, wk := range r.walkers {
		wk.Marks = testMarks
		wk.Saved = func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return r.answer(false, ra, slot) }
		wk.Switching = func(pc, sp, fp uintptr) (ra, rsp, rbp uintptr, ok bool) {
			return r.answer(true, pc, r.relative(sp)+r.relative(fp)*2)
		}
	}
	return r
}

// answer is the answer of Saved and Switching: right where the chain needs it, and nonsense
// otherwise. The same question gets the same answer, wherever the stacks have been mapped.
func (r *randomWorld) answer(exact bool, at, slot uintptr) (pc, sp, fp uintptr, ok bool) {
	for i := range r.answers {
		if a := &r.answers[i]; a.exact == exact && a.at == at && a.slot == slot {
			r.asked = append(r.asked, *a)
			return a.pc, a.sp, a.fp, a.ok
		}
	}
	dice := rand.New(rand.NewPCG(uint64(r.relative(at))*31+uint64(r.relative(slot)), 7))
	a := answer{exact: exact, at: at, slot: slot, ok: dice.IntN(4) > 0}
	a.pc, a.sp, a.fp = r.value(dice), r.value(dice), r.value(dice)
	r.asked = append(r.asked, a)
	return a.pc, a.sp, a.fp, a.ok
}

func (r *randomWorld) peek(a uintptr) uintptr    { return *(*uintptr)(pointer(a)) }
func (r *randomWorld) poke(a uintptr, v uintptr) { *(*uintptr)(pointer(a)) = v }

// try makes world seed, walks it and returns the first error.
func (r *randomWorld) try(seed uint64) string {
	r.src.Seed(seed, 0x5eed)
	r.worlds++
	r.make()
	n := len(r.frames[0])
	if r.r.IntN(16) == 0 {
		n = 1 + r.r.IntN(12)
	}
	plain := r.r.IntN(16) == 0
	for i, wk := range r.walkers {
		wk.Stacks, wk.Frames, wk.Plain, wk.SPDelta = r.stacks, r.frames[i][:n], plain, nil
		if r.tables {
			wk.SPDelta = r.delta
		}
	}
	if plain {
		r.damage = min(r.damage, 2, r.untabled) // leaves have no callers now
	}
	a, b := r.walkers[0], r.walkers[1]
	r.walk(b)
	first := append([]Frame{}, b.Frames[:b.N]...) // b will walk once more
	end, value := b.End, b.EndValue
	if why := r.compare(b); why != "" {
		return why + r.tell(b)
	}
	if why := r.justify(b); why != "" {
		return why + r.tell(b)
	}
	r.ends[b.End]++
	for _, wk := range []*Walker{a, b} {
		r.walk(wk)
		if wk.N != len(first) || wk.End != end || wk.EndValue != value {
			return fmt.Sprintf("direct %v: %d frames, %v %#x; by Load at first %d, %v %#x", wk == a, wk.N, wk.End, wk.EndValue, len(first), end, value) + r.tell(wk)
		}
		for i := range first {
			f, g := wk.Frames[i], first[i]
			if f.Kind != PC {
				f.SP, g.SP = 0, 0 // what they held
			}
			if f.Kind != Trap {
				f.Vector, f.Error, g.Vector, g.Error = 0, 0, 0, 0
			} else {
				f.FP, g.FP = 0, 0
			}
			if f != g {
				return fmt.Sprintf("direct %v: frame %d = %+v; by Load at first %+v", wk == a, i, f, g) + r.tell(wk)
			}
		}
	}
	if len(r.noRead) > 0 {
		r.noRead = map[uintptr]bool{}
	}
	if why := r.unreadable(seed); why != "" {
		return why + r.tell(b)
	}
	return r.captures()
}

func (r *randomWorld) walk(wk *Walker) {
	r.asked = r.asked[:0]
	if r.kind == RA {
		wk.WalkCaller(r.pc, r.sp, r.fp)
	} else {
		wk.Walk(r.pc, r.sp, r.fp)
	}
}

func (r *randomWorld) tell(wk *Walker) string {
	s := fmt.Sprintf("\nfrom %v pc %#x sp %#x fp %#x, damage from %d\nwalk  %s value %#x\nchain ", r.kind, r.pc, r.sp, r.fp, r.damage, ends(wk), wk.EndValue)
	for _, f := range r.truth {
		s += fmt.Sprintf("%v:%x ", f.Kind, f.Addr)
	}
	for i := range r.stacks {
		s += fmt.Sprintf("\nstack %d: %#x-%#x", i, r.stacks[i].Lo, r.stacks[i].Hi)
	}
	return s
}

// compare compares the walk with the chain, as far as the damage allows.
func (r *randomWorld) compare(wk *Walker) string {
	for i, want := range r.truth {
		if i >= len(wk.Frames) || 2*i >= r.damage {
			break
		}
		if i >= wk.N {
			return fmt.Sprintf("frame %d is missing", i)
		}
		f := wk.Frames[i]
		if f.Kind != want.Kind || f.Addr != want.Addr || f.Stack != want.Stack || f.Kind == Trap && (f.Vector != want.Vector || f.Error != want.Error) {
			return fmt.Sprintf("frame %d = %+v; the chain has %+v", i, f, want)
		}
		r.known++
		if f.Kind != Trap && 2*i+1 < r.damage && f.FP != want.FP {
			return fmt.Sprintf("frame %d has frame pointer %#x; the chain has %#x", i, f.FP, want.FP)
		}
	}
	if r.damage < nothing || len(r.truth) == 0 {
		return ""
	}
	n := len(r.truth)
	switch {
	case n < len(wk.Frames) && (wk.N != n || wk.End != r.end),
		n == len(wk.Frames) && wk.End != r.end && wk.End != EndLimit,
		n > len(wk.Frames) && wk.End != EndLimit:
		return fmt.Sprintf("%d frames and %v, with room for %d; the chain has %d and %v", wk.N, wk.End, len(wk.Frames), n, r.end)
	}
	return ""
}

// unreadable walks, now and then, with a word that cannot be read.
func (r *randomWorld) unreadable(seed uint64) string {
	if seed%8 != 0 {
		return ""
	}
	s := r.r.IntN(len(r.stacks))
	a := r.all[s].Lo + uintptr(r.r.IntN(worldWords))*8
	r.noRead = map[uintptr]bool{a: true}
	b := r.walkers[1]
	r.walk(b)
	why := r.justify(b)
	r.ends[b.End]++
	r.noRead = map[uintptr]bool{}
	return why
}

// captures compares a Capture with the same records, read one by one.
func (r *randomWorld) captures() string {
	s := &r.stacks[r.r.IntN(len(r.stacks))]
	c := &r.capture
	c.Set(s, testTextLo, testTextHi)
	fp := r.fp
	if !s.Contains(fp) {
		fp = r.all[r.r.IntN(worldStacks)].Lo + uintptr(r.r.IntN(worldWords))*8
	}
	c.Walk(fp)
	n, at, above := 0, fp, s.Lo
	for n < len(c.Records) && at%8 == 0 && at >= above && at >= s.Lo && at < s.Hi && s.Hi-at >= 16 {
		rec := Record{r.peek(at), r.peek(at + 8)}
		if rec.RA < testTextLo || rec.RA >= testTextHi {
			break
		}
		if n >= c.N || c.Records[n] != rec {
			return fmt.Sprintf("capture from %#x: record %d of %d is not %+v", fp, n, c.N, rec)
		}
		n, at, above = n+1, rec.FP, at+8
	}
	if c.N != n {
		return fmt.Sprintf("capture from %#x: %d records; want %d", fp, c.N, n)
	}
	if same := c.Again(fp); same != (n > 0) || c.N != n {
		return fmt.Sprintf("capture again from %#x: %v, %d records; want %d", fp, same, c.N, n)
	}
	if e, v := c.Stop(); e < EndZero || e > EndGoexit || e == EndText && v-testTextLo < testTextHi-testTextLo {
		return fmt.Sprintf("capture from %#x stops as %v %#x", fp, e, v)
	}
	// One word is changed: the capture notices if the word belongs to one of its records.
	if s.Size() == 0 {
		return ""
	}
	a := s.Lo + uintptr(r.r.IntN(int(s.Size()/8)))*8
	used := false
	for p, i := fp, 0; i < n; i++ {
		used = used || a == p || a == p+8
		p = c.Records[i].FP
	}
	r.poke(a, r.peek(a)^uintptr(1+r.r.IntN(255)))
	if same := c.Again(fp); same != (!used && n > 0) {
		return fmt.Sprintf("capture again from %#x, after a change at %#x, which it has used: %v: %v", fp, a, used, same)
	}
	return ""
}
