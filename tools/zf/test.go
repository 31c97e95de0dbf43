package main

// `zf test` is `go test` with a machine for each package: this file has its command line
// and the order of the packages, testpackage.go what is done with one, package gotest what
// both commands have in common.

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/gotest"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

const testText = `Test builds the test binary of each package, boots it in QEMU and reports as go
test does. PKG is any package, of the standard library too, or a pattern such as
./...; without one it is the package in the current folder. Flags stand before
and behind the packages; flags and arguments of the test's own behind them, or
behind -args.

  zf test -short ./...
  zf test -run 'Parse/empty' -v .
  zf test -coverprofile=c.out ./... && go tool cover -html=c.out
  zf test -json ./... | gotestsum --raw-command -- cat

A package's tests run in its folder, and find its module, the Go distribution
and the module cache where they are on this host: what they read comes when it
is asked for, what they write stays in the machine. There are /etc with the user
root, an empty /usr/bin, and /tmp with the test binary. -mount, -initrd and
-files add more. With -mount none, and with -record-failures, the machine gets
copies: of the package's files, of those of subfolders that are not packages,
and of testdata folders of the folders above it. The profiles that tests write,
and what they put into T.ArtifactDir, come back to this host.

With -record-failures -count 1000 the tests run a thousand times, each time on
a machine of its own that is recorded, and the recordings of the runs that fail
stay: zf replay does such a run again, and zf why tells what has led to it.
-chaos has threads change places at random, so that races show up sooner. Time
goes by instructions in these runs, as with zf run -icount.

-cpuprofile, -memprofile, -handles and -probe are those of zf run, for one
package: the kernel records what its test binary does, its start too. A list of
numbers for -cpu is go test's; a name is QEMU's model of the processor.

Exit status: 0 all tests passed; 1 some failed; 2 wrong usage, a failed build,
or what such a flag wants has not come; 3 a machine failed (timeout, triple
fault, QEMU missing); 130 ^C has ended it.`

// testGrace is how long a machine may outlive the test binary's own -timeout, which
// ends in a trace of all goroutines and is the better one. The machine's boot is in it, too, and an
// emulated one on a busy host takes its time.
const testGrace = time.Minute

// testMemory is the default RAM of a machine in MiB.
const testMemory = 512

// testTimeout is the default of -timeout.
const testTimeout = 10 * time.Minute

// testFlags is what the command line of `zf test` says.
type testFlags struct {
	machine
	build  image.BuildOptions
	files  guestFiles
	flight flight
	goTest gotest.Flags

	failures recordFailures

	timeout   time.Duration
	outputDir string // of this host, absolute
	local     bool   // no package is named
	live      bool   // what tests print is shown as it comes
	profile   *gotest.Profile
	cache     *gotest.Cache // nil: none
	pass      []string      // arguments of the test binary
	terminal  io.Writer     // for the progress of a build; nil: none is shown
	hint      sync.Once     // of said
	said      string        // at the end, of a -timeout that has run out
	sources   []string      // folders of this host that tests see; empty: none
	noShares  sync.Once     // of that QEMU cannot show them
	// interrupted says that the user has been told so, and how many runs there were.
	interrupted bool
}

// runTest runs `zf test`.
func runTest(c *call) error {
	f := testFlags{machine: machine{streams: c.streams, quiet: true}}
	f.stdin = nil // the tests get none
	patterns, err := f.parse(c)
	if err != nil {
		return err
	}
	if lean && f.flight.wantsDebugger(&f.machine) {
		return c.handOver()
	}
	signal.Ignore(syscall.SIGPIPE) // as in runRun
	ctx := c.interruptible(syscall.SIGHUP)
	sources := f.lookForSources(ctx)
	pkgs, err := image.TestPackages(ctx, f.build, patterns)
	if err = cmp.Or(sources(), err); ctx.Err() != nil {
		return errInterrupted
	} else if err != nil {
		return notBuilt(err)
	}
	if err := f.wrongFor(pkgs); err != nil {
		return err
	}
	if name := f.goTest.Value("coverprofile"); name != "" && !f.goTest.On("c") {
		f.profile = gotest.NewProfile(f.output(name), f.goTest.CoverMode())
	}
	if f.cache, err = gotest.OpenCache(); err != nil {
		f.cache = nil
	}
	code := f.testAll(ctx, pkgs)
	if f.profile != nil {
		if err := f.profile.Close(); err != nil {
			c.fail(fmt.Errorf("-coverprofile: %w", err))
			code = cmp.Or(code, exitUsage)
		}
	}
	switch {
	case ctx.Err() != nil && f.interrupted:
		return status(exitInterrupt)
	case ctx.Err() != nil:
		return errInterrupted
	}
	if code != exitOK && !f.local && !f.goTest.On("json") && !f.goTest.On("c") {
		fmt.Fprintln(c.stdout, "FAIL")
	}
	return status(code)
}

// parse reads the command line and returns the packages.
func (f *testFlags) parse(c *call) (patterns []string, err error) {
	f.build.Test, f.build.Stderr = true, c.stderr
	fs := c.FlagSet
	c.theirs = "Flags of go test and go build; `go help testflag` says more"
	f.machine.flags(fs, testMemory, hostCPUs())
	f.machine.consoleFlag(fs)
	fs.Func("cpu",
		"run the tests with each of these values of GOMAXPROCS, such as 1,2,4;\nor the `MODEL` of QEMU's processor (default: QEMU's own)", func(s string) error {
			if !f.goTest.CPU(s) {
				f.qemu.CPU = s
			}
			return nil
		})
	f.files.flags(fs)
	f.flight.flags(fs)
	f.failures.flags(fs)
	imageFlags(fs, &f.build)
	f.goTest.Register(fs)
	patterns, err = f.goTest.Parse(fs, c.given)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return nil, c.wrong("%w", err)
	}
	if err := c.parsed(err); err != nil {
		return nil, err
	}
	if f.local = len(patterns) == 0; f.local {
		patterns = []string{"."}
	}
	return patterns, f.settle()
}

