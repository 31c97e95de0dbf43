package image

// A program that is built again and has not changed need not be linked again: the go command
// compares build IDs, and leaves a file alone that is what it would link. So what was linked is
// kept, and with it the image that was made of that. Whoever builds takes both out of the folder
// and puts them back behind the build: two builds at once never write to one file, and a build
// that dies leaves nothing half done.

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxKept is how many programs are kept, and maxBytes how large they are in all: a module's tests.
	maxKept  = 64
	maxBytes = 512 << 20
	// abandoned is how old a build is that has died.
	abandoned = 24 * time.Hour
	// forgotten is how long it is remembered what a build has read, after the last time that helped.
	forgotten = 7 * abandoned
)

// kept is what an earlier build of the same package has left; nil: nothing is to be kept.
type kept struct {
	folder string // BuildOptions.Keep
	key    string // of this package
	dir    string // ours alone, while we build
	about  string // what else a finished image depends on
}

// take takes what is kept of the package, if anything is. A folder that cannot be used is as if
// none was given.
func (o *BuildOptions) take() *kept {
	if o.Keep == "" {
		return nil
	}
	where, err := filepath.Abs(o.Dir)
	if err != nil || os.MkdirAll(o.Keep, 0o755) != nil {
		return nil
	}
	k := &kept{
		folder: o.Keep,
		key: fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join([]string{where, o.Package,
			fmt.Sprintf("%t %#v", o.Test, o.Parts)}, "\x00"))))[:32],
		about: fmt.Sprintf("%s\n%v %s %s %t %t\n", self(), o.Loaders, o.EntrySymbol, o.KernelPackage,
			o.dropSymbols, o.dropDWARF),
	}
	k.prune()
	if k.dir, err = os.MkdirTemp(o.Keep, "building-"); err != nil {
		return nil
	}
	if os.Rename(filepath.Join(o.Keep, k.key), k.path("")) != nil &&
		os.Mkdir(k.path(""), 0o755) != nil {
		os.RemoveAll(k.dir)
		return nil
	}
	if !isELF(k.path("linked")) { // the go command does not write over it
		os.Remove(k.path("linked"))
	}
	return k
}

// isELF reports whether a file begins as an ELF file does.
func isELF(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	magic := make([]byte, len(elf.ELFMAG))
	_, err = io.ReadFull(file, magic)
	return err == nil && string(magic) == elf.ELFMAG
}

// path is that of a file of what is kept, while it is ours.
func (k *kept) path(name string) string { return filepath.Join(k.dir, "kept", name) }

// sum is what a finished image says that it was made of and is.
func (k *kept) sum(linked, finished []byte) string {
	return fmt.Sprintf("%s%x\n%x\n", k.about, sha256.Sum256(linked), sha256.Sum256(finished))
}

// finished returns the image that was made of the linked file, if it is kept.
func (k *kept) finished(linked []byte) ([]byte, bool) {
	if k == nil {
		return nil, false
	}
	file, err := os.ReadFile(k.path("finished"))
	if err != nil {
		return nil, false
	}
	sum, err := os.ReadFile(k.path("sum"))
	return file, err == nil && string(sum) == k.sum(linked, file)
}

// keep keeps the image, if it can be kept.
func (k *kept) keep(linked, finished []byte) {
	if k == nil {
		return
	}
	os.Remove(k.path("sum"))
	if os.WriteFile(k.path("finished"), finished, 0o644) == nil {
		os.WriteFile(k.path("sum"), []byte(k.sum(linked, finished)), 0o644)
	}
}

// putBack ends the build.
func (k *kept) putBack() {
	if k == nil {
		return
	}
	now := time.Now()
	os.Chtimes(k.path(""), now, now)
	os.Rename(k.path(""), filepath.Join(k.folder, k.key)) // unless another build was faster
	os.RemoveAll(k.dir)
}

// prune removes the programs that were built longest ago, and builds that have died.
func (k *kept) prune() {
	entries, err := os.ReadDir(k.folder)
	if err != nil {
		return
	}
	type program struct {
		path string
		used time.Time
		size int64
	}
	var programs []program
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			continue
		}
		path := filepath.Join(k.folder, e.Name())
		building := strings.HasPrefix(e.Name(), "building-")
		if building || strings.HasPrefix(e.Name(), inputsPrefix) {
			if old := time.Since(fi.ModTime()); old > forgotten || building && old > abandoned {
				os.RemoveAll(path)
			}
			continue
		}
		if e.Name() == k.key {
			continue
		}
		p := program{path, fi.ModTime(), 0}
		for _, name := range []string{"linked", "finished"} {
			if fi, err := os.Stat(filepath.Join(path, name)); err == nil {
				p.size += fi.Size()
			}
		}
		programs = append(programs, p)
	}
	slices.SortFunc(programs, func(a, b program) int { return b.used.Compare(a.used) })
	size := int64(0)
	for i, p := range programs {
		if size += p.size; i >= maxKept-1 || size > maxBytes {
			os.RemoveAll(p.path)
		}
	}
}
