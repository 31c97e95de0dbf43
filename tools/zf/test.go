package main

// `zf test` is `go test` with a machine for each package: the test binary is built
// with the kernel, finds its package's folder where it is on the host, and its exit
// status is the verdict. What it prints is of interest only when it fails.

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/initrd"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const testText = `Test builds the test binary of each package, boots it in QEMU and reports as go
test does, one line a package; what tests print is shown if one fails. PKG is
any package, of the standard library too, or a pattern such as ./...; without
one it is the package in the current folder.

A package's tests run in its folder, and find there its files, those of its
subfolders that are not packages, testdata folders of the folders above it, /etc
with the user root, an empty /usr/bin, and /tmp with the test binary. -initrd
and -files add more.

-cpuprofile, -memprofile, -handles and -probe are those of zf run, for one
package: the kernel records what its test binary does, its start too.

Exit status: 0 all tests passed; 1 some failed; 2 wrong usage, a failed build,
or what such a flag wants has not come; 3 a machine failed (timeout, triple
fault, QEMU missing).`

// testGrace is how long a machine may outlive the test binary's own -timeout, which
// ends in a trace of all goroutines and is the better one.
const testGrace = 10 * time.Second

// testMemory is the default RAM of a machine in MiB.
const testMemory = 512

// testFlags is what the command line of `zf test` says.
type testFlags struct {
	machine
	build   image.BuildOptions
	files   guestFiles
	flight  flight
	timeout time.Duration
	verbose bool
	bench   string
	pass    []string // flags for the test binary
}

// runTest runs `zf test`.
func runTest(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := testFlags{machine: machine{command: "zf test", quiet: true}}
	patterns, code, ok := f.parse(args, stderr)
	if !ok {
		return code
	}
	signal.Ignore(syscall.SIGPIPE) // as in runRun
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	pkgs, err := image.TestPackages(ctx, f.build, patterns)
	if err != nil {
		return buildFailed("test", err, stderr)
	}
	if len(pkgs) > 1 && f.flight.any() {
		fmt.Fprintln(stderr, "zf test: -cpuprofile, -memprofile, -handles and -probe are for one package at a time")
		return exitUsage
	}
	for _, p := range pkgs {
		code = max(code, f.test(ctx, p, stdout, stderr))
		if ctx.Err() != nil { // which has been said
			return exitMachine
		}
	}
	if code != exitOK {
		fmt.Fprintln(stdout, "FAIL")
	}
	return code
}

// parse reads the command line and returns the packages. If there is nothing more to
// do, ok is false and code is the exit status.
func (f *testFlags) parse(args []string, stderr io.Writer) (patterns []string, code int, ok bool) {
	f.build.Test, f.build.Stderr = true, stderr
	fs := newFlags("test", "[flags] [PKG...]", testText, stderr)
	run := fs.String("run", "", "run the tests that match `REGEXP`")
	skip := fs.String("skip", "", "do not run the tests that match `REGEXP`")
	fs.StringVar(&f.bench, "bench", "", "run the benchmarks that match `REGEXP`")
	benchtime := fs.String("benchtime", "", "run each benchmark for `TIME`, or Nx times")
	benchmem := fs.Bool("benchmem", false, "say what benchmarks allocate")
	count := fs.Uint("count", 1, "run each test `N` times")
	parallel := fs.Uint("parallel", 0, "run at most `N` parallel tests at once (default: the processors)")
	failfast := fs.Bool("failfast", false, "run no more tests of a package after one failed")
	short := fs.Bool("short", false, "tell long tests to be short")
	fs.BoolVar(&f.verbose, "v", false, "show all that is printed, as it comes")
	fs.DurationVar(&f.timeout, "timeout", 10*time.Minute, "end a package's tests after `TIME`; 0 means never")
	f.machine.flags(fs, testMemory)
	f.files.flags(fs)
	f.flight.flags(fs)
	buildFlags(fs, &f.build)
	if code, ok := parse(fs, args); !ok {
		return nil, code, false
	}
	if f.timeout < 0 {
		fmt.Fprintf(stderr, "zf test: -timeout %v is negative; 0 means none\n", f.timeout)
		return nil, exitUsage, false
	}
	if patterns = fs.Args(); len(patterns) == 0 {
		patterns = []string{"."}
	}
	if wrong := f.flight.wrong(); wrong != "" {
		fmt.Fprintf(stderr, "zf test: %s\n", wrong)
		return nil, exitUsage, false
	}
	for _, p := range patterns {
		if strings.HasPrefix(p, "-") {
			fmt.Fprintf(stderr, "zf test: unexpected %s; flags go before the packages\n", p)
			return nil, exitUsage, false
		}
	}
	// paniconexit0 is what go test says, so that an os.Exit(0) in a test is noticed.
	f.pass = []string{"-test.paniconexit0", "-test.timeout=" + f.timeout.String()}
	if f.timeout > 0 {
		f.qemu.Timeout = f.timeout + testGrace
	}
	given := make(map[string]bool)
	fs.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	for _, p := range []struct{ name, value string }{
		{"run", *run}, {"skip", *skip}, {"bench", f.bench}, {"benchtime", *benchtime},
		{"benchmem", strconv.FormatBool(*benchmem)}, {"count", fmt.Sprint(*count)}, {"parallel", fmt.Sprint(*parallel)},
		{"failfast", strconv.FormatBool(*failfast)}, {"short", strconv.FormatBool(*short)}, {"v", strconv.FormatBool(f.verbose)},
	} {
		if given[p.name] {
			f.pass = append(f.pass, "-test."+p.name+"="+p.value)
		}
	}
	return patterns, exitOK, true
}

// test tests one package and says how it went.
func (f *testFlags) test(ctx context.Context, p image.TestPackage, stdout, stderr io.Writer) int {
	if p.Err != nil {
		fmt.Fprintf(stderr, "zf test: %v\n", p.Err)
		fmt.Fprintf(stdout, "FAIL\t%s [setup failed]\n", p.ImportPath)
		return exitUsage
	}
	if !p.HasTests {
		fmt.Fprintf(stdout, "?   \t%s\t[no test files]\n", p.ImportPath)
		return exitOK
	}
	tmp, err := os.MkdirTemp("", "zf-test-")
	if err != nil {
		return failing("zf test", stderr)("%v", err)
	}
	defer os.RemoveAll(tmp)
	building, stop := signal.NotifyContext(ctx, syscall.SIGQUIT) // as in runRun
	m, sym, code := f.prepare(building, p, tmp, stdout, stderr)
	stop()
	if m == nil {
		return code
	}
	defer sym.Close()

	var output bytes.Buffer // of this goroutine and the machine's, one after the other
	out, msg := io.Writer(&output), io.Writer(&output)
	if f.verbose {
		out, msg = io.MultiWriter(stdout, &output), stderr
	}
	started := time.Now()
	f.flight.arm(m, sym, stderr)
	code = m.boot(ctx, sym, nil, out, msg)
	took := time.Since(started)
	if code > exitMachine { // the test binary's own status
		code = exitTrace
	}
	if !f.verbose && (code != exitOK || f.bench != "") {
		stdout.Write(output.Bytes())
		if b := output.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
			fmt.Fprintln(stdout)
		}
	}
	fmt.Fprintln(stdout, testLine(p.ImportPath, code, took, output.Bytes()))
	return f.flight.end(m, code, stdout, stderr)
}

// testLine is the line that ends a package's tests, as go test writes it.
func testLine(pkg string, code int, took time.Duration, output []byte) string {
	if code != exitOK {
		return fmt.Sprintf("FAIL\t%s\t%.3fs", pkg, took.Seconds())
	}
	none := ""
	if bytes.Contains(output, []byte("testing: warning: no tests to run")) {
		none = " [no tests to run]"
	}
	return fmt.Sprintf("ok  \t%s\t%.3fs%s", pkg, took.Seconds(), none)
}

// prepare builds a package's test binary and packs its files into folder tmp. If that
// fails, m is nil and code is the exit status.
func (f *testFlags) prepare(ctx context.Context, p image.TestPackage, tmp string, stdout, stderr io.Writer) (m *machine, sym *symbol.File, code int) {
	failed := func(err error) (*machine, *symbol.File, int) {
		code := buildFailed("test", err, stderr)
		fmt.Fprintf(stdout, "FAIL\t%s [build failed]\n", p.ImportPath)
		return nil, nil, code
	}
	o := f.build
	o.Package, o.Output = p.ImportPath, tmp
	b, err := image.Build(ctx, o)
	if err != nil {
		return failed(err)
	}
	a, err := testTree(p)
	if err != nil {
		return failed(err)
	}
	self := "/tmp/" + strings.TrimSuffix(filepath.Base(b.Path), ".elf")
	if err := a.AddTree(b.Path, self, nil); err != nil {
		return failed(err)
	}
	if sym, err = symbol.Open(b.Path); err != nil {
		return failed(err)
	}
	if err := f.flight.choose(sym, a); err != nil {
		sym.Close()
		return failed(err)
	}
	archive, size, err := f.files.write(tmp, a)
	if err != nil {
		sym.Close()
		return failed(err)
	}
	if need := needMiB(&b.Info, size); f.qemu.MemoryMiB < need {
		sym.Close()
		return failed(fmt.Errorf("too small RAM size: the test binary and its files need %d MiB, the machine has %d; give it a larger -m", need, f.qemu.MemoryMiB))
	}
	c := f.machine
	c.qemu.Kernel, c.qemu.Initrd = b.Path, archive
	c.options = []string{
		kernelOption("arg0", self),
		kernelOption("cwd", p.Dir),
	}
	if p.Standard {
		c.options = append(c.options, kernelOption("env.GOROOT", p.Root))
	}
	c.arguments = f.pass
	return &c, sym, exitOK
}

// testTree is what the tests of a package find: see testText.
func testTree(p image.TestPackage) (*initrd.Archive, error) {
	a := new(initrd.Archive)
	a.AddDir("/tmp", 0o777|fs.ModeSticky)
	a.AddDir("/usr/bin", 0o755)
	a.AddFile("/etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\n"))
	a.AddFile("/etc/group", 0o644, []byte("root:x:0:\n"))
	a.AddFile("/etc/hosts", 0o644, []byte("127.0.0.1 localhost\n::1 localhost\n"))
	if err := a.AddTree(p.Dir, p.Dir, notOfPackage(p.Dir)); err != nil {
		return nil, err
	}
	// Tests share data by ../testdata, and find their module by go.mod.
	top := p.Root
	extra := []string{"go.mod"}
	if p.Standard {
		top = filepath.Join(p.Root, "src")
		extra = append(extra, "../VERSION", "../lib/time/zoneinfo.zip")
	}
	for dir := p.Dir; top != "" && dir != top && len(dir) > len(top); {
		dir = filepath.Dir(dir)
		data := filepath.Join(dir, "testdata")
		if err := a.AddTree(data, data, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, name := range extra {
		name = filepath.Join(top, name)
		if err := a.AddTree(name, name, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return a, nil
}

// notOfPackage leaves out of a package's folder what is in subfolders that are
// packages or modules of their own, or hidden. What is in a testdata folder is never
// left out.
func notOfPackage(root string) initrd.Skip {
	data := string(filepath.Separator) + "testdata" + string(filepath.Separator)
	return func(path string, d fs.DirEntry) bool {
		if !d.IsDir() || strings.Contains(strings.TrimPrefix(path, root)+string(filepath.Separator), data) {
			return false
		}
		if strings.HasPrefix(d.Name(), ".") {
			return true
		}
		for _, pattern := range []string{"*.go", "go.mod"} {
			if m, _ := filepath.Glob(filepath.Join(glob(path), pattern)); len(m) > 0 {
				return true
			}
		}
		return false
	}
}

// glob quotes what filepath.Glob would take for a pattern.
func glob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}
