package image

// A program that does not import the kernel is linked with one that the build finds
// by itself: that of the program's own module, if it requires one, and otherwise
// the one that this program was built with. Its packages are compiled by the same
// toolchain and with the same settings as the program's, since archives of two
// toolchains do not link.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

const (
	// modulePath is the module of the kernel and of this package.
	modulePath = "github.com/zeroframe/zeroframe"
	// SourceEnv is the environment variable that names the folder of the module
	// github.com/zeroframe/zeroframe to take the kernel from.
	SourceEnv = "ZEROFRAME"
)

// ErrNoTool is returned when a program calls [Build] but not [RunTool].
var ErrNoTool = errors.New(
	"this program cannot add the kernel to a build: it does not call image.RunTool first thing in main")

// kernel is a compiled kernel to be added to a build.
type kernel struct {
	dir  string // for runTool
	hash string // of all its archives
}

// kernelPackage is what `go list -export` says of the kernel's packages.
type kernelPackage struct {
	listed
	Export  string // the archive
	BuildID string // its build ID, which ends in a hash of its contents
	Deps    []string
}

// needed returns the packages that are missing and what they import.
func (o *BuildOptions) needed(pkgs []kernelPackage) map[string]bool {
	needed := make(map[string]bool)
	for _, p := range pkgs {
		if slices.Contains(o.missing, p.ImportPath) {
			needed[p.ImportPath] = true
			for _, name := range p.Deps {
				needed[name] = true
			}
		}
	}
	return needed
}

// addKernel compiles the kernel and describes it in the folder dir for runTool.
func (o *BuildOptions) addKernel(ctx context.Context, dir string) (*kernel, error) {
	if !toolReady {
		return nil, ErrNoTool
	}
	source, err := o.kernelSource(ctx)
	if err != nil {
		return nil, err
	}
	if source != "" {
		o.kernelDir = filepath.Join(source, strings.TrimPrefix(o.KernelPackage, modulePath))
	}
	if o.pins, err = o.pin(ctx, source, dir); err != nil {
		return nil, err
	}
	pkgs, err := o.compileKernel(ctx, source, dir)
	if err != nil {
		return nil, err
	}
	needed := o.needed(pkgs)
	h := sha256.New()
	var cfg strings.Builder
	for _, p := range pkgs {
		o.read.packages([]listed{p.listed})
		if p.Export == "" || !needed[p.ImportPath] { // package unsafe; the program's
			continue
		}
		if own := o.dirs[p.ImportPath]; !p.Standard && own != "" && own != p.Dir {
			return nil, twoVersions(p.ImportPath, p.Dir)
		}
		if slices.Contains(o.variants, p.ImportPath) {
			return nil, fmt.Errorf("%w: the network stack imports %s, of which this test has a "+
				"build of its own, and two do not link; without -net it has a kernel with loopback alone",
				ErrNoKernel, p.ImportPath)
		}
		if _, err := os.Stat(p.Export); err != nil {
			return nil, fmt.Errorf("%w: %s: %v", ErrNoKernel, p.ImportPath, err)
		}
		fmt.Fprintf(h, "%s %s\n", p.ImportPath, p.BuildID)
		fmt.Fprintf(&cfg, "packagefile %s=%s\n", p.ImportPath, p.Export)
	}
	if err := os.WriteFile(filepath.Join(dir, archivesFile), []byte(cfg.String()), 0o644); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrOutput, err)
	}
	// An absolute file name in the line directive keeps dir, which is another one
	// each time, out of the archive.
	src := fmt.Sprintf("//line /%s:1\npackage main\n\n", importFile)
	for _, name := range o.missing {
		src += fmt.Sprintf("import _ %q\n", name)
	}
	if err := os.WriteFile(filepath.Join(dir, importFile), []byte(src), 0o644); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrOutput, err)
	}
	return &kernel{dir: dir, hash: fmt.Sprintf("%x", h.Sum(nil)[:16])}, nil
}

// toolexec is the value of the go command's flag -toolexec.
func (k *kernel) toolexec() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrNoTool, err)
	}
	words, err := joinFlags([]string{exe, toolWord, k.dir})
	if err != nil {
		return "", fmt.Errorf("%w: the path %w", ErrOutput, err)
	}
	return words, nil
}

