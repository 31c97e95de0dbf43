package qemu

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// Random stacks in the machine, where a bad address is a fault: walked, captured and
// traced without end; and deaths with random registers, all the way to the host.

// randomLine is what the crash lab says before a trace; randomEnd what it says at the end.
var (
	randomLine = regexp.MustCompile(`(?m)^random seed (\d+) certain((?: \w+ 0x[0-9a-f]+)+)\r$`)
	randomFail = regexp.MustCompile(`(?m)^random seed \d+ failed: .*$`)
	randomEnd  = regexp.MustCompile(`(?m)^random (\d+) seeds, (\d+) frames, (\d+) known, (\d+) captured, (\d+) traces, (\d+) failures, ends:(.*)\r$`)
)

func TestRandomStacks(t *testing.T) {
	t.Parallel()
	const boots, each = 8, 125
	path, symbols := lab(t, image.AllLoaders)
	forms := []string{"text", "compact", "markup"}
	type result struct {
		frames, known, captured, traces int
		ends                            map[string]int
	}
	results := make(chan result, boots)
	t.Run("boots", func(t *testing.T) {
		for i := range boots {
			form := forms[i%len(forms)]
			t.Run(fmt.Sprintf("%d-%s", i, form), func(t *testing.T) {
				t.Parallel()
				res, serial, err := boot(t, Config{Kernel: path}, fmt.Sprintf("crash=early.random crash.seed=%d crash.count=%d trace=%s", i*each, each, form))
				if err != nil || res.Outcome != Exited || res.Program != 0 {
					t.Fatalf("the machine: %v, status %d, %v; want it to exit with 0; it said %q", res.Outcome, res.Program, err, randomFail.FindAllString(serial, 10))
				}
				end := randomEnd.FindStringSubmatch(serial)
				if end == nil || end[1] != strconv.Itoa(each) || end[6] != "0" {
					t.Fatalf("the last line says %q; want %d seeds and 0 failures", end, each)
				}
				r := result{ends: map[string]int{}}
				for i, p := range []*int{&r.frames, &r.known, &r.captured, &r.traces} {
					*p, _ = strconv.Atoi(end[2+i])
				}
				for _, f := range strings.Fields(end[7]) {
					name, n, _ := strings.Cut(f, "=")
					r.ends[name], _ = strconv.Atoi(n)
				}
				said := randomLine.FindAllStringSubmatch(serial, -1)
				// Without symbols: with them the host finds out what is wrong with a made-up
				// chain. But it must be able to read it.
				all, resolved := traces(t, nil, serial), traces(t, symbols, serial)
				if len(said) != len(all) || len(all) != r.traces || len(resolved) != r.traces {
					t.Fatalf("%d traces were read, %d with symbols, %d were announced, %d counted", len(all), len(resolved), len(said), r.traces)
				}
				for i, tr := range all {
					if why := sameRandom(tr, strings.Fields(said[i][2])); why != "" {
						t.Errorf("seed %s: %s", said[i][1], why)
					}
				}
				results <- r
			})
		}
	})
	if t.Failed() {
		return
	}
	close(results)
	sum, ends := result{}, map[string]int{}
	for r := range results {
		sum.frames += r.frames
		sum.known += r.known
		sum.captured += r.captured
		sum.traces += r.traces
		for e, n := range r.ends {
			ends[e] += n
		}
	}
	t.Logf("%d seeds, %d frames of walks, %d known, %d captured, %d traces, ends %v", boots*each, sum.frames, sum.known, sum.captured, sum.traces, ends)
	if sum.known < 5000 || sum.captured < 1000 || sum.traces < 100 || len(ends) != 9 {
		t.Errorf("%d frames known, %d captured, %d traces, %d ends; want 5000, 1000, 100 and 9 at least", sum.known, sum.captured, sum.traces, len(ends))
	}
	for e, n := range ends {
		if n == 0 {
			t.Errorf("no walk ended as %s", e)
		}
	}
}

// sameRandom holds the frames that the kernel has found against those of which it knew.
func sameRandom(tr *labTrace, certain []string) (why string) {
	if tr.Damaged || tr.Kind != "trace" || tr.End == "" {
		return fmt.Sprintf("damaged, kind, end = %v, %s, %q", tr.Damaged, tr.Kind, tr.End)
	}
	for i := 0; i+1 < len(certain); i += 2 {
		if i/2 >= len(tr.Frames) {
			return fmt.Sprintf("%d frames; want %d", len(tr.Frames), len(certain)/2)
		}
		if f := tr.Frames[i/2]; f.Kind != certain[i] || f.Address != certain[i+1] {
			return fmt.Sprintf("frame %d = %s %s; want %s %s", i/2, f.Kind, f.Address, certain[i], certain[i+1])
		}
	}
	return ""
}

// TestRandomDeaths: with whatever in RSP, RBP and RIP the kernel tells of its death in one
// trace, and no frame in it is none of the chain's.
func TestRandomDeaths(t *testing.T) {
	t.Parallel()
	const boots = 50
	path, symbols := lab(t, image.AllLoaders)
	chain := append(strings.Fields("main.wreckHere main.wreck main.wreckC main.wreckB main.wreckA"), strings.Fields(tail)...)
	ends := make(chan string, boots)
	t.Run("boots", func(t *testing.T) {
		for seed := range boots {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				res, serial, err := boot(t, Config{Kernel: path}, fmt.Sprintf("crash=early.wreck crash.seed=%d", seed))
				if err != nil || res.Outcome != Traced {
					t.Fatalf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
				}
				all := traces(t, symbols, serial)
				if len(all) != 1 {
					t.Fatalf("%d traces; want 1", len(all))
				}
				tr := all[0]
				if tr.Damaged || tr.Kind != "fault" || tr.Reason == "" || tr.End == "" || len(tr.Frames) == 0 {
					t.Fatalf("damaged, kind, reason, end = %v, %s, %q, %q", tr.Damaged, tr.Kind, tr.Reason, tr.End)
				}
				next := 0
				for i, f := range tr.Frames {
					name := strings.TrimPrefix(f.Function, module)
					switch {
					case i == 0 && name == "":
						continue // a jump to where no code is
					case f.Kind == "scan":
						continue // marked as uncertain
					}
					k := slices.Index(chain[next:], name)
					if k < 0 {
						t.Errorf("frame %d, %s %s %s, is not behind the ones before in the chain %v: %s", i, f.Kind, f.Address, name, chain, tr.chain())
						break
					}
					next += k
					if name != "main.wreck" { // the assembly function, and the wrapper that calls it
						next++
					}
				}
				if tr.Complete && next != len(chain) {
					t.Errorf("complete, but not to the chain's end: %s", tr.chain())
				}
				ends <- tr.End
			})
		}
	})
	close(ends)
	seen := map[string]int{}
	for e := range ends {
		seen[e]++
	}
	t.Logf("the walks ended as %v", seen)
	if seen["zero"] == 0 || len(seen) < 3 {
		t.Errorf("ends %v; want some that are complete, and two other reasons", seen)
	}
}
