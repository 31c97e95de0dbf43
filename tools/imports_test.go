package tools

// Imports within tools/ and within kernel/ flow one way and not through many packages, nothing
// here imports the kernel, and no package is imported for one constant.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zeroframe/zeroframe/"

// folders are those whose packages are looked at. The crash lab is a program that imports the
// kernel, as any other is: it is in no chain.
var folders = []struct {
	name     string
	maxChain int // packages that import each other one after the other
	packages int // there are so many at least
	not      string
}{
	{"tools", 6, 20, ""},
	{"kernel", 7, 20, "kernel/crashlab"},
}

// imports returns of each package in a folder of the tree, by its path from the root, the names
// that its files, tests apart, use of each package of ours.
func imports(t *testing.T, folder string) map[string]map[string]map[string]bool {
	t.Helper()
	all := make(map[string]map[string]map[string]bool)
	err := filepath.WalkDir(filepath.Join("..", folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() == "testdata" {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.Dir(path), "../")
		if all[dir] == nil {
			all[dir] = make(map[string]map[string]bool)
		}
		names := make(map[string]string) // as the file calls it: the package
		for _, im := range file.Imports {
			if p, ours := strings.CutPrefix(strings.Trim(im.Path.Value, `"`), module); ours {
				name := p[strings.LastIndexByte(p, '/')+1:]
				if im.Name != nil {
					name = im.Name.Name
				}
				names[name] = p
				if all[dir][p] == nil {
					all[dir][p] = make(map[string]bool)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && names[x.Name] != "" {
					all[dir][names[x.Name]][s.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestImportChains(t *testing.T) {
	for _, f := range folders {
		all := imports(t, f.name)
		if len(all) < f.packages {
			t.Fatalf("%d packages found; want all of %s/", len(all), f.name)
		}
		chains := make(map[string][]string)
		var chain func(dir string) []string
		chain = func(dir string) []string {
			if c, ok := chains[dir]; ok {
				return c
			}
			var best []string
			for p := range all[dir] {
				if strings.HasPrefix(p, f.name) {
					if c := chain(p); len(c) > len(best) {
						best = c
					}
				}
			}
			chains[dir] = append([]string{dir}, best...)
			return chains[dir]
		}
		for dir := range all {
			if c := chain(dir); len(c) > f.maxChain && dir != f.not {
				t.Errorf("%d packages; want %d at most: %s", len(c), f.maxChain, strings.Join(c, " > "))
			}
		}
	}
}

func TestNoKernel(t *testing.T) {
	for dir, of := range imports(t, "tools") {
		for p := range of {
			if first, _, _ := strings.Cut(p, "/"); slices.Contains([]string{"kernel", "arch", "boot"}, first) {
				t.Errorf("%s imports %s", dir, p)
			}
		}
	}
}

// TestNoImportForOneConstant: a package of ours that is used for one constant alone is
// imported for too little. Package parts has nothing else.
func TestNoImportForOneConstant(t *testing.T) {
	for _, f := range folders {
		for dir, of := range imports(t, f.name) {
			for p, names := range of {
				if len(names) != 1 || p == "kernel/parts" {
					continue
				}
				for name := range names {
					if isConst(t, filepath.Join("..", p), name) {
						t.Errorf("%s imports %s for the constant %s alone", dir, p, name)
					}
				}
			}
		}
	}
}

// isConst reports whether a package declares name as a constant.
func isConst(t *testing.T, dir, name string) (found bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					found = found || id.Name == name
				}
			}
		}
	}
	return found
}

// TestKernelImports: of the standard library the kernel imports what package runtime imports
// itself. In the test of any other package there are two of it, one with its tests in it, and the
// kernel would be built with the wrong one.
func TestKernelImports(t *testing.T) {
	std := func(pkg string) (deps []string) {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Standard}}{{.ImportPath}}{{end}}", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		return strings.Fields(string(out))
	}
	may := append(std("runtime"), "sync/atomic") // whose tests are all in a package of their own
	if len(may) < 10 {
		t.Fatalf("package runtime imports %q alone", may)
	}
	for _, pkg := range std(module + "kernel") {
		if !slices.Contains(may, pkg) {
			t.Errorf("package kernel needs %s", pkg)
		}
	}
}
