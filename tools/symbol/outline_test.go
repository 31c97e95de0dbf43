package symbol

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// buildFolded builds a C program with 9 MB of compressed .debug_info: a unit that says nothing
// lies between two others.
func buildFolded(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	noise := make([]byte, 9<<19)
	rand.New(rand.NewSource(1)).Read(noise)
	for name, text := range map[string]string{
		"noise":  hex.EncodeToString(noise),
		"pad.s":  ".section .debug_info, \"\"\n.long end - begin\nbegin: .short 5\n.byte 1, 8\n.long 0\n.byte 0\n.incbin \"" + filepath.Join(dir, "noise") + "\"\nend:\n",
		"last.c": "static inline int twice(int x) { return x * 2; }\nint last(int n) {\n\treturn twice(n) + 1;\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return buildC(t, "-g", "-gz=zlib", filepath.Join(dir, "pad.s"), filepath.Join(dir, "last.c"))
}

// TestOutline: what a first process leaves serves the second: it gives the same answers, and
// unfolds a part of what the first one has. The index takes its place.
func TestOutline(t *testing.T) {
	path, folder := buildFolded(t), t.TempDir()
	first := openTest(t, path)
	if first.UseIndex(folder) {
		t.Fatal("there is an index already")
	}
	addrs := askedOf(first, 1000)
	want := first.LookupAll(addrs, false)
	if !first.WantsIndex() {
		t.Fatal("no index is wanted")
	}
	all := first.dwarfData().Unfolded()
	check := func(what string, served bool) {
		t.Helper()
		f := openTest(t, path)
		f.UseIndex(folder)
		if got := f.LookupAll(addrs, false); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other answers", what)
		}
		d := f.dwarfData()
		if d.ByOutline() != served || served && d.Unfolded() > all/3 || !f.WantsIndex() {
			t.Errorf("%s: by the outline %t, want %t; %d bytes unfolded of %d; an index wanted %t", what, d.ByOutline(), served, d.Unfolded(), all, f.WantsIndex())
		}
	}
	check("none", false)
	for range 2 { // who comes later does no harm
		if err := first.LeaveOutline(folder, DefaultIndexLimit); err != nil {
			t.Fatal(err)
		}
		check("whole", true)
	}

	// A damaged one is not used, or each damaged piece not.
	_, name, _ := first.indexID()
	outline := filepath.Join(folder, outlineName(name))
	good, err := os.ReadFile(outline)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(outline, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 55, 300, len(good) - 1} {
		write(good[:n])
		check(fmt.Sprintf("cut to %d bytes", n), false)
	}
	head := outlineHeader + int(binary.LittleEndian.Uint64(good[40:]))
	for at := 3; at < head; at += 101 {
		good[at] ^= 0x10
		write(good)
		check(fmt.Sprintf("damaged at %d", at), false)
		good[at] ^= 0x10
	}
	for at := head; at < len(good); at++ {
		good[at] ^= 0xff
	}
	write(good)
	x := openTest(t, path)
	x.UseIndex(folder)
	if got := x.LookupAll(addrs, false); !reflect.DeepEqual(got, want) {
		t.Error("damaged windows: other answers")
	}

	// An index can be made by it, and it is removed then.
	for at := head; at < len(good); at++ {
		good[at] ^= 0xff
	}
	write(good)
	f := openTest(t, path)
	f.UseIndex(folder)
	if _, err := f.BuildIndex(folder, DefaultIndexLimit, nil); err != nil || !f.dwarfData().ByOutline() {
		t.Fatalf("BuildIndex() = %v, by the outline %t", err, f.dwarfData().ByOutline())
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("files in the folder: %v (%v)", entries, err)
	}
	sameAnswers(t, path, folder, 1000)
}

// FuzzOutline: an outline with right checksums may say anything of the file.
func FuzzOutline(f *testing.F) {
	path, folder := buildFolded(f), f.TempDir()
	first := openTest(f, path)
	addrs := askedOf(first, 50)
	first.LookupAll(addrs, false)
	if err := first.LeaveOutline(folder, DefaultIndexLimit); err != nil {
		f.Fatal(err)
	}
	_, name, _ := first.indexID()
	good, err := os.ReadFile(filepath.Join(folder, outlineName(name)))
	if err != nil {
		f.Fatal(err)
	}
	le := binary.LittleEndian
	head := outlineHeader + int(le.Uint64(good[40:]))
	// Each edit is the number of a number in the table, and what it is to be.
	f.Add([]byte{})
	f.Add([]byte{0, 0, 1, 0, 0, 0, 0, 0})
	f.Add([]byte{3, 0, 255, 255, 255, 255, 255, 255, 9, 0, 0, 0, 0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, edits []byte) {
		b := bytes.Clone(good)
		for ; len(edits) >= 8; edits = edits[8:] {
			v := le.Uint64(edits)
			le.PutUint64(b[outlineHeader+int(v&0xffff)*8%(head-outlineHeader):], uint64(int64(v)>>16))
		}
		le.PutUint32(b[48:], indexSum(b[outlineHeader:head]))
		le.PutUint32(b[52:], indexSum(b[:52]))
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, outlineName(name)), b, 0o600); err != nil {
			t.Fatal(err)
		}
		x := openTest(t, path)
		x.UseIndex(folder)
		if got := x.LookupAll(addrs, false); len(got) != len(addrs) {
			t.Fatalf("%d answers for %d addresses", len(got), len(addrs))
		}
	})
}
