package mapfile

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// A truth is the functions of an ELF file, as its own symbol table has them.
type truth struct {
	funcs    []elf.Symbol
	from, to uint64 // of .text
}

// build links the C sample of package symbol and returns the ELF file's path and what
// its symbol table says.
func build(t testing.TB, flags ...string) (path string, want truth) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "c.elf")
	args := append([]string{"-O2", "-nostdlib", "-static", "-ffreestanding", "-o", path, "../testdata/csample.c"}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and binutils)", err, msg)
	}
	return path, readTruth(t, path)
}

func readTruth(t testing.TB, path string) (want truth) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			want.funcs = append(want.funcs, s)
		}
	}
	text := f.Section(".text")
	want.from, want.to = text.Addr, text.Addr+text.Size
	return want
}

// at returns the function's name and offset, "" in padding.
func (w *truth) at(addr uint64) string {
	for _, s := range w.funcs {
		if addr-s.Value < s.Size {
			return fmt.Sprintf("%s+%#x", s.Name, addr-s.Value)
		}
	}
	return ""
}

func found(m *Map, addr uint64) string {
	if s, ok := m.Find(addr); ok {
		return fmt.Sprintf("%s+%#x", s.Name, addr-s.Addr)
	}
	return ""
}

// parse reads a map that is good.
func parse(t testing.TB, text string, opt Options) *Map {
	t.Helper()
	m, err := Read(strings.NewReader(text), "test.map", opt)
	if err != nil {
		t.Fatalf("%v\n%.1000s", err, text)
	}
	return m
}

// output runs a command and returns what it prints.
func output(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v (the tests need gcc and binutils)", name, args, err)
	}
	return string(out)
}

// TestBase moves the symbols of a map that counts from 0, but not its numbers.
func TestBase(t *testing.T) {
	base := uint64(0x555555554000)
	m := parse(t, "0000000000001139 T main\n0000000000000010 A number\n", Options{Base: &base})
	if got := found(m, base+0x113a); got != "main+0x1" {
		t.Errorf("moved: %q", got)
	}
	if s := m.At(0x10); len(s) != 1 || s[0].Name != "number" {
		t.Errorf("absolute number: %+v", s)
	}
}

// TestNames: names with blanks, bars and letters that look like columns.
func TestNames(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"0000000000001000 T ns::D::f(int, char const*)\n", "ns::D::f(int, char const*)"},
		{"0000000000001000 0000000000000010 t operator|(A, B)\n", "operator|(A, B)"},
		{"ns::D::f(int, char const*) T 1000 10\n", "ns::D::f(int, char const*)"},
		{"f T 1000 \nU U         \n", "f"},
		{"\n\nSymbols from a:\n\nName                  Value           Class        Type         Size             Line  Section\n\n" +
			"operator|(A, B)     |0000000000001000|   T  |              FUNC|0000000000000010|     |.text\n" +
			"printf              |                |   U  |            NOTYPE|                |     |*UND*\n", "operator|(A, B)"},
		{"\ufeff\r\n1000 T f\r\n", "f"},
		{"a.out:\n1000 T f\n         U g\n                 w h\n", "f"},
		{"    1000          16 T type:.eq.struct { a int }\n", "type:.eq.struct { a int }"},
		{"1000 T f\t/src/a.c:12\n", "f"},
		{"1000 T add\n1010 T b c\n", "add"},
	} {
		m := parse(t, tt.text, Options{})
		if s, ok := m.Find(0x1008); !ok || s.Name != tt.want || s.Size != 16 && s.Size != MaxUnsized {
			t.Errorf("%q: %+v; want %q", tt.text, s, tt.want)
		}
	}
}

