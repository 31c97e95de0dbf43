package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// Random stacks. early.random makes stack images with a chain of calls in them, and damages them or
// the registers. Then the kernel's walker walks them, they are captured, and a breakpoint traces
// them with RSP and RBP pointing there. What is known of a walk is checked here; for a trace, a
// line before it tells the host what to find in it. The images lie in stacks of the kernel that
// early context does not use, with a page missing in one of them, so the walks meet real faults.
// early.wreck dies with such registers.

// dice is a generator of random numbers (splitmix64).
type dice struct{ state uint64 }

func (d *dice) roll() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n rolls a number from 0 to n-1.
func (d *dice) n(n int) int { return int(d.roll() >> 1 % uint64(n)) }

// The images: regions of 64 words. All but the last two end where their stack ends; the last lies
// in the missing page, the one before it just below.
const (
	regionWords = 64
	numRegions  = 6
	regionBelow = 4
	regionGone  = 5
)

// regions holds their addresses. Crash lab only.
var regions [numRegions]uintptr

var regionStacks = [...]string{"mc", "df", "irq", "kernel"} // crash lab only

// certain is the part of a chain that can be compared: its frames, and how much of it does not
// depend on the damage. Crash lab only.
var certain struct {
	n    int
	kind [64]tracer.Kind
	addr [64]uintptr
	// What each word of the regions decides: 2*i the address of frame i, 2*i+1 its frame pointer.
	decides [numRegions][regionWords]int32
	damage  int32
	end     tracer.End
}

const decidesNothing = 1 << 20

// image is the result of a seed.
type image struct {
	dice       dice
	ra, sp, fp uintptr
	w          *tracer.Walker // the kernel's
	region, at int            // the current end of the chain
	fpAt       uintptr        // the word of the last frame pointer, 0 for the register
	fpOf       int
	been       uint
	back       uintptr // of the last trap record: the word with the interrupted RSP
	backOf     int     // the trap's frame
}

// randomTotals are printed at the end. Crash lab only.
var randomTotals struct {
	frames, known, traces, captured, failures uint64
	ends                                      [tracer.NumEnds]uint64
}

//go:noinline
func randomA() {
	if !layRegions() {
		console.String("random: there are not the stacks for it\n")
		fault.Exit(2)
	}
	seed, _ := option.Number("crash.seed")
	count, ok := option.Number("crash.count")
	if !ok {
		count = 100
	}
	for i := range count {
		randomSeed(seed+i, (seed+i)%8 == 0)
	}
	console.FreshLine()
	console.Printf("random %d seeds, %d frames, %d known, %d captured, %d traces, %d failures, ends:",
		count, randomTotals.frames, randomTotals.known, randomTotals.captured, randomTotals.traces,
		randomTotals.failures)
	for e := tracer.EndZero; e < tracer.NumEnds; e++ {
		console.String(" ")
		console.String(e.String())
		console.Printf("=%d", randomTotals.ends[e])
	}
	console.String("\n")
	if randomTotals.failures != 0 {
		fault.Exit(3)
	}
	fault.Exit(0)
}

// layRegions finds the stacks and unmaps a page of the last.
func layRegions() bool {
	stacks := stack.All()
	for i, name := range regionStacks {
		for j := range stacks {
			if sameName(stacks[j].Name, name) {
				regions[i] = stacks[j].Hi - regionWords*8
				if i == len(regionStacks)-1 {
					regions[regionGone] = stacks[j].Lo + 4*arch.PageSize
					regions[regionBelow] = regions[regionGone] - regionWords*8
				}
			}
		}
		if regions[i] == 0 {
			return false
		}
	}
	return mem.Unmap(regions[regionGone])
}

func sameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// randomSeed makes the image of a seed, examines it in each way and checks the results.
//
//go:noinline
func randomSeed(seed uint64, traced bool) {
	var m image
	m.dice.state = seed * 0x5851f42d4c957f2d
	m.w = stack.Walk(0, 0, 0, false) // for its tables
	m.noise()
	tables := m.dice.n(2) == 0
	switch m.dice.n(12) {
	case 0, 1:
		certain.n, certain.damage = 0, 0
		m.ra, m.sp, m.fp = m.value(), m.value(), m.value()
	case 2:
		m.long(traced)
	default:
		m.chain(traced)
		m.spoil(traced)
	}
	if traced {
		m.tell(seed)
		randomTotals.traces++
		breakWith(m.sp, m.fp)
		return
	}
	stack.Walk(m.ra, m.sp, m.fp, tables)
	sum := m.sum()
	m.check(seed)
	stack.Walk(m.ra, m.sp, m.fp, tables)
	if m.sum() != sum {
		m.fail(seed, "a second walk differs", m.w.N)
	}
	m.captures(seed)
}

// tell writes what the host must find in the trace that follows.
func (m *image) tell(seed uint64) {
	console.Printf("random seed %d certain", seed)
	if certain.n == 0 {
		console.String(" pc ") // a trace always has a first frame, whatever the registers
		console.Hex(uint64(breakPC()))
	}
	for i := 0; i < certain.n && int32(2*i) < certain.damage; i++ {
		console.String(" ")
		console.String(certain.kind[i].String())
		console.Printf(" %x", uint64(certain.addr[i]))
	}
	console.String("\n")
}

func (m *image) fail(seed uint64, why string, frame int) {
	randomTotals.failures++
	console.FreshLine()
	console.Printf("random seed %d failed: ", seed)
	console.String(why)
	console.Printf(", frame %d of %d, end ", uint64(frame), uint64(m.w.N))
	console.Line(m.w.End.String())
}

