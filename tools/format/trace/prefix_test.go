package trace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// collectors put something in front of line n.
var collectors = []struct {
	name   string
	prefix func(n int) string
}{
	{"dmesg", func(n int) string { return fmt.Sprintf("[%5d.%06d] ", n*997, n*31) }},
	{"dmesg -x", func(n int) string { return fmt.Sprintf("<6>[%5d.%06d][    T1] ", n, n) }},
	{"syslog", func(n int) string { return fmt.Sprintf("Nov %2d 17:55:%02d board kernel: ", 9+n/30, n%60) }},
	{"journalctl -o short-iso", func(n int) string { return fmt.Sprintf("2026-11-21T17:55:%02d+00:00 host qemu[123]: ", n%60) }},
	{"docker compose", func(int) string { return "web-1    | " }},
	{"docker compose in colour", func(int) string { return "\x1b[36mweb-1  |\x1b[0m " }},
	{"kubectl logs --prefix --timestamps", func(n int) string {
		return fmt.Sprintf("[pod/vm-7d4b9/console] 2026-11-21T17:55:00.%09dZ ", n*7919)
	}},
	{"ts", func(n int) string { return fmt.Sprintf("Nov 21 17:%02d:00 ", n%60) }},
	{"tio", func(n int) string { return fmt.Sprintf("[17:55:%02d.%03d] ", n%60, n) }},
	{"cri", func(n int) string { return fmt.Sprintf("2026-11-21T17:55:00.%09dZ stdout F ", n) }},
	{"dmesg -x in words", func(n int) string { return fmt.Sprintf("kern  :warn  : [%5d.%06d] ", n*997, n*31) }},
	{"/dev/kmsg", func(n int) string { return fmt.Sprintf("4,%d,%d,-,caller=T1;", n*7, n*997) }},
	{"logcat", func(n int) string { return fmt.Sprintf("11-21 17:55:00.%03d     0 %5d W kernel  : ", n, n*7) }},
	{"journalctl -o short-full", func(n int) string { return fmt.Sprintf("Sat 2026-11-21 17:55:%02d CET board kernel[0]: ", n%60) }},
	{"erasing to the end of the line", func(int) string { return "\x1b[Kweb-1  |\x1b[0m\x1b[K " }},
	{"constant", func(int) string { return "rack 3, board B> " }},
}

// behind puts a prefix in front of each line.
func behind(log []byte, prefix func(n int) string) []byte {
	var b []byte
	n := 0
	for line := range bytes.Lines(log) {
		n++
		b = append(append(b, prefix(n)...), line...)
	}
	return b
}

// TestPrefix: behind each prefix a trace of each form is found, is intact and is the
// same as without, however the bytes come in; and the result stays when it is read
// again.
func TestPrefix(t *testing.T) {
	for _, form := range forms {
		log := slices.Concat([]byte("booting\nzeroframe v0.1 build "+testBuild+"\nhello zf1 world\n"),
			form.write(sample()), []byte("more\n"), form.write(sample()))
		want := filter(t, Options{Symbols: testImage()}, log)
		if want.stats.Traces != 2 || want.stats.Damaged != 0 {
			t.Fatalf("%s without a prefix: %+v", form.name, want.stats)
		}
		for _, c := range collectors {
			in := behind(log, c.prefix)
			opt := Options{Symbols: testImage(), Prefixes: true}
			got := filter(t, opt, in)
			if got.stats != want.stats || !bytes.Equal(got.json.Bytes(), want.json.Bytes()) {
				t.Errorf("%s, %s: %+v\n%s\nwant %+v\n%s", form.name, c.name, got.stats, got.json.Bytes(), want.stats, want.json.Bytes())
				continue
			}
			for line := range bytes.Lines(in) {
				if !bytes.Contains(got.out.Bytes(), bytes.TrimRight(line, "\r\n")) {
					t.Errorf("%s, %s: %q is not in the output", form.name, c.name, line)
				}
			}
			if n := bytes.Count(got.out.Bytes(), []byte("main.f1+0x")); n == 0 {
				t.Errorf("%s, %s: nothing is resolved: %s", form.name, c.name, got.out.Bytes())
			}
			for _, step := range []int{1, 3, 40} {
				parts := slices.Collect(slices.Chunk(in, step))
				if s := filter(t, opt, parts...); !bytes.Equal(s.out.Bytes(), got.out.Bytes()) {
					t.Errorf("%s, %s in steps of %d: %s\nwant %s", form.name, c.name, step, s.out.Bytes(), got.out.Bytes())
				}
			}
			again := filter(t, opt, got.out.Bytes())
			if !bytes.Equal(again.out.Bytes(), got.out.Bytes()) {
				t.Errorf("%s, %s again: %s\nwant %s", form.name, c.name, again.out.Bytes(), got.out.Bytes())
			}
			if off := filter(t, Options{Symbols: testImage()}, in); off.stats.Traces != 0 || !bytes.Equal(off.out.Bytes(), in) {
				t.Errorf("%s, %s without Prefixes: %+v; want the input", form.name, c.name, off.stats)
			}
		}
	}
}

