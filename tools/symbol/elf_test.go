package symbol

import (
	"bytes"
	"compress/zlib"
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A testSection is a section of an ELF file that a test makes up.
type testSection struct {
	name  string
	typ   stdelf.SectionType
	flags stdelf.SectionFlag
	addr  uint64
	data  []byte
	size  uint64 // for SHT_NOBITS
	link  uint32
	align uint64
}

// makeELF makes a 64-bit ELF file for amd64 of sections, with a loaded segment
// for each allocated one and the given other segments.
func makeELF(sections []testSection, notes ...[]byte) []byte {
	le := binary.LittleEndian
	var out []byte
	names := []byte{0}
	sections = append([]testSection{{}}, sections...)
	sections = append(sections, testSection{name: ".shstrtab", typ: stdelf.SHT_STRTAB})
	out = append(out, make([]byte, 64)...)
	var headers, segments []byte
	nseg := uint16(0)
	segment := func(typ stdelf.ProgType, flags stdelf.ProgFlag, off, addr, size, align uint64) {
		segments = le.AppendUint32(segments, uint32(typ))
		segments = le.AppendUint32(segments, uint32(flags))
		for _, v := range []uint64{off, addr, addr, size, size, align} {
			segments = le.AppendUint64(segments, v)
		}
		nseg++
	}
	for i := range sections {
		s := &sections[i]
		nameOff := uint32(0)
		if s.name != "" {
			nameOff = uint32(len(names))
			names = append(append(names, s.name...), 0)
		}
		if i == len(sections)-1 {
			s.data = names
		}
		off, size := uint64(len(out)), uint64(len(s.data))
		if s.typ == stdelf.SHT_NOBITS {
			size = s.size
		}
		out = append(out, s.data...)
		if s.flags&stdelf.SHF_ALLOC != 0 && s.typ != stdelf.SHT_NOBITS {
			segment(stdelf.PT_LOAD, stdelf.PF_R|stdelf.PF_X, off, s.addr, size, 1)
		}
		headers = le.AppendUint32(headers, nameOff)
		headers = le.AppendUint32(headers, uint32(s.typ))
		for _, v := range []uint64{uint64(s.flags), s.addr, off, size} {
			headers = le.AppendUint64(headers, v)
		}
		headers = le.AppendUint32(headers, s.link)
		headers = le.AppendUint32(headers, 0)
		headers = le.AppendUint64(headers, max(s.align, 1))
		headers = le.AppendUint64(headers, 0)
	}
	for _, n := range notes {
		segment(stdelf.PT_NOTE, stdelf.PF_R, uint64(len(out)), 0, uint64(len(n)), 4)
		out = append(out, n...)
	}
	shoff := len(out)
	out = append(out, headers...)
	phoff := len(out)
	out = append(out, segments...)
	copy(out, "\x7fELF\x02\x01\x01")
	le.PutUint16(out[16:], uint16(stdelf.ET_EXEC))
	le.PutUint16(out[18:], uint16(stdelf.EM_X86_64))
	le.PutUint32(out[20:], 1)
	le.PutUint64(out[32:], uint64(phoff))
	le.PutUint64(out[40:], uint64(shoff))
	le.PutUint16(out[52:], 64)
	le.PutUint16(out[54:], 56)
	le.PutUint16(out[56:], nseg)
	le.PutUint16(out[58:], 64)
	le.PutUint16(out[60:], uint16(len(sections)))
	le.PutUint16(out[62:], uint16(len(sections)-1))
	return out
}

// makeSymtab makes the sections .symtab and .strtab; strtab is the number the
// latter will have.
func makeSymtab(strtab uint32, syms ...stdelf.Symbol) []testSection {
	le := binary.LittleEndian
	tab, str := make([]byte, 24), []byte{0}
	for _, s := range syms {
		tab = le.AppendUint32(tab, uint32(len(str)))
		tab = append(tab, s.Info, s.Other)
		tab = le.AppendUint16(tab, uint16(s.Section))
		tab = le.AppendUint64(tab, s.Value)
		tab = le.AppendUint64(tab, s.Size)
		str = append(append(str, s.Name...), 0)
	}
	return []testSection{
		{name: ".symtab", typ: stdelf.SHT_SYMTAB, data: tab, link: strtab},
		{name: ".strtab", typ: stdelf.SHT_STRTAB, data: str},
	}
}

func newTest(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := NewFile(bytes.NewReader(b), int64(len(b)), "test.elf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func note(name string, typ uint32, desc []byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(len(name)))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, typ)
	pad := func() {
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	b = append(b, name...)
	pad()
	b = append(b, desc...)
	pad()
	return b
}

func TestBuildID(t *testing.T) {
	id := []byte{0xde, 0xad, 0xbe, 0xef, 0x0a}
	const want = "deadbeef0a"
	gnu := note("GNU\x00", 3, id)
	join := func(notes ...[]byte) []byte { return bytes.Join(notes, nil) }
	section := func(name string, b []byte) []testSection {
		return []testSection{{name: name, typ: stdelf.SHT_NOTE, flags: stdelf.SHF_ALLOC, addr: 0x1000, data: b, align: 4}}
	}
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"section", makeELF(section(".note.gnu.build-id", gnu)), want},
		{"section of another name", makeELF(section(".note", gnu)), want},
		{"segment", makeELF(nil, gnu), want},
		{"after a note with odd lengths", makeELF(section(".note", join(note("Go\x00\x00\x00", 4, []byte("abc")), gnu))), want},
		{"second segment", makeELF(nil, note("Xen\x00", 18, make([]byte, 8)), gnu), want},
		{"name without NUL", makeELF(nil, note("GNU", 3, id)), ""},
		{"name with two NULs", makeELF(nil, note("GNU\x00\x00", 3, id)), ""},
		{"another type", makeELF(nil, note("GNU\x00", 1, id)), ""},
		{"empty", makeELF(nil, note("GNU\x00", 3, nil)), ""},
		{"cut short", makeELF(nil, gnu[:len(gnu)-5]), ""},
		{"length beyond the end", makeELF(nil, join(gnu[:4], []byte{0xff, 0xff, 0xff, 0xff}, gnu[8:])), ""},
		{"none", makeELF(nil), ""},
	} {
		if got := newTest(t, tt.file).BuildID(); got != tt.want {
			t.Errorf("BuildID(%s) = %q; want %q", tt.name, got, tt.want)
		}
	}
}

func TestBuildIDOfGo(t *testing.T) {
	f := openTest(t, buildGo(t, "testdata/gosample", "-B 0x0123456789ABCDEF"))
	if got, want := f.BuildID(), "0123456789abcdef"; got != want {
		t.Errorf("BuildID() = %q; want %q", got, want)
	}
}

func TestWhere(t *testing.T) {
	f := newTest(t, makeELF([]testSection{
		{name: ".text", typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_ALLOC | stdelf.SHF_EXECINSTR, addr: 0x200000, data: make([]byte, 0x100)},
		{name: ".tbss", typ: stdelf.SHT_NOBITS, flags: stdelf.SHF_ALLOC | stdelf.SHF_TLS, addr: 0x201000, size: 0x1000},
		{name: ".noptrbss", typ: stdelf.SHT_NOBITS, flags: stdelf.SHF_ALLOC | stdelf.SHF_WRITE, addr: 0x201000, size: 0x80},
		{name: ".comment", typ: stdelf.SHT_PROGBITS, data: make([]byte, 0x20)},
	}))
	for _, tt := range []struct {
		addr    uint64
		text    bool
		nearest string
	}{
		{0x200000, true, ".text+0x0"},
		{0x2000ff, true, ".text+0xff"},
		{0x200100, false, ".text end+0x0"},
		{0x1ff000, false, ".text-0x1000"},
		{0x201040, false, ".noptrbss+0x40"},
		{0x201080, false, ".noptrbss end+0x0"},
		{0x200ff0, false, ".noptrbss-0x10"},
		{0x1fefff, false, ""}, // further than a page from any
		{0x202080, false, ".noptrbss end+0x1000"},
		{0x202081, false, ""},
		{0, false, ""},
		{^uint64(0), false, ""},
	} {
		if got := f.IsText(tt.addr); got != tt.text {
			t.Errorf("IsText(%#x) = %t", tt.addr, got)
		}
		if got := f.Nearest(tt.addr); got != tt.nearest {
			t.Errorf("Nearest(%#x) = %q; want %q", tt.addr, got, tt.nearest)
		}
	}
	if name, start, ok := f.Section(0x201040); name != ".noptrbss" || start != 0x201000 || !ok {
		t.Errorf("Section(0x201040) = %q, %#x, %t", name, start, ok)
	}
	if addr, ok := f.SectionStart(".text"); addr != 0x200000 || !ok {
		t.Errorf("SectionStart(.text) = %#x, %t", addr, ok)
	}
	if _, ok := f.SectionStart(".comment"); ok {
		t.Error("SectionStart(.comment) = true; it has no address")
	}
}

// TestReturnAddress: what a return address is looked up as.
func TestReturnAddress(t *testing.T) {
	const text = 0x200000
	code := bytes.Repeat([]byte{0x90}, 0x80)
	copy(code[0x0b:], []byte{0xe8, 0, 0, 0, 0})       // f ends in CALL rel32; g at 0x10
	copy(code[0x2e:], []byte{0xff, 0xd0})             // g ends in CALL AX; h at 0x30
	copy(code[0x39:], []byte{0xff, 0x94, 0x24, 8, 0}) // h ends in CALL 8(SP); i at 0x40
	copy(code[0x3e:], []byte{0, 0})
	sections := append([]testSection{
		{name: ".text", typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_ALLOC | stdelf.SHF_EXECINSTR, addr: text, data: code},
	}, makeSymtab(3,
		stdelf.Symbol{Name: "f.abi0", Info: byte(stdelf.STT_FUNC), Section: 1, Value: text, Size: 0x10},
		stdelf.Symbol{Name: "g", Info: byte(stdelf.STT_FUNC), Section: 1, Value: text + 0x10, Size: 0x20},
		stdelf.Symbol{Name: "h", Info: byte(stdelf.STT_FUNC), Section: 1, Value: text + 0x30, Size: 0x10},
		stdelf.Symbol{Name: "i", Info: byte(stdelf.STT_FUNC), Section: 1, Value: text + 0x40, Size: 0x10},
		stdelf.Symbol{Name: "j", Info: byte(stdelf.STT_NOTYPE), Section: 1, Value: text + 0x50},
		stdelf.Symbol{Name: "k", Info: byte(stdelf.STT_FUNC), Section: 1, Value: text + 0x60, Size: 8},
	)...)
	f := newTest(t, makeELF(sections))
	for _, tt := range []struct {
		addr   uint64
		ret    bool
		name   string
		offset uint64
	}{
		{text + 0x10, false, "g", 0},
		{text + 0x10, true, "f", 0x10},
		{text + 0x11, true, "g", 1},
		{text + 0x30, true, "g", 0x20},
		{text + 0x40, true, "h", 0x10},
		{text + 0x50, true, "j", 0},   // no call before it
		{text, true, "f", 0},          // nothing before it
		{text + 0x5f, false, "j", 15}, // a label reaches to the next symbol
		{text + 0x68, true, "k", 8},
		{text + 0x68, false, "", 0}, // padding
		{text + 0x80, true, "", 0},
		{text - 1, false, "", 0},
		{0, true, "", 0},
	} {
		got := f.Lookup(tt.addr, tt.ret)
		switch {
		case len(got) == 0 && tt.name == "":
		case len(got) != 1 || got[0] != (lookup.Call{Function: tt.name, Offset: tt.offset}):
			t.Errorf("Lookup(%#x, %t) = %+v; want %s+%#x", tt.addr, tt.ret, got, tt.name, tt.offset)
		}
	}
	for _, name := range []string{"f", "f.abi0"} {
		if addr, size, ok := f.Symbol(name); addr != text || size != 0x10 || !ok {
			t.Errorf("Symbol(%s) = %#x, %d, %t", name, addr, size, ok)
		}
	}
	for _, name := range []string{"", "ff", "z", "f.abi"} {
		if _, _, ok := f.Symbol(name); ok {
			t.Errorf("Symbol(%q) = true", name)
		}
	}
	if fr, ok := f.Preceding(text + 0x6a); fr.Function != "k" || fr.Offset != 0xa || !ok {
		t.Errorf("Preceding(padding) = %+v, %t", fr, ok)
	}
}

func TestErrors(t *testing.T) {
	good := makeELF([]testSection{{name: ".text", typ: stdelf.SHT_PROGBITS, data: make([]byte, 64)}})
	edit := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not an ELF file (empty)"},
		{"script", []byte("#!/bin/sh\n"), "not an ELF file (a script)"},
		{"text", []byte("hello"), `not an ELF file (starts with "hell")`},
		{"header cut", good[:40], "cut short: 40 bytes"},
		{"tail cut", good[:len(good)-200], "cut short or damaged"},
		{"class", edit(func(b []byte) { b[stdelf.EI_CLASS] = 9 }), "unknown class 9"},
		{"order", edit(func(b []byte) { b[stdelf.EI_DATA] = 9 }), "unknown byte order 9"},
		{"shentsize", edit(func(b []byte) { b[58] = 1 }), "section headers of 1 bytes"},
		{"shnum", edit(func(b []byte) { b[60], b[61] = 0xff, 0xff }), "65535 section headers do not fit"},
	} {
		_, err := NewFile(bytes.NewReader(tt.file), int64(len(tt.file)), "x.elf")
		if err == nil || !strings.HasPrefix(err.Error(), "x.elf: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewFile(%s) = %v; want %q", tt.name, err, tt.want)
		}
		if strings.Contains(tt.want, "not an ELF") && !errors.Is(err, ErrNotELF) {
			t.Errorf("NewFile(%s): %v does not wrap ErrNotELF", tt.name, err)
		}
	}
	f := newTest(t, good)
	if err := f.CanResolve(); !errors.Is(err, ErrNoSymbols) {
		t.Errorf("CanResolve() = %v; want ErrNoSymbols", err)
	}
	if got := f.Arch(); got != "amd64" {
		t.Errorf("Arch() = %s; want amd64", got)
	}
	f = newTest(t, edit(func(b []byte) { b[18] = byte(stdelf.EM_AARCH64) }))
	if got := f.Arch(); got != "arm64" {
		t.Errorf("Arch() = %s; want arm64", got)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open(missing) = %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotELF) {
		t.Errorf("Open(directory) = %v", err)
	}
	// A pc table of a Go release to come: say so, do not guess.
	f = newTest(t, makeELF([]testSection{{name: ".gopclntab", typ: stdelf.SHT_PROGBITS, data: append([]byte{0xf2, 0xff, 0xff, 0xff}, make([]byte, 200)...)}}))
	if err := f.CanResolve(); !errors.Is(err, ErrNoSymbols) || !strings.Contains(err.Error(), "version") {
		t.Errorf("CanResolve() with an unknown pc table = %v", err)
	}
}

// TestCompressedBomb: a section must not unfold to much more than debug
// information ever does.
func TestCompressedBomb(t *testing.T) {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(make([]byte, 64<<20))
	w.Close()
	chdr := make([]byte, 24)
	chdr[0] = byte(stdelf.COMPRESS_ZLIB)
	binary.LittleEndian.PutUint64(chdr[8:], 64<<20)
	f := newTest(t, makeELF([]testSection{
		{name: ".debug_info", typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_COMPRESSED, data: append(chdr, z.Bytes()...)},
	}))
	if _, err := f.Data(f.FirstSection(".debug_info")); err == nil {
		t.Error("a section of 64 KB unfolded to 64 MB")
	}
}
