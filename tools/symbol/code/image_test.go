package code

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// program is code in hexadecimal, a line for each function, from 0x1000 on; each
// function starts at a multiple of 16, with INT3 between.
func program(t testing.TB, lines ...string) (*Image, []uint64) {
	t.Helper()
	var text []byte
	var funcs []Func
	var starts []uint64
	for i, line := range lines {
		b, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		for len(text)%16 != 0 {
			text = append(text, 0xcc)
		}
		start := 0x1000 + uint64(len(text))
		starts = append(starts, start)
		text = append(text, b...)
		funcs = append(funcs, Func{Start: start, End: start + uint64(len(b)), Name: fmt.Sprint("f", i)})
	}
	return NewImage([]Segment{{Addr: 0x1000, Bytes: text}}, funcs), starts
}

func TestNewImage(t *testing.T) {
	text := make([]byte, 0x100)
	m := NewImage([]Segment{{0x2000, text}, {0x1000, text}, {0x1080, text}, {0x3000, nil}, {^uint64(0) - 4, text}},
		[]Func{{0x1000, 0x5000, "long"}, {0x1020, 0x1020, "empty"}, {0x1010, 0x1020, "b"}, {0x1010, 0x1018, "shorter"},
			{0x20f0, 0x2200, "over the end"}, {0x1100, 0x1200, "outside"}, {0x2000, 0x1000, "backward"}})
	want := []Func{{0x1000, 0x1010, "long"}, {0x1010, 0x1020, "b"}, {0x20f0, 0x2100, "over the end"}}
	if !slices.Equal(m.Funcs(), want) {
		t.Errorf("Funcs() = %v; want %v", m.Funcs(), want)
	}
	for addr, want := range map[uint64]string{0x1000: "long", 0x100f: "long", 0x1010: "b", 0x1020: "", 0x20ef: "", 0x20ff: "over the end", 0x2100: "", 0: "", ^uint64(0): ""} {
		got := ""
		if f := m.Func(addr); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("Func(%#x) = %q; want %q", addr, got, want)
		}
	}
	if !m.IsText(0x10ff) || m.IsText(0x1100) || !m.IsText(0x2000) || m.IsText(0xfff) || m.IsText(^uint64(0)) {
		t.Error("IsText is wrong at an edge")
	}
}