// settle makes of the flags what the build, the test binary and the machine are told, and
// returns what is wrong with them, if anything is.
func (f *testFlags) settle() error {
	g := &f.goTest
	f.build.Flags, f.build.TestFlags = g.Build, g.Compile
	if g.Cover() {
		f.build.TestFlags = append(slices.Clip(g.Compile), "-cover")
	}
	if f.outputDir = g.Value("outputdir"); f.outputDir == "" {
		f.outputDir = "."
	}
	var err error
	if f.outputDir, err = filepath.Abs(f.outputDir); err != nil {
		return fmt.Errorf("-outputdir: %w", err)
	}
	for _, path := range []*string{&f.flight.cpu.path, &f.flight.heap.path} {
		if *path != "" && g.Given("outputdir") {
			*path = f.output(*path)
		}
	}
	if err := cmp.Or(f.flight.wrong(), f.records.wrong()); err != nil {
		return err
	}
	if g.Given("outputdir") && !isFolder(f.outputDir) {
		return fmt.Errorf("-outputdir: there is no folder %s; make it first", f.outputDir)
	}
	for _, name := range append(g.Files(), "coverprofile") {
		if file := g.Value(name); file != "" && !g.On("c") {
			if err := whole.Try(f.output(file)); err != nil {
				return fmt.Errorf("-%s: %w", name, err)
			}
		}
	}
	f.live = g.On("json") || f.local || g.Given("bench")
	if err := f.settleRecord(); err != nil {
		return err
	}
	f.setPass()
	return nil
}

// setPass sets the flags that the test binary gets.
func (f *testFlags) setPass() {
	g := &f.goTest
	// paniconexit0 is what go test says, so that an os.Exit(0) in a test is noticed.
	f.pass = []string{"-test.paniconexit0"}
	if f.timeout = g.Duration("timeout", testTimeout); !g.Given("timeout") {
		f.pass = append(f.pass, "-test.timeout="+f.timeout.String())
	}
	if f.timeout > 0 {
		f.qemu.Timeout = f.timeout + testGrace
	}
	if g.Given("coverprofile") {
		f.pass = append(f.pass, "-test.coverprofile="+guestProfile)
	}
	if len(g.Files()) > 0 || g.On("artifacts") {
		f.pass = append(f.pass, "-test.outputdir="+f.outputDir)
	}
	binary := g.Binary
	if g.On("json") { // a -v of GOFLAGS does not count then, one of the command line does
		binary = slices.Insert(slices.Clone(binary), g.Defaults, gotest.Verbose)
	}
	for _, a := range binary {
		if strings.HasPrefix(a, "-test.outputdir=") || f.failures.on &&
			strings.HasPrefix(a, "-test.count=") {
			continue // said above, or another machine
		}
		f.pass = append(f.pass, a)
	}
}

// wrongFor returns what is wrong with the flags for these packages, if anything is.
func (f *testFlags) wrongFor(pkgs []image.TestPackage) error {
	if len(pkgs) <= 1 {
		return nil
	}
	if f.flight.any() {
		return errors.New(
			"-cpuprofile, -memprofile, -handles, -probe and -watch are for one package at a time")
	}
	if files := f.goTest.Files(); len(files) > 0 {
		return fmt.Errorf("-%s is for one package at a time: each would write the same file", files[0])
	}
	if o := f.goTest.Value("o"); o != "" && o != os.DevNull && !isFolder(o) &&
		!strings.HasSuffix(o, "/") {
		return fmt.Errorf(
			"-o %s: of %d packages the images go into a folder; %[1]s is none, make it first", o, len(pkgs))
	}
	return nil
}

// output returns the path on this host of a file that the command line names.
func (f *testFlags) output(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.outputDir, name)
}

// testAll tests the packages, several at a time, and shows their results in their order.
func (f *testFlags) testAll(ctx context.Context, pkgs []image.TestPackage) (code int) {
	f.failures.names(pkgs)
	atATime := min(f.goTest.Number("p", runtime.GOMAXPROCS(0)), len(pkgs))
	if f.goTest.Given("bench") || f.flight.any() || f.failures.on {
		atATime = 1 // they would be in each other's way
	}
	events := f.goTest.On("json")
	f.live = f.live || f.goTest.ShowsPass() && atATime == 1
	if events {
		f.stdout = &gotest.Lines{W: f.stdout}
	}
	var failed atomic.Bool
	results := make([]packageResult, len(pkgs))
	for i := range results {
		results[i].done = make(chan struct{})
	}
	if len(pkgs) == 1 { // of several at a time the lines of results say how far they are
		f.terminal = f.stderr
	}
	f.stderr = &gotest.Lines{W: f.stderr}
	next := make(chan int)
	go func() {
		for i := range pkgs {
			next <- i
		}
		close(next)
	}()
	for range atATime {
		go func() {
			for i := range next {
				r := &results[i]
				out := io.Writer(&r.output)
				if f.live && (atATime == 1 || events) {
					out = f.stdout
				}
				if ctx.Err() == nil && !(failed.Load() && f.goTest.On("failfast")) {
					r.code = f.test(ctx, pkgs[i], out)
				}
				if r.code != exitOK {
					failed.Store(true)
				}
				close(r.done)
			}
		}()
	}
	for i := range results {
		<-results[i].done
		results[i].output.WriteTo(f.stdout)
		code = max(code, results[i].code)
	}
	io.WriteString(f.stderr, f.said) // below the traces, where it is seen
	return code
}
