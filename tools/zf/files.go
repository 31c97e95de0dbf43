package main

// Files for the guest: a cpio archive that QEMU loads beside the image, from -initrd,
// -files and, for `zf test`, the folder of the package.

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
)

// guestFiles is what the command line says of files for the guest.
type guestFiles struct {
	archive string   // -initrd
	trees   []string // -files, as given
}

// flags adds the flags to a flag set.
func (g *guestFiles) flags(fs *flag.FlagSet) {
	addFlags(fs, []option{
		{&g.archive, "initrd", "give the guest the files in the cpio archive `FILE` (newc format)"},
		{names(&g.trees, "want a folder, or FOLDER:PATH"), "files",
			"give the guest the files in `DIR`, as its root; DIR:PATH puts them at\nPATH; may be given many times"},
	})
}

// any reports whether there are files to pack.
func (g *guestFiles) any() bool { return g.archive != "" || len(g.trees) > 0 }

// splitTree splits HOST:GUEST. Only an absolute path is one of the guest, so that a
// colon in a name of the host seldom needs care. A single file without a path goes
// into the root under its own name.
func splitTree(s string) (host, guest string) {
	if i := strings.LastIndex(s, ":/"); i > 0 {
		return s[:i], s[i+1:]
	}
	if fi, err := os.Stat(s); err == nil && !fi.IsDir() {
		return s, "/" + filepath.Base(s)
	}
	return s, "/"
}

// write packs the files into an archive in folder dir, on top of what is in a, and
// returns its path and its size in bytes; "" if there are none.
func (g *guestFiles) write(dir string, a *initrd.Archive) (path string, size int64, err error) {
	if a == nil {
		if !g.any() {
			return "", 0, nil
		}
		a = new(initrd.Archive)
	}
	if g.archive != "" {
		file, err := os.Open(g.archive)
		if err != nil {
			return "", 0, fmt.Errorf("-initrd: %w", err)
		}
		defer file.Close() // it is read until ours has been written
		if isFolder(g.archive) {
			return "", 0, fmt.Errorf("-initrd: %s is a folder; -files takes folders", g.archive)
		}
		if err := a.AddArchive(file); err != nil {
			return "", 0, fmt.Errorf("-initrd %s: %w", g.archive, err)
		}
	}
	for _, tree := range g.trees {
		host, guest := splitTree(tree)
		if err := a.AddTree(host, guest, nil); err != nil {
			return "", 0, fmt.Errorf("-files: %w", err)
		}
	}
	path = filepath.Join(dir, "initrd")
	if err := a.WriteFile(path); err != nil {
		return "", 0, fmt.Errorf("packing files for the guest: %w", err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	return path, fi.Size(), nil
}

// needMiB is the least RAM in MiB of a machine for an image and an archive of that
// many bytes, which the loader puts behind it.
func needMiB(info *image.Info, archive int64) int {
	return int((info.MinRAM() + uint64(archive) + 1<<20 - 1) >> 20)
}
