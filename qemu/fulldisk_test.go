package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inNamespace is set in the environment of a test binary that may mount.
const inNamespace = "ZEROFRAME_TEST_MAY_MOUNT"

// fullDisk makes a small file system, with no room for a byte more than the files of those names
// and a folder, dir. Without the right to mount it runs the test in a namespace that gives it, and
// returns "".
func fullDisk(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k")
	if errors.Is(err, syscall.EPERM) && os.Getenv(inNamespace) == "" {
		cmd := exec.Command("unshare", "-rm", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inNamespace+"=1")
		if out, err := cmd.CombinedOutput(); err == nil || bytes.Contains(out, []byte("--- FAIL")) {
			if err != nil {
				t.Errorf("in a namespace: %v\n%s", err, out)
			}
			return ""
		}
	}
	if err != nil {
		t.Fatalf("no file system can be mounted here: %v; be root, or allow user namespaces", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	if os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 64<<10), 0o666) == nil {
		t.Fatal("the file system is not full")
	}
	return dir
}

// TestDiskIsFull: what no disk has room for is an error that names the file and the cause, under a
// status that is no success, and leaves what was there: no half file, and nothing beside it.
func TestDiskIsFull(t *testing.T) {
	disk := fullDisk(t, "old")
	if disk == "" {
		return
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	flight, short, tests := program(t, "flight"), program(t, "short"), "./testdata/tests"
	for _, args := range [][]string{
		{"-core", at("core"), "-cpuprofile", at("cpu"), "-log", at("log"), flight},
		{"-record", at("run.zfr"), short, "--", "nil"},
	} {
		if out, err := zfRun(t, args...).CombinedOutput(); exitCode(t, err) != 1 {
			t.Fatalf("zf run %q: %v\n%s", args, err, out)
		}
	}
	// OLD is a file that is there on the full disk, FILE one that is not.
	for _, line := range []string{
		"profile -o OLD CPU", "profile -o FILE CPU", "profile -svg OLD CPU", "profile -folded FILE CPU",
		"map -e ELF -o OLD", "report -e ELF -o OLD LOG", "core -e ELF -o OLD LOG",
		"trace -e ELF -o OLD LOG", "trace -flight -e ELF -o FILE CORE", "heap -e ELF -pprof OLD CORE",
		"heap -e ELF -svg FILE CORE", "waits -e ELF -svg OLD CORE", "receive -new-key FILE",
		"gdb -listen 127.0.0.1:1 -commands OLD ELF", "build -o FILE ./testdata/short", "iso -o FILE ELF",
		"replay -core OLD ZFR", "replay -image FILE ZFR", "run -cpuprofile OLD SHORT", "run -handles FILE SHORT",
		"run -probe main.deep -probe-json OLD SHORT", "run -record OLD SHORT",
		"run -record FILE -record-last 10ms SHORT", "run -records DIR -append record=all SHORT",
		"test -run Pass -coverprofile OLD TESTS", "test -run Pass -cpuprofile OLD TESTS",
		"test -run Pass -memprofile FILE TESTS", "test -run Pass -blockprofile OLD TESTS",
		"test -run Pass -mutexprofile FILE TESTS", "test -run Pass -trace OLD TESTS", "test -c -o FILE TESTS",
	} {
		args := strings.Fields(strings.NewReplacer("OLD", disk+"/old", "FILE", disk+"/new", "DIR", disk+"/dir",
			"CPU", at("cpu"), "ELF", flight, "LOG", at("log"), "ZFR", at("run.zfr"), "CORE", at("core"),
			"SHORT", short, "TESTS", tests).Replace(line))
		if strings.HasSuffix(line, "SHORT") {
			args = append(args, "--", "lives")
		}
		out, err := zfOnDisk(t, args)
		file := disk + "/old"
		switch {
		case strings.Contains(line, "FILE"):
			file = disk + "/new"
		case strings.Contains(line, "DIR"):
			file = disk + "/dir"
		}
		said := slices.ContainsFunc(strings.Split(out, "\n"), func(l string) bool {
			return strings.Contains(l, file) && strings.Contains(l, "no space left on device")
		})
		if status := exitCode(t, err); status != 2 || !said || strings.Contains(out, "is in "+file) || strings.Contains(out, "wrote "+file) {
			t.Errorf("zf %s: status %d; want 2, %s and the cause, in\n%s", line, status, file, out)
		}
		var left []string
		filepath.WalkDir(disk, func(path string, _ os.DirEntry, _ error) error {
			left = append(left, filepath.Base(path))
			return nil
		})
		if old, err := os.ReadFile(disk + "/old"); string(old) != "old" || len(left) != 4 {
			t.Fatalf("zf %s leaves %q, and of the old file %q, %v", line, left[1:], old, err)
		}
	}
}

// zfOnDisk runs zf for two minutes at most.
func zfOnDisk(t *testing.T, args []string) (out string, err error) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	b, err := exec.CommandContext(ctx, zfCommand(t), args...).CombinedOutput()
	return string(b), err
}

// TestFullStreams: what grows as the machine runs, and may be followed, ends where there was no
// more room; that is said, and is no success.
func TestFullStreams(t *testing.T) {
	disk := fullDisk(t, "json", "log")
	if disk == "" {
		return
	}
	for _, tt := range []struct{ file, says string }{
		{"json", "-json: traces are missing from "}, {"log", "-log: text is missing from "},
	} {
		file := filepath.Join(disk, tt.file)
		out, err := zfRun(t, "-"+tt.file, file, program(t, "short"), "--", "overflow").CombinedOutput()
		want := fmt.Sprintf("%s%s: no space left on device", tt.says, file)
		if status := exitCode(t, err); status == 0 || !strings.Contains(string(out), want) {
			t.Errorf("-%s: status %d; want %q in\n%s", tt.file, status, want, out)
		}
	}
}

// TestFileSizeLimit: a limit of a file's size, as ulimit -f has it, is told as a full disk is.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "map")
	out, err := exec.Command("sh", "-c", `ulimit -f 1; exec "$@"`, "sh", zfCommand(t), "map", "-e", program(t, "short"),
		"-o", file).CombinedOutput()
	if status := exitCode(t, err); status != 2 || !strings.Contains(string(out), file+": file too large; ") {
		t.Errorf("status %d; want 2, and the file and the cause, in\n%s", status, out)
	}
	if all, _ := os.ReadDir(filepath.Dir(file)); len(all) > 0 {
		t.Errorf("%v is left", all)
	}
}
