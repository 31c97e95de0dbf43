package qemu

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The trace at every instruction: a tree of calls is run with the trap flag set, the
// kernel traces itself at each step, and gdb looks at the same moment of the same run. In
// a prologue, in an epilogue, in a function without a frame or after a tail jump: the
// function chain, the files and the lines must be what gdb unwinds there by .debug_frame.

// stepScript goes on from step to step. kernel/fault.stepped has RIP, RSP and RBP of the
// interrupted code in AX, BX and CX: they are put in their registers for the time of the
// look.
const stepScript = `
import gdb
gdb.execute("hbreak *%#x")
def word(r): return int(gdb.parse_and_eval("(long)$" + r)) & 0xffffffffffffffff
while True:
    try:
        gdb.execute("continue", to_string=True)
        was = [word(r) for r in ("rip", "rsp", "rbp")]
        now = [word(r) for r in ("rax", "rbx", "rcx")]
        for r, v in zip(("rip", "rsp", "rbp"), now): gdb.execute("set $%%s = %%d" %% (r, v))
        gdb.execute('interpreter-exec mi "-stack-list-frames 0 60"')
        print("registers rip=%%#x rsp=%%#x rbp=%%#x" %% tuple(now))
        for r, v in zip(("rip", "rsp", "rbp"), was): gdb.execute("set $%%s = %%d" %% (r, v))
    except gdb.error:
        break
`

// leavers are the functions of the runtime that leave a goroutine's stack: gdb knows
// nothing of what lies behind them.
var leavers = map[string]bool{
	"runtime.morestack": true, "runtime.morestack_noctxt": true, "runtime.mcall": true, "runtime.systemstack": true,
	"runtime.nanotime1": true,
	"gogo":              true, "runtime.gogo": true, "runtime.mstart": true, "runtime.goexit": true,
}

func TestEveryInstruction(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	path, symbols := lab(t, image.AllLoaders)
	for _, tt := range []struct {
		kind, cmdline, last string
	}{
		{"early.step", "", ""},
		{"go.step", " env.GOGC=off env.GODEBUG=asyncpreemptoff=1", "runtime.goexit"},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			dir := t.TempDir()
			socket := filepath.Join(dir, "gdb")
			script := filepath.Join(dir, "step.py")
			text := fmt.Sprintf(stepScript, entryOf(t, path, module+"kernel/fault.stepped"))
			if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			// By instructions, not by the host's clock, which would call for a change of
			// goroutines every few steps.
			vm, out := start(t, Config{
				Kernel: path, Append: "crash=" + tt.kind + " trace=compact" + tt.cmdline,
				GDB: "unix:" + socket + ",server=on,wait=off", Paused: true, Icount: true, Timeout: 5 * limit,
			}, "")
			ctx, cancel := context.WithTimeout(t.Context(), 5*limit)
			defer cancel()
			cmd := exec.CommandContext(ctx, gdb, "-nx", "-batch", "-iex", "set auto-load no", "-ex", "set width 0",
				"-ex", "set pagination off", "-ex", "set confirm off", "-ex", "set language c",
				"-ex", "target remote "+socket, "-x", script, path)
			cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
			said, err := cmd.CombinedOutput()
			if _, werr := vm.Wait(); werr != nil {
				t.Fatalf("after gdb: %v; gdb: %v, it said\n%.2000s", werr, err, said)
			}
			views := gdbViews(string(said))
			all := traces(t, symbols, out.String())
			if len(views) != len(all) || len(all) < 1000 || !strings.Contains(out.String(), "stepped\r\n") {
				t.Fatalf("%d traces, %d views of gdb; want as many, and more than 1000; gdb said\n%.2000s", len(all), len(views), said)
			}
			wrong, whole, functions := 0, 0, map[string]bool{}
			for i, tr := range all {
				why := sameStep(tr, &views[i])
				f := tr.Frames[0]
				functions[f.Function] = true
				if strings.HasPrefix(f.Function, "main.") || strings.Contains(f.Function, "/crashlab/golab.") {
					whole++
					if why == "" && (!tr.Complete || tt.last != "" && tr.Frames[len(tr.Frames)-1].Function != tt.last) {
						why = "the trace ends as " + tr.End
					}
				}
				if why == "" {
					continue
				}
				if wrong++; wrong <= 10 {
					t.Errorf("step %d, %s+%#x at %s: %s\nchain %s\ngdb   %s", i, f.Function, f.Offset, f.Address, why, tr.chain(), views[i].chain())
				}
			}
			t.Logf("%d instructions, %d in our own code, in %d functions; %d wrong", len(all), whole, len(functions), wrong)
		})
	}
}

// sameStep compares a trace with gdb's view, up to where the runtime leaves the stack.
func sameStep(tr *labTrace, v *gdbView) (why string) {
	for _, r := range []string{"rip", "rsp", "rbp"} {
		if tr.Registers[r] != v.registers[r] {
			return fmt.Sprintf("%s = %s; want %s", r, tr.Registers[r], v.registers[r])
		}
	}
	// What has jumped instead of calling is inferred from the code; gdb does not.
	frames := slices.DeleteFunc(slices.Clone(tr.Frames), func(f labFrame) bool { return f.Kind == "inferred" })
	for i, f := range frames {
		if f.Kind == "trap" {
			return ""
		}
		if i >= len(v.frames) {
			return fmt.Sprintf("gdb has only %d frames", len(v.frames))
		}
		want := v.frames[i]
		if f.File == "<autogenerated>" {
			want.File, want.Line = f.File, f.Line // gdb looks for such a file, in vain
		}
		if f.Address != want.Address || f.Function != want.Function || f.File != want.File || f.Line != want.Line {
			return fmt.Sprintf("frame %d = %s %s %s:%d; want %s %s %s:%d", i,
				f.Address, f.Function, f.File, f.Line, want.Address, want.Function, want.File, want.Line)
		}
		if leavers[f.Function] {
			return ""
		}
	}
	if rest := v.frames[len(frames):]; len(rest) > 0 && rest[0].Address != "0x0" {
		return fmt.Sprintf("gdb goes on with %+v", rest[0])
	}
	return ""
}

func (v *gdbView) chain() string {
	var names []string
	for _, f := range v.frames {
		names = append(names, strings.TrimPrefix(f.Function, module))
	}
	return strings.Join(names, " ")
}

// TestMovedStackPointer: assembly that moves SP in ways that Go's pc tables do not follow,
// with words in its frame that look like return addresses. At no instruction is a caller
// wrong or missing; one that only the code proves is marked as inferred.
func TestMovedStackPointer(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	_, serial, err := boot(t, Config{Kernel: path}, "crash=early.moves trace=compact")
	if err != nil {
		t.Fatal(err)
	}
	seen, moved := map[string]bool{}, regexp.MustCompile(`^boot: (main\.stepTail )?(main\.move[A-Z]\w*) `)
	for _, tr := range traces(t, symbols, serial) {
		chain := strings.ReplaceAll(tr.chain(), "?", "")
		m := moved.FindStringSubmatch(chain)
		if m == nil {
			continue
		}
		seen[m[2]] = true
		if want := m[0] + "main.movesC main.movesB main.movesA" + tail; chain != want || !tr.Complete {
			f := tr.Frames[0]
			t.Errorf("at %s+%#x: %s\nwant %s", f.Function, f.Offset, chain, want)
		}
	}
	if len(seen) != 5 {
		t.Errorf("traced in %v; want five functions", seen)
	}
}
