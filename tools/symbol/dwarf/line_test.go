package dwarf

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// lineProgram is a line table of DWARF 4 with one file and the given program.
func lineProgram(program ...byte) []byte {
	header := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 'a', '.', 'c', 0, 0, 0, 0, 0}
	b := append([]byte{4, 0, byte(len(header)), 0, 0, 0}, header...)
	b = append(b, program...)
	return append([]byte{byte(len(b)), byte(len(b) >> 8), 0, 0}, b...)
}

// at sets the address to 0x401000+off.
func at(off byte) []byte { return []byte{0, 9, 2, off, 0x10, 0x40, 0, 0, 0, 0, 0} }

// endAt ends a sequence n bytes after the last row.
func endAt(n byte) []byte { return []byte{2, n, 0, 1, 1} }

// special is the opcode that adds to address and line and puts out a row.
func special(addr, line byte) byte { return 13 + 14*addr + line + 5 }

// sequences has two that overlap, one after the other, one before, and a fifth
// without an end.
var sequences = lineProgram(slices.Concat(
	at(0x10), []byte{1, special(4, 1), special(0, 2), special(4, 1)}, endAt(4),
	at(0x14), []byte{3, 40, 1, special(4, 1), special(12, 1)}, endAt(4),
	at(0x40), []byte{3, 60, 1, special(8, 1)}, endAt(8),
	at(0x00), []byte{3, 50, 1, 5, 7, 6, special(2, 1)}, endAt(2),
	at(0x60), []byte{3, 30, 1, special(4, 1), special(4, 1)},
)...)

// openProgram builds a small C program without a C library and opens it.
func openProgram(t testing.TB, flags ...string) *elf.File {
	t.Helper()
	out := filepath.Join(t.TempDir(), "c.elf")
	args := append([]string{"-O2", "-nostdlib", "-static", "-ffreestanding", "-o", out, "../testdata/csample.c"}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and binutils)", err, msg)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// readTable reads a line table as it is, for the text of f.
func readTable(f *elf.File, table []byte, upTo uint64) LineTable {
	d := &Data{File: f, line: elf.FixedContents(f, table), total: len(table)}
	r := d.NewReader()
	r.Allow()
	var t LineTable
	r.loadLines(&t, &unit{format: format{addrSize: 8}, hasLines: true}, upTo)
	return t
}

func TestOverlappingLines(t *testing.T) {
	table := readTable(openProgram(t), sequences, AllLines)
	for _, want := range []struct {
		off, line int // -1: none
	}{
		{0x00, 51}, {0x02, 52}, {0x04, -1}, {0x10, 1}, {0x13, 1}, {0x14, 4}, {0x18, 5}, {0x1b, 5},
		{0x1c, 42}, {0x24, 43}, {0x27, 43}, {0x28, -1}, {0x40, 61}, {0x48, 62}, {0x50, -1}, {0x60, 31}, {0x67, 32}, {0x68, -1},
	} {
		row, ok := table.at(0x401000 + uint64(want.off))
		if got := int(row.Line); ok != (want.line >= 0) || ok && got != want.line {
			t.Errorf("%#x: line %d, %t; want %d", want.off, got, ok, want.line)
		}
	}
}

// TestManyOverlappingLines: many sequences around the same addresses take no longer to look
// in than others, and the first of them counts.
func TestManyOverlappingLines(t *testing.T) {
	const n = 300_000
	var table LineTable
	for i := range n { // each begins before those before it, and ends behind them
		low := uint64(n - i)
		table.rows = append(table.rows, Row{Addr: low, Line: uint32(i)}, Row{Addr: low + 1, Line: uint32(i)})
		table.Seqs = append(table.Seqs, Sequence{elf.Span{Low: low, High: 2*n + uint64(i)}, 2 * i, 2*i + 2, 0})
	}
	table.order()
	for pc := uint64(0); pc < 4*n; pc++ {
		want, has := uint64(0), pc > 0 && pc < 3*n-1
		switch {
		case pc < n:
			want = n - pc
		case pc >= 2*n:
			want = pc - 2*n + 1
		}
		if got, ok := table.at(pc); ok != has || has && uint64(got.Line) != want {
			t.Fatalf("%d: %d, %t; want %d, %t", pc, got.Line, ok, want, has)
		}
	}
}

// FuzzLines: a line table that has been read up to an address tells the line there,
// and of every other address the line or nothing.
func FuzzLines(f *testing.F) {
	f.Add(sequences)
	file := openProgram(f)
	for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-3", "-O0"}} {
		c := openProgram(f, flags...)
		b, err := c.Data(c.FirstSection(".debug_line"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, table []byte) {
		whole := readTable(file, table, AllLines)
		var addrs []uint64
		for _, s := range whole.Seqs {
			addrs = append(addrs, s.Low-1, s.Low, s.High-1, s.High)
		}
		for _, r := range whole.rows {
			addrs = append(addrs, r.Addr, r.Addr+1)
		}
		addrs = addrs[:min(len(addrs), 64)]
		for _, upTo := range addrs {
			part := readTable(file, table, upTo)
			for _, addr := range addrs {
				got, ok := part.at(addr)
				want, has := whole.at(addr)
				if ok && (!has || got != want) || has && !ok && (addr == upTo || !part.cut) {
					t.Fatalf("read up to %#x: %#x has %v, %t; want %v, %t", upTo, addr, got, ok, want, has)
				}
			}
		}
	})
}

// TestIsAbs: a path may be one of Windows.
func TestIsAbs(t *testing.T) {
	for path, want := range map[string]bool{
		"/a": true, `C:\a`: true, "d:/a": true, `\\server\share\a`: true,
		"": false, "a/b": false, "C:a": false, `\a`: false, "1:/a": false, "ab:/c": false,
	} {
		if got := isAbs(path); got != want {
			t.Errorf("isAbs(%q) = %v; want %v", path, got, want)
		}
	}
}
