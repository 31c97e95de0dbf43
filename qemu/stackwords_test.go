package qemu

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The option trace.stack: how much of the stack a trace carries, and what the host
// makes of it.

var memLine = regexp.MustCompile(`(?m)^zf1 mem 0x([0-9a-f]+):((?: [0-9a-f]+)+)\r?$`)

// dumped returns the addresses of the words that a log's trace carries.
func dumped(t *testing.T, serial string) map[uint64]bool {
	t.Helper()
	words := make(map[uint64]bool)
	for _, m := range memLine.FindAllStringSubmatch(serial, -1) {
		a, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		for range strings.Fields(m[2]) {
			words[a] = true
			a += 8
		}
	}
	return words
}

// words counts those from a frame's stack pointer up, without a gap.
func words(t *testing.T, all map[uint64]bool, sp string) (n int) {
	t.Helper()
	a, err := strconv.ParseUint(sp, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	for all[a] {
		n, a = n+1, a+8
	}
	return n
}

// above is how many words there are from a stack pointer to the end of the boot
// stack.
func above(t *testing.T, tr *labTrace, serial, stackPointer string) int {
	t.Helper()
	sp, _ := strconv.ParseUint(stackPointer, 0, 64)
	var lo uint64
	_, row, _ := strings.Cut(serial, "zf1 stack boot ")
	if _, err := fmt.Sscanf(row, "0x%x", &lo); err != nil {
		t.Fatal(err)
	}
	return int(lo+uint64(tr.stack("boot").Size)-sp) / 8
}

// TestStackOption: the trace has as many words as were asked for, to the end of the
// stack at most, and is unwound as far as they go.
func TestStackOption(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		option   string
		words    int // or as many as there are to the end of the stack
		complete bool
		says     string
	}{
		{"", 64, true, ""},
		{"trace.stack=512", 64, true, ""},
		{"trace.stack=1000000", 8192, true, "trace.stack= is cut to 65536 bytes"},
		{"trace.stack=8192", 1024, true, ""},
		{"trace.stack=200", 25, false, ""},
		{"trace.stack=24", 3, false, ""},
		{"trace.stack=0", 3, false, ""}, // what the first frame is repaired with
		{"trace.stack=much", 64, true, "trace.stack=much is ignored: want a number of bytes"},
		{"trace=compact", 0, false, ""}, // 16 words are too few here
		{"trace=compact trace.stack=512", 0, true, ""},
		{"trace=compact trace.stack=32768", 0, true, ""},
	} {
		t.Run(test.option, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			res, serial, err := boot(t, Config{Kernel: path}, "crash=early.rbp-reused "+test.option)
			if err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
			all := traces(t, symbols, serial)
			if len(all) != 1 {
				t.Fatalf("%d traces; want 1", len(all))
			}
			tr := all[0]
			if tr.Damaged || tr.Complete != test.complete {
				t.Errorf("damaged, complete = %v, %v; want false, %v; %s", tr.Damaged, tr.Complete, test.complete, tr.chain())
			}
			if want := "boot: main.reuse main.reusedC main.reusedB main.reusedA" + tail; test.complete && tr.chain() != want {
				t.Errorf("chain = %s; want %s", tr.chain(), want)
			}
			if !strings.Contains(serial, test.says) {
				t.Errorf("%q does not say %q", serial, test.says)
			}
			if test.words == 0 {
				return
			}
			want := min(test.words, above(t, tr, serial, tr.Frames[0].SP))
			if got := words(t, dumped(t, serial), tr.Frames[0].SP); got != want {
				t.Errorf("%d words from the stack pointer up; want %d", got, want)
			}
		})
	}
}

// TestStackWordsElsewhere: the other stacks of a trace are dumped too if that was
// asked for, and a page that is not mapped ends the dump and nothing else.
func TestStackWordsElsewhere(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	_, serial, _ := boot(t, Config{Kernel: path}, "crash=early.in-irq trace.stack=400 args=0")
	all := traces(t, symbols, serial)
	if len(all) != 1 || !all[0].Complete || all[0].WalkEnd != "" {
		t.Fatalf("%d traces; want one that is complete by its walk", len(all))
	}
	mem, n := dumped(t, serial), 0
	for _, f := range all[0].Frames {
		if f.Kind == "pc" && !f.Inlined {
			n++
			want := 50
			if f.Stack == "boot" {
				want = min(want, above(t, all[0], serial, f.SP))
			}
			if got := words(t, mem, f.SP); got != want {
				t.Errorf("stack %s: %d words; want %d", f.Stack, got, want)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d pc frames; want 2", n)
	}
	// All of a deep stack.
	_, serial, _ = boot(t, Config{Kernel: path}, "crash=early.deep crash.depth=100 trace.stack=32768")
	if all = traces(t, symbols, serial); len(all) != 1 {
		t.Fatalf("%d traces; want 1", len(all))
	}
	if got, want := words(t, dumped(t, serial), all[0].Registers["rsp"]), above(t, all[0], serial, all[0].Registers["rsp"]); got != want || got < 200 {
		t.Errorf("%d words of a deep stack; want all %d, and 200 or more", got, want)
	}
	_, serial, _ = boot(t, Config{Kernel: path}, "crash=early.rbp-unmapped trace.stack=65536")
	all = traces(t, symbols, serial)
	if len(all) != 1 || all[0].Damaged || all[0].chain() != "boot: main.smash main.unmappedC main.unmappedB" {
		t.Errorf("%d traces in %s; want one, up to main.unmappedB", len(all), serial)
	}
}
