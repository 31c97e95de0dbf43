package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

const (
	// kernelVariable is the environment variable that names another Linux.
	kernelVariable = "ZF_VMLINUZ"
	// debianKernel is the package that depends on Debian's newest kernel for clouds,
	// which is small.
	debianKernel = "linux-image-cloud-amd64"
	urootModule  = "github.com/u-root/u-root"
)

// findLinux finds both in the user's cache, or gets them there.
func findLinux(ctx context.Context, root string) (l *linux, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "zeroframe", "loaders")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l = new(linux)
	if l.vmlinuz, err = linuxKernel(ctx, dir); err != nil {
		return nil, fmt.Errorf("a Linux kernel: %w; $%s can name one", err, kernelVariable)
	}
	if l.uroot, err = buildURoot(ctx, root, dir); err != nil {
		return nil, fmt.Errorf("u-root: %w", err)
	}
	return l, nil
}

// kept returns a file of the folder dir. Where it is not there, get makes it in an empty
// folder, under the name that it returns.
func kept(dir, name string, get func(tmp string) (string, error)) (path string, err error) {
	path = filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	tmp, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	made, err := get(tmp)
	if err != nil {
		return "", err
	}
	return path, os.Rename(filepath.Join(tmp, made), path)
}

// debianImage is a package that the one for Debian's newest kernel depends on.
var debianImage = regexp.MustCompile(`(?m)linux-image-(\d\S*-amd64)$`)

// linuxKernel finds the kernel that the user names, or gets Debian's: its package is downloaded
// and taken apart, not installed.
func linuxKernel(ctx context.Context, dir string) (string, error) {
	if path := os.Getenv(kernelVariable); path != "" {
		return path, nil
	}
	out, err := batch.Output(ctx, "", nil, "apt-cache", "depends", debianKernel)
	if err != nil {
		return "", err
	}
	m := debianImage.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("apt-cache knows no %s: run apt-get update", debianKernel)
	}
	return kept(dir, "vmlinuz-"+m[1], func(tmp string) (string, error) {
		if err := os.Chmod(tmp, 0o777); err != nil { // apt-get downloads as a user of its own
			return "", err
		}
		if _, err := batch.Output(ctx, tmp, nil, "apt-get", "download", "linux-image-"+m[1]); err != nil {
			return "", err
		}
		_, err := batch.Output(ctx, tmp, nil, "sh", "-c", "dpkg-deb -x *.deb .")
		return "boot/vmlinuz-" + m[1], err
	})
}

// buildURoot builds an archive with u-root's init and kexec, by u-root's own tool, from
// the version of it that go.mod has.
func buildURoot(ctx context.Context, root, dir string) (string, error) {
	out, err := batch.Output(ctx, root, nil, "go", "mod", "download", "-json", urootModule)
	if err != nil {
		return "", err
	}
	var mod struct{ Dir, Version string }
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return "", err
	}
	return kept(dir, fmt.Sprintf("u-root-%s-%s.cpio", mod.Version, runtime.Version()),
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
