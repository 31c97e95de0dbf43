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
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// loader opens images in the background.
type loader struct {
	done   chan struct{} // closed when im and err are there
	im     *lookup.Images
	err    error
	opened []io.Closer

	assumed bytes.Buffer // what a map did not say, as lines for the user

	indexes *opening
}

// load begins to open the images that the flags name.
func (f *symbolizeFlags) load(indexes *opening) *loader {
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
	var folders []*buildid.Folder
	var files []string
	for _, path := range f.elfs {
		info, err := os.Stat(path)
		if err == nil && (info.IsDir() || elf.IsPackage(path)) {
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
		sym, err := l.indexes.openIndexed(path)
		if err != nil {
			return nil, err
		}
		add(sym, sym)
	}
	for _, d := range folders {
		// The kernel of a folder of modules is what their traces mostly are of.
		if path := d.Kernel(); path != "" {
			if sym, err := l.indexes.openIndexed(path); err == nil {
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

// search has im find images in folders and at servers.
func (l *loader) search(im *lookup.Images, folders []*buildid.Folder) {
	opened := func(sym *symbol.File) lookup.Resolver {
		if sym == nil {
			return nil
		}
		l.opened = append(l.opened, sym)
		return sym
	}
	im.Find = func(build, module string) lookup.Resolver {
		for _, d := range folders {
			if sym := findIn(d, build, module); sym != nil {
				return opened(sym)
			}
		}
		return opened(l.indexes.fromServer(build))
	}
	im.File = func(path string) lookup.Resolver {
		for _, d := range folders {
			if sym := d.Named(path); sym != nil {
				return opened(sym)
			}
		}
		return nil
	}
}

// addrSymbols is what addresses are looked up in: a *symbol.File or a *symbol.Map.
type addrSymbols interface {
	io.Closer
	Name() string
	AddressSize() int
	Lookup(addr uint64, ret bool) []lookup.Call
	Named(name string) []lookup.Named
	SectionStart(name string) (uint64, bool)
}

// openFor opens what the flags of zf addr name.
func (x *opening) openFor(opt *addrOptions) (addrSymbols, error) {
	if opt.mapFile != "" {
		return openMap(opt.mapFile, opt.base, x.stderr)
	}
	f, err := x.openNamed(opt.exe, opt.buildID)
	if err != nil {
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

// openNamed opens the file that -e or --build-id names.
func (x *opening) openNamed(exe, build string) (*symbol.File, error) {
	if build != "" && exe == defaultExe {
		return x.build(build, nil)
	}
	f, err := x.open(exe)
	switch {
	case err == nil && (build == "" || f.BuildID() == build):
		return f, nil
	case err == nil:
		f.Close()
		return nil, fmt.Errorf(
			"%s is of another build than %s; -e may name a folder in which there are several",
			exe, build)
	case !errors.Is(err, symbol.ErrNotELF):
		return nil, fmt.Errorf("%w; -e names the ELF file to resolve with", err)
	}
	d, derr := x.folderOf(exe)
	switch {
	case derr != nil:
		return nil, derr
	case d == nil:
		return nil, fmt.Errorf("%w; -e names the ELF file to resolve with", err)
	case build != "":
		return x.build(build, d)
	}
	path, oerr := d.Only()
	if oerr != nil {
		return nil, fmt.Errorf("%w, %w", err, oerr)
	}
	return x.open(path)
}

// build opens the file of a build: from the folder, if it is not nil, or from a server.
func (x *opening) build(id string, d *buildid.Folder) (*symbol.File, error) {
	if d != nil {
		if f := findIn(d, id, ""); f != nil {
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
		where = d.Name + " has it not"
	}
	return nil, fmt.Errorf("no ELF file of build %s: %s", id, where)
}

// folderOf returns the folder that path is, or what is in the package that it is; nil if it is
// neither.
func (x *opening) folderOf(path string) (*buildid.Folder, error) {
	d := &buildid.Folder{Root: path, Name: path, Module: foreign.ModuleName, Open: x.openIndexed}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if !elf.IsPackage(path) {
			return nil, nil
		}
		if d.Root, err = os.MkdirTemp("", "zf-package-"); err != nil {
			return nil, err
		}
		whole.Doom(d.Root)
		x.temp = append(x.temp, d.Root)
		if err := elf.Unpack(path, d.Root); err != nil {
			return nil, err
		}
	}
	x.folders = append(x.folders, d)
	return d, d.List()
}

// clean removes what packages were unpacked to.
func (x *opening) clean() {
	for _, dir := range x.temp {
		os.RemoveAll(dir)
	}
	x.temp = nil
}

// openSymbols opens an ELF file that can resolve something.
func openSymbols(path string) (*symbol.File, error) { return new(opening).openIndexed(path) }

// openIndexed is openSymbols for what has debug information elsewhere.
func (x *opening) openIndexed(path string) (*symbol.File, error) {
	sym, err := x.open(path)
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

// findIn opens the file of a build, or of a module, in a folder; nil if there is none that can be
// used. The name of a build may be the beginning of one.
func findIn(d *buildid.Folder, build, module string) *symbol.File {
	if module != "" {
		return d.OfModule(module)
	}
	if part, cut := strings.CutSuffix(build, wire.PartMark); cut {
		build = d.Complete(part)
	}
	return d.Find(build)
}
