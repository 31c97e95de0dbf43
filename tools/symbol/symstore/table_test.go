package symstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// program builds the C sample of package symbol.
func program(t *testing.T) *symbol.File {
	t.Helper()
	out := filepath.Join(t.TempDir(), "prog")
	src := filepath.Join("..", "testdata", "csample.c")
	if msg, err := exec.Command("gcc", "-O2", "-g", "-nostdlib", "-static", "-ffreestanding", "-fno-reorder-blocks-and-partition", "-Wl,--build-id", "-o", out, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, msg)
	}
	f, err := symbol.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func show(frames []lookup.Call) string {
	var b strings.Builder
	for _, c := range frames {
		fmt.Fprintf(&b, "%s+%#x %s:%d %v; ", c.Function, c.Offset, filepath.Base(c.File), c.Line, c.Inlined)
	}
	return b.String()
}

// same holds a table against the program that it was made of, at every address.
func same(t *testing.T, what string, table *Table, f *symbol.File) {
	t.Helper()
	if got := table.BuildID(); got != f.BuildID() {
		t.Errorf("%s: build ID %q; want %q", what, got, f.BuildID())
	}
	n, bad := 0, 0
	for fn := range f.Functions() {
		for addr := fn.Start; addr < fn.End; addr++ {
			got, want := show(table.Lookup(addr, false)), show(f.Lookup(addr, false))
			if n++; got != want {
				if bad++; bad <= 5 {
					t.Errorf("%s: %#x: %s\nwant %s", what, addr, got, want)
				}
			}
		}
		if named := table.Named(fn.Name); len(named) != 1 || named[0].Start != fn.Start {
			t.Errorf("%s: %s is %+v; want %#x", what, fn.Name, named, fn.Start)
		}
	}
	if n < 200 {
		t.Errorf("%s: %d addresses", what, n)
	}
	for _, addr := range []uint64{0, 1, 1 << 40, 1<<64 - 1} {
		if frames := table.Lookup(addr, true); frames != nil {
			t.Errorf("%s: %#x: %v", what, addr, frames)
		}
	}
}

// breakpadOf writes a program's symbols as Breakpad's dump_syms does.
func breakpadOf(f *symbol.File) string {
	var lines, head strings.Builder
	files, origins := map[string]int{}, map[string]int{}
	number := func(of map[string]int, record, name string) int {
		n, ok := of[name]
		if !ok {
			n = len(of)
			of[name] = n
			fmt.Fprintf(&head, "%s %d %s\n", record, n, name)
		}
		return n
	}
	fmt.Fprintf(&head, "MODULE Linux x86_64 %s prog\nINFO CODE_ID %s\n", DebugID(f.BuildID()), strings.ToUpper(f.BuildID()))
	for fn := range f.Functions() {
		fmt.Fprintf(&lines, "FUNC %x %x 0 %s\n", fn.Start, fn.End-fn.Start, fn.Name)
		for addr := fn.Start; addr < fn.End; addr++ {
			frames := f.Lookup(addr, false)
			for i := range frames[:len(frames)-1] {
				c, by := frames[i], frames[i+1]
				fmt.Fprintf(&lines, "INLINE %d %d %d %d %x 1\n", len(frames)-2-i, by.Line, number(files, "FILE", by.File), number(origins, "INLINE_ORIGIN", c.Function), addr)
			}
			fmt.Fprintf(&lines, "%x 1 %d %d\n", addr, frames[0].Line, number(files, "FILE", frames[0].File))
		}
	}
	return head.String() + lines.String() + "PUBLIC 10000000 0 behind\nSTACK CFI INIT 401000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
}

func TestBreakpad(t *testing.T) {
	f := program(t)
	root := t.TempDir()
	dir := filepath.Join(root, "prog", DebugID(f.BuildID()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prog.sym"), []byte(breakpadOf(f)), 0o644); err != nil {
		t.Fatal(err)
	}
	table := Find(root, f.BuildID())
	if table == nil {
		t.Fatal("it is not found in a folder of the layout of symbol servers")
	}
	same(t, "Breakpad", table, f)
	if got := show(table.Lookup(0x10000005, false)); got != "behind+0x5 .:0 false; " {
		t.Errorf("a public symbol: %s", got)
	}
	if Find(root, "00112233445566778899aabbccddeeff00112233") != nil || Find(root, "../..") != nil {
		t.Error("another build is found")
	}
}

func TestDebugID(t *testing.T) {
	// The example of Breakpad's own test: a short ID is filled up.
	if got, want := DebugID("00010203040506070809a0b0c0d0e0f011121314"), "03020100050407060809A0B0C0D0E0F00"; got != want {
		t.Errorf("DebugID = %s; want %s", got, want)
	}
	for _, id := range []string{"", "12", "123", "zzzzzzzz", "../../.."} {
		if got := DebugID(id); got != "" {
			t.Errorf("DebugID(%q) = %q", id, got)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"hello": ErrUnknown.Error(), "": ErrUnknown.Error(), "MODULE \n": "MODULE record", "MODULE Linux x86_64 00 a\n": "no function",
		"MODULE Linux x86_64 00 a\nFUNC x 1 0 f\n": "line 2 is no FUNC record", "MODULE Linux x86_64 00 a\nPUBLIC 10\n": "line 2 is no PUBLIC record",
	} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzTables: whatever a file says, there is an answer or an error.
func FuzzTables(f *testing.F) {
	f.Add([]byte("MODULE Linux x86_64 00 a\nFILE 0 a.c\nINLINE_ORIGIN 0 g\nFUNC 10 20 0 f\nINLINE 0 1 0 0 10 5\n10 5 3 0\nPUBLIC 40 0 p\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte("MODULE ")) {
			return
		}
		table, err := readBreakpad(b)
		if err != nil {
			return
		}
		for _, fn := range table.funcs[:min(len(table.funcs), 50)] {
			table.Lookup(fn.low, false)
			table.Lookup(fn.high, true)
			table.Lookup(fn.low+(fn.high-fn.low)/2, true)
		}
	})
}
