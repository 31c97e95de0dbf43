package vfs

import (
	"bytes"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/u-root/u-root/pkg/cpio"
)

// archive writes records with another implementation of the format.
func archive(t testing.TB, records ...cpio.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := cpio.Newc.Writer(&b)
	for _, r := range records {
		if err := w.WriteRecord(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := cpio.WriteTrailer(w); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// file is a record of a regular file that has all fields set.
func file(name, content string, ino, nlink uint64) cpio.Record {
	return cpio.StaticRecord([]byte(content), cpio.Info{
		Ino: ino, NLink: nlink, Mode: S_IFREG | 0o640, UID: 3, GID: 4, MTime: 1234567890,
		FileSize: uint64(len(content)), Name: name,
	})
}

// cpioEntry writes an entry whose fields may be nonsense.
func cpioEntry(magic, name string, mode, nlink, size, check uint32, data string) string {
	s := fmt.Sprintf("%s%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		magic, 7, mode, 0, 0, nlink, 1, size, 0, 0, 0, 0, len(name)+1, check, name)
	s += strings.Repeat("\x00", -len(s)&3) + data
	return s + strings.Repeat("\x00", -len(s)&3)
}

func simple(name string, mode uint32, data string) string {
	return cpioEntry("070701", name, mode, 1, uint32(len(data)), 0, data)
}

var trailer = simple("TRAILER!!!", 0, "")

// guarded is memory that ends at a page that faults.
var guarded []byte

// load loads an archive that lies right before an unmapped page.
func load(t testing.TB, b []byte) (entries int, wrong string) {
	t.Helper()
	if guarded == nil || len(guarded) < len(b) {
		m := mmap((len(b)+1<<20)&^(pageSize-1) + pageSize)
		guarded = m[:len(m)-pageSize]
		if err := syscall.Mprotect(m[len(guarded):], syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	place := guarded[len(guarded)-len(b):]
	copy(place, b)
	if len(b) == 0 {
		return LoadCPIO(address(guarded), 0)
	}
	return LoadCPIO(address(place), uintptr(len(b)))
}

func TestLoadCPIO(t *testing.T) {
	start(t)
	r := rand.New(rand.NewSource(1))
	big := make([]byte, 3*pageSize+100)
	r.Read(big)
	b := archive(t,
		cpio.Directory(".", 0o711),
		cpio.Directory("tmp", 0o700),
		cpio.Directory("usr/lib", 0o750),
		cpio.Symlink("lib", "usr/lib"),
		file("init", "#!/bin/sh\n", 1, 1),
		file("lib/through-a-link", "yes", 2, 1),
		file("no/parents/here/empty", "", 3, 1),
		file("/big", string(big), 4, 1),
		file("first/name", "", 5, 3),
		file("./second//name", "", 5, 3),
		file("another", "other", 6, 2),
		file("third", "shared", 5, 3),
		file("with-data-first", "", 6, 2),
		cpio.CharDev("dev/ttyS0", 0o600, 4, 64),
		cpio.CharDev("dev/null", 0o600, 1, 3),
		file("etc/motd", "hello", 8, 1),
	)
	n, wrong := load(t, b)
	if n != 16 || wrong != "" {
		t.Fatalf("LoadCPIO = %d, %q; want 16 entries", n, wrong)
	}
	for path, want := range map[string]string{
		"/init":                    "#!/bin/sh\n",
		"/usr/lib/through-a-link":  "yes",
		"/no/parents/here/empty":   "",
		"/big":                     string(big),
		"/first/name":              "shared",
		"/second/name":             "shared",
		"/third":                   "shared",
		"/another":                 "other",
		"/with-data-first":         "other",
		"/etc/motd":                "hello",
		"/lib/../lib/../../init/.": "",
	} {
		id, e := Walk(Root, []byte(path), false)
		if filepath.Base(path) == "." {
			if e != ENOTDIR {
				t.Errorf("Walk(%q): errno %d; want ENOTDIR", path, e)
			}
			continue
		}
		if e != 0 {
			t.Errorf("Walk(%q): errno %d", path, e)
		} else if got := content(t, id); string(got) != want {
			t.Errorf("%s holds %q; want %q", path, got, want)
		}
	}
	for path, want := range map[string]uint32{
		"/": S_IFDIR | 0o711, "/tmp": S_IFDIR | 0o700, "/usr": S_IFDIR | 0o755, "/usr/lib": S_IFDIR | 0o750,
		"/lib": S_IFLNK | 0o777, "/init": S_IFREG | 0o640, "/dev/ttyS0": S_IFCHR | 0o600, "/dev/null": S_IFCHR | 0o600,
	} {
		if m := Mode(walkTo(t, path)); m != want {
			t.Errorf("%s has mode %o; want %o", path, m, want)
		}
	}
	s := Stat(walkTo(t, "/third"))
	want(t, "third", fmt.Sprint(s.Nlink, s.UID, s.GID, s.Mtime, s.Size), "3 3 4 1234567890000000000 6")
	want(t, "time of a directory in which files were made later", Stat(walkTo(t, "/usr/lib")).Mtime, int64(0))
	want(t, "node of first/name", walkTo(t, "/first/name"), ID(s.Ino))
	want(t, "links of another", Stat(walkTo(t, "/another")).Nlink, uint32(2))
	want(t, "device of ttyS0", Stat(walkTo(t, "/dev/ttyS0")).Rdev, Dev(4, 64))
	buf := make([]byte, 10)
	l, e := Readlink(walkTo(t, "/lib"), buf)
	want(t, "target of /lib", string(buf[:l]), "usr/lib")
	want(t, "errno", e, Errno(0))
	l, _ = Readlink(walkTo(t, "/lib"), buf[:3])
	want(t, "target of /lib, cut", string(buf[:l]), "usr")

	// The archive's bytes are the file's, in place, except in pages that are written.
	id := walkTo(t, "/big")
	lo, hi := address(guarded), address(guarded)+uintptr(len(guarded))
	inPlace := func(off int64) bool {
		a, n := Page(id, off)
		if want := min(pageSize-off%pageSize, int64(len(big))-off); int64(n) != want {
			t.Errorf("Page(%d) has %d bytes; want %d", off, n, want)
		}
		return a >= lo && a < hi
	}
	before := bytes.Clone(guarded)
	if _, e := WriteAt(id, []byte("written"), pageSize+10, 5); e != 0 {
		t.Fatal(e)
	}
	copy(big[pageSize+10:], "written")
	want(t, "pages in place", fmt.Sprint(inPlace(1), inPlace(pageSize), inPlace(2*pageSize), inPlace(3*pageSize+1)), "true false true true")
	want(t, "blocks", Stat(id).Blocks, int64(pageSize/512))
	if !bytes.Equal(content(t, id), big) {
		t.Error("content after a write differs")
	}
	// A cut ends the archive's part, and growing shows zeros.
	SetSize(id, 2*pageSize+50, 6)
	SetSize(id, 4*pageSize, 6)
	grown := make([]byte, 4*pageSize)
	copy(grown, big[:2*pageSize+50])
	if !bytes.Equal(content(t, id), grown) {
		t.Error("content after a cut and growing differs")
	}
	if _, e := WriteAt(id, []byte("x"), 3*pageSize-1, 7); e != 0 {
		t.Fatal(e)
	}
	grown[3*pageSize-1] = 'x'
	if !bytes.Equal(content(t, id), grown) {
		t.Error("content after a write behind the cut differs")
	}
	if !bytes.Equal(before, guarded) {
		t.Error("the archive has been written to")
	}
}

func TestLoadSeveralCPIOs(t *testing.T) {
	start(t)
	a := archive(t, file("a", "", 1, 2), file("b", "one", 1, 2))
	b := archive(t, file("c", "two", 1, 2), file("d", "", 1, 2), file("b", "three", 9, 1))
	n, wrong := load(t, append(append(append(a, make([]byte, 512)...), b...), make([]byte, 100)...))
	if n != 5 || wrong != "" {
		t.Fatalf("LoadCPIO = %d, %q; want 5 entries", n, wrong)
	}
	for path, content2 := range map[string]string{"/a": "one", "/b": "three", "/c": "two", "/d": "two"} {
		want(t, path, string(content(t, walkTo(t, path))), content2)
	}
	want(t, "links of a", Stat(walkTo(t, "/a")).Nlink, uint32(1))
}

// TestWrongCPIO: each kind of damage is named, and the entries before it are kept.
func TestWrongCPIO(t *testing.T) {
	const reg, dir, link = S_IFREG | 0o644, S_IFDIR | 0o755, S_IFLNK | 0o777
	good := simple("good", reg, "data")
	long := strings.Repeat("n", 256)
	for _, tt := range []struct {
		name, archive string
		entries       int
		wrong         string
	}{
		{"nothing", "", 0, errEmpty},
		{"gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00", 0, errGzip},
		{"gzip behind", good + trailer + "\x1f\x8b\x08\x00\x00\x00", 1, errGzip},
		{"xz", "\xfd7zXZ\x00\x00\x00", 0, errXz},
		{"zstd", "\x28\xb5\x2f\xfd\x00\x00", 0, errZstd},
		{"bzip2", "BZh91AY", 0, errBzip2},
		{"lz4", "\x02\x21\x4c\x18\x00\x00", 0, errLz4},
		{"odc", "070707000000", 0, errOldFormat},
		{"old binary", "\xc7\x71\x00\x00\x00\x00\x00", 0, errOldFormat},
		{"text", "hello, world", 0, errNoCPIO},
		{"garbage behind", good + trailer + "\x00\x00garbage", 1, errNoCPIO},
		{"five bytes", "07070", 0, errNoTrailer},
		{"no trailer", good, 1, errNoTrailer},
		{"cut header", good + trailer[:50], 1, errCut},
		{"cut name", good + trailer[:115], 1, errCut},
		{"cut data", good[:len(good)-4], 0, errCut},
		{"size of 4 GiB", cpioEntry("070701", "f", reg, 1, 1<<32-1, 0, ""), 0, errCut},
		{"digits", good + strings.Replace(trailer, "00000007", "0000000g", 1), 1, errDigit},
		{"sign", strings.Replace(good, "00000007", "-0000007", 1), 0, errDigit},
		{"empty name", simple("", reg, ""), 0, errNameSize},
		{"long path", simple(strings.Repeat("n/", 2048)+"n", dir, ""), 0, errNameSize},
		{"zero in name", simple("a\x00b", reg, ""), 0, errNameEnd},
		{"name without end", strings.Replace(good, "good\x00", "goods", 1), 0, errNameEnd},
		{"long name", simple(long, reg, ""), 0, errNameLong},
		{"long name of a parent", simple("a/"+long+"/b", reg, ""), 0, errNameLong},
		{"up", simple("a/../../b", reg, ""), 0, errDotDot},
		{"up only", simple("..", dir, ""), 0, errDotDot},
		{"in a file", good + simple("good/x", reg, ""), 1, errNotDir},
		{"in a dangling link", simple("l", link, "nowhere") + simple("l/x", reg, ""), 1, errNotDir},
		{"loop", simple("l", link, "l") + simple("l/x", reg, ""), 1, errLoop},
		{"over a directory", simple("d", dir, "") + simple("d", reg, ""), 1, errOverDir},
		{"over the root", simple(".", reg, ""), 0, errOverDir},
		{"link over a directory", simple("tmp", link, "x"), 0, errOverDir},
		{"empty target", simple("l", link, ""), 0, errLinkTarget},
		{"long target", simple("l", link, strings.Repeat("x", 4096)), 0, errLinkTarget},
		{"zero in target", simple("l", link, "a\x00b"), 0, errLinkTarget},
		{"no kind", simple("k", 0o644, ""), 0, errKind},
		{"checksum", cpioEntry("070702", "f", reg, 1, 4, 5, "\x01\x02\x01\x02"), 0, errCheck},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t)
			n, wrong := load(t, []byte(tt.archive))
			if n != tt.entries || wrong != tt.wrong {
				t.Errorf("LoadCPIO = %d, %q; want %d, %q", n, wrong, tt.entries, tt.wrong)
			}
			if strings.HasPrefix(tt.archive, good) && tt.entries > 0 {
				want(t, "content of good", string(content(t, walkTo(t, "/good"))), "data")
			}
		})
	}
}

// TestOddCPIO: unusual but valid archives are loaded.
func TestOddCPIO(t *testing.T) {
	const reg, dir, link = S_IFREG | 0o644, S_IFDIR | 0o755, S_IFLNK | 0o777
	for _, tt := range []struct {
		name, archive string
		path, content string
	}{
		{"checksum", cpioEntry("070702", "f", reg, 1, 4, 6, "\x01\x02\x01\x02"), "/f", "\x01\x02\x01\x02"},
		{"capitals", strings.Replace(simple("f", reg, "0123456789"), "0000000a", "0000000A", 1), "/f", "0123456789"},
		{"directory twice", simple("d", dir, "") + simple("d", dir, "") + simple("d/f", reg, "x"), "/d/f", "x"},
		{"directory over a file", simple("d", reg, "") + simple("d", dir, "") + simple("d/f", reg, "x"), "/d/f", "x"},
		{"file over a link", simple("f", link, "tmp/g") + simple("f", reg, "x"), "/f", "x"},
		{"link over a file", simple("f", reg, "tmp/g") + simple("f", link, "g") + simple("g", reg, "x"), "/g", "x"},
		{"slashes", simple("//a//b///f", reg, "x"), "/a/b/f", "x"},
		{"dots", simple("./a/./f", reg, "x"), "/a/f", "x"},
		{"a directory's slash", simple("a/./", dir, "") + simple("a/f", reg, "x"), "/a/f", "x"},
		{"a link's first name replaced", cpioEntry("070701", "a", reg, 2, 1, 0, "1") + simple("a", link, "b") +
			cpioEntry("070701", "b", reg, 2, 0, 0, ""), "/b", "1"},
		{"a name linked to itself", cpioEntry("070701", "a", reg, 2, 1, 0, "1") + cpioEntry("070701", "a", reg, 2, 1, 0, "2"), "/a", "2"},
		{"the last padding missing", simple("f", reg, "x") + strings.TrimRight(trailer, "\x00") + "\x00", "/f", "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start(t)
			b := tt.archive
			if !strings.Contains(b, "TRAILER") {
				b += trailer
			}
			if n, wrong := load(t, []byte(b)); wrong != "" {
				t.Fatalf("LoadCPIO = %d, %q", n, wrong)
			}
			id, e := Walk(Root, []byte(tt.path), true)
			if e != 0 {
				t.Fatalf("Walk(%q): errno %d", tt.path, e)
			}
			want(t, tt.path, string(content(t, id)), tt.content)
		})
	}
}

// TestCutCPIO: an archive that is cut off anywhere is refused.
func TestCutCPIO(t *testing.T) {
	b := archive(t, cpio.Directory("d", 0o755), file("d/f", "content", 1, 2), file("g", "content", 1, 2), cpio.Symlink("l", "d/f"))
	whole := bytes.Index(b, []byte("TRAILER!!!\x00")) + len("TRAILER!!!\x00")
	for n := 0; n < whole; n++ {
		func() {
			start := Init(1)
			defer finish(t)
			if _, wrong := load(t, b[:n]); wrong == "" || start != 0 {
				t.Errorf("LoadCPIO of %d bytes of %d finds nothing wrong", n, len(b))
			}
		}()
	}
}

// FuzzLoadCPIO: no archive makes the loader read beyond its end (a page there faults), break the
// tree, or lose a frame; the loaded files can be read.
func FuzzLoadCPIO(f *testing.F) {
	const reg, dir, link = S_IFREG | 0o644, S_IFDIR | 0o755, S_IFLNK | 0o777
	f.Add([]byte{})
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00"))
	f.Add(archive(f, cpio.Directory("d", 0o755), file("d/f", "content", 1, 2), file("g", "", 1, 2), cpio.Symlink("l", "d/f"),
		cpio.CharDev("dev/null", 0o600, 1, 3)))
	f.Add([]byte(simple("l", link, "m") + simple("m", link, "l") + simple("l/x", reg, "") + trailer))
	f.Add([]byte(simple("d", dir, "") + simple("d/l", link, "../d") + simple("d/l/l/l/f", reg, "x") + trailer + "\x00\x00" + trailer))
	f.Add([]byte(cpioEntry("070702", "f", reg, 1, 4, 6, "\x01\x02\x01\x02") + trailer))
	f.Add([]byte(cpioEntry("070701", "a", reg, 2, 1, 0, "1") + simple("a", link, "b") + cpioEntry("070701", "b", reg, 2, 0, 0, "") + trailer))
	f.Add([]byte(cpioEntry("070701", "f", reg, 1, 1<<32-1, 0, "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		start(t)
		n, wrong := load(t, b)
		if n > len(b)/cpioHeader {
			t.Errorf("%d entries of %d bytes", n, len(b))
		}
		if wrong == "" && !bytes.Contains(b, []byte("TRAILER!!!\x00")) {
			t.Error("an archive without an end is right")
		}
		before := bytes.Clone(guarded[len(guarded)-len(b):])
		readTree(t, Root)
		if !bytes.Equal(before, b) {
			t.Error("the archive has been written to")
		}
	})
}

// readTree reads all files beneath a directory, and writes to them.
func readTree(t *testing.T, dir ID) {
	for _, name := range list(dir)[2:] {
		id, e := Walk(dir, []byte(name), false)
		if e != 0 {
			t.Fatalf("Walk(%q): errno %d", name, e)
		}
		switch Mode(id) & S_IFMT {
		case S_IFDIR:
			if at(id).parent != dir || string(nameOf(at(id).name)) != name {
				t.Errorf("directory %q does not know its place", name)
			}
			readTree(t, id)
		case S_IFREG:
			content(t, id)
			if _, e := WriteAt(id, []byte("x"), Size(id)/2, 1); e != 0 {
				t.Errorf("WriteAt(%q): errno %d", name, e)
			}
			content(t, id)
		case S_IFLNK:
			if n, e := Readlink(id, make([]byte, 4096)); n == 0 || e != 0 {
				t.Errorf("Readlink(%q) = %d, errno %d", name, n, e)
			}
		}
	}
}
