package image

// What can be wrong with a build is found before it is started, from the
// environment and `go list`, because the compiler's and the linker's own words
// for these mistakes do not name the cause: a package that needs cgo, for one, is
// said to have no Go files.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrNoPackage is returned when the package cannot be found, and when a
	// pattern matches more than one.
	ErrNoPackage = errors.New("package not found")
	// ErrLoad is returned when the go command cannot read the package or its
	// module.
	ErrLoad = errors.New("cannot load package")
	// ErrNotMain is returned for a package that is not a main package.
	ErrNotMain = errors.New("not a main package")
	// ErrNoKernel is returned for a program that does not import the kernel, if
	// the kernel's source cannot be found or compiled.
	ErrNoKernel = errors.New("no kernel to add")
	// ErrNoTests is returned for a test binary of a package without test files.
	ErrNoTests = errors.New("no test files")
	// ErrKernelTest is returned for the test of a package that the kernel itself
	// imports: a test binary has a build of its own of that package, and the
	// kernel would need another.
	ErrKernelTest = errors.New("the kernel's own packages are tested by go test")
	// ErrCgo is returned when cgo is asked for or needed.
	ErrCgo = errors.New("cgo cannot run without an operating system")
	// ErrTarget is returned when the environment asks for another system or
	// architecture than linux/amd64, or for instructions that are not there.
	ErrTarget = errors.New("wrong target")
	// ErrBuildMode is returned for a -buildmode other than exe.
	ErrBuildMode = errors.New("wrong build mode")
)

// needs notes what the build has to add to what the program imports: the kernel, and parts of it.
func (o *BuildOptions) needs(pkgs []listed) {
	o.missing = []string{o.KernelPackage}
	isNet := func(p listed) bool { return p.ImportPath == "net" }
	if o.inet = o.Inet && slices.ContainsFunc(pkgs, isNet); o.inet {
		o.missing = append(o.missing, o.KernelPackage+InetPackage)
	} else if o.Net {
		o.missing = append(o.missing, o.KernelPackage+NetPackage)
	}
	if o.HeapProfile {
		o.missing = append(o.missing, o.KernelPackage+HeapPackage)
	}
	if o.Zones || loadsZones(pkgs) {
		o.missing = append(o.missing, zonePackage)
	}
}

// check finds what is known to make a build fail, and returns the import path of
// the package. It finds out what the build has to add to what that imports.
func (o *BuildOptions) check(ctx context.Context) (importPath string, err error) {
	pkgs, err := o.list(ctx, "0")
	if err != nil {
		return "", err
	}
	o.progress = o.newProgress(pkgs)
	o.read.packages(pkgs)
	root, err := o.checkListed(ctx, pkgs)
	if err != nil {
		return "", err
	}
	if err := o.settleFlags(pkgs, root); err != nil {
		return "", err
	}
	// which may be for packages that are named
	if !o.inGOFLAGS("gcflags") && o.profile == "" && !o.covers() {
		o.standard = standardImports(pkgs)
	}
	if !root.Standard {
		for _, hint := range hints(pkgs) {
			o.note(hint)
		}
	}
	if o.Test &&
		!slices.ContainsFunc(pkgs,
			func(p listed) bool { return p.ImportPath == root.ImportPath+".test" }) {
		return "", fmt.Errorf("%w: %s", ErrNoTests, o.Package)
	}
	o.needs(pkgs)
	o.dirs, o.modules = make(map[string]string), make(map[string]*listedModule)
	for _, p := range pkgs {
		name, variant, _ := strings.Cut(p.ImportPath, " ")
		if !p.Standard {
			o.dirs[name] = p.Dir
			if p.Module != nil && variant == "" {
				o.modules[p.Module.Path] = p.Module
			}
		}
		o.missing = slices.DeleteFunc(o.missing, func(missing string) bool { return name == missing })
		if name == modulePath || strings.HasPrefix(name, modulePath+"/") {
			o.usesModule = true
		}
		if name == o.KernelPackage+"/parts" {
			o.Parts = nil // the program compiles that package itself
		}
		// The test binary's variant of a package, "p [q.test]".
		if o.Test && variant != "" {
			o.variants = append(o.variants, name)
		}
		if o.Test && variant != "" && strings.HasPrefix(o.KernelPackage, modulePath) &&
			o.kernelImports(ctx, name) {
			return "", fmt.Errorf("%w: run `go test %s`", ErrKernelTest, o.Package)
		}
	}
	if o.Parts != nil && makesSockets(pkgs, root) {
		o.Parts = append(o.Parts[:len(o.Parts):len(o.Parts)], "sockets")
	}
	o.read.importPath = root.ImportPath
	return root.ImportPath, nil
}

