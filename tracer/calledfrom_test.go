//go:build amd64

package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

type server struct{ depth int }

//go:noinline
func (s *server) serve(f func()) { f(); captureSink++ }

//go:noinline
func (s server) value(f func()) { f(); captureSink++ }

//go:noinline
func generic[T any](v T, f func()) T { f(); captureSink++; return v }

//go:noinline
func outer(f func()) { middle(f); captureSink++ }

func middle(f func()) { inner(f); captureSink++ } // inlined into outer

func inner(f func()) { f(); captureSink++ } // inlined into that

//go:noinline
func other(f func()) { f(); others.Add(1) }

var others atomic.Int64 // many goroutines call it at once

//go:noinline
func again(n int) bool {
	if n == 0 {
		return CalledFrom(again)
	}
	r := again(n - 1)
	captureSink++
	return r
}

const ownPath = "github.com/zeroframe/zeroframe/tracer."

func TestCalledFrom(t *testing.T) {
	s := &server{}
	for _, tt := range []struct {
		what string
		call func(f func())
		fn   any
		name string
	}{
		{"a function", other, other, "other"},
		{"a function with inlined ones", outer, outer, "outer"},
		{"an inlined function", outer, middle, "middle"},
		{"the inner inlined function", outer, inner, "inner"},
		{"a method", s.serve, (*server).serve, "(*server).serve"},
		{"a method value", s.serve, s.serve, "(*server).serve"},
		{"a method of a value", s.value, server.value, "server.value"},
	} {
		var by, byName, not, notName bool
		tt.call(func() {
			by, byName = CalledFrom(tt.fn), CalledFromName(ownPath+tt.name)
			not, notName = CalledFrom(again), CalledFromName(ownPath+"again")
		})
		if !by || !byName || not || notName {
			t.Errorf("in %s: CalledFrom = %v, CalledFromName = %v; of another function %v, %v; want true, true, false, false", tt.what, by, byName, not, notName)
		}
		if CalledFrom(tt.fn) || CalledFromName(ownPath+tt.name) {
			t.Errorf("outside of %s: true; want false", tt.what)
		}
	}
	generic(1, func() {
		if !CalledFromName(ownPath+"generic") || !CalledFromName(ownPath+"generic[...]") || CalledFromName(ownPath+"gen[...]") ||
			!CalledFromName(ownPath+"generic[go.shape.int]") || CalledFromName(ownPath+"generic[...") || CalledFromName(ownPath+"generic[go.shape.string]") {
			t.Error("a generic function is not found by its name, or by another's")
		}
	})
	if again(0) || !again(1) || !again(3) {
		t.Errorf("CalledFrom(again) in again = %v, called by itself %v; want false, true", again(0), again(1))
	}
	for _, v := range []any{nil, 7, (func())(nil), t, "main.main"} {
		if CalledFrom(v) {
			t.Errorf("CalledFrom(%T) = true", v)
		}
	}
	if CalledFromName("") || !CalledFromName("testing.tRunner") || CalledFromName("testing.tRunne") {
		t.Error("a name is not compared in full")
	}
}

// deep calls f n frames deeper, with frames large enough that the stack grows and moves meanwhile.
//
//go:noinline
func deep(n int, f func()) int {
	var room [64]int
	if n == 0 {
		f()
	} else {
		room[n&63] = deep(n-1, f)
	}
	return room[(n+1)&63]
}

func TestCalledFromDeep(t *testing.T) {
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for n := 1; n < 3000; n += 331 {
				other(func() {
					deep(n+g, func() {
						runtime.GC()
						if !CalledFrom(other) || CalledFrom(outer) {
							t.Errorf("%d frames deep: CalledFrom(other) = %v, CalledFrom(outer) = %v; want true, false", n, CalledFrom(other), CalledFrom(outer))
						}
					})
				})
			}
		}()
	}
	wait.Wait()
}

func TestCalledFromInPanic(t *testing.T) {
	found := false
	func() {
		defer func() { recover() }()
		defer func() { found = CalledFrom(other) }()
		other(func() { panic("for the test") })
	}()
	if !found {
		t.Error("a deferred function that a panic runs is not called from where the panic was")
	}
}

// loadsNil faults in its first instruction.
//
//go:noinline
func loadsNil(p *int) int { return *p }

