package image

// A build is the stock `go build` with three linker settings (text address,
// entry symbol, no cgo) and a finishing step; tool.go adds the kernel to a program
// that does not import it. It happens in a folder of its own and ends in one rename, so
// that a failed or interrupted build leaves the old image, or none, but never half of one.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/host"
)

const (
	// KernelPackage is the package that makes a program bootable. A main package
	// may import it; to one that does not, the build adds it.
	KernelPackage = "github.com/zeroframe/zeroframe/kernel"
	// NetPackage is the package, below the kernel's, that makes the machine a neighbour on
	// its network.
	NetPackage = "/net/netup"
	// InetPackage is the package, below the kernel's, that gives sockets a TCP/IP stack.
	InetPackage = "/net/inet"
	// HeapPackage is the package, below the kernel's, that has Go's runtime keep a heap
	// profile.
	HeapPackage = "/observe/heapprofile"
	// EntrySymbol is the linker symbol of the 32-bit entry of both protocols.
	EntrySymbol = "github.com/zeroframe/zeroframe/boot.entry"
)

var (
	// ErrCompile is returned when `go build` failed; what it printed has gone
	// to BuildOptions.Stderr.
	ErrCompile = errors.New("go build failed")
	// ErrNoGo is returned when there is no go command to run.
	ErrNoGo = errors.New("go command not found")
	// ErrGoEnv is returned when `go env` failed, for a reason of its own.
	ErrGoEnv = errors.New("go env failed")
	// ErrOutput is returned when the image cannot be written.
	ErrOutput = errors.New("cannot write the image")
)

// BuildOptions says what to build. The zero value of each field but Package is
// useful.
type BuildOptions struct {
	Package string // import path or folder, as for go build, or PATH@VERSION, as for go run
	// file to write; [DefaultOutput] in Dir if "", in that folder if it is one; see [Build]
	Output  string
	Dir     string   // folder that Package and Output are relative to; "" means the current one
	Env     []string // environment of the go command; nil means that of this process
	Loaders Loaders  // 0 means [AllLoaders]

	// Folder is what Package may have been meant to be, if there is no such package, "" for
	// nothing: an error names it.
	Folder string

	// Test builds the package's test binary instead, as `go test -c` does.
	Test bool

	// Net adds the package [NetPackage], as the build adds the kernel, so that the machine
	// answers on its network and finds the addresses of others there.
	Net bool

	// Inet adds the package [InetPackage] to a program that uses package net, in place of
	// [NetPackage]: its sockets reach other machines.
	Inet bool

	// Parts are the kernel's parts to link ([ParseParts], [PartsFor]); nil means all. A program that
	// imports the kernel, or a package of it, has all.
	Parts []string

	// HeapProfile adds the package [HeapPackage], so that there is a heap profile.
	HeapProfile bool

	// Zones adds package time/tzdata, for a program that has a time zone by the variable TZ; one
	// that names time.LoadLocation has it in any case.
	Zones bool

	BuildMode string // go build's -buildmode: "", "default" and "exe" are possible
	Tags      string // go build's -tags
	// Flags are other flags that go list and go build both know, such as -mod=mod; TestFlags
	// are those of go test -c alone, with Test, such as -cover.
	Flags, TestFlags []string

	GCFlags string // go build's -gcflags
	LDFlags string // added before the settings that the image needs

	EntrySymbol   string // "" means [EntrySymbol]
	KernelPackage string // "" means [KernelPackage]

	// Keep is a folder in which what is linked is kept, so that the same program is not linked
	// again; "" means that nothing is kept.
	Keep string
	// Progress is called as packages are compiled, by one goroutine at a time; nil: never.
	Progress func(Progress)

	Stderr io.Writer // receives what the go command prints, and notes; nil discards it
	// Events receives what the compiler prints, if it is not nil, as events (go help
	// buildjson). With Test.
	Events io.Writer

	goflags []string // the flags in GOFLAGS
	// the linker's flags of GOFLAGS and LDFlags, without those of dropSymbols and dropDWARF
	ldflags     string
	dropSymbols bool                     // -ldflags=-s
	dropDWARF   bool                     // -ldflags=-w
	work        string                   // for what the go command leaves if interrupted; "": none
	own         []string                 // the kernel's packages, if the program imports it
	profile     string                   // the file for PGO, absolute; "": none
	covered     []string                 // packages that are covered, if coverage names some
	coveredStd  bool                     // some of them are Go's own
	uncovered   bool                     // some are asked for that are not covered, being the kernel's
	usesModule  bool                     // the program imports a part of our module
	kernelDir   string                   // the folder of the kernel's package
	dirs        map[string]string        // of the packages that are not Go's own, by import path
	modules     map[string]*listedModule // theirs, by path
	pins        *pins
	inet        bool     // the image has InetPackage
	variants    []string // packages of which a test binary has a build of its own
	missing     []string // packages that the program does not import, but the image needs
	standard    []string // packages of Go's own that the program's other packages import
	progress    *progress
	read        *inputs
}

// Built describes an image that was written.
type Built struct {
	Path string // as given in Output, or the default
	Size int64  // of the file, in bytes
	Info
}

