package trace

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// sameCause compares two causes, but for the PC if one has none: the compact
// form does not carry it.
func sameCause(a, b *wire.Cause) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	if x.PC == 0 || y.PC == 0 {
		x.PC, y.PC = 0, 0
	}
	return x == y
}

// same reports in what two traces differ.
func same(got, want *wire.Trace) error {
	switch {
	case got.Seq != want.Seq, got.Kind != want.Kind, got.Context != want.Context,
		got.Thread != want.Thread, got.Goroutine != want.Goroutine, got.BuildID != want.BuildID, got.Reason != want.Reason,
		got.End != want.End, got.EndValue != want.EndValue:
		return fmt.Errorf("head = %+v; want %+v", got, want)
	case !sameCause(got.Cause, want.Cause):
		return fmt.Errorf("cause = %+v; want %+v", got.Cause, want.Cause)
	case !maps.Equal(got.Registers, want.Registers):
		return fmt.Errorf("registers = %#x; want %#x", got.Registers, want.Registers)
	case !maps.Equal(got.Words, want.Words):
		return fmt.Errorf("words = %#x; want %#x", got.Words, want.Words)
	case !slices.Equal(got.Stacks, want.Stacks):
		return fmt.Errorf("stacks = %+v; want %+v", got.Stacks, want.Stacks)
	case len(got.Frames) != len(want.Frames):
		return fmt.Errorf("%d frames; want %d", len(got.Frames), len(want.Frames))
	}
	for i := range got.Frames {
		g, w := got.Frames[i], want.Frames[i]
		g.Calls, w.Calls = nil, nil
		if !reflect.DeepEqual(g, w) {
			return fmt.Errorf("frame %d = %+v; want %+v", i, g, w)
		}
	}
	return nil
}

func TestForms(t *testing.T) {
	for _, form := range forms {
		for _, eol := range []string{"\r\n", "\n", "\r\r\n"} {
			in := bytes.ReplaceAll(form.write(sample()), []byte("\r\n"), []byte(eol))
			r := filter(t, Options{}, in)
			if len(r.traces) != 1 {
				t.Fatalf("%s, %q: %d traces; want 1", form.name, eol, len(r.traces))
			}
			if err := same(r.traces[0], sample()); err != nil {
				t.Errorf("%s, %q: %v", form.name, eol, err)
			}
			if got := r.traces[0]; got.Damaged || got.Cut || got.Complete() {
				t.Errorf("%s, %q: damaged %v (%s), cut %v, complete %v; want false, false, false",
					form.name, eol, got.Damaged, got.Damage, got.Cut, got.Complete())
			}
		}
	}
}

// TestGoroutine: what only a trace of a program in the Go runtime has.
func TestGoroutine(t *testing.T) {
	for _, form := range forms {
		r := filter(t, Options{Symbols: testImage()}, form.write(sampleGo()))
		if len(r.traces) != 1 {
			t.Fatalf("%s: %d traces; want 1", form.name, len(r.traces))
		}
		got := r.traces[0]
		if err := same(got, sampleGo()); err != nil {
			t.Errorf("%s: %v", form.name, err)
		}
		if got.Damaged || !got.Complete() || got.Fatal() {
			t.Errorf("%s: damaged %v (%s), complete %v, fatal %v; want false, true, false",
				form.name, got.Damaged, got.Damage, got.Complete(), got.Fatal())
		}
		for _, want := range []string{`"goroutine":1099511627776,`, `"complete":true,"end":"goexit"`,
			`"vector":257,"error_code":202`, `"vector":258,"error_code":23`} {
			if !strings.Contains(r.json.String(), want) {
				t.Errorf("%s: JSON = %s; want %s in it", form.name, r.json.String(), want)
			}
		}
		for _, want := range []string{" goroutine=1099511627776 ", "name=SYSCALL error=0xca ", "name=SIGNAL error=0x17 ", " stop goexit (complete)"} {
			if !strings.Contains(r.out.String(), want) {
				t.Errorf("%s: %s\nwant %q in it", form.name, r.out.String(), want)
			}
		}
		if strings.Contains(r.out.String(), "truncated") {
			t.Errorf("%s: %s\nwant no word of truncation", form.name, r.out.String())
		}
		// As the compact form shows it, it can be read again.
		for _, line := range strings.Split(string(textForm(sampleGo(), false)), "\r\n") {
			body, ok := strings.CutPrefix(line, "zf1 ")
			if !ok || strings.HasPrefix(body, "reg") || strings.HasPrefix(body, "done") {
				continue
			}
			if rec := wire.ParseLine(body); rec.Bad || rec.String() != body {
				t.Errorf("%q is shown as %q", body, rec.String())
			}
		}
	}
	if r := wire.ParseLine("begin 1 panic goroutine thread=0 goroutine=x build=-"); !r.Bad {
		t.Errorf("a goroutine number that is none = %+v; want Bad", r)
	}
}

