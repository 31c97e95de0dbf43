package trace

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/typed"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// typedImage is the fake image as an ELF file that knows where its text begins.
type typedImage struct{ *fakeImage }

func (typedImage) TextStart() (uint64, bool) { return 0x200000, true }

// onScreen returns the lines that the target shows of a trace of the fake image.
func onScreen(frames []tracer.Frame, end tracer.End, value uintptr) (lines []string) {
	build, _ := hex.DecodeString(testBuild)
	w := tracer.Typed{TextLo: 0x200000, TextHi: 0x210000}
	take := func() {
		for i := range w.Lines() {
			lines = append(lines, string(w.Line(i)))
		}
	}
	w.Begin(tracer.KindFault, tracer.ContextGoroutine, build)
	take()
	for i := range frames {
		w.Frame(&frames[i])
		take()
	}
	w.Stop(end, value)
	take()
	return lines
}

// shown is a trace with every kind of line.
func shown() []string {
	return onScreen([]tracer.Frame{
		{Kind: tracer.PC, Addr: 0x200110},
		{Kind: tracer.RA, Addr: 0x200210}, {Kind: tracer.RA, Addr: 0x200210}, {Kind: tracer.RA, Addr: 0x200210},
		{Kind: tracer.Trap, Vector: 14, Error: 2},
		{Kind: tracer.PC, Addr: 0},
		{Kind: tracer.Inferred, Addr: 0x200410}, {Kind: tracer.Scan, Addr: 0x200510},
		{Kind: tracer.RA, Addr: 0xffff800000201234},
	}, tracer.EndText, 0x500000300010)
}

const shownText = `zf1 begin 1 fault goroutine build=3f9a0c5b...
zf1 #0 pc 0x200110
zf1 #1 ra 0x200210
zf1 #2 ra 0x200210
zf1 #3 ra 0x200210
zf1 #4 trap 0x0 vector=14 name=#PF error=0x2
zf1 #5 pc 0x0
zf1 #6 inferred 0x200410
zf1 #7 scan 0x200510
zf1 #8 ra 0xffff800000201234
zf1 stop text 0x500000300010 (truncated)
`

// typedRun is what comes of a text that somebody has typed.
type typedRun struct {
	out, log string
	traces   []*wire.Trace
	stats    typed.Stats
	filter   Stats
}

func typeIn(t testing.TB, text string, opt typed.Options, im *lookup.Images) typedRun {
	t.Helper()
	var r typedRun
	var log, out bytes.Buffer
	f, err := NewFilter(nil, Options{Images: func() *lookup.Images { return im }, Force: opt.Force, Log: &log, OnTrace: func(t *wire.Trace) { r.traces = append(r.traces, t) }})
	if err != nil {
		t.Fatal(err)
	}
	opt.Images, opt.Log = func() *lookup.Images { return im }, &log
	in := typed.New(tee{f, &out}, opt)
	if _, err := in.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r.out, r.log, r.stats, r.filter = out.String(), log.String(), in.Stats(), f.Stats()
	return r
}

type tee struct {
	a, b interface{ Write([]byte) (int, error) }
}

func (t tee) Write(p []byte) (int, error) {
	t.b.Write(p)
	return t.a.Write(p)
}

func typedImages() *lookup.Images {
	return &lookup.Images{Given: []lookup.Resolver{typedImage{testImage()}}}
}