// Build compiles a main package and writes it as a bootable image. The errors it
// wraps are those of this file, of check.go and of [Finish].
//
// It runs the go command on the host, for GOOS=linux, GOARCH=amd64 and without
// cgo, whatever the host is.
//
// What Output names is replaced if it is an ELF file or empty, and refused
// otherwise. [os.DevNull] discards the image; a name with a slash at its end is
// that of a folder, which must be there.
func Build(ctx context.Context, o BuildOptions) (*Built, error) {
	o.Loaders = cmp.Or(o.Loaders, AllLoaders)
	o.EntrySymbol = cmp.Or(o.EntrySymbol, EntrySymbol)
	o.KernelPackage = cmp.Or(o.KernelPackage, KernelPackage)
	end, err := o.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	o.read = o.inputs()
	importPath, file, fresh := o.read.image()
	if !fresh {
		var cleanup func()
		if importPath, cleanup, err = o.prepare(ctx); err != nil {
			return nil, err
		}
		defer cleanup()
	}
	name := DefaultOutput(importPath, o.Package)
	if o.Test {
		name = strings.TrimSuffix(name, ".elf") + ".test.elf"
	}
	if o.Output == "" {
		o.Output = name
	}
	target, err := o.target(name)
	if err != nil {
		return nil, err
	}
	if err := whole.Try(target); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	tmp, err := os.MkdirTemp("", "zf-build-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	defer os.RemoveAll(tmp)
	if !fresh {
		if file, err = o.makeImage(ctx, tmp); err != nil {
			return nil, err
		}
	}
	info, err := Inspect(file)
	if err != nil {
		return nil, fmt.Errorf("finishing %s: %w", o.Package, err)
	}
	built := &Built{Path: o.Output, Size: int64(len(file)), Info: *info}
	if err := whole.WriteFile(target, file, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	return built, nil
}

// begin completes the environment of go commands, and gives them a folder for what they leave if
// they are interrupted.
func (o *BuildOptions) begin() (end func(), err error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.work, err = os.MkdirTemp("", "zf-build-"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	return func() { os.RemoveAll(o.work) }, nil
}

// prepare finds out all that a build needs to know, and returns the package's import path.
// cleanup is for after the build.
func (o *BuildOptions) prepare(ctx context.Context) (importPath string, cleanup func(), err error) {
	if err := o.checkEnvironment(ctx); err != nil {
		return "", nil, err
	}
	if cleanup, err = o.fetch(ctx); err != nil {
		return "", nil, err
	}
	if importPath, err = o.check(ctx); err != nil {
		cleanup()
		return "", nil, err
	}
	o.read.toolchain(o)
	return importPath, cleanup, nil
}

// makeImage links the program, with the kernel if it has none, and finishes it. tmp is a folder
// for what that needs.
func (o *BuildOptions) makeImage(ctx context.Context, tmp string) ([]byte, error) {
	tmp, err := filepath.Abs(tmp)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	linked, earlier := filepath.Join(tmp, "linked"), o.take()
	defer earlier.putBack()
	if earlier != nil {
		linked = earlier.path("linked")
	}
	var k *kernel
	if len(o.missing) > 0 {
		o.progress.phase(true)
		if k, err = o.addKernel(ctx, tmp); err != nil {
			return nil, err
		}
	}
	o.progress.phase(false)
	if err := o.goBuild(ctx, linked, k); err != nil {
		return nil, err
	}
	file, err := os.ReadFile(linked)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	if image, ok := earlier.finished(file); ok {
		o.read.keep(earlier, image)
		return image, nil
	}
	image, err := Finish(file, o.Loaders)
	if err != nil {
		return nil, fmt.Errorf("finishing %s: %w", o.Package, err)
	}
	notes, err := FillGoTable(image, o.KernelPackage+GoTableName)
	if err != nil {
		return nil, fmt.Errorf("finishing %s: %w", o.Package, err)
	}
	for _, n := range notes {
		fmt.Fprintln(o.Stderr, "note:", n)
	}
	if err := FillStackTable(image, o.KernelPackage+StackTableName); err != nil {
		return nil, fmt.Errorf("finishing %s: %w", o.Package, err)
	}
	if image, err = pack(image, o.drops); err != nil {
		return nil, fmt.Errorf("finishing %s: %w", o.Package, err)
	}
	if len(notes) == 0 { // which are to be read each time
		earlier.keep(file, image)
		o.read.keep(earlier, image)
	}
	return image, nil
}

// target returns the path to write the image to, name being the default, and makes
// Output what is said about it. The rename at the end of a build would replace
// anything, a device too, so what may be replaced is decided here.
func (o *BuildOptions) target(name string) (string, error) {
	if o.Output == os.DevNull {
		return os.DevNull, nil
	}
	folder := os.IsPathSeparator(o.Output[len(o.Output)-1])
	target := o.Output
	if !filepath.IsAbs(target) {
		target = filepath.Join(o.Dir, target)
	}
	fi, err := os.Stat(target)
	switch {
	case err == nil && fi.IsDir(): // as for go build
		o.Output = filepath.Join(o.Output, name)
		target = filepath.Join(target, name)
		fi, err = os.Stat(target)
	case folder:
		return "", fmt.Errorf("%w: %s is not a folder; make it first", ErrOutput, o.Output)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target, nil
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrOutput, err)
	case fi.IsDir():
		return "", fmt.Errorf("%w: %s is a folder", ErrOutput, o.Output)
	case !fi.Mode().IsRegular():
		return "", fmt.Errorf("%w: %s is not a regular file", ErrOutput, o.Output)
	case fi.Size() == 0:
		return target, nil
	}
	if !isELF(target) {
		return "", fmt.Errorf("%w: %s already exists and is not an object file", ErrOutput, o.Output)
	}
	return target, nil
}

// goBuild links the package into the file out, with the kernel k unless it is nil.
func (o *BuildOptions) goBuild(ctx context.Context, out string, k *kernel) error {
	ldflags := strings.TrimSpace(fmt.Sprintf("%s -T %#x -E %s", o.ldflags, TextAddress, o.EntrySymbol))
	args := []string{"build"}
	if o.Test {
		args = o.testArgs()
		if o.Events != nil {
			args = append(args, "-json")
		}
	}
	args = append(args, o.Flags...)
	if !o.Test { // of a test, -v is another flag
		args = append(args, o.progress.flag()...)
	}
	if o.Keep != "" && !o.Test && !o.stampsVersion() {
		args = append(args, "-buildvcs=false")
	}
	args = append(args, "-buildmode=exe", "-o", out, "-ldflags="+ldflags)
	if o.Tags != "" {
		args = append(args, "-tags="+o.Tags)
	}
	switch {
	case k != nil:
		toolexec, err := k.toolexec()
		if err != nil {
			return err
		}
		args = append(args, "-toolexec="+toolexec)
		args = append(args, o.markedGCFlags(k)...)
	case o.GCFlags != "":
		args = append(args, "-gcflags="+o.GCFlags)
	}
	args = append(args, o.kernelFlags(o.own)...)
	if o.uncovered {
		args = append(args, "-coverpkg="+strings.Join(o.covered, ","))
	}
	if !o.Test { // go test does not know it
		args = append(args, "--")
	}
	cmd := o.goCommand(ctx, "0", append(args, o.Package)...)
	said, end := o.progress.writer(o.Stderr)
	cmd.Stdout, cmd.Stderr = said, said
	if o.Test && o.Events != nil {
		cmd.Stdout = o.Events
	}
	err := host.Run(ctx, cmd)
	end()
	if err != nil {
		return o.goError(ctx, err, fmt.Errorf("%w: %s (%v)", ErrCompile, o.Package, err))
	}
	return nil
}

// testArgs is how the go command is told to build a test binary.
func (o *BuildOptions) testArgs() []string {
	return append([]string{"test", "-c", "-vet=off"}, o.TestFlags...)
}

// goCommand prepares a go command for the target.
func (o *BuildOptions) goCommand(ctx context.Context, cgo string, args ...string) *exec.Cmd {
	cmd := host.Command(ctx, "go", args...)
	cmd.Dir = o.Dir
	cmd.Env = append(o.Env[:len(o.Env):len(o.Env)], "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED="+cgo)
	if o.work != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+o.work)
	}
	return cmd
}