// TestTracerWriter reads what the target's own writer writes.
func TestTracerWriter(t *testing.T) {
	for _, want := range []*wire.Trace{sample(), sampleGo()} {
		testTracerWriter(t, want)
	}
}

func testTracerWriter(t *testing.T, want *wire.Trace) {
	want.BuildID = "3f9a0c5b7de1ff"
	ends := map[string]tracer.End{"text": tracer.EndText, "goexit": tracer.EndGoexit}
	kinds := map[string]tracer.TraceKind{"fault": tracer.KindFault, "trace": tracer.KindTrace}
	contexts := map[string]tracer.Context{"early": tracer.ContextEarly, "goroutine": tracer.ContextGoroutine}
	for _, form := range []tracer.Form{tracer.Text, tracer.Markup, tracer.Compact} {
		var b bytes.Buffer
		w := tracer.Writer{Form: form, Put: func(c byte) { b.WriteByte(c) }}
		w.Begin(uint32(want.Seq), kinds[want.Kind], contexts[want.Context], 3, want.Goroutine, unhex(want.BuildID), 0x200000, 0x210000)
		w.Reason([]byte(want.Reason))
		if want.Cause != nil {
			w.Cause(14, 2, 0x200110, 8, true)
		}
		var words []uintptr
		for _, x := range sampleWords {
			words = append(words, uintptr(x))
		}
		if len(want.Words) > 0 {
			w.Mem(0x3e8fc0, words)
		}
		for i, f := range want.Frames {
			stack := slices.IndexFunc(want.Stacks, func(s wire.Stack) bool { return s.Name == f.Stack })
			w.Frame(i, &tracer.Frame{Kind: f.Kind, Addr: uintptr(f.Address), FP: uintptr(f.FP), SP: uintptr(f.SP),
				Vector: uint32(f.Vector), Error: uint32(f.ErrorCode), Stack: int8(stack)}, f.Stack)
		}
		w.Stop(ends[want.End], uintptr(want.EndValue))
		var regs [tracer.NumRegisters]uintptr
		var have uint64
		for i, name := range tracer.AMD64.Registers {
			if v, ok := want.Registers[name]; ok {
				regs[i], have = uintptr(v), have|1<<i
			}
		}
		w.Registers(&regs, have)
		for _, s := range want.Stacks {
			w.Stack(&tracer.Stack{Name: s.Name, Lo: uintptr(s.Lo), Hi: uintptr(s.Hi), Used: uintptr(s.Used), Limit: uintptr(s.Limit)})
		}
		w.Done()
		w.Last(tracer.KindPanic, 0x200110, []byte("a fault\x1b in the panic path"))

		r := filter(t, Options{}, b.Bytes())
		if len(r.traces) != 2 {
			t.Fatalf("form %d: %d traces; want 2\n%s", form, len(r.traces), b.Bytes())
		}
		if err := same(r.traces[0], want); err != nil {
			t.Errorf("form %d: %v", form, err)
		}
		if r.traces[0].Damaged {
			t.Errorf("form %d: damaged: %s", form, r.traces[0].Damage)
		}
		last := r.traces[1]
		if !last.Last || last.Damaged || last.Reason != "a fault? in the panic path" || last.Frames[0].Address != 0x200110 || last.BuildID != want.BuildID {
			t.Errorf("form %d: last = %+v", form, last)
		}
	}
}

