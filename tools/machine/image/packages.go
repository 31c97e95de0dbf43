package image

// Which packages there are to test is asked of the go command, for patterns and all
// that depends on the environment are its own.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// TestPackage is a package whose tests can be built with [BuildOptions.Test].
type TestPackage struct {
	ImportPath string
	Dir        string // absolute path of its folder
	Root       string // of its module, or of the Go distribution if it is Standard
	Standard   bool   // it belongs to the Go distribution
	Main       bool   // it belongs to the module in whose folder the command runs, or its workspace
	HasTests   bool   // it has test files
	Err        error  // it cannot be read; wraps [ErrLoad]
}

// SourceFolders returns the folders in which the sources of programs lie: the Go distribution,
// the module cache and, if there is one, the folder of the workspace's go.work. Errors wrap
// those of check.go.
func SourceFolders(ctx context.Context, o BuildOptions) (dirs []string, err error) {
	end, err := o.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	paths, err := o.goEnv(ctx, "GOROOT", "GOMODCACHE", "GOWORK")
	if err != nil {
		return nil, err
	}
	for i, path := range strings.Split(paths, "\n") {
		path = strings.TrimSpace(path)
		if i == 2 && path != "" && path != "off" {
			path = filepath.Dir(path)
		}
		if filepath.IsAbs(path) {
			dirs = append(dirs, filepath.Clean(path))
		}
	}
	return dirs, nil
}

// TestPackages returns the packages that patterns match, such as ./..., with the
// settings of o. Errors wrap [ErrNoPackage], [ErrLoad] or those of check.go.
func TestPackages(ctx context.Context, o BuildOptions, patterns []string) ([]TestPackage, error) {
	end, err := o.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	if err := o.checkEnvironment(ctx); err != nil {
		return nil, err
	}
	for _, p := range patterns {
		if strings.HasSuffix(p, ".go") {
			return nil, fmt.Errorf("%w: %s is a file; name a package", ErrNoPackage, p)
		}
	}
	out, msg, err := o.goList(ctx, "0", []string{
		"-json=ImportPath,Dir,Root,Standard,Module,TestGoFiles,XTestGoFiles,Error"}, patterns...)
	if err != nil {
		return nil, o.goError(ctx, err, fmt.Errorf("%w %s%s", ErrLoad, strings.Join(patterns, " "),
			goSaid(msg, err)))
	}
	found, err := decodeAll[struct {
		listed
		Root   string
		Module *struct {
			Dir  string
			Main bool
		}
		TestGoFiles, XTestGoFiles []string
	}](out)
	if err != nil {
		return nil, fmt.Errorf("%w: go list: %v", ErrLoad, err)
	}
	var pkgs []TestPackage
	for _, p := range found {
		t := TestPackage{
			ImportPath: p.ImportPath, Dir: p.Dir, Root: p.Root, Standard: p.Standard,
			HasTests: len(p.TestGoFiles)+len(p.XTestGoFiles) > 0,
		}
		if p.Module != nil && p.Module.Dir != "" {
			t.Root = p.Module.Dir
		}
		t.Main = p.Module != nil && p.Module.Main
		if p.Error != nil {
			t.Err = fmt.Errorf("%w %s%s", ErrLoad, p.ImportPath,
				goSaid([]byte(p.Error.Err), errors.New("unknown error")))
		}
		pkgs = append(pkgs, t)
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("%w: %s matches no package", ErrNoPackage, strings.Join(patterns, " "))
	}
	return pkgs, nil
}
