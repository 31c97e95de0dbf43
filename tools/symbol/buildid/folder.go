package buildid

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// maxFolderFiles bounds the files of a folder that are looked at.
const maxFolderFiles = 1 << 20

// A Folder has ELF files: below .build-id by build ID, or anywhere. It is not safe for concurrent
// use, but for [Folder.Layout].
type Folder struct {
	Root string
	Name string // as the user gave it; of a package its own
	// Open opens a file that can resolve something; nil: [Open] does.
	Open func(path string) (*symbol.File, error)
	// Module returns the name of the Linux module that a file is by its name, "" if it is none.
	// nil: none is.
	Module func(path string) string

	ids     []string // the folders called .build-id
	files   []string
	modules map[string]string   // by Linux's name: the file
	builds  map[string]string   // by build ID: the file; nil until it is wanted
	names   map[string][]string // by name: the files; nil until one is wanted
}

// Open opens a file that can resolve something.
func Open(path string) (*symbol.File, error) {
	file, err := symbol.Open(path)
	if err != nil {
		return nil, err
	}
	if err := file.CanResolve(); err != nil && !file.FindsFunctions() {
		file.Close()
		return nil, fmt.Errorf("%w; give the file as it was built", err)
	}
	return file, nil
}

// List looks which files the folder has, which all but [Folder.Layout] needs.
func (d *Folder) List() error {
	root, err := filepath.EvalSymlinks(d.Root)
	if err != nil {
		return err
	}
	d.modules = make(map[string]string)
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			return nil // a part that we may not read is as if it were not there
		case e.IsDir() && e.Name() == ".build-id":
			d.ids = append(d.ids, path)
			return fs.SkipDir // found by name
		case !e.Type().IsRegular():
			return nil
		case len(d.files) == maxFolderFiles:
			return fs.SkipAll
		}
		d.files = append(d.files, path)
		if d.Module == nil {
			return nil
		}
		if name := d.Module(path); name != "" {
			// The file with the debug information is the better one.
			if d.modules[name] == "" || strings.HasSuffix(path, ".debug") &&
				!strings.HasSuffix(d.modules[name], ".debug") {
				d.modules[name] = path
			}
		}
		return nil
	})
}

