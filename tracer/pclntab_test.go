package tracer

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// ownTable reads the pc table of the running test from its file. The runtime's own answers about
// the same addresses are the reference.
func ownTable(tb testing.TB) (*PCTable, []byte) {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".gopclntab")
	if s == nil {
		tb.Fatal("the test has no .gopclntab (a PIE build?)")
	}
	tab, err := s.Data()
	if err != nil {
		tb.Fatal(err)
	}
	t, ok := ParsePCTable(tab, ownTextStart(tb, f))
	if !ok {
		tb.Fatal("ParsePCTable refuses the table of the test itself")
	}
	return &t, tab
}

func ownTextStart(tb testing.TB, f *elf.File) uintptr {
	syms, err := f.Symbols()
	if err == nil {
		for _, s := range syms {
			if s.Name == "runtime.text" {
				return uintptr(s.Value)
			}
		}
	}
	// `go test` may strip its binary. Without cgo Go's code begins .text.
	return uintptr(f.Section(".text").Addr)
}

func TestPCTableEqualsRuntime(t *testing.T) {
	tab, _ := ownTable(t)
	start, end := tab.TextRange()
	if pc := reflect.ValueOf(TestPCTableEqualsRuntime).Pointer(); pc < start || pc >= end {
		t.Fatalf("TextRange() = %#x, %#x; want it to hold this test at %#x", start, end, pc)
	}
	compared := 0
	for pc := start; pc < end; pc += 13 {
		f, ok := tab.Find(pc)
		if !ok {
			t.Fatalf("Find(%#x) = false", pc)
		}
		if pc < f.Entry() || pc >= f.End() {
			t.Fatalf("Find(%#x) = [%#x, %#x)", pc, f.Entry(), f.End())
		}
		// CallersFrames takes a return address, or an entry as it is.
		ret := pc + 1
		if ret == f.End() {
			continue
		}
		want, _ := runtime.CallersFrames([]uintptr{ret}).Next()
		if want.Entry != f.Entry() {
			t.Fatalf("Find(%#x).Entry() = %#x; want %#x", pc, f.Entry(), want.Entry)
		}
		file, line, ok := f.FileLine(pc)
		if !ok {
			file, line = []byte("?"), 0
		}
		if string(file) != want.File || int(line) != want.Line {
			t.Fatalf("FileLine(%#x) = %s:%d; want %s:%d", pc, file, line, want.File, want.Line)
		}
		// Func is nil in an inlined call. The runtime prints type arguments as "...", and treats
		// offset 0 as no name.
		if want.Func != nil && !strings.Contains(want.Function, "[...]") && want.Function != "" {
			if got := string(f.Name()); got != want.Function {
				t.Fatalf("Find(%#x).Name() = %s; want %s", pc, got, want.Function)
			}
		}
		compared++
	}
	t.Logf("%d addresses compared", compared)
	for _, pc := range []uintptr{0, start - 1, end, ^uintptr(0)} {
		if f, ok := tab.Find(pc); ok {
			t.Errorf("Find(%#x) = %s; want none", pc, f.Name())
		}
	}
}

// TestFuncOrder walks all functions: they must tile the text.
func TestFuncOrder(t *testing.T) {
	tab, _ := ownTable(t)
	start, end := tab.TextRange()
	at := start
	for i := range tab.NumFuncs() {
		f, ok := tab.Func(i)
		if !ok || f.Entry() != at || len(f.Name()) == 0 {
			t.Fatalf("Func(%d) = %#x %q, %t; want entry %#x and a name", i, f.Entry(), f.Name(), ok, at)
		}
		if got, ok := tab.Find(f.Entry()); !ok || got != f {
			t.Fatalf("Find(%#x) = %s; want %s", f.Entry(), got.Name(), f.Name())
		}
		if delta, ok := f.SPDelta(f.Entry()); ok && delta != 0 {
			t.Errorf("%s: SPDelta at entry = %d; want 0", f.Name(), delta)
		}
		at = f.End()
	}
	if at != end {
		t.Errorf("the functions end at %#x; want %#x", at, end)
	}
	for _, i := range []int{-1, tab.NumFuncs()} {
		if _, ok := tab.Func(i); ok {
			t.Errorf("Func(%d) = true", i)
		}
	}
}

// TestNoAllocation: a panic path must not allocate.
func TestNoAllocation(t *testing.T) {
	_, raw := ownTable(t)
	pc := reflect.ValueOf(indexes).Pointer()
	start := pcStart(t)
	if n := testing.AllocsPerRun(100, func() {
		tab, _ := ParsePCTable(raw, start)
		f, ok := tab.Find(pc)
		if !ok {
			panic("not found")
		}
		f.FileLine(pc)
		f.SPDelta(pc)
		f.PCData(PCDataPanicBounds, pc)
		f.Name()
	}); n != 0 {
		t.Errorf("a look-up allocates %v times; want 0", n)
	}
}

func pcStart(t testing.TB) uintptr {
	tab, _ := ownTable(t)
	return tab.text
}

