package stacks_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/stacks"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Exit(m.Run())
}

const module = "github.com/zeroframe/zeroframe/"

// build builds an image with all parts of the kernel and reads it.
func build(t *testing.T, pkg string) (*symbol.File, *stacks.Program) {
	return buildWith(t, pkg, nil)
}

func buildWith(t *testing.T, pkg string, parts []string) (*symbol.File, *stacks.Program) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.elf")
	if _, err := image.Build(context.Background(), image.BuildOptions{Package: pkg, Output: path, Parts: parts, Stderr: t.Output()}); err != nil {
		t.Fatal(err)
	}
	f, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	p, err := stacks.New(f, stacks.KernelNotes())
	if err != nil {
		t.Fatal(err)
	}
	return f, p
}

// TestParts: the kernel's stacks have a bound in an image without its parts.
func TestParts(t *testing.T) { haveBounds(t, []string{}) }

// TestPartsEach: they have one with each part alone, and without each.
func TestPartsEach(t *testing.T) {
	all := image.Parts()
	for i, p := range all {
		haveBounds(t, []string{p})
		haveBounds(t, slices.Delete(slices.Clone(all), i, i+1))
	}
}

func haveBounds(t *testing.T, parts []string) {
	t.Helper()
	_, p := buildWith(t, "../../../qemu/testdata/program", parts)
	for _, s := range p.Stacks() {
		if len(s.Bound.Why) > 0 {
			t.Errorf("with the parts %v, %s has no bound: %q", parts, s.Name, s.Bound.Why)
		}
	}
}

// TestKernel: all of the kernel's stacks have a bound in a program that brings no code
// of its own for them, and zf build has made it the limit.
func TestKernel(t *testing.T) {
	f, p := build(t, "../../../qemu/testdata/program")
	if !stacks.HasKernel(f) {
		t.Fatal("the kernel is not there")
	}
	addr, size, ok := f.Symbol(module + "kernel/stack.stackBounds")
	if !ok {
		t.Fatal("there is no table of bounds")
	}
	table, ok := f.BytesAt(addr, size)
	if !ok {
		t.Fatal("the table of bounds is not in the file")
	}
	word := func(i int) (v uint64) {
		for k := range 8 {
			v |= uint64(table[8*i+k]) << (8 * k)
		}
		return v
	}
	if string(table[:8]) != "zfgstack" {
		t.Errorf("the table begins with %q", table[:8])
	}
	list := p.Stacks()
	if len(list) != 11 || word(1) != 11 {
		t.Fatalf("%d stacks, and %d in the table; want 11", len(list), word(1))
	}
	_, entries := stacks.KernelStacks()
	for i, s := range list {
		t.Logf("%-7s %6d", s.Name, s.Bound.Bytes)
		if len(s.Bound.Why) > 0 {
			t.Errorf("%s has no bound: %q", s.Name, s.Bound.Why)
		}
		if word(2+i) != s.Bound.Bytes {
			t.Errorf("%s: the table says %d; want %d", s.Name, word(2+i), s.Bound.Bytes)
		}
	}

	// An image with all parts has what others may be without.
	for name, all := range entries {
		for _, e := range all {
			if _, _, ok := f.Symbol(e.Runs); e.Optional && !ok {
				t.Errorf("%s: there is no function %s", name, e.Runs)
			}
		}
	}

	// The stages on the stack "nested" do not overlap (kernel/fault/stages.go).
	at := []uint64{}
	for i, e := range entries["nested"] {
		at = append(at, e.At)
		b := p.Bound(e)
		if len(b.Why) > 0 || i+1 < len(entries["nested"]) && b.Bytes > entries["nested"][i+1].At {
			t.Errorf("nested, at %d: %d bytes %q; the next begins at %d", e.At, b.Bytes, b.Why, entries["nested"][min(i+1, 2)].At)
		}
	}
	stagesGo := source(t, "../../../kernel/fault/stages.go")
	if !strings.Contains(stagesGo, "thirdStageBelow = 8 << 10") || !strings.Contains(stagesGo, "droppedBelow    = 16 << 10") ||
		!slices.Equal(at, []uint64{0, 8 << 10, 16 << 10}) {
		t.Errorf("the notes have stages at %d; kernel/fault/stages.go has others", at)
	}

	// What panicReserve in kernel/stack/limits.go is for.
	b := p.Bound(stacks.Entry{Func: module + "kernel/fault.CheckStacks", Base: 8,
		Never: []string{module + "kernel/fault.writeStage"}})
	if len(b.Why) > 0 || b.Bytes > 2<<10 {
		t.Errorf("CheckStacks takes %d bytes %q; panicReserve is 2048; %v", b.Bytes, b.Why, b.Chain)
	}
	if !strings.Contains(source(t, "../../../kernel/stack/limits.go"), "panicReserve = 2 << 10\n") {
		t.Error("panicReserve is not 2048")
	}

	// What one function takes there, as `zf stacks -f` says it.
	for _, tt := range []struct {
		name, entryOf string
		ok            bool
	}{
		{module + "boot.long", "boot", true},
		{"runtime.panicBounds", "", true},
		{"runtime.gopanic", "", false}, // the notes end there
		{"main.main", "", false},
	} {
		b, entryOf, ok := p.OnStack(tt.name)
		if entryOf != tt.entryOf || ok != tt.ok || ok != (b.Bytes > 0) {
			t.Errorf("%s on the kernel's stacks: %d bytes, entry of %q, %v; want entry of %q, %v", tt.name, b.Bytes, entryOf, ok, tt.entryOf, tt.ok)
		}
	}
	out, err := exec.Command("go", "run", "../../zf", "stacks", "-e", f.Name(), "-f", "boot.long", "-f", "runtime.panicBounds").CombinedOutput()
	if err != nil || !regexp.MustCompile(`\n +\d+  .*/boot\.long\n +as the entry of the kernel's stack boot\n +\d+  runtime\.panicBounds\n +on the kernel's stacks; elsewhere there is no bound: `).Match(out) {
		t.Errorf("zf stacks -f: %v, %s", err, out)
	}
}

