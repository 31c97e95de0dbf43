package source

// The source that a frame is in, if this host has it: its lines around the frame's
// (Options.Context), and the file that a link leads to.
//
// The path comes out of an ELF file, which may be anybody's. So only regular files
// with the name of a source file are opened, also at the end of a link, up to a size;
// what is shown of them holds no control characters. A path that is not absolute is one that a
// compiler was told to shorten (Go's -trimpath, gcc's -ffile-prefix-map), and is looked for where
// such a path comes from.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// Limits of what is read and kept of source files.
const (
	// maxSource is the size in bytes of the largest file that is opened.
	maxSource = 16 << 20
	// maxSources is the number of files that are kept, and maxPaths that of the
	// paths whose files are remembered.
	maxSources = 8
	maxPaths   = 4096
	// maxSourceLine is the longest line that is shown, in columns.
	maxSourceLine = 160
	// MaxContext is the largest Options.Context.
	MaxContext = 100
	// sourceAge is for how long a file counts as unchanged.
	sourceAge = time.Second
)

// sourceTypes are the endings of the names of source files.
var sourceTypes = map[string]bool{
	".go": true, ".s": true, ".asm": true, ".c": true, ".h": true, ".i": true, ".ii": true,
	".cc": true, ".cpp": true, ".cxx": true, ".c++": true, ".hh": true, ".hpp": true, ".hxx": true,
	".inc": true, ".inl": true, ".ipp": true, ".tcc": true, ".rs": true, ".zig": true, ".d": true,
	".m": true, ".mm": true, ".swift": true, ".nim": true, ".pas": true, ".pp": true, ".adb": true,
	".ads": true, ".f": true, ".f90": true, ".for": true, ".l": true, ".y": true, ".v": true,
}

// isSource reports whether a path has the name of a source file.
func isSource(file string) bool {
	return sourceTypes[strings.ToLower(path.Ext(filepath.ToSlash(file)))]
}

// A Remap says that what lies under the path Old, in an ELF file, lies under New on
// this host.
type Remap struct{ Old, New string }

// ParseRemap reads OLD=NEW, the argument of -source.
func ParseRemap(s string) (Remap, error) {
	from, to, ok := strings.Cut(s, "=")
	if !ok || to == "" {
		return Remap{},
			fmt.Errorf("%q is not OLD=NEW: the beginning of paths in the ELF file, and the folder that has these files here", s)
	}
	return Remap{from, to}, nil
}

// apply returns the path on this host, if the path lies under Old. An empty Old
// takes every path that is not absolute.
func (r Remap) apply(file string) (string, bool) {
	if r.Old == "" {
		return filepath.Join(r.New, file), !isAbs(file)
	}
	rest, ok := strings.CutPrefix(file, r.Old)
	if !ok || rest != "" && rest[0] != '/' && !strings.HasSuffix(r.Old, "/") {
		return "", false
	}
	if rest == "" {
		return r.New, true
	}
	return filepath.Join(r.New, rest), true
}

// Sources finds source files on this host and reads their lines. It is safe for
// concurrent use.
type Finder struct {
	dir    string
	remaps []Remap

	mu    sync.Mutex
	paths map[string]string // of a file in an ELF, where it is; "" if nowhere
	files []*sourceFile     // the latest one last
	env   goEnv
	asked bool // env is known
}

// sourceFile is a file that is kept.
type sourceFile struct {
	path    string
	checked time.Time
	size    int64
	mod     time.Time
	data    []byte
	starts  []int // of its lines
}

// goEnv is where Go's command has its files. A field is empty if that is not known.
type goEnv struct {
	GOROOT, GOMODCACHE, GOMOD string
	module                    string // the path of the module whose file is GOMOD
}

// New returns a Finder that looks in dir for paths that are not absolute. Of
// the remaps the one with the longest Old counts, and of equal ones the last.
func New(dir string, remaps []Remap) *Finder {
	return &Finder{dir: dir, remaps: remaps, paths: make(map[string]string)}
}

// Find returns the path on this host of a file that an ELF file names, if it is a
// source file that is there: where a Remap says, at the path itself if it is
// absolute, else in the module cache (for m@v1.2.3/f.go), in the folder of the
// program's own module (for its module path and f.go), in Go's standard library
// (for runtime/panic.go), and in the folder itself.
func (s *Finder) Find(file string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(file)
}

func (s *Finder) find(file string) (string, bool) {
	if at, ok := s.paths[file]; ok {
		return at, at != ""
	}
	at := ""
	if file != "" && len(file) <= 4096 && strings.IndexByte(file, 0) < 0 && isSource(file) {
		for _, c := range s.candidates(file) {
			info, err := os.Stat(c)
			if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
				continue
			}
			// A link with the name of a source file may come from whoever has packed the folder.
			if real, err := filepath.EvalSymlinks(c); err == nil && isSource(real) {
				at = filepath.Clean(c)
				break
			}
		}
	}
	if len(s.paths) >= maxPaths {
		clear(s.paths)
	}
	s.paths[file] = at
	return at, at != ""
}