// TestErrors: each names the file, the line and the cause.
func TestErrors(t *testing.T) {
	const sysv = "Name                  Value           Class        Type         Size             Line  Section\n"
	for _, tt := range []struct{ text, want string }{
		{"", "empty"},
		{"\n \n", "no text in it"},
		{"\x7fELF\x02\x01\x01", "an ELF file, which belongs after -e"},
		{"MZ\x90\x00\x03", "a PE file"},
		{"\xff\xfe0\x00", "UTF-16"},
		{"\x1f\x8b\x08", "a gzip file"},
		{"1000 T f\n\x00", "no text"},
		{"\nhello, world\n", `bad.map:2: not a map file of a known format: "hello, world"`},
		{"1000 T f\nnonsense\n", `bad.map:2: "nonsense" is not ADDRESS [SIZE] TYPE NAME`},
		{"1000 T f\n11111111111111111 T g\n", "bad.map:2: address 11111111111111111 has more than 64 bits"},
		{"a.o:\n0 T f\n\nb.o:\n0 T g\n", `bad.map:4: "b.o:" begins the symbols of another file`},
		{"f T 1000 10\nnonsense\n", `bad.map:2: "nonsense" is not NAME TYPE [ADDRESS [SIZE]]`},
		{sysv + "f |10|T|FUNC\n", "bad.map:2: "},
		{sysv + "f |xx|T|FUNC|10||.text\n", `bad.map:2: "xx" and "T" are not an address and a class`},
		{sysv + "f |10|T|FUNC|xx||.text\n", `bad.map:2: "xx" is not a size`},
		{sysv + "f |10|T|FUNC|10||.text\n" + sysv, "bad.map:3: the symbols of another file"},
		{sysv, "bad.map: no symbols in it (nm's output, -f sysv)"},
		{"1000 D counter\n", "bad.map: 1 symbols but no function among them"},
		{"0000000000000000 T f\n0000000000000000 T g\n", "kernel.kptr_restrict"},
		{gnuHeading, "the map ends before its heading"},
		{"Memory Configuration\n\nName\n", "the map ends before its heading"},
		{gnuHeading + "\n.text 0xzz 0x10\n", `bad.map:2: "0xzz" is not an address`},
		{gnuHeading + "\n .text 0x10 0xzz a.o\n", `bad.map:2: "0xzz" is not a size`},
		{gnuHeading + "\n                0x11112222333344445555 f\n", `bad.map:2: "0x11112222333344445555" is not an address`},
		{gnuHeading + "\n .text 0xfffffffffffffff0 0x20 a.o\n", "bad.map:2: section .text: 0x20 bytes from 0xfffffffffffffff0 on leave the address space"},
		{gnuHeading + "\n.text\n", "no symbols in it (a map of GNU ld)"},
		{"VMA LMA Size Align Out In Symbol\n10 10 zz 1 .text\n", `bad.map:2: "zz" in column 3 is not a number`},
		{"VMA LMA Size Align Out In Symbol\n10 10 10 1\n", "bad.map:2: no name after the numbers"},
		{"VMA LMA Size Align Out In Symbol\nffffffffffffffff 0 10 1 .text\n", "bad.map:2: 0x10 bytes from"},
		{" Start         Length     Name                   Class\n 0001:00000000 f\n", `bad.map:2: "f" is not the length of a segment`},
		{"  Address         Publics by Value              Rva+Base     Lib:Object\n 0001:00000000       _f f f.obj\n", `bad.map:2: "_f f f.obj" has no address under Rva+Base`},
		{" Start         Length     Name                   Class\n 0001:ffffff00 ffffffffffffff00H .text CODE\n  Address         Publics by Value\n 0001:00000000       f\n", "leave the address space"},
		{" Start  Stop   Length Name Class\n 00000H 00000H FFFFFFFFH _TEXT CODE\n", "bad.map:2: a segment of 0xffffffff bytes at 0x0, in a 16-bit program"},
	} {
		_, err := Read(strings.NewReader(tt.text), "bad.map", Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "bad.map:") || strings.Contains(err.Error(), "::") {
			t.Errorf("%.60q: %v; want %q", tt.text, err, tt.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); err == nil || strings.Count(err.Error(), dir) != 1 {
		t.Errorf("folder: %v", err)
	}
}

// same reports how two maps differ, or "".
func same(a, b *Map) string {
	if len(a.syms) != len(b.syms) {
		return fmt.Sprintf("%d symbols; want %d", len(b.syms), len(a.syms))
	}
	for i := range a.syms {
		x, y := a.syms[i], b.syms[i]
		if x.Addr != y.Addr || x.Size != y.Size || x.Type != y.Type || x.Module != y.Module || printable(x.Name) != y.Name {
			return fmt.Sprintf("%+v; want %+v", y, x)
		}
	}
	return ""
}

// TestWrite: what is written is read back as it was.
func TestWrite(t *testing.T) {
	path, _ := build(t)
	gnu := filepath.Join(t.TempDir(), "ld.map")
	build(t, "-Wl,-Map,"+gnu)
	text, err := os.ReadFile(gnu)
	if err != nil {
		t.Fatal(err)
	}
	base := uint64(0x400000)
	for _, text := range []string{kallsyms, msvc6Map, borland5Map, delphiMap, string(text), output(t, "nm", "-S", path), output(t, "nm", "-P", path)} {
		m := parse(t, text, Options{Base: &base})
		var out bytes.Buffer
		if err := Write(&out, m.Symbols(), m.AddressSize()); err != nil {
			t.Fatal(err)
		}
		again := parse(t, out.String(), Options{})
		if diff := same(m, again); diff != "" {
			t.Errorf("%s: %s", m.format, diff)
		}
	}
	// nm -n -S sorts equal addresses by its own rule.
	want := output(t, "nm", "-n", "-S", path)
	m := parse(t, want, Options{})
	var out bytes.Buffer
	Write(&out, m.Symbols(), 8)
	if out.String() != want {
		t.Errorf("written:\n%s; want what nm -n -S prints:\n%s", &out, want)
	}
	out.Reset()
	Write(&out, []Symbol{{Name: "a\nb\t[c]\x7f ", Addr: 1, Type: 'T'}, {Name: " ", Type: 'T'}}, 4)
	if got := out.String(); got != "00000001 T a?b?[c]?\n" {
		t.Errorf("hostile name: %q", got)
	}
}

// At returns all symbols at exactly this address: a function and its other names.
func (m *Map) At(addr uint64) []Symbol {
	lo := sort.Search(len(m.syms), func(i int) bool { return m.syms[i].Addr >= addr })
	hi := lo
	for hi < len(m.syms) && m.syms[hi].Addr == addr {
		hi++
	}
	return m.syms[lo:hi]
}
