package initrd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/u-root/u-root/pkg/cpio"
)

// list writes an archive and reads it back with u-root's reader: a line a record,
// with its mode in octal, its time and its contents.
func list(t *testing.T, a *Archive) []string {
	t.Helper()
	var b bytes.Buffer
	if err := a.Write(&b); err != nil {
		t.Fatal(err)
	}
	var lines []string
	inodes := make(map[uint64]bool)
	err := cpio.ForEachRecord(cpio.Newc.Reader(bytes.NewReader(b.Bytes())), func(r cpio.Record) error {
		data, err := io.ReadAll(io.NewSectionReader(r, 0, int64(r.FileSize)))
		if err != nil {
			return err
		}
		if inodes[r.Ino] || r.UID != 0 || r.GID != 0 {
			t.Errorf("%s: inode %d, user %d, group %d; want an inode of its own, 0, 0", r.Name, r.Ino, r.UID, r.GID)
		}
		inodes[r.Ino] = true
		lines = append(lines, fmt.Sprintf("%s %#o %d %q", r.Name, r.Mode, r.MTime, data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), cpio.Trailer) {
		t.Error("the archive has no trailer")
	}
	return lines
}

// tree makes a folder with each kind of file that can be packed.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	must(os.MkdirAll(in("a/empty"), 0o755))
	must(os.WriteFile(in("a/text"), []byte("hello\n"), 0o640))
	must(os.WriteFile(in("a/tool"), nil, 0o755))
	must(os.Chmod(in("a/text"), 0o640)) // whatever the umask is
	must(os.Chmod(in("a/tool"), 0o755|fs.ModeSetuid))
	must(os.Symlink("text", in("a/link")))
	must(os.Symlink("/nowhere", in("a/broken")))
	must(os.Link(in("a/text"), in("a/text2")))
	must(os.Chmod(in("a/empty"), 0o777|fs.ModeSticky))
	must(os.Chmod(in("a"), 0o750))
	at := time.Unix(1_700_000_000, 5)
	for _, name := range []string{"a/text", "a/tool", "a/empty", "a"} {
		must(os.Chtimes(in(name), at, at))
	}
	return dir
}

// noTime cuts the time out of the lines of links, which cannot be set portably.
func noTime(lines []string) []string {
	out := slices.Clone(lines)
	for i, l := range out {
		if f := strings.SplitN(l, " ", 4); f[1] == "0120777" {
			out[i] = f[0] + " " + f[1] + " - " + f[3]
		}
	}
	return out
}

func TestAddTree(t *testing.T) {
	dir := tree(t)
	t.Chdir(filepath.Join(dir, "a")) // for a socket the whole path may be too long
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Chtimes(filepath.Join(dir, "a"), time.Unix(1_700_000_000, 0), time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	var a Archive
	if err := a.AddTree(filepath.Join(dir, "a"), "/opt/x", nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`opt 040755 0 ""`,
		`opt/x 040750 1700000000 ""`,
		`opt/x/broken 0120777 - "/nowhere"`,
		`opt/x/empty 041777 1700000000 ""`,
		`opt/x/link 0120777 - "text"`,
		`opt/x/text 0100640 1700000000 "hello\n"`,
		`opt/x/text2 0100640 1700000000 "hello\n"`,
		`opt/x/tool 0104755 1700000000 ""`,
	}
	if got := noTime(list(t, &a)); !slices.Equal(got, want) {
		t.Errorf("AddTree gives\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(a.records) != len(want) || !a.Has("/opt/x/text") || a.Has("/opt/x/socket") {
		t.Errorf("%d records, Has(text) = %v, Has(socket) = %v; want %d, true, false", len(a.records), a.Has("/opt/x/text"), a.Has("/opt/x/socket"), len(want))
	}
}

// TestAddTreeRoot: a folder's contents as the root, with something left out, a
// symbolic link to a folder as the host's path, and a file alone.
func TestAddTreeRoot(t *testing.T) {
	dir := tree(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "a"), link); err != nil {
		t.Fatal(err)
	}
	var a Archive
	if err := os.WriteFile(filepath.Join(dir, "a", "empty", "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "a", "empty"), time.Unix(1_700_000_000, 0), time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	skip := func(path string, d fs.DirEntry) bool { return d.IsDir() || strings.HasPrefix(d.Name(), "t") }
	if err := a.AddTree(link, "/", skip); err != nil {
		t.Fatal(err)
	}
	if err := a.AddTree(filepath.Join(dir, "a", "text"), "/x/../name", nil); err != nil {
		t.Fatal(err)
	}
	want := []string{`. 040750 1700000000 ""`, `broken 0120777 - "/nowhere"`, `empty 041777 1700000000 ""`, `link 0120777 - "text"`, `name 0100640 1700000000 "hello\n"`}
	got := noTime(list(t, &a))
	if !slices.Equal(got, want) {
		t.Errorf("the archive has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReplace: what comes later counts, and folders stay.
func TestReplace(t *testing.T) {
	var a Archive
	a.AddFile("/etc/hosts", 0o644, []byte("old"))
	a.AddDir("/etc", 0o700)
	a.AddFile("etc/hosts", 0o600, []byte("new"))
	want := []string{`etc 040700 0 ""`, `etc/hosts 0100600 0 "new"`}
	if got := list(t, &a); !slices.Equal(got, want) {
		t.Errorf("the archive has %q; want %q", got, want)
	}
}

// TestAddArchive: an archive of others, with hard links of which the last has the
// data, goes into ours.
func TestAddArchive(t *testing.T) {
	var b bytes.Buffer
	w := cpio.Newc.Writer(&b)
	link := cpio.Info{Ino: 7, NLink: 2, UID: 5, Mode: cpio.S_IFREG | 0o600}
	first, second := link, link
	first.Name, second.Name = "d/one", "d/two"
	err := cpio.WriteRecords(w, []cpio.Record{
		cpio.Directory(".", 0o755), cpio.Directory("d", 0o711), {Info: first}, cpio.StaticRecord([]byte("data"), second),
		cpio.Symlink("d/s", "one"), cpio.CharDev("null", 0o666, 1, 3),
	})
	if err == nil {
		err = cpio.WriteTrailer(w)
	}
	if err != nil {
		t.Fatal(err)
	}
	var a Archive
	a.AddFile("/d/two", 0o777, []byte("replaced"))
	if err := a.AddArchive(bytes.NewReader(b.Bytes())); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`d 040711 0 ""`, `d/two 0100600 0 "data"`, `. 040755 0 ""`, `d/one 0100600 0 "data"`, `d/s 0120777 0 "one"`, `null 020666 0 ""`,
	}
	if got := list(t, &a); !slices.Equal(got, want) {
		t.Errorf("the archive has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, bad := range []string{"", "\x1f\x8b gzip", b.String()[:200]} {
		if err := new(Archive).AddArchive(strings.NewReader(bad)); !errors.Is(err, ErrArchive) {
			t.Errorf("AddArchive(%d bytes of something else) = %v; want %v", len(bad), err, ErrArchive)
		}
	}
}

func TestAddTreeErrors(t *testing.T) {
	dir := t.TempDir()
	var a Archive
	if err := a.AddTree(filepath.Join(dir, "nosuch"), "/", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("AddTree(nosuch) = %v; want %v", err, fs.ErrNotExist)
	}
	if err := a.AddTree(os.DevNull, "/x", nil); err == nil || !strings.Contains(err.Error(), "cannot be packed") {
		t.Errorf("AddTree(%s) = %v; want an error", os.DevNull, err)
	}
	// A file that changes its size between packing and writing is an error, not a
	// damaged archive.
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := a.AddTree(name, "/f", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("123"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := a.WriteFile(filepath.Join(dir, "out")); err == nil {
		t.Error("WriteFile with a file that has shrunk = nil; want an error")
	}
}