// candidates returns where the file may be.
func (s *Finder) candidates(file string) (all []string) {
	best, at := -1, ""
	for _, r := range s.remaps {
		if to, ok := r.apply(file); ok && len(r.Old) >= best {
			best, at = len(r.Old), to
		}
	}
	if best >= 0 {
		return []string{at}
	}
	if isAbs(file) {
		return []string{file}
	}
	// Of a hostile path no more than what lies in these folders is looked for.
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil
	}
	add := func(parts ...string) { all = append(all, filepath.Join(parts...)) }
	add(s.dir, file)
	env := s.goEnv()
	if strings.Contains(file, "@") && env.GOMODCACHE != "" {
		add(env.GOMODCACHE, escapeModule(file))
	}
	if rest, ok := strings.CutPrefix(file, env.module+"/"); ok && env.module != "" {
		add(filepath.Dir(env.GOMOD), rest)
	}
	if env.GOROOT != "" {
		add(env.GOROOT, "src", file)
	}
	return all
}

// isAbs reports whether a path of an ELF file, which may come from another system,
// is absolute.
func isAbs(file string) bool { return filepath.IsAbs(file) || strings.HasPrefix(file, "/") }

// escapeModule writes the module's part of a path as the module cache does: a
// capital letter is an exclamation mark and the small one.
func escapeModule(file string) string {
	at := strings.IndexByte(file, '@')
	end := at + strings.IndexByte(file[at:]+"/", '/')
	var b strings.Builder
	for _, r := range file[:end] {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('!')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String() + file[end:]
}

// goEnv asks Go's command, once, and only when a path is not absolute. It fetches
// nothing.
func (s *Finder) goEnv() *goEnv {
	if s.asked {
		return &s.env
	}
	s.asked = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ask := func(args ...string) []byte {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
		out, _ := cmd.Output()
		return out
	}
	// Without Go there is none of its files.
	_ = json.Unmarshal(ask("env", "-json", "GOROOT", "GOMODCACHE", "GOMOD"), &s.env)
	if s.env.GOMOD != "" && s.env.GOMOD != os.DevNull {
		s.env.module = strings.TrimSpace(string(ask("list", "-m")))
	}
	return &s.env
}

// Line is a line of a source file, to be shown.
type Line struct {
	Number int
	Text   string // without control characters, tabs as 4 columns
}

// Lines returns the line and up to n lines before and behind it, of the file that an
// ELF file calls so; nil if it is not here, or is shorter.
func (s *Finder) Lines(file string, line, n int) []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.find(file)
	if !ok || line <= 0 {
		return nil
	}
	f, err := s.open(at)
	if err != nil || line > len(f.starts) {
		return nil
	}
	n = min(max(n, 0), MaxContext)
	var lines []Line
	for i := max(1, line-n); i <= min(len(f.starts), line+n); i++ {
		end := len(f.data)
		if i < len(f.starts) {
			end = f.starts[i]
		}
		lines = append(lines, Line{i, sourceText(f.data[f.starts[i-1]:end])})
	}
	return lines
}

// open returns the contents of a file, of the kept ones if it has not changed.
func (s *Finder) open(at string) (*sourceFile, error) {
	for i, f := range s.files {
		if f.path != at {
			continue
		}
		if time.Since(f.checked) < sourceAge {
			return f, nil
		}
		if info, err := os.Stat(at); err == nil && info.Size() == f.size && info.ModTime().Equal(f.mod) {
			f.checked = time.Now()
			return f, nil
		}
		s.files = append(s.files[:i], s.files[i+1:]...)
		break
	}
	f, err := readSource(at)
	if err != nil {
		return nil, err
	}
	if len(s.files) >= maxSources {
		s.files = append(s.files[:0], s.files[1:]...)
	}
	total := len(f.data)
	for _, other := range s.files {
		total += len(other.data)
	}
	if total > maxSource {
		s.files = s.files[:0]
	}
	s.files = append(s.files, f)
	return f, nil
}

var errNoSource = errors.New("no text file, or too large")

// readSource reads a regular file.
func readSource(at string) (*sourceFile, error) {
	if info, err := os.Stat(at); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // to open a pipe would wait
		return nil, errNoSource
	}
	r, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || len(data) > maxSource ||
		bytes.IndexByte(data[:min(len(data), 8192)], 0) >= 0 {
		return nil, errNoSource
	}
	f := &sourceFile{path: at, checked: time.Now(), size: info.Size(), mod: info.ModTime(), data: data}
	for i := 0; i < len(data); {
		f.starts = append(f.starts, i)
		n := bytes.IndexByte(data[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
	}
	return f, nil
}

// sourceText makes a line of a file one that can be shown.
func sourceText(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	var b []byte
	columns := 0
	for len(line) > 0 {
		if columns >= maxSourceLine {
			return string(b) + "…"
		}
		r, n := utf8.DecodeRune(line)
		switch {
		case r == '\t':
			tab := 4 - columns%4
			b = append(b, "    "[:tab]...)
			columns += tab - 1
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\x%02x`, line[0])
			columns += 3
		case unicode.Is(unicode.Cf, r): // some turn the direction of what follows
			b = fmt.Appendf(b, `\u%04x`, r)
			columns += 5
		case terminal.IsControl(r):
			b = fmt.Appendf(b, `\x%02x`, r)
			columns += 3
		default:
			b = append(b, line[:n]...)
		}
		line = line[n:]
		columns++
	}
	return string(bytes.TrimRight(b, " "))
}
