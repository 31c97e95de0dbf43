package qemu

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/handle"
)

// The heap profile of a program.

// TestResourceHeap: the heap profile, as go tool pprof reads it, and as zf leaks does.
func TestResourceHeap(t *testing.T) {
	t.Parallel()
	file, raw := filepath.Join(t.TempDir(), "heap"), t.TempDir()
	cmd := zfRun(t, "-q", "-memprofile", file, "-records", raw, "-append", "env.GODEBUG=memprofilerate=4096", "./testdata/resources", "--", "heap")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	// The second record has what runtime.MemProfile says just behind it.
	data, err := os.ReadFile(filepath.Join(raw, "2-heap"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := handle.ReadHeap(data)
	if err != nil {
		t.Fatal(err)
	}
	// What the runtime says is as of the last garbage collection.
	var sum [4]int64
	for _, s := range h.Sites {
		for i, v := range [4]int64{s.Settled.Allocs, s.Settled.Frees, s.Settled.Allocs * s.Size, s.Settled.Frees * s.Size} {
			sum[i] += v
		}
	}
	if want := fmt.Sprintln("profile", sum[0], sum[1], sum[2], sum[3]); !strings.Contains(string(said), want) || h.Rate != 4096 || !h.Collected() {
		t.Errorf("the kernel's %q (rate %d, settled %v) is not what the runtime says:\n%s", want, h.Rate, h.Collected(), said)
	}
	text := zfSays(t, 1, "leaks", file+".1", file+".2")
	if !regexp.MustCompile(`\n\+19\d objects \(0, now 19\d\), \+12 MiB\n`).MatchString(text) || !strings.Contains(text, "main.keep ") {
		t.Errorf("zf leaks of two heap profiles:\n%s", text)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-unit=MB", "-inuse_space", file+".2").CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^ +16(\.\d+)?MB .* main\.keep$`).Match(out) {
		t.Errorf("go tool pprof: %v\n%s", err, out)
	}
	out, err = zfRun(t, "-q", "-memprofile", file, program(t, "profiled")).CombinedOutput()
	if !strings.Contains(string(out), "keeps no heap profile") || exitCode(t, err) != 2 {
		t.Errorf("an image without a profile: %v\n%s", err, out)
	}
}

// TestHeapOfDead: what a program has allocated since the last garbage collection is in the
// profile of its death, object for object, and told apart from what came before.
func TestHeapOfDead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "heap")
	for _, gc := range []bool{true, false} {
		args := []string{"-q", "-memprofile", file, "-append", "env.GODEBUG=memprofilerate=1 env.GOGC=off", "./testdata/resources", "--", "heapdies"}
		if gc {
			args = append(args, "gc")
		}
		out, err := zfRun(t, args...).CombinedOutput()
		if exitCode(t, err) != 1 || !strings.Contains(string(out), "nil pointer dereference") {
			t.Fatalf("zf run: %v; want status 1 and a trace\n%s", err, out)
		}
		var early, late, size int64
		i := bytes.Index(out, []byte("kept "))
		if _, err := fmt.Sscanf(string(out[max(i, 0):]), "kept %d %d of %d", &early, &late, &size); err != nil || early == 0 || late == 0 {
			t.Fatalf("%v: the program does not say what it keeps\n%s", err, out)
		}
		got := map[string][4]int64{}
		p := readPprof(t, file)
		for _, s := range p.Sample {
			for _, name := range []string{"main.keepEarly", "main.keepLate", "main.drop"} {
				if holds(s, name) {
					sum := got[name+strings.Join(s.Label["allocated"], "")]
					for i := range sum {
						sum[i] += s.Value[i]
					}
					got[name+strings.Join(s.Label["allocated"], "")] = sum
				}
			}
		}
		want := map[string][4]int64{
			"main.keepEarly": {early, early * size, early, early * size},
			"main.drop":      {late, late * size, 0, 0},
			"main.keepLate":  {late, late * size, late, late * size},
		}
		note := "no garbage collection was done by then, so garbage is in use here"
		if gc {
			want["main.keepLatesince-gc"] = want["main.keepLate"]
			delete(want, "main.keepLate")
			note = "have come since the last garbage collection"
		} else {
			want["main.drop"] = want["main.keepLate"]
		}
		if !maps.Equal(got, want) {
			t.Errorf("with a collection: %v: objects and bytes allocated, and in use:\n%v\nwant\n%v", gc, got, want)
		}
		if len(p.Comments) != 1 || !strings.Contains(p.Comments[0], note) || !strings.Contains(string(out), "zf run: "+file+" is as of ") || !strings.Contains(string(out), note) {
			t.Errorf("neither zf run nor the profile's comment %q says %q\n%s", p.Comments, note, out)
		}
	}
}
