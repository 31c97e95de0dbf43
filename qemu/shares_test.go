package qemu

// Folders of the host: what a program finds there is what it finds on the host, by the same
// program, and nothing that it does reaches the host.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/initrd"
)

// sharedFolder makes a folder to share.
func sharedFolder(t *testing.T) string {
	t.Helper()
	dir := plainFolder(t)
	files := testFiles()
	deep := "deep"
	for range 20 { // more names than fit one message
		files = append(files, testFile{name: deep, mode: os.ModeDir | 0o755, mtime: 77})
		deep += "/" + strings.Repeat("d", 40)
	}
	files = append(files, testFile{name: "deep/end", mode: 0o644, size: 3, mtime: 78},
		testFile{name: filepath.Dir(deep) + "/bottom", mode: 0o644, size: 131072 - 64, mtime: 79})
	writeFiles(t, dir, files)
	return dir
}

// sharedOnHost is what the program prints on the host.
func sharedOnHost(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(hostCommand(t, "./testdata/shared"), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// compareLines reports the first lines in which two texts differ.
func compareLines(t *testing.T, what, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Errorf("%s: line %d of %d is\n%q; want\n%q, of %d", what, i+1, len(g), g[min(i, len(g)-1)], w[min(i, len(w)-1)], len(w))
			return
		}
	}
}

// TestShares: the tree is the host's, on each machine.
func TestShares(t *testing.T) {
	t.Parallel()
	dir, elf := sharedFolder(t), program(t, "shared")
	want := sharedOnHost(t, dir)
	if !strings.Contains(want, "/bottom ") || !strings.HasSuffix(want, "end <nil>\n") {
		t.Fatalf("on the host:\n%s", want)
	}
	for _, machine := range []string{"q35", "pc", "microvm"} {
		shares := []Share{{Dir: t.TempDir(), Path: "/other"}, {Dir: dir, Path: dir}}
		cfg := Config{Machine: machine, Kernel: elf, Shares: shares}
		res, serial, err := boot(t, cfg, strings.Join(ShareOptions(shares), " ")+" -- "+dir)
		if err != nil || res.Outcome != Exited || res.Program != 0 {
			t.Errorf("%s: %v, status %d, %v", machine, res.Outcome, res.Program, err)
		}
		compareLines(t, machine, said(serial), want)
	}
}

// TestSharesMerge: a share begins in a tree that has some of its folders already. What is there
// counts, and the host's files are beside it.
func TestSharesMerge(t *testing.T) {
	t.Parallel()
	dir, given := plainFolder(t), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, "a/b/host"): "host", filepath.Join(dir, "a/b/both"): "the host's", filepath.Join(dir, "a/c"): "c", filepath.Join(dir, "d/e"): "e",
		filepath.Join(given, "a/b/both"): "given", filepath.Join(given, "a/own"): "own", filepath.Join(given, "d"): "no folder",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	a := new(initrd.Archive)
	archive := filepath.Join(t.TempDir(), "archive.cpio")
	if err := errors.Join(a.AddTree(given, "/merged", nil), a.WriteFile(archive)); err != nil {
		t.Fatal(err)
	}
	shares := []Share{{Dir: dir, Path: "/merged", Private: true}}
	_, serial, err := boot(t, Config{Kernel: program(t, "shared"), Shares: shares, Initrd: archive}, ShareOptions(shares)[0]+" cwd=/merged/a/b -- /merged")
	if err != nil {
		t.Error(err)
	}
	var got []string
	for line := range strings.Lines(said(serial)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "/merged") && f[1][0] == '-' {
			got = append(got, f[0]+" "+f[3])
		}
	}
	if want := "/merged/a/b/both 5,/merged/a/b/host 4,/merged/a/c 1,/merged/a/own 3,/merged/d 9"; strings.Join(got, ",") != want {
		t.Errorf("the tree is %s; want %s", strings.Join(got, ","), want)
	}
}

// TestSharesEvict: more bytes than the machine has RAM, read twice.
func TestSharesEvict(t *testing.T) {
	t.Parallel()
	dir := plainFolder(t)
	for i := range 12 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), bytes.Repeat([]byte{byte(i), 1, 2}, 3<<20), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := sharedOnHost(t, dir)
	shares := []Share{{Dir: dir, Path: dir}}
	cfg := Config{Kernel: program(t, "shared"), Shares: shares, MemoryMiB: 96}
	_, serial, err := boot(t, cfg, ShareOptions(shares)[0]+" -- "+dir+" folder")
	if err != nil {
		t.Error(err)
	}
	compareLines(t, "96 MiB", strings.SplitAfter(said(serial), "end <nil>\n")[0], want)
}

