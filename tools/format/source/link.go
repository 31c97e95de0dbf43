package source

// What stands behind a frame: its file and line, as a link if the terminal takes
// such (OSC 8), and the source around it:
//
//	zf1 #0 pc 0x20f3a1 sp 0x3e8fa0 fp 0x3e8fd0 boot main.check+0x11
//	        main.go:40
//	          39 | func check(p *int) int {
//	        > 40 |     return *p
//	          41 | }
//
// A link is made of a path on this host only, percent-encoded, so that no byte of a
// name can end it.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// FileLinks is the template of links that any desktop opens.
const FileLinks = "file://{host}{path}"

// CheckLinks says what is wrong with a template of links, or nil. In it, {path} is a
// file's absolute path, {line} its line and {host} the name of this host.
func CheckLinks(template string) error {
	scheme, _, ok := strings.Cut(template, ":")
	if !ok || !schemeName().MatchString(scheme) || !strings.Contains(template, "{path}") {
		return errors.New(
			"a template of links is a URI with {path} in it, and {line} if it takes one, as vscode://file{path}:{line}")
	}
	for _, c := range []byte(template) {
		if c <= ' ' || c >= 0x7f {
			return errors.New("a template of links is printable ASCII without spaces")
		}
	}
	return nil
}

var schemeName = lookup.Regexp(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// Link returns text as a link on a file that an ELF file names, made by template; as it
// is if the file is not here.
func (s *Finder) Link(template, file string, line int, text string) string {
	at, ok := s.Find(file)
	if !ok {
		return text
	}
	return terminal.LinkStart + uri(template, at,
		line) + terminal.LinkEnd + text + terminal.LinkStart + terminal.LinkEnd
}

// uri fills the template in.
func uri(template, path string, line int) string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	return strings.NewReplacer("{path}", percent(path), "{line}", strconv.Itoa(max(line, 1)), "{host}",
		percent(host)).Replace(template)
}

// percent encodes all that is not plain in a path.
func percent(s string) string {
	var b []byte
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("/-._~", c) >= 0:
			b = append(b, c)
		default:
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return string(b)
}

// contextLine matches a line of context in a log that was resolved before.
var contextLine = lookup.Regexp(`^ {8}[> ] +[0-9]+ \|(?: |$)`)

// Context returns the lines of a file that an ELF file names from n before a line to n
// behind it, numbered, that line marked; nil if the file is not here. They hold no
// control characters.
func (s *Finder) Context(file string, line, n int) []string {
	return ContextLines(s.Lines(file, line, n), line)
}

// ContextLines numbers the lines and marks one.
func ContextLines(lines []Line, mark int) []string {
	if len(lines) == 0 {
		return nil
	}
	digits := len(strconv.Itoa(lines[len(lines)-1].Number))
	var all []string
	for _, l := range lines {
		sign := ' '
		if l.Number == mark {
			sign = '>'
		}
		all = append(all, strings.TrimRight(fmt.Sprintf("%c %*d | %s", sign, digits, l.Number,
			l.Text), " "))
	}
	return all
}

// Relative returns the path relative to the folder, if it lies in it.
func Relative(dir, file string) string {
	if dir == "" {
		return file
	}
	rel, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, string(filepath.Separator)))
	if ok && len(rel) > 1 && rel[0] == filepath.Separator {
		return rel[1:]
	}
	return file
}

// IsContext reports whether a line is one of Context's, in a log that was resolved before.
func IsContext(line string) bool {
	return strings.HasPrefix(line, "        ") && contextLine().MatchString(line)
}
