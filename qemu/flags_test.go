package qemu

// What the go command can be told changes what the compiler makes of a program. The kernel in it
// is to be right all the same: each row builds a program and the crash lab with such flags.

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// builtWith are the rows: GOFLAGS, in which all of the go command's flags can be, and other
// variables.
var builtWith = []struct {
	name, goflags string
	env           []string
	cpu           string // QEMU's, "": its own
	bare          bool   // there is no DWARF in it
	lines         bool   // nothing is inlined or optimized, so that each variable is somewhere
}{
	{name: "N-l", goflags: "'-gcflags=all=-N -l'", lines: true},
	{name: "s", goflags: "-ldflags=-s", bare: true},
	{name: "w", goflags: "-ldflags=-w", bare: true},
	{name: "l", goflags: "-gcflags=all=-l"},
	{name: "checkptr", goflags: "-gcflags=all=-d=checkptr"},
	{name: "cover", goflags: "-cover -covermode=atomic -coverpkg=all"},
	{name: "pgo", goflags: "-pgo=FILE"},
	{name: "trimpath", goflags: "-trimpath"},
	{name: "v3", env: []string{"GOAMD64=v3"}, cpu: "max"},
	{name: "experiment", env: []string{"GOEXPERIMENT=nogreenteagc"}},
}

func TestBuildFlags(t *testing.T) {
	t.Parallel()
	for _, row := range builtWith {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			env := append(testEnv(), row.env...)
			if row.goflags != "" {
				env = append(env, "GOFLAGS="+strings.Replace(row.goflags, "FILE", hotKernel(t), 1))
			}
			elf := built(t, image.BuildOptions{Package: "./testdata/builds", Env: env})
			if err := exec.Command(zfCommand(t), "stacks", "-e", elf).Run(); err != nil && row.name != "s" {
				t.Errorf("zf stacks: %v; want a bound for each of the kernel's stacks", err)
			}
			machine := []string{"-smp", "2"}
			if row.cpu != "" {
				machine = append(machine, "-cpu", row.cpu)
			}
			out, err := zfRun(t, slices.Concat([]string{"-q"}, machine, []string{elf})...).Output()
			if err != nil || !strings.Contains(string(out), "sum 28\n") {
				t.Errorf("the program: %v\n%s", err, out)
			}
			core, death, said := coreOfRun(t, elf, 1, append(machine, "--", "die")...)
			if !strings.Contains(said, "in main.second at ") || !strings.Contains(said, "builds/main.go:19 ") || !death.Complete {
				t.Errorf("the verdict does not name main.second at line 19, or the trace is not complete:\n%s\n%s", said, death.chain())
			}
			checkFlagsCore(t, elf, core, row.bare, row.lines)
			checkFlagsLab(t, env, row.cpu)
		})
	}
}

// hotKernel writes a profile by which system calls are what the program spends its time with.
func hotKernel(t *testing.T) string {
	t.Helper()
	const kernel = "github.com/zeroframe/zeroframe/kernel/linux."
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	for i, name := range []string{kernel + "(*call).do", kernel + "Handle"} {
		p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, StartLine: 1})
	}
	callee := &profile.Location{ID: 1, Line: []profile.Line{{Function: p.Function[0], Line: 2}}}
	p.Location = append(p.Location, callee)
	for line := int64(1); line < 60; line++ {
		caller := &profile.Location{ID: uint64(line + 1), Line: []profile.Line{{Function: p.Function[1], Line: line}}}
		p.Location = append(p.Location, caller)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{callee, caller}, Value: []int64{1000, 1e10}})
	}
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkFlagsCore looks at the core of the death, which says why if it cannot tell.
func checkFlagsCore(t *testing.T, elf, core string, bare, lines bool) {
	t.Helper()
	if bare {
		out, err := exec.Command(zfCommand(t), "goroutines", "-e", elf, core).CombinedOutput()
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "has no DWARF") {
			t.Errorf("zf goroutines without DWARF: %v\n%s", err, out)
		}
		return
	}
	// Delve leaves out add where second is a function without a frame of its own, on Linux as well.
	said := delveSays(t, elf, core, "goroutines", "stack")
	if !strings.Contains(said, "main.second") || !strings.Contains(said, "* Goroutine 1 ") {
		t.Errorf("Delve does not stand in the program's own function:\n%s", said)
	}
	if lines {
		out, err := exec.Command(zfCommand(t), "print", "-e", elf, "-goroutine", "1", core, "os.Args[1]").CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"die"`) {
			t.Errorf("zf print os.Args[1]: %v\n%s", err, out)
		}
		said := delveSays(t, elf, core, "frame 7 locals", "frame 8 locals", "frame 9 locals")
		if !strings.Contains(said, "total = 3") {
			t.Errorf("Delve does not show the local variable total:\n%s", said)
		}
	}
}

// checkFlagsLab has the crash lab die in each context.
func checkFlagsLab(t *testing.T, env []string, cpu string) {
	t.Helper()
	elf := built(t, image.BuildOptions{Package: "../kernel/crashlab", Env: env})
	symbols, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer symbols.Close()
	for _, kind := range []string{"early.ud2", "go.panic-error", "go.ud2"} {
		res, serial, err := boot(t, Config{Kernel: elf, CPU: cpu}, "crash="+kind)
		if err != nil || res.Outcome != Traced {
			t.Errorf("%s: %v, %v; want %v", kind, res.Outcome, err, Traced)
		}
		all := traces(t, symbols, serial)
		if len(all) == 0 {
			t.Errorf("%s: there is no trace", kind)
			continue
		}
		i := slices.IndexFunc(deaths, func(d death) bool { return d.kind == kind })
		j := slices.IndexFunc(goDeaths, func(d goDeath) bool { return d.kind == kind })
		switch {
		case i >= 0:
			checkDeath(t, all[0], deaths[i])
		case j >= 0:
			checkGoDeath(t, all[0], goDeaths[j])
		default:
			t.Errorf("%s is in no table", kind)
		}
	}
}
