package batch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// LinuxVariable is the environment variable that names the Linux kernel which [Linux] returns.
const LinuxVariable = "ZF_VMLINUZ"

// debianKernel is the package that depends on Debian's newest kernel for clouds, which is small.
const debianKernel = "linux-image-cloud-amd64"

// debianImage is a package that the one for Debian's newest kernel depends on.
var debianImage = regexp.MustCompile(`(?m)linux-image-(\d\S*-amd64)$`)

// Linux returns the path of a Linux kernel, and of the folder of its modules: the kernel that the
// user names, which needs none ("" then), or Debian's. Its package is downloaded and taken apart,
// not installed; the user's cache keeps it.
func Linux(ctx context.Context) (vmlinuz, modules string, err error) {
	if path := os.Getenv(LinuxVariable); path != "" {
		return path, "", nil
	}
	out, err := Output(ctx, "", nil, "apt-cache", "depends", debianKernel)
	if err != nil {
		return "", "", linuxError(err)
	}
	m := debianImage.FindStringSubmatch(out)
	if m == nil {
		return "", "", linuxError(fmt.Errorf("apt-cache knows no %s: run apt-get update", debianKernel))
	}
	dir, err := Kept("linux-"+m[1], func(tmp string) (string, error) {
		if err := os.Chmod(tmp, 0o777); err != nil { // apt-get downloads as a user of its own
			return "", err
		}
		if _, err := Output(ctx, tmp, nil, "apt-get", "download", "linux-image-"+m[1]); err != nil {
			return "", err
		}
		_, err := Output(ctx, tmp, nil, "sh", "-c", "dpkg-deb -x *.deb linux")
		return "linux", err
	})
	if err != nil {
		return "", "", linuxError(err)
	}
	return filepath.Join(dir, "boot", "vmlinuz-"+m[1]), filepath.Join(dir, "lib", "modules", m[1]), nil
}

func linuxError(err error) error {
	return fmt.Errorf("a Linux kernel: %w; $%s can name one", err, LinuxVariable)
}

// Kept returns the path of something in the user's cache. Where it is not there, get makes it in
// an empty folder, under the name that it returns.
func Kept(name string, get func(tmp string) (string, error)) (path string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "zeroframe", "loaders")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
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
