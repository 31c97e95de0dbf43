package qemu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// UEFIVariable is the environment variable that names the UEFI firmware.
const UEFIVariable = "ZF_UEFI"

// ErrNoUEFI is returned when there is no UEFI firmware.
var ErrNoUEFI = errors.New("UEFI firmware not found")

// uefiPaths is where systems have OVMF's code; Debian, Fedora, Arch, openSUSE, Alpine,
// and what comes with QEMU itself.
var uefiPaths = []string{
	"/usr/share/OVMF/OVMF_CODE_4M.fd",
	"/usr/share/OVMF/OVMF_CODE.fd",
	"/usr/share/edk2/ovmf/OVMF_CODE.fd",
	"/usr/share/edk2/x64/OVMF_CODE.4m.fd",
	"/usr/share/edk2-ovmf/x64/OVMF_CODE.fd",
	"/usr/share/qemu/ovmf-x86_64-code.bin",
	"/usr/share/qemu/edk2-x86_64-code.fd",
}

// FindUEFI returns the path of the UEFI firmware for QEMU: $ZF_UEFI if it is set, or
// OVMF where systems and QEMU have it. Errors wrap [ErrNoUEFI].
func FindUEFI() (string, error) {
	if path := os.Getenv(UEFIVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%w: $%s: %v; correct it or unset it", ErrNoUEFI, UEFIVariable, err)
		}
		return path, nil
	}
	paths := uefiPaths
	if program, err := Find(); err == nil {
		// Homebrew has it beside the program.
		paths = append(paths[:len(paths):len(paths)],
			filepath.Join(filepath.Dir(program), "../share/qemu/edk2-x86_64-code.fd"))
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: %s, or name its OVMF_CODE.fd in $%s", ErrNoUEFI,
		host.InstallHint("install OVMF", "ovmf"), UEFIVariable)
}
