package elf

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// MaxUnpacked bounds what is taken out of a package, in bytes: a distribution's kernel with its
// modules and their debug information has 6 GB.
const MaxUnpacked = 32 << 30

// ErrNoELF is wrapped by the error of [ELFs] for a package that has no ELF file.
var ErrNoELF = errors.New("no ELF file is in it")

// The kinds of packages.
const (
	debKind = ".deb"
	rpmKind = ".rpm"
	tarKind = "tar"
)

// Is reports whether a file is a package, by what it begins with; a tar file by its end.
func IsPackage(name string) bool { return kindOf(name) != "" }

func kindOf(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte(arMagic)) && len(head) > len(arMagic)+13 &&
		string(head[len(arMagic):][:13]) == "debian-binary":
		return debKind
	case bytes.HasPrefix(head, []byte(rpmMagic)):
		return rpmKind
	case len(head) == 512 && string(head[257:262]) == "ustar":
		return tarKind
	}
	for _, ext := range []string{".xz", ".zst", ".gz", ".tgz", ".txz"} {
		base, ok := strings.CutSuffix(name, ext)
		if ok && (filepath.Ext(base) == ".tar" || ext == ".tgz" || ext == ".txz") {
			return tarKind
		}
	}
	return ""
}

// ELFs writes the ELF files of a package into a folder, with the paths that they have in the
// package. Those that are compressed, such as modules of Linux, stay so. Its errors name the
// package.
func Unpack(name, dir string) error {
	if err := elfs(name, dir); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func elfs(name, dir string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if err := NotHollow(f, 0, st.Size()); err != nil {
		return err
	}
	count := NewCounter(bufio.NewReaderSize(f, 1<<16))
	in := bufio.NewReaderSize(count, 1<<16)
	t := &taker{dir: dir, left: MaxUnpacked, bound: PackageBound(count)}
	switch kindOf(name) {
	case debKind:
		err = t.deb(in)
	case rpmKind:
		err = t.rpm(in)
	case tarKind:
		err = t.tar(in)
	default:
		return errors.New("no package: want a .deb, a .rpm or a tar file")
	}
	if err == nil && t.n == 0 {
		err = ErrNoELF
	}
	return err
}

// A taker writes what it is given below dir.
type taker struct {
	dir  string
	left int64 // bytes that may be written yet
	n    int   // files
	// bound is for what tar makes of holes, which is in no compressed stream.
	bound *Bound
}

// tar takes what is in a tar file.
func (t *taker) tar(in *bufio.Reader) error {
	r, err := Decompress(in)
	if err != nil {
		return err
	}
	for files := tar.NewReader(bufio.NewReaderSize(r, 1<<16)); ; {
		switch h, err := files.Next(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("its tar file: %w", err)
		case h.Typeflag == tar.TypeReg:
			if err := t.file(h.Name, files); err != nil {
				return err
			}
		}
	}
}

// file takes a file if it is an ELF file, or a compressed one by its name.
func (t *taker) file(name string, r io.Reader) error {
	if t.bound != nil {
		r = t.bound.Reader(r)
	}
	var head [4]byte
	n, err := io.ReadFull(r, head[:])
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil // shorter than any
	case err != nil:
		return fmt.Errorf("%s in it: %w", name, err)
	}
	packed := strings.TrimSuffix(name, ".xz")
	packed = strings.TrimSuffix(packed, ".zst")
	packed = strings.TrimSuffix(packed, ".gz")
	if string(head[:]) != "\x7fELF" && filepath.Ext(packed) != ".ko" {
		return nil
	}
	name = path.Clean("/" + name) // ".." leads nowhere
	to := filepath.Join(t.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil // the first of a name counts
	} else if err != nil {
		return err
	}
	m, err := io.Copy(w, io.LimitReader(io.MultiReader(bytes.NewReader(head[:n]), r), t.left+1))
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if t.left -= m; err == nil && t.left < 0 {
		err = fmt.Errorf("more than %d bytes", int64(MaxUnpacked))
	}
	if err != nil {
		return fmt.Errorf("%s in it: %w", name, err)
	}
	t.n++
	return nil
}
