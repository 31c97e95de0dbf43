package qemu

import (
	"os/exec"
	"regexp"
	"testing"
)

// runBoth runs a program of testdata on Linux and on the kernel, and returns what it
// wrote.
func runBoth(t *testing.T, pkg, args string) (linux, ours string) {
	t.Helper()
	elf := program(t, pkg)
	cmd := exec.Command(elf)
	cfg := Config{Kernel: elf}
	if args != "" {
		cmd.Args = append(cmd.Args, args)
		cfg.Append = "-- " + args
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s on Linux: %v\n%s", pkg, err, out)
	}
	vm, serial := start(t, cfg, "")
	res, err := vm.Wait()
	ours = said(serial.String())
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Fatalf("%s: %v, status %d, %v; want status 0\n%s", pkg, res.Outcome, res.Program, err, ours)
	}
	return string(out), ours
}

// refusedMap is the log's line of a mapping that would not be what the program asks for.
var refusedMap = regexp.MustCompile(`(?m)^mmap of (.*) with MAP_SHARED is refused \(ENODEV\): .*\n`)

// TestSharedFiles: mmap answers as Linux does, but for shared mappings of files that
// could change: these are refused, and the log names the file once.
func TestSharedFiles(t *testing.T) {
	t.Parallel()
	linux, ours := runBoth(t, "calls/mapped", "")
	var named []string
	for _, m := range refusedMap.FindAllStringSubmatch(ours, -1) {
		named = append(named, regexp.MustCompile(`\d+`).ReplaceAllString(m[1], "N"))
	}
	if len(named) != 2 || named[0] != "/tmp/mappedN/writer" || named[1] != "/tmp/mappedN/reader" {
		t.Errorf("the log says that %q were refused; want writer and reader, once each", named)
	}
	mapped := regexp.MustCompile(`(?m)^(writer|reader): ".*\n`)
	refused := regexp.MustCompile(`(?m)^(writer|reader): refused: no such device\n`)
	if n, m := len(mapped.FindAllString(linux, -1)), len(refused.FindAllString(ours, -1)); n != 4 || m != 4 {
		t.Errorf("%d mappings on Linux, %d refused here; want 4 and 4:\n%s", n, m, ours)
	}
	linux = mapped.ReplaceAllString(linux, "")
	if got := refused.ReplaceAllString(refusedMap.ReplaceAllString(ours, ""), ""); got != linux {
		t.Errorf("the program wrote\n%s\nand on Linux\n%s", got, linux)
	}
}

// TestSharedDatabase: a library that keeps its data in a mapped file says that it cannot,
// rather than losing them.
func TestSharedDatabase(t *testing.T) {
	t.Parallel()
	linux, ours := runBoth(t, "calls/mapped", "database")
	if linux != "values: 200\n" {
		t.Errorf("on Linux: %q", linux)
	}
	if !regexp.MustCompile(`^mmap of /tmp/mapped\d+/values\.db with MAP_SHARED is refused .*\nrefused: no such device\n$`).MatchString(ours) {
		t.Errorf("the program wrote %q; want that the mapping is refused", ours)
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