// goError says why the go command could not be run; other is the error if it was
// run and failed.
func (o *BuildOptions) goError(ctx context.Context, err, other error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: install Go 1.26 or newer from https://go.dev/dl and put it into PATH",
			ErrNoGo)
	}
	return other
}

// output runs a go command, and returns what it prints, and what it says on standard error.
func output(cmd *exec.Cmd) (printed, said []byte, err error) {
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	err = cmd.Run()
	return out.Bytes(), msg.Bytes(), err
}

// decodeAll reads what a go command prints with -json: values, one after the other.
func decodeAll[T any](printed []byte) (all []T, err error) {
	for d := json.NewDecoder(bytes.NewReader(printed)); err == nil && d.More(); {
		var v T
		err = d.Decode(&v)
		all = append(all, v)
	}
	return all, err
}

// goSaid is the end of an error message: the go command's own words, which name
// the cause, on lines of their own if they are many.
func goSaid(msg []byte, err error) string {
	switch s := strings.TrimSpace(string(msg)); {
	case s == "":
		return ": " + err.Error()
	case strings.Contains(s, "\n"):
		return ":\n" + s
	default:
		return ": " + s
	}
}

// DefaultOutput returns the name of the image of a main package: the last
// element of its import path that is not a major version, with ".elf". For a
// package given as a Go file it is the name of the file.
func DefaultOutput(importPath, arg string) string {
	base := path.Base(importPath)
	if importPath == "command-line-arguments" {
		base = strings.TrimSuffix(filepath.Base(arg), ".go")
	} else if v, ok := strings.CutPrefix(base, "v"); ok && v != "" &&
		strings.Trim(v, "0123456789") == "" {
		if dir := path.Dir(importPath); dir != "." {
			base = path.Base(dir)
		}
	}
	return base + ".elf"
}
