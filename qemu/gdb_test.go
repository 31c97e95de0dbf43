package qemu

// A debugger's view against the trace's, at the same moment of the same run:
// gdb stops the machine on QEMU's stub just before it dies, lists the stack, and
// lets go; the kernel then dies and writes its trace. The two have nothing in
// common but the machine: gdb unwinds by .debug_frame and names by DWARF, the
// kernel walks frame pointers and zf names by the Go tables. So address,
// function, file and line of every frame must be the same, and so must the
// registers.

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// A gdbStop is where gdb stops for a kind of crash, if it is not the first
// address of the trace.
type gdbStop struct {
	function string // stop at the entry of this function
	skip     int    // gdb's frames that come before the trace's first
	from     int    // first frame of the trace that is compared
}

// gdbStops: a panic's trace starts at the caller of the function that panics.
// gdb needs the stack pointer, so it has to look before badSPC loses it.
var gdbStops = map[string]gdbStop{
	"early.panic":            {"runtime.gopanic", 1, 0},
	"early.panic-type":       {"runtime.gopanic", 1, 0},
	"early.runtime":          {"runtime.makeslice", 1, 0},
	"early.kernel-panic":     {module + "kernel/fault.Panic", 1, 0},
	"early.bounds":           {"runtime.panicBounds", 1, 0},
	"early.slice":            {"runtime.panicBounds", 1, 0},
	"early.div0":             {"runtime.panicdivide", 1, 0},
	"early.overflow-check":   {"runtime.morestack", 1, 0},
	"early.watermark":        {module + "kernel/fault.overLimit", 1, 0},
	"early.deep":             {module + "kernel/fault.Panic", 1, 0},
	"early.rsp-noncanonical": {"main.badSPC", 0, 1},
}

func TestGDBDeaths(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	path, symbols := lab(t, image.AllLoaders)
	for _, d := range deaths {
		t.Run(d.kind, func(t *testing.T) {
			t.Parallel()
			// Where does it die?
			_, serial, err := boot(t, Config{Kernel: path}, "crash="+d.kind)
			if err != nil {
				t.Fatalf("without gdb: %v", err)
			}
			first := onlyTrace(t, traces(t, symbols, serial))

			// Once more, and look just before.
			socket := filepath.Join(guestDir, strings.TrimPrefix(d.kind, "early.")+".gdb")
			vm, out := start(t, Config{
				Kernel: path, Append: "crash=" + d.kind, GDB: "unix:" + socket + ",server=on,wait=off", Paused: true,
			}, "")
			stop := gdbStops[d.kind]
			where := "*" + first.Frames[0].Address + " if $rsp == " + first.Registers["rsp"]
			if stop.function != "" {
				where = fmt.Sprintf("*%#x", entryOf(t, path, stop.function))
			} else if k := first.Frames[0].Kind; k != "pc" {
				t.Fatalf("the trace starts with a frame of kind %s: gdbStops has to say where to stop", k)
			}
			chain := first.chain()
			first.Frames, _ = unfold(first.Frames, 1<<20)
			n := len(first.Frames)
			script := []string{"target remote " + socket, "hbreak " + where, "continue"}
			script = append(script, gdbLook(stop.skip, n)...)
			trap := first.trapAt()
			if trap < n {
				script = append(script, gdbInterrupted(first.Frames[trap-1].FP, n)...)
			}
			views := runGDB(t, gdb, path, append(script, "detach"))
			if _, err := vm.Wait(); err != nil {
				t.Fatalf("after gdb: %v", err)
			}
			tr := onlyTrace(t, traces(t, symbols, out.String()))
			if got := tr.chain(); got != chain {
				t.Fatalf("chain under gdb = %s\nwant the same as without, %s", got, chain)
			}
			tr.Frames, _ = unfold(tr.Frames, 1<<20)

			views[0].compare(t, tr.Frames[stop.from:trap], stop.skip+stop.from, tr.Complete && trap == n)
			if stop.from == 0 {
				for _, r := range []string{"rip", "rsp", "rbp"} {
					if got, want := tr.Registers[r], views[0].registers[r]; got != want {
						t.Errorf("register %s = %s; want %s, as gdb says", r, got, want)
					}
				}
			}
			if trap < n {
				views[1].compare(t, tr.Frames[trap+1:], 0, tr.Complete)
				f := tr.Frames[trap+1]
				if r := views[1].registers; r["rip"] != f.Address || r["rsp"] != f.SP || r["rbp"] != f.FP || r["vector"] != "0x60" {
					t.Errorf("interrupted rip, rsp, rbp = %s, %s, %s; want %v, as gdb says", f.Address, f.SP, f.FP, r)
				}
			}
			t.Logf("%d frames", n-stop.from)
		})
	}
}

// onlyTrace wants exactly one trace, with frames.
func onlyTrace(t *testing.T, all []*labTrace) *labTrace {
	t.Helper()
	if len(all) != 1 || len(all[0].Frames) == 0 {
		t.Fatalf("%d traces; want 1, with frames", len(all))
	}
	return all[0]
}

// trapAt returns the index of the first boundary, or the number of frames.
func (t *labTrace) trapAt() int {
	for i, f := range t.Frames {
		if f.Kind == "trap" {
			return i
		}
	}
	return len(t.Frames)
}

// need finds a program that tools/setup.sh installs.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v: run tools/setup.sh test, which installs it", err)
	}
	return path
}

