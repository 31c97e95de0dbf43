package main

// `zf test -fuzz`: the tests run on a machine, as ever, but for the fuzz test that is to be
// fuzzed. Then the package's test binary for this host coordinates, and its workers are machines
// (tools/gotest/fuzz.go). go test has both in one process; what is shown is the same.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/gotest"
	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// fuzzes reports whether a fuzz test is to be fuzzed.
func (f *testFlags) fuzzes() bool {
	return f.goTest.Value("fuzz") != "" && !f.goTest.Given("list") && !f.goTest.On("c")
}

// settleFuzz makes of the flags what the build is told, and returns what is
// wrong with them, if anything is.
func (f *testFlags) settleFuzz() error {
	g := &f.goTest
	if g.Value("fuzz") == "" {
		return nil
	}
	f.build.TestFlags = append(slices.Clip(f.build.TestFlags), "-fuzz="+g.Value("fuzz"))
	f.build.Fuzz = true
	if !f.fuzzes() {
		return nil
	}
	f.live = true
	switch files := g.Files(); {
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		return errors.New("-fuzz needs Linux on amd64: a test binary for that coordinates, and runs here")
	case g.Given("coverprofile"):
		return errors.New("cannot use -coverprofile flag with -fuzz flag")
	case len(files) > 0:
		return fmt.Errorf("cannot use -%s flag with -fuzz flag", files[0])
	case f.flight.any():
		return errors.New("-cpuprofile, -memprofile, -handles and -probe are not for -fuzz")
	}
	return nil
}

// wrongForFuzz returns what is wrong with these packages, if anything is.
func (f *testFlags) wrongForFuzz(pkgs []image.TestPackage) error {
	switch {
	case !f.fuzzes():
	case len(pkgs) != 1:
		return errors.New("cannot use -fuzz flag with multiple packages")
	case pkgs[0].Err == nil && !pkgs[0].Main:
		return errors.New("cannot use -fuzz flag on package outside the main module")
	}
	return nil
}

// fuzz runs the tests on machine m and then fuzzes.
func (t *packageTest) fuzz(ctx context.Context, m *machine, sym *symbol.File) (code int) {
	fail := func(err error) int { return t.failed(exitUsage, fmt.Errorf("-fuzz: %w", err)) }
	tmp := filepath.Dir(m.qemu.Initrd)
	program := filepath.Join(tmp, "coordinator")
	o := t.build
	o.Package = t.pkg.ImportPath
	if err := image.BuildHostTest(ctx, o, program); err != nil {
		return fail(err)
	}
	cache, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return fail(fmt.Errorf("go env GOCACHE: %w", err))
	}
	args := t.goTest.FuzzArgs(t.pass, filepath.Join(strings.TrimSpace(string(cache)), "fuzz", filepath.FromSlash(t.pkg.ImportPath)))
	if t.goTest.Value("run") != "^$" {
		c := m.again(t.withoutFuzzed(ctx, program))
		held := &passHeld{w: m.stdout}
		c.stdout = held
		if code := c.boot(ctx, sym); code != exitOK {
			held.end(false)
			return code
		}
		held.end(true)
	}
	c := gotest.Coordinator{
		Program: program, Dir: t.pkg.Dir, Args: args, Tmp: tmp, Out: toRerun{m.stdout},
		Machine: func(ctx context.Context, args []string) (*gotest.Windows, <-chan int, error) {
			return t.worker(ctx, m.again(args), sym)
		},
		Log: func(err error) { t.say("-fuzz: %v", err) },
	}
	passed, err := c.Run(ctx)
	switch {
	case err != nil:
		return fail(err)
	case !passed:
		return exitTrace
	}
	return exitOK
}

