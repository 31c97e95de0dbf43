package qemu

// The programs of Delve's own tests, which run on the kernel until they stop at runtime.Breakpoint
// or panic: what Delve's tests expect of them where they stand holds in the full core of the
// machine. The programs and what is expected come out of Delve's module: the tables of its tests
// are read as Go source.

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// delveModule is the folder of Delve's module.
func delveModule(t *testing.T) string {
	t.Helper()
	c := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "github.com/go-delve/delve")
	c.Env = testEnv()
	out, err := c.Output()
	version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || version != delveVersion || dir == "" {
		t.Fatalf("go list says %q, %v; want the folder of Delve %s", out, err, delveVersion)
	}
	return dir
}

// expected is what a test of Delve's expects of an expression.
type expected struct {
	expr, value, short, kind string
	fails                    bool
}

// expectations reads the tables of a test of Delve's, in package proc.
func expectations(t *testing.T, delve, function string) (all []expected) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(delve, "pkg/proc/variables_test.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != function {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			c, ok := n.(*ast.CompositeLit)
			if !ok || len(c.Elts) != 6 {
				return true
			}
			var s [5]string
			for i := range s {
				switch e := c.Elts[i].(type) {
				case *ast.BasicLit:
					s[i], err = strconv.Unquote(e.Value)
				case *ast.Ident: // preserveName
				default:
					err = strconv.ErrSyntax
				}
				if err != nil {
					err = nil
					return true
				}
			}
			id, ok := c.Elts[5].(*ast.Ident)
			all = append(all, expected{s[0], s[2], s[3], s[4], !ok || id.Name != "nil"})
			return true
		})
	}
	return all
}

