package arch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// real is package arch for amd64, type-checked.
func real(t *testing.T, files *token.FileSet) *types.Package {
	t.Helper()
	build.Default.GOOS, build.Default.GOARCH, build.Default.CgoEnabled = "linux", "amd64", false
	p, err := importer.ForCompiler(files, "source", nil).Import(module + "arch")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// contract reads doc.go: the names that it lists, and the fields and methods of types.
func contract(t *testing.T) (names []string, members map[string][]string) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^//\t([A-Z]\w*) +\S`).FindAllSubmatch(doc, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	members = map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([A-Z]\w*):((?: +\w+)+(?:\n//\t +\w+(?: \w+)*)*)$`).FindAllSubmatch(doc, -1) {
		members[string(m[1])] = strings.Fields(strings.ReplaceAll(string(m[2]), "//", ""))
	}
	return names, members
}

// TestList: doc.go lists the names that this package exports.
func TestList(t *testing.T) {
	listed, members := contract(t)
	exported := slices.DeleteFunc(real(t, token.NewFileSet()).Scope().Names(), func(n string) bool { return !token.IsExported(n) })
	for _, n := range exported {
		if !slices.Contains(listed, n) {
			t.Errorf("package arch has %s, and doc.go does not list it", n)
		}
	}
	for _, n := range listed {
		if !slices.Contains(exported, n) {
			t.Errorf("doc.go lists %s, and package arch does not have it", n)
		}
	}
	if len(listed) < 100 || len(members) < 9 {
		t.Errorf("doc.go lists %d names, and members of %d types; want at least 100 and 9", len(listed), len(members))
	}
}

// A stub is a CPU and a board that have what doc.go lists and nothing else: functions that panic,
// constants with the values of the real ones, and types with the fields and methods that are listed.
type stub struct {
	t       *testing.T
	members map[string][]string
	files   map[string]*bytes.Buffer // by the name of the file that has the real ones
	done    map[string]bool          // types that are in it
}

// newStub makes it of doc.go and the real package.
func newStub(t *testing.T) *stub {
	s := &stub{t: t, files: map[string]*bytes.Buffer{}, done: map[string]bool{}}
	names, members := contract(t)
	s.members = members
	files := token.NewFileSet()
	scope := real(t, files).Scope()
	for _, name := range names {
		object := scope.Lookup(name)
		if object == nil {
			t.Errorf("doc.go lists %s, and package arch does not have it", name)
			continue
		}
		file := filepath.Base(files.Position(object.Pos()).Filename)
		out := s.files[file]
		if out == nil {
			out = bytes.NewBufferString("package arch\n\nimport \"unsafe\"\n\nvar _ unsafe.Pointer\n")
			s.files[file] = out
		}
		s.add(out, object)
	}
	for name := range members {
		if !s.done[name] {
			t.Errorf("doc.go lists the members of %s, which is no type of package arch", name)
		}
	}
	return s
}

// local qualifies names: all of ours are in one package.
func local(p *types.Package) string {
	if !strings.HasPrefix(p.Path(), module) {
		return p.Name()
	}
	return ""
}

// add adds a declaration to a file, after those of the types that it needs.
func (s *stub) add(out *bytes.Buffer, object types.Object) {
	s.addTypes(out, object.Type())
	switch o := object.(type) {
	case *types.TypeName:
	case *types.Const:
		typ := ""
		if named, ok := o.Type().(*types.Named); ok {
			typ = named.Obj().Name()
		}
		fmt.Fprintf(out, "const %s %s = %s\n", o.Name(), typ, o.Val().ExactString())
	case *types.Func:
		fmt.Fprintf(out, "%s { panic(\"a stub runs\") }\n", types.ObjectString(o, local))
	default:
		s.t.Errorf("%s is neither a type, a constant nor a function", o)
	}
}

