package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// asPprof makes the test's program pprof: github.com/google/pprof with its own flags. (go tool
// pprof is another program about the same library: it reads ELF files by itself, Go's tables
// alone, and asks no tool.)
const asPprof = "ZF_TEST_PPROF"

// runPprof runs pprof if this process is to be it, and does not return then.
func runPprof() {
	if os.Getenv(asPprof) == "" {
		return
	}
	os.Unsetenv(asPprof) // the tools that it starts are none
	if err := driver.PProf(&driver.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestPprofTools: pprof symbolizes a profile of a C++ program by zf, in the place of
// llvm-symbolizer and in that of addr2line. There is no other tool in its path.
func TestPprofTools(t *testing.T) {
	path := buildStyle(t, "g++", "-O1", "-g", "-no-pie")
	f, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// A sample at each instruction with an inlined call.
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Mapping:    []*profile.Mapping{{ID: 1, Start: 0x401000, Limit: 0x402000, Offset: 0x1000, File: path}},
	}
	var want []string
	for fn := range f.Functions() {
		for addr := fn.Start; addr < fn.End; addr++ {
			frames := f.Lookup(addr, false)
			if len(frames) < 2 || len(p.Sample) >= 3 || frames[0].Line == 0 {
				continue
			}
			loc := &profile.Location{ID: uint64(len(p.Location) + 1), Mapping: p.Mapping[0], Address: addr}
			p.Location = append(p.Location, loc)
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: []int64{1}})
			want = append(want, fmt.Sprintf("%s:%d", filepath.Base(frames[0].File), frames[0].Line))
			addr += 16
		}
	}
	if len(want) != 3 {
		t.Fatalf("%d samples", len(want))
	}
	prof := filepath.Join(t.TempDir(), "prof")
	w, err := os.Create(prof)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(w); err != nil {
		t.Fatal(err)
	}
	w.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llvm-symbolizer", "addr2line"} {
		link := asProgram(t, name)
		cmd := exec.Command(exe, "-traces", "-lines", path, prof)
		cmd.Env = append(os.Environ(), asPprof+"=1", "PATH="+t.TempDir(), "PPROF_TOOLS="+filepath.Dir(link))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pprof: %v\n%s", err, out)
		}
		for _, line := range want {
			if !strings.Contains(string(out), line) {
				t.Errorf("as %s: no %s in\n%s", name, line, out)
			}
		}
		if !strings.Contains(string(out), "twice") || !strings.Contains(string(out), "(inline)") {
			t.Errorf("as %s: no inlined call in\n%s", name, out)
		}
	}
}

// TestPerfProtocol: perf sends each address with a comma behind it, which is no address: by what is
// said of that it knows whose tool it has, and where each answer ends (Linux,
// tools/perf/util/srcline.c).
func TestPerfProtocol(t *testing.T) {
	elf := buildSample(t, "-g")
	cmd := exec.Command(asProgram(t, "addr2line"), "-e", elf, "-a", "-i", "-f")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var msg strings.Builder
	cmd.Stderr = &msg
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ends := func() (answer []string) {
		for lines.Scan() {
			if lines.Text() == "0x0000000000000000" {
				for range 2 {
					lines.Scan()
					if s := lines.Text(); s != "??" && s != "??:0" {
						t.Errorf("the end of an answer: %q", s)
					}
				}
				return answer
			}
			answer = append(answer, lines.Text())
		}
		t.Fatal("no end of an answer")
		return nil
	}
	io.WriteString(in, ",\n")
	if got := ends(); len(got) > 0 {
		t.Errorf("the answer to a comma begins with %q", got)
	}
	for _, addr := range textAddresses(t, elf)[4:40] {
		fmt.Fprintf(in, "%s\n,\n", addr)
		got := strings.Join(ends(), "\n") + "\n"
		if _, want, _ := zf(nil, "addr", "-aife", elf, addr); got != want {
			t.Errorf("%s: %q; want %q", addr, got, want)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil || msg.Len() > 0 {
		t.Errorf("%v, %q", err, &msg)
	}
}
