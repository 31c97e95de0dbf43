package image

// Two versions of a package do not link, and a program that uses packages of the network stack
// rarely has the stack's versions of them. The program's versions count, so that it stays what its
// go.mod says: the kernel is compiled with them.

import (
	"cmp"
	"context"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// listedModule is what `go list` says of a package's module.
type listedModule struct {
	Path, Version, GoVersion, GoMod string
	Main                            bool
}

// pins are the modules of which the kernel is compiled with the program's version.
type pins struct {
	modules []string          // with their versions
	get     []string          // `go get` of these gives the program the kernel's own
	modfile string            // a go.mod for the kernel's module that says so
	replace map[string]string // for an overlay: their own go.mod files
}

// String is a part of a sentence: what the kernel is compiled with.
func (p *pins) String() string {
	if p == nil || len(p.modules) == 0 {
		return ""
	}
	return fmt.Sprintf(" with the program's %s (`go get %s` gives the program what it is made for)",
		strings.Join(p.modules, ", "), strings.Join(p.get, " "))
}

// pin finds the pins of a kernel in the folder source. dir is a folder for its files.
func (o *BuildOptions) pin(ctx context.Context, source, dir string) (*pins, error) {
	text, err := os.ReadFile(filepath.Join(source, "go.mod"))
	shared := false // or there is nothing to ask the go command for
	for path := range o.modules {
		shared = shared || strings.Contains(string(text), "\t"+path+" ")
	}
	if source == "" || err != nil || !shared {
		return new(pins), nil
	}
	args := []string{"list", "-deps", "-json=ImportPath,Dir,Standard,Module", "-tags=" + o.Tags,
		"-mod=readonly", "-modfile=", "--"}
	cmd, err := o.sourceCommand(ctx, source, append(args, o.missing...))
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return new(pins), nil // to compile it will fail, too, and say why
	}
	pkgs, err := decodeAll[listed](out)
	if err != nil {
		return nil, fmt.Errorf("%w: go list: %v", ErrNoKernel, err)
	}
	m := modfile{theirs: make(map[string]string)}
	for _, p := range pkgs {
		if p.Standard || p.Module == nil {
			continue
		}
		path, own := p.Module.Path, o.dirs[p.ImportPath]
		if !slices.ContainsFunc(m.needed, func(n *listedModule) bool { return n.Path == path }) {
			m.needed = append(m.needed, p.Module)
		}
		if own != "" && own != p.Dir && o.modules[path] != nil {
			rest := strings.TrimPrefix(p.ImportPath, path)
			m.theirs[path] = strings.TrimSuffix(filepath.ToSlash(own), rest)
		}
	}
	if len(m.theirs) == 0 {
		return new(pins), nil
	}
	sum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoKernel, err)
	}
	return m.write(o.modules, dir)
}

// modfile is a go.mod for the kernel with no modules but those that it consists of.
type modfile struct {
	needed []*listedModule
	theirs map[string]string // the program's folders of modules
}

// write writes it into the folder dir. The program's modules are found there by their folders, so
// that no checksum is needed; they have the same version as in the program, which -trimpath writes
// into archives; and what others ask of them is excluded, or a newer version would be chosen.
func (m *modfile) write(program map[string]*listedModule, dir string) (*pins, error) {
	p := &pins{modfile: filepath.Join(dir, "go.mod"), replace: make(map[string]string)}
	lang := ""
	var lines strings.Builder
	for i, n := range m.needed {
		if n.Main {
			lang = n.GoVersion
			continue
		}
		folder, pinned := m.theirs[n.Path]
		if !pinned {
			fmt.Fprintf(&lines, "require %s %s\n", n.Path, n.Version)
			continue
		}
		own := program[n.Path]
		v := cmp.Or(own.Version, n.Version) // a workspace's own has none
		fmt.Fprintf(&lines, "require %s %s\nreplace %s => %q\n", n.Path, v, n.Path, folder)
		for _, other := range m.asked(n.Path) {
			if other != v {
				fmt.Fprintf(&lines, "exclude %s %s\n", n.Path, other)
			}
		}
		if version.Compare("go"+own.GoVersion, "go"+lang) > 0 {
			lang = own.GoVersion
		}
		p.modules = append(p.modules, strings.TrimSpace(n.Path+" "+own.Version))
		p.get = append(p.get, n.Path+"@"+n.Version)
		if file := filepath.Join(folder, "go.mod"); !isFile(file) { // it is vendored
			p.replace[file] = filepath.Join(dir, fmt.Sprintf("module%d.mod", i))
			if err := writeModfile(p.replace[file], n.Path, own.GoVersion, ""); err != nil {
				return nil, err
			}
		}
	}
	return p, writeModfile(p.modfile, modulePath, lang, lines.String())
}

// writeModfile writes a go.mod.
func writeModfile(file, path, lang, lines string) error {
	if lang != "" {
		lines = "go " + lang + "\n" + lines
	}
	if err := os.WriteFile(file, []byte("module "+path+"\n"+lines), 0o644); err != nil {
		return fmt.Errorf("%w: %v", ErrOutput, err)
	}
	return nil
}

// asked returns the versions of a module that the others ask for.
func (m *modfile) asked(path string) (versions []string) {
	re := regexp.MustCompile(`(?m)^(?:require)?\s+` + regexp.QuoteMeta(path) + ` (\S+)`)
	for _, n := range m.needed {
		text, _ := os.ReadFile(n.GoMod)
		for _, f := range re.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(versions, f[1]) {
				versions = append(versions, f[1])
			}
		}
	}
	return versions
}

// twoVersions is the error of a package of which the program has another version than the packages
// that are added to it, by their folders.
func twoVersions(path, added string) error {
	next := "have the program's module use the same"
	if module, version, ok := inCache(path, added); ok {
		next = fmt.Sprintf("`go get %s@%s` gives the program the same", module, version)
	}
	return fmt.Errorf(
		"%w: the network stack is made with another version of %s than the program, and two do not link; %s",
		ErrNoKernel, path, next)
}

// inCache returns the module and the version of a package by its folder in the module cache.
func inCache(path, dir string) (module, version string, ok bool) {
	before, after, ok := strings.Cut(filepath.ToSlash(dir), "@")
	version, rest, _ := strings.Cut(after, "/")
	module = strings.TrimSuffix(strings.TrimSuffix(path, rest), "/")
	return module, version, ok && strings.HasSuffix(before, filepath.Base(module))
}
