package mapfile

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	args := append([]string{"-O2", "-nostdlib", "-static", "-ffreestanding", "-o", path, "../symbol/testdata/csample.c"}, flags...)
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

// TestNM compares the answers for each byte of a program, from what nm prints of it,
// with its symbol table.
func TestNM(t *testing.T) {
	path, want := build(t)
	for _, tt := range []struct {
		args  string
		sizes bool
	}{
		{"", false}, {"-n", false}, {"-r", false}, {"-C", false}, {"-a", false},
		{"-S", true}, {"-n -S", true}, {"-S -C --size-sort", true}, {"-S -l", true},
		{"-P", true}, {"-f posix -n", true}, {"-f sysv", true}, {"-f sysv -r -C", true},
	} {
		m := parse(t, output(t, "nm", append(strings.Fields(tt.args), path)...), Options{})
		for addr := want.from - 16; addr < want.to+16; addr++ {
			w, got := want.at(addr), found(m, addr)
			if w == "" && !tt.sizes {
				continue // padding counts as the function's before it
			}
			if got != w {
				t.Errorf("nm %s: %#x is %q; want %q", tt.args, addr, got, w)
				break
			}
		}
		// The posix format has no leading zeros that would tell.
		if want := 8; m.AddressSize() != want && !strings.Contains(tt.args, "P") && !strings.Contains(tt.args, "posix") {
			t.Errorf("nm %s: addresses of %d bytes; want %d", tt.args, m.AddressSize(), want)
		}
	}
}

// TestGoNM does the same with a Go program and Go's nm.
func TestGoNM(t *testing.T) {
	path := filepath.Join(t.TempDir(), "go.elf")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = "../symbol/testdata/gosample"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	want := readTruth(t, path)
	for _, args := range [][]string{{"go", "tool", "nm", path}, {"go", "tool", "nm", "-size", path}, {"nm", "-S", path}, {"nm", "-P", path}, {"nm", "-f", "sysv", path}} {
		m := parse(t, output(t, args[0], args[1:]...), Options{})
		n := 0
		for _, s := range want.funcs {
			if s.Size == 0 || isNoFunc(s.Name) {
				continue
			}
			n++
			for _, off := range []uint64{0, s.Size / 2, s.Size - 1} {
				got, ok := m.Find(s.Value + off)
				if !ok || got.Addr != s.Value || got.Name != s.Name {
					t.Fatalf("%v: %#x is %s at %#x; want %s at %#x", args, s.Value+off, got.Name, got.Addr, s.Name, s.Value)
				}
			}
		}
		if n < 1000 {
			t.Errorf("%d functions; want more", n)
		}
	}
}

