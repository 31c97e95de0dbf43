package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// setUp builds zf and gets the peers and the kernel to measure with.
func (b *bench) setUp() {
	b.cache = filepath.Join(get(os.UserCacheDir()), "zeroframe", "bench-symbol")
	check(os.MkdirAll(b.cache, 0o777))
	b.zf = filepath.Join(b.dir, "zf")
	run(".", "env", "CGO_ENABLED=0", "go", "build", "-o", b.zf, "./tools/zf") // as the Makefile builds it
	missing := without("objcopy", "binutils", "eu-addr2line", "elfutils")
	if newest("llvm-addr2line") == "" {
		run(".", "apt-get", "update")
		names := search(`^llvm-[0-9]+$`)
		missing = append(missing, names[len(names)-1])
	}
	install(missing)
	b.llvm, b.llvmSymbolizer = newest("llvm-addr2line"), newest("llvm-symbolizer")
	if b.llvm == "" || b.llvmSymbolizer == "" {
		fatal("no llvm-addr2line and llvm-symbolizer in PATH: install LLVM 14 or newer")
	}
	b.getKernel()
}

// without returns the packages of those programs that are not here: program, package, and so on.
func without(programs ...string) (missing []string) {
	for i := 0; i < len(programs); i += 2 {
		if _, err := exec.LookPath(programs[i]); err != nil {
			missing = append(missing, programs[i+1])
		}
	}
	return missing
}