// DebugFile makes the folder a store of debug information.
func (d *Folder) DebugFile(_ context.Context, id string) (string, error) {
	if len(id) < 4 {
		return "", fs.ErrNotExist
	}
	for _, dir := range d.roots() {
		path := filepath.Join(dir, id[:2], id[2:]+".debug")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fs.ErrNotExist
}

// roots returns the folders below which files lie by their build IDs; the folder itself may be one.
func (d *Folder) roots() []string { return append(d.ids[:len(d.ids):len(d.ids)], d.Root) }

// hidden returns the files below the folders called .build-id.
func (d *Folder) hidden() (files []string) {
	for _, dir := range d.ids {
		all, _ := filepath.Glob(filepath.Join(dir, "??", "*"))
		files = append(files, all...)
	}
	return files
}

// Kernel returns the file that is a Linux kernel's, if there is one and no other.
func (d *Folder) Kernel() string {
	found := ""
	for _, path := range d.files {
		name := strings.TrimSuffix(filepath.Base(path), ".debug")
		if name != "vmlinux" && !strings.HasPrefix(name, "vmlinux-") {
			continue
		}
		if found != "" {
			return ""
		}
		found = path
	}
	return found
}

// OfModule opens the file of a Linux module; nil if there is none that can be used.
func (d *Folder) OfModule(name string) *symbol.File {
	path := d.modules[name]
	if path == "" {
		return nil
	}
	sym, _ := d.open(path)
	return sym
}

// Find opens the file of a build; nil if there is none that can be used.
func (d *Folder) Find(id string) *symbol.File {
	if len(id) < 4 || strings.ContainsAny(id, `/\.`) { // it comes out of a trace
		return nil
	}
	if sym, err := d.Layout(id); err == nil {
		return sym
	}
	path := d.byBuild()[id]
	if path == "" {
		return nil
	}
	sym, _ := d.openBuild(path, id)
	return sym
}

// Layout opens the file of a build ID where that says, as xx/yyyy. The one that resolves to lines
// is xx/yyyy.debug, if there are two. The error is fs.ErrNotExist, or says what is wrong with what
// is there. It may be called from several goroutines.
func (d *Folder) Layout(id string) (*symbol.File, error) {
	var wrong error = fs.ErrNotExist
	for _, dir := range d.roots() {
		base := filepath.Join(dir, id[:2], id[2:])
		for _, path := range []string{base + ".debug", base} {
			file, err := d.openBuild(path, id)
			if file != nil {
				return file, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				wrong = err
			}
		}
	}
	return nil, wrong
}

// Named opens the file of a program or a library by the path that it has on the system that
// ran it: of several of its name the one whose folders are most like those, and of such the
// one with the debug information. It is nil if there is none, or no telling which.
func (d *Folder) Named(path string) *symbol.File {
	if d.names == nil {
		d.names = make(map[string][]string)
		for _, file := range d.files {
			name := strings.TrimSuffix(filepath.Base(file), ".debug")
			d.names[name] = append(d.names[name], file)
		}
	}
	path = strings.ReplaceAll(strings.TrimSuffix(path, " (deleted)"), `\`, "/")
	want := strings.Split(path, "/")
	best, most, same := "", 0, false
	for _, file := range d.names[strings.TrimSuffix(want[len(want)-1], ".debug")] {
		have := strings.Split(filepath.ToSlash(strings.TrimSuffix(file, ".debug")), "/")
		n := 0
		for n < len(have) && n < len(want) && have[len(have)-1-n] == want[len(want)-1-n] {
			n++
		}
		n *= 2
		if strings.HasSuffix(file, ".debug") {
			n++
		}
		if n > most {
			best, most, same = file, n, false
		} else if n == most {
			same = true
		}
	}
	if best == "" || same {
		return nil
	}
	sym, _ := d.open(best)
	return sym
}

// byBuild returns the files that lie anywhere, by their build IDs.
func (d *Folder) byBuild() map[string]string {
	if d.builds == nil {
		d.builds = make(map[string]string)
		for _, path := range d.files {
			if name := filepath.Ext(path); name == ".xz" || name == ".zst" || name == ".gz" {
				continue // all modules of a kernel unpacked take minutes; they are found by name
			}
			if sym, err := symbol.Open(path); err == nil {
				if id := sym.BuildID(); id != "" && d.builds[id] == "" {
					d.builds[id] = path
				}
				sym.Close()
			}
		}
	}
	return d.builds
}

// Complete returns the build ID that begins so, if there is one and no other.
func (d *Folder) Complete(part string) string {
	if len(part) < 4 || strings.Trim(part, "0123456789abcdef") != "" {
		return ""
	}
	found := map[string]bool{}
	for _, root := range d.roots() {
		list, _ := os.ReadDir(filepath.Join(root, part[:2]))
		for _, e := range list {
			if id := part[:2] + strings.TrimSuffix(e.Name(), ".debug"); strings.HasPrefix(id,
				part) && !e.IsDir() {
				found[id] = true
			}
		}
	}
	for id := range d.byBuild() {
		if strings.HasPrefix(id, part) {
			found[id] = true
		}
	}
	if len(found) != 1 {
		return ""
	}
	for id := range found {
		return id
	}
	return ""
}

// open opens a file that can resolve something.
func (d *Folder) open(path string) (*symbol.File, error) {
	if d.Open == nil {
		return Open(path)
	}
	return d.Open(path)
}

// openBuild opens a file that has the build ID and can resolve something.
func (d *Folder) openBuild(path, id string) (*symbol.File, error) {
	file, err := d.open(path)
	if err != nil {
		return nil, err
	}
	if err := compare(file, path, id); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Only returns the file that a folder is about: its only ELF file, or the Linux kernel of several.
func (d *Folder) Only() (string, error) {
	if path := d.Kernel(); path != "" {
		return path, nil
	}
	var all []string
	known := map[string]bool{} // build IDs: their debug information is no file of its own
	for i, path := range append(d.files[:len(d.files):len(d.files)], d.hidden()...) {
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		id := f.BuildID()
		f.Close()
		if i < len(d.files) || !known[id] {
			all = append(all, path)
		}
		known[id] = id != ""
	}
	const few = 5
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return "", fmt.Errorf("and there is no ELF file in it; -e names the ELF file to resolve with")
	}
	list := make([]string, 0, few+1)
	for _, path := range all {
		if len(list) == few {
			list = append(list, "...")
			break
		}
		list = append(list, strings.TrimPrefix(strings.TrimPrefix(path, d.Root), "/"))
	}
	return "", fmt.Errorf("and it has %d ELF files (%s): --build-id says which, or -e names it",
		len(all), strings.Join(list, ", "))
}
