package qemu

// Folders of the host that the guest sees: each is a virtio-9p device, which QEMU serves
// read-only unless the user says that the program may write.

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Share is a folder of the host that the guest sees at a path.
type Share struct {
	Dir      string // of the host, absolute
	Path     string // of the guest, absolute
	Private  bool   // the guest may change what it sees: the host does not see that
	Writable bool   // the guest may change it on the host
}

// MaxShares is how many folders a machine can have, as in kernel/vfs.
const MaxShares = 8

// ParseShare reads DIR, DIR:/PATH, and either with ":ro", ":private" or ":rw" behind it: without
// a path the guest sees the folder at its own path.
func ParseShare(s string) (Share, error) {
	dir, private := strings.CutSuffix(s, ":private")
	writable := false
	if !private {
		if dir, writable = strings.CutSuffix(s, ":rw"); !writable {
			dir = strings.TrimSuffix(s, ":ro")
		}
	}
	at := ""
	if i := strings.LastIndex(dir, ":/"); i > 0 {
		dir, at = dir[:i], dir[i+1:]
	}
	if i := strings.LastIndexByte(at, ':'); i > strings.LastIndexByte(at, '/') {
		return Share{}, fmt.Errorf("%q means nothing there; want :ro, :private or :rw", at[i:])
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
	share := Share{Dir: dir, Path: path.Clean(at), Private: private, Writable: writable}
	if !share.sayable() {
		return Share{}, fmt.Errorf(
			"%s: the guest's path may have no quotes or backslashes: give another one, as DIR:/path", at)
	}
	return share, nil
}

// sayable reports whether the kernel can be told the path.
func (s Share) sayable() bool {
	return path.IsAbs(s.Path) && !strings.ContainsAny(s.Path, "\t\n\"\\")
}

// Host returns the path on the host of a path of the guest; ok is false if that is not below
// the share.
func (s Share) Host(guest string) (host string, ok bool) {
	rest, ok := strings.CutPrefix(path.Clean(guest), strings.TrimSuffix(s.Path, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return filepath.Join(s.Dir, filepath.FromSlash(rest)), true
}

// AddShares adds folders of the host, at their own paths and private, as far as there is room:
// those that no share shows there already.
func AddShares(shares []Share, dirs ...string) []Share {
	for _, dir := range dirs {
		s := Share{Dir: dir, Path: filepath.ToSlash(dir), Private: true}
		shown := func(t Share) bool {
			host, ok := t.Host(s.Path)
			return ok && host == dir || t.Path == s.Path
		}
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() && dir != "/" && s.sayable() &&
			len(shares) < MaxShares && !slices.ContainsFunc(shares, shown) {
			shares = append(shares, s)
		}
	}
	return shares
}

// HasShares reports whether a QEMU ("" means the one of [Find]) can show folders of the host: some
// are built without. What it says once is remembered as long as it is the same file. Context: host.
func HasShares(ctx context.Context, program string) (bool, error) {
	program, err := orFound(program)
	if err != nil {
		return false, err
	}
	return can(ctx, program, "virtio-9p", "-device", "virtio-9p-pci,help")
}

// tag names share i to the kernel.
func tag(i int) string { return fmt.Sprint("share", i) }

// ShareOptions returns the words for the kernel's command line that make the folders part of
// its file tree.
func ShareOptions(shares []Share) (words []string) {
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	// A share in another is said before that: the kernel puts the outer one around it.
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(len(shares[j].Path),
			len(shares[i].Path))
	})
	for _, i := range order {
		mode := "ro"
		switch {
		case shares[i].Writable:
			mode = "rw"
		case shares[i].Private:
			mode = "private"
		}
		value := fmt.Sprintf("%s,%s,%s", tag(i), mode, shares[i].Path)
		if strings.Contains(value, " ") {
			value = `"` + value + `"`
		}
		words = append(words, "share="+value)
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
		only := "on"
		if s.Writable {
			only = "off"
		}
		args = append(args,
			"-fsdev", fmt.Sprintf("local,id=%s,security_model=none,readonly=%s,multidevs=remap,path=%s",
				tag(i), only, comma(s.Dir)),
			"-device", fmt.Sprintf("%s,fsdev=%s,mount_tag=%s", device, tag(i), tag(i)))
	}
	return args
}
