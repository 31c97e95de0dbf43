package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goTableProgram holds a table as the kernel does, of the given size, and keeps it
// in the file.
func goTableProgram(words string) string {
	return `package main

var table = [` + words + `]uint64{` + fmt.Sprint(uint64(goTableMagic), ", ", goTableVersion) + `}

func main() {
	s := uint64(0)
	for _, v := range table {
		s += v
	}
	println(s)
}
`
}

// linkTable links goTableProgram and returns the file.
func linkTable(t *testing.T, words, ldflags string) []byte {
	t.Helper()
	dir := t.TempDir()
	src, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "out")
	if err := os.WriteFile(src, []byte(goTableProgram(words)), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", out, "-ldflags="+ldflags, src)
	cmd.Dir = dir // in no module, so that GOTOOLCHAIN can choose any version
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// goTable returns the items of the table in file.
func goTable(t *testing.T, file []byte) []uint64 {
	t.Helper()
	_, _, b, err := tableIn(file, "main.table")
	if err != nil || b == nil {
		t.Fatalf("the program has no symbol main.table (%v)", err)
	}
	v := make([]uint64, len(b)/8)
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, v); err != nil {
		t.Fatal(err)
	}
	return v[goTableHead:]
}

var goTableWords = strconv.Itoa(goTableHead + len(goItems))

// TestFillGoTable: everything is found in a program of this toolchain, whether
// its DWARF is compressed or not, with the same result. That the values are right
// is proved by kernel/goinfo, which reads goroutines with them.
func TestFillGoTable(t *testing.T) {
	var first []uint64
	for _, ldflags := range []string{"", "-compressdwarf=false"} {
		file := linkTable(t, goTableWords, ldflags)
		notes, err := FillGoTable(file, "main.table")
		if err != nil || len(notes) > 0 {
			t.Fatalf("FillGoTable with -ldflags=%q = %q, %v; want nothing to note", ldflags, notes, err)
		}
		got := goTable(t, file)
		if slices.Contains(got, GoUnknown) {
			t.Errorf("table with -ldflags=%q has an unknown item: %#x", ldflags, got)
		}
		for i, item := range goItems { // the two programs have other addresses
			if strings.HasPrefix(item, "word ") || strings.HasPrefix(item, "strings ") {
				got[i] = 0
			}
		}
		if first == nil {
			first = got
		} else if !slices.Equal(first, got) {
			t.Errorf("table with -ldflags=%q is %#x; want %#x", ldflags, got, first)
		}
	}
}

func TestFillGoTableWithoutDWARF(t *testing.T) {
	// The table stays as the program has it. -s drops the symbol table too, so
	// that the table cannot even be found.
	for _, tt := range []struct{ ldflags, want string }{{"-w", "-ldflags=-w"}, {"-s", "-ldflags=-s"}} {
		file := linkTable(t, goTableWords, tt.ldflags)
		before := bytes.Clone(file)
		notes, err := FillGoTable(file, "main.table")
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], tt.want) {
			t.Errorf("FillGoTable with %s = %q, %v; want one note about %s", tt.ldflags, notes, err, tt.want)
		}
		if !bytes.Equal(file, before) {
			t.Errorf("FillGoTable with %s changed the file", tt.ldflags)
		}
	}
}

// TestFillGoTableOtherRuntime damages names in the DWARF, so that the runtime is
// one without these things.
func TestFillGoTableOtherRuntime(t *testing.T) {
	file := linkTable(t, goTableWords, "-compressdwarf=false")
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(".debug_info")
	info := file[s.Offset:][:s.FileSize]
	for _, name := range []string{"waitreason", "runtime._Gscan", "runtime.allglen"} {
		old := append([]byte(name), 0)
		if !bytes.Contains(info, old) {
			t.Fatalf("the DWARF has no %s", name)
		}
		for i := bytes.Index(info, old); i >= 0; i = bytes.Index(info, old) {
			info[i+len(name)-1] = '#'
		}
	}
	notes, err := FillGoTable(file, "main.table")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(notes, "\n")
	for _, want := range []string{
		"the Go runtime (go",
		") is not one that this zf knows: runtime.g has no field waitreason",
		"there is no constant runtime._Gscan",
		"there is no variable runtime.allglen of the kind expected",
		"build with a version of Go that this zf was tested with, 1.25 to 1.27",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("notes do not contain %q:\n%s", want, all)
		}
	}
	if len(notes) != 4 {
		t.Errorf("%d notes; want 4:\n%s", len(notes), all)
	}
	for i, v := range goTable(t, file) {
		missing := strings.HasSuffix(goItems[i], ".waitreason") || strings.HasSuffix(goItems[i], "._Gscan") || strings.HasSuffix(goItems[i], ".allglen")
		if missing != (v == GoUnknown) {
			t.Errorf("%s = %#x", goItems[i], v)
		}
	}
}

func TestFillGoTableOtherFile(t *testing.T) {
	// A program without a table is left alone.
	file := bytes.Clone(linked(t))
	if notes, err := FillGoTable(file, KernelPackage+GoTableName); err != nil || notes != nil || !bytes.Equal(file, linked(t)) {
		t.Errorf("FillGoTable of a program without a table = %q, %v; want nothing done", notes, err)
	}
	// One with another list of items cannot be filled.
	if _, err := FillGoTable(linkTable(t, "12", ""), "main.table"); !errors.Is(err, ErrGoTable) {
		t.Errorf("FillGoTable of another table: %v; want ErrGoTable", err)
	}
	if _, err := FillGoTable([]byte("no ELF"), "main.table"); !errors.Is(err, ErrNotELF) {
		t.Errorf("FillGoTable of no ELF file: %v; want ErrNotELF", err)
	}
}

// BenchmarkFillGoTable measures what it adds to a build.
func BenchmarkFillGoTable(b *testing.B) {
	out := filepath.Join(b.TempDir(), "out")
	src := os.Getenv("GOTABLE_PACKAGE")
	if src == "" {
		src = "cmd/vet"
	}
	if msg, err := exec.Command("go", "build", "-o", out, src).CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, msg)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%s: %d bytes, .debug_info of %d", src, len(file), f.Section(".debug_info").Size)
	for b.Loop() {
		f, err := elf.NewFile(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			b.Fatal(err)
		}
		if found, err := goLayout(f, symbols); err != nil || len(found) != len(goItems) {
			b.Fatalf("goLayout found %d items, %v; want %d", len(found), err, len(goItems))
		}
	}
}