// TestPrefixNot: lines that speak of traces are not taken for such.
func TestPrefixNot(t *testing.T) {
	begin := "zf1 begin 1 fault early thread=0 build=" + testBuild + "\n"
	for _, in := range []string{
		"xzf1 begin 1 fault early thread=0 build=" + testBuild + "\n",
		"a line with zf1 begin in it\n",
		"\x07 " + begin,
		strings.Repeat("x", wire.MaxPrefix) + " " + begin,
		"log: zf1 #0 pc 0x200110 sp 0x0 fp 0x0 boot\n",
		"[1.0] zf1 done 3 crc=0x00000000\n",
		strings.Repeat("no newline zf1", 100),
	} {
		for _, step := range []int{1, 7, len(in)} {
			r := filter(t, Options{Symbols: testImage(), Prefixes: true}, slices.Collect(slices.Chunk([]byte(in), step))...)
			if r.stats.Traces != 0 || r.out.String() != in {
				t.Errorf("%q: %+v, %q; want the input", in, r.stats, r.out.Bytes())
			}
		}
	}
	// In a trace, another source's line that has a tag is none of it.
	in := behind(textForm(sample(), false), func(int) string { return "a | " })
	lines := bytes.SplitAfter(in, []byte("\n"))
	in = slices.Concat(bytes.Join(lines[:4], nil), []byte("b | zf1 #9 ra 0x200110 fp 0x0 boot\n"), bytes.Join(lines[4:], nil))
	if r := filter(t, Options{Symbols: testImage(), Prefixes: true}, in); r.stats.Traces != 1 || r.stats.Damaged != 0 {
		t.Errorf("with a line of another source: %+v, %s", r.stats, r.log.Bytes())
	}
}

// TestPrefixLive: the beginning of a line is held back until Flush, no longer, and the
// trace is found all the same.
func TestPrefixLive(t *testing.T) {
	var out bytes.Buffer
	var got []*wire.Trace
	f, err := NewFilter(&out, Options{Symbols: testImage(), Prefixes: true, Dir: "/", OnTrace: func(t *wire.Trace) { got = append(got, t) }})
	if err != nil {
		t.Fatal(err)
	}
	write := func(s, want string) {
		t.Helper()
		if _, err := f.Write([]byte(s)); err != nil || out.String() != want {
			t.Errorf("after %q: %q, %v; want %q", s, out.String(), err, want)
		}
	}
	write("login: ", "")
	if f.Flush(); out.String() != "login: " {
		t.Errorf("flushed: %q; want the prompt", out.String())
	}
	write("root\n", "login: root\n")
	out.Reset()
	for line := range bytes.Lines(behind(textForm(sample(), false), func(int) string { return "[1.5] " })) {
		for part := range slices.Chunk(line, 5) {
			f.Write(part)
			f.Flush()
		}
	}
	if err := f.Close(); err != nil || len(got) != 1 || got[0].Damaged || len(got[0].Frames) != len(sample().Frames) {
		t.Errorf("traces %+v, %v; want one, intact\n%s", got, err, out.Bytes())
	}
}

// TestPrefixForeign: the traces of others are found behind what a log collector writes.
func TestPrefixForeign(t *testing.T) {
	for _, c := range captures(t) {
		if strings.Contains(c.in, "\x1b") || strings.HasPrefix(c.in, "[12.3]") {
			continue // it has prefixes of its own
		}
		want := filter(t, c.opt, []byte(c.in))
		for _, p := range collectors {
			if p.name == "constant" {
				continue
			}
			c := c
			c.in = string(behind([]byte(c.in), p.prefix))
			c.want = slices.Clone(c.want)
			for i, w := range c.want {
				if rest, ok := strings.CutPrefix(w, " "); ok {
					c.want[i] = rest
				}
			}
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				got := filter(t, c.opt, []byte(c.in))
				checkForeign(t, &c, got)
				if !bytes.Equal(got.json.Bytes(), want.json.Bytes()) {
					t.Errorf("JSON = %s\nwant %s", got.json.Bytes(), want.json.Bytes())
				}
			})
		}
	}
}
