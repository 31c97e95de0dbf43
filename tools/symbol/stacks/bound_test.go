package stacks

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// compile runs a compiler that makes out.
func compile(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=", "GOWORK=off")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, msg)
	}
}

func program(t *testing.T, path, notes string) *Program {
	t.Helper()
	f, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	n, err := ParseNotes(strings.NewReader(notes))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(f, n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func asmProgram(t *testing.T, notes string) *Program {
	out := filepath.Join(t.TempDir(), "asm.elf")
	compile(t, "testdata/asm", "go", "build", "-o", out)
	return program(t, out, notes)
}

// TestAssembly counts by hand.
func TestAssembly(t *testing.T) {
	p := asmProgram(t, `
depth main.recurse: 3
calls main.viaHook: @main.hook
calls main.take: given main.take AX
calls main.given: main.gift main.target
ends runtime.morestack
leaves main.gate
`)
	target := p.Bound(Entry{Func: "main.target"})
	if len(target.Why) != 0 || target.Bytes > 64 {
		t.Fatalf("main.target: %+v", target)
	}
	for _, tt := range []struct {
		e    Entry
		want uint64
	}{
		{Entry{Func: "main.bare"}, 0},
		{Entry{Func: "main.bare", Base: 8, At: 100}, 108},
		{Entry{Func: "main.pushes"}, 24},
		{Entry{Func: "main.frame"}, 80},
		{Entry{Func: "main.tail"}, 80},
		{Entry{Func: "main.recurse"}, 64},
		{Entry{Func: "main.viaHook"}, 8 + target.Bytes},
		{Entry{Func: "main.given"}, 8 + target.Bytes},
		{Entry{Func: "main.aligns"}, 96},
		{Entry{Func: "main.record"}, 64},
		{Entry{Func: "main.gate"}, 8},
		{Entry{Func: "main.fresh", Fresh: true}, 80},
		{Entry{Func: "main.frame", Never: []string{"main.pushes"}}, 48},
		{Entry{Func: "main.indirect", Runs: "main.frame"}, 88},
	} {
		b := p.Bound(tt.e)
		if len(b.Why) != 0 || b.Bytes != tt.want {
			t.Errorf("%+v: %d %q; want %d", tt.e, b.Bytes, b.Why, tt.want)
		}
		sum := int64(0)
		for _, s := range b.Chain {
			sum += s.Bytes
		}
		if sum != int64(b.Bytes) {
			t.Errorf("%+v: the chain %+v has %d bytes, not %d", tt.e, b.Chain, sum, b.Bytes)
		}
	}
	if got := p.Bound(Entry{Func: "main.gives"}); len(got.Why) != 0 || got.Chain[len(got.Chain)-1].Func != "main.gift" && got.Bytes <= target.Bytes {
		t.Errorf("main.gives: %+v; want a bound by way of main.gift", got)
	}
}

// TestNoBound: what the code does not prove is named.
func TestNoBound(t *testing.T) {
	p := asmProgram(t, "ends runtime.morestack\n")
	for _, tt := range []struct{ fn, why string }{
		{"main.loop", "the stack of main.loop grows in a loop at asm/main_amd64.s:"},
		{"main.recurse", "recursion: main.recurse -> main.recurse"},
		{"main.indirect", "indirect call at asm/main_amd64.s:"},
		{"main.viaHook", "in main.viaHook"},
		{"main.gives", "indirect call at asm/main.go:"},
		{"main.loads", "main.loads loads SP at asm/main_amd64.s:"},
		{"main.gate", "main.gate loads SP"},
		{"main.fresh", "main.fresh loads SP"},
		{"main.none", "there is no function main.none"},
	} {
		b := p.Bound(Entry{Func: tt.fn})
		if b.Bytes != 0 || !slices.ContainsFunc(b.Why, func(s string) bool { return strings.Contains(s, tt.why) }) {
			t.Errorf("%s: %d bytes, %q; want none, and %q", tt.fn, b.Bytes, b.Why, tt.why)
		}
	}
}

// TestUnknownGift: a function value that is not a constant has no bound.
func TestUnknownGift(t *testing.T) {
	p := asmProgram(t, "ends runtime.morestack\ncalls main.take: given runtime.morestack AX\n")
	b := p.Bound(Entry{Func: "main.take"})
	if b.Bytes != 0 || len(b.Why) == 0 || !strings.Contains(b.Why[0], "what is given to runtime.morestack at ") {
		t.Errorf("%+v; want no bound, since what is in AX there is not known", b)
	}
}

// TestGCC compares with what gcc says of each function (-fstack-usage), with and
// without frame pointers and optimization.
func TestGCC(t *testing.T) {
	for _, flags := range [][]string{{"-O2"}, {"-O0"}, {"-O2", "-fno-omit-frame-pointer"}, {"-O1", "-mno-red-zone"}, {"-O2", "-fcf-protection=full"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			dir := t.TempDir()
			src, err := filepath.Abs("testdata/sample.c")
			if err != nil {
				t.Fatal(err)
			}
			compile(t, dir, "gcc", append(flags, "-g", "-fstack-usage", "-fno-stack-clash-protection", "-o", "sample.elf", src)...)
			su, _ := filepath.Glob(filepath.Join(dir, "*.su"))
			if len(su) != 1 {
				t.Fatalf("gcc left %q; want one file of stack usage", su)
			}
			f, err := os.Open(su[0])
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p := program(t, filepath.Join(dir, "sample.elf"), "")
			compared := 0
			for s := bufio.NewScanner(f); s.Scan(); {
				words := strings.Split(s.Text(), "\t")
				name := words[0][strings.LastIndexByte(words[0], ':')+1:]
				want, _ := strconv.ParseInt(words[1], 10, 64)
				i, ok := p.index(name)
				if !ok {
					t.Errorf("there is no function %s", name)
					continue
				}
				fn := p.function(i, false, "")
				if words[2] == "dynamic" {
					if !slices.ContainsFunc(fn.wrong, func(s string) bool { return strings.Contains(s, "variable size") }) {
						t.Errorf("%s has a frame of variable size: %q", name, fn.wrong)
					}
					continue
				}
				compared++
				// gcc does not count what a leaf has in the red zone, nor, in what it
				// calls bounded, what it pushes for one call.
				got := fn.own + 8
				if got != want && !(words[2] != "static" && got > want && got <= want+64) && !(len(fn.sites) == 0 && got > want && got <= want+128) {
					t.Errorf("%s has %d bytes of stack; gcc says %d", name, got, want)
				}
			}
			if compared < 12 {
				t.Errorf("%d functions were compared; want 12 or more", compared)
			}
			for fn, why := range map[string]string{
				"factorial": "recursion: factorial -> factorial", "indirect": "indirect call at testdata/sample.c:", "odd": "recursion: ",
				"indirect_tail": "indirect call at testdata/sample.c:", "variable": "variable has a frame of variable size at testdata/sample.c:",
			} {
				b := p.Bound(Entry{Func: fn})
				if b.Bytes != 0 || !slices.ContainsFunc(b.Why, func(s string) bool { return strings.Contains(s, why) }) {
					t.Errorf("%s: %d bytes, %q; want none, and %q", fn, b.Bytes, b.Why, why)
				}
			}
			large, choose := p.Bound(Entry{Func: "large", Base: 8}), p.Bound(Entry{Func: "choose", Base: 8})
			if large.Bytes < 5100 || len(choose.Why) != 0 || choose.Bytes <= large.Bytes || choose.Bytes > large.Bytes+400 {
				t.Errorf("large %+v, choose %+v; want bounds, the latter a little deeper", large, choose)
			}
		})
	}
}

// TestRedZone: what a leaf has below its stack pointer counts.
func TestRedZone(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sample.elf")
	compile(t, ".", "gcc", "-O2", "-o", out, "testdata/sample.c")
	b := program(t, out, "").Bound(Entry{Func: "redzone"})
	if b.Bytes < 80 || b.Bytes > 128 {
		t.Errorf("redzone: %+v; want the 80 bytes of its array and at most 128", b)
	}
}

// noReturn are functions of the runtime behind whose calls there is other code.
var noReturn = regexp.MustCompile(`\.(throw|fatal)$|^runtime\.(panic|goPanic|gopanic|throw|fatal|goexit|mcall|gogo|abort|exit|unreachable|badsystemstack|racecall|dieFromSignal|crash|sigpanic|block|goexit0|deadlock|badctxt|mexit|schedule|execute|startTheWorld0|newosproc|mstart|throwinit|fatalthrow|panicwrap)`)

// TestFollow: the depths from the instructions are those of Go's pc tables, at each
// instruction of every compiled function of a program.
func TestFollow(t *testing.T) {
	p := asmProgram(t, "")
	same, other := 0, 0
	for i := range p.graph.Nodes {
		fn := &p.graph.Nodes[i].Func
		g, ok := p.f.GoFunc(fn.Start)
		if !ok || g.Asm || g.SPWrite {
			continue
		}
		w := &spWalk{ends: func(target uint64) bool { return noReturn.MatchString(p.name(target)) }}
		states := w.follow(p.code, p.f.BytesAt, []*code.Func{fn}, nil)
		p.code.Insts(fn, func(pc uint64, i code.Inst) bool {
			s, reached := states[pc]
			d, ok := g.SPDelta(pc)
			if !reached || !s.known || !ok || i.Op == code.Nop || i.Op == code.Break {
				return true // behind a call that does not return, or filling
			}
			if s.depth == int64(d) {
				same++
			} else if other++; other < 10 {
				t.Logf("%s+%#x: %+v; the table says %d", g.Name, pc-fn.Start, s, d)
			}
			return true
		})
	}
	if same < 95000 || other > 0 {
		t.Errorf("%d instructions agree with the tables, %d do not", same, other)
	}
}

func TestFind(t *testing.T) {
	p := asmProgram(t, "")
	for name, want := range map[string]string{"main.bare": "main.bare", "bare": "main.bare", "atomic.(*Int32).Add": "", "none.such": ""} {
		got, err := p.Find(name)
		if want == "" && err == nil && got != "internal/runtime/atomic.(*Int32).Add" || want != "" && (err != nil || got != want) {
			t.Errorf("Find(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
}
