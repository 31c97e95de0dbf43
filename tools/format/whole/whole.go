// Package whole writes the files that a user has named. Each is written beside its place and
// renamed when it is whole: a full disk leaves what was there.
//
// Streams, which somebody may follow while they grow, are not written by it.
package whole

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// WriteFile is [os.WriteFile], by [File].
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return File(path, mode, func(to *os.File) error { _, err := to.Write(data); return err })
}

// File has write make the file at a path, whose name is in all errors of the file system. A file
// that is there keeps what its mode forbids. What is no regular file, such as a pipe, is written to
// as it is, and so are standard output and standard error under whatever name, and a file in a
// folder that takes no other.
func File(path string, mode fs.FileMode, write func(*os.File) error) (err error) {
	place := path
	there, err := os.Stat(path)
	if err == nil {
		for _, std := range []*os.File{os.Stdout, os.Stderr} {
			if fi, err := std.Stat(); err == nil && os.SameFile(fi, there) {
				return write(std)
			}
		}
		to, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer to.Close()
		if !there.Mode().IsRegular() {
			return errors.Join(write(to), to.Close())
		}
		mode &= there.Mode()
		if place, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	part, err := create(path, place, mode)
	if errors.Is(err, fs.ErrPermission) && there != nil {
		part, err = os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	}
	if err != nil {
		return err
	}
	err = write(part)
	if cerr := part.Close(); err == nil {
		err = cerr
	}
	if part.Name() == path {
		return err
	}
	if err = settle(part.Name(), place, err); err != nil {
		err = namedError{err, part.Name(), path}
	}
	return err
}

// parts are the files that are to become others, and what else is not to stay.
var (
	parts   = make(map[string]bool)
	partsMu sync.Mutex
)

// create creates the file beside a place.
func create(path, place string, mode fs.FileMode) (*os.File, error) {
	name := filepath.Join(filepath.Dir(place),
		fmt.Sprintf(".%.50s.%08x", filepath.Base(place), rand.Uint32()))
	partsMu.Lock()
	defer partsMu.Unlock()
	part, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noFolder(path)
	}
	if err != nil {
		return nil, namedError{err, name, path}
	}
	parts[name] = true
	return part, nil
}

// settle renames a part, unless it is not to be, and removes it if that is so.
func settle(part, place string, err error) error {
	partsMu.Lock()
	defer partsMu.Unlock()
	if err == nil {
		err = os.Rename(part, place)
	}
	if err != nil {
		os.Remove(part)
	}
	delete(parts, part)
	return err
}

// Doom adds a file or a folder to what Abandon removes.
func Doom(path string) {
	partsMu.Lock()
	defer partsMu.Unlock()
	parts[path] = true
}

// Abandon removes all that is not whole yet, for a process that ends. No file is written from then
// on: who tries waits for ever.
func Abandon() {
	partsMu.Lock()
	for path := range parts {
		os.RemoveAll(path)
	}
}

// namedError is an error about a file beside a path, with the name of the path.
type namedError struct {
	error
	part, path string
}

func (e namedError) Error() string { return strings.ReplaceAll(e.error.Error(), e.part, e.path) }
func (e namedError) Unwrap() error { return e.error }

// noFolder is the error of a path in a folder that is not there.
type noFolder string

func (path noFolder) Error() string {
	return fmt.Sprintf("%s: there is no folder %s; make it first", string(path),
		filepath.Dir(string(path)))
}

func (noFolder) Unwrap() error { return fs.ErrNotExist }

// Try returns an error if one of the files cannot be written later. It changes none of them.
func Try(paths ...string) error {
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		switch info, err := os.Stat(path); {
		case err == nil && info.IsDir():
			return fmt.Errorf("%s is a folder; name a file", path)
		case err == nil && info.Mode().IsRegular():
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			file.Close()
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist):
			return err
		default:
			if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
				return noFolder(path)
			}
			part, err := create(path, path, 0o600)
			if err != nil {
				return err
			}
			part.Close()
			settle(part.Name(), "", fs.ErrInvalid)
		}
	}
	return nil
}
