package qemu

import (
	"regexp"
	"strings"
	"testing"
)

// The measurements that make bench prints are exact: the same numbers in every
// run, and walks that found all frames. No bound is held here on what they cost.

func TestMeasure(t *testing.T) {
	line := regexp.MustCompile(`measure (\S+) (\d+)\r\n`)
	var last string
	for range 2 {
		res, err, serial := boot(t, Config{Icount: true}, "crash=early.measure crash.depth=20")
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
		if last != "" && last != all.String() {
			t.Errorf("two runs measured\n%s\nand\n%s", last, &all)
		}
		last = all.String()
	}
}
