package main

// The images that traces are resolved with: files and folders, opened while text
// already flows. A folder is looked through when a trace wants a build or a Linux
// module that is in none of the files.

import (
	"bytes"
	"context"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/elf"
	"github.com/zeroframe/zeroframe/tools/foreign"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symstore"
	"github.com/zeroframe/zeroframe/tools/unpack"
	"github.com/zeroframe/zeroframe/tools/wire"
)

// loader opens images in the background.
type loader struct {
	done   chan struct{} // closed when im and err are there
	im     *lookup.Images
	err    error
	opened []io.Closer

	assumed bytes.Buffer // what a map did not say, as lines for the user

	indexes *indexing
}

// load begins to open the images that the flags name.
func (f *symbolizeFlags) load(indexes *indexing) *loader {
	l := &loader{done: make(chan struct{}), indexes: indexes}
	go func() {
		defer close(l.done)
		if l.im, l.err = f.images(l); l.err != nil {
			l.im = nil
		}
	}()
	return l
}

// wait returns the images, or nil if they could not be opened or ctx ends first.
func (l *loader) wait(ctx context.Context) *lookup.Images {
	select {
	case <-l.done:
		return l.im
	case <-ctx.Done():
		return nil
	}
}

// failed returns a channel that brings the error of opening the images, if there
// is one.
func (l *loader) failed() <-chan error {
	c := make(chan error, 1)
	go func() {
		if <-l.done; l.err != nil {
			c <- l.err
		}
	}()
	return c
}

// Close closes what was opened, unless it is still being opened.
func (l *loader) Close() {
	select {
	case <-l.done:
		for _, c := range l.opened {
			c.Close()
		}
	default:
	}
}

// images opens the ELF files, the folders or the map.
func (f *symbolizeFlags) images(l *loader) (*lookup.Images, error) {
	im := &lookup.Images{}
	add := func(sym lookup.Resolver, c io.Closer) {
		im.Given, l.opened = append(im.Given, sym), append(l.opened, c)
	}
	if f.mapFile != "" {
		m, err := openMap(f.mapFile, f.base, &l.assumed)
		if err != nil {
			return nil, err
		}
		add(m, m)
	}
	var folders []*folder
	var files []string
	for _, path := range f.elfs {
		info, err := os.Stat(path)
		if err == nil && (info.IsDir() || unpack.Is(path)) {
			d, err := l.indexes.folderOf(path)
			if err != nil {
				return nil, err
			}
			folders = append(folders, d)
			continue
		}
		files = append(files, path)
	}
	for _, path := range files {
		sym, c, err := l.open(path)
		if err != nil {
			return nil, err
		}
		add(sym, c)
	}
	for _, d := range folders {
		// The kernel of a folder of modules is what their traces mostly are of.
		if path := d.kernel(); path != "" {
			if sym, err := openIndexed(path, l.indexes); err == nil {
				add(sym, sym)
			}
		}
	}
	if len(folders) > 0 || l.indexes.server != nil {
		l.search(im, folders)
	}
	return im, f.setBias(im)
}

// setBias sets where the first image runs, if -bias says so.
func (f *symbolizeFlags) setBias(im *lookup.Images) error {
	if f.bias == "" {
		return nil
	}
	if len(im.Given) == 0 {
		return errors.New("-bias: it is of the first ELF file, and -e names folders only")
	}
	bias, err := foreign.ParseBias(f.bias, im.Given[0])
	if err != nil {
		return fmt.Errorf("-bias: %w", err)
	}
	im.Bias = &bias
	return nil
}

