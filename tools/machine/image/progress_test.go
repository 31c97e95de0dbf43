package image

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestProgressLines: names of packages are counted, all else is passed on.
func TestProgressLines(t *testing.T) {
	t.Parallel()
	var told []Progress
	o := BuildOptions{Progress: func(p Progress) { told = append(told, p) }}
	p := o.newProgress([]listed{{ImportPath: "fmt"}, {ImportPath: "hello"}})
	asked := 0
	p.kernel = func() []string {
		asked++
		return []string{"runtime", "fmt", "kernel"}
	}
	var out bytes.Buffer
	w, end := p.writer(&out)
	p.phase(true)
	if asked != 0 {
		t.Error("the kernel's packages are asked for before anything is compiled")
	}
	for _, part := range []string{"run", "time\nfmt\n# hello\n", "./main.go:3:5: undefined: fmt\n", "unknown/pkg\nlast"} {
		fmt.Fprint(w, part)
	}
	p.phase(false)
	fmt.Fprint(w, "\nhello\nkernel")
	end()
	want := []Progress{{true, 1, 4}, {true, 2, 4}, {false, 3, 4}}
	if !slices.Equal(told, want) || asked != 1 {
		t.Errorf("told %v, asked %d times; want %v, once", told, asked, want)
	}
	if got := out.String(); got != "# hello\n./main.go:3:5: undefined: fmt\nunknown/pkg\nlast\nkernel" {
		t.Errorf("passed on: %q", got)
	}
	var none *progress
	if w, end := none.writer(&out); w != &out || none.flag() != nil {
		t.Error("without progress the writer is another")
	} else {
		end()
	}
}

// TestKeep builds a program twice with a folder for what is linked: the second build links
// nothing and makes the same image; a changed program is built anew, and damage is noticed.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), filepath.Join(t.TempDir(), "linked")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	source := func(word string) { write("main.go", "package main\n\nfunc main() { println(\""+word+"\") }\n") }
	write("go.mod", "module example.com/keep\n\ngo 1.26\n")
	source("one")
	compiled := 0
	build := func() []byte {
		t.Helper()
		compiled = 0
		out := filepath.Join(dir, "keep.elf")
		_, err := Build(t.Context(), BuildOptions{Package: ".", Dir: dir, Output: out, Keep: keep, Stderr: t.Output(),
			Env: append(os.Environ(), SourceEnv+"="), Progress: func(Progress) { compiled++ }})
		if err != nil {
			t.Fatal(err)
		}
		image, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	files := func() (linked, finished string, at [2]os.FileInfo) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(keep, "[0-9a-f]*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("kept: %q, %v; want one program", found, err)
		}
		linked, finished = filepath.Join(found[0], "linked"), filepath.Join(found[0], "finished")
		for i, name := range []string{linked, finished} {
			if at[i], err = os.Stat(name); err != nil {
				t.Fatal(err)
			}
		}
		return linked, finished, at
	}
	first := build()
	if compiled == 0 {
		t.Error("the first build compiled nothing; want package main at least")
	}
	_, _, before := files()
	second := build()
	linked, finished, after := files()
	// The linker makes a new file; what need not be linked is touched.
	if compiled != 0 || !os.SameFile(before[0], after[0]) || !before[1].ModTime().Equal(after[1].ModTime()) {
		t.Errorf("the second build compiled %d packages; linked again %v, finished at %v, the first at %v; want nothing new",
			compiled, !os.SameFile(before[0], after[0]), after[1].ModTime(), before[1].ModTime())
	}
	if !bytes.Equal(first, second) {
		t.Error("the two images differ")
	}

	// An image that has been damaged since is not taken.
	if err := os.WriteFile(finished, first[:len(first)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(build(), first) {
		t.Error("with a damaged image kept, the next one differs")
	}
	// Nor is what was linked, if it is not what it says.
	if err := os.WriteFile(linked, []byte("no ELF"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(build(), first) {
		t.Error("with a damaged file linked, the next image differs")
	}
	source("two")
	if changed := build(); bytes.Equal(changed, first) || !bytes.Contains(changed, []byte("two")) {
		t.Error("a changed program has the old image")
	}
	source("one")
	if !bytes.Equal(build(), first) {
		t.Error("changed back, the image differs")
	}
}

// TestKeepBounds: the programs that were built longest ago go, and dead builds; a folder that
// cannot be made is none.
func TestKeepBounds(t *testing.T) {
	t.Parallel()
	keep := t.TempDir()
	for i := range maxKept + 3 {
		o := BuildOptions{Package: fmt.Sprint("./", i), Keep: keep}
		k := o.take()
		if k == nil {
			t.Fatal("nothing is kept")
		}
		if other := o.take(); other == nil || other.dir == k.dir {
			t.Error("two builds at once have one folder")
		} else {
			other.putBack()
		}
		k.putBack()
	}
	entries, err := os.ReadDir(keep)
	if err != nil || len(entries) != maxKept || strings.HasPrefix(entries[0].Name(), "building-") {
		t.Errorf("%d kept, %v; want %d", len(entries), err, maxKept)
	}
	file := filepath.Join(keep, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := BuildOptions{Package: ".", Keep: filepath.Join(file, "x")}
	if k := o.take(); k != nil {
		t.Errorf("take in a folder that cannot be = %+v", k)
	}
}
