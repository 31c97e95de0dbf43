package trace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
)

// TestForeignLLVM: markup of a module that was moved is resolved as llvm-symbolizer
// resolves it.
func TestForeignLLVM(t *testing.T) {
	tool, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	p := cImage(t)
	id := p.sym.BuildID()
	dir := t.TempDir()
	file := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-g", "-no-pie", "-Wl,--build-id", "-o", file,
		"testdata/foreign/one.c", "testdata/foreign/two.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const slide = 0x9000000000
	in := fmt.Sprintf("{{{reset}}}\n{{{module:0:c:elf:%s}}}\n{{{mmap:%#x:0x1000:load:0:rx:0x401000}}}\n", id, slide+0x401000) +
		fmt.Sprintf("{{{bt:0:%#x:pc}}}\n{{{bt:1:%#x:ra}}}\n{{{bt:2:%#x:ra}}}\n{{{bt:3:%#x}}}\n",
			slide+p.where(t, "pc leaf:18"), slide+p.where(t, "ra hold:29"), slide+p.where(t, "ra main:70"), slide+p.where(t, "ra ends:56"))
	cmd := exec.Command(tool, "--filter-markup", "--debug-file-directory="+dir)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s (tools/setup.sh test installs it)", tool, err, out)
	}
	var got, want []string
	line := regexp.MustCompile(`(?m)^ *#[0-9.]+ +0x[0-9a-f]+ (\S+) .*/(\S+\.c):([0-9]+)`)
	for _, m := range line.FindAllStringSubmatch(string(out), -1) {
		want = append(want, m[1]+" "+m[2]+":"+m[3])
	}
	r := filter(t, Options{Symbols: p.sym, Foreign: true}, []byte(in))
	for _, tr := range r.traces {
		for _, f := range tr.Frames {
			for _, c := range f.Calls {
				got = append(got, fmt.Sprintf("%s %s:%d", c.Function, filepath.Base(c.File), c.Line))
			}
		}
	}
	if len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("frames %q; %s says %q\n%s", got, tool, want, out)
	}
}