// open opens an ELF file, or a file of a crash reporter.
func (l *loader) open(path string) (lookup.Resolver, io.Closer, error) {
	sym, err := openIndexed(path, l.indexes)
	if errors.Is(err, symbol.ErrNotELF) {
		if t, terr := symstore.Open(path); terr == nil {
			return t, t, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return sym, sym, nil
}

// search has im find images in folders and at servers.
func (l *loader) search(im *lookup.Images, folders []*folder) {
	opened := func(sym *symbol.File) lookup.Resolver {
		if sym == nil {
			return nil
		}
		l.opened = append(l.opened, sym)
		return sym
	}
	im.Find = func(build, module string) lookup.Resolver {
		for _, d := range folders {
			if sym := d.find(build, module); sym != nil {
				return opened(sym)
			}
		}
		for _, d := range folders {
			if t := symstore.Find(d.root, build); t != nil {
				return t
			}
		}
		return opened(l.indexes.fromServer(build))
	}
	im.File = func(path string) lookup.Resolver {
		for _, d := range folders {
			if sym := d.named(path); sym != nil {
				return opened(sym)
			}
		}
		return nil
	}
}

// addrSymbols is what addresses are looked up in: a *symbol.File, a *symbol.Map or a
// *symstore.Table.
type addrSymbols interface {
	io.Closer
	Name() string
	AddressSize() int
	Lookup(addr uint64, ret bool) []lookup.Call
	Named(name string) []lookup.Named
	SectionStart(name string) (uint64, bool)
}

// openFor opens what the flags of zf addr name.
func (x *indexing) openFor(opt *addrOptions) (addrSymbols, error) {
	if opt.mapFile != "" {
		return openMap(opt.mapFile, opt.base, x.stderr)
	}
	f, t, err := x.openNamed(opt.exe, opt.buildID)
	switch {
	case t != nil:
		return t, nil
	case err != nil:
		return nil, err
	}
	if err := f.CanResolve(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w; -e must name the file as it was linked, before it was stripped", err)
	}
	if f.HasUnlinkedDWARF() {
		x.say("note: %s is an object file, whose DWARF is not read before it is linked; names come from the symbol table, without lines", opt.exe)
	}
	return f, nil
}

// openNamed opens the file of -e, or of --build-id, which may be one of a crash reporter's.
func (x *indexing) openNamed(exe, build string) (*symbol.File, *symstore.Table, error) {
	if build != "" && exe == defaultExe {
		f, err := x.build(build, nil)
		return f, nil, err
	}
	f, err := x.open(exe)
	switch {
	case err == nil && (build == "" || f.BuildID() == build):
		return f, nil, nil
	case err == nil:
		f.Close()
		return nil, nil, fmt.Errorf("%s is of another build than %s; -e may name a folder in which there are several", exe, build)
	case !errors.Is(err, symbol.ErrNotELF):
		return nil, nil, fmt.Errorf("%w; -e names the ELF file to resolve with", err)
	}
	if build != "" {
		if t := symstore.Find(exe, build); t != nil {
			return nil, t, nil
		}
	}
	d, derr := x.folderOf(exe)
	switch {
	case derr != nil:
		return nil, nil, derr
	case d == nil:
		t, terr := symstore.Open(exe)
		if errors.Is(terr, symstore.ErrUnknown) {
			t, terr = nil, fmt.Errorf("%w; -e names the ELF file to resolve with", err)
		}
		return nil, t, terr
	case build != "":
		f, err = x.build(build, d)
		return f, nil, err
	}
	path, oerr := d.only()
	if oerr != nil {
		return nil, nil, fmt.Errorf("%w, %w", err, oerr)
	}
	f, err = x.open(path)
	return f, nil, err
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

// openSymbols opens an ELF file that can resolve something.
func openSymbols(path string) (*symbol.File, error) { return openIndexed(path, nil) }

// openIndexed is openSymbols for a command that uses indexes.
func openIndexed(path string, indexes *indexing) (*symbol.File, error) {
	sym, err := indexes.open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; give the image that `zf build -o FILE` wrote", err)
	case err != nil:
		return nil, err
	}
	if err := sym.CanResolve(); err != nil && !sym.FindsFunctions() {
		sym.Close()
		if sym.Type == stdelf.ET_CORE {
			return nil, fmt.Errorf("%s is a core file; give the program that was running", path)
		}
		return nil, fmt.Errorf("%w; give the image as it was built", err)
	}
	return sym, nil
}

// maxFolderFiles bounds the files of a folder that are looked at.
const maxFolderFiles = 1 << 20

// A folder has ELF files: below .build-id by build ID, or anywhere.
type folder struct {
	root    string
	name    string   // as the user gave it; of a package its own
	ids     []string // the folders called .build-id
	files   []string
	modules map[string]string   // by Linux's name: the file
	builds  map[string]string   // by build ID: the file; nil until it is wanted
	names   map[string][]string // by name: the files; nil until one is wanted
	indexes *indexing
}

// list lists the folder's files.
func (d *folder) list() error {
	root, err := filepath.EvalSymlinks(d.root)
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
		if name := foreign.ModuleName(path); name != "" {
			// The file with the debug information is the better one.
			if d.modules[name] == "" || strings.HasSuffix(path, ".debug") && !strings.HasSuffix(d.modules[name], ".debug") {
				d.modules[name] = path
			}
		}
		return nil
	})
}

