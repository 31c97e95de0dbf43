package render_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// newShort returns a Short without colours and links.
func newShort(width int) render.Short {
	return render.Short{Width: width, Dir: "/home/me/p",
		Paint: func(_, s string) string { return s },
		Link:  func(_ *lookup.Call, s string) string { return s }}
}

// frame returns a frame of calls, each "function file:line".
func frame(calls ...string) wire.Frame {
	var f wire.Frame
	for i, c := range calls {
		function, file, _ := strings.Cut(c, " ")
		line := 0
		if file != "" {
			line = 7
		}
		if strings.HasPrefix(function, "runtime.") {
			file = "/usr/local/go/src/runtime/" + file
		}
		f.Calls = append(f.Calls, lookup.Call{Function: function, File: file, Line: line, Inlined: i < len(calls)-1})
		f.Arguments = append(f.Arguments, nil)
	}
	return f
}

// TestShortFrames: a stack in few lines.
func TestShortFrames(t *testing.T) {
	args := frame("main.add /home/me/p/main.go")
	args.Arguments[0] = []lookup.Argument{{Name: "key", Value: `"apple"`, Known: true}, {Name: "depth"}}
	long := frame("example.com/a/long/way/to/the/package.(*Reader).ReadSomethingWithALongName /home/me/p/main.go")
	long.Arguments[0] = []lookup.Argument{{Name: "first", Value: "0x1234567890", Known: true}, {Name: "second", Value: "2", Known: true}}
	again := frame("main.deep /home/me/p/main.go")
	again.Repeat = 98
	inferred := frame("main.f /x/f.go")
	inferred.Kind = tracer.Inferred
	left := frame("main.f /x/f.go")
	left.Elided = 3
	var many []wire.Frame
	for c := 'a'; c <= 'z'; c++ {
		many = append(many, frame("main."+string(c)+" /x/f.go"))
	}
	for _, tt := range []struct {
		name   string
		frames []wire.Frame
		want   string
	}{
		{"the runtime's are folded", []wire.Frame{frame("runtime.exit r.s"), frame("runtime.gopanic r.go"),
			frame("main.f /home/me/p/main.go", "main.main /home/me/p/main.go"), frame("runtime.goexit r.s")},
			"  ... 2 frames of the runtime|  main.f()  main.go:7|  main.main()  main.go:7|  ... 1 frame of the runtime"},
		{"the runtime's alone are not", []wire.Frame{frame("runtime.mcall r.s")}, "  runtime.mcall(...)  /usr/local/go/src/runtime/r.s:7"},
		{"arguments", []wire.Frame{args}, `  main.add(key="apple", depth=?)  main.go:7`},
		{"no room", []wire.Frame{long}, "  package.(*Reader).ReadSomethingWithALongName(...)  main.go:7"},
		{"nothing known", []wire.Frame{{Calls: []lookup.Call{{Function: "main.f", File: "/x/f.go", Line: 7}}}}, "  main.f(...)  /x/f.go:7"},
		{"no symbol", []wire.Frame{{Address: 0x1234}}, "  0x1234 (not resolved)"},
		{"recursion", []wire.Frame{again, frame("main.main /x/f.go")}, "  main.deep() (99 times)  main.go:7|  main.main()  /x/f.go:7"},
		{"three are no recursion", []wire.Frame{frame("main.f /x/f.go"), frame("main.f /x/f.go"), frame("main.f /x/f.go")},
			"  main.f()  /x/f.go:7|  main.f()  /x/f.go:7|  main.f()  /x/f.go:7"},
		{"through two functions", slices.Concat(slices.Repeat([]wire.Frame{frame("main.walk /x/f.go"), frame("main.visit /x/f.go")}, 4),
			[]wire.Frame{left}), "  main.walk()  /x/f.go:7|  main.visit()  /x/f.go:7|  ... these 2 calls 3 times more|" +
			"  ... 3 frames are left out|  main.f()  /x/f.go:7"},
		{"what is left out is not known to be the same", slices.Repeat([]wire.Frame{left, frame("main.g /x/f.go")}, 4),
			strings.Repeat("|  ... 3 frames are left out|  main.f()  /x/f.go:7|  main.g()  /x/f.go:7", 4)[1:]},
		{"how sure", []wire.Frame{inferred}, "  main.f() (inferred)  /x/f.go:7"},
		{"left out", []wire.Frame{left}, "  ... 3 frames are left out|  main.f()  /x/f.go:7"},
		{"a trap is no call", []wire.Frame{{Kind: tracer.Trap, Address: 1}, frame("main.f /x/f.go")}, "  main.f()  /x/f.go:7"},
	} {
		s := newShort(70)
		if got := strings.Join(s.Frames(&wire.Trace{Frames: tt.frames}), "|"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	s := newShort(70)
	got := s.Frames(&wire.Trace{Frames: many})
	if len(got) != 12 || got[8] != "  ... 15 lines more" || got[11] != "  main.z()  /x/f.go:7" {
		t.Errorf("26 frames:\n%s", strings.Join(got, "\n"))
	}
}

// TestShortWrap: no word is cut, no line is too long, and nothing is lost.
func TestShortWrap(t *testing.T) {
	s := newShort(20)
	text := "goroutine 4 waits for the mutex µ of main.main/with/a/long/word; who holds it is not known"
	lines := s.Wrap(text, "  ")
	var words []string
	for i, line := range lines {
		words = append(words, strings.Fields(line)...)
		if n := utf8.RuneCountInString(line); n > 20 && len(strings.Fields(line)) > 1 {
			t.Errorf("line %q has %d columns", line, n)
		}
		if i > 0 && !strings.HasPrefix(line, "  ") {
			t.Errorf("line %q has no indentation", line)
		}
	}
	if !slices.Equal(words, strings.Fields(text)) {
		t.Errorf("Wrap(%q) = %q", text, lines)
	}
	if got := s.Wrap("one\ntwo", "- "); !slices.Equal(got, []string{"one", "- two"}) {
		t.Errorf("two lines: %q", got)
	}
}

// TestShortOthers: the other CPUs and goroutines, a line each.
func TestShortOthers(t *testing.T) {
	const zeroframe = "github.com/zeroframe/zeroframe/"
	idle := func(cpu uint64) *wire.Trace {
		return &wire.Trace{CPU: cpu, HasCPU: true, Of: 1, Kind: "trace", Reason: "stopped",
			Frames: []wire.Frame{frame("x/arch/amd64.WaitForInterrupt a.s"), frame("x/kernel/thread.idle q.go")}}
	}
	busy := &wire.Trace{CPU: 2, HasCPU: true, Of: 1, Goroutine: 7, Kind: "trace", Reason: "stopped",
		Frames: []wire.Frame{frame("runtime.memmove r.s"), frame("main.copy /home/me/p/c.go")}}
	waits := &wire.Trace{CPU: 1, HasCPU: true, Goroutine: 9, Kind: "trace", Reason: "goroutine 9 [chan receive]",
		Frames: []wire.Frame{frame("runtime.gopark r.go"), frame("main.work /home/me/p/c.go")}}
	before := idle(6)
	before.Frames[0] = frame("x/arch.Load32 a.s")
	kernel := &wire.Trace{CPU: 4, HasCPU: true, Of: 1, Goroutine: 7, Context: "kernel", Kind: "trace", Reason: "stopped",
		Frames: []wire.Frame{frame("x/kernel/fault.answer f.go")}}
	locked := &wire.Trace{CPU: 7, HasCPU: true, Of: 1, Goroutine: 8, Kind: "trace", Reason: "stopped",
		Frames: []wire.Frame{frame(zeroframe + "arch/amd64.WaitForInterrupt a.s"), frame(zeroframe + "kernel/percpu.(*Record).wait l.go"),
			frame("runtime.futex r.s"), frame("main.lock /home/me/p/c.go")}}
	silent := &wire.Trace{CPU: 5, HasCPU: true, Of: 1, Kind: "trace", Reason: "the CPU did not answer"}
	s := newShort(80)
	want := "CPU 2, goroutine 7: main.copy c.go:7|goroutine 9 [chan receive]: main.work c.go:7|" +
		"CPU 4: x/kernel/fault.answer f.go:7|CPU 5: no frames|CPU 7, goroutine 8: main.lock c.go:7|CPUs 1, 3, 6: idle"
	if got := strings.Join(s.Others([]*wire.Trace{idle(1), busy, waits, idle(3), kernel, silent, locked, before}), "|"); got != want {
		t.Errorf("Others = %s\nwant     %s", got, want)
	}
	stack := &wire.Trace{Kind: "trace", Reason: "goroutine 4 [IO wait]",
		Frames: []wire.Frame{frame("runtime.gopark r.go"), frame(zeroframe + "kernel/net/inet.(*card).receive l.go"), frame("runtime.goexit a.s")}}
	gvisor := &wire.Trace{Kind: "trace", Reason: "2 goroutines [select]: 5, 6",
		Frames: []wire.Frame{frame("gvisor.dev/gvisor/pkg/tcpip/transport/tcp.(*processor).start d.go")}}
	if got := strings.Join(s.Others([]*wire.Trace{stack, waits, gvisor}), "|"); got != "goroutine 9 [chan receive]: main.work c.go:7|"+
		"goroutines of the network, waiting: 3" {
		t.Errorf("with a network: %s", got)
	}
	many := slices.Repeat([]*wire.Trace{waits}, 10)
	if got := s.Others(many); len(got) != 7 || got[6] != "... and 4 more of them" {
		t.Errorf("ten goroutines: %q", got)
	}
}
