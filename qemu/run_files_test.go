package qemu

// Files that a program finds, and files that it makes: on each machine and by each way to
// boot, the program sees what it sees on the host.

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/tools/machine/initrd"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// A testFile is a file of the archive.
type testFile struct {
	name  string
	mode  fs.FileMode
	size  int    // of a regular file
	to    string // of a symbolic link
	mtime int64
}

func testFiles() []testFile {
	const dir, link = fs.ModeDir, fs.ModeSymlink
	all := []testFile{
		{name: "big", mode: 0o644, size: 3<<20 + 12345, mtime: 1_000_000_000},
		{name: "other", mode: 0o600, size: 2 << 20, mtime: 2_147_483_647},
		{name: "script", mode: 0o755, size: 10, mtime: 2_147_483_648},
		{name: "setuid", mode: 0o755 | fs.ModeSetuid, size: 4096, mtime: 4_102_444_800},
		{name: "sub", mode: 0o755 | dir, mtime: 86_400},
		{name: "sub/small", mode: 0o640, size: 4097, mtime: 1},
		{name: "sub/empty", mode: 0o444, mtime: 0},
		{name: "sub/out", mode: link, to: "../../nowhere/at all", mtime: 1_600_000_000},
		{name: "sub/x", mode: 0o700 | dir, mtime: 1_600_000_001},
		{name: "sub/x/y", mode: 0o500 | dir, mtime: 1_600_000_002},
		{name: "sub/x/y/deep", mode: 0o644, size: 1, mtime: 1_600_000_003},
		{name: "link", mode: link, to: "sub/small", mtime: 1_600_000_004},
		{name: ".hidden", mode: 0o644, size: 5, mtime: 1_600_000_005},
		{name: "a name, with \"ü\"", mode: 0o644, size: 6, mtime: 1_600_000_006},
		{name: strings.Repeat("long", 63), mode: 0o644, size: 7, mtime: 1_600_000_007},
		{name: "sticky", mode: 0o777 | fs.ModeSticky | dir, mtime: 1_600_000_008},
		{name: "many", mode: 0o755 | dir, mtime: 1_600_000_009},
	}
	for i := range 700 {
		all = append(all, testFile{name: fmt.Sprintf("many/file-%d", i), mode: 0o644, size: i, mtime: int64(i)})
	}
	return all
}

// writeFiles makes the files in a folder of the host.
func writeFiles(t *testing.T, dir string, files []testFile) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	// Who is not root cannot remove files from a folder that is read-only.
	t.Cleanup(func() {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
			if d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	for _, f := range files {
		name := filepath.Join(dir, f.name)
		switch f.mode.Type() {
		case fs.ModeDir:
			must(os.Mkdir(name, 0o700))
		case fs.ModeSymlink:
			must(os.Symlink(f.to, name))
		default:
			b := make([]byte, f.size)
			random.Read(b)
			must(os.WriteFile(name, b, 0o600))
		}
	}
	// Modes and times last: files that are made in a folder change its time.
	for _, f := range files {
		name := filepath.Join(dir, f.name)
		if f.mode.Type() != fs.ModeSymlink {
			must(os.Chmod(name, f.mode))
		}
		// os.Chtimes follows links.
		must(unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{{Sec: f.mtime}, {Sec: f.mtime}}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

// onLinux is what testdata/files says on the host of those files.
func onLinux(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `umask 022 && exec "$0" "$@"`, hostCommand(t, "./testdata/files"), dir, t.TempDir())
	if os.Getuid() != 0 { // the program is root on the machine; so be root in a user namespace
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, out)
	}
	return string(out)
}

// TestFileCalls: 48 MiB hold the program, 6 MiB of files, and what is done with them.
func TestFileCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, testFiles())
	a := new(initrd.Archive)
	if err := a.AddTree(dir, "/in/data", nil); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "archive.cpio")
	if err := a.WriteFile(archive); err != nil {
		t.Fatal(err)
	}
	images := map[image.Loaders]string{}
	for _, l := range []image.Loaders{image.Multiboot, image.PVH} {
		images[l] = built(t, image.BuildOptions{Package: "./testdata/files", Loaders: l})
	}
	// What is given as a folder is read now, and then changed below.
	var got []outcome
	var how [][]string
	for _, machine := range []string{"q35", "pc", "microvm"} {
		for loaders, elf := range images {
			args := []string{"-machine", machine, "-m", "48", "-initrd", archive, elf, "--", "/in/data", "/tmp"}
			if machine == "q35" && loaders == image.PVH {
				args[4], args[5] = "-files", dir+":/in/data"
			}
			o, _ := booted(t, nil, args...)
			got, how = append(got, o), append(how, args)
		}
	}
	want := onLinux(t, dir)
	for i, o := range got {
		if o.status != 0 || o.text != want {
			t.Errorf("zf run %q: status %d, and\n%s", how[i], o.status, difference(o.text, want))
		}
	}
}

// difference shows the lines in which two texts differ, at most a few.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	var b strings.Builder
	for i, n := 0, 0; i < max(len(g), len(w)) && n < 10; i++ {
		line := func(l []string) string {
			if i < len(l) {
				return l[i]
			}
			return "(end)"
		}
		if line(g) != line(w) {
			n++
			fmt.Fprintf(&b, "line %d: %.300s\nwant    %.300s\n", i+1, line(g), line(w))
		}
	}
	return b.String()
}

// TestFilesFull: a file that fills the memory is an error of a write, and the program
// goes on.
func TestFilesFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, testFiles())
	for _, m := range []int{48, 300} {
		got, stderr := booted(t, nil, "-m", strconv.Itoa(m), "-files", dir+":/data", program(t, "files"), "--", "/data", "/tmp", "fill")
		_, text, _ := strings.Cut(got.text, "full: ")
		match := regexp.MustCompile(`^true\nroom (\d+) size (\d+) left (\d+)\nalive: 1048576\nwrite: true\nmkdir: true\nstat: true <nil>\nremove: <nil> <nil>\nroom again (\d+)\nwrite: <nil>\ndone\n$`).FindStringSubmatch(text)
		if match == nil || got.status != 0 {
			t.Errorf("with %d MiB: status %d, %s, and behind \"full\" %q", m, got.status, stderr, text)
			continue
		}
		var n [5]int64
		for i := range n[1:] {
			n[i+1], _ = strconv.ParseInt(match[i+1], 10, 64)
		}
		room, size, left, again := n[1], n[2], n[3], n[4]
		if size < room*95/100 || size > room || left != 0 {
			t.Errorf("with %d MiB and room for %d bytes, a file got %d, and %d pages are left; want nearly all, and none", m, room, size, left)
		}
		if size < int64(m)<<20/3 {
			t.Errorf("with %d MiB a file got %d bytes; want more", m, size)
		}
		if again < size*95/100 {
			t.Errorf("with %d MiB there is room for %d bytes once the file is removed; want %d again", m, again, size)
		}
	}
}

// TestLocks: locks on files answer as on Linux, and keep out who they are to keep out.
func TestLocks(t *testing.T) {
	t.Parallel()
	if linux, ours := runBoth(t, "calls/locks", ""); ours != linux {
		t.Errorf("the program wrote\n%s\nand on Linux\n%s", ours, linux)
	}
}
