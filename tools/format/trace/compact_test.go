package trace

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// boot writes traces as a target does, one after the other since it started.
type boot struct {
	w   tracer.Writer
	out bytes.Buffer
	seq uint32
}

func newBoot() *boot {
	b := &boot{}
	b.w = tracer.Writer{Form: tracer.Compact, Put: func(c byte) { b.out.WriteByte(c) }}
	return b
}

// bootWords are what the stack of a boot holds, from 0x3e8fc0 up.
var bootWords = []uintptr{0x200342, 5, 0x3e8ff0}

// say writes what comes before the registers: a trace with n frames, the first at pc.
func (b *boot) say(pc uintptr, n int, words []uintptr) {
	b.w.Reason([]byte("NMI"))
	b.w.Cause(2, 0, pc, 0, false)
	b.w.Mem(0x3e8fc0, words)
	b.w.Frame(0, &tracer.Frame{Kind: tracer.PC, Addr: pc, SP: 0x3e8fc0, FP: 0x3e8fe0, Stack: 0}, "boot")
	for i := 1; i < n; i++ {
		b.w.Frame(i, &tracer.Frame{Kind: tracer.RA, Addr: 0x200210 + uintptr(i)*0x20, FP: 0x3e8fe0 + uintptr(i)*16, Stack: 0}, "boot")
	}
	b.w.Stop(tracer.EndZero, 0)
}

// trace writes a trace of that kind as the kernel does; rax is the value of a register
// that changes, stacks the table.
func (b *boot) trace(kind tracer.TraceKind, pc uintptr, n int, words []uintptr, rax uintptr, stacks []tracer.Stack) (bytes int) {
	from := b.out.Len()
	b.seq++
	if b.w.Compare(b.seq, kind, tracer.ContextEarly, 0, 0, pc) {
		b.say(pc, n, words)
		if b.w.Repeat() {
			return b.out.Len() - from
		}
	}
	b.w.Begin(b.seq, kind, tracer.ContextEarly, 0, 0, unhex(testBuild), 0x200000, 0x210000)
	b.say(pc, n, words)
	regs := [tracer.NumRegisters]uintptr{0: pc, 1: 0x3e8fc0, 2: 0x3e8fe0, 4: rax}
	b.w.Registers(&regs, 1<<0|1<<1|1<<2|1<<4)
	for i := range stacks {
		b.w.Stack(&stacks[i])
	}
	b.w.Mem(0x3e8fd8, []uintptr{rax, 0x200230})
	b.w.Done()
	return b.out.Len() - from
}

// bootStacks is a table with an empty row.
func bootStacks() []tracer.Stack {
	return []tracer.Stack{
		{Name: "boot", Lo: 0x3e5000, Hi: 0x3e9000, Used: 2104, Limit: 14745},
		{Name: "pf", Lo: 0x3ea000, Hi: 0x3ee000, Limit: 14745},
		{Name: "g"},
		{Name: "g0.12", Lo: 0xc000000000, Hi: 0xc000010000, Used: 8, Limit: 58982},
		{Name: "another", Lo: 0x3f0000, Hi: 0x3f0800, Limit: 17},
	}
}

const nmi = tracer.KindNMI

// bootOfTraces is a boot with traces that build on one another.
func bootOfTraces() []byte {
	b := newBoot()
	stacks := bootStacks()
	for i := range uintptr(20) {
		stacks[1].Used = i / 4 * 8
		b.trace(nmi, 0x200100+i/3, 4, bootWords, i, stacks)
	}
	return b.out.Bytes()
}

