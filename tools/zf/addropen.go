package main

// What addresses are looked up in: an ELF file, the one of a folder or a package, a map, a core
// file or a running process.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/zeroframe/zeroframe/tools/elf"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/process"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symstore"
	"github.com/zeroframe/zeroframe/tools/unpack"

	stdelf "debug/elf"
)

// addrSymbols is what addresses are looked up in: a *symbol.File, a *symbol.Map, a
// *symstore.Table or a *process.Process.
type addrSymbols interface {
	io.Closer
	Name() string
	AddressSize() int
	Lookup(addr uint64, ret bool) []lookup.Call
	Preceding(addr uint64) (lookup.Call, bool)
	IsText(addr uint64) bool
	SectionStart(name string) (uint64, bool)
}

// open opens what the flags name.
func (opt *addrOptions) open(indexes *indexing, s *streams) (addrSymbols, error) {
	switch {
	case opt.mapFile != "":
		return openMap(opt.mapFile, opt.base, s.stderr)
	case opt.pid != 0 || opt.core != "" || opt.maps != "":
		return opt.openProcess(indexes)
	}
	f, err := opt.openExe(indexes)
	if err != nil {
		if t, terr := opt.openTable(err); t != nil || terr != nil {
			return t, terr
		}
		return nil, err
	}
	if f.Type == stdelf.ET_CORE {
		return coreOf(f, indexes, nil)
	}
	if err := f.CanResolve(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w; -e must name the file as it was linked, before it was stripped", err)
	}
	if f.HasUnlinkedDWARF() {
		s.say("note: %s is an object file, whose DWARF is not read before it is linked; names come from the symbol table, without lines", opt.exe)
	}
	return f, nil
}

// openExe opens the file of -e, or of --build-id.
func (opt *addrOptions) openExe(indexes *indexing) (*symbol.File, error) {
	if opt.buildID != "" && opt.exe == defaultExe {
		return indexes.build(opt.buildID, nil)
	}
	f, err := indexes.open(opt.exe)
	if err == nil && opt.buildID != "" && f.BuildID() != opt.buildID {
		f.Close()
		return nil, fmt.Errorf("%s is of another build than %s; -e may name a folder in which there are several", opt.exe, opt.buildID)
	}
	if err == nil || !errors.Is(err, symbol.ErrNotELF) {
		if err != nil {
			err = fmt.Errorf("%w; -e names the ELF file to resolve with", err)
		}
		return f, err
	}
	d, derr := indexes.folderOf(opt.exe)
	switch {
	case derr != nil:
		return nil, derr
	case d == nil:
		return nil, fmt.Errorf("%w; -e names the ELF file to resolve with", err)
	case opt.buildID != "":
		return indexes.build(opt.buildID, d)
	}
	path, oerr := d.only()
	if oerr != nil {
		return nil, fmt.Errorf("%w, %w", err, oerr)
	}
	return indexes.open(path)
}

// openTable opens the file of -e, which is none of ELF, if it is one of a crash reporter's; or the
// one of --build-id in a folder of them. nil and no error: it is neither.
func (opt *addrOptions) openTable(cause error) (addrSymbols, error) {
	if opt.buildID != "" {
		if t := symstore.Find(opt.exe, opt.buildID); t != nil {
			return t, nil
		}
	}
	if !errors.Is(cause, symbol.ErrNotELF) {
		return nil, nil
	}
	t, err := symstore.Open(opt.exe)
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, symstore.ErrUnknown):
		return nil, nil
	}
	if info, serr := os.Stat(opt.exe); serr == nil && info.IsDir() {
		return nil, nil
	}
	return nil, err
}

// build opens the file of a build: from the folder, if it is not nil, or from a server.
func (x *indexing) build(id string, d *folder) (*symbol.File, error) {
	if d != nil {
		if f := d.find(id, ""); f != nil {
			return f, nil
		}
	}
	if f := x.fromServer(id); f != nil {
		return f, nil
	}
	where := "no server of $DEBUGINFOD_URLS has it"
	switch {
	case x.server == nil && d == nil:
		where = "-e names a folder in which it is, or $DEBUGINFOD_URLS servers that have it"
	case x.server == nil:
		where = d.name + " has it not"
	}
	return nil, fmt.Errorf("no ELF file of build %s: %s", id, where)
}