func TestCallBefore(t *testing.T) {
	// f0 calls f1 with each kind of call; f2 has the bytes of a call in a
	// constant.
	m, f := program(t,
		"e81b000000 ffd0 ff5008 41ff5208 ff1500000000 90 c3", // f0
		"c3",                        // f1
		"48b8e8fbffffff000000 c3",   // f2: MOV with a constant
		"e8ebffffff c8",             // f3: a call, then what is cut short
		"62 e8e5ffffff 90",          // f4: what is no instruction, then a call
		"ffd0 e8daffffff",           // f5
		"0fe8ffd0 c3",               // f6: PSUBSB with a ModRM byte and more
		"e8e7ffffff ff14c500000000", // f7
	)
	tests := []struct {
		ra   uint64
		want CallSite
		ok   bool
	}{
		{f[0] + 5, CallSite{At: f[0], Target: f[1], Certain: true}, true},
		{f[0] + 7, CallSite{At: f[0] + 5, Indirect: true, Certain: true}, true},
		{f[0] + 10, CallSite{At: f[0] + 7, Indirect: true, Certain: true}, true},
		{f[0] + 14, CallSite{At: f[0] + 10, Indirect: true, Certain: true}, true},
		{f[0] + 20, CallSite{At: f[0] + 14, Indirect: true, Certain: true}, true},
		{f[0] + 21, CallSite{}, false}, // behind a NOP
		{f[0] + 4, CallSite{}, false},  // inside of the call
		{f[0], CallSite{}, false},
		{f[2] + 7, CallSite{}, false},
		{f[3] + 5, CallSite{At: f[3], Target: m.funcs[2].Start, Certain: true}, true},
		{f[4] + 6, CallSite{At: f[4] + 1, Target: f[2] + 0xb, Certain: false}, false}, // no function starts there
		{f[5] + 2, CallSite{At: f[5], Indirect: true, Certain: true}, true},
		{f[7] + 12, CallSite{At: f[7] + 5, Indirect: true, Certain: true}, true},
		{0, CallSite{}, false},
		{0x900, CallSite{}, false},
		{^uint64(0), CallSite{}, false},
	}
	for _, test := range tests {
		got, ok := m.CallBefore(test.ra)
		if ok != test.ok || ok && got != test.want {
			i := slices.IndexFunc(f, func(a uint64) bool { return a > test.ra }) - 1
			t.Errorf("CallBefore(%#x) (f%d) = %+v, %v; want %+v, %v", test.ra, i, got, ok, test.want, test.ok)
		}
	}
	// Without functions the same bytes are read backwards.
	blind := NewImage(m.segs, nil)
	for _, test := range tests[:5] {
		want := test.want
		want.Certain = false
		if got, ok := blind.CallBefore(test.ra); !ok || got != want {
			t.Errorf("without functions CallBefore(%#x) = %+v, %v; want %+v", test.ra, got, ok, want)
		}
	}
	if got, ok := blind.CallBefore(f[0] + 21); ok {
		t.Errorf("without functions CallBefore behind a NOP = %+v; want none", got)
	}
	// E8 with FF D0 in its distance: two readings.
	two := NewImage([]Segment{{0x1000, []byte{0x90, 0x90, 0xe8, 0x00, 0x00, 0xff, 0xd0, 0xc3}}, {0xffffffffd0ff1000, make([]byte, 16)}}, nil)
	if got, ok := two.CallBefore(0x1007); ok && !got.Indirect {
		t.Errorf("of two readings CallBefore took %+v", got)
	}
}

// TestCallBeforeReal: each call in a Go and in a C program, as objdump has it, and
// nothing else (of other instructions, one in seven); forwards from the functions' starts, and
// backwards without them.
func TestCallBeforeReal(t *testing.T) {
	for _, file := range []string{buildGo(t), buildC(t, "-static")} {
		text := textOf(t, file)
		m := NewImage([]Segment{text}, realFuncs(t, file))
		blind := NewImage([]Segment{text}, nil)
		calls, wrong, lost, unsure := 0, 0, 0, 0
		objdump(t, file, func(pc uint64, b []byte, words []string) {
			i := Decode(b)
			ra := pc + uint64(len(b))
			is := i.Op == Call || i.Op == CallIndirect
			if is {
				calls++
			} else if pc%7 != 0 {
				return // a sample will do
			}
			c, ok := m.CallBefore(ra)
			switch {
			case ok && (!is || c.At != pc || c.Indirect != (i.Op == CallIndirect) || !c.Indirect && c.Target != i.Target(pc)):
				if c.Certain {
					if wrong++; wrong < 10 {
						t.Errorf("CallBefore(%#x) = %+v; objdump has %s", ra, c, words)
					}
				} else {
					unsure++
				}
			case !ok && is:
				if lost++; lost < 10 {
					t.Errorf("CallBefore(%#x): none; objdump has %s", ra, words)
				}
			}
			// Backwards the prefixes before a call and false calls are possible,
			// but a call is never taken for one of the other kind.
			if c, ok := blind.CallBefore(ra); ok && is && c.Indirect != (i.Op == CallIndirect) {
				t.Errorf("backwards CallBefore(%#x) = %+v; objdump has %s", ra, c, words)
			}
		})
		if calls < 1000 {
			t.Errorf("only %d calls", calls)
		}
		t.Logf("%d calls: %d wrong, %d lost, %d not calls but not certain either", calls, wrong, lost, unsure)
	}
}

