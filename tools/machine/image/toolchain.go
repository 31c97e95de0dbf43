package image

// What a build needs of this machine, checked without a build.

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"strings"
)

// oldestGo is the version of Go that go.mod asks for; a test compares.
const oldestGo = "go1.26"

// ErrOldGo is returned when the go command is too old for the kernel.
var ErrOldGo = errors.New("old toolchain")

// CheckGo returns the version of the go command in PATH. The error says why it cannot build
// images: it wraps [ErrNoGo], [ErrOldGo] or what [Build] says of the environment. Context: host.
func CheckGo(ctx context.Context) (string, error) {
	o := new(BuildOptions)
	end, err := o.begin()
	if err != nil {
		return "", err
	}
	defer end()
	if err := o.checkEnvironment(ctx); err != nil {
		return "", err
	}
	have, err := o.goEnv(ctx, "GOVERSION")
	if err != nil {
		return "", err
	}
	if plain, _, _ := strings.Cut(have, " "); version.IsValid(plain) &&
		version.Compare(plain, oldestGo) < 0 {
		return "", oldGo(have)
	}
	return have, nil
}

// oldGo is the error for a version of Go.
func oldGo(have string) error {
	return fmt.Errorf(
		"%w: Go is %s, and the kernel needs %s or newer; install that from https://go.dev/dl and put it into PATH", ErrOldGo, have, oldestGo)
}

// CheckKernel returns the folder that the kernel of a program without one comes from. Errors
// wrap [ErrNoKernel]. Context: host.
func CheckKernel(ctx context.Context) (string, error) {
	o := &BuildOptions{KernelPackage: KernelPackage, Package: "."}
	end, err := o.begin()
	if err != nil {
		return "", err
	}
	defer end()
	dir, err := o.kernelSource(ctx)
	if err == nil && dir == "" {
		dir = "this module or its requirements"
	}
	return dir, err
}
