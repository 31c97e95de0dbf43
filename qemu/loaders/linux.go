package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/initrd"
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
func findLinux(ctx context.Context, root string, stderr io.Writer) (*linux, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "zeroframe", "loaders")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := new(linux)
	if l.vmlinuz, err = linuxKernel(ctx, dir, stderr); err != nil {
		return nil, fmt.Errorf("a Linux kernel: %w; $%s can name one", err, kernelVariable)
	}
	if l.uroot, err = buildURoot(ctx, root, dir, stderr); err != nil {
		return nil, fmt.Errorf("u-root: %w", err)
	}
	return l, nil
}

// linuxKernel finds the kernel that the user names, or Debian's.
func linuxKernel(ctx context.Context, dir string, stderr io.Writer) (string, error) {
	if path := os.Getenv(kernelVariable); path != "" {
		return path, nil
	}
	return debian(ctx, dir, stderr)
}

// debian gets Debian's kernel: its package is downloaded and taken apart, not installed.
func debian(ctx context.Context, dir string, stderr io.Writer) (string, error) {
	out, err := output(ctx, "", nil, stderr, "apt-cache", "depends", debianKernel)
	if err != nil {
		return "", err
	}
	pkg := ""
	for _, f := range strings.Fields(string(out)) {
		if strings.HasPrefix(f, "linux-image-") && f != debianKernel && !strings.HasSuffix(f, "-unsigned") {
			pkg = f
			break
		}
	}
	if pkg == "" {
		return "", fmt.Errorf("apt-cache knows no %s: run apt-get update", debianKernel)
	}
	kernel := filepath.Join(dir, "vmlinuz-"+strings.TrimPrefix(pkg, "linux-image-"))
	if _, err := os.Stat(kernel); err == nil {
		return kernel, nil
	}
	tmp, err := os.MkdirTemp(dir, "deb-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o777); err != nil { // apt-get downloads as a user of its own
		return "", err
	}
	if _, err := output(ctx, tmp, nil, stderr, "apt-get", "download", pkg); err != nil {
		return "", err
	}
	debs, _ := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if len(debs) != 1 {
		return "", fmt.Errorf("apt-get download %s has left %d packages", pkg, len(debs))
	}
	if _, err := output(ctx, tmp, nil, stderr, "dpkg-deb", "-x", debs[0], tmp); err != nil {
		return "", err
	}
	return kernel, os.Rename(filepath.Join(tmp, "boot", filepath.Base(kernel)), kernel)
}

// buildURoot builds an archive with u-root's init and kexec, by u-root's own tool, from
// the version of it that go.mod has.
func buildURoot(ctx context.Context, root, dir string, stderr io.Writer) (string, error) {
	out, err := output(ctx, root, nil, stderr, "go", "mod", "download", "-json", urootModule)
	if err != nil {
		return "", err
	}
	var mod struct{ Dir, Version string }
	if err := json.Unmarshal(out, &mod); err != nil {
		return "", err
	}
	archive := filepath.Join(dir, fmt.Sprintf("u-root-%s-%s.cpio", mod.Version, runtime.Version()))
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	tmp, err := os.MkdirTemp(dir, "u-root-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	env := []string{"GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"}
	tool, made := filepath.Join(tmp, "u-root"), filepath.Join(tmp, "u-root.cpio")
	if _, err := output(ctx, mod.Dir, env, stderr, "go", "build", "-o", tool, "."); err != nil {
		return "", err
	}
	if _, err := output(ctx, mod.Dir, env, stderr, tool, "-o", made, "-defaultsh=", "-initcmd=init", "-uinitcmd=kexec",
		"./cmds/core/init", "./cmds/core/kexec"); err != nil {
		return "", err
	}
	return archive, os.Rename(made, archive)
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
	first, err := read(l.uroot)
	if err != nil {
		return err
	}
	second, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, slices.Concat(first, second), 0o644)
}

// output runs a program and returns its standard output; what it says otherwise is shown
// if it fails.
func output(ctx context.Context, dir string, env []string, stderr io.Writer, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		stderr.Write(out)
		stderr.Write(said.Bytes())
		if errors.Is(err, exec.ErrNotFound) {
			return nil, err
		}
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return out, nil
}
