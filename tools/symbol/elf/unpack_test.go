package elf

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// The samples were made by dpkg-deb and rpmbuild. They have a stripped program, its debug
// information, a module of Linux that is compressed, a link and a text. sample.c is the source.
const (
	sampleID    = "4ee727a6c21bc9535aad3ded182ca5371c87ce8e"
	sampleFiles = "lib/modules/6.1/kernel/mod.ko.xz usr/bin/prog usr/lib/debug/.build-id/4e/e727a6c21bc9535aad3ded182ca5371c87ce8e.debug"
)

// files returns the paths of the files below a folder.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPackages(t *testing.T) {
	for _, name := range []string{"testdata/sample.deb", "testdata/sample.rpm"} {
		if !IsPackage(name) {
			t.Errorf("%s is none", name)
		}
		dir := t.TempDir()
		if err := Unpack(name, dir); err != nil {
			t.Error(err)
			continue
		}
		if got := strings.Join(files(t, dir), " "); got != sampleFiles {
			t.Errorf("%s: %s; want %s", name, got, sampleFiles)
			continue
		}
		for i, path := range strings.Fields(sampleFiles) {
			f, err := Open(filepath.Join(dir, path))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if id := f.BuildID(); i > 0 && id != sampleID {
				t.Errorf("%s: %s has build ID %q", name, path, id)
			}
			f.Close()
		}
	}
	if IsPackage("testdata/sample.c") || IsPackage("testdata/none") || IsPackage("testdata") {
		t.Error("a text, nothing or a folder is a package")
	}
}

// sample returns a file of the samples.
func sample(t testing.TB, path string) []byte {
	dir := t.TempDir()
	if err := Unpack("testdata/sample.deb", dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tarOf returns a tar file.
func tarOf(t testing.TB, headers []tar.Header, content []byte) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			w.Write(content)
		}
	}
	w.Close()
	return b.Bytes()
}

func TestTar(t *testing.T) {
	prog := sample(t, "usr/bin/prog")
	plain := tarOf(t, []tar.Header{
		{Typeflag: tar.TypeReg, Name: "usr/bin/prog", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "usr/bin/prog", Mode: 0o755}, // again
		{Typeflag: tar.TypeReg, Name: "../../../escaped", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "/absolute", Mode: 0o755},
		{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc"},
		{Typeflag: tar.TypeReg, Name: "link/through", Mode: 0o755},
	}, prog)
	var gz, zs, x bytes.Buffer
	g := gzip.NewWriter(&gz)
	g.Write(plain)
	g.Close()
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(plain)
	z.Close()
	xw, err := xz.NewWriter(&x)
	if err != nil {
		t.Fatal(err)
	}
	xw.Write(plain)
	xw.Close()
	for name, b := range map[string][]byte{"a.tar": plain, "a.tar.gz": gz.Bytes(), "a.pkg.tar.zst": zs.Bytes(), "a.tar.xz": x.Bytes()} {
		outside := t.TempDir()
		dir, path := filepath.Join(outside, "a", "b"), filepath.Join(outside, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if !IsPackage(path) {
			t.Errorf("%s is none", name)
		}
		if err := Unpack(path, dir); err != nil {
			t.Error(err)
		}
		want := []string{"a/b/absolute", "a/b/escaped", "a/b/link/through", "a/b/usr/bin/prog", name}
		got := files(t, outside)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
}

// What is cut or damaged gives an error that names the package, and never more than is there.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"testdata/sample.deb", "testdata/sample.rpm"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), filepath.Base(name))
		try := func(b []byte) error {
			t.Helper()
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			err := Unpack(path, t.TempDir())
			if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("an error without the name: %v", err)
			}
			return err
		}
		for n := 0; n < len(b)-len(b)/4; n += len(b)/97 + 1 {
			if try(b[:n]) == nil {
				t.Errorf("%s: the first %d of %d bytes give no error", name, n, len(b))
			}
			damaged := bytes.Clone(b)
			damaged[n] ^= 0xff
			try(damaged)
		}
	}
	empty := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(empty, tarOf(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "text"}}, []byte("a text, none of ELF")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(empty, t.TempDir()); !errors.Is(err, ErrNoELF) {
		t.Errorf("a package without ELF files: %v", err)
	}
	if err := Unpack("testdata/sample.c", t.TempDir()); err == nil || !strings.Contains(err.Error(), "no package") {
		t.Errorf("a text: %v", err)
	}
}

// A package that unpacks without end is given up.
func TestEndless(t *testing.T) {
	dir := t.TempDir()
	k := &taker{dir: dir, left: 1000}
	err := k.file("usr/bin/prog", bytes.NewReader(append([]byte("\x7fELF"), make([]byte, 5000)...)))
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("more than is allowed: %v", err)
	}
	for _, f := range files(t, dir) {
		if st, err := os.Stat(filepath.Join(dir, f)); err != nil || st.Size() > 1001 {
			t.Errorf("%s: %v bytes, %v", f, st.Size(), err)
		}
	}
}

func ExampleUnpack() {
	dir, err := os.MkdirTemp("", "sample")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := Unpack("testdata/sample.deb", dir); err != nil {
		panic(err)
	}
	_, err = os.Stat(filepath.Join(dir, "usr/bin/prog"))
	fmt.Println(err)
	// Output: <nil>
}
