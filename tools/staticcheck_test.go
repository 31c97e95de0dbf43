package tools

// staticcheck runs over the whole module. It does not read assembly, so it takes for unused
// what only assembly uses, and what that uses in turn. Those findings are left out here, and
// nowhere else; all others are to be repaired, or explained by a //lint:ignore at the place.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// finding is one line of staticcheck -f json.
type finding struct {
	Code     string
	Location struct {
		File string
		Line int
	}
	Message string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s (%s)", f.Location.File, f.Location.Line, f.Message, f.Code)
}

// staticcheck returns what it finds in the packages below dir, except for what assembly uses.
func staticcheck(t *testing.T, dir string) (left []finding) {
	t.Helper()
	tool, err := exec.Command("go", "tool", "-n", "staticcheck").Output()
	if err != nil {
		t.Fatalf("go tool -n staticcheck: %v", err)
	}
	cmd := exec.Command(strings.TrimSpace(string(tool)), "-f", "json", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || len(out) == 0) {
		t.Fatalf("staticcheck: %v\n%s", err, stderr.Bytes())
	}
	used := map[string]map[string]bool{} // by folder
	roots := assemblyNames(t, dir)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var f finding
		if err := d.Decode(&f); err == io.EOF {
			return left
		} else if err != nil {
			t.Fatalf("%v in what staticcheck says:\n%s", err, out)
		}
		if name, ok := strings.CutSuffix(f.Message, " is unused"); ok && f.Code == "U1000" {
			folder := filepath.Dir(f.Location.File)
			if used[folder] == nil {
				used[folder] = usedBy(t, folder, roots[filepath.Base(folder)])
			}
			if used[folder][name[strings.LastIndexAny(name, " .")+1:]] {
				continue
			}
		}
		left = append(left, f)
	}
}

// asmName matches a Go name in assembly: a symbol, with the end of its package's path, or
// what go_asm.h makes of constants, fields and sizes.
var asmName = regexp.MustCompile(`(?:(\w+)?·(\w+))|const_(\w+)|\b(\w+)__size|\b([A-Za-z]\w*?)_(\w+)`)

// assemblyNames returns the names that assembly below dir uses, by the package's folder. A
// definition is no use.
func assemblyNames(t *testing.T, dir string) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".s" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		own := filepath.Base(filepath.Dir(path))
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "//")
			if strings.HasPrefix(line, "TEXT") || strings.HasPrefix(line, "GLOBL") {
				continue
			}
			for _, m := range asmName.FindAllStringSubmatch(line, -1) {
				folder := own
				if m[1] != "" {
					folder = m[1]
				}
				for _, name := range m[2:] {
					if name != "" {
						names[folder] = append(names[folder], name)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// usedBy returns roots and each name that their declarations in the folder use, directly or
// through others.
func usedBy(t *testing.T, folder string, roots []string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string][]ast.Node{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[d.Name.Name] = append(declared[d.Name.Name], d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						declared[s.Name.Name] = append(declared[s.Name.Name], s)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							declared[n.Name] = append(declared[n.Name], s)
						}
					}
				}
			}
		}
	}
	used := map[string]bool{}
	for len(roots) > 0 {
		name := roots[len(roots)-1]
		roots = roots[:len(roots)-1]
		if used[name] {
			continue
		}
		used[name] = true
		for _, d := range declared[name] {
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					roots = append(roots, id.Name)
				}
				return true
			})
		}
	}
	return used
}

func TestStaticcheck(t *testing.T) {
	for _, f := range staticcheck(t, "..") {
		t.Error(f)
	}
}

// TestStaticcheckFinds: beside a name that assembly uses, one that nobody uses is found.
func TestStaticcheckFinds(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go":   "package a\n\nfunc called() { helper() }\n\nfunc helper() {}\n\nfunc defined()\n\nfunc nobody() {}\n\nfunc Compare(x int) bool { return x == x }\n",
		"a.s":    "TEXT ·defined(SB), 4, $0-0\n\tCALL ·called(SB) // not ·nobody\n\tRET\n",
		"go.mod": "module example.com/a\n\ngo 1.26\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, f := range staticcheck(t, dir) {
		got = append(got, f.Message)
	}
	if len(got) != 3 {
		t.Errorf("found %q; want defined, nobody, and the comparison of x with itself", got)
	}
}
