package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// brokenSource is a machine with 1 MiB of RAM that fails.
type brokenSource struct{ err error }

func (b brokenSource) CPUs() []memory.CPU     { return nil }
func (b brokenSource) Blocks() []memory.Block { return []memory.Block{{Start: 0, Size: 1 << 20}} }
func (b brokenSource) Copy(put func(uint64, []byte) error) error {
	if err := put(0, []byte("something")); err != nil {
		return err
	}
	return b.err
}

// TestNothingHalfWritten: a core that cannot be made leaves no file behind, and one that was there
// as it was.
func TestNothingHalfWritten(t *testing.T) {
	elf, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for want, failure := range map[string]error{
		"no space left on device":          &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC},
		"file too large":                   &os.PathError{Op: "truncate", Path: "x", Err: syscall.EFBIG},
		"it ends before the memory does":   memory.ErrCut,
		"no page tables lead to the image": nil,
	} {
		for _, name := range []string{"core"} {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			c := &fullCore{streams: streams{who: "zf core", stderr: &said}, path: path, elf: elf}
			if err := c.write(brokenSource{failure}); err == nil || !strings.Contains(err.Error(), want) || said.Len() > 0 {
				t.Errorf("%v: %v, %q; want %q", failure, err, said.String(), want)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
				t.Errorf("%v: %s has %q, %v", failure, name, b, err)
			}
			if all, _ := os.ReadDir(dir); len(all) != 1 {
				t.Errorf("%v: there is %v", failure, all)
			}
		}
	}
}

// TestFullCoreUsage: what cannot be meant.
func TestFullCoreUsage(t *testing.T) {
	for args, want := range map[string]string{
		"-e a.elf -qmp s -dump d": "want one of",
		"-e a.elf -qmp s log":     "not of log",
		"-e a.elf -gdb h:1 -n 2":  "-n is for a log",
		"-qmp s":                  "-e ELF is missing",
	} {
		if code, _, stderr := zf(nil, append([]string{"core"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("zf core %s: %d, %q; want %q", args, code, stderr, want)
		}
	}
}
