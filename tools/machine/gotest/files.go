package gotest

// Files that tests write come back by the event stream: the kernel's option outbox= names
// them, and when the program ends each that it has written is sent as a record.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/format/whole"
)

// FileKind is the kind of a record that is a file: its path, a zero byte, its bytes.
const FileKind = "file"

// A File is one that has come back.
type File struct {
	Path string // absolute, of the machine
	Data []byte
}

// ReadFile reads a record of [FileKind].
func ReadFile(record []byte) (File, error) {
	name, data, ok := bytes.Cut(record, []byte{0})
	f := File{Path: string(name), Data: data}
	if !ok || !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path {
		return File{}, errors.New("it is no file with a path")
	}
	return f, nil
}

// Below reports whether the file is the one at a path, or in a folder there.
func (f File) Below(dir string) bool {
	return f.Path == dir || strings.HasPrefix(f.Path, strings.TrimSuffix(dir, "/")+"/")
}

// Write writes the file into folder root of this host, at the path that it has below dir.
// Symbolic links do not lead out of root.
func (f File) Write(root, dir string) error {
	name := strings.TrimPrefix(strings.TrimPrefix(f.Path, dir), "/")
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	if d := filepath.Dir(name); d != "." {
		if err := r.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	if err = r.WriteFile(name, f.Data, 0o666); err != nil {
		r.Remove(name)
	}
	return err
}

// Profile is the file of -coverprofile, in which the profiles of all packages are one.
type Profile struct {
	mu   sync.Mutex
	name string
	mode string // the first line
	text []byte
}

// NewProfile returns the profile with the mode in its first line.
func NewProfile(name, mode string) *Profile {
	p := &Profile{name: name, mode: "mode: " + mode + "\n"}
	p.text = []byte(p.mode)
	return p
}

// Add adds a package's profile. It may be called by several goroutines.
func (p *Profile) Add(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	blocks, ok := bytes.CutPrefix(data, []byte(p.mode))
	if !ok {
		line, _, _ := bytes.Cut(data, []byte("\n"))
		return fmt.Errorf("malformed coverage profile: it begins with %q; want %q", line, p.mode)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, blocks...)
	return nil
}

// Close writes the file.
func (p *Profile) Close() error { return whole.WriteFile(p.name, p.text, 0o666) }