// TestSplit sends the same bytes in two pieces, cut at each place, and byte by
// byte: what comes out does not depend on how it came in.
func TestSplit(t *testing.T) {
	for _, form := range forms {
		in := append([]byte("boot\r\nzf> zf1 no trace\r\nzf1"), "\r\n"...)
		in = append(in, form.write(sample())...)
		in = append(in, "after \xc2\x9b \x1b[2J zf"...)
		for _, opt := range []Options{
			{Symbols: testImage()},
			{Symbols: testImage(), Sanitize: true, Color: true},
		} {
			want := filter(t, opt, in)
			check := func(what string, r *run) {
				if got := r.out.String(); got != want.out.String() {
					t.Fatalf("%s, %s: output = %q; want %q", form.name, what, got, want.out.String())
				}
				if r.json.String() != want.json.String() || r.stats != want.stats {
					t.Fatalf("%s, %s: JSON or Stats differ", form.name, what)
				}
			}
			for i := range in {
				check(fmt.Sprint("split at ", i), filter(t, opt, in[:i], in[i:]))
			}
			var bytewise [][]byte
			for i := range in {
				bytewise = append(bytewise, in[i:i+1])
			}
			check("byte by byte", filter(t, opt, bytewise...))
		}
	}
}

// TestFlush releases what is held back after each byte. The lines of the text
// form still come out the same, since they are annotated at their ends.
func TestFlush(t *testing.T) {
	for _, form := range forms {
		in := append([]byte("zf"), "\r\n"...)
		in = append(in, form.write(sample())...)
		want := filter(t, Options{Symbols: testImage()}, in)
		var out, js bytes.Buffer
		f, err := NewFilter(&out, Options{Symbols: testImage(), Dir: "/src", JSON: &js})
		if err != nil {
			t.Fatal(err)
		}
		for i := range in {
			f.Write(in[i : i+1])
			f.Flush()
		}
		f.Close()
		if js.String() != want.json.String() {
			t.Errorf("%s: JSON = %s; want %s", form.name, js.String(), want.json.String())
		}
		if out.String() != want.out.String() {
			t.Errorf("%s: output = %s; want %s", form.name, out.String(), want.out.String())
		}
	}
}

// TestFlips flips each bit of a trace and replaces each byte. Whatever the
// parser makes of it: either the trace counts as damaged, or it says the same.
func TestFlips(t *testing.T) {
	for _, form := range forms {
		in := form.write(sample())
		try := func(i int, c byte) {
			bad := slices.Clone(in)
			bad[i] = c
			r := filter(t, Options{Symbols: testImage(), Force: true}, bad)
			intact := 0
			for _, tr := range r.traces {
				if tr.Damaged || tr.Last {
					continue
				}
				intact++
				if err := same(tr, sample()); err != nil {
					t.Errorf("%s: byte %d %q -> %q: not damaged, but %v", form.name, i, in[i], c, err)
				}
			}
			if intact == 0 && r.stats.Damaged == 0 {
				t.Errorf("%s: byte %d %q -> %q: no trace at all", form.name, i, in[i], c)
			}
			if r.stats.Fatal == 0 {
				t.Errorf("%s: byte %d %q -> %q: Fatal = 0; want 1", form.name, i, in[i], c)
			}
		}
		for i := range in {
			for bit := range 8 {
				try(i, in[i]^1<<bit)
			}
			try(i, '\n')
			try(i, ' ')
		}
	}
}

