package image

// A program of which nothing has changed since it was built is not built at all: to ask the go
// command costs ten times what the machine takes to boot. What the build has read is remembered by
// the times of the files, and where it cannot be told what that was, nothing is remembered.

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// settledFor is how long before a build its sources must have been left alone: one that was
// written later may have been read before that. Tests change it.
var settledFor = 2 * time.Second

// sources are the ends of the names of files that the go command reads in a package's folder.
const sources = " .go .s .S .h .hh .hpp .hxx .c .cc .cpp .cxx .m .f .F .for .f90 " +
	".swig .swigcxx .syso .pgo "

// Names of files that end in one of these words are for other systems and processors, so no build
// here reads them, unless a tag is such a word.
const (
	otherSystems = " aix android darwin dragonfly freebsd hurd illumos ios js nacl netbsd openbsd " +
		"plan9 solaris wasip1 windows zos "
	otherProcessors = "386 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 " +
		"s390x wasm "
)

// inputs is what a build with the same options has read, or reads.
type inputs struct {
	file   string    // where it is remembered; "": nowhere
	before time.Time // nothing that it has read may have been changed later
	said   *counter  // what it has said but for notes
	all    []string  // a line each: [stamp], path
	unsure bool      // it cannot be told what it reads

	importPath string
	notes      []string // to the user, a line each, to be said again
}

// A counter counts the bytes that are written through it.
type counter struct {
	io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.Writer.Write(p)
}

// inputs begins to remember. It must be called with the options as they were given.
func (o *BuildOptions) inputs() *inputs {
	said := &counter{Writer: o.Stderr}
	o.Stderr = said
	in := &inputs{before: time.Now().Add(-settledFor), said: said}
	where, err := filepath.Abs(o.Dir)
	if o.Keep == "" || o.Events != nil || len(o.TestFlags) > 0 || err != nil || !hasChangeTimes ||
		strings.Contains(o.Package, "@") {
		return in
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%v %t %t %t %t %t %#v %#v\x00%q %q %q %q %q %q\x00%s", where,
		o.Package, o.Loaders, o.Test, o.Net, o.Inet, o.HeapProfile, o.Zones, o.Parts, o.Flags,
		o.BuildMode, o.Tags, o.GCFlags, o.LDFlags, o.EntrySymbol, o.KernelPackage, self())
	fmt.Fprintf(h, "\x00%s", goCommand())
	for _, kv := range slices.Sorted(slices.Values(o.Env)) {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GO") || strings.HasPrefix(name, "CGO_") ||
			slices.Contains([]string{"PATH", "HOME", "XDG_CONFIG_HOME", SourceEnv}, name) {
			fmt.Fprintf(h, "\x00%s", kv)
		}
	}
	in.file = filepath.Join(o.Keep, fmt.Sprintf("%s%x", inputsPrefix, h.Sum(nil)[:16]))
	return in
}

// inputsPrefix begins the names of the files in [BuildOptions.Keep] that say what a build has read.
const inputsPrefix = "inputs-"

