package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// setUp builds zf and gets the peers and the files to measure with.
func (b *bench) setUp() {
	cache := get(os.UserCacheDir())
	b.cache = filepath.Join(cache, "zeroframe", "bench-symbol")
	check(os.MkdirAll(b.cache, 0o777))
	b.zf = filepath.Join(b.dir, "zf")
	run(".", "env", "CGO_ENABLED=0", "go", "build", "-o", b.zf, "./tools/zf") // as the Makefile builds it
	b.peers()
	b.getKernel()
}

// getNoAranges makes a vmlinux without .debug_aranges.
func (b *bench) getNoAranges() {
	b.noAranges = filepath.Join(b.dir, "noaranges")
	progress("a vmlinux without .debug_aranges: objcopy")
	run(".", "objcopy", "-R", ".debug_aranges", b.vmlinux, b.noAranges)
}

// peers finds the symbolizers, after it has installed what is missing.
func (b *bench) peers() {
	var missing []string
	for _, p := range [][2]string{{"objcopy", "binutils"}, {"eu-addr2line", "elfutils"}} {
		if _, err := exec.LookPath(p[0]); err != nil {
			missing = append(missing, p[1])
		}
	}
	if b.llvm = newest("llvm-addr2line"); b.llvm == "" {
		run(".", "apt-get", "update")
		names := search(`^llvm-[0-9]+$`)
		missing = append(missing, names[len(names)-1])
	}
	if len(missing) > 0 {
		progress("installing %s", strings.Join(missing, ", "))
		run(".", "apt-get", append([]string{"install", "-y", "--no-install-recommends"}, missing...)...)
		b.llvm = newest("llvm-addr2line")
	}
	if b.llvmSymbolizer = newest("llvm-symbolizer"); b.llvm == "" || b.llvmSymbolizer == "" {
		fatal("no llvm-addr2line and llvm-symbolizer in PATH: install LLVM 14 or newer")
	}
}

// newest returns the newest program called name, name-14, name-19 and so on, or "".
func newest(name string) string {
	best, found := 0, ""
	if path, err := exec.LookPath(name); err == nil {
		found = path
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		paths, _ := filepath.Glob(filepath.Join(dir, name+"-[0-9]*"))
		for _, path := range paths {
			if n, err := strconv.Atoi(path[strings.LastIndexByte(path, '-')+1:]); err == nil && n > best {
				best, found = n, path
			}
		}
	}
	return found
}

// search returns the packages whose names match, the newest last.
func search(pattern string) []string {
	out, err := exec.Command("apt-cache", "search", "--names-only", pattern).Output()
	if err != nil {
		fatal("apt-cache: %w", err)
	}
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if name, _, _ := strings.Cut(line, " "); name != "" {
			names = append(names, name)
		}
	}
	number := regexp.MustCompile(`[0-9]+`)
	slices.SortFunc(names, func(a, b string) int {
		return slices.CompareFunc(number.FindAllString(a, -1), number.FindAllString(b, -1), func(x, y string) int {
			m, _ := strconv.Atoi(x)
			n, _ := strconv.Atoi(y)
			return m - n
		})
	})
	if len(names) == 0 {
		fatal("no package %s: `apt-get update` may help", pattern)
	}
	return names
}

// getKernel finds or downloads the debug file of a Linux kernel.
func (b *bench) getKernel() {
	if b.vmlinux = os.Getenv("ZF_VMLINUX"); b.vmlinux != "" {
		return
	}
	have := get(filepath.Glob(filepath.Join(b.cache, "vmlinux-*")))
	if len(have) == 0 { // `make test-symbol` keeps one too
		have = get(filepath.Glob(filepath.Join(filepath.Dir(b.cache), "debian", "linux", "vmlinux-*")))
	}
	if len(have) > 0 {
		b.vmlinux = have[0]
		return
	}
	run(".", "apt-get", "update")
	names := search(`^linux-image-6\.[0-9]+\.[0-9+a-z-]*-amd64-dbg$`)
	names = slices.DeleteFunc(names, func(s string) bool { return strings.Contains(s, "cloud") || strings.Contains(s, "-rt-") })
	// The oldest series has one name in every Debian that has it, so that figures of
	// different days are of the same kernel.
	name := names[0]
	for _, n := range names {
		if strings.HasPrefix(n, "linux-image-6.1.") {
			name = n
		}
	}
	progress("downloading %s, near a gigabyte, to keep its vmlinux in %s", name, b.cache)
	run(b.dir, "apt-get", "-o", "APT::Sandbox::User=root", "download", name)
	debs, _ := filepath.Glob(filepath.Join(b.dir, "*.deb"))
	if len(debs) != 1 {
		fatal("apt-get download left %d packages in %s; want one", len(debs), b.dir)
	}
	run(b.dir, "sh", "-c", `dpkg-deb --fsys-tarfile "$1" | tar -x --wildcards './usr/lib/debug/boot/vmlinux-*'`, "sh", debs[0])
	got, _ := filepath.Glob(filepath.Join(b.dir, "usr/lib/debug/boot/vmlinux-*"))
	if len(got) != 1 {
		fatal("%s has no vmlinux", name)
	}
	b.vmlinux = filepath.Join(b.cache, filepath.Base(got[0]))
	run(".", "mv", got[0], b.vmlinux)
}

// run runs a command; what it prints goes to standard error.
func run(dir, name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fatal("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
}
