//go:build symbolgate

package symbol

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// linuxModules are the kernel modules that are tried: small and large, C and assembly.
var linuxModules = []string{"e1000e", "ext4", "aesni-intel", "nf_tables"}

// linuxFiles returns a kernel's vmlinux and some of its modules, as Debian's package
// has them. It is downloaded once; of its gigabyte only these files are kept. They may
// be given instead: the package is one in $ZF_DEB.
func linuxFiles(t *testing.T) (vmlinux string, modules []string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "zeroframe", "debian", "linux")
	find := func() bool {
		kernels, _ := filepath.Glob(filepath.Join(dir, "vmlinux-*"))
		modules, _ = filepath.Glob(filepath.Join(dir, "*.ko"))
		if len(kernels) == 1 && len(modules) == len(linuxModules) {
			vmlinux = kernels[0]
		}
		return vmlinux != ""
	}
	if find() {
		return vmlinux, modules
	}
	name := linuxPackage(t)
	deb := debPackage(t, name)
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	args := []string{"-c", `dpkg-deb --fsys-tarfile "$1" | (shift; tar -x --wildcards "$@")`, "sh", deb, "./usr/lib/debug/boot/vmlinux-*"}
	for _, m := range linuxModules {
		args = append(args, "*/"+m+".ko")
	}
	cmd := exec.Command("sh", args...)
	cmd.Dir = tmp
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("unpacking %s: %v\n%s", deb, err, msg)
	}
	err = filepath.WalkDir(tmp, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		return os.Rename(path, filepath.Join(dir, e.Name()))
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(deb, cache) {
		os.Remove(deb)
		os.Remove(deb + sumSuffix)
	}
	if !find() {
		t.Fatalf("%s: not every file that is wanted is in it: %q", deb, modules)
	}
	return vmlinux, modules
}

// linuxPackage returns the name of the newest package of a 6.1 kernel's debug files,
// or of the newest there is.
func linuxPackage(t *testing.T) string {
	t.Helper()
	if files, _ := filepath.Glob(filepath.Join(os.Getenv("ZF_DEB"), "linux-image-*-amd64-dbg_*.deb")); len(files) > 0 {
		name, _, _ := strings.Cut(filepath.Base(files[0]), "_")
		return name
	}
	out, err := exec.Command("apt-cache", "search", "--names-only", `^linux-image-[0-9.-]+-amd64-dbg$`).Output()
	if err != nil {
		t.Fatalf("apt-cache: %v", err)
	}
	names := regexp.MustCompile(`(?m)^\S+`).FindAllString(string(out), -1)
	if len(names) == 0 {
		t.Fatal("no package linux-image-*-amd64-dbg: `apt-get update` may help")
	}
	number := regexp.MustCompile(`[0-9]+`)
	slices.SortFunc(names, func(a, b string) int {
		return slices.CompareFunc(number.FindAllString(a, -1), number.FindAllString(b, -1), func(x, y string) int {
			m, _ := strconv.Atoi(x)
			n, _ := strconv.Atoi(y)
			return m - n
		})
	})
	best := names[len(names)-1]
	for _, name := range names {
		if strings.HasPrefix(name, "linux-image-6.1.") {
			best = name
		}
	}
	return best
}

// TestGateVmlinux: 100,000 addresses of a kernel, all frames; the suffixes of pieces of functions;
// and functions of tracepoints, whose lines are in headers.
func TestGateVmlinux(t *testing.T) {
	path, _ := linuxFiles(t)
	if given := os.Getenv("ZF_VMLINUX"); given != "" {
		path = given
	}
	f := openTest(t, path)
	var total uint64
	for _, s := range f.TextSpans() {
		total += s.High - s.Low
	}
	random := rand.New(rand.NewPCG(1, 5))
	addrs := make([]uint64, 100_000)
	for i := range addrs {
		at := random.Uint64N(total)
		for _, s := range f.TextSpans() {
			if n := s.High - s.Low; at < n {
				addrs[i] = s.Low + at
				break
			} else {
				at -= n
			}
		}
	}
	want := askLLVM(t, path, addrs)
	compare(addrs, f.LookupAll(addrs, false), want, nil).gate(t, "vmlinux", 99.95)
	var cold, traced []uint64
	names := map[uint64]string{}
	for fn := range f.Functions() {
		switch {
		case strings.Contains(fn.Name, ".cold"), strings.Contains(fn.Name, ".constprop."), strings.Contains(fn.Name, ".isra."):
			cold = append(cold, fn.Start)
		case strings.HasPrefix(fn.Name, "__traceiter_"):
			traced = append(traced, fn.Start)
		default:
			continue
		}
		names[fn.Start] = fn.Name
	}
	if len(cold) < 1000 || len(traced) < 100 {
		t.Errorf("%d functions with suffixes, %d of tracepoints: want more", len(cold), len(traced))
	}
	for i, frames := range f.LookupAll(cold, false) {
		if len(frames) == 0 || frames[len(frames)-1].Function != names[cold[i]] {
			t.Fatalf("Lookup(%#x) = %+v; want %s as the last", cold[i], frames, names[cold[i]])
		}
	}
	want = askLLVM(t, path, traced)
	for i, frames := range f.LookupAll(traced, false) {
		if !equalFrames(plain(frames), want[i]) || !strings.HasSuffix(frames[0].File, ".h") {
			t.Errorf("Lookup(%#x) = %+v; want %+v in a header", traced[i], frames, want[i])
		}
	}
	t.Logf("%d functions with suffixes, %d of tracepoints", len(cold), len(traced))
}

// TestGateModules: kernel modules, which no linker has relocated, are answered as what
// ld makes of them: each section with its own functions.
func TestGateModules(t *testing.T) {
	_, modules := linuxFiles(t)
	for _, path := range modules {
		t.Run(filepath.Base(path), func(t *testing.T) {
			linked := filepath.Join(t.TempDir(), "linked")
			command(t, ".", "ld", "-o", linked, "-e", "0", "--unresolved-symbols=ignore-all", "--unique=*text*", path)
			f, l := openTest(t, path), openTest(t, linked)
			var from, to []uint64
			for i := range f.Sections {
				s := &f.Sections[i]
				if !slices.ContainsFunc(f.TextSpans(), func(x elf.Span) bool { return x.Low == s.Addr && s.Holds(s.Addr) }) {
					continue
				}
				in := l.FirstSection(s.Name)
				if in == nil || in.Len != s.Len {
					t.Fatalf("section %s is not in the linked file", s.Name)
				}
				for off := uint64(0); off < s.Len; off++ {
					from, to = append(from, s.Addr+off), append(to, in.Addr+off)
				}
			}
			got, want := f.LookupAll(from, false), askLLVM(t, linked, to)
			compare(from, got, want, nil).gate(t, "all frames", 99.95)
			outer := func(g, w []lookup.Call) bool {
				return len(g) > 0 && len(w) > 0 && g[len(g)-1] == w[len(w)-1] && g[0].File == w[0].File && g[0].Line == w[0].Line
			}
			compare(from, got, want, outer).gate(t, "outer functions and lines", 100)
		})
	}
}