func TestTypedRead(t *testing.T) {
	lines := shown()
	whole := strings.Join(lines, "\n")
	for name, text := range map[string]string{
		"as it is":    whole,
		"line ends":   strings.Join(lines, "\r\n") + "\r\n",
		"lower case":  strings.ToLower(whole),
		"no blanks":   strings.ReplaceAll(whole, " ", ""),
		"more blanks": strings.ReplaceAll(whole, " ", "  "),
		"look-alikes": strings.NewReplacer("0", "O", "1", "l", "5", "S", "8", "b", "2", "z", "H", "n", "K", "x", "P", "R", "E", "f", "Y", "v").Replace(whole),
		"names":       strings.Join(lines, "   main.f1.func2\n") + " the end: text",
		"near names":  strings.Join(lines, " main.f1 (*T).Do\n"),
		"the screen":  "zeroframe died: fault in goroutine context\nnil pointer dereference, write to 0x8\n" + whole + "\n\nzf symbolize -typed -e ELF  1/3 any key\n",
		"twice":       strings.Join([]string{lines[0], lines[0], lines[1], lines[2], lines[1]}, "\n") + "\n" + strings.Join(lines[3:], "\n"),
	} {
		r := typeIn(t, text, typed.Options{}, typedImages())
		if got, _, _ := strings.Cut(r.out, "zf1 done"); got != shownText || r.stats != (typed.Stats{Lines: len(lines)}) {
			t.Errorf("%s: %+v\n%s\nsays %s\nwant\n%s", name, r.stats, r.out, r.log, shownText)
		}
		if len(r.traces) != 1 || r.traces[0].Damaged || r.traces[0].BuildID != testBuild || len(r.traces[0].Frames) != 9 {
			t.Fatalf("%s: %d traces; want one that is whole: %s", name, len(r.traces), r.log)
		}
		if f := r.traces[0].Frames[1]; len(f.Calls) != 1 || f.Calls[0].Function != "main.f2" || f.Calls[0].Line != 0x0f {
			t.Errorf("%s: frame 1 is %+v; want the call before main.f2+0x10", name, f.Calls)
		}
	}
}