// self is this program: another one may build otherwise.
func self() string {
	if exe, err := os.Executable(); err == nil {
		if fi, err := os.Stat(exe); err == nil {
			return fmt.Sprint(exe, fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return ""
}

// goCommand is the path of the go command, "" if there is none.
func goCommand() string {
	path, err := exec.LookPath("go")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return ""
	}
	return path
}

// note says something to the user, now and when nothing is built.
func (o *BuildOptions) note(text string) {
	fmt.Fprintln(o.read.said.Writer, "note:", text)
	o.read.notes = append(o.read.notes, text)
}

// image returns the package's import path and the image that the build has made, if all that it
// has read is as it was.
func (in *inputs) image() (importPath string, image []byte, ok bool) {
	text, err := os.ReadFile(in.file)
	if in.file == "" || err != nil {
		return "", nil, false
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	in.notes = nil
	var key, sum string
	if n, _ := fmt.Sscan(head, &key, &sum, &importPath); n != 3 {
		return "", nil, false
	}
	for line := range strings.Lines(rest) {
		then, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if then == "note:" {
			in.notes = append(in.notes, path)
			continue
		}
		if now, _ := stamp(path); !ok || now != then {
			return "", nil, false
		}
	}
	folder := filepath.Join(filepath.Dir(in.file), key)
	image, err = os.ReadFile(filepath.Join(folder, "finished"))
	if err != nil || fmt.Sprintf("%x", sha256.Sum256(image)) != sum {
		return "", nil, false
	}
	for _, path := range []string{folder, in.file} {
		os.Chtimes(path, time.Time{}, time.Now()) // the ones used last are kept
	}
	for _, n := range in.notes {
		fmt.Fprintln(in.said.Writer, "note:", n)
	}
	return importPath, image, true
}

// read notes that a file is read, or all sources in a folder, or that there is no such file.
func (in *inputs) read(path string) {
	if in.file == "" || in.unsure {
		return
	}
	s, changed := stamp(path)
	in.unsure = s == "" || changed.After(in.before) || strings.Contains(path, "\n")
	in.all = append(in.all, s+" "+path)
}

// packages notes what the go command reads of packages; nil: nothing is noted.
func (in *inputs) packages(pkgs []listed) {
	if in == nil {
		return
	}
	for _, p := range pkgs {
		if p.Dir == "" {
			continue // the main package of a test
		}
		in.read(p.Dir)
		if p.Standard || strings.Contains(p.Dir, "@") {
			continue
		}
		if len(p.EmbedFiles)+len(p.TestEmbedFiles)+len(p.XTestEmbedFiles) > 0 {
			in.unsure = true // which other files would be embedded is for the go command to say
		}
		in.module(p.Dir)
	}
}

// module notes what says where the packages come from that those in a folder import.
func (in *inputs) module(dir string) {
	for {
		for _, name := range strings.Fields("go.mod go.sum go.work go.work.sum vendor/modules.txt") {
			in.read(filepath.Join(dir, name))
		}
		up := filepath.Dir(dir)
		if up == dir {
			return
		}
		dir = up
	}
}

// toolchain notes the go command and its settings. Flags may name files: of these alone it is known
// that they do not.
func (in *inputs) toolchain(o *BuildOptions) {
	settings := o.getenv("GOENV")
	if config, cerr := os.UserConfigDir(); settings == "" && cerr == nil {
		settings = filepath.Join(config, "go", "env")
	}
	path := goCommand()
	root := filepath.Dir(filepath.Dir(path))
	if _, err := os.Stat(filepath.Join(root, "VERSION")); err != nil {
		in.unsure = true // a script, which may choose another one
	}
	in.read(path)
	in.read(filepath.Join(root, "VERSION"))
	in.read(filepath.Join(root, "go.env"))
	in.read(settings)
	for _, flag := range slices.Concat(o.goflags, o.Flags) {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if !strings.Contains(" trimpath buildvcs mod p tags gcflags ldflags ", " "+name+" ") {
			in.unsure = true
		}
	}
	for _, tag := range strings.Split(strings.ReplaceAll(o.Tags+","+o.value("tags"), " ", ","), ",") {
		in.unsure = in.unsure || isOther("_"+tag)
	}
	in.unsure = in.unsure || o.stampsVersion()
}

// stampsVersion reports whether the program knows its version control's state, as go run's does not
// unless it is asked for.
func (o *BuildOptions) stampsVersion() bool {
	return !o.Test && !slices.Contains([]string{"", "false"}, o.value("buildvcs"))
}

// keep remembers the image that the build of a package has made.
func (in *inputs) keep(k *kept, image []byte) {
	if in.file == "" || k == nil || in.unsure || in.said.n > 0 {
		return
	}
	slices.Sort(in.all)
	lines := slices.Compact(in.all)
	for _, n := range in.notes {
		lines = append(lines, "note: "+n)
	}
	text := fmt.Sprintf("%s %x %s\n%s\n", k.key, sha256.Sum256(image), in.importPath,
		strings.Join(lines, "\n"))
	os.WriteFile(in.file, []byte(text), 0o644)
}

// stamp is another one when a file has changed, or a folder's sources, and when the last change
// was; "" if that cannot be told.
func stamp(path string) (s string, changed time.Time) {
	fi, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return "-", changed
	case err != nil:
		return "", changed
	case !fi.IsDir():
		return fileStamp(fi)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", changed
	}
	h := sha256.New()
	for _, e := range entries {
		if !strings.Contains(sources, " "+filepath.Ext(e.Name())+" ") || e.IsDir() || isOther(e.Name()) {
			continue
		}
		fi, err := os.Stat(filepath.Join(path, e.Name()))
		if err != nil {
			return "", changed
		}
		s, at := fileStamp(fi)
		fmt.Fprintf(h, "%s %s\n", e.Name(), s)
		if at.After(changed) {
			changed = at
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16]), changed
}

// isOther reports whether a file's name says that it is for another system or processor.
func isOther(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	words := strings.Split(strings.TrimSuffix(base, "_test"), "_")
	last := words[len(words)-1]
	switch before := words[:len(words)-1]; {
	case len(before) == 0:
		return false // windows.go is for all
	case last == "amd64":
		return len(before) > 1 && strings.Contains(otherSystems, " "+before[len(before)-1]+" ")
	}
	return strings.Contains(otherSystems+otherProcessors, " "+last+" ")
}

// fileStamp is stamp of a file.
func fileStamp(fi os.FileInfo) (s string, changed time.Time) {
	at := changeTime(fi)
	if m := fi.ModTime(); m.After(at) {
		changed = m
	} else {
		changed = at
	}
	s = fmt.Sprintf("%d.%d.%d.%o", fi.Size(), fi.ModTime().UnixNano(), at.UnixNano(), fi.Mode())
	return s, changed
}
