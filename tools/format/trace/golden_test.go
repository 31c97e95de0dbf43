package trace

// Logs whose output is kept in testdata, and read again as they were saved.

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what came out with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s (see -update):\n%s\nwant:\n%s", name, got, want)
	}
}

type goldenInput struct {
	name string
	opt  Options
	in   []byte
}

// goldenInputs are the inputs of the golden files.
func goldenInputs() []goldenInput {
	awkward := sample()
	awkward.Frames = []wire.Frame{
		{Kind: tracer.PC, Address: 0x201210, SP: 0x10, FP: 0x20, Stack: "boot"},     // inlined calls
		{Kind: tracer.RA, Address: 0x201510, FP: 0xffffffff800e8fd0, Stack: "boot"}, // does not fit
		{Kind: tracer.RA, Address: 0x201310, FP: 0x3e8fd0, Stack: "boot"},           // runtime.sigpanic
		{Kind: tracer.RA, Address: 0x200300, FP: 0x3e8fd8, Stack: "boot"},           // exact: at the entry of main.f3
		{Kind: tracer.RA, Address: 0x200300, FP: 0x3e8fe0, Stack: "boot"},           // behind the end of main.f2
		{Kind: tracer.RA, Address: 0x300040, FP: 0x3e8fe8, Stack: "boot"},           // in no symbol
		{Kind: tracer.RA, Address: 0x201410, FP: 0x3e8ff0, Stack: "boot"},           // hostile names
		{Kind: tracer.Scan, Address: 0x201220, FP: 0, Stack: ""},
	}
	awkward.End, awkward.EndValue = "misaligned", 0x3e8ff5
	return []goldenInput{
		{"text", Options{Symbols: testImage()}, append([]byte("boot\r\n"), textForm(sample(), false)...)},
		{"markup", Options{Symbols: testImage()}, textForm(sample(), true)},
		{"compact", Options{Symbols: testImage()}, compactForm(sample())},
		{"compact-repeat", Options{Symbols: testImage()}, bootOfTraces()[:bytes.Index(bootOfTraces(), []byte("zf1=#"))+9]},
		{"color", Options{Symbols: testImage(), Color: true, Sanitize: true}, textForm(sample(), false)},
		{"awkward", Options{Symbols: testImage()}, textForm(awkward, false)},
		{"repair", Options{Symbols: testImage()}, repairTrace(0x201010, 0x3e8fc0, 0x3e8fe0)},
		{"damaged", Options{Symbols: testImage()}, bytes.Replace(textForm(sample(), false), []byte("0x8"), []byte("0x9"), 1)},
		{"cut", Options{Symbols: testImage()}, textForm(sample(), false)[:390]},
		{"nested", Options{Symbols: testImage()}, lines(begin, "zf1 reason first", "zf1 #0 pc 0x200110 sp 0x10 fp 0x20 boot",
			"zf1 begin 2 fault kernel thread=0 build="+testBuild, "zf1 reason second", "zf1 #0 pc 0x200210 sp 0x10 fp 0x20 panic",
			"zf1 last fault 0x200310 third")},
		{"goroutine", Options{Symbols: testImage()}, textForm(sampleGo(), false)},
		{"mismatch", Options{Symbols: &fakeImage{build: "0123"}}, textForm(sample(), false)},
	}
}

// TestAgain: a log with its traces resolved goes through a filter unchanged, and
// says the same as the raw one.
func TestAgain(t *testing.T) {
	inputs := goldenInputs()
	for _, form := range forms {
		complete := sample()
		complete.End = "zero"
		in := append(append(form.write(complete), "text\r\n    text\r\n"...), form.write(sample())...)
		inputs = append(inputs, goldenInput{form.name + " twice", Options{Symbols: testImage()}, in},
			goldenInput{form.name + " cut", Options{Symbols: testImage()}, append(form.write(sample())[:bytes.LastIndex(form.write(sample()), []byte("\nzf1"))+1], in...)})
	}
	for _, tt := range inputs {
		if tt.name == "cut" {
			// It ends within a line. Our note ends that, and makes it whole.
			tt.in = tt.in[:bytes.LastIndexByte(tt.in, '\n')+1]
		}
		raw := filter(t, tt.opt, tt.in)
		opt := tt.opt
		opt.Color = false
		log := filter(t, opt, tt.in).out.Bytes()
		var bytewise, slow [][]byte
		for i := range log {
			bytewise = append(bytewise, log[i:i+1])
			slow = append(slow, log[i:i+1], nil)
		}
		for _, r := range []*run{filter(t, opt, log), filter(t, opt, bytewise...), filter(t, opt, slow...)} {
			if !bytes.Equal(r.out.Bytes(), log) {
				t.Errorf("%s: output = %s; want %s", tt.name, r.out.Bytes(), log)
			}
			if r.json.String() != raw.json.String() || r.stats != raw.stats {
				t.Errorf("%s: %+v, JSON = %s; want %+v, %s", tt.name, r.stats, r.json.Bytes(), raw.stats, raw.json.Bytes())
			}
		}
		// The names stay where nothing can be resolved.
		if r := filter(t, Options{}, log); !bytes.Equal(r.out.Bytes(), log) && !strings.HasPrefix(tt.name, "compact") {
			t.Errorf("%s, no symbols: output = %s; want %s", tt.name, r.out.Bytes(), log)
		}
	}
	// Text that only resembles a line of ours stays.
	for _, text := range []string{"    main.f1+0x10", "        kernel/main.go:17", "zf: text", "  zf: trace 1", "        kernel/ma"} {
		in := lines(begin, "zf1 #0 pc 0x200110 sp 0x10 fp 0x20 boot", text, "zf1 stop zero (complete)", text)
		if got := strings.Count(filter(t, Options{Symbols: testImage()}, in).out.String(), text+"\r\n"); got != 2 {
			t.Errorf("%q: %d times in the output; want 2", text, got)
		}
	}
}

func TestGolden(t *testing.T) {
	for _, tt := range goldenInputs() {
		r := filter(t, tt.opt, tt.in)
		out := bytes.ReplaceAll(r.out.Bytes(), []byte("\r\n"), []byte("\n"))
		golden(t, tt.name+".out", out)
		golden(t, tt.name+".json", r.json.Bytes())
		for l := range bytes.Lines(out) {
			if n := len(strings.TrimRight(string(l), "\n")); n > 80 && tt.name != "color" &&
				!bytes.HasPrefix(l, []byte("zf1 mem")) && !bytes.HasPrefix(l, []byte("zf1 stack")) && !bytes.HasPrefix(l, []byte("zf: stack")) {
				t.Errorf("%s: a line of %d columns: %s", tt.name, n, l)
			}
		}
		for l := range bytes.Lines(r.json.Bytes()) {
			if !json.Valid(l) {
				t.Errorf("%s: no JSON: %s", tt.name, l)
			}
		}
	}
}
