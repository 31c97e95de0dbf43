package tools

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var lowerSizes = flag.Bool("size", false, "write size.txt as the tree is, where a folder has shrunk")

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

// tokens counts a file's tokens; comments and semicolons are none.
func tokens(text []byte) (n int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	for {
		switch _, tok, _ := s.Scan(); tok {
		case token.EOF:
			return n
		case token.SEMICOLON:
		default:
			n++
		}
	}
}

// folder returns the line of size.txt that a file counts for: the first two folders of its path,
// three in tools.
func folder(path string) string {
	parts := strings.Split(path, "/")
	n := 2
	if parts[0] == "tools" {
		n = 3
	}
	return strings.Join(parts[:min(n, len(parts)-1)], "/")
}

// TestSize compares the tree with its budget, size.txt, in tokens of Go without tests. What shrinks
// a folder lowers its line in the same commit (go test ./tools -run Size -args -size); what needs
// more raises it by hand, in a commit of its own that says why.
func TestSize(t *testing.T) {
	have := map[string]int{}
	for _, path := range tracked(t) {
		if text, err := os.ReadFile(filepath.Join("..", path)); err != nil {
			t.Error(err)
		} else if product(path) {
			n := tokens(text)
			have[folder(path)] += n
			have["all"] += n
		}
	}
	text, err := os.ReadFile("../size.txt")
	if err != nil {
		t.Fatal(err)
	}
	budget := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var name string
		var n int
		if _, err := fmt.Sscan(line, &name, &n); err != nil {
			t.Fatalf("size.txt: %q: %v; want a folder and its tokens", line, err)
		}
		budget[name] = n
	}
	var lowered bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(have)) {
		n, most := have[name], budget[name]
		switch slack := most/100 + 20; {
		case n > most && most == 0 && *lowerSizes: // a folder that is new
			most = n
		case n > most:
			t.Errorf("%s has %d tokens, %d more than its budget: shorten it, or raise its line in size.txt in a commit that says why", name, n, n-most)
		case n < most-slack && !*lowerSizes:
			t.Errorf("%s has %d tokens, and its budget is %d: lower its line, by go test ./tools -run Size -args -size", name, n, most)
		default:
			most = n
		}
		fmt.Fprintf(&lowered, "%s %d\n", name, most)
		delete(budget, name)
	}
	if !*lowerSizes {
		for name := range budget {
			t.Errorf("size.txt has %s, which is not in the tree", name)
		}
	} else if err := os.WriteFile("../size.txt", lowered.Bytes(), 0o644); err != nil {
		t.Error(err)
	}
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

// TestDocComments: an exported name has a doc comment, or is named in the one above it, and a
// comment that begins with a name begins with its own.
func TestDocComments(t *testing.T) {
	name := regexp.MustCompile(`^([A-Za-z_]*[a-z0-9_][A-Z][A-Za-z0-9_]*|[a-z]+[A-Z0-9]\w*)\b[ ,]`)
	for _, path := range tracked(t) {
		if !product(path) {
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