// folderOf returns the folder that path is, or what is in the package that it is; nil if it is
// neither.
func (x *indexing) folderOf(path string) (*folder, error) {
	d := &folder{root: path, name: path, indexes: x}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if !unpack.Is(path) {
			return nil, nil
		}
		if d.root, err = os.MkdirTemp("", "zf-package-"); err != nil {
			return nil, err
		}
		if x != nil {
			x.temp = append(x.temp, d.root)
		}
		if err := unpack.ELFs(path, d.root); err != nil {
			return nil, err
		}
	}
	if x != nil {
		x.folders = append(x.folders, d)
	}
	return d, d.list()
}

// clean removes what packages were unpacked to.
func (x *indexing) clean() {
	for _, dir := range x.temp {
		os.RemoveAll(dir)
	}
	x.temp = nil
}

// isTemp reports whether a file is from a package, and so will be gone.
func (x *indexing) isTemp(path string) bool {
	for _, dir := range x.temp {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// only returns the file that a folder is about: its only ELF file, or the Linux kernel of several.
func (d *folder) only() (string, error) {
	if path := d.kernel(); path != "" {
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
		list = append(list, strings.TrimPrefix(strings.TrimPrefix(path, d.root), "/"))
	}
	return "", fmt.Errorf("and it has %d ELF files (%s): --build-id says which, or -e names it", len(all), strings.Join(list, ", "))
}

// openProcess opens a process.
func (opt *addrOptions) openProcess(indexes *indexing) (addrSymbols, error) {
	var given *folder
	if opt.exe != defaultExe {
		d, err := indexes.folderOf(opt.exe)
		if err != nil {
			return nil, err
		}
		if d == nil {
			d = &folder{name: opt.exe, files: []string{opt.exe}, indexes: indexes}
		}
		given = d
	}
	if opt.core != "" {
		f, err := symbol.Open(opt.core)
		if err != nil {
			return nil, fmt.Errorf("%w; -core names a core file", err)
		}
		return coreOf(f, indexes, given)
	}
	p, err := openLive(opt.pid, opt.maps)
	if err != nil {
		return nil, err
	}
	withFiles(p, indexes, given)
	return p, nil
}

// openLive opens a running process, or a copy of its /proc/PID/maps.
func openLive(pid int, maps string) (*process.Process, error) {
	if pid != 0 {
		return process.Running(pid)
	}
	file, err := os.Open(maps)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return process.ReadMaps(file, maps)
}

// A coreProcess closes the core file, too.
type coreProcess struct {
	*process.Process
	file *symbol.File
}

func (c coreProcess) Close() error { return errors.Join(c.Process.Close(), c.file.Close()) }

// coreOf returns the process that has left a core file.
func coreOf(f *symbol.File, indexes *indexing, given *folder) (addrSymbols, error) {
	p, err := process.Core(f.File)
	if err != nil {
		f.Close()
		return nil, err
	}
	withFiles(p, indexes, given)
	return coreProcess{p, f}, nil
}

// withFiles lets a process have its files from elsewhere, too: those given, by build ID, and
// servers. Each may use its index.
func withFiles(p *process.Process, indexes *indexing, given *folder) {
	own := p.Open
	p.Open = func(m process.Mapping) (*symbol.File, error) {
		if given != nil && m.BuildID != "" {
			if f := given.find(m.BuildID, ""); f != nil {
				return f, nil
			}
		}
		f, err := own(m)
		if err == nil {
			indexes.use(f)
			return f, nil
		}
		if m.BuildID != "" {
			if f := indexes.fromServer(m.BuildID); f != nil {
				return f, nil
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; -e names a folder that has it", err)
		}
		return nil, err
	}
	indexes.mu.Lock()
	indexes.processes = append(indexes.processes, p)
	indexes.mu.Unlock()
}