// entryOf returns the address of a function.
func entryOf(t *testing.T, path, function string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if source(s.Name) == function {
			return s.Value
		}
	}
	t.Fatalf("no symbol %s", function)
	return 0
}

// source returns a function's name as the source has it: the linker's symbol of
// an assembly function that Go also calls ends in .abi0.
func source(symbol string) string { return strings.TrimSuffix(symbol, ".abi0") }

// A gdbView is what gdb saw at one moment.
type gdbView struct {
	frames    []labFrame
	registers map[string]string
}

// gdbLook are the commands for one view: up to n frames after the first skip
// ones and one more, and the registers of frame skip.
func gdbLook(skip, n int) []string {
	return []string{
		fmt.Sprintf(`interpreter-exec mi "-stack-list-frames 0 %d"`, skip+n),
		fmt.Sprintf("frame %d", skip),
		`printf "registers rip=%#lx rsp=%#lx rbp=%#lx\n", (long)$rip, (long)$rsp, (long)$rbp`,
	}
}

// gdbInterrupted are the commands for a view of what a trap interrupted, which
// gdb cannot find by itself: it is given the registers that the processor and the
// entry code have put on the trap's stack, from record up (arch/amd64, trap.go),
// and afterwards those that it had.
func gdbInterrupted(record string, n int) []string {
	word := func(i int) string { return fmt.Sprintf("*(long*)(%s+%d)", record, 8*i) }
	script := []string{
		"frame 0", "set $was_rip = $rip", "set $was_rsp = $rsp", "set $was_rbp = $rbp",
		"set $rip = " + word(4), "set $rsp = " + word(7), "set $rbp = " + word(0),
	}
	script = append(script, gdbLook(0, n)...)
	return append(script,
		`printf "registers vector=%#lx\n", `+word(2),
		"set $rip = $was_rip", "set $rsp = $was_rsp", "set $rbp = $was_rbp")
}

var (
	gdbFrame    = regexp.MustCompile(`frame=\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\}`)
	gdbField    = regexp.MustCompile(`([a-z]+)="((?:[^"\\]|\\.)*)"`)
	gdbRegister = regexp.MustCompile(`([a-z]+)=(0x)?([0-9a-f]+)`)
)

// runGDB runs the commands and returns the views that they asked for.
func runGDB(t *testing.T, gdb, path string, script []string) []gdbView {
	t.Helper()
	args := []string{"-nx", "-batch", "-iex", "set auto-load no"}
	for _, line := range append([]string{
		"set width 0", "set pagination off", "set confirm off", "set language c",
	}, script...) {
		args = append(args, "-ex", line)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, gdb, append(args, path)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	out, err := cmd.CombinedOutput()
	views := gdbViews(string(out))
	if want := strings.Count(strings.Join(script, "\n"), "-stack-list-frames"); len(views) != want {
		// Its status says nothing: a machine that ends fast may take the
		// stub's answer to detach with it.
		t.Fatalf("gdb: %v, %d views; want %d; it said\n%s", err, len(views), want, out)
	}
	return views
}

// gdbViews reads the views in what gdb has said.
func gdbViews(said string) (views []gdbView) {
	for line := range strings.Lines(said) {
		switch {
		case strings.HasPrefix(line, "^done,stack="):
			v := gdbView{registers: map[string]string{}}
			for _, m := range gdbFrame.FindAllStringSubmatch(line, -1) {
				v.frames = append(v.frames, newGDBFrame(m[1]))
			}
			views = append(views, v)
		case strings.HasPrefix(line, "registers ") && len(views) > 0:
			for _, m := range gdbRegister.FindAllStringSubmatch(line, -1) {
				views[len(views)-1].registers[m[1]] = "0x" + m[3]
			}
		}
	}
	return views
}

// newGDBFrame reads the fields of a frame in gdb's machine interface.
func newGDBFrame(fields string) (f labFrame) {
	for _, m := range gdbField.FindAllStringSubmatch(fields, -1) {
		switch m[1] {
		case "addr":
			a, _ := strconv.ParseUint(m[2], 0, 64)
			f.Address = fmt.Sprintf("%#x", a)
		case "func":
			f.Function = source(m[2])
		case "fullname":
			f.File = m[2]
		case "line":
			f.Line, _ = strconv.Atoi(m[2])
		}
	}
	return f
}

// compare holds frames of a trace against gdb's from index skip on. A complete
// trace ends where gdb finds the zero that the boot code has pushed.
func (v *gdbView) compare(t *testing.T, frames []labFrame, skip int, complete bool) {
	t.Helper()
	if len(v.frames) < skip+len(frames) {
		t.Fatalf("%d frames; gdb has %d", len(frames), len(v.frames)-skip)
	}
	for i, got := range frames {
		want := v.frames[skip+i]
		if got.Function == "" {
			// No function is there, and what gdb says then is a guess.
			if want.File != "" {
				t.Errorf("frame %d, %s, has no function; want %+v, as gdb says", i, got.Address, want)
			}
			want.Function = ""
		}
		if got.Address != want.Address || got.Function != want.Function || got.File != want.File || got.Line != want.Line {
			t.Errorf("frame %d = %s %s %s:%d; want %s %s %s:%d, as gdb says", i,
				got.Address, got.Function, got.File, got.Line, want.Address, want.Function, want.File, want.Line)
		}
	}
	if complete {
		if rest := v.frames[skip+len(frames):]; len(rest) > 0 && rest[0].Address != "0x0" {
			t.Errorf("the trace is complete; gdb goes on with %+v", rest[0])
		}
	}
}
