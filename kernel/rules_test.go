package kernel_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
)

// The rules of kernel context, checked on the output of the compiler and the linker: no write
// barrier, no escape to the heap, no package initialization, and no call into the runtime except to
// the entries that end in a trace.

const module = "github.com/zeroframe/zeroframe/"

// goroutinePackages run as goroutines of a program, or of a test: the rules do not apply to them.
var goroutinePackages = []string{"kernel/crashlab/golab", "kernel/net/inet", "kernel/net/netup", "kernel/observe/heapprofile", "kernel/percpu/percputest"}

// labPackage breaks some of the rules on purpose.
const labPackage = "kernel/crashlab"

// kernelPackages are the packages in the folders that run in early or kernel context, so that the
// rules cover a new package without naming it here.
var kernelPackages = listPackages("./arch/...", "./boot/...", "./kernel/...", "./tracer/...")

func listPackages(patterns ...string) (packages []string) {
	cmd := exec.Command("go", append([]string{"list"}, patterns...)...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		panic("go list: " + err.Error())
	}
	for _, p := range strings.Fields(string(out)) {
		p = strings.TrimPrefix(p, module)
		if p != labPackage && !slices.Contains(goroutinePackages, p) {
			packages = append(packages, p)
		}
	}
	return packages
}

// TestImports: the test binary of one of Go's packages has a variant of that package, but the
// kernel would need the other. So the kernel imports only packages of Go that have no test within
// them.
func TestImports(t *testing.T) {
	var paths []string
	for _, p := range append(kernelPackages, labPackage) {
		paths = append(paths, module+p)
	}
	cmd := exec.Command("go", append([]string{"list", "-f", `{{.ImportPath}} {{join .Imports " "}}`}, paths...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(paths) {
		t.Fatalf("go list says something of %d packages; want %d", len(lines), len(paths))
	}
	for _, l := range lines {
		pkg, imports, _ := strings.Cut(l, " ")
		for _, p := range strings.Fields(imports) {
			switch {
			case strings.HasPrefix(p, module):
			case p == "unsafe", p == "sync/atomic": // all their tests are outside
			default:
				t.Errorf("%s imports %s", pkg, p)
			}
		}
	}
}

func compile(t *testing.T, pkg, flag string) string {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", os.DevNull, "-gcflags="+module+pkg+"="+flag, module+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return string(out)
}

// findings returns the matching lines of the compiler's output, without those that this test allows
// for a reason.
func findings(out string, match *regexp.Regexp) (lines []string) {
	for _, l := range strings.Split(out, "\n") {
		if match.MatchString(l) {
			lines = append(lines, l)
		}
	}
	return lines
}

var (
	writeBarrier = regexp.MustCompile(`write barrier`)
	toHeap       = regexp.MustCompile(`escapes to heap|moved to heap`)
)

func TestNoWriteBarriers(t *testing.T) {
	for _, pkg := range append(kernelPackages, labPackage) {
		for _, l := range findings(compile(t, pkg, "-d=wb"), writeBarrier) {
			t.Error(l)
		}
	}
}

func TestNoEscapes(t *testing.T) {
	for _, pkg := range append(kernelPackages, labPackage) {
		for _, l := range findings(compile(t, pkg, "-m"), toHeap) {
			// The values of the crash lab's panics are in read-only data.
			if strings.Contains(l, `"the crash lab gave up" escapes`) || strings.Contains(l, `exitCode(-7) escapes`) {
				continue
			}
			t.Error(l)
		}
	}
}

// TestTheChecksCanFail compiles code that breaks each rule.
func TestTheChecksCanFail(t *testing.T) {
	dir := t.TempDir()
	src := `package p
var G *int
func Store(p *int) { G = p }
func Escape() *int { x := new(int); return x }
`
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flag  string
		match *regexp.Regexp
	}{{"-d=wb", writeBarrier}, {"-m", toHeap}} {
		cmd := exec.Command("go", "tool", "compile", "-p=p", "-o", os.DevNull, tt.flag, "p.go")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if len(findings(string(out), tt.match)) == 0 {
			t.Errorf("compile %s finds nothing in code that breaks the rule; it printed\n%s", tt.flag, out)
		}
	}
}

// image is the linked crash lab.
type image struct {
	file  *elf.File
	funcs []elf.Symbol // sorted by address
	text  []byte
	lo    uint64
}

func linkLab(t *testing.T) *image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "lab")
	cmd := exec.Command("go", "build", "-o", out, "-ldflags=-T 0x200000 -E "+module+"boot.entry", module+"kernel/crashlab")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	sect := f.Section(".text")
	im := &image{file: f, lo: sect.Addr}
	if im.text, err = sect.Data(); err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 {
			im.funcs = append(im.funcs, s)
		}
	}
	sort.Slice(im.funcs, func(i, j int) bool { return im.funcs[i].Value < im.funcs[j].Value })
	return im
}

