package unwind

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// FuzzFrames: sections from anywhere give rows or none, in bounded memory, and a
// row holds for the pc that was asked for.
func FuzzFrames(f *testing.F) {
	for _, flags := range [][]string{nil, {"-Wa,--defsym,DEBUG=1"}} {
		_, file := open(f, buildC(f, "testdata/allcfa.s", append(flags, "-nostdlib", "-static", "-s")...))
		addr, eh, _ := file.SectionBytes(".eh_frame")
		_, debug, _ := file.SectionBytes(".debug_frame")
		f.Add(eh, addr, []byte(nil), uint64(0x401003))
		f.Add([]byte(nil), uint64(0), debug, uint64(0x401003))
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint64(0x1000), []byte{}, uint64(0))
	// Version 4, the 64-bit format, a CIE that comes behind its FDE.
	f.Add([]byte{}, uint64(0), wideFrame(), uint64(0x1004))
	f.Fuzz(func(t *testing.T, eh []byte, addr uint64, debug []byte, pc uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tables := NewSections(eh, addr, debug)
		pcs := []uint64{pc, pc + 1, 0, 0x401000}
		for _, s := range []*elf.Frames{tables.eh, tables.df} {
			for i := range s.FDEs[:min(len(s.FDEs), 64)] {
				pcs = append(pcs, s.FDEs[i].Low, s.FDEs[i].High-1)
			}
		}
		var regs Regs
		for r := range Reg(NumRegs) {
			regs.Set(r, pc+uint64(r)*8)
		}
		mem := func(a uint64) (uint64, bool) { return a * 3, a%64 != 0 }
		for _, pc := range pcs {
			row, ok := tables.Row(pc)
			if ok && (pc < row.Start || pc >= row.End) {
				t.Fatalf("the row for %#x is of %#x..%#x", pc, row.Start, row.End)
			}
			regs.Set(RA, pc)
			if tr := tables.Unwind(&regs, false, mem, 50); len(tr.Frames) > 50 || tr.End == 0 {
				t.Fatalf("%d frames, end %v", len(tr.Frames), tr.End)
			}
		}
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(32<<20+1024*(len(eh)+len(debug))); got > limit {
			t.Errorf("%d bytes allocated for sections of %d", got, len(eh)+len(debug))
		}
	})
}

// wideFrame is a .debug_frame in the 64-bit format of DWARF, version 4, with the
// FDE in front of its CIE: the function 0x1000 to 0x1010 pushes RBP.
func wideFrame() []byte {
	le := binary.LittleEndian
	entry := func(id uint64, body []byte) []byte {
		b := le.AppendUint32(nil, 0xffffffff)
		b = le.AppendUint64(b, uint64(8+len(body)))
		return append(le.AppendUint64(b, id), body...)
	}
	body := le.AppendUint64(nil, 0x1000)
	body = le.AppendUint64(body, 0x10)
	body = append(body, cfaAdvanceLoc|1, cfaDefCFAOffset, 16, cfaOffset|byte(RBP), 2)
	fde := entry(12+8+uint64(len(body)), body)
	cie := entry(1<<64-1, []byte{4, 0, 8, 0, 1, 0x78, byte(RA), cfaDefCFA, byte(RSP), 8, cfaOffset | byte(RA), 1})
	return append(fde, cie...)
}

// TestWideFormat: the 64-bit format, which gcc writes for no amd64 program.
func TestWideFormat(t *testing.T) {
	tables := NewSections(nil, 0, wideFrame())
	for _, want := range []struct {
		pc  uint64
		cfa string
		rbp string
	}{{0x1000, "rsp+8", "u"}, {0x1001, "rsp+16", "c-16"}, {0x100f, "rsp+16", "c-16"}} {
		row, ok := tables.Row(want.pc)
		if cfa, rbp := shownCFA(&row.CFA), shown(&row.Regs[RBP]); !ok || cfa != want.cfa || rbp != want.rbp {
			t.Errorf("Row(%#x): CFA = %s, rbp = %s, %v; want %s, %s", want.pc, cfa, rbp, ok, want.cfa, want.rbp)
		}
	}
	if row, ok := tables.Row(0x1010); ok {
		t.Errorf("Row(0x1010) = %v; want none", row)
	}
}

