package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// index measures indexes against llvm-gsymutil's, with a cache folder of its own.
func (b *bench) index() error {
	old, had := os.LookupEnv("XDG_CACHE_HOME")
	if err := os.Setenv("XDG_CACHE_HOME", filepath.Join(b.dir, "cache")); err != nil {
		return err
	}
	defer func() {
		if os.Unsetenv("XDG_CACHE_HOME"); had {
			os.Setenv("XDG_CACHE_HOME", old)
		}
	}()
	gsymutil := newest("llvm-gsymutil")
	if gsymutil == "" {
		return fmt.Errorf("no llvm-gsymutil in PATH: install the package that %s is of", b.llvm)
	}
	gsym := filepath.Join(b.dir, "gsym")
	build := []string{b.zf, "index", "-rebuild", b.vmlinux}
	if err := b.rowOf("vmlinux.index.build", os.DevNull, build, []string{gsymutil, "--convert=" + b.vmlinux, "--out-file=" + gsym}, 5, 1, 0.5); err != nil {
		return err
	}
	if err := b.sameIndex(build); err != nil {
		return err
	}
	addrs, err := textAddresses(b.vmlinux, 100000)
	if err != nil {
		return err
	}
	if err := b.equalIndex(addrs); err != nil {
		return err
	}
	zf := []string{b.zf, "addr", "-afi", "-e", b.vmlinux}
	for _, row := range []struct {
		name    string
		n, runs int
		goal    float64
	}{
		{"vmlinux.index.addr1", 1, 25, 0.35}, {"vmlinux.index.addr24", 24, 25, 0.35},
		{"vmlinux.index.addr1000", 1000, 15, 0.4}, {"vmlinux.index.addr100000", len(addrs), 9, 0.4},
	} {
		in, err := b.write(row.name, addrs[:row.n], "")
		if err != nil {
			return err
		}
		theirs, err := b.write(row.name+".gsym", addrs[:row.n], " "+gsym)
		if err != nil {
			return err
		}
		peer := []string{gsymutil, "--addresses-from-stdin"}
		if row.n == 1 {
			peer = []string{gsymutil, fmt.Sprintf("--address=%#x", addrs[0]), gsym}
		}
		if err := b.rowOf2(row.name, zf, peer, in, theirs, row.runs, row.goal, 0); err != nil {
			return err
		}
	}
	if err := b.oopsRow("linux.index.oops24", "-index=auto"); err != nil {
		return err
	}
	if err := b.liveRow("live.index", "-index=auto"); err != nil {
		return err
	}
	return b.folded(addrs[:1])
}

// sameIndex makes an index anew, also with one processor, and compares.
func (b *bench) sameIndex(build []string) error {
	var first []byte
	same := 1
	for _, processors := range []string{"", "1", "3"} {
		cmd := exec.Command(build[0], build[1:]...)
		if cmd.Env = os.Environ(); processors != "" {
			cmd.Env = append(cmd.Env, "GOMAXPROCS="+processors)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("zf index: %w\n%s", err, out)
		}
		files, _ := filepath.Glob(filepath.Join(b.dir, "cache", "zeroframe", "index", "*"))
		if len(files) != 1 {
			return fmt.Errorf("%d files in the folder of indexes; want one", len(files))
		}
		index, err := os.ReadFile(files[0])
		if err != nil {
			return err
		}
		if first == nil {
			first = index
			b.figure("vmlinux.index.mb", fmt.Sprintf("%.1f", float64(len(index))/1e6))
		} else if !bytes.Equal(index, first) {
			same = 0
		}
	}
	b.compare("vmlinux.index.same", float64(same), "≥", 1, same == 1)
	return nil
}

// equalIndex compares the answers with the index to those without.
func (b *bench) equalIndex(addrs []uint64) error {
	in, err := b.write("equal.index", addrs, "")
	if err != nil {
		return err
	}
	var answers [2][]string
	for i, args := range [][]string{b.addr(b.vmlinux), {b.zf, "addr", "-afi", "-e", b.vmlinux}} {
		cmd := exec.Command(args[0], args[1:]...)
		if cmd.Stdin, err = os.Open(in); err != nil {
			return err
		}
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		answers[i] = split(string(out))
	}
	same := 0
	for i := range answers[0] {
		if i < len(answers[1]) && answers[0][i] == answers[1][i] {
			same++
		}
	}
	share := 100 * float64(same) / float64(len(addrs))
	b.compare("vmlinux.index.equal.percent", share, "≥", 100, share == 100)
	return nil
}

// folded measures the second run on a file with compressed sections.
func (b *bench) folded(addrs []uint64) error {
	folded := filepath.Join(b.dir, "folded")
	progress("a vmlinux with compressed sections: objcopy")
	if err := run(".", "objcopy", "--compress-debug-sections=zlib", b.vmlinux, folded); err != nil {
		return err
	}
	defer os.Remove(folded)
	if err := run(".", b.zf, "index", folded); err != nil {
		return err
	}
	return b.row("vmlinux.zlib.again.addr1", addrs, []string{b.zf, "addr", "-afi", "-e", folded}, []string{b.llvm, "-afi", "-e", folded}, 5, 0.02, 0)
}
