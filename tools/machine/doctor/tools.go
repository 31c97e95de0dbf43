package doctor

// Programs are asked for their version by their own flag; what cannot say it does not work.

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/host"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

// Grub checks what zf iso needs.
func Grub(context.Context) Finding {
	path, firmware, err := iso.Find()
	switch {
	case err != nil:
		return Missing("for zf iso: %v", err)
	case iso.MissingFirmware(firmware) != "":
		return Finding{OK, fmt.Sprintf("%s, for %s; %s", path, strings.Join(firmware, " and "),
			iso.MissingFirmware(firmware))}
	}
	return Found("%s, for %s", path, strings.Join(firmware, " and "))
}

// GDB checks what zf gdb needs: a gdb with Python. path is that of gdb, err why there is none.
func GDB(path string, err error) func(context.Context) Finding {
	return func(ctx context.Context) Finding {
		if err != nil {
			return Missing("for zf gdb: %v", err)
		}
		version, err := Version(ctx, path, "--version")
		if err != nil {
			return Wrong("%v", err)
		}
		if out, err := host.Command(ctx, path, "-nx", "-batch", "-ex",
			"python print(6*7)").Output(); err != nil || strings.TrimSpace(string(out)) != "42" {
			return Wrong(
				"%s, %s has no Python, which the commands of zf gdb need; name another gdb in $ZF_GDB",
				version, path)
		}
		return Found("%s, %s, with Python", version, path)
	}
}

// Delve checks for dlv, with which a core file of zf core can be looked at.
func Delve(ctx context.Context) Finding {
	path, err := exec.LookPath("dlv")
	if err != nil {
		return Missing(
			"Delve, for cores of zf core: install it with: go install github.com/go-delve/delve/cmd/dlv@latest")
	}
	version, err := Version(ctx, path, "version")
	if err != nil {
		return Wrong("%v", err)
	}
	return Found("%s, %s", version, path)
}

// Version returns the version that a program says it has. Context: host.
func Version(ctx context.Context, path, flag string) (string, error) {
	out, err := host.Command(ctx, path, flag).Output()
	// In brackets stands that of a package: "GNU gdb (Debian 13.1-3) 13.1".
	text := regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(string(out), "")
	number := regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)
	if v := number.FindString(text); err == nil && v != "" {
		return v, nil
	}
	if err == nil {
		err = errors.New("it says no version")
	}
	name := path
	if name == "" {
		name = "it"
	}
	return "", fmt.Errorf("%s cannot be run: %v; %s", name, err, host.InstallHint("install it again"))
}
