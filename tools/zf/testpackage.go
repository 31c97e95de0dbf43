package main

// One package of `zf test`: its test binary is built with the kernel, finds its package's
// folder where it is on the host, and its exit status is the verdict.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/gotest"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// guestProfile is where a test binary writes its coverage profile.
const guestProfile = "/tmp/_cover_.out"

// guestLog is where it writes what it has read, if its result may be kept.
const guestLog = "/tmp/_testlog_"

// packageResult is what has come of one package.
type packageResult struct {
	output bytes.Buffer
	code   int
	done   chan struct{}
}

// test tests one package and says how it went.
func (f *testFlags) test(ctx context.Context, p image.TestPackage, stdout io.Writer) int {
	t := &packageTest{testFlags: f, streams: f.streams, pkg: p, build: f.build}
	t.stdout, t.build.Stderr = stdout, t.stderr
	if f.goTest.On("json") {
		t.events = &gotest.Build{W: stdout}
		t.build.Events = t.events
	}
	switch {
	case p.Err != nil:
		return t.notBuilt(ctx, p.Err, "setup failed")
	case !p.HasTests:
		return t.untested(ctx)
	}
	tmp, err := os.MkdirTemp("", "zf-test-")
	if err != nil {
		return t.failed(exitUsage, err)
	}
	defer os.RemoveAll(tmp)
	building, stop := signal.NotifyContext(ctx, syscall.SIGQUIT) // as in runRun
	m, sym, code := t.prepare(building, tmp)
	stop()
	if m == nil {
		return code
	}
	defer sym.Close()
	if t.failures.on {
		return t.repeat(ctx, m, sym)
	}
	return t.run(ctx, m, sym)
}

// packageTest is the test of one package.
type packageTest struct {
	*testFlags
	streams
	pkg    image.TestPackage
	build  image.BuildOptions
	events *gotest.Build // with -json
}

// shown returns where the package's results go, and what ends them: passed is the package's
// result.
func (t *packageTest) shown(ctx context.Context) (out io.Writer, end func(passed bool)) {
	if t.events == nil {
		return t.stdout, func(bool) {}
	}
	e, err := gotest.NewEvents(ctx, t.pkg.ImportPath, t.stdout)
	if err != nil {
		t.say("-json: %v", err)
		return io.Discard, func(bool) {}
	}
	return e, func(passed bool) {
		if err := e.Close(passed, t.events.Failed); err != nil {
			t.say("-json: %v", err)
		}
	}
}

// notBuilt says why there is nothing to boot; short is what the package's line says.
func (t *packageTest) notBuilt(ctx context.Context, err error, short string) int {
	if ctx.Err() != nil {
		return exitInterrupt // it is said at the end, of all packages
	}
	if t.events != nil && !errors.Is(err, image.ErrCompile) {
		t.events.Fail(t.pkg.ImportPath, err.Error())
	} else {
		t.fail(notBuilt(err))
	}
	if t.goTest.On("c") {
		return exitUsage
	}
	out, end := t.shown(ctx)
	fmt.Fprintf(out, "FAIL\t%s [%s]\n", t.pkg.ImportPath, short)
	end(false)
	return exitUsage
}

// untested is for a package without test files.
func (t *packageTest) untested(ctx context.Context) int {
	line := fmt.Sprintf("?   \t%s\t[no test files]\n", t.pkg.ImportPath)
	if t.goTest.Cover() {
		said, profile, err := image.Untested(ctx, t.build, t.pkg.ImportPath, t.goTest.CoverMode())
		if err == nil && t.profile != nil {
			err = t.profile.Add(profile)
		}
		if err != nil {
			return t.notBuilt(ctx, err, "build failed")
		}
		line = said
	}
	out, end := t.shown(ctx)
	io.WriteString(out, line)
	end(true)
	return exitOK
}

