package qemu

// Folders of the host that the guest sees: each is a virtio-9p device, which QEMU serves
// read-only.

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Share is a folder of the host that the guest sees at a path.
type Share struct {
	Dir     string // of the host, absolute
	Path    string // of the guest, absolute
	Private bool   // the guest may change what it sees: the host does not see that
}

// MaxShares is how many folders a machine can have, as in kernel/vfs.
const MaxShares = 8

// ParseShare reads DIR, DIR:/PATH, and either with ":private" behind it: without a path
// the guest sees the folder at its own path.
func ParseShare(s string) (Share, error) {
	dir, private := strings.CutSuffix(s, ":private")
	if d, ok := strings.CutSuffix(dir, ":ro"); ok && !private {
		dir = d
	}
	if strings.HasSuffix(dir, ":rw") {
		return Share{}, fmt.Errorf("%s: the kernel does not write to the host's files; with :private in place of :rw the program may write, and the host does not see it", s)
	}
	at := ""
	if i := strings.LastIndex(dir, ":/"); i > 0 {
		dir, at = dir[:i], dir[i+1:]
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return Share{}, err
	}
	if !fi.IsDir() {
		return Share{}, fmt.Errorf("%s is not a folder", dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return Share{}, err
	}
	if at == "" {
		at = filepath.ToSlash(dir)
	}
	if strings.ContainsAny(at, " \t\n\"\\") {
		return Share{}, fmt.Errorf("%s: the guest's path may have no spaces, quotes or backslashes: give another one, as DIR:/path", at)
	}
	return Share{Dir: dir, Path: path.Clean(at), Private: private}, nil
}

// tag names share i to the kernel.
func tag(i int) string { return fmt.Sprint("share", i) }

// ShareOptions returns the words for the kernel's command line that make the folders part of
// its file tree.
func ShareOptions(shares []Share) (words []string) {
	for i, s := range shares {
		mode := "ro"
		if s.Private {
			mode = "private"
		}
		words = append(words, fmt.Sprintf("share=%s,%s,%s", tag(i), mode, s.Path))
	}
	return words
}

// shareArgs returns QEMU's arguments for the folders.
func shareArgs(shares []Share, machine string) (args []string) {
	device := "virtio-9p-pci"
	if strings.HasPrefix(machine, "microvm") {
		device = "virtio-9p-device" // it has no PCI
	}
	for i, s := range shares {
		args = append(args,
			"-fsdev", fmt.Sprintf("local,id=%s,security_model=none,readonly=on,multidevs=remap,path=%s", tag(i), comma(s.Dir)),
			"-device", fmt.Sprintf("%s,fsdev=%s,mount_tag=%s", device, tag(i), tag(i)))
	}
	return args
}
