package symbol

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// buildGo builds the Go program in dir as zf builds them, stripped or not.
func buildGo(t testing.TB, dir string, ldflags string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "prog.elf")
	cmd := exec.Command("go", "build", "-o", out, "-ldflags=-T 0x200000 "+ldflags, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS=linux")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	return out
}

func openTest(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A truth is what the program said of one of its addresses.
type truth struct {
	pc, entry uint64
	frames    []Frame
}

// askProgram runs the sample for every step'th address of its text.
func askProgram(t testing.TB, path string, step int) []truth {
	t.Helper()
	f := openTest(t, path)
	start, end := f.goTable().TextRange()
	cmd := exec.Command(path, fmt.Sprint(start), fmt.Sprint(end), fmt.Sprint(step))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var all []truth
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if pc, ok := strings.CutPrefix(line, "@"); ok {
			all = append(all, truth{pc: parseHex(t, pc)})
			continue
		}
		field := strings.Split(line, "\t")
		if len(field) != 5 {
			t.Fatalf("sample printed %q", line)
		}
		last := &all[len(all)-1]
		last.entry = parseHex(t, field[4])
		n, err := strconv.Atoi(field[2])
		if err != nil {
			t.Fatal(err)
		}
		if field[1] == "?" {
			field[1] = "" // how Lookup says "not known"
		}
		last.frames = append(last.frames, Frame{Function: field[0], File: field[1], Line: n, Inlined: field[3] == "true"})
	}
	return all
}

