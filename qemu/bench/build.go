package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/image"
)

// build builds an image of a package, with the kernel in it.
func (b *bench) build(pkg, name string) (string, error) {
	path := filepath.Join(b.dir, name)
	_, err := image.Build(context.Background(), image.BuildOptions{Package: pkg, Output: path, Stderr: os.Stderr})
	return path, err
}

// goBuild builds a package for Linux with the go command's defaults, without cgo.
func goBuild(pkg, out string) error {
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
