package mapfile

// The maps that linkers write: GNU ld's and lld's, for ELF and PE.

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