// standardImports returns the packages of Go's own that the others import, and tests of Go's own.
func standardImports(pkgs []listed) (paths []string) {
	standard := make(map[string]bool)
	for _, p := range pkgs {
		standard[p.ImportPath] = p.Standard && p.ForTest == "" && p.Error == nil
	}
	for _, p := range pkgs {
		if standard[p.ImportPath] && !strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		for _, path := range p.Imports {
			if standard[path] && path != "unsafe" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// checkListed finds the one package to build.
func (o *BuildOptions) checkListed(ctx context.Context, pkgs []listed) (*listed, error) {
	var roots []*listed
	broken := false
	for i, p := range pkgs {
		// With -test, test binaries and their variants of packages are listed too.
		if !p.DepOnly && p.ForTest == "" && !(o.Test && p.Name == "main" &&
			strings.HasSuffix(p.ImportPath, ".test")) {
			roots = append(roots, &pkgs[i])
		}
		broken = broken || p.Error != nil
	}
	switch {
	case len(roots) == 0:
		return nil, fmt.Errorf("%w: %s matches no package", ErrNoPackage, o.Package)
	case len(roots) > 1:
		return nil, fmt.Errorf("%w: %s matches %d packages (%s, %s, ...); name one",
			ErrNoPackage, o.Package, len(roots), roots[0].ImportPath, roots[1].ImportPath)
	}
	if broken {
		if err := o.checkCgo(ctx); err != nil {
			return nil, err
		}
	}
	root := roots[0]
	switch {
	case root.Error != nil && root.missing() && o.Folder != "":
		return nil, fmt.Errorf("%w: %s: %s; the folder is %s", ErrNoPackage, o.Package,
			strings.TrimSpace(root.Error.Err), o.Folder)
	case root.Error != nil && root.missing():
		return nil, fmt.Errorf("%w: %s: %s", ErrNoPackage, o.Package, strings.TrimSpace(root.Error.Err))
	case root.Error != nil && strings.HasPrefix(root.Error.Err, "no Go files in "):
		return nil, fmt.Errorf("%w %s: %s; name a folder with a package main", ErrLoad, o.Package,
			strings.TrimSpace(root.Error.Err))
	case root.Error != nil:
		return nil, fmt.Errorf("%w %s%s", ErrLoad, o.Package,
			goSaid([]byte(root.Error.Err), errors.New("unknown error")))
	case root.Name != "main" && !o.Test:
		return nil, fmt.Errorf("%w: %s is package %s; name a folder with a package main", ErrNotMain,
			o.Package, root.Name)
	}
	return root, nil
}

// kernelImports reports whether the kernel is or imports that package of our module.
func (o *BuildOptions) kernelImports(ctx context.Context, name string) bool {
	if !strings.HasPrefix(name, modulePath+"/") {
		return false
	}
	out, err := o.goCommand(ctx, "0", "list", "-deps", "--", o.KernelPackage).Output()
	return err == nil && slices.Contains(strings.Fields(string(out)), name)
}

// checkEnvironment refuses settings that a user made on purpose and that an
// image cannot follow, rather than override them silently.
func (o *BuildOptions) checkEnvironment(ctx context.Context) error {
	changed := make(map[string]string)
	cmd := o.goCommand(ctx, "0", "env", "-changed", "-json")
	cmd.Env = append(o.Env[:len(o.Env):len(o.Env)], "TMPDIR="+o.work) // not the target, which is set
	out, msg, err := output(cmd)
	if err != nil {
		if bytes.Contains(msg, []byte("not defined: -changed")) { // Go 1.23 has it
			return oldGo("older than go1.23")
		}
		return o.goError(ctx, err, fmt.Errorf("%w%s", ErrGoEnv, goSaid(msg, err)))
	}
	if err := json.Unmarshal(out, &changed); err != nil {
		return fmt.Errorf("%w: %v", ErrGoEnv, err)
	}
	// The go command lists what differs from the default; what was set to the
	// host's own value is in the environment alone.
	for _, kv := range o.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && v != "" &&
			(k == "GOOS" || k == "GOARCH" || k == "CGO_ENABLED") {
			changed[k] = v
		}
	}
	if v := changed["GOARCH"]; v != "" && v != "amd64" {
		return fmt.Errorf("%w: GOARCH=%s is set, images are for amd64; unset GOARCH", ErrTarget, v)
	}
	if v := changed["GOOS"]; v != "" && v != "linux" {
		return fmt.Errorf(
			"%w: GOOS=%s is set, images are built for linux, whose system calls the kernel speaks; unset GOOS", ErrTarget, v)
	}
	if changed["CGO_ENABLED"] == "1" {
		return fmt.Errorf("%w: CGO_ENABLED=1 is set; unset it", ErrCgo)
	}
	o.goflags = splitFlags(changed["GOFLAGS"])
	return o.checkFlags()
}

// checkCgo names the first package outside the standard library that would use
// cgo if it could. It is asked only when a package has no Go files without cgo:
// many packages use cgo where it is there and do well without.
func (o *BuildOptions) checkCgo(ctx context.Context) error {
	pkgs, err := o.list(ctx, "1")
	if err != nil {
		return err
	}
	for _, p := range pkgs {
		if len(p.CgoFiles) > 0 && !p.Standard {
			return fmt.Errorf("%w: %s uses it (%s)%s; remove the import or build without that package",
				ErrCgo, p.ImportPath, strings.Join(p.CgoFiles, ", "), importedBy(pkgs, &p))
		}
	}
	return nil
}

// listed is the part of `go list -json` that is of use here.
type listed struct {
	ImportPath string
	Name       string
	Standard   bool
	DepOnly    bool
	ForTest    string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	SFiles     []string
	Imports    []string
	Module     *listedModule
	Error      *struct{ Err string }

	EmbedFiles, TestEmbedFiles, XTestEmbedFiles []string
}

// missing reports whether the package is not there, as opposed to one that cannot
// be read. The go command has no code for it but its words; where they change, the
// error is the general one.
func (p *listed) missing() bool {
	for _, s := range []string{"not found", "no such file", "is not in std",
		"no required module provides", "cannot find", "malformed import path"} {
		if strings.Contains(p.Error.Err, s) {
			return true
		}
	}
	return false
}

// goList runs go list for patterns, with the flags of the build.
func (o *BuildOptions) goList(ctx context.Context, cgo string, args []string,
	patterns ...string) (printed, said []byte, err error) {
	args = append([]string{"list", "-e"}, args...)
	if o.Tags != "" {
		args = append(args, "-tags="+o.Tags)
	}
	args = append(append(args, o.Flags...), "--")
	return output(o.goCommand(ctx, cgo, append(args, patterns...)...))
}

// list returns the package and all it imports, with their errors.
func (o *BuildOptions) list(ctx context.Context, cgo string) ([]listed, error) {
	args := []string{"-deps",
		"-json=ImportPath,Name,Standard,DepOnly,ForTest,Dir,GoFiles,CgoFiles,SFiles,EmbedFiles,TestEmbedFiles,XTestEmbedFiles,Imports,Module,Error"}
	if o.Test {
		args = append(args, "-test")
	}
	out, msg, err := o.goList(ctx, cgo, args, o.Package)
	if err != nil {
		if bytes.Contains(msg, []byte("go.mod file not found")) {
			return nil, fmt.Errorf(
				"%w %s: no go.mod in this folder or above; change to the folder of a module, or make one: go mod init NAME", ErrLoad, o.Package)
		}
		return nil, o.goError(ctx, err, fmt.Errorf("%w %s%s", ErrLoad, o.Package,
			goSaid(msg, err)))
	}
	pkgs, err := decodeAll[listed](out)
	if err != nil {
		return nil, fmt.Errorf("%w %s: go list: %v", ErrLoad, o.Package, err)
	}
	return pkgs, nil
}
