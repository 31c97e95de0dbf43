package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
)

// The LinuxBoot way to start: a Linux in flash, whose initial files are u-root's, hands
// over to the kernel by kexec.

// linux is a Linux kernel and the initial files of u-root.
type linux struct {
	vmlinuz string
	uroot   string // cpio archive with u-root's init and kexec
}

const urootModule = "github.com/u-root/u-root"

// findLinux finds both in the user's cache, or gets them there.
func findLinux(ctx context.Context, root string) (l *linux, err error) {
	l = new(linux)
	if l.vmlinuz, _, err = batch.Linux(ctx); err != nil {
		return nil, err
	}
	if l.uroot, err = buildURoot(ctx, root); err != nil {
		return nil, fmt.Errorf("u-root: %w", err)
	}
	return l, nil
}

// buildURoot builds an archive with u-root's init and kexec, by u-root's own tool, from
// the version of it that go.mod has.
func buildURoot(ctx context.Context, root string) (string, error) {
	out, err := batch.Output(ctx, root, nil, "go", "mod", "download", "-json", urootModule)
	if err != nil {
		return "", err
	}
	var mod struct{ Dir, Version string }
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return "", err
	}
	return batch.Kept(fmt.Sprintf("u-root-%s-%s.cpio", mod.Version, runtime.Version()),
		func(tmp string) (string, error) {
			env := []string{"GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"}
			_, err := batch.Output(ctx, mod.Dir, env, "go", "run", ".",
				"-o", filepath.Join(tmp, "u-root.cpio"), "-defaultsh=", "-initcmd=init",
				"-uinitcmd=kexec", "./cmds/core/init", "./cmds/core/kexec")
			return "u-root.cpio", err
		})
}

// initramfs writes the initial files: u-root's, the kernel and its archive, and how
// u-root's init is to call kexec.
func (l *linux) initramfs(path, elf, files string) error {
	kernel, err := os.ReadFile(elf)
	if err != nil {
		return err
	}
	archive, err := os.ReadFile(files)
	if err != nil {
		return err
	}
	var flags bytes.Buffer
	for _, w := range []string{"--module=/boot/files.cpio", "-c", cmdline, "/boot/kernel.elf"} {
		fmt.Fprintln(&flags, strconv.Quote(w)) // as u-root's package uflag reads it
	}
	var a initrd.Archive
	a.AddFile("/boot/kernel.elf", 0o644, kernel)
	a.AddFile("/boot/files.cpio", 0o644, archive)
	a.AddFile("/etc/uinit.flags", 0o644, flags.Bytes())
	if err := a.WriteFile(path); err != nil {
		return err
	}
	first, err := os.ReadFile(l.uroot)
	if err != nil {
		return err
	}
	second, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// Archives want to begin at four bytes.
	return os.WriteFile(path, slices.Concat(first, make([]byte, -len(first)&3), second), 0o644)
}