// compileKernel compiles the kernel in the module at source, or in the program's own
// if source is "", and returns its packages. With it those of Go's packages are compiled that
// the program imports, and are returned, too: with an empty cache they come side by side then,
// where one after the other a processor would often have nothing to do. What is compiled is in
// the go command's build cache. dir is a folder for what that needs.
func (o *BuildOptions) compileKernel(ctx context.Context, source,
	dir string) ([]kernelPackage, error) {
	cmd, err := o.kernelCommand(ctx, source, dir)
	if err != nil {
		return nil, err
	}
	var out, msg bytes.Buffer
	said, end := o.progress.writer(&msg)
	cmd.Stdout, cmd.Stderr = &out, said
	if o.progress != nil {
		o.progress.kernel = func() []string {
			names := host.Command(ctx, cmd.Path,
				append([]string{"list", "-deps", "--"}, o.missing...)...)
			names.Dir, names.Env = cmd.Dir, cmd.Env
			out, _ := names.Output() // without them, the program's packages are all there is
			return strings.Fields(string(out))
		}
	}
	err = host.Run(ctx, cmd)
	end()
	if err != nil {
		// go: go.mod requires go >= 1.26.0 (running go 1.24.3; GOTOOLCHAIN=local)
		if _, running, ok := strings.Cut(msg.String(), " (running "); ok &&
			strings.Contains(msg.String(), " requires go >= ") {
			running, _, _ = strings.Cut(running, ";")
			return nil, oldGo(strings.ReplaceAll(running, "go ", "go"))
		}
		return nil, o.goError(ctx, err, fmt.Errorf("%w: the kernel %s cannot be compiled%s%s",
			ErrNoKernel, strings.Join(o.missing, " with "), o.pins, goSaid(msg.Bytes(), err)))
	}
	pkgs, err := decodeAll[kernelPackage](out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w: go list: %v", ErrNoKernel, err)
	}
	return pkgs, nil
}

// kernelCommand is the go command that does it.
func (o *BuildOptions) kernelCommand(ctx context.Context, source, dir string) (*exec.Cmd, error) {
	args := append([]string{"list", "-export", "-deps",
		"-json=ImportPath,Dir,Standard,EmbedFiles,Export,BuildID,Deps"}, o.progress.flag()...)
	if o.Tags != "" {
		args = append(args, "-tags="+o.Tags)
	}
	if slices.Contains(o.Flags, "-trimpath=true") {
		args = append(args, "-trimpath") // or the two would differ in the standard library
	}
	for _, f := range o.values("gcflags") {
		// Those without a pattern are for the packages that are named, and the
		// kernel is not; a folder as a pattern is relative to the program's.
		if f = strings.TrimSpace(f); f != "" && !strings.HasPrefix(f, "-") && !strings.HasPrefix(f, ".") {
			args = append(args, "-gcflags="+f)
		}
	}
	args = append(args, o.kernelFlags([]string{modulePath + "/...", o.KernelPackage + "/..."})...)
	args = append(args, "-pgo="+cmp.Or(o.profile, "off"))
	args = append(args, o.kernelCover()...)
	names := append(o.missing[:len(o.missing):len(o.missing)], o.standard...)
	overlay, err := o.overlay(dir)
	if err != nil {
		return nil, err
	}
	if source == "" {
		args = append(args, o.moduleFlags()...)
		if o.Parts != nil {
			args = append(args, "-overlay="+overlay)
		}
		args = append(args, "--")
		return o.goCommand(ctx, "0", append(args, names...)...), nil
	}
	// What GOFLAGS and a workspace say of modules is said of the program's.
	args = append(args, "-mod=readonly", "-modfile="+o.pins.modfile, "-overlay="+overlay, "--")
	return o.sourceCommand(ctx, source, append(args, names...))
}

// sourceCommand is a go command of the program's toolchain for the module in the folder source.
func (o *BuildOptions) sourceCommand(ctx context.Context, source string,
	args []string) (*exec.Cmd, error) {
	tc, err := o.toolchain(ctx)
	if err != nil {
		return nil, err
	}
	cmd := o.goCommand(ctx, "0", args...)
	cmd.Path, cmd.Err = filepath.Join(tc, "bin", "go"), nil
	cmd.Dir = source
	cmd.Env = append(cmd.Env, "GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on", "PWD="+source)
	return cmd, nil
}

// toolchain returns the root of the toolchain that builds the program, which its
// go.mod may have chosen.
func (o *BuildOptions) toolchain(ctx context.Context) (string, error) {
	return o.goEnv(ctx, "GOROOT")
}