// run boots the machine and says what has come of it.
func (t *packageTest) run(ctx context.Context, m *machine, sym *symbol.File) int {
	shown, end := t.shown(ctx)
	var output bytes.Buffer // of this goroutine and the machine's, one after the other
	out, msg := io.Writer(&output), io.Writer(&output)
	if t.live {
		out, msg = io.MultiWriter(shown, &output), t.stderr
	}
	keeps := t.keepsResult(m)
	profile, log := t.takeFiles(m, keeps)
	t.flight.arm(m, sym, &t.streams)
	m.stdout, m.stderr = out, msg
	code, took, cached := exitOK, time.Duration(0), false
	key, started := "", time.Now()
	var kept gotest.Result
	inputs := gotest.Inputs{Dir: filepath.ToSlash(t.pkg.Dir),
		Host: func(path string) (string, bool) { return onHost(m.qemu.Shares, path) }}
	if keeps {
		key = cacheKey(m)
		kept, cached = t.cache.Get(key, inputs)
	}
	if cached {
		out.Write(kept.Output)
		*profile = kept.Profile
	} else {
		code = m.boot(ctx, sym)
		took = time.Since(started)
	}
	if code > exitMachine { // the test binary's own status
		code = exitTrace
	}
	passed := code == exitOK
	if !t.live && (!passed || t.goTest.ShowsPass()) {
		shown.Write(output.Bytes())
	}
	if t.profile != nil {
		if err := t.profile.Add(*profile); err != nil {
			t.say("-coverprofile: %s: %v", t.pkg.ImportPath, err)
			code = max(code, exitUsage)
		}
	}
	if b := output.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' &&
		(t.live || !passed || t.goTest.ShowsPass()) {
		fmt.Fprintln(shown)
	}
	if !passed && t.events != nil {
		io.WriteString(shown, "\x16") // a line of the go command's own, for the converter
	}
	fmt.Fprintln(shown, gotest.Line(t.pkg.ImportPath, passed, took, cached, output.Bytes()))
	end(passed)
	if !passed && gotest.TimedOut(output.Bytes()) {
		t.hint.Do(t.sayTimeout)
	}
	if key != "" && passed && !cached {
		if id, err := inputs.ID(*log, started); err == nil { // or it is run again
			t.cache.Put(key, *log, id, gotest.Result{Output: output.Bytes(), Profile: *profile})
		}
	}
	return t.flight.end(&t.streams, code)
}

// sayTimeout says what to do about a -timeout that has run out.
func (t *packageTest) sayTimeout() {
	t.said = fmt.Sprintf(
		"zf test: -timeout %v has run out; a machine that is emulated is slower than this host: -timeout %v gives it ten times as long\n", t.timeout, 10*t.timeout)
}

// keepsResult reports whether the result of a machine may be kept: as with go test not where a
// flag may make each run another, and not where the machine is not alone.
func (t *packageTest) keepsResult(m *machine) bool {
	return t.cache != nil && !t.local && t.goTest.Cacheable() && !t.flight.any() &&
		len(m.qemu.Extra) == 0 && !slices.ContainsFunc(m.qemu.Shares,
		func(s qemu.Share) bool { return s.Writable }) && m.qemu.Net == "" && m.records.dir == "" &&
		len(t.goTest.Files()) == 0
}

// cacheKey returns what the result of a machine is kept under, "" if it cannot be.
func cacheKey(m *machine) string {
	q := &m.qemu
	program, err := qemu.Find()
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	words := []string{program, info.ModTime().String(), q.Machine, q.Accel, q.CPU,
		fmt.Sprint(q.MemoryMiB), fmt.Sprintf("%+v", q.Shares), m.append}
	words = append(words, m.options...)
	key, err := gotest.Key([]string{q.Kernel, q.Initrd}, append(append(words, "--"), m.arguments...))
	if err != nil {
		return ""
	}
	return key
}

// takeFiles has the files that tests write come back. The coverage profile of the package, and
// if it is wanted the log of what it has read, are there when the machine has ended.
func (t *packageTest) takeFiles(m *machine, wantLog bool) (profile, log *[]byte) {
	profile, log = new([]byte), new([]byte)
	if wantLog {
		m.options = append(m.options, kernelOption("outbox", guestLog))
		m.arguments = append([]string{"-test.testlogfile=" + guestLog}, m.arguments...)
	}
	wanted := make(map[string]string) // by path in the machine: that on this host
	if t.profile != nil {
		m.options = append(m.options, kernelOption("outbox", guestProfile))
	}
	for _, name := range t.goTest.Files() {
		path := t.output(t.goTest.Value(name))
		wanted[path] = path
		m.options = append(m.options, kernelOption("outbox", path))
	}
	artifacts := filepath.Join(t.outputDir, "_artifacts")
	if t.goTest.On("artifacts") {
		m.options = append(m.options, kernelOption("outbox", artifacts))
	}
	m.records.take(gotest.FileKind, func(data []byte) error {
		file, err := gotest.ReadFile(data)
		switch {
		case err != nil:
			return err
		case file.Path == guestProfile:
			*profile = file.Data
			return nil
		case file.Path == guestLog:
			*log = file.Data
			return nil
		case wanted[file.Path] != "":
			return whole.WriteFile(wanted[file.Path], file.Data, 0o666)
		case t.goTest.On("artifacts") && file.Below(artifacts):
			return file.Write(t.outputDir, t.outputDir)
		}
		return fmt.Errorf("%s was not asked for", printable(file.Path))
	})
	return profile, log
}