func parseHex(t testing.TB, s string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func equalFrames(a, b []Frame) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestGoEqualsRuntime holds Lookup against runtime.CallersFrames. That takes
// every address for a return address; so each one also says what Lookup must say
// of the exact address before it. There is one difference: where the runtime
// leaves out a wrapper that holds the instruction, Lookup has it as the last frame.
func TestGoEqualsRuntime(t *testing.T) {
	// The linker lays out the code the same whether it strips or not.
	ref := openTest(t, buildGo(t, "testdata/gosample", ""))
	for _, variant := range []struct{ name, ldflags string }{
		{"symbols", ""},
		{"stripped", "-s -w"},
	} {
		t.Run(variant.name, func(t *testing.T) {
			path := buildGo(t, "testdata/gosample", variant.ldflags)
			f := openTest(t, path)
			if err := f.CanResolve(); err != nil {
				t.Fatal(err)
			}
			compared, inlined, elided, bad := 0, 0, 0, 0
			check := func(addr uint64, ret bool, want truth) {
				frames := append([]Frame(nil), want.frames...)
				for i := range frames {
					frames[i].Offset = addr - want.entry
					if frames[i].Function == "" {
						// The runtime takes the name at offset 0 of its names
						// for none (moduledata.funcName): the first function's.
						frames[i].Function = string(f.goTable().NameAt(0))
					}
				}
				if n := len(frames); n > 0 && frames[n-1].Inlined {
					pc := addr
					if ret {
						pc--
					}
					fr := leftOut(t, f, ref, want.entry, pc)
					fr.Offset = addr - want.entry
					frames = append(frames, fr)
				}
				compared++
				if got := f.Lookup(addr, ret); !equalFrames(got, frames) {
					if bad++; bad <= 10 {
						t.Errorf("Lookup(%#x, %t) = %+v; want %+v", addr, ret, got, frames)
					}
				}
			}
			for _, want := range askProgram(t, path, 7) {
				if len(want.frames) > 1 {
					inlined++
				}
				if n := len(want.frames); n > 0 && want.frames[n-1].Inlined {
					elided++
				}
				if want.pc == want.entry {
					check(want.pc, false, want)
					continue
				}
				check(want.pc, true, want)
				check(want.pc-1, false, want)
			}
			t.Logf("%d look-ups, %d mismatches; %d addresses in inlined calls, %d in left-out wrappers", compared, bad, inlined, elided)
			if compared < 5000 || inlined < 500 || elided == 0 {
				t.Errorf("compared %d, inlined %d, left-out wrappers %d: the sample no longer tests what it should", compared, inlined, elided)
			}
			if f.dwarf != nil {
				t.Error("look-ups of Go addresses read DWARF")
			}
		})
	}
}

// leftOut returns the frame of the wrapper at entry, which the runtime did not
// show for pc. ref is the same program with its symbol table and DWARF.
func leftOut(t *testing.T, f, ref *File, entry, pc uint64) Frame {
	t.Helper()
	g := f.goTable()
	if fn, ok := g.Find(uintptr(entry)); !ok || fn.FuncID() != g.wrapper {
		t.Fatalf("the function at %#x has ID %d; want that of a wrapper, %d", entry, fn.FuncID(), g.wrapper)
	}
	hit, ok := ref.funcAt(entry)
	if !ok || hit.start != entry {
		t.Fatalf("the symbol at %#x = %+v; want one that begins there", entry, hit)
	}
	calls, _ := ref.dwarfLookup(pc, hit)
	if len(calls) == 0 {
		t.Fatalf("DWARF knows nothing of %#x", pc)
	}
	last := calls[len(calls)-1]
	// DWARF puts the folder of the compilation, which is ".", before what is no path.
	file := strings.TrimPrefix(last.File, "././")
	return Frame{Function: printedName(hit.name), File: file, Line: last.Line}
}

// smallGo makes an ELF file whose pc table has one function, main.f, with main.g
// inlined at 0x200040 to 0x200080.
func smallGo() []byte {
	const text, tabAddr = 0x200000, 0x300000
	le := binary.LittleEndian
	tab := make([]byte, 72)
	le.PutUint32(tab, 0xfffffff1)
	tab[6], tab[7] = 1, 8
	part := func(header int, b string) {
		if header > 0 {
			le.PutUint64(tab[header:], uint64(len(tab)))
		}
		tab = append(tab, b...)
	}
	u32s := func(vs ...uint32) {
		for _, v := range vs {
			tab = le.AppendUint32(tab, v)
		}
	}
	le.PutUint64(tab[8:], 1)
	part(32, "main.f\x00main.g\x00\x00\x00")
	part(40, "\x00\x00\x00\x00")
	part(48, "/a.go\x00\x00\x00")
	// At 1: file 0. At 5: line 3, from 0x40 on 9, from 0x80 on 3. At 14: inlined
	// call -1, from 0x40 on 0, from 0x80 on -1. At 23: SP delta 8.
	part(56, string([]byte{0, 2, 0x80, 2, 0, 8, 0x40, 12, 0x40, 11, 0x80, 1, 0, 0, 0, 0x40, 2, 0x40, 1, 0x80, 1, 0, 0, 18, 0x80, 2, 0}))
	for len(tab)%8 != 0 {
		tab = append(tab, 0)
	}
	part(64, "")
	u32s(0, 12, 0x100)
	u32s(0, 0, 0, 0, 23, 1, 5, 3, 0, 2, 4<<24) // 3 PCDATA, 4 FUNCDATA
	u32s(0, 0, 14)
	u32s(^uint32(0), ^uint32(0), ^uint32(0), 0)
	gofunc := uint64(len(tab))
	u32s(0, 7, 0x10, 8) // inlined call of the name at 7, from f+0x10
	module := make([]byte, mdSize)
	le.PutUint64(module, tabAddr)
	le.PutUint64(module[8:], tabAddr+72)
	le.PutUint64(module[mdText:], text)
	le.PutUint64(module[mdGofunc:], tabAddr+gofunc)
	le.PutUint64(module[mdGofunc+8:], tabAddr+uint64(len(tab)))
	return makeELF([]testSection{
		{name: ".text", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, addr: text, data: make([]byte, 0x100)},
		{name: ".gopclntab", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, addr: tabAddr, data: tab},
		{name: ".go.module", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_WRITE, addr: 0x400000, data: module},
	})
}

func TestSmallGo(t *testing.T) {
	f := newTest(t, smallGo())
	for _, tt := range []struct {
		addr uint64
		want []Frame
	}{
		{0x200010, []Frame{{Function: "main.f", Offset: 0x10, File: "/a.go", Line: 3}}},
		{0x200041, []Frame{
			{Function: "main.g", Offset: 0x41, File: "/a.go", Line: 9, Inlined: true},
			{Function: "main.f", Offset: 0x41, File: "/a.go", Line: 3},
		}},
		{0x200100, nil},
	} {
		if got := f.Lookup(tt.addr, false); !equalFrames(got, tt.want) {
			t.Errorf("Lookup(%#x) = %+v; want %+v", tt.addr, got, tt.want)
		}
	}
	if d, ok := f.SPDelta(0x200010); d != 8 || !ok {
		t.Errorf("SPDelta(0x200010) = %d, %t; want 8", d, ok)
	}
}