// DebugFile makes the folder a store of debug information.
func (d *folder) DebugFile(_ context.Context, id string) (string, error) {
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
func (d *folder) roots() []string { return append(d.ids[:len(d.ids):len(d.ids)], d.root) }

// hidden returns the files below the folders called .build-id.
func (d *folder) hidden() (files []string) {
	for _, dir := range d.ids {
		all, _ := filepath.Glob(filepath.Join(dir, "??", "*"))
		files = append(files, all...)
	}
	return files
}

// kernel returns the file that is a Linux kernel's, if there is one and no other.
func (d *folder) kernel() string {
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

// find opens the file of a build, or of a module; nil if there is none that can be
// used.
func (d *folder) find(build, module string) *symbol.File {
	if module != "" {
		if path := d.modules[module]; path != "" {
			if sym, err := openIndexed(path, d.indexes); err == nil {
				return sym
			}
		}
		return nil
	}
	if part, cut := strings.CutSuffix(build, wire.PartMark); cut {
		build = d.complete(part)
	}
	if len(build) < 4 || strings.ContainsAny(build, `/\.`) { // it comes out of a trace
		return nil
	}
	for _, dir := range d.roots() {
		path := filepath.Join(dir, build[:2], build[2:])
		for _, path := range []string{path + ".debug", path} {
			if sym := d.openBuild(path, build); sym != nil {
				return sym
			}
		}
	}
	if path := d.byBuild()[build]; path != "" {
		return d.openBuild(path, build)
	}
	return nil
}

// named opens the file of a program or a library by the path that it has on the system that
// ran it: of several of its name the one whose folders are most like those, and of such the
// one with the debug information. It is nil if there is none, or no telling which.
func (d *folder) named(path string) *symbol.File {
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
	sym, err := openIndexed(best, d.indexes)
	if err != nil {
		return nil
	}
	return sym
}

// byBuild returns the files that lie anywhere, by their build IDs.
func (d *folder) byBuild() map[string]string {
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

// complete returns the build ID that begins so, if there is one and no other.
func (d *folder) complete(part string) string {
	if len(part) < 4 || strings.Trim(part, "0123456789abcdef") != "" {
		return ""
	}
	found := map[string]bool{}
	for _, root := range d.roots() {
		list, _ := os.ReadDir(filepath.Join(root, part[:2]))
		for _, e := range list {
			if id := part[:2] + strings.TrimSuffix(e.Name(), ".debug"); strings.HasPrefix(id, part) && !e.IsDir() {
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

// openBuild opens a file if it is of the build.
func (d *folder) openBuild(path, build string) *symbol.File {
	sym, err := openIndexed(path, d.indexes)
	if err != nil {
		return nil
	}
	if sym.BuildID() != build {
		sym.Close()
		return nil
	}
	return sym
}