// TestSharesChange: what is changed in a private share is as on Linux, and the host does not see
// it; in another nothing can be changed.
func TestSharesChange(t *testing.T) {
	t.Parallel()
	dir, elf := sharedFolder(t), program(t, "shared")
	before := sharedOnHost(t, dir)
	run := func(private bool, what string) string {
		shares := []Share{{Dir: dir, Path: dir, Private: private}}
		res, serial, err := boot(t, Config{Kernel: elf, Shares: shares}, ShareOptions(shares)[0]+" -- "+dir+" "+what)
		if err != nil || res.Outcome != Exited || res.Program != 0 {
			t.Errorf("private %v, %s: %v, status %d, %v", private, what, res.Outcome, res.Program, err)
		}
		if after := sharedOnHost(t, dir); after != before {
			compareLines(t, "the host's folder, after", after, before)
		}
		return said(serial)
	}
	const rename = "statfs 0x1021997, of / 0x1021994, <nil>\nrename of a folder rename %s/sub %s/sub2: %s\n"
	compareLines(t, "a folder of a private share", run(true, "folder"), before+fmt.Sprintf(rename, dir, dir, "invalid cross-device link"))
	compareLines(t, "a folder of another", run(false, "folder"), before+fmt.Sprintf(rename, dir, dir, "read-only file system"))

	only := run(false, "change")
	tree, changes, _ := strings.Cut(only[strings.Index(only, "end <nil>\n")+len("end <nil>\n"):], "tree\n")
	for line := range strings.Lines(tree) {
		if !strings.HasSuffix(line, ": read-only file system\n") && line != "remove of a full folder remove "+dir+"/many: directory not empty\n" {
			t.Errorf("in a read-only share: %s", line)
		}
	}
	nanos := regexp.MustCompile(`(?m)^(/.* [-dLutrwx]{10,11}) [0-9]+`)
	compareLines(t, "a read-only share, after", "tree\n"+changes, nanos.ReplaceAllString(before, "$1"))

	// Last: on the host the program changes the folder itself.
	private := run(true, "change")
	compareLines(t, "a private share", private, sharedOnHost(t, dir, "change"))
}

// TestSharesWrong: what is wrong with the option is said, and the machine boots.
func TestSharesWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shares := []Share{{Dir: dir, Path: "/here"}}
	cfg := Config{Kernel: program(t, "shared"), Shares: shares}
	_, serial, err := boot(t, cfg, "share=none,ro,/x share=share0,wr,/x share=share0,ro,x share=share0,ro,/dev/null share=share0,ro,/here share=share0,ro,/there -- /here")
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"share=none,ro,/x is ignored: there is no virtio-9p device with that tag that works\r\n",
		"share=share0,wr,/x is ignored: want TAG,MODE,PATH with the mode ro, private or rw\r\n",
		"share=share0,ro,x is ignored: want TAG,MODE,PATH with the mode ro, private or rw\r\n",
		"share=share0,ro,/dev/null is ignored: that path cannot be a directory\r\n",
		"share=share0,ro,/there is ignored: there is a share already, or its device is one already\r\n",
		"\r\nshares  1 virtio-9p\r\n", "\r\n/here d", "end <nil>",
	} {
		if !strings.Contains(serial, want) {
			t.Errorf("nothing says %q:\n%s", want, serial)
		}
	}
}

// TestAddShares: the folders of a program's sources, where none shows them already.
func TestAddShares(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"module/sub", "go/src", "cache/go1"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	given := []Share{{Dir: at("module/sub"), Path: at("module/sub"), Private: false}, {Dir: at("go"), Path: "/elsewhere", Private: false}, {Dir: at("module"), Path: at("cache"), Private: false}}
	got := AddShares(slices.Clip(given), at("module"), at("go"), at("go/src"), at("cache"), at("cache/go1"), at("none"), "/", "")
	want := append(slices.Clip(given), Share{Dir: at("module"), Path: at("module"), Private: true}, Share{Dir: at("go"), Path: at("go"), Private: true}, Share{Dir: at("cache/go1"), Path: at("cache/go1"), Private: true})
	if !slices.Equal(got, want) {
		t.Errorf("AddShares = %v; want %v", got, want)
	}
	// The inner one first, around which the outer one is put.
	options := ShareOptions([]Share{{Path: "/a", Private: true}, {Path: "/a/b c"}, {Path: "/"}})
	if want := []string{`share="share1,ro,/a/b c"`, "share=share0,private,/a", "share=share2,ro,/"}; !slices.Equal(options, want) {
		t.Errorf("ShareOptions = %q; want %q", options, want)
	}
	s := Share{Dir: "/host", Path: "/guest"}
	for guest, want := range map[string]string{"/guest": "/host", "/guest/a/../b": "/host/b", "/guest2": "", "/": "", "/guest/../x": ""} {
		if host, ok := s.Host(guest); host != want || ok != (want != "") {
			t.Errorf("%s is %q, %v; want %q", guest, host, ok, want)
		}
	}
}

// TestParseShare: what -mount takes.
func TestParseShare(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		in    string
		want  Share
		wrong string
	}{
		{dir, Share{dir, dir, false, false}, ""},
		{dir + ":/a/../b", Share{dir, "/b", false, false}, ""},
		{dir + ":/b:ro", Share{dir, "/b", false, false}, ""},
		{dir + ":/b:private", Share{dir, "/b", true, false}, ""},
		{dir + ":private", Share{dir, dir, true, false}, ""},
		{dir + ":/b:rw", Share{dir, "/b", false, true}, ""},
		{dir + ":rw", Share{dir, dir, false, true}, ""},
		{dir + ":/a b", Share{dir, "/a b", false, false}, ""},
		{dir + ":/a\"b", Share{}, "no quotes"},
		{file, Share{}, "not a folder"},
		{dir + "/none", Share{}, "no such file"},
	} {
		got, err := ParseShare(tt.in)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %+v, %v; want %+v, %q", tt.in, got, err, tt.want, tt.wrong)
		}
	}
}