// TestRepeat: a trace that is the one before once more takes nine bytes, and is the
// same trace again but for what may have changed.
func TestRepeat(t *testing.T) {
	b := newBoot()
	first := b.trace(nmi, 0x200110, 4, bootWords, 1, bootStacks())
	for rax := range uintptr(3) {
		words := append([]uintptr{bootWords[0], rax + 77}, bootWords[2:]...) // no return address
		if n := b.trace(nmi, 0x200110, 4, words, rax, bootStacks()); n != 9 {
			t.Errorf("a repetition takes %d bytes, the trace %d; want 9", n, first)
		}
	}
	r := filter(t, Options{Symbols: testImage()}, b.out.Bytes())
	if len(r.traces) != 4 || r.stats.Damaged != 0 || r.stats.Fatal != 0 {
		t.Fatalf("%+v; want 4 traces, none fatal or damaged\n%s", r.stats, r.out.String())
	}
	for i, tr := range r.traces[1:] {
		want := *r.traces[0]
		want.Seq, want.Stacks, want.Words = uint64(i+2), nil, nil
		want.Registers = map[string]uint64{"rip": 0x200110, "rsp": 0x3e8fc0, "rbp": 0x3e8fe0}
		if err := same(tr, &want); err != nil || !tr.Repeat || tr.RepeatOf != 1 || !tr.Complete() || tr.Frames[0].Calls[0].Function != "main.f1" {
			t.Errorf("trace %d = %+v, %v; want trace 1 again", i+2, tr, err)
		}
		note := fmt.Sprintf("zf: trace %d is the same as trace 1 again: NMI, in main.f1+0x10\r\n", i+2)
		if !strings.Contains(r.out.String(), note) {
			t.Errorf("the output has no %q\n%s", note, r.out.String())
		}
	}
	if n := strings.Count(r.json.String(), `"repeat_of":1,`); n != 3 {
		t.Errorf("%d objects with repeat_of; want 3\n%s", n, r.json.String())
	}
	// What was resolved once is not shown twice.
	if again := filter(t, Options{Symbols: testImage()}, r.out.Bytes()); again.out.String() != r.out.String() || again.json.String() != r.json.String() {
		t.Errorf("a second time: %s; want %s", again.out.String(), r.out.String())
	}
}

// TestNoRepeat: what differs in something that counts is no repetition.
func TestNoRepeat(t *testing.T) {
	other := append([]uintptr{0x200343}, bootWords[1:]...) // another return address
	for _, tt := range []struct {
		name  string
		kind  tracer.TraceKind
		pc    uintptr
		n     int
		words []uintptr
	}{
		{"fatal", tracer.KindFault, 0x200110, 4, bootWords},
		{"another kind", tracer.KindTrace, 0x200110, 4, bootWords},
		{"another pc", nmi, 0x200111, 4, bootWords},
		{"another frame", nmi, 0x200110, 5, bootWords},
		{"one frame less", nmi, 0x200110, 3, bootWords},
		{"another return address", nmi, 0x200110, 4, other},
	} {
		b := newBoot()
		b.trace(nmi, 0x200110, 4, bootWords, 1, bootStacks())
		if tt.name == "fatal" {
			b = newBoot()
			b.trace(tt.kind, tt.pc, tt.n, tt.words, 1, bootStacks())
		}
		if n := b.trace(tt.kind, tt.pc, tt.n, tt.words, 1, bootStacks()); n <= 9 {
			t.Errorf("%s: %d bytes; want a trace of its own", tt.name, n)
		}
		r := filter(t, Options{Symbols: testImage()}, b.out.Bytes())
		if len(r.traces) != 2 || r.traces[1].Repeat || r.traces[1].Damaged || len(r.traces[1].Frames) != tt.n {
			t.Errorf("%s: %+v; want two traces", tt.name, r.traces)
		}
	}
}

// TestRepeatDamaged: a repetition whose original did not arrive is known as such, and so
// is one with a wrong digit.
func TestRepeatDamaged(t *testing.T) {
	b := newBoot()
	first := b.trace(nmi, 0x200110, 4, bootWords, 1, bootStacks())
	second := first + b.trace(nmi, 0x200120, 4, bootWords, 1, bootStacks())
	b.trace(nmi, 0x200120, 4, bootWords, 1, bootStacks())
	whole := b.out.Bytes()
	bad := func(what string, in []byte, traces int) {
		r := filter(t, Options{Symbols: testImage()}, in)
		last := r.traces[len(r.traces)-1]
		if len(r.traces) != traces || !last.Repeat || !last.Damaged || last.RepeatOf != 0 || len(last.Frames) != 0 || last.Fatal() {
			t.Errorf("%s: %d traces, the last %+v; want %d, the last damaged", what, len(r.traces), last, traces)
		}
	}
	bad("without the original", append(bytes.Clone(whole[:first]), whole[second:]...), 2)
	bad("with a damaged original", bytes.Replace(whole, whole[first+20:first+30], []byte("!!!!!!!!!!"), 1), 3)
	for i := second + 4; i < second+7; i++ {
		for c := byte('!'); c <= 'u'; c++ {
			if in := bytes.Clone(whole); in[i] != c {
				in[i] = c
				bad(fmt.Sprintf("with %q as digit %d", c, i-second-4), in, 3)
			}
		}
	}
	// Without any trace before it may be anybody's text.
	if r := filter(t, Options{}, whole[second:]); len(r.traces) != 0 || !bytes.Equal(r.out.Bytes(), whole[second:]) {
		t.Errorf("alone: %d traces, %q; want the line as it is", len(r.traces), r.out.Bytes())
	}
	// A repetition that was lost, or cut at its end, spoils none behind it.
	b.trace(nmi, 0x200120, 4, bootWords, 1, bootStacks())
	whole = b.out.Bytes()
	lost := append(bytes.Clone(whole[:second]), whole[second+9:len(whole)-2]...)
	if r := filter(t, Options{Symbols: testImage()}, lost); len(r.traces) != 3 || r.traces[2].Damaged || r.traces[2].Seq != 4 || r.traces[2].RepeatOf != 2 {
		t.Errorf("behind one that was lost: %+v; want trace 4", r.traces)
	}
}

