package qemu

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

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The trace at every instruction of the kernel's entry code, by which a program's system
// calls, faults and interrupts come in and go out. There the stack pointer, the frame
// pointer and the pc tables do not belong together, and no trap flag gets there: gdb stops
// the machine at each of these instructions in turn, and sends it an NMI.

// entryScript stops at each address of a list, in the thread of the crash lab's loop, which
// passes by turn each time that it begins; what is not reached in so many turns as the list
// says is left out. Some are reached in few turns alone: behind a trap after which the kernel
// has gone on with another thread.
// Where the machine took the NMI is what the CPU pushed: QEMU goes on by an instruction
// before it at times, and the place is tried again.
const entryScript = `
import gdb
turn, ours, tracing, done, vector = %#x, %#x, %#x, %#x, %#x
cpu = "'github.com/zeroframe/zeroframe/kernel/percpu.first'.CPU."
def word(e): return int(gdb.parse_and_eval(e)) & 0xffffffffffffffff
def passes():
    guard = word(cpu + "istGuard[5]") # of the stack of the NMI in progress
    sp = word("(long)$rsp")
    return word("*(int*)%%#x" %% tracing) == 0 and word(cpu + "userFS") == word("*(long*)%%#x" %% ours) and not guard-928 <= sp <= guard-928+0x4000
def until(addr, most):
    gdb.execute("hbreak *%%#x" %% turn)
    if addr: gdb.execute("hbreak *%%#x" %% addr)
    turns = 0
    while turns < most:
        gdb.execute("continue", to_string=True)
        rip = word("(long)$rip")
        if rip == turn: turns += 1
        if rip == addr and passes(): break
        if not addr: break
    gdb.execute("delete")
    return turns < most
def send():
    gdb.execute("hbreak *%%#x" %% vector)
    gdb.execute("monitor nmi")
    gdb.execute("continue", to_string=True)
    gdb.execute("delete")
    return word("*(long*)$rsp")
until(0, 4)
for addr, most in [%s]:
    while until(addr, most):
        at = send()
        print("nmi at %%#x of %%#x" %% (at, addr))
        if at == addr: break
gdb.execute("set *(int*)%%#x = 1" %% done)
gdb.execute("continue")
`

// entryFuncs are the functions of that code, and the offsets of what need not be reached: a
// system call by the kernel, the ways to load an FPU, of which a thread takes one, a trap
// inside another one on its stack, and what follows when traps are too deep, or an opcode is
// invalid.
var entryFuncs = map[string]string{
	"syscallEntry": " 0x115", "resume": " 0xf 0x16 0x18 0x1e 0x23 0x27 0x29 0x2d 0x2f 0x34 0x37 0x3a",
	"trapEntry": " 0x45-0xe4 0xef-0x12d 0x1c9 0x1d5 0x1d6 0x1db", "trapLeave": "", "trapReturn": "", "vectors": "",
}

func TestEveryEntryInstruction(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	path, symbols := lab(t, image.AllLoaders)
	addrs := map[string][]uint64{}
	for name := range entryFuncs {
		if name == "vectors" {
			continue
		}
		addrs[name] = instructions(t, path, module+"arch/amd64."+name, 0)
	}
	// The stubs of a page fault, which pushes the vector and jumps, and of an interrupt,
	// which pushes an error code before.
	addrs["vectors"] = append(instructions(t, path, module+"arch/amd64.vectors", 14*12)[:2], instructions(t, path, module+"arch/amd64.vectors", 0x61*12)[:3]...)
	reached := map[string]bool{}
	for i, cpu := range []string{"", "max"} {
		most := 40 // the other CPU has other instructions
		if i == 1 {
			most = 400
		}
		t.Run(strings.TrimSuffix("cpu-"+cpu, "-"), func(t *testing.T) {
			var list []string
			for name, in := range addrs {
				for _, a := range in {
					turns := most
					if inOffsets(entryFuncs[name], a-in[0]) {
						turns = 4
					}
					if at := fmt.Sprintf("%#x", a); !reached[at] {
						list = append(list, fmt.Sprintf("(%s, %d)", at, turns))
					}
				}
			}
			dir := t.TempDir()
			socket, script := filepath.Join(dir, "gdb"), filepath.Join(dir, "entry.py")
			text := fmt.Sprintf(entryScript, entryOf(t, path, module+"kernel/crashlab/golab.stepEntryB"),
				entryOf(t, path, module+"kernel/crashlab/golab.stepFS"), entryOf(t, path, module+"arch/amd64.nmiOff"), entryOf(t, path, module+"kernel/crashlab/golab.stepDone"),
				entryOf(t, path, module+"arch/amd64.vectors")+2*12, strings.Join(list, ", "))
			if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			vm, out := start(t, Config{
				Kernel: path, Append: "crash=go.step-entry crash.branches=on trace=compact env.GOGC=off env.GODEBUG=asyncpreemptoff=1", CPU: cpu,
				GDB: "unix:" + socket + ",server=on,wait=off", Paused: true, Icount: true, Timeout: 5 * limit,
			}, "")
			ctx, cancel := context.WithTimeout(t.Context(), 5*limit)
			defer cancel()
			cmd := exec.CommandContext(ctx, gdb, "-nx", "-batch", "-iex", "set auto-load no", "-ex", "set width 0",
				"-ex", "set pagination off", "-ex", "set confirm off", "-ex", "set language c",
				"-ex", "target remote "+socket, "-x", script, path)
			cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
			said, err := cmd.CombinedOutput()
			if res, werr := vm.Wait(); werr != nil || res.Outcome != Exited {
				t.Fatalf("after gdb: %v, %v; gdb: %v, it said\n%.2000s", res.Outcome, werr, err, said)
			}
			var got []*labTrace
			for _, tr := range traces(t, symbols, out.String()) {
				if tr.Kind == "nmi" {
					got = append(got, tr)
				}
			}
			sent := regexp.MustCompile(`nmi at (0x[0-9a-f]+) of (0x[0-9a-f]+)`).FindAllStringSubmatch(string(said), -1)
			if len(got) != len(sent) {
				t.Fatalf("%d traces of %d NMIs", len(got), len(sent))
			}
			wrong, late := 0, 0
			for i, tr := range got {
				if sent[i][1] != sent[i][2] {
					late++
					continue
				}
				reached[tr.Frames[0].Address] = true
				if why := sameEntry(tr, sent[i][1]); why != "" {
					if wrong++; wrong <= 20 {
						t.Errorf("%s+%#x at %s: %s\nchain %s", tr.Frames[0].Function, tr.Frames[0].Offset, sent[i][1], why, tr.chain())
					}
				}
			}
			if late > 3+len(got)/20 {
				t.Errorf("QEMU took %d of %d NMIs late", late, len(got))
			}
			t.Logf("%d instructions; %d wrong, %d late", len(got), wrong, late)
		})
	}
	for name, a := range addrs {
		for _, at := range a {
			if !reached[fmt.Sprintf("%#x", at)] && !inOffsets(entryFuncs[name], at-a[0]) {
				t.Errorf("%s+%#x was not reached", name, at-a[0])
			}
		}
	}
}

