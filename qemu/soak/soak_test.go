package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// kinds are the workers' kinds, in the order in which they are reported.
var kinds = []string{
	"trees", "maps", "stacks", "pool", "mappings", "faults", "signals", "channels", "locks", "timers",
	"sleeps", "threads", "churn", "floats", "vectors", "hashes", "files", "pipes", "sockets", "collections",
}

// checkReport wants a count of every kind.
func checkReport(t *testing.T, r report) {
	t.Helper()
	var names []string
	for _, c := range r.counts {
		names = append(names, c.name)
		if c.n < 1 {
			t.Errorf("%s has been round %d times", c.name, c.n)
		}
	}
	if got, want := fmt.Sprint(names), fmt.Sprint(kinds); got != want {
		t.Errorf("reports of\n%s\nwant\n%s", got, want)
	}
}

// TestSoak is a short soak on each kind of machine, and of the same file on the host:
// computed numbers are the same there.
func TestSoak(t *testing.T) {
	l, err := batch.Build(t.Context(), image.BuildOptions{Package: workers, Output: filepath.Join(t.TempDir(), "workers.elf"), Stderr: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Symbols.Close() })
	out, err := exec.Command(l.Image, "-seed", "1", "-duration", "1s").CombinedOutput()
	if err != nil {
		t.Fatalf("on the host: %v\n%s", err, out)
	}
	host, err := parse(string(out))
	if err != nil {
		t.Fatalf("on the host: %v\n%s", err, out)
	}
	checkReport(t, host)
	for _, p := range []plan{
		{"q35", "", 48, 1, 1, 5 * time.Second},
		{"q35", "max", 48, 1, 2, 3 * time.Second},
		{"microvm", "", 48, 1, 3, 3 * time.Second},
		{"q35", "", 48, 1, 11, 20 * time.Second},
		{"q35", "", 48, 1, 12, 20 * time.Second},
		{"q35", "max", 48, 1, 13, 20 * time.Second},
		{"microvm", "", 48, 1, 14, 20 * time.Second},
		{"q35", "", 48, 2, 4, 3 * time.Second},
		{"microvm", "", 48, 4, 5, 3 * time.Second},
		{"q35", "", 64, 8, 15, 20 * time.Second},
	} {
		name := fmt.Sprintf("%s%s-%v-%d", p.machine, p.cpu, p.duration, p.seed)
		if p.cpus > 1 {
			name += fmt.Sprintf("-smp%d", p.cpus)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, serial, err := try(t.Context(), l, p)
			if err != nil {
				t.Fatalf("%v: %v\n%s", p, err, serial)
			}
			checkReport(t, r)
			if r.known != host.known {
				t.Errorf("the known numbers are %s; on the host %s", r.known, host.known)
			}
			if want := map[string]string{"": "128", "max": "256"}[p.cpu]; r.bits != want {
				t.Errorf("the vectors have %s bits; want %s", r.bits, want)
			}
			t.Log(r)
		})
	}
}

// TestWrong: a program that ends otherwise than by its own word is a failure, which is
// told with all that the serial port said.
func TestWrong(t *testing.T) {
	l, err := batch.Build(t.Context(), image.BuildOptions{Package: workers, Output: filepath.Join(t.TempDir(), "workers.elf"), Stderr: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Symbols.Close()
	var out strings.Builder
	failed, err := tryAll(t.Context(), l, []plan{
		{"nosuch", "", 48, 1, 1, time.Second},
		{"q35", "", 8, 1, 2, time.Second},
		{"q35", "", 6, 1, 3, time.Second},
	}, 2, &out)
	if failed != 3 || err != nil {
		t.Errorf("%d failed, %v; want 3\n%s", failed, err, &out)
	}
	for _, want := range []string{
		"FAIL  nosuch, 48 MiB, seed 1: QEMU failed", "FAIL  q35, 8 MiB, seed 2: the program traced\n", "zf1 reason out of memory",
		// The boot's own words, or the kernel's, as the image is large or small.
		"FAIL  q35, 6 MiB, seed 3: the program traced\n", "(QEMU: -m", "\n0 passed, 3 failed\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
}

func TestParse(t *testing.T) {
	const good = "soak: seed 1, 5s, 1 CPU, vectors of 128 bits\r\nsoak: known floats 0a\r\nsoak: trees 3\r\nsoak: ok\r\n"
	if r, err := parse(good); err != nil || len(r.counts) != 1 || r.counts[0] != (count{"trees", 3}) || r.known != "0a" || r.bits != "128" {
		t.Errorf("parse = %v, %v", r, err)
	}
	for _, s := range []string{
		strings.Replace(good, "soak: ok", "soak: o", 1), strings.Replace(good, "trees 3", "trees 0", 1),
		strings.Replace(good, "soak: trees", "trees", 1), strings.Replace(good, "known", "k", 1), strings.Replace(good, "bits", "b", 1), "",
	} {
		if r, err := parse(s); err == nil {
			t.Errorf("parse(%q) = %v; want an error", s, r)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"-p", "0"}, {"-duration", "0s"}, {"-nosuch"}} {
		if err := command(t.Context(), args, new(strings.Builder), t.Output()); err == nil || !strings.HasSuffix(err.Error(), "; -h lists the flags") {
			t.Errorf("soak %q: %v; want an error", args, err)
		}
	}
}