// TestCalledFromFault: if a signal handler has made a fault look like a call, the pc is exact.
func TestCalledFromFault(t *testing.T) {
	var found bool
	var text bytes.Buffer
	func() {
		defer func() { recover() }()
		defer func() {
			found = CalledFrom(loadsNil)
			Dump(&text)
		}()
		captureSink += loadsNil(nil)
	}()
	if !found || !strings.Contains(text.String(), ownPath+"loadsNil+0x0 ") {
		t.Errorf("CalledFrom(loadsNil) = %v where it has faulted; the calls are\n%s", found, text.Bytes())
	}
}

func TestCalledFromAllocatesNothing(t *testing.T) {
	var w countWriter
	for what, f := range map[string]func(){
		"CalledFrom":     func() { CalledFrom(outer) },
		"CalledFromName": func() { CalledFromName("main.main") },
		"Dump":           func() { Dump(&w) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

type countWriter int

func (w *countWriter) Write(p []byte) (int, error) { *w += countWriter(len(p)); return len(p), nil }

// TestDump: Dump prints the frames that runtime.Callers returns.
func TestDump(t *testing.T) {
	var got bytes.Buffer
	var want []string
	for n := range 100 {
		got.Reset()
		outer(func() {
			deep(n, func() {
				if err := Dump(&got); err != nil {
					t.Fatal(err)
				}
				pcs := make([]uintptr, 200)
				frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
				want = want[:0]
				for {
					f, more := frames.Next()
					want = append(want, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
					if !more {
						break
					}
				}
			})
		})
		lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, ".gowrap") }) // the runtime omits it
		if len(lines) != len(want) {
			t.Fatalf("Dump wrote\n%s\nwant\n%s", got.Bytes(), strings.Join(want, "\n"))
		}
		for i, l := range lines {
			name, where, _ := strings.Cut(l, " ")
			name, _, _ = strings.Cut(name, "+0x")
			w := want[i]
			if i == 0 { // another line of the same function
				where, w = "", strings.Split(w, " ")[0]+" "
			}
			if name+" "+where != w {
				t.Fatalf("line %d of Dump: %s; want %s", i, l, w)
			}
		}
	}
}

type failing struct{}

func (failing) Write(p []byte) (int, error) { return 0, errors.New("full") }

// dumpInDump calls Dump while it is under way.
type dumpInDump struct {
	depth int
	err   error
}

func (n *dumpInDump) Write(p []byte) (int, error) {
	if n.depth++; n.depth < 20 {
		if err := Dump(n); err != nil {
			n.err = err
		}
	}
	return 0, errors.New("enough")
}

func TestDumpErrors(t *testing.T) {
	if err := Dump(failing{}); err == nil || err.Error() != "full" {
		t.Errorf("Dump to a full writer: %v; want its error", err)
	}
	n := &dumpInDump{}
	Dump(n)
	if n.depth != len(dumpLines) {
		t.Errorf("%d calls of Dump in each other; want %d", n.depth, len(dumpLines))
	}
	if err := Dump(new(bytes.Buffer)); err != nil {
		t.Errorf("Dump after that: %v", err)
	}
}

// TestInlined compares the inline trees of this test with the runtime's answers.
func TestInlined(t *testing.T) {
	tab, ok := OwnTable()
	if !ok {
		t.Fatal("OwnTable() = false")
	}
	start, end := tab.TextRange()
	calls := 0
	for pc := start; pc < end; pc += 7 {
		f, ok := tab.Find(pc)
		if !ok || pc+1 >= f.End() {
			continue
		}
		if _, _, ok := f.FileLine(pc); !ok {
			continue
		}
		var got []string
		at, in := pc, true
		_, in = f.Inlined(pc)
		for in {
			c, _ := f.Inlined(at)
			got = append(got, string(c.Name()))
			at, in = c.Outer()
			calls++
		}
		got = append(got, string(f.Name()))
		// For one pc the runtime returns the innermost call, and it shortens the names of generic
		// functions.
		fr, _ := runtime.CallersFrames([]uintptr{pc + 1}).Next()
		g, _, _ := strings.Cut(got[0], "[")
		w, _, _ := strings.Cut(fr.Function, "[")
		if w != "" && g != w || string(f.Name()) != got[len(got)-1] {
			t.Fatalf("at %#x: %q; want %q first", pc, got, fr.Function)
		}
	}
	if calls < 1000 {
		t.Errorf("%d inlined calls were compared; want at least 1000", calls)
	}
}
