package qemu

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// The measurements that make bench prints are exact: the same numbers in every
// run, and walks that found all frames. No bound is held here on what they cost.

func TestMeasure(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`measure (\S+) (\d+)\r\n`)
	var last string
	for range 2 {
		res, serial, err := boot(t, Config{Icount: true}, "crash=early.measure crash.depth=20")
		if err != nil || res.Outcome != Exited {
			t.Fatalf("the machine: %v, %v; want it to exit", res.Outcome, err)
		}
		var all strings.Builder
		v := map[string]string{}
		for _, m := range line.FindAllStringSubmatch(serial, -1) {
			all.WriteString(m[0])
			v[m[1]] = m[2]
		}
		for _, name := range []string{"walk.frames", "walk.tables.frames", "bare.frames"} {
			if v[name] != "20" {
				t.Errorf("%s = %q; want 20", name, v[name])
			}
		}
		if v["walk.complete"] != "1" {
			t.Errorf("walk.complete = %q; want 1", v["walk.complete"])
		}
		if v["capture.frames"] != "19" { // all but the first, which needs no walk
			t.Errorf("capture.frames = %q; want 19", v["capture.frames"])
		}
		if v["fault.frames"] != "2" || v["fault.unreadable"] != "1" || v["fault.same"] != "0" || v["fault.frames.again"] != "1" {
			t.Errorf("captures through missing pages: %v", v)
		}
		if n, _ := strconv.Atoi(v["use.call"]); n < 8<<10 || n > 8<<10+256 {
			t.Errorf("a function with 8 KiB of variables was measured to take %d bytes", n)
		}
		for _, name := range []string{"use.need", "use.burnt", "use.reset", "use.fresh", "use.again"} {
			if v[name] != "1" {
				t.Errorf("%s = %q; want 1", name, v[name])
			}
		}
		if v["again.same"] != "1" {
			t.Error("a stack that has not changed was taken for another")
		}
		if v["large.full.used"] != "5000" || v["large.pages.used"] != "5000" {
			t.Errorf("the scans by words and by pages say %s and %s; want 5000", v["large.full.used"], v["large.pages.used"])
		}
		if last != "" && last != all.String() {
			t.Errorf("two runs measured\n%s\nand\n%s", last, &all)
		}
		last = all.String()
	}
}

// TestRepeat: a trace that is the one before once more takes a line of nine bytes in
// the compact form, and has the same frames.
func TestRepeat(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	res, serial, err := boot(t, Config{Kernel: path}, "crash=early.repeat trace=compact")
	if err != nil || res.Outcome != Exited {
		t.Fatalf("the machine: %v, %v; want it to exit", res.Outcome, err)
	}
	lines := 0
	for line := range strings.Lines(serial) {
		if strings.HasPrefix(line, tracer.RepeatTag) {
			if lines++; len(line) != 9 {
				t.Errorf("%q has %d bytes; want 9", line, len(line))
			}
		}
	}
	all := traces(t, symbols, serial)
	if lines != 2 || len(all) != 3 {
		t.Fatalf("%d traces, %d of them in a line; want 3, 2", len(all), lines)
	}
	checkTrace(t, all[0])
	for _, tr := range all {
		if len(tr.Frames) != 32 || !reflect.DeepEqual(tr.Frames, all[0].Frames) {
			t.Errorf("%d frames; want the same 32 each time", len(tr.Frames))
		}
	}
}