// TestCut cuts a trace after each byte.
func TestCut(t *testing.T) {
	for _, form := range forms {
		in := form.write(sample())
		for i := range in {
			r := filter(t, Options{Symbols: testImage()}, in[:i])
			whole := i >= len(in)-2 // only the line ending is missing
			for _, tr := range r.traces {
				if tr.Damaged == whole {
					t.Fatalf("%s: cut at %d of %d: damaged = %v", form.name, i, len(in), tr.Damaged)
				}
				for k, f := range tr.Frames {
					if f.Address != sample().Frames[k].Address {
						t.Fatalf("%s: cut at %d: frame %d at %#x", form.name, i, k, f.Address)
					}
				}
			}
			if first := bytes.IndexByte(in, '\n'); i > first && len(r.traces) != 1 {
				t.Fatalf("%s: cut at %d: %d traces; want 1", form.name, i, len(r.traces))
			}
			if form.name != "compact" && !bytes.HasPrefix(r.out.Bytes(), in[:min(i, 40)]) {
				t.Fatalf("%s: cut at %d: text is lost: %q", form.name, i, r.out.Bytes())
			}
		}
	}
}

// lines puts lines together with CR LF.
func lines(l ...string) []byte { return []byte(strings.Join(l, "\r\n") + "\r\n") }

func TestInterleaved(t *testing.T) {
	for _, form := range forms {
		for _, foreign := range []string{"hello\r\n", "\r\n", "{{{bt:0:0x1:pc}}}\r\n", "{{{\r\n", "zf2 begin\r\n",
			"\x00\xff\x1b[2J\n", strings.Repeat("x", 3*wire.MaxLine) + "\n", "zf1_\n"} {
			var in []byte
			for l := range bytes.Lines(form.write(sample())) {
				in = append(append(in, l...), foreign...)
			}
			r := filter(t, Options{}, in)
			if len(r.traces) != 1 || r.traces[0].Damaged {
				t.Errorf("%s, between %.20q: %+v; want one intact trace", form.name, foreign, r.stats)
				continue
			}
			if err := same(r.traces[0], sample()); err != nil {
				t.Errorf("%s, between %.20q: %v", form.name, foreign, err)
			}
		}
	}
}

func TestNestedPanics(t *testing.T) {
	tests := []struct {
		name    string
		in      []byte
		reasons []string
		damaged []bool
	}{
		{"begin in a trace", lines(
			"zf1 begin 1 panic early thread=0 build=3f9a0c5b7de1", "zf1 reason first",
			"zf1 #0 pc 0x200110 sp 0x10 fp 0x20 boot",
			"zf1 begin 2 fault kernel thread=0 build=3f9a0c5b7de1", "zf1 reason second",
			"zf1 last panic 0x200210 third"),
			[]string{"first", "second", "third"}, []bool{true, true, false}},
		{"last alone", lines("zf1 last fault 0x200210 "), []string{""}, []bool{false}},
		{"two last lines", lines("zf1 last fault 0x200210 a b", "zf1 last fault 0x200210 c"),
			[]string{"a b", "c"}, []bool{false, false}},
		{"begin line lost", lines("zf1 reason lost", "zf1 #1 ra 0x200210 fp 0x20 boot", "zf1 done 3 crc=0x0"),
			[]string{"lost"}, []bool{true}},
		{"done line alone", lines("zf1 done 3 crc=0x0"), nil, nil},
		{"rest of a trace alone", lines("zf1 reg rax=0x1", "zf1 stack boot 0x0 size=16 used>=0 free<=16 limit=0 ok"), nil, nil},
		{"no trace", lines("zf1 hello", "zf1 #x", "zf1 begin", "zf1 last", "zf1:", "zf1:x", "zf1:a word", "zf1;", "zf1;!abc", "zf1;!abcdef", "zf1=", "zf1=abc", "zf1=ab"), nil, nil},
		{"compact after cut compact", append(compactForm(sample())[:200], append([]byte("\r\n"), compactForm(sample())...)...),
			[]string{sample().Reason, sample().Reason}, []bool{true, false}},
		{"compact in text", append(lines("zf1 begin 1 panic early thread=0 build=-", "zf1 reason cut"), compactForm(sample())...),
			[]string{"cut", sample().Reason}, []bool{true, false}},
		{"compact without its start", compactForm(sample())[85:], []string{""}, []bool{true}},
	}
	for _, tt := range tests {
		r := filter(t, Options{}, tt.in)
		var reasons []string
		var damaged []bool
		for _, tr := range r.traces {
			reasons, damaged = append(reasons, tr.Reason), append(damaged, tr.Damaged)
		}
		if !slices.Equal(reasons, tt.reasons) || !slices.Equal(damaged, tt.damaged) {
			t.Errorf("%s: traces %q, damaged %v; want %q, %v", tt.name, reasons, damaged, tt.reasons, tt.damaged)
		}
		if r.stats.Fatal != len(tt.reasons) {
			t.Errorf("%s: Fatal = %d; want %d", tt.name, r.stats.Fatal, len(tt.reasons))
		}
	}
}

