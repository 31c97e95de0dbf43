package main

// Large files and compressed ones, against all peers in the same run: each figure of zf's is
// compared with that of the peer that is best in it.

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed gimli.rs
var gimliMain []byte

const gimliManifest = `[package]
name = "gimli-peer"
version = "0.1.0"
edition = "2021"

[dependencies]
addr2line = "0.*"
gimli = "0.*"
memmap2 = "0.*"
object = "0.*"

[profile.release]
opt-level = 3
`

// gimliConfig takes the crates from Debian's packages.
const gimliConfig = `[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"
`

// getGimli builds gimli's addr2line with the crates of Debian, or finds it where it was built
// before.
func (b *bench) getGimli() {
	b.gimli = filepath.Join(b.cache, "gimli-addr2line")
	if _, err := os.Stat(b.gimli); err == nil {
		return
	}
	var missing []string
	for pattern, pkg := range map[string]string{"addr2line-0*": "librust-addr2line+default-dev", "memmap2-0*": "librust-memmap2-dev"} {
		if found, _ := filepath.Glob(filepath.Join("/usr/share/cargo/registry", pattern)); len(found) == 0 {
			missing = append(missing, pkg)
		}
	}
	for _, tool := range []string{"cargo", "rustc"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if len(missing) > 0 {
		progress("installing %s", strings.Join(missing, ", "))
		run(".", "apt-get", append([]string{"install", "-y", "--no-install-recommends"}, missing...)...)
	}
	progress("building gimli's addr2line, to keep in %s", b.cache)
	dir := filepath.Join(b.dir, "gimli")
	writeFile(filepath.Join(dir, "Cargo.toml"), []byte(gimliManifest))
	writeFile(filepath.Join(dir, "src", "main.rs"), gimliMain)
	writeFile(filepath.Join(dir, ".cargo", "config.toml"), []byte(gimliConfig))
	run(dir, "cargo", "build", "--release", "--offline")
	run(".", "mv", filepath.Join(dir, "target", "release", "gimli-peer"), b.gimli)
}

// A peer is a symbolizer that reads addresses from its input.
type peer struct {
	name string
	args []string
}

// peersOf returns the command of each peer for a file.
func (b *bench) peersOf(file string) []peer {
	return []peer{
		{"llvm", []string{b.llvm, "-afi", "-e", file}},
		{"elfutils", []string{"eu-addr2line", "-afi", "-e", file}},
		{"gimli", []string{b.gimli, file}},
	}
}

// big measures the kernel against all peers.
func (b *bench) big() {
	addrs := textAddresses(b.vmlinux, 540_000)
	b.race("big.vmlinux.addr1", b.vmlinux, addrs[:1], 9)
	b.race("big.vmlinux.addr1000", b.vmlinux, addrs[:1000], 3)
	b.race("big.vmlinux.addr540000", b.vmlinux, addrs, 1)
}

// foldedRace measures it compressed, without an index or an outline.
func (b *bench) foldedRace() {
	addrs := textAddresses(b.vmlinux, 1000)
	for _, kind := range []string{"zlib", "zstd"} {
		folded := filepath.Join(b.dir, "folded-"+kind)
		objcopy := newest("llvm-objcopy")
		if objcopy == "" {
			objcopy = "objcopy"
		}
		progress("a vmlinux compressed by %s: %s", kind, objcopy)
		run(".", objcopy, "--compress-debug-sections="+kind, b.vmlinux, folded)
		b.race("big."+kind+".addr1", folded, addrs[:1], 3)
		b.race("big."+kind+".addr1000", folded, addrs, 3)
		check(os.Remove(folded))
	}
}

// cxxProgram measures the C++ program.
func (b *bench) cxxProgram() {
	info := get(os.Stat(b.cxx))
	b.figure("big.cxx.size.mb", info.Size()/1e6)
	addrs := textAddresses(b.cxx, 100_000)
	share := b.share("big.cxx.equal", addrs[:1000], b.addr(b.cxx), []string{b.llvm, "-afi", "-e", b.cxx})
	b.compare("big.cxx.equal.percent", share, "≥", 99.95, share >= 99.95)
	b.race("big.cxx.addr1", b.cxx, []uint64{cxxText + 100*cxxFuncs*cxxSize + 20}, 5)
	b.race("big.cxx.huge.addr1", b.cxx, []uint64{cxxText + (cxxUnits/2*cxxFuncs+cxxHuge/2)*cxxSize + 20}, 3)
	b.race("big.cxx.addr1000", b.cxx, addrs[:1000], 1)
	b.race("big.cxx.addr100000", b.cxx, addrs, 1)
}

// race measures zf and all peers in turns, and compares zf with the best in each quantity. A peer
// that fails, knows no line, or takes twenty times the processor's time, and 10 s, is left out and named.
func (b *bench) race(name, file string, addrs []uint64, runs int) {
	in := b.write(name, addrs, "")
	racers := append([]peer{{"zf", b.addr(file)}}, b.peersOf(file)...)
	all := make([][]usage, len(racers))
	for i, p := range racers[1:] {
		if why := b.answers(p, in, len(addrs)); why != "" {
			progress("%s: without %s: %s", name, p.name, why)
			racers[i+1].args = nil
		}
	}
	for range runs {
		for i, p := range racers {
			if p.args != nil {
				progress("%s: %s", name, p.name)
				limit := 0
				if i > 0 {
					limit = 10 + int(20*all[0][0].cpu)
				}
				u, ok := measureWithin(p.args, in, limit)
				if !ok {
					progress("%s: without %s: it takes more than %d s of the processor's time", name, p.name, limit)
					racers[i].args = nil
					continue
				}
				all[i] = append(all[i], u)
			}
		}
	}
	best := usage{math.Inf(1), math.Inf(1), math.Inf(1)}
	us := median(all[0])
	for i, p := range racers {
		if p.args == nil {
			b.figure(name+"."+p.name, "-")
			continue
		}
		m := median(all[i])
		b.figure(name+"."+p.name, fmt.Sprintf("%.0f ms, %.0f ms of processor, %.0f MB", m.wall*1000, m.cpu*1000, m.memory/(1<<20)))
		if i > 0 {
			best = usage{min(best.wall, m.wall), min(best.cpu, m.cpu), min(best.memory, m.memory)}
		}
	}
	b.atMost(name+".ratio", us.wall/best.wall, 1)
	b.atMost(name+".cpu.ratio", us.cpu/best.cpu, 1)
	b.atMost(name+".memory.ratio", us.memory/best.memory, 0.5)
}

// answers reports why a peer is no use for a file, "" if it is: it is asked the first address.
func (b *bench) answers(p peer, in string, n int) string {
	text, err := os.ReadFile(in)
	check(err)
	first, _, _ := strings.Cut(string(text), "\n")
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Stdin = strings.NewReader(first + "\n")
	out, err := cmd.Output()
	switch {
	case err != nil:
		return err.Error()
	case !strings.Contains(string(out), ":") || strings.HasSuffix(strings.TrimSpace(string(out)), "??:0"):
		return "it knows no line"
	}
	return ""
}