func TestParsePCTableRefuses(t *testing.T) {
	_, raw := ownTable(t)
	edit := func(change func(b []byte)) []byte {
		b := append([]byte(nil), raw[:4096]...)
		change(b)
		return b
	}
	for _, tt := range []struct {
		name string
		tab  []byte
	}{
		{"empty", nil},
		{"a header cut short", raw[:hdrSize-1]},
		{"a header alone", raw[:hdrSize]},
		{"a table cut short", raw[:4096]},
		{"magic of Go 1.18", edit(func(b []byte) { b[0] = 0xf0 })},
		{"big-endian", edit(func(b []byte) { b[0], b[3] = b[3], b[0] })},
		{"32-bit", edit(func(b []byte) { b[hdrPtrSize] = 4 })},
		{"instructions of 0 bytes", edit(func(b []byte) { b[hdrMinLC] = 0 })},
		{"no functions", edit(func(b []byte) { binary.LittleEndian.PutUint64(b[hdrNFunc:], 0) })},
		{"2^61 functions", edit(func(b []byte) { binary.LittleEndian.PutUint64(b[hdrNFunc:], 1<<61) })},
		{"parts out of order", edit(func(b []byte) { binary.LittleEndian.PutUint64(b[hdrCUOff:], 1) })},
		{"parts outside", edit(func(b []byte) { binary.LittleEndian.PutUint64(b[hdrFuncOff:], 1<<40) })},
	} {
		if _, ok := ParsePCTable(tt.tab, 0); ok {
			t.Errorf("ParsePCTable(%s) = true; want false", tt.name)
		}
	}
}

// smallTable makes a table of two functions, the fuzzer's first input.
func smallTable() []byte {
	b := make([]byte, hdrSize)
	put64 := func(off, v int) { binary.LittleEndian.PutUint64(b[off:], uint64(v)) }
	u32s := func(v ...uint32) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	binary.LittleEndian.PutUint32(b, pcMagic)
	b[hdrMinLC], b[hdrPtrSize] = 1, 8
	put64(hdrNFunc, 2)
	put64(hdrNameOff, len(b))
	b = append(b, "main.f\x00main.g\x00\x00\x00"...)
	put64(hdrCUOff, len(b))
	u32s(0)
	put64(hdrFileOff, len(b))
	b = append(b, "a.go\x00\x00\x00\x00"...)
	put64(hdrPCOff, len(b))
	// Offset 1: 0 up to 4, 8 up to 64. Offset 6: line 3 up to 64. Offset 10: 0.
	b = append(b, 0, 2, 4, 16, 60, 0, 8, 64, 0, 0, 2, 64, 0, 0, 0, 0)
	put64(hdrFuncOff, len(b))
	u32s(0, 20, 64, 20+fnSize+12, 128)
	for i := range uint32(2) {
		u32s(i*64, i*7, 0, 0, 1, 10, 6, 3, 0, 2, 1<<24) // one FUNCDATA
		u32s(0, 0, 10)
	}
	return append(b, make([]byte, 8)...)
}

func TestSmallTable(t *testing.T) {
	const text = 0x200000
	tab, ok := ParsePCTable(smallTable(), text)
	if !ok {
		t.Fatal("ParsePCTable(smallTable()) = false")
	}
	for _, tt := range []struct {
		pc    uintptr
		name  string
		delta int32
	}{
		{text, "main.f", 0}, {text + 3, "main.f", 0}, {text + 4, "main.f", 8}, {text + 63, "main.f", 8},
		{text + 64, "main.g", 0}, {text + 127, "main.g", 8},
	} {
		f, ok := tab.Find(tt.pc)
		if !ok || string(f.Name()) != tt.name {
			t.Errorf("Find(%#x) = %q; want %q", tt.pc, f.Name(), tt.name)
			continue
		}
		if got, ok := f.SPDelta(tt.pc); got != tt.delta || !ok {
			t.Errorf("SPDelta(%#x) = %d, %t; want %d", tt.pc, got, ok, tt.delta)
		}
		if file, line, ok := f.FileLine(tt.pc); string(file) != "a.go" || line != 3 || !ok {
			t.Errorf("FileLine(%#x) = %s:%d, %t; want a.go:3", tt.pc, file, line, ok)
		}
		if v, ok := f.PCData(PCDataInlTreeIndex, tt.pc); v != 0 || !ok {
			t.Errorf("PCData(%d, %#x) = %d, %t; want 0", PCDataInlTreeIndex, tt.pc, v, ok)
		}
		if v, ok := f.PCData(1, tt.pc); v != -1 || ok {
			t.Errorf("PCData(1, %#x) = %d, %t; want none", tt.pc, v, ok)
		}
	}
}

// FuzzPCTable: whatever the bytes are, each query is answered, without a panic and within the
// table.
func FuzzPCTable(f *testing.F) {
	small := smallTable()
	f.Add(small, uint64(0x200010))
	f.Add(small[:len(small)/2], uint64(0x200040))
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, at uint64) {
		const text = 0x200000
		tab, ok := ParsePCTable(b, text)
		if !ok {
			return
		}
		ask := func(f Func) {
			for _, pc := range []uintptr{f.Entry(), uintptr(at), f.End() - 1, f.End()} {
				f.FileLine(pc)
				f.SPDelta(pc)
				for i := range uint32(6) {
					f.PCData(i, pc)
				}
			}
			for i := range uint32(6) {
				f.FuncData(i)
			}
			if n := len(f.Name()); n > len(b) {
				t.Errorf("a name of %d bytes in a table of %d", n, len(b))
			}
			f.StartLine()
			f.FuncID()
			f.Flags()
		}
		if fn, ok := tab.Find(uintptr(at)); ok {
			if uintptr(at) < fn.Entry() && uintptr(at) >= fn.End() {
				t.Errorf("Find(%#x) = [%#x, %#x)", at, fn.Entry(), fn.End())
			}
			ask(fn)
		}
		for i := range min(tab.NumFuncs(), 8) {
			if fn, ok := tab.Func(i); ok {
				ask(fn)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	tab, _ := ownTable(b)
	start, end := tab.TextRange()
	pc := start
	for b.Loop() {
		f, ok := tab.Find(pc)
		if !ok {
			b.Fatal("not found")
		}
		f.SPDelta(pc)
		if pc += 4099; pc >= end {
			pc = start
		}
	}
}