// TestLaterTraces: a trace that builds on others says the same as a whole one.
func TestLaterTraces(t *testing.T) {
	b := newBoot()
	stacks := bootStacks()
	sizes := map[uint32]int{}
	var want [][]tracer.Stack
	for i := range uintptr(20) {
		switch i {
		case 3:
			stacks[1].Used = 80
		case 5:
			stacks[2] = tracer.Stack{Name: "g", Lo: 0xc000100000, Hi: 0xc000102000, Used: 100, Limit: 7000}
		case 7:
			stacks[2] = tracer.Stack{Name: "g"}
			stacks[3].Name = "g0.13"
		}
		want = append(want, append([]tracer.Stack(nil), stacks...))
		sizes[uint32(i)+1] = b.trace(nmi, 0x200110+i, 4, bootWords, i, stacks)
	}
	r := filter(t, Options{Symbols: testImage()}, b.out.Bytes())
	if len(r.traces) != len(want) || r.stats.Damaged != 0 {
		t.Fatalf("%+v; want %d intact traces\n%s", r.stats, len(want), r.out.String())
	}
	for i, tr := range r.traces {
		k := 0
		for _, s := range want[i] {
			if s.Size() == 0 {
				continue
			}
			w := wire.Stack{Name: s.Name, Lo: uint64(s.Lo), Hi: uint64(s.Hi), Size: uint64(s.Size()), Used: uint64(s.Used), Limit: uint64(s.Limit), Level: s.Level().String()}
			if k >= len(tr.Stacks) || tr.Stacks[k] != w {
				t.Fatalf("trace %d: stacks = %+v; want %+v there", i+1, tr.Stacks, w)
			}
			k++
		}
		if k != len(tr.Stacks) || tr.BuildID != testBuild || tr.Frames[0].Stack != "boot" {
			t.Errorf("trace %d = %+v; want %d stacks and build %s", i+1, tr, k, testBuild)
		}
	}
	if sizes[2] > sizes[1]-20 || sizes[17] < sizes[1] || sizes[18] > sizes[17]-20 {
		t.Errorf("sizes %v; want trace 1 and 17 whole, the others to build on them", sizes)
	}

	// Who comes late, or has missed one, is told so, and knows all with trace 17.
	cut := bytes.Index(b.out.Bytes(), []byte("zf1;"))
	cut += bytes.IndexByte(b.out.Bytes()[cut:], '\n') + 1
	for _, opt := range []Options{{Symbols: testImage()}, {}} {
		r = filter(t, opt, b.out.Bytes()[cut:])
		late := r.traces[0]
		if len(r.traces) != 19 || r.stats.Damaged != 0 || r.stats.Mismatch || len(late.Stacks) != 0 || late.Frames[0].Stack != "stack0" ||
			!strings.Contains(r.out.String(), "zf: trace 2: the table of stacks that it builds on came with trace 1, which did not arrive") {
			t.Errorf("without trace 1: %+v, trace 2 = %+v\n%s", r.stats, late, r.out.String())
		}
		if id := late.BuildID; opt.Symbols != nil && (id != testBuild || len(late.Frames[0].Calls) == 0) || opt.Symbols == nil && id != testBuild[:8] {
			t.Errorf("without trace 1: build %s, frame 0 %+v", id, late.Frames[0])
		}
		if n := len(r.traces[15].Stacks); n != 4 || strings.Contains(r.out.String(), "zf: trace 17:") {
			t.Errorf("trace 17 has %d stacks; want 4", n)
		}
	}
	if r := filter(t, Options{Symbols: &fakeImage{build: "3f9a0c5c"}}, b.out.Bytes()[cut:]); !r.stats.Mismatch || len(r.traces[0].Frames[0].Calls) != 0 {
		t.Errorf("another build: %+v; want a mismatch", r.stats)
	}
}