// TestGNU compares ld's maps with the ELF files that ld wrote with them.
func TestGNU(t *testing.T) {
	script := filepath.Join(t.TempDir(), "kernel.ld")
	err := os.WriteFile(script, []byte(`SECTIONS {
	. = 0x100000;
	.boot : { __boot_start = .; LONG(0x1badb002) LONG(0) KEEP(*(.boot)) . = ALIGN(16); }
	.text : { __text_start = .; *(.text .text.*) . = ALIGN(64); _etext = .; }
	.data : { *(.data) } .bss : { *(.bss) *(COMMON) }
	__kernel_size = . - 0x100000; PROVIDE(end = .);
}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags string
		all   bool // static functions are in it too
	}{
		{"", false}, {"-g", false}, {"-ffunction-sections", true}, {"-ffunction-sections -Wl,--cref", true},
		{"-ffunction-sections -Wl,-T," + script, true}, {"-ffunction-sections -fno-reorder-functions -Wl,--gc-sections", true},
	} {
		file := filepath.Join(t.TempDir(), "ld.map")
		path, want := build(t, append(strings.Fields(tt.flags), "-Wl,-Map,"+file)...)
		m, err := Open(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		answers := 0
		for addr := want.from - 16; addr < want.to+80; addr++ {
			w, got := want.at(addr), found(m, addr)
			if got != "" {
				answers++
			}
			if got == w || got == "" && !tt.all || strings.HasPrefix(w, "_start.cold+") || strings.HasPrefix(w, "rare+") {
				continue // .text.unlikely has no names
			}
			if w == "" && got != "" {
				// A function with the padding inside its piece.
				if s, _ := m.Find(addr); s.Name != "__text_start" {
					continue
				}
			}
			t.Errorf("%s: %#x is %q; want %q", tt.flags, addr, got, w)
			break
		}
		var start elf.Symbol
		for _, s := range want.funcs {
			if s.Name == "_start" {
				start = s
			}
		}
		if s, ok := m.Find(start.Value); !ok || s.Size != start.Size || answers < int(start.Size) {
			t.Errorf("%s: _start has %d bytes; want %d", tt.flags, s.Size, start.Size)
		}
		if r, ok := m.Region(start.Value + 1); !ok || !r.Code || !strings.HasPrefix(r.Name, ".text") || !strings.HasSuffix(r.Object, ".o") {
			t.Errorf("%s: region of _start: %+v", tt.flags, r)
		}
		if m.InText(want.from-0x800) || !m.InText(start.Value) {
			t.Errorf("%s: what is text is wrong", tt.flags)
		}
		if syms := m.Symbols(); m.AddressSize() != 8 || len(syms) < 2 {
			t.Errorf("%s: %d symbols, addresses of %d bytes (%s)", tt.flags, len(syms), m.AddressSize(), path)
		}
	}
}

// TestLLD compares lld's map of the sample (built with -ffunction-sections, lld 14)
// with what nm -n -S said of the same file.
func TestLLD(t *testing.T) {
	m, err := Open("testdata/lld.map", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := Open("testdata/lld.nm", Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for addr := uint64(0x200000); addr < 0x203000; addr++ {
		w, got := found(want, addr), found(m, addr)
		if w != got {
			t.Fatalf("%#x is %q; want %q", addr, got, w)
		}
		if got != "" {
			n++
		}
	}
	if n != 0xec {
		t.Errorf("%d bytes of functions; want %d", n, 0xec)
	}
	if s, ok := m.Nearest(0x202306); !ok || s.Name != "sink" || s.Type != 'D' || s.Size != 4 {
		t.Errorf("at 0x202306: %+v", s)
	}
	old := "Address  Size     Align Out     In      Symbol\n" +
		"00001000 00000020    16 .text\n00001000 00000020    16         a.o:(.text)\n00001000 00000010     0                 f\n"
	if got := found(parse(t, old, Options{}), 0x100f); got != "f+0xf" {
		t.Errorf("old form: 0x100f is %q", got)
	}
}

// TestPE reads the maps that three linkers (lld-link 14 with /map and /lldmap, GNU ld
// 2.40 for mingw) wrote of testdata/pe.s.
func TestPE(t *testing.T) {
	const image = 0x140000000
	other := uint64(0x7ff600000000)
	for _, file := range []string{"msvc.map", "lldlink.map", "pe.map"} {
		for _, base := range []*uint64{nil, &other} {
			at := uint64(image)
			if base != nil {
				at = *base
			} else if file == "lldlink.map" {
				at = 0
			}
			m, err := Open("testdata/"+file, Options{Base: base})
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct {
				off  uint64
				want string
			}{
				{0xfff, ""}, {0x1000, "mainCRTStartup+0x0"}, {0x100a, "mainCRTStartup+0xa"}, {0x1010, "work+0x0"},
				{0x1012, "work+0x2"}, {0x1015, "helper+0x2"}, {0x2000, ""}, {0x2010, ""},
			} {
				if tt.want == "helper+0x2" && file == "pe.map" {
					tt.want = "work+0x5" // it has no static functions
				}
				if got := found(m, at+tt.off); got != tt.want {
					t.Errorf("%s, base %#x: %#x is %q; want %q", file, at, at+tt.off, got, tt.want)
				}
			}
			if s, _ := m.Nearest(at + 0x2004); s.Name != "counter" || s.Type != 'D' {
				t.Errorf("%s, base %#x: data is %+v", file, at, s)
			}
			if s := m.At(at + 0x1010); len(s) != 1 || s[0].Name != "work" {
				t.Errorf("%s: at work: %+v", file, s)
			}
		}
	}
	m, err := Open("testdata/msvc.map", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if addr, ok := m.Logical(1, 0x13); !ok || addr != image+0x1013 {
		t.Errorf("0001:00000013 is %#x", addr)
	}
	if _, ok := m.Logical(7, 0); ok {
		t.Error("segment 7 is there")
	}
}

// Maps of linkers that cannot be run here, in the form their documentation and their
// users show.
const (
	msvc6Map = ` hello

 Timestamp is 3ecb9a8e (Wed May 21 18:23:58 2003)

 Preferred load address is 00400000

 Start         Length     Name                   Class
 0001:00000000 000037feH .text                   CODE
 0002:00000000 000000c4H .idata$5                DATA
 0003:00000000 00000124H .bss                    DATA

  Address         Publics by Value              Rva+Base     Lib:Object

 0000:00000003       ___safe_se_handler_count   00000003     <linker - defined>
 0001:00000000       _main                      00401000 f   hello.obj
 0001:00000030       ?DumpStack@StackDumper@@QAEXI@Z 00401030 f i hello.obj
 0001:00000090       $L49591                    00401090     hello.obj
 0001:00000090       ??1StackDumper@@QAE@XZ     00401090 f   LIBCMT:stack dumper.obj
 0002:00000000       __imp__GetTickCount@0      00405000     kernel32:KERNEL32.dll

 entry point at        0001:00000a20

 Static symbols

 0001:00000070       _count                     00401070 f   hello.obj

Line numbers for .\Debug\hello.obj(c:\hello.cpp) segment .text

     5 0001:00000000     6 0001:00000018

FIXUPS: 1017 a4 2a
`
	// The names of the seed that asked for these maps.
	borland5Map = "\r\n Start         Length     Name                   Class\r\n" +
		" 0001:00000000 0000071C3H _TEXT                  CODE\r\n 0002:00000000 000001A2CH _DATA                  DATA\r\n" +
		" 0002:00001A2C 000000B14H _BSS                   BSS\r\n\r\n\r\n  Address         Publics by Name\r\n\r\n" +
		" 0001:000006F5      StackDumper::DumpStack(unsigned int)\r\n 0001:00000694      StackDumper::GetCallerAddr(long)\r\n" +
		" 0001:000006C5      StackDumper::GetFuncAddr(unsigned long)\r\n 0001:000005FC      StackDumper::StackDumper()\r\n" +
		" 0001:00000639      StackDumper::~StackDumper()\r\n 0002:00000010      _counter\r\n\r\n  Address         Publics by Value\r\n\r\n" +
		" 0001:000005FC      StackDumper::StackDumper()\r\n 0001:00000639      StackDumper::~StackDumper()\r\n" +
		" 0001:00000694      StackDumper::GetCallerAddr(long)\r\n 0001:000006C5      StackDumper::GetFuncAddr(unsigned long)\r\n" +
		" 0001:000006F5      StackDumper::DumpStack(unsigned int)\r\n 0002:00000010      _counter\r\n\r\n\r\n" +
		"Program entry point at 0001:00000000\r\n"
	delphiMap = `
 Start         Length     Name                   Class
 0001:00401000 0000F234H .text                   CODE
 0002:00411000 00000ABCH .itext                  ICODE
 0003:00412000 00001000H .data                   DATA
 0005:00000000 00000024H .tls                    TLS


Detailed map of segments

 0001:00000000 000071A4 C=CODE     S=.text    G=(none)   M=System   ACBP=A9
 0001:000071A4 00000FEC C=CODE     S=.text    G=(none)   M=Main     ACBP=A9
 0002:00000000 00000ABC C=ICODE    S=.itext   G=(none)   M=Main     ACBP=A9
 0003:00000000 00001000 C=DATA     S=.data    G=DGROUP   M=Main     ACBP=A9

  Address             Publics by Value

 0001:00000004       System..TObject
 0001:000071A4       Main.TForm1.Crash
 0002:00000010       Main.Finalization
 0003:00000008       Main.Form1

Line numbers for Main(Main.pas) segment .text

    20 0001:000071A4    21 0001:000071B0
`
	dosMap = ` Start  Stop   Length Name               Class

 00000H 01A2FH 01A30H _TEXT              CODE
 01A30H 01FFFH 005D0H _DATA              DATA

 Origin   Group
 01A3:0   DGROUP

  Address         Publics by Value

 0000:0010       _main
 0000:0120 idle  _helper
 0010:0100 Abs   _far
 01A3:0004       _counter

Program entry point at 0000:0000
`
)

// TestSegments reads logical addresses in all forms.
func TestSegments(t *testing.T) {
	base, moved := uint64(0x400000), uint64(0x10000000)
	seed := " 0001:000006F5      StackDumper::DumpStack(unsigned int)\n 0001:00000639      StackDumper::~StackDumper()\n"
	for _, tt := range []struct {
		name, text string
		base       *uint64
		addr       uint64
		want       string
	}{
		{"msvc", msvc6Map, nil, 0x401035, "?DumpStack@StackDumper@@QAEXI@Z+0x5"},
		{"msvc static", msvc6Map, nil, 0x40108f, "_count+0x1f"},
		{"msvc function, not label", msvc6Map, nil, 0x401091, "??1StackDumper@@QAE@XZ+0x1"},
		{"msvc last of segment", msvc6Map, nil, 0x4047fd, "??1StackDumper@@QAE@XZ+0x376d"},
		{"msvc after segment", msvc6Map, nil, 0x4047fe, ""},
		{"msvc data", msvc6Map, nil, 0x405000, ""},
		{"msvc moved", msvc6Map, &moved, 0x10001035, "?DumpStack@StackDumper@@QAEXI@Z+0x5"},
		{"msvc absolute", msvc6Map, nil, 3, ""},
		{"borland", borland5Map, &base, 0x401640, "StackDumper::~StackDumper()+0x7"},
		{"borland last", borland5Map, &base, 0x4081c2, "StackDumper::DumpStack(unsigned int)+0x6acd"},
		{"borland end", borland5Map, &base, 0x4081c3, ""},
		{"borland moved", borland5Map, &moved, 0x10001640, "StackDumper::~StackDumper()+0x7"},
		{"seed alone", seed, &base, 0x40163b, "StackDumper::~StackDumper()+0x2"},
		{"delphi", delphiMap, nil, 0x4081a6, "Main.TForm1.Crash+0x2"},
		{"delphi piece ends", delphiMap, nil, 0x4081a3, "System..TObject+0x719f"},
		{"delphi itext", delphiMap, nil, 0x411011, "Main.Finalization+0x1"},
		{"delphi data", delphiMap, nil, 0x412008, ""},
		{"delphi moved", delphiMap, &moved, 0x100081a6, "Main.TForm1.Crash+0x2"},
		{"delphi 64", strings.NewReplacer("0001:00", "0001:0000000000", "0002:00", "0002:0000000000", "0003:00", "0003:0000000000").Replace(delphiMap), nil, 0x4081a6, "Main.TForm1.Crash+0x2"},
		{"dos", dosMap, nil, 0x11f, "_main+0x10f"},
		{"dos idle", dosMap, nil, 0x121, "_helper+0x1"},
		{"dos far", dosMap, nil, 0x203, "_far+0x3"},
		{"dos data", dosMap, nil, 0x1a34, ""},
		{"dos moved", dosMap, &base, 0x400203, "_far+0x3"},
	} {
		m := parse(t, tt.text, Options{Base: tt.base})
		if got := found(m, tt.addr); got != tt.want {
			t.Errorf("%s: %#x is %q; want %q", tt.name, tt.addr, got, tt.want)
		}
		if m.AddressSize() != 4 {
			t.Errorf("%s: addresses of %d bytes", tt.name, m.AddressSize())
		}
	}
	m := parse(t, borland5Map, Options{Base: &base})
	if s, ok := m.Nearest(0x409011); !ok || s.Name != "_counter" || s.Type != 'D' || s.Addr != 0x409010 {
		t.Errorf("data: %+v; want _counter at 0x409010", s)
	}
	if n := len(m.Symbols()); n != 6 {
		t.Errorf("%d symbols; want each once", n)
	}
	if addr, ok := m.Logical(1, 0x639); !ok || addr != 0x401639 {
		t.Errorf("0001:00000639 is %#x", addr)
	}
	if addr, ok := parse(t, dosMap, Options{}).Logical(0x10, 0x100); !ok || addr != 0x200 {
		t.Errorf("0010:0100 is %#x", addr)
	}
	if r, ok := parse(t, delphiMap, Options{}).Region(0x4081a4); !ok || r.Object != "Main" || r.Name != ".text" {
		t.Errorf("piece: %+v", r)
	}
}

const kallsyms = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000040 t dup
ffffffff81000080 W weak_alias
ffffffff81000080 T strong
ffffffff81000100 t dup
ffffffff81000140 T _etext
ffffffff82000000 D jiffies
ffffffffc0201000 t ftrace_trampoline	[__builtin__ftrace]
ffffffffc0301000 t ext4_read	[ext4]
ffffffffc0301080 T ext4_write	[ext4]
`

// TestKallsyms: marks, aliases, equal names, gaps and modules.
func TestKallsyms(t *testing.T) {
	m := parse(t, kallsyms, Options{})
	for _, tt := range []struct {
		addr uint64
		want string
	}{
		{0xffffffff81000004, "startup_64+0x4"}, {0xffffffff8100003f, "startup_64+0x3f"}, {0xffffffff81000044, "dup+0x4"},
		{0xffffffff81000081, "strong+0x1"}, {0xffffffff8100013f, "dup+0x3f"}, {0xffffffff81000141, ""},
		{0xffffffff82000000, ""}, {0xffffffffc0000000, ""}, {0xffffffffc0301001, "ext4_read+0x1"}, {0, ""},
		{0xffffffffc0301080 + MaxUnsized - 1, "ext4_write+0x3ffff"}, {0xffffffffc0301080 + MaxUnsized, ""}, {1<<64 - 1, ""},
	} {
		if got := found(m, tt.addr); got != tt.want {
			t.Errorf("%#x is %q; want %q", tt.addr, got, tt.want)
		}
	}
	if s, _ := m.Find(0xffffffffc0301001); s.Module != "ext4" || s.Size != 0x80 {
		t.Errorf("ext4_read: %+v", s)
	}
	if s := m.At(0xffffffff81000080); len(s) != 2 || s[0].Name != "weak_alias" || s[1].Name != "strong" {
		t.Errorf("aliases: %+v", s)
	}
	if s := m.Named("dup"); len(s) != 2 || s[0].Addr != 0xffffffff81000040 || m.Span(s[1].Addr) != 0x40 {
		t.Errorf("dup: %+v", s)
	}
	if s, ok := m.Preceding(0xffffffff81000148); !ok || s.Name != "dup" {
		t.Errorf("preceding: %+v", s)
	}
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
		{borland5Map, "-base gives the load address"},
		{" 0001:00000000       f\n", "bad.map:1: the map does not say at which addresses"},
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
			t.Errorf("%s: %s", m.Format(), diff)
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
