package symbol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// askLLVM returns what llvm-symbolizer says of addresses of a file: without offsets
// and discriminators, nil where it knows nothing.
func askLLVM(t testing.TB, path string, addrs []uint64) [][]lookup.Call {
	t.Helper()
	tool, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	return askTool(t, tool, path, addrs)
}

// askTool is askLLVM of the llvm-symbolizer at a path.
func askTool(t testing.TB, tool, path string, addrs []uint64) [][]lookup.Call {
	t.Helper()
	var in bytes.Buffer
	for _, addr := range addrs {
		fmt.Fprintf(&in, "%#x\n", addr)
	}
	cmd := exec.Command(tool, "--obj="+path, "--functions=linkage", "--inlines", "--no-demangle", "--output-style=JSON")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var answers [][]lookup.Call
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a struct {
			Symbol []struct {
				FunctionName, FileName string
				Line                   int
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("llvm-symbolizer printed %q: %v", lines.Text(), err)
		}
		var frames []lookup.Call
		for i, s := range a.Symbol {
			frames = append(frames, lookup.Call{Function: s.FunctionName, File: s.FileName, Line: s.Line, Inlined: i < len(a.Symbol)-1})
		}
		if len(frames) == 1 && frames[0] == (lookup.Call{}) {
			frames = nil
		}
		answers = append(answers, frames)
	}
	if len(answers) != len(addrs) {
		t.Fatalf("llvm-symbolizer gave %d answers to %d addresses", len(answers), len(addrs))
	}
	return answers
}

// plain returns frames without what llvm-symbolizer does not print.
func plain(frames []lookup.Call) []lookup.Call {
	all := append([]lookup.Call(nil), frames...)
	for i := range all {
		all[i].Offset, all[i].Discriminator = 0, 0
	}
	return all
}

// A comparison counts answers that are equal to the truth's in all frames.
type comparison struct {
	asked, equal, known, inlined int
	shown                        []string
}

// compare holds the answers to addresses against the truth. same says whether two
// that differ are as good.
func compare(addrs []uint64, got, want [][]lookup.Call, same func(got, want []lookup.Call) bool) (c comparison) {
	for i, addr := range addrs {
		c.asked++
		g := plain(got[i])
		if len(want[i]) > 0 {
			c.known++
		}
		if len(want[i]) > 1 {
			c.inlined++
		}
		if equalFrames(g, want[i]) || same != nil && same(g, want[i]) {
			c.equal++
		} else if len(c.shown) < 5 {
			c.shown = append(c.shown, fmt.Sprintf("%#x: %+v; want %+v", addr, g, want[i]))
		}
	}
	return c
}

// gate fails the test if less than percent of the answers are equal.
func (c comparison) gate(t testing.TB, what string, percent float64) {
	t.Helper()
	share := 100 * float64(c.equal) / float64(c.asked)
	t.Logf("%s: %d of %d answers equal (%.3f %%); %d known, %d with inlined calls", what, c.equal, c.asked, share, c.known, c.inlined)
	if c.asked == 0 || c.known*2 < c.asked {
		t.Errorf("%s: only %d of %d addresses are known to the truth: this tests nothing", what, c.known, c.asked)
	}
	if share < percent {
		t.Errorf("%s: %.3f %% equal; want %g\n%s", what, share, percent, strings.Join(c.shown, "\n"))
	}
}

// textAddrs returns every step'th address of the file's executable sections.
func textAddrs(f *File, step uint64) (addrs []uint64) {
	for _, s := range f.TextSpans() {
		for pc := s.Low; pc < s.High; pc += step {
			addrs = append(addrs, pc)
		}
	}
	return addrs
}

// sectionAddrs returns every step'th address of a section.
func sectionAddrs(f *File, name string, step uint64) (addrs []uint64) {
	s := f.FirstSection(name)
	for pc := s.Addr; pc < s.Addr+s.Len; pc += step {
		addrs = append(addrs, pc)
	}
	return addrs
}

// againstLLVM compares all answers of a file with llvm-symbolizer's.
func againstLLVM(t *testing.T, path string, step uint64, percent float64) {
	t.Helper()
	f := openTest(t, path)
	addrs := textAddrs(f, step)
	compare(addrs, f.LookupAll(addrs, false), askLLVM(t, path, addrs), nil).gate(t, filepath.Base(path), percent)
}