// TestCutThenWhole: behind a trace that did not come to its end, one says everything.
func TestCutThenWhole(t *testing.T) {
	b := newBoot()
	b.trace(nmi, 0x200110, 4, bootWords, 1, bootStacks())
	b.seq++
	b.w.Begin(b.seq, nmi, tracer.ContextEarly, 0, 0, unhex(testBuild), 0x200000, 0x210000)
	b.say(0x200110, 4, bootWords)
	if n := b.trace(nmi, 0x200110, 4, bootWords, 1, bootStacks()); n <= 9 {
		t.Errorf("%d bytes; want a whole trace", n)
	}
	r := filter(t, Options{Symbols: testImage()}, b.out.Bytes())
	if len(r.traces) != 3 || !r.traces[1].Cut || r.traces[2].Damaged || len(r.traces[2].Stacks) != 4 {
		t.Errorf("%+v; want the second cut, the third whole", r.traces)
	}
}

// TestRecursion: many frames of one function take few bytes and are all there.
func TestRecursion(t *testing.T) {
	for _, n := range []int{1, 2, 3, 15, 16, 17, 18, 128} {
		b := newBoot()
		b.w.Begin(1, tracer.KindFault, tracer.ContextEarly, 0, 0, nil, 0x200000, 0x210000)
		for i := range n {
			b.w.Frame(i, &tracer.Frame{Kind: tracer.RA, Addr: 0x200210, FP: 0x3e0000 + uintptr(i)*64, Stack: 0}, "boot")
		}
		b.w.Frame(n, &tracer.Frame{Kind: tracer.RA, Addr: 0x200310, FP: 0x3e0000 + uintptr(n)*64, Stack: 0}, "boot")
		b.w.Stop(tracer.EndZero, 0)
		b.w.Mem(0x3e0000, []uintptr{0x3e0040, 0x200210, 0x200310, 0x3e0080})
		b.w.Done()
		r := filter(t, Options{}, b.out.Bytes())
		if len(r.traces) != 1 || r.traces[0].Damaged || len(r.traces[0].Frames) != n+1 || b.out.Len() > 80 {
			t.Fatalf("%d frames: %+v in %d bytes", n+1, r.traces, b.out.Len())
		}
		for i, f := range r.traces[0].Frames {
			if want := uint64(0x3e0000 + i*64); f.FP != want || i < n && f.Address != 0x200210 || i == n && f.Address != 0x200310 {
				t.Errorf("%d frames: frame %d = %+v", n+1, i, f)
			}
		}
		for i, want := range []uint64{0x3e0040, 0x200210, 0x200310, 0x3e0080} {
			if w, ok := r.traces[0].Word(0x3e0000 + uint64(i)*8); !ok || w != want {
				t.Errorf("%d frames: word %d = %#x; want %#x", n+1, i, w, want)
			}
		}
	}
}

// TestLengths: a trace of any length arrives, also one of hundreds of lines.
func TestLengths(t *testing.T) {
	for n := range 400 {
		b := newBoot()
		b.w.Begin(1, nmi, tracer.ContextEarly, 0, 0, nil, 0, 0)
		b.w.Reason(bytes.Repeat([]byte{'x'}, n))
		b.w.Done()
		r := filter(t, Options{}, b.out.Bytes())
		if len(r.traces) != 1 || r.traces[0].Damaged || len(r.traces[0].Reason) != n {
			t.Fatalf("%d bytes of reason: %+v", n, r.stats)
		}
	}
	b := newBoot()
	b.w.Begin(1, nmi, tracer.ContextEarly, 0, 0, nil, 0, 0)
	want := map[uint64]uint64{}
	for i := range uintptr(1800) {
		v := i * 0x9e3779b97f4a7c15
		b.w.Mem(i*8, []uintptr{v})
		want[uint64(i)*8] = uint64(v)
	}
	b.w.Done()
	r := filter(t, Options{}, b.out.Bytes())
	if len(r.traces) != 1 || r.traces[0].Damaged || !maps.Equal(r.traces[0].Words, want) {
		t.Fatalf("%d words in %d lines: %+v", len(want), bytes.Count(b.out.Bytes(), []byte("\n")), r.stats)
	}
	// Each line counts.
	lines := bytes.SplitAfter(b.out.Bytes(), []byte("\n"))
	for i := range len(lines) - 1 {
		in := bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)
		if r := filter(t, Options{}, in); r.stats.Damaged == 0 {
			t.Fatalf("without line %d: %+v; want it damaged", i, r.stats)
		}
	}
}
