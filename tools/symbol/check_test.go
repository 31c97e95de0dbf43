package symbol

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// TestCheckGood: nothing is wrong with good files, whatever they are.
func TestCheckGood(t *testing.T) {
	paths := []string{
		buildC(t, "-gdwarf-5"), buildC(t, "-gdwarf-4"), buildC(t, "-gdwarf-2"), buildC(t, "-g", "-gz"), buildC(t, "-g", "-c"),
		buildC(t, "-s"), buildC(t, "-g0"), buildC(t, "-g", "-gdwarf64"), buildMany(t), buildLabels(t),
		buildGo(t, "testdata/gosample", ""), buildGo(t, "testdata/gosample", "-s -w"),
		filepath.Join("testdata", "objects", "arm64.o"), filepath.Join("testdata", "objects", "riscv64.o"),
	}
	for _, path := range paths {
		if err := openTest(t, path).Check(); err != nil {
			t.Errorf("Check() of a good file = %v", err)
		}
	}
}

// TestCheckDamaged: whatever section is wrong, the error names it and the file.
func TestCheckDamaged(t *testing.T) {
	dir := t.TempDir()
	check := func(what string, b []byte, section string) {
		t.Helper()
		path := filepath.Join(dir, "damaged.elf")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err == nil {
			err = f.Check()
			f.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), "section "+section+": ") {
			t.Errorf("%s of %s: %v; want an error that names both", what, section, err)
		}
	}
	read := func(path string) []byte {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	dwarf5, dwarf4, packed, goes := read(buildC(t, "-gdwarf-5")), read(buildC(t, "-gdwarf-4")), read(buildC(t, "-g", "-gz")), smallGo()
	for _, tt := range []struct {
		file     []byte
		sections []string
		checked  bool // the contents are looked at, not the place only
	}{
		{dwarf5, []string{".debug_info", ".debug_abbrev", ".debug_line"}, true},
		{dwarf5, []string{".debug_str", ".debug_line_str", ".debug_aranges", ".debug_rnglists", ".symtab", ".strtab"}, false},
		{dwarf4, []string{".debug_ranges"}, false},
		{packed, []string{".debug_info", ".debug_line"}, true},
		{goes, []string{".gopclntab"}, true},
	} {
		for _, name := range tt.sections {
			f := newTest(t, tt.file)
			i := slices.IndexFunc(f.Sections, func(s elf.Section) bool { return s.Name == name })
			if i < 0 {
				t.Fatalf("no section %s", name)
			}
			header := binary.LittleEndian.Uint64(tt.file[40:]) + 64*uint64(i)
			beyond := bytes.Clone(tt.file)
			binary.LittleEndian.PutUint64(beyond[header+24:], uint64(len(beyond))-1)
			check("the place", beyond, name)
			if !tt.checked {
				continue
			}
			s := &f.Sections[i]
			for _, fill := range []byte{0x01, 0xff} {
				filled := bytes.Clone(tt.file)
				for at := s.Off; at < s.Off+s.Len; at++ {
					filled[at] = fill
				}
				check("the contents", filled, name)
			}
			if half := withSection(t, tt.file, name, tt.file[s.Off:s.Off+s.Len/2]); name != ".debug_abbrev" {
				check("the second half", half, name)
			}
		}
	}
	// Lists of another file.
	check("the length", withSection(t, dwarf5, ".debug_rnglists", nil), ".debug_rnglists")
	check("the length", withSection(t, dwarf4, ".debug_ranges", nil), ".debug_ranges")
	check("the length", withSection(t, dwarf5, ".strtab", []byte{0}), ".symtab")
}

// TestCheckDebugFile: the separate debug file is the one that is named.
func TestCheckDebugFile(t *testing.T) {
	dir := t.TempDir()
	path := buildC(t, "-g", "-Wl,--build-id")
	debug, stripped := filepath.Join(dir, "c.debug"), filepath.Join(dir, "c.elf")
	command(t, dir, "objcopy", "--only-keep-debug", path, debug)
	command(t, dir, "objcopy", "--strip-all", "--add-gnu-debuglink="+debug, path, stripped)
	if err := openTest(t, stripped).Check(); err != nil {
		t.Fatalf("Check() = %v", err)
	}
	b, err := os.ReadFile(debug)
	if err != nil {
		t.Fatal(err)
	}
	s := newTest(t, b).FirstSection(".debug_line")
	clear(b[s.Off : s.Off+s.Len])
	if err := os.WriteFile(debug, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := openTest(t, stripped).Check(); err == nil || !strings.Contains(err.Error(), debug+": section .debug_line: ") {
		t.Errorf("Check() = %v; want the debug file's .debug_line", err)
	}
}
