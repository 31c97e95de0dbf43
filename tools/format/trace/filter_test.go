package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// begin is the begin line of a trace of the fake image.
const begin = "zf1 begin 1 fault early thread=0 build=" + testBuild

// repairTrace is a trace whose first frame is at pc with the given stack and
// frame pointer. The words at 0x3e8fc0 are return addresses into main.f3 and
// main.f4, and two that are none.
func repairTrace(pc, sp, fp uint64) []byte {
	return lines(begin,
		"zf1 mem 0x3e8fc0: 200342 200442 3e8ff0 ffffffffffffffff",
		fmt.Sprintf("zf1 #0 pc %#x sp %#x fp %#x boot", pc, sp, fp),
		"zf1 #1 ra 0x200510 fp 0x3e8ff0 boot", "zf1 stop zero (complete)")
}

func TestRepair(t *testing.T) {
	const f3, f4 = 0x200342, 0x200442
	tests := []struct {
		name       string
		pc, sp, fp uint64
		want       []uint64
	}{
		{"leaf", 0x201010, 0x3e8fc0, 0x3e8fe0, []uint64{0x201010, f3, 0x200510}},
		{"at the entry", 0x201100, 0x3e8fc0, 0x3e8fe0, []uint64{0x201100, f3, 0x200510}},
		{"after PUSHQ BP", 0x201102, 0x3e8fc0, 0x3e8fe0, []uint64{0x201102, f4, 0x200510}},
		{"at RET", 0x2011ff, 0x3e8fc8, 0x3e8fe0, []uint64{0x2011ff, f4, 0x200510}},
		{"frame set up", 0x201150, 0x3e8fb0, 0x3e8fc0, []uint64{0x201150, 0x200510}},
		{"frame set up, RBP smashed", 0x201150, 0x3e8fb0, 0x1234, []uint64{0x201150, f4, 0x200510}},
		{"word not in the text", 0x201010, 0x3e8fd0, 0x3e8fe0, []uint64{0x201010, 0x200510}},
		{"word not sent", 0x201010, 0x3e9000, 0x3e8fe0, []uint64{0x201010, 0x200510}},
		{"no pc table", 0x200110, 0x3e8fc0, 0x3e8fe0, []uint64{0x200110, 0x200510}},
		{"pc 0", 0, 0x3e8fc0, 0x3e8fe0, []uint64{0, 0x200510}},
		{"pc in data", 0x300000, 0x3e8fc0, 0x3e8fe0, []uint64{0x300000, 0x200510}},
		{"slot wraps", 0x201150, 1<<64 - 0x18, 0x3e8fe0, []uint64{0x201150, 0x200510}},
	}
	for _, tt := range tests {
		r := filter(t, Options{Symbols: testImage()}, repairTrace(tt.pc, tt.sp, tt.fp))
		var got []uint64
		for i, f := range r.traces[0].Frames {
			got = append(got, f.Address)
			if want := i == 1 && len(tt.want) == 3; f.Repaired != want {
				t.Errorf("%s: frame %d: Repaired = %v; want %v", tt.name, i, f.Repaired, want)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: frames = %#x; want %#x", tt.name, got, tt.want)
		}
		if n := strings.Count(r.out.String(), "(repaired)"); n != len(tt.want)-2 {
			t.Errorf("%s: shown as repaired: %d; want %d\n%s", tt.name, n, len(tt.want)-2, r.out.String())
		}
	}
	// Without the words there is nothing to repair from.
	in := bytes.Replace(repairTrace(0x201010, 0x3e8fc0, 0x3e8fe0), []byte("mem 0x"), []byte("mum 0x"), 1)
	if got := len(filter(t, Options{Symbols: testImage()}, in).traces[0].Frames); got != 2 {
		t.Errorf("no mem line: %d frames; want 2", got)
	}
	// A target that adds the caller itself: the same address with the same frame
	// pointer. The same address alone is a recursion.
	for fp, want := range map[string]int{"0x3e8fe0": 3, "0x3e8ff0": 4} {
		in := bytes.Replace(repairTrace(0x201010, 0x3e8fc0, 0x3e8fe0), []byte("zf1 #1"),
			[]byte("zf1 #1 ra 0x200342 fp "+fp+" boot\r\nzf1 #2"), 1)
		if got := filter(t, Options{Symbols: testImage()}, in).traces[0].Frames; len(got) != want {
			t.Errorf("caller sent with fp %s: %d frames; want %d", fp, len(got), want)
		}
	}
	// The walk ends at once, or the trace is cut: the caller is still added, and
	// in its place.
	for _, next := range []string{"zf1 stop outside 0x5 (truncated)", "zf1 begin 2 fault early thread=0 build=" + testBuild, "text"} {
		in := lines(begin, "zf1 mem 0x3e8fc0: 200342", "zf1 #0 pc 0x201010 sp 0x3e8fc0 fp 0x5 boot", next)
		r := filter(t, Options{Symbols: testImage()}, in)
		if f := r.traces[0].Frames; len(f) != 2 || f[1].Address != f3 {
			t.Errorf("before %q: %+v; want two frames", next, f)
		}
	}
	// A flush in the middle of the next line does not lose it.
	var out bytes.Buffer
	fl, err := NewFilter(&out, Options{Symbols: testImage(), Dir: "/src"})
	if err != nil {
		t.Fatal(err)
	}
	whole := repairTrace(0x201010, 0x3e8fc0, 0x3e8fe0)
	i := bytes.Index(whole, []byte("#1")) + 5
	fl.Write(whole[:i])
	fl.Flush()
	fl.Write(whole[i:])
	if got := out.String(); !strings.Contains(got, "zf1 #1 ra\r\nzf: ra 0x200342") || !strings.Contains(got, "\nzf1 #1 ra 0x200510 fp 0x3e8ff0 boot main.f5+0x10") {
		t.Errorf("flushed in the middle: %q", got)
	}
	// Nor is there a caller to add where the next frame is on another stack with
	// no trap between: a function that has changed the stack by itself.
	for next, want := range map[string]int{
		"zf1 #1 ra 0x200510 fp 0x0 g":                                   2,
		"zf1 #1 ra 0x200510 fp 0x0 g0":                                  3,
		"zf1 #1 trap 0x200510 vector=257 name=SYSCALL error=0x0 kernel": 3,
	} {
		in := lines(begin, "zf1 mem 0x3e8fc0: 200442 200342", "zf1 #0 pc 0x201610 sp 0x3e8fc0 fp 0xc000007000 g0", next, "zf1 stop goexit (complete)")
		if f := filter(t, Options{Symbols: testImage()}, in).traces[0].Frames; len(f) != want {
			t.Errorf("before %q: %+v; want %d frames", next, f, want)
		}
	}
	// Behind a trap boundary it is the same.
	in = lines(begin, "zf1 #0 pc 0x200110 sp 0x10 fp 0x20 irq", "zf1 #1 trap 0x201010 vector=32 name=IRQ error=0x0 irq",
		"zf1 mem 0x3e8fc0: 200342", "zf1 #2 pc 0x201010 sp 0x3e8fc0 fp 0x3e8fe0 boot", "zf1 #3 ra 0x200510 fp 0x0 boot")
	if f := filter(t, Options{Symbols: testImage()}, in).traces[0].Frames; len(f) != 5 || f[3].Address != f3 {
		t.Errorf("behind a trap: %+v; want a frame at %#x", f, f3)
	}
}

// TestUnknownBuild: what does not say from which image it comes goes by the
// stream, or is not resolved.
func TestUnknownBuild(t *testing.T) {
	const frame, last = "zf1 #0 pc 0x200110 sp 0x10 fp 0x20 boot", "zf1 last fault 0x200110 x"
	stop := "zf1 done 1 crc=0x0"
	text := textForm(sample(), false)
	compact := compactForm(sample())
	for _, tt := range []struct {
		name               string
		in                 []byte
		resolved, mismatch bool
	}{
		{"no begin", lines(frame), false, false},
		{"begin lost", text[bytes.IndexByte(text, '\n')+1:], false, false},
		{"begin malformed", append([]byte("zf1 begin x\n"), text[bytes.IndexByte(text, '\n')+1:]...), false, false},
		{"no build field", lines("zf1 begin 1 panic early thread=0", frame), false, false},
		{"last alone", lines(last), false, false},
		{"compact without its start", compact[bytes.IndexByte(compact, '\n')+1:], false, false},
		{"last after begin", lines(begin, last), true, false},
		{"after a trace", append(bytes.Clone(text), lines(frame)...), true, false},
		{"after another's", lines("zf1 begin 1 panic early thread=0 build=abcd", stop, frame), false, true},
		{"after a report", lines("zeroframe (devel) build "+testBuild, frame), true, false},
		{"last after a report", lines("zeroframe v1 build "+strings.ToUpper(testBuild), last), true, false},
		{"after another's report", lines("zeroframe v1 build abcd", frame), false, true},
		{"after a report without", lines("zeroframe v1 build -", frame), false, true},
		{"no report", lines(" zeroframe v1 build "+testBuild, "zeroframe v1 build "+testBuild+" x", "zeroframe v1 build xyz", frame), false, false},
	} {
		r := filter(t, Options{Symbols: testImage()}, tt.in)
		i := bytes.LastIndex(r.out.Bytes(), []byte("pc 0x200110"))
		if i < 0 {
			i = 0
		}
		if got := bytes.Contains(r.out.Bytes()[i:], []byte("main.f1+")); got != tt.resolved || r.stats.Mismatch != tt.mismatch {
			t.Errorf("%s: resolved %v, mismatch %v; want %v, %v\n%s", tt.name, got, r.stats.Mismatch, tt.resolved, tt.mismatch, r.out.Bytes())
		}
		if got := strings.Count(r.log.String(), "carries no build ID"); got != 1 && !tt.resolved && !tt.mismatch {
			t.Errorf("%s: log = %q; want the reason once", tt.name, r.log.String())
		}
		if r := filter(t, Options{Symbols: testImage(), Force: true}, tt.in); r.log.Len() > 0 ||
			len(r.traces[len(r.traces)-1].Frames) > 0 && !strings.Contains(r.out.String(), "main.f") {
			t.Errorf("%s, forced: %s, log = %q; want it resolved", tt.name, r.out.Bytes(), r.log.String())
		}
	}
}

func TestMismatch(t *testing.T) {
	for _, tt := range []struct {
		trace, elf string
		force      bool
		mismatch   bool
	}{
		{testBuild, testBuild, false, false},
		{strings.ToUpper(testBuild), testBuild, false, false},
		{"-", "", false, false},
		{"abcd", testBuild, false, true},
		{"-", testBuild, false, true},
		{"abcd", "", false, true},
		{"abcd", testBuild, true, false},
	} {
		m := testImage()
		m.build = tt.elf
		in := bytes.ReplaceAll(textForm(sample(), false), []byte("build="+testBuild), []byte("build="+tt.trace))
		r := filter(t, Options{Symbols: m, Force: tt.force}, in, in)
		resolved := strings.Contains(r.out.String(), "main.f1+0x10")
		if r.stats.Mismatch != tt.mismatch || resolved == tt.mismatch {
			t.Errorf("trace of %s, ELF %s, force %v: mismatch %v, resolved %v; want %v, %v",
				tt.trace, tt.elf, tt.force, r.stats.Mismatch, resolved, tt.mismatch, !tt.mismatch)
		}
		log := r.log.String()
		if want := map[bool]int{true: 1, false: 0}[tt.mismatch]; strings.Count(log, "not resolved") != want {
			t.Errorf("trace of %s, ELF %s: log = %q; want %d message(s)", tt.trace, tt.elf, log, want)
		}
		if tt.mismatch && (tt.trace != "-" && !strings.Contains(log, tt.trace) || !strings.Contains(log, tt.elf)) {
			t.Errorf("trace of %s, ELF %s: log = %q; want both", tt.trace, tt.elf, log)
		}
	}
	// Of nested panics the last line says no build: it goes by that of the trace before.
	in := lines("zf1 begin 1 panic early thread=0 build=abcd", "zf1 last fault 0x200310 third")
	if r := filter(t, Options{Symbols: testImage()}, in); strings.Contains(r.out.String(), "main.") {
		t.Errorf("last line of another build: %s; want it unresolved", r.out.String())
	}
}

// TestAtOnce: text is out before anything follows it.
func TestAtOnce(t *testing.T) {
	var out bytes.Buffer
	f, err := NewFilter(&out, Options{Symbols: testImage()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"login: ", "login: "},
		{"z", "login: z"}, // not at a line's start
		{"\n", "login: z\n"},
		{"$", "login: z\n$"},
		{" \r\n", "login: z\n$ \r\n"},
		{"zf1", "login: z\n$ \r\n"}, // may be a tag
		{"x", "login: z\n$ \r\nzf1x"},
		{"\n{", "login: z\n$ \r\nzf1x\n{"}, // an element line only in a trace
	} {
		if _, err := f.Write([]byte(tt.in)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != tt.want {
			t.Errorf("after %q: %q; want %q", tt.in, got, tt.want)
		}
	}
	f.Write([]byte("\nzf1 re"))
	if got := out.String(); strings.HasSuffix(got, "zf1 re") {
		t.Errorf("a tag line was not held back: %q", got)
	}
	f.Flush()
	if got := out.String(); !strings.HasSuffix(got, "zf1 re") {
		t.Errorf("Flush: %q; want the line so far", got)
	}
}

// TestIdle: what is held back is out when no input has come for Idle, and not before.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out await.Log // the timer's goroutine writes to it
		f, err := NewFilter(&out, Options{Idle: DefaultIdle})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.Write([]byte("zf1"))
		time.Sleep(DefaultIdle - 1)
		if out.String() != "" {
			t.Errorf("output = %q before the idle time", out.String())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if out.String() != "zf1" {
			t.Errorf("output = %q; want zf1 after the idle time", out.String())
		}
	})
}

