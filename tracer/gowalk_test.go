package tracer

// Walks of stacks that the Go compiler made, in the test's own process: the real cases that the
// synthetic stacks of marks_test.go stand for.

import (
	"encoding/binary"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

type faulty struct{ a, b int }

//go:noinline
func faultLeaf(p *faulty) int { return p.b }

//go:noinline
func faultCaller(p *faulty) int { return faultLeaf(p) + 1 }

//go:noinline
func faultOuter(look func(), p *faulty) (n int) {
	defer func() { look(); recover() }()
	return faultCaller(p) + 1
}

// ownFrame returns where its caller continues after the call, for WalkCaller.
//
//go:noinline
func ownFrame() (ra, sp, fp uintptr) {
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:]) // our return address
	// Our record lies somewhere above our locals: the saved frame pointer, which leads upwards, and
	// that return address.
	for a := uintptr(unsafe.Pointer(&pcs)) + 8; ; a += 8 {
		fp = *(*uintptr)(pointer(a))
		if *(*uintptr)(pointer(a + 8)) == pcs[0] && fp-a < 1<<16 {
			return pcs[0], a + 16, fp
		}
	}
}

// ownMarks returns the marks of the running test's own runtime.
func ownMarks(t *testing.T, tab *PCTable) []Mark {
	rules := map[string]Rule{"runtime.goexit": RuleExit, "runtime.sigpanic": RuleExact, "runtime.sigpanic0": RuleExact,
		"runtime.asyncPreempt": RuleExact, "runtime.systemstack": RuleSwitch, "runtime.mcall": RuleSaved, "runtime.morestack": RuleSaved}
	var marks []Mark
	for i := range tab.NumFuncs() {
		f, ok := tab.Func(i)
		if r := rules[string(f.Name())]; ok && r != 0 {
			marks = append(marks, Mark{f.Entry(), f.End(), r})
		}
	}
	if len(marks) < len(rules) {
		t.Fatalf("%d marks; want those of %v", len(marks), rules)
	}
	return marks
}

func TestWalkOfGo(t *testing.T) {
	tab, _ := ownTable(t)
	w := &Walker{Marks: ownMarks(t, tab), Frames: make([]Frame, 64), Stacks: make([]Stack, 1)}
	w.TextLo, w.TextHi = tab.TextRange()
	w.SPDelta = func(pc uintptr) (uintptr, bool) {
		f, ok := tab.Find(pc)
		if !ok {
			return 0, false
		}
		d, ok := f.SPDelta(pc)
		return uintptr(d), ok
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		faultOuter(func() {
			ra, sp, fp := ownFrame()
			// The goroutine's stack ends somewhere above; the walk must end at goexit, not because
			// of it.
			w.Stacks[0] = Stack{Name: "g", Lo: sp &^ 7, Hi: sp + 1<<20}
			w.WalkCaller(ra, sp, fp)
		}, nil)
	}()
	<-done
	got := ""
	for i, f := range w.Frames[:w.N] {
		pc := f.Addr
		if f.Kind != PC {
			pc--
		}
		fn, ok := tab.Find(pc)
		if !ok {
			t.Fatalf("frame %d: no function at %#x", i, pc)
		}
		name := string(fn.Name())
		got += f.Kind.String() + " " + name[strings.LastIndexByte(name, '/')+1:] + "\n"
		if strings.HasSuffix(name, "faultLeaf") && f.Kind == PC {
			if entry := reflect.ValueOf(faultLeaf).Pointer(); fn.Entry() != entry || f.SP == 0 {
				t.Errorf("frame %d: pc %#x, SP %#x; want them in the function at %#x", i, f.Addr, f.SP, entry)
			}
		}
	}
	_, tail, _ := strings.Cut(got, "ra runtime.gopanic\n")
	const want = "ra runtime.sigpanic\npc tracer.faultLeaf\nra tracer.faultCaller\n" +
		"ra tracer.faultOuter\nra tracer.TestWalkOfGo.func2\nra runtime.goexit\n"
	if tail != want || w.End != EndGoexit {
		t.Errorf("the walk from the deferred function:\n%send %v; want behind gopanic:\n%send goexit", got, w.End, want)
	}
}

// TestMorestackIsCalledAtEntry: where a function calls morestack, the tables say that its return
// address is on top of the stack. So the place in g.sched then leads to the function's caller.
func TestMorestackIsCalledAtEntry(t *testing.T) {
	tab, _ := ownTable(t)
	targets := map[uintptr]bool{}
	for i := range tab.NumFuncs() {
		if f, ok := tab.Func(i); ok && (string(f.Name()) == "runtime.morestack" || string(f.Name()) == "runtime.morestack_noctxt") {
			targets[f.Entry()] = true
		}
	}
	start, end := tab.TextRange()
	calls := 0
	for pc := start; pc+5 <= end; pc++ {
		if *(*byte)(pointer(pc)) != 0xe8 { // CALL rel32
			continue
		}
		var rel [4]byte
		for i := range rel {
			rel[i] = *(*byte)(pointer(pc + 1 + uintptr(i)))
		}
		if !targets[pc+5+uintptr(int32(binary.LittleEndian.Uint32(rel[:])))] {
			continue
		}
		calls++
		f, ok := tab.Find(pc + 4) // the walk looks up the return address - 1
		if !ok {
			t.Fatalf("no function at %#x", pc)
		}
		if d, ok := f.SPDelta(pc + 4); !ok || d != 0 {
			t.Errorf("%s+%#x calls morestack with SPDelta %d, %v; want 0", f.Name(), pc-f.Entry(), d, ok)
		}
	}
	if len(targets) != 2 || calls < 100 {
		t.Errorf("%d calls of %d functions; want hundreds, of two", calls, len(targets))
	}
	t.Logf("%d calls", calls)
}

func BenchmarkWalk(b *testing.B) {
	for _, marks := range []struct {
		name  string
		marks []Mark
	}{{"plain", nil}, {"marks", testMarks}} {
		b.Run(marks.name, func(b *testing.B) {
			w := newWorld(b, 4096)
			for i := 0; i < 32; i++ {
				w.put(0, 10+8*i, w.at(0, 18+8*i), testTextLo+uintptr(i))
			}
			w.put(0, 10+8*32, 0, 0)
			w.put(0, 508, 0, 0)
			w.put(0, 10+8*31, w.at(0, 508), testTextLo)
			wk := w.walkers[0]
			wk.Marks = marks.marks
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				wk.Walk(testPC, w.at(0, 8), w.at(0, 10))
			}
			if wk.End != EndZero || wk.N != 33 {
				b.Fatalf("%d frames, end %v; want 33, zero", wk.N, wk.End)
			}
		})
	}
}
