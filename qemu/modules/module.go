package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// folder is a module's copy. Tests run in a copy, since on the host they may write into their
// folder, and Go's module cache is everybody's. The copy is the main module, so that its own
// go.mod and go.sum say which versions of others it gets.
type folder struct {
	path string // the copy
	from string // Go's module cache
	sum  string // state of the copy as it was made
}

// environment is what each go command and zf get besides ours.
var environment = []string{"GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=mod -buildvcs=false"}

// fetch makes a copy of a module, and returns it with those of its packages that have tests.
// All that their tests import is downloaded, too.
func (s *settings) fetch(ctx context.Context, m module) ([]image.TestPackage, *folder, error) {
	out, err := batch.Output(ctx, s.Dir, environment, "go", "mod", "download", "-json",
		m.path+"@"+m.version)
	if err != nil {
		return nil, nil, err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		return nil, nil, fmt.Errorf("go mod download: %w", err)
	}
	d := &folder{path: filepath.Join(s.Dir, strings.NewReplacer("/", "_").Replace(m.path)),
		from: found.Dir}
	if err := d.fill(); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(filepath.Join(d.path, "go.mod")); err != nil {
		return nil, nil, errors.New("it has no go.mod; take a version that has one")
	}
	list := append([]string{"list", "-deps", "-test", "--"}, m.patterns...)
	if _, err := batch.Output(ctx, d.path, environment, "go", list...); err != nil {
		return nil, nil, err
	}
	all, err := image.TestPackages(ctx, image.BuildOptions{Test: true, Dir: d.path,
		Env: append(os.Environ(), environment...)}, m.patterns)
	if err != nil {
		return nil, nil, err
	}
	var pkgs []image.TestPackage
	for _, p := range all {
		if p.Err == nil && p.HasTests { // what cannot be read is no package for linux/amd64
			pkgs = append(pkgs, p)
		}
	}
	if len(pkgs) == 0 {
		return nil, nil, errors.New("no package has tests")
	}
	d.sum, err = d.state()
	return pkgs, d, err
}

// fill makes the copy anew. The cache is read-only, and the copy need not be.
func (d *folder) fill() error {
	_, err := batch.Output(context.Background(), "", nil, "sh", "-c",
		`rm -rf "$1" && cp -r "$0" "$1" && chmod -R u+w "$1"`, d.from, d.path)
	return err
}

// restore undoes what a test has written into the copy.
func (d *folder) restore() error {
	now, err := d.state()
	if err != nil || now == d.sum {
		return err
	}
	if err := d.fill(); err != nil {
		return err
	}
	d.sum, err = d.state()
	return err
}

// state is what there is in the copy, with sizes and times but for what the go command changes.
func (d *folder) state() (all string, err error) {
	err = filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all += path + "\n"
		if info, err := e.Info(); err == nil && !e.IsDir() && e.Name() != "go.mod" &&
			e.Name() != "go.sum" {
			all += fmt.Sprintln(info.Size(), info.ModTime(), info.Mode())
		}
		return nil
	})
	return all, err
}