// FuzzUnwind: whatever the stack and the registers hold, an unwinding ends, moves
// upwards and gives addresses that are code behind a call.
func FuzzUnwind(f *testing.F) {
	type program struct {
		tables *Tables
		file   *symbol.File
	}
	var programs []program
	for _, path := range []string{buildC(f, "testdata/nofp.c", "-static"), buildGo(f, "testdata/gosteps")} {
		// Workers of the fuzzer build their own.
		tables, file := open(f, path)
		programs = append(programs, program{tables, file})
	}
	const base = 0x7fff_0000_0000
	for i, name := range []string{"leaf", "main.leaf"} {
		start, _, ok := programs[i].file.Symbol(name)
		if !ok {
			f.Fatalf("no %s", name)
		}
		var stack []byte
		for k := range uint64(40) {
			stack = binary.LittleEndian.AppendUint64(stack, start+k)
		}
		f.Add(i == 1, start, uint64(base), uint64(base+16), stack)
		f.Add(i == 1, start+4, uint64(base+8), uint64(0), stack[:100])
	}
	f.Fuzz(func(t *testing.T, goProgram bool, pc, sp, bp uint64, stack []byte) {
		p := programs[0]
		if goProgram {
			p = programs[1]
		}
		mem := func(a uint64) (uint64, bool) {
			if i := a - base; i < uint64(len(stack)) && i+8 <= uint64(len(stack)) {
				return binary.LittleEndian.Uint64(stack[i:]), true
			}
			return 0, false
		}
		var regs Regs
		regs.Set(RA, pc)
		regs.Set(RSP, sp)
		regs.Set(RBP, bp)
		tr := p.tables.Unwind(&regs, false, mem, 100)
		if tr.End == 0 || len(tr.Frames) > 100 {
			t.Fatalf("%d frames, end %v", len(tr.Frames), tr.End)
		}
		for i := range tr.Frames[1:] {
			g := &tr.Frames[i+1]
			if !p.file.IsText(g.PC) || !g.Exact && !p.tables.returnsTo(g.PC) {
				t.Errorf("frame %d: %#x is nothing to return to", i+1, g.PC)
			}
			if w, ok := mem(g.Slot); g.Slot%8 == 0 && g.Slot != 0 && (!ok || w != g.PC) {
				t.Errorf("frame %d: %#x at %#x; the stack has %#x, %v", i+1, g.PC, g.Slot, w, ok)
			}
		}
	})
}

// BenchmarkRow is one look-up in the call frame information of a static C program;
// BenchmarkOpen what its index costs before the first.
func BenchmarkRow(b *testing.B) {
	tables, f := open(b, buildC(b, "testdata/nofp.c", "-static"))
	start, _, _ := f.Symbol("main")
	pc := start
	for b.Loop() {
		tables.Row(pc)
		if pc += 37; pc > start+400<<10 {
			pc = start
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	path := buildC(b, "testdata/nofp.c", "-static")
	for b.Loop() {
		f, err := symbol.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		t := New(f)
		if t.load(); len(t.eh.FDEs) == 0 {
			b.Fatal("no FDE")
		}
		f.Close()
	}
}

// BenchmarkUnwind is a walk of the eight frames of a stopped C program.
func BenchmarkUnwind(b *testing.B) {
	path := buildC(b, "testdata/nofp.c", "-static")
	tables, _ := open(b, path)
	s := gdb(b, path, []string{"leaf"}, 1, 1200)[0]
	n := 0
	for b.Loop() {
		n = len(tables.Unwind(&s.regs, false, s.memory, 60).Frames)
	}
	b.ReportMetric(float64(n), "frames")
}

// NewSections returns tables of nothing but call frame information: the contents
// of .eh_frame, which lies at ehAddr in memory, and of .debug_frame; either may be
// empty. Every address counts as code behind a call. Host.
func NewSections(eh []byte, ehAddr uint64, debug []byte) *Tables {
	t := &Tables{}
	t.once.Do(func() {
		t.eh = elf.NewFrames(eh, ehAddr, true)
		t.df = elf.NewFrames(debug, 0, false)
	})
	return t
}