func source(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLab: what the crash lab brings has no bound, for reasons that are named.
func TestLab(t *testing.T) {
	f, p := build(t, "../../../kernel/crashlab")
	for _, s := range p.Stacks() {
		want := ""
		switch s.Name {
		case "boot":
			want = "indirect call at crashlab/main.go:"
		case "irq":
			want = "recursion: main.irqOverflow"
		}
		why := strings.Join(s.Bound.Why, "; ")
		if (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q; want %q", s.Name, why, want)
		}
	}
	// The functions that hand a function over are there to be seen.
	for _, name := range []string{"kernel/fault.OnInterrupt", "kernel/fault.StepTraces", "kernel/fault.OnPanic", "kernel/fault.OnStop", "kernel/linux.OnUnknown", "kernel/console.Tap"} {
		if _, _, ok := f.Symbol(module + name); !ok {
			t.Errorf("there is no %s: it has been inlined", name)
		}
	}
	// Every function that a note names is in the image, or has its place in the kernel
	// (kernel.txt would say nothing, silently, of what has another name).
	word := regexp.MustCompile(`[\w/]*\w\.[(\w][\w.*()]*`)
	for line := range strings.Lines(source(t, "kernel.txt")) {
		line, _, _ = strings.Cut(line, "#")
		kind, _, _ := strings.Cut(line, " ")
		if kind == "prefix" {
			continue
		}
		for _, name := range word.FindAllString(line, -1) {
			full := module + name
			if strings.HasPrefix(name, "runtime.") {
				full = name
			}
			_, err := p.Find(full)
			_, _, ok := f.Symbol(full)
			if err != nil && !ok && !inlined[name] {
				t.Errorf("%s %s: there is no such function in the lab", kind, name)
			}
		}
	}
}

// inlined are the functions of notes of the kind calls that are always inlined, by which
// calls are told nevertheless.
var inlined = map[string]bool{
	"kernel/fault.runHook": true, "kernel/fault.callMonitor": true, "kernel/linux.exit": true, "kernel/linux.kill": true, "kernel/thread.callTick": true,
	"kernel/console.tapped": true, "kernel/dev/nic.Readable": true, "kernel/dev/nic.Acknowledge": true, "arch/amd64.gate": true, "arch/amd64.EntryRegistersAt": true,
}

// TestHooks: the functions that the notes say are called by address are those that the
// kernel's sources hand over, and they are the only ones.
func TestHooks(t *testing.T) {
	hooks := map[string]string{
		"arch.SetTrapHandler": "fault.Trap fault.TrapLocked fault.TrapLocked", "arch.SetSyscallHandler": "linux.Handle linux.HandleLocked", "thread.OnTick": "fault.Tick",
		"thread.OnResume": "deliver", "linux.OnExit": "fault.ProgramExit", "linux.OnPanic": "fault.GoroutinePanic",
		"linux.OnKill": "fault.ProgramKilled", "fault.OnStop": "monitor.Open", "console.Tap": "netconsole.Byte",
		"thread.OnEvent": "logThread", "mem.OnFrame": "logFrame", "mem.OnStale": "percpu.FlushOthers", "percpu.OnLongWait": "fault.LongWait",
		"arch.BeginKernelStack": "awaitThread thread.Join",
	}
	onStack := []string{}
	walkers, found := 0, map[string][]string{}
	call := regexp.MustCompile(`\b(arch\.SetTrapHandler|arch\.SetSyscallHandler|thread\.OnTick|thread\.OnResume|linux\.OnExit|linux\.OnPanic|linux\.OnKill|fault\.OnStop|console\.Tap|thread\.OnEvent|mem\.OnFrame|mem\.OnStale|percpu\.OnLongWait|arch\.BeginKernelStack)\((\S+?)[,)]`)
	stack := regexp.MustCompile(`\barch\.OnStack\([^,]*, [^,]*, (\w+),`)
	walker := regexp.MustCompile(`tracer\.(Walker|Writer)\{[^}]*\}|HighWaterPages\(.*`)
	err := filepath.WalkDir("../../../kernel", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "crashlab" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		var code strings.Builder // without comments
		for line := range strings.Lines(source(t, path)) {
			if line, _, _ = strings.Cut(line, "//"); line == "" {
				continue
			}
			code.WriteString(line + "\n")
			for _, m := range call.FindAllStringSubmatch(line, -1) {
				found[m[1]] = append(found[m[1]], m[2])
			}
			for _, m := range stack.FindAllStringSubmatch(line, -1) {
				onStack = append(onStack, m[1])
			}
		}
		for _, m := range walker.FindAllString(code.String(), -1) {
			walkers++
			switch strings.Join(strings.Fields(m), " ") {
			case "tracer.Walker{Stacks: Table, Frames: Frames, SPDelta: image.SPDelta, Returns: image.Returns, Marks: Marks, Saved: savedState, Switching: switching, Entry: atEntry, Unknown: unknownStack}",
				"tracer.Writer{Put: putTrace}",
				"HighWaterPages(s.Lo, s.Hi, arch.PageSize, dirty); used > s.Used {":
			default:
				t.Errorf("%s: %s: kernel.txt does not know what that calls", path, m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for h, want := range hooks {
		slices.Sort(found[h])
		if got := strings.Join(found[h], " "); got != want {
			t.Errorf("%s is handed %q; kernel.txt says %q", h, got, want)
		}
	}
	slices.Sort(onStack)
	if !slices.Equal(onStack, []string{"enter", "loop", "writeStage"}) {
		t.Errorf("arch.OnStack runs %q; kernel.txt has enter, loop and writeStage", onStack)
	}
	if walkers < 3 {
		t.Errorf("%d walkers and writers were found; want 3 or more", walkers)
	}
}