// prepare builds the package's test binary and packs its files into folder tmp. If there is
// nothing to boot, m is nil and code is the exit status.
func (t *packageTest) prepare(ctx context.Context,
	tmp string) (m *machine, sym *symbol.File, code int) {
	failed := func(err error) (*machine, *symbol.File, int) {
		if sym != nil {
			sym.Close()
		}
		return nil, nil, t.notBuilt(ctx, err, "build failed")
	}
	p, o := t.pkg, t.build
	o.Package, o.Output = p.ImportPath, tmp
	_, o.Zones = lastOption(t.append, "env.TZ")
	kept, only := t.goTest.Value("o"), t.goTest.On("c")
	if only && kept == "" {
		kept = "."
	}
	if kept != "" {
		o.Output = kept
	}
	if !only {
		o.Parts = append(t.parts(t.flight.any()), "shares")
		o.Inet = t.hasSockets()
		keepBuild(&o)
	}
	built := followBuild(&o, t.terminal)
	b, err := image.Build(ctx, o)
	built()
	if err != nil {
		return failed(err)
	}
	if only {
		return nil, nil, exitOK
	}
	shares, shared, err := t.mounts(ctx, p)
	if err != nil {
		return failed(err)
	}
	a := baseTree()
	if !shared {
		if err := addPackage(a, p, t.output(t.goTest.Value("coverprofile"))); err != nil {
			return failed(err)
		}
	}
	a.AddDir(t.outputDir, 0o755)
	for _, name := range t.goTest.Files() {
		if dir := filepath.Dir(t.output(t.goTest.Value(name))); !a.Has(dir) {
			a.AddDir(dir, 0o755)
		}
	}
	if kept == "" { // or each build would make another machine
		long := time.Unix(1<<30, 0)
		if err := os.Chtimes(b.Path, long, long); err != nil {
			return failed(err)
		}
	}
	self := "/tmp/" + strings.TrimSuffix(filepath.Base(b.Path), ".elf")
	if err := a.AddTree(b.Path, self, nil); err != nil {
		return failed(err)
	}
	if sym, err = symbol.Open(b.Path); err != nil {
		return failed(err)
	}
	if err := t.flight.choose(sym, a); err != nil {
		return failed(err)
	}
	archive, size, err := t.files.write(tmp, a)
	if err != nil {
		return failed(err)
	}
	if need := needMiB(&b.Info, size); t.qemu.MemoryMiB < need {
		return failed(
			fmt.Errorf("too small RAM size: the test binary and its files need %d MiB, the machine has %d; give it a larger -m", need, t.qemu.MemoryMiB))
	}
	c, err := t.machineOf(b.Path, archive, self, shares)
	if err != nil {
		return failed(err)
	}
	return c, sym, exitOK
}

// machineOf returns the machine for an image, whose path in the machine is self, and its files.
func (t *packageTest) machineOf(image, archive, self string,
	shares []qemu.Share) (*machine, error) {
	c := t.machine
	c.records = &records{dir: t.machine.records.dir}
	c.qemu.Kernel, c.qemu.Initrd, c.qemu.Shares = image, archive, shares
	c.name, c.coreELF, c.built, c.tests = filepath.Base(image), image, true, true
	c.options = []string{
		"report=off",
		kernelOption("arg0", self),
		kernelOption("cwd", t.pkg.Dir),
	}
	if t.pkg.Standard {
		c.options = append(c.options, kernelOption("env.GOROOT", t.pkg.Root))
	}
	c.arguments = t.pass
	return &c, t.flight.watch.resolve(&c, image)
}

// baseTree is what each test finds: see testText.
func baseTree() *initrd.Archive {
	a := new(initrd.Archive)
	a.AddDir("/tmp", 0o777|fs.ModeSticky)
	a.AddDir("/usr/bin", 0o755)
	return a
}

// addPackage adds copies of the files for the tests of a package that does not see the
// host's: see testText. A file without is left out.
func addPackage(a *initrd.Archive, p image.TestPackage, without string) error {
	other := notOfPackage(p.Dir)
	if err := a.AddTree(p.Dir, p.Dir, func(path string, d fs.DirEntry) bool {
		return path == without ||
			other(path, d)
	}); err != nil {
		return err
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
			return err
		}
	}
	for _, name := range extra {
		name = filepath.Join(top, name)
		if err := a.AddTree(name, name, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// notOfPackage leaves out of a package's folder what is in subfolders that are
// packages or modules of their own, or hidden. What is in a testdata folder is never
// left out.
func notOfPackage(root string) initrd.Skip {
	data := string(filepath.Separator) + "testdata" + string(filepath.Separator)
	return func(path string, d fs.DirEntry) bool {
		if !d.IsDir() || strings.Contains(strings.TrimPrefix(path,
			root)+string(filepath.Separator), data) {
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