func TestLimits(t *testing.T) {
	head := "zf1 begin 1 panic early thread=0 build=-\n"
	tests := []struct{ name, in string }{
		{"frames", head + strings.Repeat("zf1 #0 ra 0x200210 fp 0x0 -\n", wire.MaxFrames+10)},
		{"words", head + func() (s string) {
			var b strings.Builder
			for i := range wire.MaxWords {
				fmt.Fprintf(&b, "zf1 mem %#x: 1 2\n", i*16)
			}
			return b.String()
		}()},
		{"stacks", head + strings.Repeat("zf1 stack a 0x0 size=8 used>=0 free<=0 limit=0 ok\n", wire.MaxStacks+1)},
		{"reason", head + "zf1 reason " + strings.Repeat("x", wire.MaxReason+1) + "\n"},
	}
	for _, tt := range tests {
		r := filter(t, Options{Symbols: testImage(), Force: true}, []byte(tt.in+"zf1 done 1 crc=0x0\n"))
		if len(r.traces) != 1 || !r.traces[0].Damaged || strings.HasPrefix(r.traces[0].Damage, "CRC") {
			t.Errorf("%s: %+v; want one trace, damaged by its size", tt.name, r.stats)
			continue
		}
		if tr := r.traces[0]; len(tr.Frames) > wire.MaxFrames || len(tr.Words) > wire.MaxWords || len(tr.Stacks) > wire.MaxStacks || len(tr.Reason) > wire.MaxReason {
			t.Errorf("%s: the trace is beyond the limits", tt.name)
		}
	}
	// A line that is too long is no trace line, and passes.
	long := head + "zf1 reason " + strings.Repeat("y", wire.MaxLine) + "\nzf1 reason short\n"
	r := filter(t, Options{}, []byte(long))
	if got := r.out.String(); !strings.HasPrefix(got, long) {
		t.Errorf("long line: %d bytes out; want %d", len(got), len(long))
	}
	if got := r.traces[0].Reason; got != "short" {
		t.Errorf("long line: reason = %.20q; want short", got)
	}
}

// TestRandomDamage damages streams of traces at several places at once.
func TestRandomDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var in []byte
	for _, form := range forms {
		in = append(in, form.write(sample())...)
	}
	for range 500 {
		bad := slices.Clone(in)
		for range 1 + rng.IntN(8) {
			i := rng.IntN(len(bad))
			switch rng.IntN(3) {
			case 0:
				bad[i] = byte(rng.IntN(256))
			case 1:
				bad = slices.Delete(bad, i, min(len(bad), i+rng.IntN(40)))
			case 2:
				bad = slices.Insert(bad, i, bad[i:min(len(bad), i+rng.IntN(80))]...)
			}
		}
		for _, tr := range filter(t, Options{Symbols: testImage(), Color: true, Sanitize: true}, bad).traces {
			if tr.Damaged || tr.Last {
				continue
			}
			if err := same(tr, sample()); err != nil {
				t.Errorf("a damaged trace passes for an intact one: %v", err)
			}
		}
	}
}