// inOffsets reports whether a list of offsets, or of first and last ones, has off.
func inOffsets(list string, off uint64) bool {
	for _, word := range strings.Fields(list) {
		lo, hi, ok := strings.Cut(word, "-")
		if !ok {
			hi = lo
		}
		from, err := strconv.ParseUint(lo, 0, 64)
		to, err2 := strconv.ParseUint(hi, 0, 64)
		if err == nil && err2 == nil && off >= from && off <= to {
			return true
		}
	}
	return false
}

// entryChain is what a trace in the entry code goes on with. Once a load's fault has been handled,
// its frame is that of its caller, where it goes on.
var entryChain = regexp.MustCompile(`^[\w.]+: arch/amd64\.\w+ trap ([\w.]+: )?` +
	`((tracer\.\w+ )?tracer\.ReadWord golab\.stepInterrupt kernel/fault\.interrupt kernel/fault\.Trap arch/amd64\.trapEntry trap g: |` +
	`arch/amd64\.WaitForInterrupt arch\.WaitForInterrupt kernel/thread\.\S+( kernel/\S+)* arch/amd64\.syscallEntry trap g: )?` +
	`((golab\.step(Syscall|Touch|Send) )?(golab\.stepEntryC )?(golab\.stepEntryB )?golab\.step(EntryA|Other) runtime\.goexit|runtime\.[^:]* runtime\.(mstart|mcall|morestack))$`)

// entryOther is one before the kernel has left the stack on which it has chosen a thread.
var entryOther = regexp.MustCompile(`^(kernel|irq): arch/amd64\.resume arch/amd64\.Resume arch\.Resume kernel/thread\.Resume kernel/.* trap `)

// sameEntry compares a trace with what is known of the place.
func sameEntry(tr *labTrace, at string) (why string) {
	switch f := tr.Frames[0]; {
	case f.Address != at || tr.Registers["rip"] != at:
		return "it is of " + f.Address
	case !tr.Complete || tr.Damaged:
		return "the trace ends as " + tr.End
	}
	if chain := strings.ReplaceAll(tr.chain(), "kernel/crashlab/", ""); !entryChain.MatchString(chain) && !entryOther.MatchString(chain) {
		return "the chain is wrong"
	}
	return ""
}

// instructions returns the addresses of a function's instructions, from an offset on.
func instructions(t *testing.T, path, function string, offset int) (addrs []uint64) {
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
		if source(s.Name) != function {
			continue
		}
		code := make([]byte, s.Size)
		if _, err := f.Sections[s.Section].ReadAt(code, int64(s.Value-f.Sections[s.Section].Addr)); err != nil {
			t.Fatal(err)
		}
		for off := offset; off < len(code); {
			inst, err := x86asm.Decode(code[off:], 64)
			n := inst.Len
			switch {
			case err != nil && code[off] == 0xf3: // RDFSBASE, WRFSBASE
				n = 5
			case err != nil:
				n = 4
			case inst.Op == x86asm.INT && inst.Len == 1: // between functions
				return addrs
			}
			addrs = append(addrs, s.Value+uint64(off))
			off += n
		}
		return addrs
	}
	t.Fatalf("no symbol %s", function)
	return nil
}
