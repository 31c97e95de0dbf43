package qemu

import (
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// runBoth runs a program of testdata on Linux and on the kernel, and returns what it
// wrote.
func runBoth(t *testing.T, pkg, args string) (linux, ours string) {
	t.Helper()
	return bootBoth(t, program(t, pkg), args)
}

// bootBoth is runBoth for an image.
func bootBoth(t *testing.T, elf, args string) (linux, ours string) {
	t.Helper()
	cmd := exec.Command(elf)
	cfg := Config{Kernel: elf}
	if args != "" {
		cmd.Args = append(cmd.Args, args)
		cfg.Append = "-- " + args
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s on Linux: %v\n%s", elf, err, out)
	}
	vm, serial := start(t, cfg, "")
	res, err := vm.Wait()
	ours = said(serial.String())
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Fatalf("%s: %v, status %d, %v; want status 0\n%s", elf, res.Outcome, res.Program, err, ours)
	}
	return string(out), ours
}

// TestMapErrors: mmap of files answers as Linux does, and shows what it shows.
func TestMapErrors(t *testing.T) {
	t.Parallel()
	if linux, ours := runBoth(t, "calls/mapped", ""); ours != linux {
		t.Errorf("the program wrote\n%s\nand on Linux\n%s", ours, linux)
	}
}

// TestSharedFiles: what is written to a file by calls is there in its shared mappings, and the
// other way, while the file and its mappings change in size and place. What is behind the
// end of a file is zero when it grows, on Linux not always. A futex in two of them is one.
func TestSharedFiles(t *testing.T) {
	t.Parallel()
	linux, ours := runBoth(t, "calls/shared", "")
	tail := regexp.MustCompile(`(?m)^tail: .*\n`)
	if got, want := tail.FindAllString(ours, -1), []string{`tail: "\x00\x00\x00\x00" <nil>` + "\n", `tail: "\x00\x00\x00\x00\x00\x00\x00x" <nil>` + "\n"}; !slices.Equal(got, want) {
		t.Errorf("behind the end there was %q; want %q", got, want)
	}
	if linux, ours = tail.ReplaceAllString(linux, ""), tail.ReplaceAllString(ours, ""); ours != linux {
		t.Errorf("the program wrote\n%s\nand on Linux\n%s", ours, linux)
	}
}

// TestSharedDatabase: a library that keeps its data in a mapped and locked file finds them
// again, all of them.
func TestSharedDatabase(t *testing.T) {
	t.Parallel()
	if linux, ours := runBoth(t, "calls/mapped", "database"); ours != linux {
		t.Errorf("the program wrote\n%s\nand on Linux\n%s", ours, linux)
	}
}

// TestMemoryCuts: what is in each page after random calls that map memory and private files,
// unmap, protect and empty parts of it, is what Linux has there.
func TestMemoryCuts(t *testing.T) {
	t.Parallel()
	if linux, ours := runBoth(t, "calls/cuts", ""); ours != linux {
		t.Errorf("the program wrote\n%s\nand on Linux\n%s", ours, linux)
	}
}