// realFuncs returns the functions of the symbol table.
func realFuncs(t testing.TB, file string) []Func {
	names, _, sizes := truth(t, file)
	var funcs []Func
	for a, name := range names {
		size := sizes[a]
		if size == 0 {
			size = 1 << 20 // up to the next one
		}
		funcs = append(funcs, Func{a, a + size, name})
	}
	return funcs
}

func TestTailPath(t *testing.T) {
	// Jumps between functions that are 16 bytes apart: eb NN from offset 0 goes
	// to 2+NN.
	jmp := func(from, to int) string { return fmt.Sprintf("e9%s", le32((to-from)*16-5)) }
	jcc := func(from, to int) string { return fmt.Sprintf("85c0 0f84%s", le32((to-from)*16-8)) }
	m, f := program(t,
		jmp(0, 1),               // 0 -> 1
		jcc(1, 2)+"c3",          // 1 -> 2
		"c3",                    // 2
		jcc(3, 4)+jmp5(3, 5, 8), // 3 -> 4, 5
		jmp(4, 2),               // 4 -> 2
		jmp(5, 2),               // 5 -> 2
		jmp(6, 7),               // 6 -> 7 -> 6, 2
		jcc(7, 6)+jmp5(7, 2, 8),
		jcc(8, 2)+"ffe0",           // 8 -> 2, or anywhere
		"85c0 74fa "+jmp5(9, 2, 4), // 9: a loop at its start, -> 2
		jmp(10, 11),                // 10 -> 11 -> 12 -> 11
		jmp(11, 12),
		jmp(12, 11),
		jcc(13, 2)+"ff24c500000000", // 13 -> 2, with a switch
		"e9"+le32((2-14)*16+1-5),    // 14 -> the middle of 2
	)
	name := func(path []uint64) string {
		var s []string
		for _, a := range path {
			s = append(s, fmt.Sprint(slices.Index(f, a)))
		}
		return strings.Join(s, " ")
	}
	tests := []struct {
		from, to int
		want     string // "" for none
	}{
		{0, 2, "0 1"}, {1, 2, "1"}, {0, 1, "0"}, {2, 0, ""}, {0, 0, ""},
		{3, 2, ""}, {3, 4, "3"}, {4, 2, "4"},
		{6, 2, ""}, {7, 2, ""}, {8, 2, ""}, {9, 2, "9"},
		{10, 12, ""}, {10, 11, ""}, {13, 2, "13"}, {14, 2, ""},
	}
	for _, test := range tests {
		path, ok := m.TailPath(f[test.from], f[test.to])
		if got := name(path); got != test.want || ok != (test.want != "") {
			t.Errorf("TailPath(%d, %d) = %q, %v; want %q", test.from, test.to, got, ok, test.want)
		}
	}
	if _, ok := m.TailPath(f[0]+1, f[2]); ok {
		t.Error("a path from the middle of a function")
	}
	if _, ok := m.TailPath(1, 2); ok {
		t.Error("a path where there is no code")
	}
}

