package tools

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tracked returns the files that git knows, by their paths from the root.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), func(path string) bool {
		_, err := os.Stat(filepath.Join("..", path))
		return err != nil // gone, and not committed yet
	})
}

// product reports whether a file counts for the budget.
func product(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testdata/")
}

// TestTrackedFiles: each file that git knows is of a kind that the project has.
func TestTrackedFiles(t *testing.T) {
	kinds := regexp.MustCompile(`(^|/)(LICENSE|Makefile|\.ci/run|go\.(mod|sum)|\.gitignore|\.gitattributes)$` +
		`|\.(go|s|md|sh|txt|js|css|html|yml|rs|py)$|(^|/)testdata/`)
	for _, path := range tracked(t) {
		if !kinds.MatchString(path) {
			t.Errorf("%s is of no kind that the project has: remove it, or name its kind here", path)
		}
	}
}

// TestDocComments: an exported name has a doc comment, or is named in the one above it, and a comment
// that begins with a name begins with its own. What stub has is documented where it is real.
func TestDocComments(t *testing.T) {
	name := regexp.MustCompile(`^([A-Za-z_]*[a-z0-9_][A-Z][A-Za-z0-9_]*|[a-z]+[A-Z0-9]\w*)\b[ ,]`)
	for _, path := range tracked(t) {
		if !product(path) || strings.HasPrefix(path, "arch/stub/") {
			continue
		}
		above := ""
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join("..", path), nil, parser.ParseComments)
		if err != nil {
			t.Error(err)
			continue
		}
		check := func(doc *ast.CommentGroup, group bool, names ...*ast.Ident) {
			at := files.Position(names[0].Pos())
			if doc.Text() == "" {
				if names[0].IsExported() && !group && !strings.Contains(above, names[0].Name) {
					t.Errorf("%s:%d: %s has no doc comment", path, at.Line, names[0])
				}
				return
			}
			above = doc.Text()
			m := name.FindStringSubmatch(doc.Text())
			if m != nil && !slices.ContainsFunc(names, func(n *ast.Ident) bool { return n.Name == m[1] }) {
				t.Errorf("%s:%d: the comment of %s begins with %s", path, at.Line, names[0], m[1])
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if r := d.Recv; r != nil && !receiver(r).IsExported() {
					check(d.Doc, true, d.Name)
				} else {
					check(d.Doc, false, d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					doc := d.Doc
					switch s := s.(type) {
					case *ast.TypeSpec:
						if len(d.Specs) > 1 || s.Doc != nil {
							doc = s.Doc
						}
						check(doc, false, s.Name)
					case *ast.ValueSpec:
						if len(d.Specs) == 1 && s.Doc == nil {
							check(doc, s.Comment != nil, s.Names...)
						} else {
							check(s.Doc, s.Comment != nil || d.Doc != nil, s.Names...)
						}
					}
				}
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(list *ast.FieldList) *ast.Ident {
	name := &ast.Ident{}
	ast.Inspect(list.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name.Name == "" {
			name = id
		}
		return true
	})
	return name
}