func install(packages []string) {
	if len(packages) > 0 {
		progress("installing %s", strings.Join(packages, ", "))
		run(".", "apt-get", append([]string{"install", "-y", "--no-install-recommends"}, packages...)...)
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

var number = regexp.MustCompile(`[0-9]+`)

// search returns the packages whose names match, the newest last.
func search(pattern string) (names []string) {
	for line := range strings.Lines(string(get(exec.Command("apt-cache", "search", "--names-only", pattern).Output()))) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	if len(names) == 0 {
		fatal("no package %s: `apt-get update` may help", pattern)
	}
	slices.SortFunc(names, func(a, b string) int {
		return slices.CompareFunc(number.FindAllString(a, -1), number.FindAllString(b, -1), func(x, y string) int {
			m, _ := strconv.Atoi(x)
			n, _ := strconv.Atoi(y)
			return m - n
		})
	})
	return names
}

// cached returns the path of a file in the cache. If it is not there, make makes it in a folder
// and returns its path.
func (b *bench) cached(name, what string, make func(dir string) string) string {
	path := filepath.Join(b.cache, name)
	if _, err := os.Stat(path); err != nil {
		progress("%s, to keep in %s", what, b.cache)
		dir := filepath.Join(b.dir, name+".d")
		check(os.MkdirAll(dir, 0o777))
		run(".", "mv", make(dir), path)
	}
	return path
}

// unpack downloads a package to a folder and runs a script there.
func unpack(dir, name, script string) {
	run(dir, "apt-get", "-o", "APT::Sandbox::User=root", "download", name)
	run(dir, "sh", "-c", script)
}

// getKernel finds or downloads the debug file of a Linux kernel.
func (b *bench) getKernel() {
	if b.vmlinux = os.Getenv("ZF_VMLINUX"); b.vmlinux != "" {
		return
	}
	have := get(filepath.Glob(filepath.Join(b.cache, "vmlinux-*")))
	// `make test-symbol` keeps one too.
	have = append(have, get(filepath.Glob(filepath.Join(filepath.Dir(b.cache), "debian", "linux", "vmlinux-*")))...)
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
	kernel := "vmlinux-" + strings.TrimSuffix(strings.TrimPrefix(name, "linux-image-"), "-dbg")
	b.vmlinux = b.cached(kernel, "downloading "+name+", near a gigabyte", func(dir string) string {
		unpack(dir, name, `dpkg-deb --fsys-tarfile *.deb | tar -xO --wildcards './usr/lib/debug/boot/vmlinux-*' >vmlinux`)
		return filepath.Join(dir, "vmlinux")
	})
}

// getDecoder finds or downloads decode_stacktrace.sh, which comes with the kernel's source.
func (b *bench) getDecoder() {
	const name = "decode_stacktrace.sh"
	b.decoder = b.cached(name, "downloading the kernel's source, 140 MB", func(dir string) string {
		run(".", "apt-get", "update")
		source := search(`^linux-source-6\.[0-9]+$`)[0]
		unpack(dir, source, `dpkg-deb --fsys-tarfile *.deb | tar -xO --wildcards './usr/src/*.tar.xz' |
			tar -xJO --occurrence=1 "`+source+"/scripts/"+name+`" >`+name)
		return filepath.Join(dir, name)
	})
}

// getNoAranges makes a vmlinux without .debug_aranges.
func (b *bench) getNoAranges() {
	b.noAranges = filepath.Join(b.dir, "noaranges")
	progress("a vmlinux without .debug_aranges: objcopy")
	run(".", "objcopy", "-R", ".debug_aranges", b.vmlinux, b.noAranges)
}

//go:embed gimli.rs
var gimliMain string

// gimli's manifest, and where its crates come from: Debian's packages.
const (
	gimliManifest = `[package]
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
	gimliConfig = `[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"
`
)

// getGimli finds or builds gimli's addr2line.
func (b *bench) getGimli() {
	b.gimli = b.cached("gimli-addr2line", "building gimli's addr2line", func(dir string) string {
		missing := without("cargo", "cargo", "rustc", "rustc")
		for crate, pkg := range map[string]string{"addr2line-0*": "librust-addr2line+default-dev", "memmap2-0*": "librust-memmap2-dev"} {
			if found, _ := filepath.Glob(filepath.Join("/usr/share/cargo/registry", crate)); len(found) == 0 {
				missing = append(missing, pkg)
			}
		}
		install(missing)
		writeFile(dir, "Cargo.toml", gimliManifest)
		writeFile(dir, "src/main.rs", gimliMain)
		writeFile(dir, ".cargo/config.toml", gimliConfig)
		run(dir, "cargo", "build", "--release", "--offline")
		return filepath.Join(dir, "target", "release", "gimli-peer")
	})
}

// getCxx finds or makes the C++ program.
func (b *bench) getCxx() {
	b.cxx = b.cached(fmt.Sprintf("cxx-%d", cxxVersion), "making a C++ program of 2 GiB", func(dir string) string {
		file := get(os.Create(filepath.Join(dir, "cxx")))
		writeCxx(file)
		check(file.Close())
		return file.Name()
	})
}

// The packages of a big Go program, which call and inline one another, and the groups of
// functions in each: 100 MB of ELF file. The version is part of the file's name in the cache.
const (
	programVersion  = 1
	programPackages = 160
	programGroups   = 450
)

// programMain answers each hexadecimal address on its standard input with function,
// file and line as package runtime has them. An address is asked for as the return
// address after it, which is how the runtime takes them.
const programMain = `package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
%s)

func main() {
	if len(os.Args) > 1 {
		n, _ := strconv.Atoi(os.Args[1])
%s		return
	}
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		pc, err := strconv.ParseUint(in.Text(), 0, 64)
		if err != nil {
			panic(err)
		}
		next := uintptr(pc) + 1
		frame, _ := runtime.CallersFrames([]uintptr{next}).Next()
		if frame.Entry == next {
			// No call returns to a function's entry: there it is taken as it is.
			fmt.Fprintln(out, "-")
			continue
		}
		fmt.Fprintf(out, "%%s\t%%s:%%d\n", frame.Function, frame.File, frame.Line)
	}
}
`

// programHead is the beginning of a package.
const programHead = `
import (
		"cmp"
		"fmt"
		"strconv"
)

func largest[T cmp.Ordered](list []T) T {
	m := list[0]
	for _, x := range list {
		m = max(m, x)
	}
	return m
}
`

// programGroup is a type with a method, and functions that call and inline it. %d is
// the number of the group, then of the package.
const programGroup = `
type T%[1]d struct{ a, b int }

func (t *T%[1]d) add(n int) int {
	t.a += n
	return t.a - t.b
}

func (t T%[1]d) String() string { return fmt.Sprint("T%[1]d", t.a, t.b, %[2]d) }

func twice%[1]d(n int) int {
	var t T%[1]d
	return t.add(n) + t.add(n+%[2]d)
}

func F%[1]d(n int) int {
	t := T%[1]d{n, %[1]d}
	list := []int{n, n * n, twice%[1]d(n)}
	for i := range list {
		if list[i] > n {
			list = append(list, t.add(twice%[1]d(i)))
		}
	}
	if n < 0 {
		panic(t.String() + strconv.Itoa(%[2]d))
	}
	return largest(list) + func() int { return t.add(len(list)) }()
}
`

// getProgram finds or builds the Go program. Its own runtime says what is true of each of its
// addresses.
func (b *bench) getProgram() {
	version := strings.TrimSpace(string(get(exec.Command("go", "env", "GOVERSION").Output())))
	b.goELF = b.cached(fmt.Sprintf("program-%d-%s", programVersion, version), "building a Go program of 100 MB", func(dir string) string {
		var imports, calls strings.Builder
		for p := range programPackages {
			name := fmt.Sprintf("p%03d", p)
			fmt.Fprintf(&imports, "\t\"program/%s\"\n", name)
			fmt.Fprintf(&calls, "\t\tfmt.Println(%s.All(n))\n", name)
			var text bytes.Buffer
			fmt.Fprintf(&text, "package %s\n%s", name, programHead)
			for g := range programGroups {
				fmt.Fprintf(&text, programGroup, g, p)
			}
			text.WriteString("\nfunc All(n int) int {\n")
			for g := range programGroups {
				fmt.Fprintf(&text, "\tn += F%d(n)\n", g)
			}
			text.WriteString("\treturn n\n}\n")
			writeFile(dir, name+"/"+name+".go", text.String())
		}
		writeFile(dir, "main.go", fmt.Sprintf(programMain, imports.String(), calls.String()))
		writeFile(dir, "go.mod", "module program\n\ngo 1.24\n")
		run(dir, "go", "build", "-o", "program.elf", ".")
		return filepath.Join(dir, "program.elf")
	})
}

func writeFile(dir, name, text string) {
	path := filepath.Join(dir, name)
	check(os.MkdirAll(filepath.Dir(path), 0o777))
	check(os.WriteFile(path, []byte(text), 0o666))
}

// run runs a command; what it prints goes to standard error.
func run(dir, name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fatal("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
}
