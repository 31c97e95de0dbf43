package unwind

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stop is a place at which gdb has halted a program: the registers, the words of
// the stack from RSP up, and gdb's own backtrace.
type stop struct {
	regs  Regs
	words map[uint64]uint64
	pcs   []uint64
}

func (s *stop) memory(addr uint64) (uint64, bool) {
	w, ok := s.words[addr]
	return w, ok
}

var backtraceLine = regexp.MustCompile(`^#([0-9]+) +(?:0x([0-9a-f]+) in |<signal handler called>|[a-zA-Z])`)

// gdb runs a program under gdb from the breakpoints on, one instruction after the
// other, for so many of them, and returns what it has seen at each.
func gdb(t testing.TB, path string, breakpoints []string, steps, words int) []*stop {
	t.Helper()
	var cmds strings.Builder
	add := func(format string, a ...any) { fmt.Fprintf(&cmds, format+"\n", a...) }
	add("set pagination off")
	add("set width 0")
	add("set disassemble-next-line off")
	add("set print frame-arguments none")
	add("set print address on")
	add("set backtrace past-main on")
	add("set print symbol off")
	add("set debuginfod enabled off")
	add("handle SIGUSR1 nostop noprint pass")
	add("handle SIGURG nostop noprint pass")
	add("set auto-load off")
	add("set startup-with-shell off")
	add("set environment PADDING %s", strings.Repeat("x", 8*words)) // there is stack above the stack
	add("set $n = 0")
	add("define show_stop")
	add(`printf "\n@stop\n"`)
	for r := range Reg(NumRegs) {
		name := r.String()
		if r == RA {
			name = "rip"
		}
		add(`printf "@reg %s %%#lx\n", $%s`, r, name)
	}
	dir := t.TempDir()
	add(`eval "dump binary memory %s/%%d $rsp $rsp+%d", $n`, dir, 8*words)
	add("set $n = $n + 1")
	add(`printf "\n@bt\n"`)
	add("bt 60")
	add(`printf "\n@end\n"`)
	add("end")
	for _, b := range breakpoints {
		add("tbreak %s", b)
	}
	add("run")
	add("set scheduler-locking on")
	for i := range breakpoints {
		if i > 0 {
			add("continue")
		}
		add("set $i = 0")
		add("while $i < %d", steps)
		add("show_stop")
		add("stepi")
		add("set $i = $i + 1")
		add("end")
	}
	script := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(script, []byte(cmds.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	out := tool(t, "gdb", "-nx", "-batch", "-x", script, path)
	var all []*stop
	var s *stop
	part := ""
	for l := range strings.Lines(out) {
		l = strings.TrimRight(l, "\n")
		f := strings.Fields(l)
		switch {
		case l == "@stop":
			s, part = &stop{words: make(map[uint64]uint64)}, ""
		case l == "@bt":
			part = "bt"
		case l == "@end" && s != nil:
			b, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(len(all))))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+8 <= len(b); i += 8 {
				s.words[s.regs.Get(RSP)+uint64(i)] = binary.LittleEndian.Uint64(b[i:])
			}
			all = append(all, s)
			s, part = nil, ""
		case s == nil:
		case strings.HasPrefix(l, "@reg "):
			r, _ := RegNamed(f[1])
			v, err := strconv.ParseUint(f[2], 0, 64)
			if err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			s.regs.Set(r, v)
		case part == "bt":
			m := backtraceLine.FindStringSubmatch(l)
			if m == nil {
				break
			}
			pc, _ := strconv.ParseUint(m[2], 16, 64) // 0 for a signal's frame
			if m[1] == "0" {
				pc = s.regs.Get(RA) // which gdb leaves out at the start of a line
			}
			s.pcs = append(s.pcs, pc)
		}
	}
	return all
}

// TestStepsAsGDB: at every instruction of a program that keeps no frame pointers,
// prologues, epilogues, the C library and its signal trampoline included, the
// callers are those that gdb finds.
func TestStepsAsGDB(t *testing.T) {
	path := buildC(t, "testdata/nofp.c", "-static")
	tables, _ := open(t, path)
	stops := gdb(t, path, []string{"sibling", "compare", "handler"}, 215, 1200)
	if len(stops) < 600 {
		t.Fatalf("%d stops; want 645", len(stops))
	}
	same, signals, deepest := 0, 0, 0
	for _, s := range stops {
		tr := tables.Unwind(&s.regs, false, s.memory, 60)
		ok := tr.End == EndTop && len(tr.Frames) == len(s.pcs)
		var got []uint64
		for i, f := range tr.Frames {
			got = append(got, f.PC)
			if i < len(s.pcs) && s.pcs[i] == 0 {
				signals++ // gdb gives no address for it
				continue
			}
			ok = ok && i < len(s.pcs) && f.PC == s.pcs[i]
		}
		if !ok {
			t.Errorf("at %#x: %#x, end: %v %#x\nwant %#x, as gdb has", s.regs.Get(RA), got, tr.End, tr.Value, s.pcs)
			if len(stops)-same > 100 {
				t.FailNow()
			}
			continue
		}
		same++
		deepest = max(deepest, len(got))
	}
	t.Logf("%d of %d instructions as gdb; %d of them under a signal's frame; up to %d frames", same, len(stops), signals, deepest)
	if signals == 0 || deepest < 8 {
		t.Errorf("%d signal frames, %d frames at most; want some, and 8", signals, deepest)
	}
}

// TestGoStepsAsGDB: the same for a Go program: its pc tables against its
// .debug_frame, which gdb reads.
func TestGoStepsAsGDB(t *testing.T) {
	path := buildGo(t, "testdata/gosteps")
	tables, _ := open(t, path)
	stops := gdb(t, path, []string{"main.main"}, 330, 4000)
	if len(stops) < 330 {
		t.Fatalf("%d stops; want 330", len(stops))
	}
	for _, s := range stops {
		tr := tables.Unwind(&s.regs, false, s.memory, 60)
		var got []uint64
		for _, f := range tr.Frames {
			got = append(got, f.PC)
		}
		// gdb goes on behind runtime.goexit, where there is nothing.
		n := min(len(s.pcs), len(got))
		if tr.End != EndTop || !slices.Equal(got[:n], s.pcs[:n]) || len(s.pcs) < len(got) {
			t.Errorf("at %#x: %#x, end: %v %#x\nwant %#x, as gdb has", s.regs.Get(RA), got, tr.End, tr.Value, s.pcs)
		}
	}
	t.Logf("%d instructions", len(stops))
}
