package main

// An oops of Linux as text, which zf and the kernel's own script put lines into.

import (
	"debug/elf"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// getDecoder finds or downloads decode_stacktrace.sh, which comes with the kernel's
// source.
func (b *bench) getDecoder() {
	b.decoder = filepath.Join(b.cache, "decode_stacktrace.sh")
	if _, err := os.Stat(b.decoder); err == nil {
		return
	}
	run(".", "apt-get", "update")
	names := search(`^linux-source-6\.[0-9]+$`)
	progress("downloading %s, 140 MB, to keep its decode_stacktrace.sh in %s", names[0], b.cache)
	dir := filepath.Join(b.dir, "source")
	check(os.Mkdir(dir, 0o777))
	run(dir, "apt-get", "-o", "APT::Sandbox::User=root", "download", names[0])
	const unpack = `dpkg-deb --fsys-tarfile *.deb | tar -xO --wildcards './usr/src/*.tar.xz' |
		tar -xJO --occurrence=1 "$1/scripts/decode_stacktrace.sh" >decode_stacktrace.sh`
	run(dir, "sh", "-c", unpack, "sh", names[0])
	run(".", "mv", filepath.Join(dir, "decode_stacktrace.sh"), b.decoder)
	check(os.Chmod(b.decoder, 0o777))
}

// oops measures text in, text out, without an index.
func (b *bench) oops() { b.oopsRow("linux.oops24", "-index=off") }

func (b *bench) oopsRow(name, index string) {
	const frames, runs = 24, 3
	text := makeOops(b.vmlinux, frames, frames)
	in := filepath.Join(b.dir, "oops")
	check(os.WriteFile(in, []byte(text), 0o666))
	// Each must have found them all, or there would be nothing to compare.
	zf, peer := []string{b.zf, "symbolize", index, "-e", b.vmlinux}, []string{"bash", b.decoder, b.vmlinux}
	for _, args := range [][]string{zf, peer} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			fatal("%v: %w", args, err)
		}
		if n := strings.Count(string(out), ".c:") + strings.Count(string(out), ".h:") + strings.Count(string(out), ".S:"); n < frames {
			fatal("%v: %d lines of source for %d frames:\n%s", args, n, frames, out)
		}
	}
	b.rowOf(name, in, zf, peer, runs, 1.0/200, 0)
}

// oopsLog measures a log of some 50 MB of oopses: how many frames there are in a second. No peer
// takes as much in a reasonable time.
func (b *bench) oopsLog() {
	const frames, runs = 540_000, 3
	in := filepath.Join(b.dir, "oopslog")
	check(os.WriteFile(in, []byte(makeOops(b.vmlinux, frames, 24)), 0o666))
	progress("a log of %d frames: zf", frames)
	var all []usage
	for range runs {
		all = append(all, measure([]string{b.zf, "symbolize", "-index=off", "-e", b.vmlinux, in}, os.DevNull))
	}
	m := median(all)
	rate := frames / m.wall
	b.compare("linux.oopslog.frames_per_s", rate, "≥", 200_000, rate >= 200_000)
	b.figure("linux.oopslog.cpu_s", fmt.Sprintf("%.2f", m.cpu))
	b.figure("linux.oopslog.mb", fmt.Sprintf("%.0f", m.memory/(1<<20)))
}

// makeOops returns oopses with n places in the kernel's functions, each with as many as it says.
func makeOops(vmlinux string, n, each int) string {
	f := get(elf.Open(vmlinux))
	defer f.Close()
	all := get(f.Symbols())
	text := f.Section(".text")
	if text == nil {
		fatal("%s has no .text", vmlinux)
	}
	all = slices.DeleteFunc(all, func(s elf.Symbol) bool {
		typ := elf.ST_TYPE(s.Info)
		return s.Value < text.Addr || s.Value-text.Addr >= text.Size || s.Name == "" || typ != elf.STT_FUNC && typ != elf.STT_NOTYPE
	})
	slices.SortStableFunc(all, func(a, c elf.Symbol) int { return int(int64(a.Value - c.Value)) })
	r := rand.New(rand.NewSource(1))
	var b strings.Builder
	const end = "[    9.000002]  </TASK>\n"
	for at := 0; at < n; {
		i := r.Intn(len(all) - 2)
		next := i + 1
		for next < len(all)-1 && all[next].Value == all[i].Value {
			next++
		}
		size := all[next].Value - all[i].Value
		if size < 64 || elf.ST_TYPE(all[i].Info) != elf.STT_FUNC || strings.Contains(all[i].Name, ".") {
			continue
		}
		before := " "
		if at%each == 0 {
			if at > 0 {
				b.WriteString(end)
			}
			b.WriteString("[    9.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n")
			before = "RIP: 0010:"
		}
		fmt.Fprintf(&b, "[    9.000001] %s%s+%#x/%#x\n", before, all[i].Name, 8+uint64(r.Int63n(int64(size-24))), size)
		if at++; at%each == 1 {
			b.WriteString("[    9.000001] Call Trace:\n[    9.000001]  <TASK>\n")
		}
	}
	b.WriteString(end)
	return b.String()
}