// withoutFuzzed returns the arguments of the test binary with which it leaves out the fuzz test
// that is to be fuzzed, which its coordinator, the program, is asked for.
func (t *packageTest) withoutFuzzed(ctx context.Context, program string) []string {
	name, _, _ := strings.Cut(t.goTest.Value("fuzz"), "/")
	list := exec.CommandContext(ctx, program, "-test.list="+name)
	list.Dir = t.pkg.Dir
	out, _ := list.Output() // without it, all are left in
	skip := "-test.skip="
	if s := t.goTest.Value("skip"); s != "" {
		skip += s + "|"
	}
	args := slices.DeleteFunc(slices.Clone(t.pass), func(a string) bool { return strings.HasPrefix(a, "-test.skip=") })
	if names := fuzzName().FindAllString(string(out), -1); len(names) > 0 {
		return append([]string{skip + "^(" + strings.Join(names, "|") + ")$"}, args...)
	}
	return t.pass
}

// fuzzName is what a test binary lists a fuzz test by.
var fuzzName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^Fuzz\w*$`) })

// again returns a machine like m that has not run, for a test binary with other arguments.
func (m *machine) again(arguments []string) *machine {
	c := *m
	c.records = &records{dir: m.records.dir, takers: m.records.takers}
	c.options, c.arguments = slices.Clip(m.options), arguments
	return &c
}

// Room behind an image, for page tables and the kernel's own.
const windowGap = 64 << 20

// worker boots m with windows. What it has said is shown if it dies.
func (t *packageTest) worker(ctx context.Context, m *machine, sym *symbol.File) (*gotest.Windows, <-chan int, error) {
	info, err := image.InspectFile(m.qemu.Kernel)
	if err != nil {
		return nil, nil, err
	}
	w := &gotest.Windows{Base: (int64(info.End) + windowGap) >> 21 << 21}
	m.options = append(m.options, w.Options()...)
	m.qemu.Timeout = 0
	m.qemu.MemoryMiB += int(w.End()>>20) + 1 // the test binary has as much as without -fuzz
	ram, path, err := newRAM(int64(m.qemu.MemoryMiB) << 20)
	if err != nil {
		return nil, nil, err
	}
	w.RAM, m.qemu.RAM = ram, path
	ended := make(chan int, 1)
	go func() {
		var said lastText
		m.stdout, m.stderr = &said, &said
		code := m.boot(ctx, sym)
		if code != exitOK && ctx.Err() == nil {
			t.stderr.Write(said.text)
		}
		switch {
		case code == exitOK:
			ended <- 0
		case code == exitTrace:
			ended <- 2 // as Go's runtime ends a process
		case code > exitProgram:
			ended <- code - exitProgram
		default:
			ended <- gotest.MachineFailed
		}
	}()
	return w, ended, nil
}

// lastText keeps what was written last.
type lastText struct{ text []byte }

const mostText = 64 << 10

func (l *lastText) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	if n := len(l.text) - mostText; n > mostText {
		l.text = append(l.text[:0], l.text[n:]...)
	}
	return len(p), nil
}

// passHeld passes the text of a test binary on, but for PASS at its end, while there is more
// to come.
type passHeld struct {
	w    io.Writer
	held []byte
}

func (h *passHeld) Write(p []byte) (int, error) {
	text := append(h.held, p...)
	last := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	if rest := string(text[last:]); !strings.HasPrefix("PASS\n", rest) && !strings.HasPrefix("\x16PASS\n", rest) {
		last = len(text)
	}
	_, err := h.w.Write(text[:last])
	h.held = bytes.Clone(text[last:])
	return len(p), err
}

// end ends the text; passed says that PASS is to be left out.
func (h *passHeld) end(passed bool) {
	if !passed || !bytes.HasSuffix(h.held, []byte("PASS\n")) {
		h.w.Write(h.held)
	}
	h.held = nil
}

// toRerun makes of package testing's word on how a test is run again the right one.
type toRerun struct{ w io.Writer }

func (r toRerun) Write(p []byte) (int, error) {
	if _, err := r.w.Write(bytes.ReplaceAll(p, []byte("\n    go test -run=Fuzz"), []byte("\n    zf test -run=Fuzz"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
