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

// folded measures the first run on a file with compressed sections, the second one at once after
// it, and one with the index.
func (b *bench) folded(addrs []uint64) {
	folded := filepath.Join(b.dir, "folded")
	progress("a vmlinux with compressed sections: objcopy")
	run(".", "objcopy", "--compress-debug-sections=zlib", b.vmlinux, folded)
	defer os.Remove(folded)
	b.row("vmlinux.zlib.addr1", addrs, b.addr(folded), []string{b.llvm, "-afi", "-e", folded}, 5, 0.8, 0)
	b.second(folded, addrs)
	run(".", b.zf, "index", folded)
	b.row("vmlinux.zlib.again.addr1", addrs, []string{b.zf, "addr", "-afi", "-e", folded}, []string{b.llvm, "-afi", "-e", folded}, 5, 0.02, 0)
}

// second measures the run that begins when the first one ends, against LLVM's, which remembers
// nothing. Each time both have a cache folder of their own, to which the index is under way
// meanwhile.
func (b *bench) second(file string, addrs []uint64) {
	const runs = 5
	progress("vmlinux.zlib.second.addr1: zf at once after zf, against %s", filepath.Base(b.llvm))
	cache := filepath.Join(b.dir, "second")
	in := b.write("second", addrs, "")
	zf, peer := []string{b.zf, "addr", "-afi", "-e", file}, []string{b.llvm, "-afi", "-e", file}
	old := os.Getenv("XDG_CACHE_HOME")
	defer os.Setenv("XDG_CACHE_HOME", old)
	var ours, theirs []usage
	for i := range runs {
		theirs = append(theirs, measure(peer, in))
		check(os.Setenv("XDG_CACHE_HOME", fmt.Sprint(cache, i)))
		measure(zf, in)
		ours = append(ours, measure(zf, in))
	}
	us, them := median(ours), median(theirs)
	b.figure("vmlinux.zlib.second.addr1.ms", fmt.Sprintf("%.1f", us.wall*1000))
	b.atMost("vmlinux.zlib.second.addr1.ratio", us.wall/them.wall, 0.1)
	b.atMost("vmlinux.zlib.second.addr1.cpu.ratio", us.cpu/them.cpu, 0.1)
}