// goEnv returns what the go command says of variables, a line each.
func (o *BuildOptions) goEnv(ctx context.Context, names ...string) (string, error) {
	cmd := o.goCommand(ctx, "0", append([]string{"env"}, names...)...)
	out, msg, err := output(cmd)
	if err != nil {
		return "", o.goError(ctx, err, fmt.Errorf("%w%s", ErrGoEnv, goSaid(msg, err)))
	}
	return strings.TrimSpace(string(out)), nil
}

// kernelSource returns the folder of the module that the kernel is taken from, or ""
// if the kernel is found from the folder of the build.
func (o *BuildOptions) kernelSource(ctx context.Context) (string, error) {
	cmd := o.goCommand(ctx, "0", append(append([]string{"list", "-e", "-json=Dir,Error"},
		o.moduleFlags()...), "--", o.KernelPackage)...)
	var own struct {
		Dir   string
		Error *struct{ Err string }
	}
	out, err := cmd.Output()
	if err == nil && json.Unmarshal(out, &own) == nil && own.Error == nil && own.Dir != "" {
		o.kernelDir = own.Dir
		return "", nil
	}
	if o.KernelPackage != modulePath && !strings.HasPrefix(o.KernelPackage, modulePath+"/") {
		why := "not found"
		if own.Error != nil {
			why = strings.TrimSpace(own.Error.Err)
		}
		return "", fmt.Errorf("%w: the kernel %s: %s", ErrNoKernel, o.KernelPackage, why)
	}
	if o.usesModule {
		// Two versions of one package do not link.
		return "", fmt.Errorf(
			"%w: %s imports a part of %s but its module does not have the kernel; require a newer version",
			ErrNoKernel, o.Package, modulePath)
	}
	if dir := o.getenv(SourceEnv); dir != "" {
		if !isModule(dir) {
			return "", fmt.Errorf("%w: %s=%s is not the folder of module %s", ErrNoKernel, SourceEnv,
				dir, modulePath)
		}
		return filepath.Abs(dir)
	}
	if dir := builtFrom(); dir != "" {
		return dir, nil
	}
	if version := moduleVersion(); version != "" {
		return o.downloadKernel(ctx, version)
	}
	return "", fmt.Errorf(
		"%w: %s does not import the kernel, and where its source is is not known; set %s to the folder of module %s, or require the module in go.mod",
		ErrNoKernel, o.Package, SourceEnv, modulePath)
}

// builtFrom returns the folder of the module that this program was built from, if that is still
// there; else "".
func builtFrom() string {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), "../../.."); isModule(dir) {
			return dir
		}
	}
	return ""
}

// downloadKernel returns the folder of that version of the module in the module
// cache.
func (o *BuildOptions) downloadKernel(ctx context.Context, version string) (string, error) {
	cmd := o.goCommand(ctx, "0", "mod", "download", "-json", modulePath+"@"+version)
	var mod struct{ Dir, Error string }
	out, msg, err := output(cmd)
	if jerr := json.Unmarshal(out, &mod); jerr == nil && mod.Error != "" {
		err = errors.New(mod.Error)
	}
	if err != nil || mod.Dir == "" {
		return "", o.goError(ctx, err, fmt.Errorf("%w: %s@%s cannot be had%s; set %s to a folder with it",
			ErrNoKernel, modulePath, version, goSaid(msg, err), SourceEnv))
	}
	return mod.Dir, nil
}

// moduleVersion returns the version of our module in the running program, or "" if
// it was built from a folder.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	m := &info.Main
	for _, d := range info.Deps {
		if d.Path == modulePath {
			m = d
		}
	}
	if m.Path != modulePath || m.Replace != nil || m.Version == "(devel)" ||
		strings.HasSuffix(m.Version, "+dirty") {
		return ""
	}
	return m.Version
}

// isModule reports whether dir is the folder of our module.
func isModule(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	line := `(?m)^module\s+"?` + regexp.QuoteMeta(modulePath) + `"?\s*(//.*)?$`
	return err == nil && regexp.MustCompile(line).Match(mod)
}

// getenv returns a variable of the go command's environment.
func (o *BuildOptions) getenv(key string) (value string) {
	for _, kv := range o.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}

// markedGCFlags returns the -gcflags arguments of a build with the kernel added. The
// last one that matches a package counts, so the mark is in each that may match the
// main package.
func (o *BuildOptions) markedGCFlags(k *kernel) []string {
	mark := marker + k.hash
	args := []string{"-gcflags=" + mark}
	for _, f := range o.values("gcflags") {
		args = append(args, "-gcflags="+strings.TrimSpace(strings.TrimSpace(f)+" "+mark))
	}
	return args
}