// fixture runs a program of Delve's tests and opens its core.
func fixture(t *testing.T, delve, name string) *inspect.Program {
	t.Helper()
	dir := t.TempDir()
	internal := filepath.Join("_fixtures", "internal")
	if err := os.CopyFS(filepath.Join(dir, internal), os.DirFS(filepath.Join(delve, internal))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "_fixtures", name)
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string][]byte{
		filepath.Join(folder, "main.go"): readFile(t, filepath.Join(delve, "_fixtures", name+".go")),
		filepath.Join(dir, "go.mod"):     []byte("module github.com/go-delve/delve\n\ngo 1.26\n"),
	} {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	elf := built(t, image.BuildOptions{Package: ".", Dir: folder, Env: testEnv(), GCFlags: "all=-N -l"})
	core, _, _ := coreOfRun(t, elf, 1)
	p, err := inspect.Open(core, elf, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// ownScope is the innermost frame of the program's own that has died: in package main, or in its
// function.
func ownScope(t *testing.T, p *inspect.Program, function string) *proc.EvalScope {
	t.Helper()
	target := p.Target()
	gs, _, err := proc.GoroutinesInfo(target, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range gs {
		if g.Thread == nil || g.Thread.ThreadID() != target.CurrentThread().ThreadID() {
			continue
		}
		frames, err := proc.GoroutineStacktrace(target, g, 50, 0)
		var all []string
		for i := range frames {
			fn := frames[i].Call.Fn
			if fn == nil {
				continue
			}
			if all = append(all, fn.Name); fn.Name == function || function == "" && strings.HasPrefix(fn.Name, "main.") {
				return proc.FrameToScope(target, target.Memory(), g, g.Thread.ThreadID(), frames[i:]...)
			}
		}
		t.Fatalf("goroutine %d has no frame of the program's: %v, %v", g.ID, all, err)
	}
	t.Fatal("the thread that has died has no goroutine")
	return nil
}

// matches reports whether Delve's text is the one that its test wants.
func matches(have, want string) bool {
	if prefix, ok := strings.CutSuffix(want, "…"); ok {
		return strings.HasPrefix(have, prefix)
	}
	if len(want) > 1 && want[0] == '/' && want[len(want)-1] == '/' {
		return regexp.MustCompile(want[1 : len(want)-1]).MatchString(have)
	}
	return have == want
}

// TestDelveTables: the programs whose variables Delve's tests look at.
func TestDelveTables(t *testing.T) {
	t.Parallel()
	module := delveModule(t)
	short := proc.LoadConfig{MaxStringLen: 64, MaxStructFields: 3}
	for _, tt := range []struct {
		program, function string
		entries           int  // there are so many at least
		short             bool // the table has what is loaded in part, too
	}{
		{"testvariables", "TestVariableEvaluation2", 35, false},
		{"testvariables2", "getEvalExpressionTestCases", 200, true},
		{"testvariables2", "TestEmbeddedStruct", 15, true},
		{"testvariables_generic", "TestEvalExpressionGenerics", 6, false},
		{"pkgrenames", "TestPackageRenames", 15, false},
		{"consts", "TestConstants", 8, false},
		{"issue4116", "TestEmbeddedStructMethodsAndFieldLookup", 4, false},
	} {
		t.Run(tt.program+"/"+tt.function, func(t *testing.T) {
			t.Parallel()
			all := expectations(t, module, tt.function)
			if len(all) < tt.entries {
				t.Fatalf("the table has %d entries; want %d", len(all), tt.entries)
			}
			scope := ownScope(t, fixture(t, module, tt.program), "")
			seen := map[string]bool{}
			for _, want := range all {
				if seen[want.expr] && tt.program == "testvariables_generic" {
					continue // of the program's second stop
				}
				if strings.Contains(want.expr, "runtime.hmap") {
					continue // of maps before Go 1.24
				}
				seen[want.expr] = true
				check := func(cfg proc.LoadConfig, value string) {
					v, err := scope.EvalExpression(want.expr, cfg)
					switch {
					case want.fails:
						if err == nil {
							t.Errorf("%s = %s; want an error", want.expr, api.ConvertVar(v).SinglelineString())
						}
					case err != nil:
						t.Errorf("%s: %v; want %s", want.expr, err, value)
					default:
						if have := api.ConvertVar(v); have.Type != want.kind || !matches(have.SinglelineString(), value) {
							t.Errorf("%s = %s, of type %s; want %s, %s", want.expr, have.SinglelineString(), have.Type, value, want.kind)
						}
					}
				}
				check(proc.LoadFullValue(), want.value)
				if tt.short {
					check(short, want.short)
				}
			}
			t.Logf("%d expressions", len(all))
		})
	}
}

// TestDelvePrograms: more programs of Delve's tests, with what those check by code.
func TestDelvePrograms(t *testing.T) {
	t.Parallel()
	module := delveModule(t)
	integer := func(v *proc.Variable) int64 { n, _ := constant.Int64Val(v.Value); return n }
	for program, check := range map[string]func(t *testing.T, p *inspect.Program){
		// Of its core tests.
		"panic": func(t *testing.T, p *inspect.Program) {
			v, err := ownScope(t, p, "main.main").EvalExpression("msg", proc.LoadFullValue())
			if err != nil || constant.StringVal(v.Value) != "BOOM!" {
				t.Errorf("msg: %v, %v", v, err)
			}
		},
		"coreemptystring": func(t *testing.T, p *inspect.Program) {
			for name, want := range map[string]string{"s": "", "t": "test"} {
				v, err := ownScope(t, p, "main.main").EvalExpression(name, proc.LoadFullValue())
				if err != nil || v.Unreadable != nil || constant.StringVal(v.Value) != want {
					t.Errorf("%s: %v, %v; want %q", name, v, err, want)
				}
			}
		},
		// Of package proc.
		"testshadow": func(t *testing.T, p *inspect.Program) {
			all, err := ownScope(t, p, "").LocalVariables(proc.LoadFullValue())
			if err != nil || len(all) != 2 {
				t.Fatalf("%d variables, %v; want 2", len(all), err)
			}
			for _, v := range all {
				shadowed := v.Flags&proc.VariableShadowed != 0
				if v.Name != "a" || shadowed != (integer(v) == 0) {
					t.Errorf("%s = %d, shadowed: %v", v.Name, integer(v), shadowed)
				}
			}
		},
		"issue951": func(t *testing.T, p *inspect.Program) {
			scope := ownScope(t, p, "")
			args, err := scope.FunctionArguments(proc.LoadFullValue())
			if err != nil || len(args) == 0 || args[0].Flags&proc.VariableShadowed == 0 {
				t.Errorf("arguments %v, %v; want a shadowed one", args, err)
			}
			all, err := scope.LocalVariables(proc.LoadFullValue())
			shadowed := 0
			for _, v := range all {
				if v.Flags&proc.VariableShadowed != 0 {
					shadowed++
				}
			}
			if err != nil || len(all) != 2 || shadowed != 1 {
				t.Errorf("%d variables, %d shadowed, %v; want 2, 1", len(all), shadowed, err)
			}
		},
		"changoroutines": func(t *testing.T, p *inspect.Program) {
			scope := ownScope(t, p, "")
			for _, c := range []struct {
				name, function string
				count          int
			}{{"blockingchan1", "main.sendToChan", 2}, {"blockingchan2", "main.recvFromChan", 1}} {
				ids, err := scope.ChanGoroutines(c.name, 0, 100)
				if err != nil || len(ids) != c.count {
					t.Errorf("%s: goroutines %v, %v; want %d", c.name, ids, err, c.count)
				}
				for _, id := range ids {
					g, err := proc.FindGoroutine(p.Target(), id)
					if err != nil || g.UserCurrent().Fn == nil || g.UserCurrent().Fn.Name != c.function {
						t.Errorf("%s: goroutine %d is not in %s: %v", c.name, id, c.function, err)
					}
				}
			}
		},
		"closurecontents": func(t *testing.T, p *inspect.Program) {
			v, err := ownScope(t, p, "").EvalExpression("acc", proc.LoadFullValue())
			if err != nil || v.Unreadable != nil {
				t.Fatalf("acc: %v, %v", v, err)
			}
			found := map[string]int64{}
			for i := range v.Children {
				c := &v.Children[i]
				if len(c.Children) == 1 { // captured by its address
					c = &c.Children[0]
				}
				found[strings.TrimPrefix(v.Children[i].Name, "&")] = integer(c)
			}
			if fmt.Sprint(found) != "map[a:0 scale:3]" {
				t.Errorf("the closure has %v; want a 0, scale 3", found)
			}
		},
		"testunsafepointers": func(t *testing.T, p *inspect.Program) {
			scope := ownScope(t, p, "")
			v, err := scope.EvalExpression("danglingPtrPtr", proc.LoadFullValue())
			if err != nil || v.Unreadable != nil || len(v.Children) != 1 || v.Children[0].Unreadable == nil {
				t.Errorf("danglingPtrPtr: %v, %v; want a pointer to what cannot be read", v, err)
			}
			if v, err := scope.EvalExpression("*danglingPtrPtr", proc.LoadFullValue()); err == nil && v.Unreadable == nil {
				t.Errorf("*danglingPtrPtr = %v; want an error", v)
			}
		},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			check(t, fixture(t, module, program))
		})
	}
}