func le32(v int) string {
	return hex.EncodeToString([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
}

// jmp5 is a JMP at an offset in function from.
func jmp5(from, to, off int) string { return "e9" + le32((to-from)*16-off-5) }

func TestGraph(t *testing.T) {
	m, f := program(t,
		"e80b000000 c3",              // 0: calls 1
		"e80b000000 c3",              // 1: calls 2
		"ffd0 e8e9ffffff e9d4ffffff", // 2: calls indirectly, calls 1, jumps to 0
		"e8fbffffff c3",              // 3: calls itself
		"e8ebffffff ff24c500000000",  // 4: calls 3; a switch
		"06 ffe0",                    // 5: an unknown byte, an indirect jump
		"e800000000 58 c3",           // 6: reads its pc
	)
	g := m.Graph()
	if len(g.Nodes) != len(f) {
		t.Fatalf("%d nodes; want %d", len(g.Nodes), len(f))
	}
	n := g.Nodes
	if len(n[3].Calls) != 1 || n[3].Calls[0].Func != 3 {
		t.Errorf("f3 = %+v; want a call of itself", n[3])
	}
	if len(n[2].Indirect) != 1 || n[2].Indirect[0] != f[2] || len(n[2].Tails) != 1 || n[2].Tails[0].Func != 0 {
		t.Errorf("f2 = %+v", n[2])
	}
	if len(n[4].Calls) != 1 || n[4].Calls[0] != (Site{At: f[4], Target: f[3], Func: 3}) || len(n[4].IndirectTails) != 0 {
		t.Errorf("f4 = %+v", n[4])
	}
	if n[5].Unknown != 1 || len(n[5].IndirectTails) != 1 || len(n[6].Calls) != 0 {
		t.Errorf("f5 = %+v, f6 = %+v", n[5], n[6])
	}
}

// TestGraphReal: known facts about a Go program.
func TestGraphReal(t *testing.T) {
	file := buildGo(t)
	m := NewImage([]Segment{textOf(t, file)}, realFuncs(t, file))
	g := m.Graph()
	byName := map[string]*Node{}
	for i := range g.Nodes {
		byName[g.Nodes[i].Name] = &g.Nodes[i]
		if g.Nodes[i].Unknown != 0 || g.Nodes[i].Cut {
			t.Errorf("%s: %d unknown bytes", g.Nodes[i].Name, g.Nodes[i].Unknown)
		}
	}
	calls := func(from, to string) bool {
		for _, s := range byName[from].Calls {
			if s.Func >= 0 && g.Nodes[s.Func].Name == to {
				return true
			}
		}
		return false
	}
	if !calls("main.main", "main.gofmtMain") || calls("main.gofmtMain", "main.main") {
		t.Error("main.main calls main.gofmtMain, and not the other way round")
	}
	if !calls("go/printer.(*printer).expr1", "go/printer.(*printer).expr1") {
		t.Error("go/printer.(*printer).expr1 does not call itself")
	}
	if n := byName["runtime.morestack_noctxt.abi0"]; len(n.Tails) != 1 || g.Nodes[n.Tails[0].Func].Name != "runtime.morestack.abi0" {
		t.Errorf("runtime.morestack_noctxt = %+v; want a jump to runtime.morestack", n)
	}
	if n := byName["runtime.memmove"]; len(n.Calls) != 0 {
		t.Errorf("runtime.memmove = %+v; want a leaf", n)
	}
}

func TestHasFrame(t *testing.T) {
	m, f := program(t,
		"55 4889e5 90 5d c3 90 90",                                 // 0: PUSH, MOV, NOP, POP, RET, more behind
		"4883ec08 48896c2400 488d6c2400 90 488b6c2400 4883c408 c3", // 1: as Go did once
		"90 c3",
	)
	for _, test := range []struct {
		fn, off int
		want    bool
	}{{0, 0, false}, {0, 1, false}, {0, 4, true}, {0, 5, true}, {0, 6, false}, {0, 7, true}, {0, 2, false},
		{1, 9, false}, {1, 14, true}, {1, 15, true}, {1, 20, false}, {2, 1, false}} {
		fn := m.Func(f[test.fn])
		if got := m.HasFrame(fn, f[test.fn]+uint64(test.off)); got != test.want {
			t.Errorf("HasFrame(f%d+%d) = %v; want %v", test.fn, test.off, got, test.want)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	text := textOf(b, buildGo(b)).Bytes
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for n := 0; n < len(text); {
			i := Decode(text[n:])
			n += i.Len
		}
	}
}

func BenchmarkGraph(b *testing.B) {
	file := buildGo(b)
	m := NewImage([]Segment{textOf(b, file)}, realFuncs(b, file))
	for b.Loop() {
		m.Graph()
	}
}
