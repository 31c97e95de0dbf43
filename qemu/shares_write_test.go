package qemu

// Writable folders of the host: a program does there what it does on Linux, and the folder is the
// same afterwards, looked at on the host.

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// treeOf is what there is below a folder: kinds, rights, bytes, targets and which names are one
// file's.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	var files []fs.FileInfo
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		fmt.Fprint(&b, name, " ", fi.Mode())
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d %x", len(data), sha256.Sum256(data))
			for i, other := range files {
				if os.SameFile(fi, other) {
					fmt.Fprint(&b, " = ", names[i])
					break
				}
			}
			files, names = append(files, fi), append(names, name)
		case fi.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprint(&b, " -> ", to)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// writeThere runs the program in a folder of the host that a machine sees. It returns what it
// prints.
func writeThere(t *testing.T, cfg Config, dir string, args ...string) string {
	t.Helper()
	cfg.Kernel, cfg.Shares = program(t, "hostwrite"), []Share{{Dir: dir, Path: "/there", Writable: true}}
	res, serial, err := boot(t, cfg, ShareOptions(cfg.Shares)[0]+" -- /there "+strings.Join(args, " "))
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Errorf("%q: %v, status %d, %v\n%s", args, res.Outcome, res.Program, err, serial)
	}
	return said(serial)
}

// TestSharesWrite: the same program on Linux and on the kernel.
func TestSharesWrite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ machine, args string }{
		{"q35", "steps"}, {"microvm", "steps"}, {"q35", "many"},
		{"q35", "random 1 400"}, {"q35", "random 2 400"}, {"pc", "random 3 400"}, {"microvm", "random 4 400"},
	} {
		t.Run(tt.machine+" "+tt.args, func(t *testing.T) {
			t.Parallel()
			linux, there := filepath.Join(plainFolder(t), "in"), filepath.Join(plainFolder(t), "in")
			if err := errors.Join(os.Mkdir(linux, 0o755), os.Mkdir(there, 0o755), os.WriteFile(there+"/../secret", []byte("not for the program"), 0o600)); err != nil {
				t.Fatal(err)
			}
			want := writtenOnLinux(t, linux, strings.Fields(tt.args)...)
			compareLines(t, "what it prints", writeThere(t, Config{Machine: tt.machine}, there, strings.Fields(tt.args)...), want)
			compareLines(t, "the folder on the host", treeOf(t, there), treeOf(t, linux))
			if entries, err := os.ReadDir(filepath.Dir(there)); len(entries) != 2 {
				t.Errorf("beside the folder there are %v, %v", entries, err)
			}
		})
	}
}

// TestSharesWriteBits: nothing that the program makes gives rights to who runs it on the host, and
// nothing is a device.
func TestSharesWriteBits(t *testing.T) {
	t.Parallel()
	dir := plainFolder(t)
	out := writeThere(t, Config{}, dir, "bits")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Fatalf("the folder has %v, %v; want five\n%s", entries, err, out)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || fi.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice|os.ModeNamedPipe|os.ModeSocket) != 0 || fi.Mode().Perm() != 0o755 {
			t.Errorf("%s is %v, %v", e.Name(), fi.Mode(), err)
		}
	}
}

// writtenOnLinux is what the program prints on Linux.
func writtenOnLinux(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command(hostCommand(t, "./testdata/hostwrite"), append([]string{dir}, args...)...).Output()
	if err != nil || !strings.HasSuffix(string(out), "end\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestSharesWriteErrors: what the host refuses is the program's error, with what has been done
// before.
func TestSharesWriteErrors(t *testing.T) {
	t.Parallel()
	qemu, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	dir, limited := plainFolder(t), filepath.Join(plainFolder(t), "qemu")
	text := fmt.Sprintf("#!/bin/sh\nulimit -f 100\ntrap '' XFSZ\nexec %q \"$@\"\n", qemu)
	b, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	writeProgram(t, limited, text)
	writeProgram(t, dir+"/busy", string(b))
	running := exec.Command(dir+"/busy", "100000")
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	defer running.Wait()
	defer running.Process.Kill()
	args := []string{"busy", "busy"}
	compareLines(t, "a program that runs", writeThere(t, Config{}, dir, args...), writtenOnLinux(t, dir, args...))

	n, size := 0, 0
	got := writeThere(t, Config{Program: limited}, dir, "limit")
	if _, err := fmt.Sscanf(got, "create ok\nwrite ok %d\nwrite file too large -1\nclose ok -rw------- %d ", &n, &size); err != nil || n != size || n < 50_000 || n > 200_000 {
		t.Errorf("of a file that becomes too long: %d, %d, %v\n%s", n, size, err, got)
	}

	compareLines(t, "what leaves the folder", writeThere(t, Config{}, dir, "across"), `write ok
write ok
rename out invalid cross-device link
rename in invalid cross-device link
link out invalid cross-device link
link in invalid cross-device link
pipe operation not permitted
open ok
writable mapping invalid argument
end
`)
	if got := treeOf(t, dir); strings.Count(got, "\n") != 2 || !strings.Contains(got, "/own -rw------- 3 ") {
		t.Errorf("the folder has\n%s", got)
	}
}
