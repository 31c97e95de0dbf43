package kernel_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The public face: packages kernel and tracer. All other packages may change without a word. The
// file testdata/api.txt has what is exported, a line each, so that a review sees what a change does
// to it. (apidiff of golang.org/x/exp compares with sources or with export data, which no
// review can read.)

var (
	updateAPI = flag.Bool("api", false, "write testdata/api.txt")
	public    = []string{"kernel", "tracer"}
)

// api returns what the public packages export.
func api(t *testing.T) (lines []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./kernel", "./tracer")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	for _, name := range public {
		p, err := compiled.Import(module + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				lines = append(lines, describe(o)...)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// inShort is how the lines name packages.
func inShort(p *types.Package) string { return strings.TrimPrefix(p.Path(), module) }

// typeOf returns the type of an object; that of a function has no names of parameters, which may
// change.
func typeOf(o types.Object) string {
	s, ok := o.Type().(*types.Signature)
	if !ok {
		return types.TypeString(o.Type(), inShort)
	}
	unnamed := func(t *types.Tuple) *types.Tuple {
		var all []*types.Var
		for v := range t.Variables() {
			all = append(all, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
		}
		return types.NewTuple(all...)
	}
	s = types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())
	return types.TypeString(s, inShort)
}

// describe returns the lines of an object: its name, a space, what it is. A structure has one for
// each field, a type one for each method.
func describe(o types.Object) (lines []string) {
	name := inShort(o.Pkg()) + "." + o.Name()
	is := typeOf(o)
	if c, ok := o.(*types.Const); ok {
		is += " const"
		if name != "kernel.Version" {
			is += " " + c.Val().ExactString()
		}
	}
	if _, ok := o.(*types.TypeName); !ok || o.(*types.TypeName).IsAlias() {
		return []string{name + " " + is}
	}
	s, ok := o.Type().Underlying().(*types.Struct)
	is = "struct"
	for i := 0; ok && i < s.NumFields(); i++ {
		if f := s.Field(i); f.Exported() {
			lines = append(lines, name+"."+f.Name()+" "+typeOf(f))
		}
	}
	if !ok {
		is = types.TypeString(o.Type().Underlying(), inShort)
	}
	methods := types.NewMethodSet(types.NewPointer(o.Type()))
	for i := range methods.Len() {
		if m := methods.At(i).Obj(); m.Exported() {
			lines = append(lines, name+"."+m.Name()+" "+typeOf(m))
		}
	}
	return append(lines, name+" type "+is)
}

// broken returns the names of which a line is no longer there, and that news does not have.
func broken(was, is []string, news string) (names []string) {
	for _, line := range was {
		name, _, _ := strings.Cut(line, " ")
		said := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(news)
		if !slices.Contains(is, line) && !said {
			names = append(names, name)
		}
	}
	return names
}

// TestAPI: what goes or changes of the public packages is in the CHANGELOG.
func TestAPIRules(t *testing.T) {
	const file = "testdata/api.txt"
	log, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, news, _ := strings.Cut(string(log), "\n## Unreleased\n")
	news, _, _ = strings.Cut(news, "\n## ")
	b, err := os.ReadFile(file)
	if err != nil && !*updateAPI {
		t.Fatal(err)
	}
	was, is := strings.Split(strings.TrimSpace(string(b)), "\n"), api(t)
	if names := broken(was, is, news); len(b) > 0 && len(names) > 0 {
		t.Fatalf("these names are gone, or have changed, and the section Unreleased of CHANGELOG.md does not name them: %q", names)
	}
	if *updateAPI {
		if err := os.WriteFile(file, []byte(strings.Join(is, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !slices.Equal(was, is) {
		t.Errorf("%s is not what the packages export: run go test ./kernel -run API -args -api", file)
	}
	was, is = []string{"k.A func()", "k.B func()", "k.C func()", "k.D func()", "k.D2 int"}, []string{"k.A func()", "k.B func(int)", "k.E int"}
	if got := fmt.Sprint(broken(was, is, "`k.C` is gone, and `k.D2`")); got != "[k.B k.D]" {
		t.Errorf("of a change that says nothing of k.B and k.D: %s", got)
	}
}

// TestFace: an example and the program that a test boots call each function of package kernel, and
// no document or example imports a package that may change.
func TestFace(t *testing.T) {
	program, err := filepath.Glob("../qemu/testdata/public/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range [][]string{{"example_test.go", "example_early_test.go"}, program} {
		called := map[string]bool{"earlyHook": false}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					called[n.Sel.Name] = true
				case *ast.ValueSpec:
					called[n.Names[0].Name] = true
				}
				return true
			})
		}
		for _, line := range append(api(t), "kernel.earlyHook func") {
			name, is, _ := strings.Cut(line, " ")
			if strings.HasPrefix(name, "kernel.") && strings.HasPrefix(is, "func") && !called[name[strings.LastIndex(name, ".")+1:]] {
				t.Errorf("%q do not call %s", files, name)
			}
		}
	}
	documents := 0
	for _, pattern := range []string{"../*.md", "../doc/*.md", "../doc/example/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			documents++
			for _, m := range regexp.MustCompile(regexp.QuoteMeta(module)+`([a-z/]+)"`).FindAllStringSubmatch(string(b), -1) {
				if !slices.Contains(public, m[1]) && !strings.HasPrefix(m[1], "doc/") {
					t.Errorf("%s imports %s, which may change", name, m[1])
				}
			}
		}
	}
	if documents < 40 {
		t.Errorf("%d documents; want all", documents)
	}
}
