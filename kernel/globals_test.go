package kernel_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// writers matches the part of a package-level variable's comment that says who may write to it.
// With one CPU, holding the kernel lock means that interrupts are off. Variables that are one per
// CPU are in package percpu's record; its doc.go lists those that are not yet.
var writers = regexp.MustCompile(`(?i)\b(set once at boot|under the kernel lock; the panic path takes none|under the kernel lock|panic path only|one per CPU|never written|crash lab only)\b`)

// marks returns that part of the comment of each package-level variable of a file, or "".
func marks(file *ast.File) map[string]string {
	all := map[string]string{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			mark := writers.FindString(strings.Join(strings.Fields(g.Doc.Text()+v.Doc.Text()+v.Comment.Text()), " "))
			for _, n := range v.Names {
				all[n.Name] = strings.ToLower(mark)
			}
		}
	}
	return all
}

// TestWriters: the comment of each variable says who may write to it. The list in percpu/doc.go has
// exactly the variables that are one per CPU and not in the CPU's record.
func TestWriters(t *testing.T) {
	doc, err := os.ReadFile("percpu/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\S+): (.*)`).FindAllStringSubmatch(string(doc), -1) {
		for _, name := range strings.Fields(m[2]) {
			listed[m[1]+"."+name] = true
		}
	}
	count := map[string]int{}
	for _, root := range []string{".", "../arch"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() == "testdata" || d.Name() == "stub" {
				return cmp.Or(err, filepath.SkipDir)
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for name, mark := range marks(file) {
				count[mark]++
				name = filepath.Dir(path) + "." + name
				switch {
				case mark == "":
					t.Errorf("%s: the comment of %s does not say who may write to it: want %q", path, name, writers)
				case mark == "crash lab only" && !strings.HasPrefix(path, "crashlab/"):
					t.Errorf("%s: %s is not the crash lab's", path, name)
				case (mark == "one per cpu") != listed[name]:
					t.Errorf("%s: %s is %s; in the list of percpu/doc.go: %v", path, name, mark, listed[name])
				}
				delete(listed, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range listed {
		t.Errorf("percpu/doc.go lists %s, which is not there", name)
	}
	t.Logf("%v", count)
	if len(count) < 7 {
		t.Errorf("%d kinds of writers; want all of them", len(count))
	}
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n\nvar (\n\ta int // one per CPU\n\tb int // a number\n)\n", parser.ParseComments)
	if m := marks(file); err != nil || len(m) != 2 || m["a"] != "one per cpu" || m["b"] != "" {
		t.Errorf("of two variables, one of them without: %q, %v", m, err)
	}
}
