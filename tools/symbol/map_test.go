package symbol

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol/mapfile"
)

// mapOf writes a map of the file and reads it back.
func mapOf(t *testing.T, f *File) *Map {
	t.Helper()
	syms, err := f.MapSymbols()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.map")
	var out bytes.Buffer
	if err := mapfile.Write(&out, syms, f.AddressSize()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := OpenMap(path, mapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != path || m.AddressSize() != f.AddressSize() || m.BuildID() != "" {
		t.Errorf("%s, addresses of %d bytes, build ID %q", m.Name(), m.AddressSize(), m.BuildID())
	}
	return m
}

// TestMapRoundTrip: a map of an ELF file names the function that the file itself
// names, for each byte of each function, as a pc and as a return address.
func TestMapRoundTrip(t *testing.T) {
	for _, tt := range []struct{ name, path string }{
		{"C", buildC(t)}, {"C, debug information", buildC(t, "-g")}, {"C, stripped", buildC(t, "-s")},
		{"Go", buildGo(t, "testdata/gosample", "")}, {"Go, stripped", buildGo(t, "testdata/gosample", "-s -w")},
		{"assembly", buildLabels(t)},
	} {
		f := openTest(t, tt.path)
		m := mapOf(t, f)
		compared, bad := 0, 0
		for i := range f.Sections {
			s := &f.Sections[i]
			if s.Flags&0x4 == 0 || s.Name != ".text" {
				continue
			}
			step := s.Len/50000 + 1
			for addr := s.Addr; addr < s.Addr+s.Len; addr += step {
				for _, ret := range []bool{false, true} {
					want, got := f.Lookup(addr, ret), m.Lookup(addr, ret)
					if len(want) == 0 && len(got) == 0 {
						continue
					}
					f.FullNamesAll([]uint64{addr}, [][]lookup.Call{want})
					if len(got) == 0 && ret && !f.FollowsCall(addr) {
						continue // no return address of any call
					}
					if len(got) == 0 && len(want) > 0 {
						if _, ok := f.funcAt(addr); !ok && f.goTable() != nil {
							continue // padding, which the pc table gives to the function before it
						}
						if _, ok := f.funcAt(addr - 1); !ok && ret && f.goTable() != nil {
							continue
						}
					}
					if len(want) > 0 && want[len(want)-1].Function == "" {
						continue // a line in padding
					}
					compared++
					if len(want) == 0 || len(got) != 1 || runtimeName(got[0].Function) != runtimeName(want[len(want)-1].Function) || got[0].Offset != want[len(want)-1].Offset {
						if ret && !f.FollowsCall(addr) {
							continue // the ELF file knows that nothing returns there
						}
						if bad++; bad < 5 {
							t.Errorf("%s: %#x, ret %v: %+v; want %+v", tt.name, addr, ret, got, want)
						}
					}
				}
			}
		}
		t.Logf("%s: %d answers compared", tt.name, compared)
		if compared < 100 && tt.name != "assembly" {
			t.Errorf("%s: too few", tt.name)
		}
	}
}

// runtimeName is the form of a name that the symbol table and the pc table share:
// without type arguments, and with points for Go's centred dots.
func runtimeName(name string) string { return printedBefore(strings.ReplaceAll(name, "·", ".")) }

// buildLabels links assembly with labels that have neither type nor size, at the same
// place, in functions, and last in a section.
func buildLabels(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src, out := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.elf")
	text := `	.text
	.globl _start, alias, last
alias:
	.type _start, @function
_start:	nop
	nop
inner:	nop
	call tail
	.size _start, .-_start
	.p2align 5
	.weak weak
weak:
tail:	nop
	ret
last:	nop
	nop
	.section .other, "ax"
other:	nop
	nop
	.data
	.globl word
word:	.quad 1
	.section .tdata,"awT"
	.globl tls
tls:	.quad 1
	.globl number
	number = 7
`
	if err := os.WriteFile(src, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command("gcc", "-nostdlib", "-static", "-o", out, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and binutils)", err, msg)
	}
	return out
}

// TestMapSymbols compares a map with what nm -n -S prints: the same symbols, with the
// same letters.
func TestMapSymbols(t *testing.T) {
	for _, path := range []string{buildC(t), buildLabels(t), buildGo(t, "testdata/gosample", "")} {
		out, err := exec.Command("nm", "-S", path).Output()
		if err != nil {
			t.Fatalf("nm: %v (the tests need gcc and binutils)", err)
		}
		want := map[string]int{}
		for line := range strings.Lines(string(out)) {
			if strings.HasSuffix(line, " tls\n") {
				continue // an offset
			}
			want[line]++
		}
		syms, err := openTest(t, path).MapSymbols()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		mapfile.Write(&text, syms, 8)
		extra := 0
		for line := range strings.Lines(text.String()) {
			if want[line]--; want[line] < 0 {
				// A label that is last in its section has a size, and Go's
				// pc table has functions that the symbol table lacks.
				f := strings.Fields(line)
				if unsized := f[0] + " " + strings.Join(f[2:], " ") + "\n"; len(f) > 3 && want[unsized] > 0 {
					want[unsized]--
					continue
				}
				extra++
				t.Errorf("%s: %q is not nm's", path, line)
			}
		}
		for line, n := range want {
			if n > 0 {
				t.Errorf("%s: %q is missing", path, line)
			}
		}
	}
}

// TestMapNearest: what a map says of data and of code without a name.
func TestMapNearest(t *testing.T) {
	m, err := OpenMap("mapfile/testdata/lld.map", mapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		addr uint64
		want string
	}{
		{0x202306, "sink+0x2"}, {0x200160, ".eh_frame+0x0(csample.o)+0x8"}, {0x900000, ""}, {0, ""},
	} {
		if got := m.Nearest(tt.addr); got != tt.want {
			t.Errorf("Nearest(%#x) = %q; want %q", tt.addr, got, tt.want)
		}
	}
	if addr, ok := m.SectionStart(".text.loop"); !ok || len(m.Lookup(addr, false)) != 1 || m.Lookup(addr, false)[0].Function != "loop" {
		t.Errorf("SectionStart(.text.loop) = %#x, %v", addr, ok)
	}
}

// TestMapModules: a module's function, equal names, Go's suffixes, return addresses.
func TestMapModules(t *testing.T) {
	file, err := mapfile.Read(strings.NewReader("0000000000001000 0000000000000010 T dup\n0000000000001010 0000000000000010 t never\n"+
		"0000000000001020 0000000000000008 T main.f.abi0\n0000000000001030 0000000000000010 T start\n0000000000002000 t dup\t[ext4]\n"), "a", mapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := NewMap(file)
	name := func(addr uint64, ret bool) string {
		if fr := m.Lookup(addr, ret); len(fr) == 1 {
			return fr[0].Function
		}
		return ""
	}
	for _, tt := range []struct {
		addr uint64
		ret  bool
		want string
	}{
		{0x2004, false, "dup [ext4]"}, {0x1020, false, "main.f"}, {0x1028, false, ""},
		// A call that never returns ends the function: the call before counts.
		{0x1020, true, "never"}, {0x1028, true, "main.f"},
		// Nothing before it can have called: made up.
		{0x1030, true, "start"}, {0x1031, true, "start"},
	} {
		if got := name(tt.addr, tt.ret); got != tt.want {
			t.Errorf("Lookup(%#x, %v) = %q; want %q", tt.addr, tt.ret, got, tt.want)
		}
	}
	if n := m.Named("dup"); len(n) != 2 || n[0].Start != 0x1000 || n[0].Size != 0x10 || n[0].Span != 0x10 {
		t.Errorf("Named(dup) = %+v", n)
	}
	if n := m.Named("main.f"); len(n) != 1 || n[0].Start != 0x1020 || n[0].Span != 0x10 {
		t.Errorf("Named(main.f) = %+v", n)
	}
}

// TestMapSymbolsErrors: object files and files without symbols have no map.
func TestMapSymbolsErrors(t *testing.T) {
	if _, err := openTest(t, buildC(t, "-c")).MapSymbols(); err == nil || !strings.Contains(err.Error(), "an object file") {
		t.Errorf("object file: %v", err)
	}
	f, err := NewFile(bytes.NewReader(makeELF(nil)), int64(len(makeELF(nil))), "empty")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.MapSymbols(); err == nil || !strings.Contains(err.Error(), "no symbols") {
		t.Errorf("empty file: %v", err)
	}
}
