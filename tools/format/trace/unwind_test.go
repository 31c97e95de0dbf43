package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/resolve"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

// A cKernel is a kernel in C that a debugger has stopped: its registers, the words
// of its stack, and the functions on it, as the debugger sees them.
type cKernel struct {
	file  *symbol.File
	regs  [tracer.NumRegisters]uintptr
	words []uintptr // from RSP up
	chain []string
	pcs   []uint64
}

var gdbFrame = regexp.MustCompile(`^#[0-9]+ +0x([0-9a-f]+) in ([a-z_A-Z0-9]+)`)

// stopC builds testdata/nofp.c and stops it in its function leaf.
func stopC(t testing.TB, flags ...string) *cKernel {
	t.Helper()
	dir := t.TempDir()
	path, dump := filepath.Join(dir, "kernel.elf"), filepath.Join(dir, "stack")
	args := append([]string{"-O2", "-fomit-frame-pointer", "-ffreestanding", "-nostdlib", "-static", "-no-pie",
		"-Wl,--build-id", "-o", path, "testdata/nofp.c"}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and gdb: tools/setup.sh test)", err, msg)
	}
	k := &cKernel{}
	var err error
	if k.file, err = symbol.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.file.Close() })
	// The program's own arguments and environment lie above its stack.
	cmds := []string{"set pagination off", "set width 0", "set startup-with-shell off", "set environment P " + strings.Repeat("x", 4000),
		"break *leaf", "run", "continue", "stepi"}
	for i, name := range tracer.AMD64.Registers {
		if i < 18 && name != "rflags" {
			cmds = append(cmds, fmt.Sprintf(`printf "@reg %d %%#lx\n", $%s`, i, name))
		}
	}
	cmds = append(cmds, "dump binary memory "+dump+" $rsp $rsp+4096", "bt", "kill")
	script := filepath.Join(dir, "commands")
	if err := os.WriteFile(script, []byte(strings.Join(cmds, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gdb", "-nx", "-batch", "-x", script, path).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	for l := range strings.Lines(string(out)) {
		if f := strings.Fields(l); len(f) == 3 && f[0] == "@reg" {
			i, _ := strconv.Atoi(f[1])
			v, err := strconv.ParseUint(f[2], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			k.regs[i] = uintptr(v)
		}
		if m := gdbFrame.FindStringSubmatch(l); m != nil {
			pc, _ := strconv.ParseUint(m[1], 16, 64)
			k.pcs, k.chain = append(k.pcs, pc), append(k.chain, m[2])
		}
	}
	b, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(b) >= 8; b = b[8:] {
		k.words = append(k.words, uintptr(binary.LittleEndian.Uint64(b)))
	}
	return k
}

// die writes the trace that the kernel would write, had it this package's tracer:
// a walk of frame pointers, and words of its stack.
func (k *cKernel) die(t *testing.T, form tracer.Form, words int) []byte {
	t.Helper()
	pc, sp, fp := k.regs[0], k.regs[1], k.regs[2]
	stack := tracer.Stack{Name: "boot", Lo: sp - 512, Hi: sp + uintptr(len(k.words))*8}
	_, text, ok := k.file.SectionBytes(".text")
	lo, _ := k.file.SectionStart(".text")
	if !ok {
		t.Fatal("no text")
	}
	w := tracer.Walker{Stacks: []tracer.Stack{stack}, TextLo: uintptr(lo), TextHi: uintptr(lo) + uintptr(len(text)),
		Frames: make([]tracer.Frame, 64),
		Load: func(a uintptr) (uintptr, bool) {
			if i := (a - sp) / 8; i < uintptr(len(k.words)) {
				return k.words[i], true
			}
			return 0, false
		}}
	w.Walk(pc, sp, fp)
	id, err := hex.DecodeString(k.file.BuildID())
	if err != nil || len(id) == 0 {
		t.Fatalf("build ID %q: %v", k.file.BuildID(), err)
	}
	var out bytes.Buffer
	wr := tracer.Writer{Put: func(b byte) { out.WriteByte(b) }, Form: form}
	wr.Begin(1, tracer.KindFault, tracer.ContextKernel, 0, 0, id, w.TextLo, w.TextHi)
	wr.Reason([]byte("stopped"))
	for i := range w.N {
		wr.Frame(i, &w.Frames[i], "boot")
	}
	wr.Stop(w.End, w.EndValue)
	wr.Registers(&k.regs, 1<<18-1)
	wr.Stack(&stack)
	wr.Mem(sp, k.words[:words])
	wr.Done()
	return out.Bytes()
}

// jsonTrace is what the tests look at of a trace in JSON.
type jsonTrace struct {
	Complete bool   `json:"complete"`
	End      string `json:"end"`
	WalkEnd  string `json:"walk_end"`
	Frames   []struct {
		Kind     string `json:"kind"`
		Address  string `json:"address"`
		Function string `json:"function"`
		Source   string `json:"source"`
	} `json:"frames"`
}

// read resolves a trace.
func (k *cKernel) read(t *testing.T, b []byte) (*run, *wire.Trace, jsonTrace) {
	t.Helper()
	r := filter(t, Options{Symbols: k.file}, b)
	if len(r.traces) != 1 {
		t.Fatalf("%d traces in %q; want 1", len(r.traces), b)
	}
	var j jsonTrace
	if err := json.Unmarshal(r.json.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	return r, r.traces[0], j
}

func functions(j *jsonTrace) (names []string) {
	for _, f := range j.Frames {
		names = append(names, f.Function)
	}
	return names
}

// TestUnwindC: a C kernel without frame pointers gets its full trace, the one that
// gdb shows, in each form of the trace.
func TestUnwindC(t *testing.T) {
	k := stopC(t)
	want := []string{"leaf", "odd", "reuse", "saves", "large", "task", "kernel", "_start"}
	if !slices.Equal(k.chain, want) {
		t.Fatalf("gdb sees %v; want %v", k.chain, want)
	}
	for _, form := range []tracer.Form{tracer.Text, tracer.Markup, tracer.Compact} {
		r, tr, j := k.read(t, k.die(t, form, 256))
		if got := functions(&j); !slices.Equal(got, want) {
			t.Errorf("form %d: %v; want %v, as gdb has\n%s", form, got, want, r.out.String())
			continue
		}
		if !tr.Complete() || !j.Complete || j.End != "zero" || j.WalkEnd == "" {
			t.Errorf("form %d: complete, end, walk_end = %v, %s, %q; want true, zero and one", form, j.Complete, j.End, j.WalkEnd)
		}
		for i, f := range j.Frames {
			if a := fmt.Sprintf("%#x", k.pcs[i]); f.Address != a {
				t.Errorf("form %d: frame %d: %s; want %s, as gdb has", form, i, f.Address, a)
			}
			if source := f.Source; i > 0 && source != wire.SourceCFI || f.Kind != "ra" && i > 0 {
				t.Errorf("form %d: frame %d: kind, source = %s, %q; want ra, cfi", form, i, f.Kind, source)
			}
		}
		// A log that is resolved already stays as it is.
		if again := filter(t, Options{Symbols: k.file}, r.out.Bytes()); !bytes.Equal(again.out.Bytes(), r.out.Bytes()) {
			t.Errorf("form %d: again: %s\nwant %s", form, again.out.String(), r.out.String())
		}
	}
}

// TestUnwindFewWords: where the words end the trace ends, and says how to get more.
func TestUnwindFewWords(t *testing.T) {
	k := stopC(t)
	r, tr, j := k.read(t, k.die(t, tracer.Text, 32))
	got := functions(&j)
	if n := len(got); n < 3 || n >= len(k.chain) || !slices.Equal(got, k.chain[:n]) || tr.Complete() {
		t.Errorf("%v, complete %v; want a part of %v", got, tr.Complete(), k.chain)
	}
	if out := r.out.String(); !strings.Contains(out, "trace.stack=BYTES") {
		t.Errorf("no advice in %s", out)
	}
}

// TestUnwindNoTables: without tables the instructions and the words tell, and what
// they tell is marked.
func TestUnwindNoTables(t *testing.T) {
	for _, test := range []struct {
		name   string
		flags  []string
		source string // of the frame behind odd
	}{
		{"instructions", []string{"-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}, wire.SourcePrologue},
		{"words", []string{"-DODD"}, wire.SourceScan},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := stopC(t, test.flags...)
			r, tr, j := k.read(t, k.die(t, tracer.Text, 256))
			got := functions(&j)
			// Of what is left over on the stack, a scan shows more.
			rest := got
			for _, want := range k.chain[:min(len(k.chain), 8)] {
				i := slices.Index(rest, want)
				if i < 0 {
					t.Fatalf("%v; want all of %v in it", got, k.chain)
				}
				rest = rest[i+1:]
			}
			if tr.Complete() {
				t.Errorf("complete, with guesses in it: %v", got)
			}
			for i, f := range j.Frames {
				if f.Function == "reuse" && (f.Kind != "scan" || f.Source != test.source) {
					t.Errorf("frame %d, %s: kind, source = %s, %q; want scan, %s", i, f.Function, f.Kind, f.Source, test.source)
				}
			}
			if !strings.Contains(r.out.String(), "? reuse+") {
				t.Errorf("no question mark in %s", r.out.String())
			}
			if kk := string(render.K(tr)); !strings.Contains(kk, "WARNING: Stack unwind information not available.") {
				t.Errorf("no warning in %s", kk)
			}
		})
	}
}

// TestK: the columns are what gdb says of each frame.
func TestK(t *testing.T) {
	k := stopC(t)
	_, tr, _ := k.read(t, k.die(t, tracer.Text, 256))
	lines := strings.Split(strings.TrimSpace(string(render.K(tr))), "\n")
	if len(lines) != 2+len(k.chain) || strings.Join(strings.Fields(lines[1]), " ") != "ChildRBP RetAddr Call Site" {
		t.Fatalf("%q", lines)
	}
	below := uint64(0)
	for i, l := range lines[2:] {
		f := strings.Fields(l)
		ret := uint64(0)
		if i+1 < len(k.pcs) {
			ret = k.pcs[i+1]
		}
		start, _, _ := k.file.Symbol(k.chain[i])
		if want := fmt.Sprintf("%s+%#x", k.chain[i], k.pcs[i]-start); f[1] != fmt.Sprintf("%016x", ret) || f[2] != want {
			t.Errorf("%q; want the return address %#x and %s", l, ret, want)
		}
		// The return address lies right above the frame pointer, but for the last.
		fp, err := strconv.ParseUint(f[0], 16, 64)
		if i+1 < len(k.pcs) {
			if at := (fp + 8 - uint64(k.regs[1])) / 8; err != nil || fp <= below || at >= uint64(len(k.words)) || uint64(k.words[at]) != ret {
				t.Errorf("%q: %#x is not at %#x", l, ret, fp+8)
			}
		}
		below = fp
	}
}

// FuzzUnwound: whatever stack, registers and frames a trace has, what the host makes
// of it has all of the target's frames, in their order, and shows as certain only
// what lies on the stack and follows a call.
func FuzzUnwound(f *testing.F) {
	k := stopC(f)
	_, text, _ := k.file.SectionBytes(".text")
	lo, _ := k.file.SectionStart(".text")
	var stack []byte
	for _, w := range k.words[:120] {
		stack = binary.LittleEndian.AppendUint64(stack, uint64(w))
	}
	sp := uint64(k.regs[1])
	f.Add(uint64(k.regs[0]), uint64(0), uint64(k.regs[2]), stack, []byte{1, 2, 3, 40})
	f.Add(uint64(k.regs[0]+5), uint64(8), sp+64, stack, []byte{0, 0, 1, 1, 200})
	f.Fuzz(func(t *testing.T, pc, above, fp uint64, stack, frames []byte) {
		tr := &wire.Trace{Kind: "fault", BuildID: k.file.BuildID(), End: "outside", Words: make(map[uint64]uint64),
			Registers: map[string]uint64{"rip": pc, "rsp": sp + above, "rbp": fp},
			Stacks:    []wire.Stack{{Name: "boot", Lo: sp, Hi: sp + uint64(len(stack)), Size: uint64(len(stack))}},
			Frames:    []wire.Frame{{Kind: tracer.PC, Address: pc, SP: sp + above, FP: fp, Stack: "boot"}}}
		for i := 0; i+8 <= len(stack) && i < 8*1000; i += 8 {
			tr.Words[sp+uint64(i)] = binary.LittleEndian.Uint64(stack[i:])
		}
		// Frames as a target may send them: of any kind, at words of the stack.
		for i, b := range frames[:min(len(frames), 100)] {
			at := sp + uint64(b)*8
			fr := wire.Frame{Kind: tracer.RA, Address: tr.Words[at], FP: tr.Words[at-8], Stack: "boot"}
			switch {
			case i%7 == 6:
				fr = wire.Frame{Kind: tracer.Trap, Address: fr.Address, Stack: "boot"}
			case i%7 == 0 && i > 0:
				fr.Kind, fr.SP = tracer.PC, at
			case i%11 == 10:
				fr.Stack = "irq"
			}
			tr.Frames = append(tr.Frames, fr)
		}
		sent := slices.Clone(tr.Frames)
		ses := new(resolve.Cache).Session(k.file)
		ses.Unwind(tr)
		if len(tr.Frames) > wire.MaxFrames {
			t.Fatalf("%d frames", len(tr.Frames))
		}
		for _, fr := range tr.Frames {
			if fr.Source == "" && fr.Kind != tracer.Inferred {
				if len(sent) == 0 || fr.Address != sent[0].Address || fr.Stack != sent[0].Stack {
					t.Fatalf("%v is none of the target's frames, or not in their order", fr)
				}
				sent = sent[1:]
			}
			if fr.Source == wire.SourceCFI && fr.Kind == tracer.RA && (fr.Address-lo >= uint64(len(text)) || !k.file.FollowsCall(fr.Address)) {
				t.Errorf("%#x is shown as certain, and no call is before it", fr.Address)
			}
		}
		if len(sent) > 0 {
			t.Errorf("%d of the target's frames are gone", len(sent))
		}
		render.JSON(tr)
		render.K(tr)
	})
}