// TestIdentity: what is no trace comes out as it went in.
func TestIdentity(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, in := range []string{"", "\n", "no newline", "a\r\nb\nc\r", "zf", "zf1", "zf1 ", "zf1:", "zf1;", "zf1=", "{{{", "zf1 hello\n",
		"zf1;end\nzf1:x y\n", string(all), strings.Repeat("zf1 ", 1<<18), strings.Repeat("\n", 1000),
		"{{{reset}}}\n{{{bt:0:0x1:pc}}}\n", "zf1 done 3 crc=0x0", " zf1 begin 1 panic early thread=0 build=-\n"} {
		r := filter(t, Options{Symbols: testImage()}, []byte(in))
		if got := r.out.String(); got != in {
			t.Errorf("output = %.60q (%d bytes); want %.60q (%d bytes)", got, len(got), in, len(in))
		}
		if r.stats != (Stats{}) {
			t.Errorf("%.60q: Stats = %+v; want none", in, r.stats)
		}
	}
}

func TestSanitize(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain\ttext\r\n\b", "plain\ttext\r\n\b"},
		{"\x1b[31mred", `\x1b[31mred`},
		{"\x00\x07\x7f", `\x00\x07\x7f`},
		{"h\u00e9 \u4e16 \U0001f600", "h\u00e9 \u4e16 \U0001f600"},
		{"\u009b31m", `\x9b31m`},
		{"\x9b31m \xff", `\x9b31m \xff`},
		{"\xe4\xb8", `\xe4\xb8`},
		{"\xc0\x9b\xed\xa0\x80", `\xc0\x9b\xed\xa0\x80`},
		{"\ufffd", "\ufffd"},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`},
	} {
		for i := range len(tt.in) + 1 {
			r := filter(t, Options{Sanitize: true}, []byte(tt.in[:i]), []byte(tt.in[i:]))
			if got := r.out.String(); got != tt.want {
				t.Errorf("%q split at %d: %q; want %q", tt.in, i, got, tt.want)
			}
			if got := filter(t, Options{}, []byte(tt.in)).out.String(); got != tt.in {
				t.Errorf("%q, not a terminal: %q; want it unchanged", tt.in, got)
			}
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"main.f", "main.f"}, {"a\nb\tc", `a\x0ab\x09c`}, {"\u009b\x1b", `\x9b\x1b`}, {"h\u00e9\xff", `h` + "\u00e9" + `\xff`},
	} {
		if got := terminal.Clean(tt.in); got != tt.want {
			t.Errorf("clean(%q) = %q; want %q", tt.in, got, tt.want)
		}
	}
}

// TestHostileTrace: controls in every field of a trace stay off the terminal.
func TestHostileTrace(t *testing.T) {
	const esc = "\x1b]0;x\x07\u009b\x7f"
	in := lines("zf1 begin 1 k"+esc+" c"+esc+" thread=0 build=b"+esc, "zf1 reason r"+esc,
		"zf1 #0 pc 0x201410 sp 0x0 fp 0x0 s"+esc, "zf1 stop e"+esc+" 0x1 (truncated)",
		"zf1 stack s"+esc+" 0x0 size=8 used>=8 free<=0 limit=1 l"+esc, "zf1 last k"+esc+" 0x201410 "+esc)
	var log, js bytes.Buffer
	for _, force := range []bool{false, true} {
		r := filter(t, Options{Symbols: testImage(), Sanitize: true, Force: force}, in, compactForm(&wire.Trace{
			Kind: "panic", Reason: esc, BuildID: testBuild, Stacks: []wire.Stack{{Name: esc}}}))
		log.Write(r.log.Bytes())
		js.Write(r.json.Bytes())
		for what, s := range map[string]string{"output": r.out.String(), "JSON": js.String(), "log": log.String()} {
			for _, c := range s {
				if terminal.IsControl(c) && c != '\n' && c != '\r' {
					t.Errorf("%s has %q: %q", what, c, s)
					break
				}
			}
		}
	}
	if !strings.Contains(js.String(), `r\u001b]0;x\u0007\u009b\u007f`) {
		t.Errorf("JSON = %s; want the reason escaped", js.String())
	}
}

func TestNoSymbols(t *testing.T) {
	in := textForm(&wire.Trace{Seq: 1, Kind: "panic", Context: "early", BuildID: testBuild, End: "zero"}, false)
	r := filter(t, Options{}, in, in)
	if !bytes.Equal(r.out.Bytes(), append(bytes.Clone(in), in...)) {
		t.Errorf("output = %q; want the input", r.out.Bytes())
	}
	if n := strings.Count(r.log.String(), "\n"); n != 1 {
		t.Errorf("log = %q; want one note", r.log.String())
	}
	if want := (Stats{Traces: 2, Fatal: 2}); r.stats != want {
		t.Errorf("Stats = %+v; want %+v", r.stats, want)
	}
}

func TestStats(t *testing.T) {
	nmi := sample()
	nmi.Kind = "nmi"
	bad := bytes.Replace(textForm(sample(), true), []byte("0x8"), []byte("0x9"), 1)
	r := filter(t, Options{}, textForm(nmi, false), compactForm(sample()), bad)
	if want := (Stats{Traces: 3, Fatal: 2, Damaged: 1}); r.stats != want {
		t.Errorf("Stats = %+v; want %+v", r.stats, want)
	}
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		out  io.Writer
		opt  Options
	}{
		{"output", failing{}, Options{}},
		{"JSON", io.Discard, Options{JSON: failing{}}},
	} {
		f, err := NewFilter(tt.out, tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(textForm(sample(), false)); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: Write = %v; want %v", tt.name, err, io.ErrShortWrite)
		}
		if err := f.Close(); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: Close = %v; want %v", tt.name, err, io.ErrShortWrite)
		}
		if _, err := f.Write([]byte("x")); err != ErrClosed {
			t.Errorf("%s: Write after Close = %v; want %v", tt.name, err, ErrClosed)
		}
	}
}

func TestJSON(t *testing.T) {
	var got map[string]any
	r := filter(t, Options{Symbols: testImage()}, textForm(sample(), false))
	if err := json.Unmarshal(r.json.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"version": 1.0, "kind": "fault", "context": "early", "vector": 14.0, "error_code": 2.0, "fault_address": "0x8",
		"build_id": testBuild, "thread": 3.0, "complete": false, "end": "text", "damaged": false,
	} {
		if got[key] != want {
			t.Errorf("%s = %v; want %v", key, got[key], want)
		}
	}
	frame := got["frames"].([]any)[0].(map[string]any)
	for key, want := range map[string]any{"kind": "pc", "address": "0x200110", "fp": "0x3e8fe0", "sp": "0x3e8fc0",
		"stack": "fault", "function": "main.f1", "offset": 16.0, "file": "/src/kernel/main.go", "line": 16.0, "inlined": false} {
		if frame[key] != want {
			t.Errorf("frames[0].%s = %v; want %v", key, frame[key], want)
		}
	}
	// A trace without its begin line is a "trace"; a stray line is none.
	for in, want := range map[string]string{
		"zf1 #0 pc 0x200110 sp 0x10 fp 0x20 boot": `{"version":1,"kind":"trace","reason":"",`, "zf1 reason EVIL": "",
	} {
		if got := filter(t, Options{}, lines(in)).json.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: JSON = %s; want %s...", in, got, want)
		}
	}
	// What is damaged is not complete.
	for damaged, want := range map[bool]bool{false: true, true: false} {
		if got := (&wire.Trace{End: "zero", Damaged: damaged}).Complete(); got != want {
			t.Errorf("damaged %v: Complete() = %v; want %v", damaged, got, want)
		}
	}
	// Nothing known: the lists are empty, not null, and what is not known is left out.
	s := string(render.JSON(&wire.Trace{Frames: []wire.Frame{{Kind: tracer.RA, Address: 1}}}))
	if want := `{"version":1,"kind":"trace","reason":"","context":"","build_id":"","thread":0,"registers":{},"complete":false,` +
		`"end":"","damaged":false,"frames":[{"kind":"ra","address":"0x1","fp":"0x0","inlined":false}],"stacks":[]}` + "\n"; s != want {
		t.Errorf("JSON() = %s; want %s", s, want)
	}
}

// writerFunc is a function that is a writer.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) { f(); return len(p), nil }

// TestWorking: a filter works as long as what has come is on its way.
func TestWorking(t *testing.T) {
	var f *Filter
	var working []bool
	f, err := NewFilter(writerFunc(func() { working = append(working, f.Working()) }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("text\n"))
	if !slices.Equal(working, []bool{true}) || f.Working() {
		t.Errorf("it works %v, and afterwards %v", working, f.Working())
	}
}