// sum is a number that changes with nearly any difference between two walks.
func (m *image) sum() (s uint64) {
	w := m.w
	s = uint64(w.N)<<32 + uint64(w.End) + uint64(w.EndValue)
	for i := range w.N {
		f := &w.Frames[i]
		s = s*0x100000001b3 ^ uint64(f.Addr) ^ uint64(f.Kind)<<60 ^ uint64(uint8(f.Stack))<<48
		if f.Kind != tracer.Trap {
			s += uint64(f.FP) * 31
		}
	}
	return s
}

// ruleOf returns the rule of a frame's function.
func (m *image) ruleOf(f *tracer.Frame) tracer.Rule {
	a := f.Addr
	if f.Kind != tracer.PC {
		a--
	}
	for i := range m.w.Marks {
		if k := &m.w.Marks[i]; a-k.Lo < k.Hi-k.Lo {
			return k.Rule
		}
	}
	return 0
}

// holds reports whether the word at a is v.
func holds(a, v uintptr) bool {
	got, ok := tracer.ReadWord(a)
	return ok && got == v
}

// check compares the walk's result with the chain, and each frame with memory.
func (m *image) check(seed uint64) {
	w := m.w
	if w.N < 1 || w.N > len(w.Frames) || w.End < tracer.EndZero || w.End >= tracer.NumEnds {
		m.fail(seed, "no frames, or no end", 0)
		return
	}
	randomTotals.ends[w.End]++
	randomTotals.frames += uint64(w.N)
	for i := 0; i < certain.n && int32(2*i) < certain.damage; i++ {
		if i >= w.N || w.Frames[i].Kind != certain.kind[i] || w.Frames[i].Addr != certain.addr[i] {
			m.fail(seed, "it is not the chain's", i)
			return
		}
		randomTotals.known++
	}
	if certain.damage == decidesNothing && (w.N != certain.n || w.End != certain.end) {
		m.fail(seed, "the chain is not damaged and not complete", w.N)
	}
	been := uint64(0)
	for i := 1; i < w.N; i++ {
		f, b := &w.Frames[i], &w.Frames[i-1]
		if !m.justified(f, b, i) {
			m.fail(seed, "nothing justifies it", i)
			return
		}
		if b.Stack >= 0 && b.Stack != f.Stack {
			been |= 1 << uint(b.Stack)
		}
		if f.Stack >= 0 && been&(1<<uint(f.Stack)) != 0 && !(i == w.N-1 && w.End == tracer.EndRevisit) {
			m.fail(seed, "on a stack that the walk had left", i)
			return
		}
	}
}

// justified reports whether the memory proves that frame i follows from the previous one.
func (m *image) justified(f, b *tracer.Frame, i int) bool {
	w := m.w
	rule := m.ruleOf(b)
	switch {
	case rule == tracer.RuleSaved && f.Kind == tracer.RA:
		return true // the kernel took it from a g
	case b.Kind == tracer.Trap:
		want := tracer.PC
		if b.Vector == tracer.VectorCall {
			want = tracer.RA
		}
		return f.Kind == want && f.Addr == b.Addr
	case f.Kind == tracer.Trap:
		// The restorer, which is left out, may be in between.
		rec := b.FP
		if !holds(rec+8, tracer.TrapMark) {
			rec, _ = tracer.ReadWord(rec)
		}
		v, ok := tracer.ReadWord(rec + 16)
		return ok && holds(rec+8, tracer.TrapMark) && holds(rec+32, f.Addr) && uint32(v) == f.Vector
	case f.Kind == tracer.PC:
		return rule == tracer.RuleExact && holds(f.SP-8, f.Addr)
	case f.Kind != tracer.RA || f.Addr-w.TextLo >= w.TextHi-w.TextLo:
		return false
	case b.FP%8 == 0 && f.Stack >= 0 && b.FP-w.Stacks[f.Stack].Lo < w.Stacks[f.Stack].Size() &&
		holds(b.FP+8, f.Addr):
		return f.Stack == b.Stack || rule == tracer.RuleSwitch
	}
	// The first frame of a place: where the tables say, or at the top of the stack.
	if i > 1 && b.Kind == tracer.RA && w.Frames[i-2].Kind != tracer.Trap &&
		m.ruleOf(&w.Frames[i-2]) != tracer.RuleSaved {
		return false
	}
	slot, pc := b.SP, b.Addr
	if pc-w.TextLo < w.TextHi-w.TextLo {
		if b.Kind == tracer.RA {
			pc--
		}
		delta, ok := w.SPDelta(pc)
		if !ok || w.Plain {
			return false
		}
		slot += delta
	}
	return holds(slot, f.Addr)
}

// captures captures the stack, and compares each record with memory.
func (m *image) captures(seed uint64) {
	r := m.dice.n(numRegions)
	s := stack.Of(regions[r])
	stack.SetCapture(&capture, s)
	fp := m.fp
	if !s.Contains(fp) {
		fp = regions[r] + uintptr(m.dice.n(regionWords))*8
	}
	capture.Walk(fp)
	at := fp
	for i := range capture.N {
		rec := &capture.Records[i]
		if !s.Contains(at) || !holds(at, rec.FP) || !holds(at+8, rec.RA) ||
			rec.RA-m.w.TextLo >= m.w.TextHi-m.w.TextLo {
			m.fail(seed, "a record was captured that is none", i)
			return
		}
		at = rec.FP
	}
	randomTotals.captured += uint64(capture.N)
	if same := capture.Again(fp); same != (capture.N > 0) {
		m.fail(seed, "a capture differs from itself", capture.N)
	}
	if e, _ := capture.Stop(); e < tracer.EndZero || e >= tracer.NumEnds {
		m.fail(seed, "a capture has no end", capture.N)
	}
}
