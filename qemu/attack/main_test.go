package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tracer"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Exit(m.Run())
}

// TestAttack: what is left of 200 machines. Some 4 of them leave no whole trace; one more or less
// may on a busy host, where the serial port is slower.
func TestAttack(t *testing.T) {
	const (
		n    = 200
		most = 6 // machines that leave no whole trace
	)
	m := newAttack()
	l, err := m.Lab(t.Context(), t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Symbols.Close()
	s := batch.Settings{N: n, Seed: 1, Parallel: runtime.NumCPU()}
	results, err := m.Sweep(t.Context(), l, s, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	deaths, by := 0, map[end]int{}
	for _, r := range results {
		deaths += r.death()
		by[r.end]++
	}
	if by[wrong] > 0 || by[silent] > 0 || deaths-by[full] > most || deaths < n*3/4 {
		t.Errorf("want no wrong frame, none silent, at most %d not full:\n%s", most, m.Table(results, s))
	}
}

// TestSame: a case repeats to the byte, and the verdict is that of its trace.
func TestSame(t *testing.T) {
	t.Parallel()
	built, err := newAttack().Lab(t.Context(), t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer built.Symbols.Close()
	l := &lab{Lab: built}
	all, err := readTargets(l.Image)
	if err != nil {
		t.Fatal(err)
	}
	symbols := l.Symbols.Named("main.load")
	if len(symbols) != 1 {
		t.Fatalf("%d functions main.load", len(symbols))
	}
	walker := slices.IndexFunc(all[kernelData], func(o object) bool { return strings.HasSuffix(o.name, "kernel/stack.Walker") })
	if walker < 0 {
		t.Fatal("no variable stack.Walker")
	}
	const spanAt = 40 // from its end: how far the addresses reach that have a mark, as Prepare has found
	span := all[kernelData][walker].addr + uint64(unsafe.Sizeof(tracer.Walker{})) - spanAt
	for _, tt := range []struct {
		name string
		hit  hit
		end  end
		died bool
		how  string
	}{
		{"nothing is there", hit{addr: 8, size: 8}, full, true, "panic: runtime error: invalid memory address or nil pointer dereference"},
		{"of no effect", hit{addr: symbols[0].Start, size: 1, kind: kernelText, value: 0x48}, full, false, nilRead},
		{"the reach of the marks", hit{addr: span, size: 8, kind: kernelData}, full, false, "panic: runtime error: invalid memory address or nil pointer dereference"},
		{"not as told", hit{addr: symbols[0].Start, size: 2, kind: kernelText, value: 0x0b0f}, full, true, ""},
	} {
		first, err := l.boot(t.Context(), tt.hit)
		if err != nil {
			t.Fatal(err)
		}
		if first.end != tt.end || first.died != tt.died || !strings.HasPrefix(first.how, tt.how) {
			t.Errorf("%s: %v, died %v, %s; want %v, %v\n%s", tt.name, first.end, first.died, first.how, tt.end, tt.died, first.Serial)
		}
		if again, err := l.boot(t.Context(), tt.hit); err != nil || again.Serial != first.Serial {
			t.Errorf("%s: the second time is not like the first: %v\n%s\n%s", tt.name, err, first.Serial, again.Serial)
		}
	}
	// What the serial port would have of worse ends.
	r, err := l.boot(t.Context(), hit{addr: 8, size: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from, to string
		end      end
	}{
		{"zf1 #1 ra 0x", "zf1 #1 ra 0x1", wrong},
		{"zf1 done", "zf1 dnoe", short},
		{"zf1 reason panic", "zf1 reason in the panic path: panic", short},
	} {
		changed := result{hit: r.hit, machine: r.machine, Sent: batch.Sent{Serial: strings.Replace(r.Serial, tt.from, tt.to, 1)}}
		if err := l.judge(&changed, nil); err != nil || changed.end < tt.end {
			t.Errorf("with %q it is %v, %v; want %v", tt.to, changed.end, err, tt.end)
		}
	}
}

// TestAim: cases are of all kinds, in the objects that they name, and every word gets each value.
func TestAim(t *testing.T) {
	all := targets{
		{{"a", 100, 10}, {"b", 200, 1}}, {{"c", 300, 8}, {"d", 304, 100}}, {{"e", 512, 3}}, {{"f", 600, 1}, {"g", 608, 8}},
	}
	words := map[string]map[uint64]bool{"f": {}, "g": {}}
	for n := range 1000 {
		h := all.aim(3, n)
		if h != all.aim(3, n) {
			t.Fatalf("case %d is not the same twice", n)
		}
		found := false
		for _, o := range all[h.kind] {
			found = found || o.name == h.name && h.addr == o.addr+h.offset && h.offset < o.size
		}
		if !found || h.kind != kind(n%4) {
			t.Errorf("case %d is %v", n, h)
		}
		if h.kind == kernelWord {
			words[h.name][h.value] = true
			if h.name == "f" && h.size != 1 {
				t.Errorf("case %d is %v; want 1 byte", n, h)
			}
		}
	}
	for name, values := range words {
		if len(values) < 3 || !values[0] || !values[^uint64(0)] {
			t.Errorf("the word %s got %d values; want 0, all ones and others", name, len(values))
		}
	}
}

// TestUsage: wrong flags are refused, and -h says what there is.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"-n", "0"}, {"-j", "0"}, {"-seed", "x"}} {
		if err := newAttack().Command(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "-h lists the flags") {
			t.Errorf("%q: %v", args, err)
		}
	}
	var out bytes.Buffer
	if err := newAttack().Command(t.Context(), []string{"-h"}, &out, new(bytes.Buffer)); err == nil || !strings.Contains(out.String(), "-only NUMBER") {
		t.Errorf("-h: %v, %s", err, &out)
	}
	if _, err := readTargets(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("targets of no file")
	}
}