// addTypes adds the named types in a type, each with its listed members.
func (s *stub) addTypes(out *bytes.Buffer, typ types.Type) {
	switch typ := types.Unalias(typ).(type) {
	case *types.Named:
		if p := typ.Obj().Pkg(); p != nil && local(p) == "" {
			s.addNamed(out, typ)
		}
	case *types.Pointer:
		s.addTypes(out, typ.Elem())
	case *types.Slice:
		s.addTypes(out, typ.Elem())
	case *types.Array:
		s.addTypes(out, typ.Elem())
	case *types.Signature:
		for _, of := range []*types.Tuple{typ.Params(), typ.Results()} {
			for v := range of.Variables() {
				s.addTypes(out, v.Type())
			}
		}
	}
}

// addNamed adds a type with its listed members.
func (s *stub) addNamed(out *bytes.Buffer, named *types.Named) {
	name := named.Obj().Name()
	if s.done[name] {
		return
	}
	s.done[name] = true
	if _, ok := named.Underlying().(*types.Struct); !ok {
		fmt.Fprintf(out, "type %s %s\n", name, types.TypeString(named.Underlying(), local))
		return
	}
	var fields, methods []string
	for _, m := range s.members[name] {
		member, _, _ := types.LookupFieldOrMethod(named, true, named.Obj().Pkg(), m)
		if member == nil {
			s.t.Errorf("doc.go lists %s.%s, and there is no such member", name, m)
			continue
		}
		s.addTypes(out, member.Type())
		switch member := member.(type) {
		case *types.Var:
			fields = append(fields, m+" "+types.TypeString(member.Type(), local))
		case *types.Func:
			signature := strings.TrimPrefix(types.TypeString(member.Type(), local), "func")
			methods = append(methods, fmt.Sprintf("func (*%s) %s%s { panic(\"a stub runs\") }", name, m, signature))
		}
	}
	fmt.Fprintf(out, "type %s struct { %s }\n%s\n", name, strings.Join(fields, "; "), strings.Join(methods, "\n"))
}

// overlay replaces this package's files with those of the stub, except those that are named.
func (s *stub) overlay(without ...string) (file string) {
	dir, err := os.Getwd()
	if err != nil {
		s.t.Fatal(err)
	}
	temp, replace := s.t.TempDir(), map[string]string{}
	write := func(name string, text []byte) string {
		file := filepath.Join(temp, name)
		if err := os.WriteFile(file, text, 0o666); err != nil {
			s.t.Fatal(err)
		}
		return file
	}
	own, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, f := range own {
		if name := filepath.Base(f); !strings.HasSuffix(name, "_test.go") {
			replace[f] = ""
			if out := s.files[name]; out != nil && !slices.Contains(without, name) {
				replace[f] = write(name, out.Bytes())
			}
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		s.t.Fatal(err)
	}
	return write("overlay.json", b)
}

// TestStub: the kernel compiles with a stub that has what doc.go lists, so it needs nothing else of
// the CPU and the board. Without the board's names, or a method, it does not compile.
func TestStub(t *testing.T) {
	list := exec.Command("go", "list", "./kernel/...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool { return strings.Contains(p, "/crashlab") })
	build := func(overlay string) ([]byte, error) {
		cmd := exec.Command("go", append([]string{"build", "-overlay", overlay}, packages...)...)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		return cmd.CombinedOutput()
	}
	s := newStub(t)
	if names := slices.Sorted(maps.Keys(s.files)); !slices.Equal(names, []string{"board_amd64.go", "cpu_amd64.go"}) {
		t.Errorf("the names are in %q; want them in board_amd64.go and cpu_amd64.go", names)
	}
	if out, err := build(s.overlay()); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := build(s.overlay("board_amd64.go")); err == nil || !strings.Contains(string(out), "undefined: arch.") {
		t.Errorf("without the board's names: %v\n%s", err, out)
	}
	cpu := s.files["cpu_amd64.go"]
	less := bytes.Replace(cpu.Bytes(), []byte("func (*TrapFrame) Result("), []byte("func (*TrapFrame) other("), 1)
	s.files["cpu_amd64.go"] = bytes.NewBuffer(less)
	if out, err := build(s.overlay()); err == nil || !strings.Contains(string(out), "has no field or method Result") {
		t.Errorf("without TrapFrame.Result: %v\n%s", err, out)
	}
}
