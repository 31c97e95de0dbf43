package qemu

// Which QEMU runs is the user's choice first (ZF_QEMU), the PATH's second, and
// where there is none the error is the command that installs it here.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

const (
	// Program is the name of the QEMU that is looked up.
	Program = "qemu-system-x86_64"
	// Variable is the environment variable that names another one, by path or
	// by name, without arguments.
	Variable = "ZF_QEMU"
)

// ErrNotFound is what a [NotFoundError] wraps.
var ErrNotFound = errors.New("QEMU not found")

// NotFoundError says that there is no QEMU and how to get one.
type NotFoundError struct {
	Name    string // what was looked up
	Install string // the command that installs QEMU on this system; "" if unknown
}

// Error names what was looked up and the next step.
func (e *NotFoundError) Error() string {
	if e.Name != Program {
		return fmt.Sprintf("%v: $%s is %s, which cannot be run; correct it or unset it", ErrNotFound,
			Variable, e.Name)
	}
	if e.Install == "" {
		return fmt.Sprintf("%v: install %s and put it into PATH, or name it in $%s", ErrNotFound,
			Program, Variable)
	}
	return fmt.Sprintf("%v: no %s in PATH; install it with: %s", ErrNotFound, Program, e.Install)
}

// Unwrap returns [ErrNotFound].
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// orFound returns program, or what Find does if it is "".
func orFound(program string) (string, error) {
	if program != "" {
		return program, nil
	}
	return Find()
}

// Find returns the path of the QEMU to run: $ZF_QEMU if it is set, else
// qemu-system-x86_64 in PATH. The error is a [*NotFoundError].
func Find() (string, error) {
	name := os.Getenv(Variable)
	if name == "" {
		name = Program
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &NotFoundError{Name: name, Install: host.InstallCommand("qemu")}
	}
	return path, nil
}
