package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// index measures indexes against llvm-gsymutil's, with a cache folder of its own.
func (b *bench) index() {
	old, had := os.LookupEnv("XDG_CACHE_HOME")
	check(os.Setenv("XDG_CACHE_HOME", filepath.Join(b.dir, "cache")))
	defer func() {
		if os.Unsetenv("XDG_CACHE_HOME"); had {
			os.Setenv("XDG_CACHE_HOME", old)
		}
	}()
	gsymutil := newest("llvm-gsymutil")
	if gsymutil == "" {
		fatal("no llvm-gsymutil in PATH: install the package that %s is of", b.llvm)
	}
	gsym := filepath.Join(b.dir, "gsym")
	build := []string{b.zf, "index", "-rebuild", b.vmlinux}
	b.rowOf("vmlinux.index.build", os.DevNull, build, []string{gsymutil, "--convert=" + b.vmlinux, "--out-file=" + gsym}, 5, 1, 0.5)
	b.sameIndex(build)
	addrs := textAddresses(b.vmlinux, 100000)
	zf := []string{b.zf, "addr", "-afi", "-e", b.vmlinux}
	share := b.share("equal.index", addrs, b.addr(b.vmlinux), zf)
	b.compare("vmlinux.index.equal.percent", share, "≥", 100, share == 100)
	for _, row := range []struct {
		name    string
		n, runs int
		goal    float64
	}{
		{"vmlinux.index.addr1", 1, 25, 0.35}, {"vmlinux.index.addr24", 24, 25, 0.35},
		{"vmlinux.index.addr1000", 1000, 15, 0.4}, {"vmlinux.index.addr100000", len(addrs), 9, 0.4},
	} {
		in := b.write(row.name, addrs[:row.n], "")
		theirs := b.write(row.name+".gsym", addrs[:row.n], " "+gsym)
		peer := []string{gsymutil, "--addresses-from-stdin"}
		if row.n == 1 {
			peer = []string{gsymutil, fmt.Sprintf("--address=%#x", addrs[0]), gsym}
		}
		b.rowOf2(row.name, zf, peer, in, theirs, row.runs, row.goal, 0)
	}
	b.oopsRow("linux.index.oops24", "-index=auto")
	b.liveRow("live.index", "-index=auto")
	b.folded(addrs[:1])
}

// sameIndex makes an index anew, also with one processor, and compares.
func (b *bench) sameIndex(build []string) {
	var first []byte
	same := 1
	for _, processors := range []string{"", "1", "3"} {
		cmd := exec.Command(build[0], build[1:]...)
		if cmd.Env = os.Environ(); processors != "" {
			cmd.Env = append(cmd.Env, "GOMAXPROCS="+processors)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			fatal("zf index: %w\n%s", err, out)
		}
		files, _ := filepath.Glob(filepath.Join(b.dir, "cache", "zeroframe", "index", "*"))
		if len(files) != 1 {
			fatal("%d files in the folder of indexes; want one", len(files))
		}
		index := get(os.ReadFile(files[0]))
		if first == nil {
			first = index
			b.figure("vmlinux.index.mb", fmt.Sprintf("%.1f", float64(len(index))/1e6))
		} else if !bytes.Equal(index, first) {
			same = 0
		}
	}
	b.compare("vmlinux.index.same", float64(same), "≥", 1, same == 1)
}

// folded measures the first and the second run on a file with compressed sections.
func (b *bench) folded(addrs []uint64) {
	folded := filepath.Join(b.dir, "folded")
	progress("a vmlinux with compressed sections: objcopy")
	run(".", "objcopy", "--compress-debug-sections=zlib", b.vmlinux, folded)
	defer os.Remove(folded)
	b.row("vmlinux.zlib.addr1", addrs, b.addr(folded), []string{b.llvm, "-afi", "-e", folded}, 5, 0.8, 0)
	run(".", b.zf, "index", folded)
	b.row("vmlinux.zlib.again.addr1", addrs, []string{b.zf, "addr", "-afi", "-e", folded}, []string{b.llvm, "-afi", "-e", folded}, 5, 0.02, 0)
}
