package main

// What `zf test` shows a test of this host: the folders that a program's sources are in, at
// their own paths, as a process has them. They are read when they are asked for (kernel/dev/share);
// what the test writes there stays in the machine.

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// noMount is the value of -mount that turns the folders off that are there by themselves.
const noMount = "none"

// lookForSources finds the folders, while something else is done. The function that it returns
// waits for them.
func (f *testFlags) lookForSources(ctx context.Context) (wait func() error) {
	// With -record-failures a test does the same in each run, and QEMU answers when it gets to it.
	if f.noMounts || f.qemu.Icount || f.goTest.On("c") {
		return func() error { return nil }
	}
	found := make(chan error, 1)
	var dirs []string
	go func() (err error) {
		defer func() { found <- err }()
		dirs, err = image.SourceFolders(ctx, f.build)
		return err
	}()
	return func() error {
		err := <-found
		f.sources = dirs
		return err
	}
}

// mounts returns the folders of this host that the tests of a package see, and whether its own
// is among them.
func (f *testFlags) mounts(ctx context.Context,
	p image.TestPackage) (shares []qemu.Share, own bool, err error) {
	shares = append(shares, f.qemu.Shares...)
	if len(f.sources) > 0 {
		has, err := qemu.HasShares(ctx, f.qemu.Program)
		switch {
		case err != nil:
			return nil, false, err
		case has:
			shares = qemu.AddShares(shares, sourceRoots(p, f.sources)...)
		default:
			f.noShares.Do(func() {
				f.say("note: this QEMU is built without virtio-9p, so a test finds copies of its package's files only; -files adds others")
			})
		}
	}
	_, own = onHost(shares, filepath.ToSlash(p.Dir))
	return shares, own, nil
}

// sourceRoots returns the folders for a package: the workspace's or its module's, and the
// others.
func sourceRoots(p image.TestPackage, sources []string) (roots []string) {
	within := func(root string) bool {
		rel, err := filepath.Rel(root, p.Root)
		return err == nil && filepath.IsLocal(rel)
	}
	roots = []string{p.Root}
	if len(sources) > 2 && p.Root != "" && within(sources[2]) {
		roots = []string{sources[2]}
	}
	roots = append(roots, sources[:min(2, len(sources))]...)
	// Systems put parts of the Go distribution elsewhere, with links to them.
	for _, name := range []string{"src", "lib", "test", "pkg"} {
		link := filepath.Join(sources[0], name)
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(link); err == nil &&
			!strings.HasPrefix(target, sources[0]+string(filepath.Separator)) {
			roots = append(roots, target)
		}
	}
	return roots
}

// onHost returns the path on this host of one in the machine, if a share shows it.
func onHost(shares []qemu.Share, path string) (host string, ok bool) {
	longest := -1
	for _, s := range shares {
		if h, in := s.Host(path); in && len(s.Path) > longest {
			host, ok, longest = h, true, len(s.Path)
		}
	}
	return host, ok
}