// at returns the name of the function that holds addr.
func (im *image) at(addr uint64) string {
	i := sort.Search(len(im.funcs), func(i int) bool { return im.funcs[i].Value > addr }) - 1
	if i < 0 || addr >= im.funcs[i].Value+im.funcs[i].Size {
		return ""
	}
	return im.funcs[i].Name
}

// ours reports whether a function runs in early or kernel context.
func ours(name string) bool {
	if strings.HasPrefix(name, "main.") && name != "main.main" {
		return true
	}
	for _, p := range kernelPackages {
		if strings.HasPrefix(name, module+p+".") {
			return true
		}
	}
	return false
}

// allowed lists the functions of the runtime that kernel-context code may call: those that the
// compiler inserts for panics and stack checks, which fault on the fake g, and which the panic path
// knows (gopanic.go); and those with which the compiler of Go 1.25 clears and copies, which only
// load and store.
var allowed = regexp.MustCompile(`^runtime\.(gopanic|panic[A-Za-z0-9]*|morestack(_noctxt)?|duffzero|duffcopy)(\.abi0)?$`)

// TestCallGraph checks each direct call and jump in our functions.
func TestCallGraph(t *testing.T) {
	im := linkLab(t)
	checked, calls, forbidden, unknown := 0, 0, 0, 0
	for _, fn := range im.funcs {
		// The 32-bit entry is not 64-bit code, and continues to the runtime only under an operating
		// system.
		if !ours(fn.Name) || strings.HasPrefix(fn.Name, module+"boot.entry") {
			continue
		}
		checked++
		code := im.text[fn.Value-im.lo:][:fn.Size]
		for off := 0; off < len(code); {
			inst, err := x86asm.Decode(code[off:], 64)
			if err != nil {
				// The decoder does not know this instruction. The next ones line up again, but it
				// must not become a habit.
				unknown++
				off++
				continue
			}
			pc := fn.Value + uint64(off)
			off += inst.Len
			rel, ok := inst.Args[0].(x86asm.Rel)
			if !ok || inst.Op != x86asm.CALL && inst.Op != x86asm.JMP {
				continue
			}
			calls++
			to := im.at(pc + uint64(inst.Len) + uint64(int64(rel)))
			if to == fn.Name || ours(to) || allowed.MatchString(to) {
				continue
			}
			if fn.Name == "main.runtimeC" && to == "runtime.makeslice" {
				forbidden++ // the crash lab does it on purpose
				continue
			}
			t.Errorf("%s calls %s at %#x", fn.Name, to, pc)
		}
	}
	if forbidden != 1 {
		t.Errorf("found %d forbidden calls in main.runtimeC; want 1", forbidden)
	}
	if unknown > 20 {
		t.Errorf("%d bytes could not be decoded; want at most 20", unknown)
	}
	if checked < 100 || calls < 500 {
		t.Errorf("checked %d functions with %d calls; want at least 100 and 500", checked, calls)
	}
}

// TestNoVectors: no code in kernel context has an instruction with a VEX or EVEX prefix, which
// would change the upper parts of vector registers: a trap saves only FXSAVE's state, because
// everything else is still in the registers when a thread loses the CPU (arch/amd64/fpu.go).
func TestNoVectors(t *testing.T) {
	im := linkLab(t)
	vectors := func(fn elf.Symbol) (n int) {
		text := im.text[fn.Value-im.lo:][:fn.Size]
		for off := 0; off < len(text); {
			i := code.Decode(text[off:])
			if i.Vector() {
				n++
			}
			off += max(i.Len, 1)
		}
		return n
	}
	checked, others := 0, 0
	for _, fn := range im.funcs {
		switch {
		case strings.HasPrefix(fn.Name, module+"boot.entry"): // 32-bit code
		case ours(fn.Name) || allowed.MatchString(fn.Name):
			checked++
			if n := vectors(fn); n > 0 {
				t.Errorf("%s has %d instructions with a VEX or EVEX prefix", fn.Name, n)
			}
		default:
			others += vectors(fn)
		}
	}
	if checked < 100 || others < 90 {
		t.Errorf("checked %d functions; those of programs have %d such instructions: want at least 100 and 90", checked, others)
	}
}

// TestNoInit: nothing runs before the kernel, so no package may need initialization.
func TestNoInit(t *testing.T) {
	im := linkLab(t)
	syms, _ := im.file.Symbols()
	for _, s := range syms {
		for _, p := range append(kernelPackages, "main") {
			name := strings.TrimPrefix(s.Name, module)
			if name == p+"..inittask" || name == p+".init" || strings.HasPrefix(name, p+".init.") {
				t.Errorf("%s needs initialization at run time: symbol %s", p, s.Name)
			}
		}
	}
}
