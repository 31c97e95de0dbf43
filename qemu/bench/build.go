package main

import (
	"os"
	"os/exec"
)

// goBuild builds a package for Linux with the go command's defaults, without cgo.
func goBuild(pkg, out string) error {
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
