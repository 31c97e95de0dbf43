package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestPack holds a packed image against the one before: debug/elf reads the same symbols and
// sections, binutils too, and what is loaded is the same but for the section headers.
func TestPack(t *testing.T) {
	before := finish(t, AllLoaders)
	other := bytes.Clone(before) // with a pc table of a kind that is not known
	l, err := parse(other)
	if err != nil {
		t.Fatal(err)
	}
	from, to := l.functionNames(before)
	if !bytes.Contains(before[from:to], []byte("\x00runtime.throw\x00")) {
		t.Fatalf("the names of functions at %#x to %#x lack runtime.throw", from, to)
	}
	table := bytes.LastIndex(other[:from], []byte{0xf1, 0xff, 0xff, 0xff})
	binary.LittleEndian.PutUint32(other[table:], 0xfffffff9)

	sizes := map[string]int{"": len(before)}
	for name, file := range map[string][]byte{"shared": before, "unshared": other} {
		after, err := packWhole(file)
		if err != nil {
			t.Fatalf("Pack(%s) failed: %v", name, err)
		}
		sizes[name] = len(after)
		fb, fa := read(t, file), read(t, after)
		for i, b := range fb.Sections {
			a := fa.Sections[i]
			if a.Name != b.Name || a.Type != b.Type || a.Flags != b.Flags || a.Addr != b.Addr || a.Addralign != b.Addralign || a.Link != b.Link || a.Info != b.Info {
				t.Errorf("%s: header of %s = %+v; want %+v", name, b.Name, a.SectionHeader, b.SectionHeader)
			}
			if b.Type == elf.SHT_NOBITS || b.Type == elf.SHT_NULL || name == "shared" && (b.Name == ".symtab" || b.Name == ".strtab") {
				continue
			}
			want, err1 := b.Data()
			got, err2 := a.Data()
			if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: contents of %s differ (%v, %v)", name, b.Name, err1, err2)
			}
		}
		want, err1 := fb.Symbols()
		got, err2 := fa.Symbols()
		if err1 != nil || err2 != nil || len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d symbols, %v; want the %d from before, %v", name, len(got), err2, len(want), err1)
		}
		if want, got := nm(t, file), nm(t, after); !bytes.Equal(got, want) {
			t.Errorf("%s: nm says\n%s\nwant\n%s", name, got, want)
		}
		end := fb.Progs[0].Off
		for _, p := range fb.Progs {
			end = max(end, p.Off+p.Filesz)
		}
		headers := l.header.Shoff + uint64(len(l.sects))*sectSize
		if !bytes.Equal(after[:l.header.Shoff], file[:l.header.Shoff]) || !bytes.Equal(after[headers:end], file[headers:end]) {
			t.Errorf("%s: what is loaded has changed", name)
		}
	}
	if sizes["shared"] >= sizes["unshared"]-10_000 || sizes["unshared"] >= sizes[""]-10_000 {
		t.Errorf("bytes = %v; want each of \"\", unshared and shared to be 10,000 less than the one before", sizes)
	}
	for _, n := range []int{len(before) - 1, int(l.sects[len(l.sects)-1].Off)} {
		if _, err := packWhole(before[:n]); !errors.Is(err, ErrLayout) {
			t.Errorf("Pack of the first %d bytes = %v; want %v", n, err, ErrLayout)
		}
	}
}

func packWhole(file []byte) ([]byte, error) { return pack(file, func(string) bool { return false }) }

func read(t *testing.T, file []byte) *elf.File {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		t.Fatalf("debug/elf cannot read the image: %v", err)
	}
	return f
}

// nm returns what binutils say of the symbols of a file.
func nm(t *testing.T, file []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nm", "-S", "file")
	cmd.Dir, cmd.Stderr = filepath.Dir(path), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