// TestTypedWrong: every single wrong character is noticed, the line is named, and what was
// meant is said.
func TestTypedWrong(t *testing.T) {
	lines := shown()
	n := 0
	for li, l := range lines {
		for i, c := range l {
			if c == ' ' {
				continue
			}
			for _, with := range tracer.TypedDigits[:16] {
				if with == c || (i+li+int(with))%5 != 0 { // some are enough
					continue
				}
				n++
				bad := append([]string(nil), lines...)
				bad[li] = l[:i] + string(with) + l[i+1:]
				r := typeIn(t, strings.Join(bad, "\n"), typed.Options{}, typedImages())
				if r.stats.Wrong != 1 || len(r.traces) == 1 && !r.traces[0].Damaged {
					t.Fatalf("%q for %q: %+v; want it to be noticed", bad[li], l, r.stats)
				}
				if !strings.Contains(r.log, l) || !strings.Contains(r.log, fmt.Sprintf("line %s is wrong (line %d of the input)", typed.Number(li), li+1)) {
					t.Fatalf("%q for %q says %s; want the line's number and what was meant", bad[li], l, r.log)
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d wrong characters were tried", n)
	}
}

func TestTypedMistakes(t *testing.T) {
	lines := shown()
	join := func(l ...string) string { return strings.Join(l, "\n") }
	rest := join(lines[3:]...)
	swapped := lines[2][:5] + lines[2][6:7] + lines[2][5:6] + lines[2][7:]
	// The end that is right belongs to another trace.
	other := onScreen([]tracer.Frame{{Kind: tracer.PC, Addr: 0x200120}}, tracer.EndZero, 0)
	for name, tt := range map[string]struct {
		text   string
		stats  typed.Stats
		says   string
		frames int
	}{
		"corrected":   {join(lines[0], lines[1], lines[2]+"0", lines[2], rest), typed.Stats{Lines: len(lines)}, "line 02 is wrong", 9},
		"later":       {join(lines[0], lines[1], swapped, rest, lines[2]), typed.Stats{Lines: len(lines)}, "(characters 4 and 5 are exchanged)", 9},
		"left out":    {join(lines[0], lines[1], lines[2], join(lines[4:]...)), typed.Stats{Lines: len(lines) - 1, Missing: 1}, "missing: 03", 7},
		"too short":   {join(lines[0], lines[1], lines[2][:7]+lines[2][9:], rest), typed.Stats{Lines: len(lines) - 1, Wrong: 1}, lines[2], 6},
		"no begin":    {join(lines[1:]...), typed.Stats{Lines: len(lines) - 1, Missing: 1}, "line 00 is missing", 0},
		"no end":      {join(lines[:4]...), typed.Stats{Lines: 4, Missing: 1}, "missing: the end", 4},
		"unknown":     {join(lines[0], lines[1], strings.Replace(lines[2], "210", "2?0", 1), rest), typed.Stats{Lines: len(lines) - 1, Wrong: 1}, lines[2], 6},
		"other end":   {join(lines[0], lines[1], other[2]), typed.Stats{Lines: 3}, "one of the lines is wrong although its check is right", 1},
		"nothing":     {"\n\n# a comment\n", typed.Stats{}, "", 0},
		"long":        {strings.Repeat("0", 100000) + "\n" + join(lines...), typed.Stats{Lines: len(lines)}, "is no line of a trace", 9},
		"not a trace": {"hello there, this is no trace\n", typed.Stats{}, "is no line of a trace", 0},
	} {
		r := typeIn(t, tt.text, typed.Options{}, typedImages())
		if r.stats != tt.stats || !strings.Contains(r.log, tt.says) {
			t.Errorf("%s: %+v; want %+v; says\n%s\nwant %q in it\n%s", name, r.stats, tt.stats, r.log, tt.says, r.out)
		}
		frames := 0
		for _, tr := range r.traces {
			frames += len(tr.Frames)
			if whole := tt.stats.Lines == len(lines); tr.Damaged == whole {
				t.Errorf("%s: damaged = %v", name, tr.Damaged)
			}
		}
		if frames != tt.frames {
			t.Errorf("%s: %d frames; want %d:\n%s", name, frames, tt.frames, r.out)
		}
	}
}

// TestTypedBuild: the first of the images that has the build's digits is taken, and a trace
// of another one is not resolved.
func TestTypedBuild(t *testing.T) {
	text := strings.Join(shown(), "\n")
	other, mine := typedImage{testImage()}, typedImage{testImage()}
	other.build = "3f9a0c5a7de1"
	r := typeIn(t, text, typed.Options{}, &lookup.Images{Given: []lookup.Resolver{other, mine}})
	if len(r.traces) != 1 || r.traces[0].BuildID != testBuild || r.filter.Mismatch {
		t.Errorf("of two images: %s; want that with the build", r.log)
	}
	r = typeIn(t, text, typed.Options{}, &lookup.Images{Given: []lookup.Resolver{other}})
	if !r.filter.Mismatch || len(r.traces) != 1 || len(r.traces[0].Frames) != 0 || !r.traces[0].Damaged || !strings.Contains(r.log, "3f9a0c5b...") {
		t.Errorf("with another image: %+v, says %s; want it refused", r.filter, r.log)
	}
	r = typeIn(t, text, typed.Options{Force: true}, &lookup.Images{Given: []lookup.Resolver{other}})
	if len(r.traces) != 1 || len(r.traces[0].Frames[1].Calls) != 1 {
		t.Errorf("with another image and -force: %s; want it resolved", r.log)
	}
	r = typeIn(t, strings.Join(shown()[1:], "\n"), typed.Options{Force: true}, typedImages())
	if len(r.traces) != 1 || len(r.traces[0].Frames) != 9 || len(r.traces[0].Frames[1].Calls) != 1 {
		t.Errorf("without a begin and with -force: %s\n%s; want it resolved", r.out, r.log)
	}
}

// TestTypedPrompt: who types at a terminal is told which line comes next, after a wrong one
// the same once more, and gets each right line's function at once.
func TestTypedPrompt(t *testing.T) {
	lines := shown()
	var asked []string
	var out bytes.Buffer
	in := typed.New(&out, typed.Options{Images: typedImages, Prompt: func(n int) { asked = append(asked, typed.Number(n)) }})
	for _, s := range []string{lines[0], lines[1], lines[2] + "1", lines[2]} {
		fmt.Fprintln(in, s)
	}
	if got := strings.Join(asked, " "); got != "00 01 02 02 03" {
		t.Errorf("asked for %s", got)
	}
	if !strings.HasSuffix(out.String(), "zf1 #1 ra 0x200210\n") {
		t.Errorf("the answers are\n%s", out.String())
	}
}

func FuzzTyped(f *testing.F) {
	lines := shown()
	f.Add(strings.Join(lines, "\n"), false)
	f.Add(strings.Join(lines[1:], "   main.f\r\n"), true)
	f.Add(strings.Join(lines[:3], "\n")+"\n"+lines[1]+"x\n"+strings.Join(lines, "\n"), true)
	f.Add(strings.Join(deepTyped(), "\n"), false)
	f.Add("00 0 ?\n\xff\n07 7 YYYY 00\n|!$", false)
	f.Fuzz(func(t *testing.T, text string, force bool) {
		r := typeIn(t, text, typed.Options{Force: force}, typedImages())
		for _, tr := range r.traces {
			if len(tr.Frames) > wire.MaxFrames {
				t.Errorf("%d frames", len(tr.Frames))
			}
		}
		if n := strings.Count(text, "\n") + 1; r.stats.Lines > n {
			t.Errorf("%+v of %d lines", r.stats, n)
		}
	})
}
