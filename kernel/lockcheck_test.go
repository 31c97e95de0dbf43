package kernel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Functions that write a variable under the kernel lock call percpu.AssertLocked, which checks only
// with the build tag lockcheck. TestLockAsserted reads the sources, package by package: each
// function that writes such a variable, or takes its address, has the assertion among its own
// statements; or all functions of the package that name the function have it, and no other package
// can call it; or it runs in early context. The test does not see reads, writes by other packages,
// nor writes through a pointer that another function returned: that function has taken the address.

// notAsserted lists functions that write such a variable, or take its address, and why they do not
// assert the lock.
var notAsserted = map[string]string{
	"clock.Init":           "at boot",
	"clock.readWall":       "at boot",
	"clock.SetWall":        "one word, which others may read; linux asserts it",
	"clock.Hold":           "all other CPUs stand still",
	"clock.Release":        "all other CPUs stand still",
	"console.TextByte":     "the panic path writes, too",
	"fault.loadWatch":      "reads",
	"fault.takeWatches":    "reads: who changes what is watched has all other CPUs stand still",
	"mem.Fill":             "no CPU changes areas meanwhile (fill.go)",
	"mem.fill":             "no CPU changes areas meanwhile (fill.go)",
	"nic.transfer":         "the panic path sends, too",
	"nic.Restart":          "the panic path sends, too",
	"nic.disturbed":        "the panic path sends, too",
	"nic.sendE1000":        "the panic path sends, too",
	"nic.startTransmit":    "the panic path starts the card anew",
	"nic.startReceive":     "the panic path starts the card anew",
	"nic.routeMSI":         "at boot",
	"nic.routeMSIX":        "at boot",
	"fault.OnInterrupt":    "at boot, and the crash lab",
	"fault.StepTraces":     "the crash lab, and the monitor",
	"fault.step":           "in a trap of the kernel's own code",
	"linux.Message":        "the panic path reads it, too",
	"linux.FaultRegisters": "the panic path reads them",
	"stackid.On":           "reads a word that is set once at boot",
	"pci.Steer":            "fault.steer asserts it, which is all that calls it",
	"percpu.begin":         "of the lock itself",
	"percpu.wait":          "of the lock itself",
	"percpu.Unlock":        "of the lock itself",
	"percpu.Counts":        "reads what another CPU may be at",
	"percpu.CatchUp":       "who asks for it has the lock",
	"percpu.CatchUpHeld":   "adds 0 to a word that another CPU may write",
	"thread.Queued":        "reads a word that another CPU may write",
	"vfs.initBuckets":      "at boot",
}

// namesOnly are functions that use a table of functions without calling any.
var namesOnly = []string{"linux.CallName"}

// A lockFunc is a function, or all methods of a package with the same name.
type lockFunc struct {
	asserts, early bool
	public         bool
	writes         map[string]bool // variables under the lock
	from           map[string]bool // functions and variables that name it
}

// comesEarly matches the comments of functions that run before there are threads.
var comesEarly = regexp.MustCompile(`\bEarly context\b`)

// lockFuncs returns the functions of a package.
func lockFuncs(files []*ast.File) map[string]*lockFunc {
	locked, funcs := map[string]bool{}, map[string]*lockFunc{}
	for _, f := range files {
		for name, mark := range marks(f) {
			locked[name] = locked[name] || mark == "under the kernel lock"
		}
	}
	of := func(name string) *lockFunc {
		if funcs[name] == nil {
			funcs[name] = &lockFunc{asserts: true, early: true, writes: map[string]bool{}, from: map[string]bool{}}
		}
		return funcs[name]
	}
	vars := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				fn := of(d.Name.Name)
				fn.public = fn.public || d.Name.IsExported()
				fn.asserts = fn.asserts && asserts(d)
				fn.early = fn.early && (comesEarly.MatchString(strings.Join(strings.Fields(d.Doc.Text()), " ")))
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
						for _, n := range v.Names {
							vars[n.Name] = true
						}
					}
				}
			}
		}
	}
	for name := range vars {
		if funcs[name] == nil { // a method may have the same name
			of(name).asserts, of(name).early = false, false
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					scan(f, d.Name.Name, d.Body, locked, of, funcs, vars)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
						for _, e := range v.Values {
							scan(f, v.Names[0].Name, e, nil, of, funcs, vars)
						}
					}
				}
			}
		}
	}
	return funcs
}

// asserts reports whether the assertion is a statement of the function that only a return can skip.
func asserts(d *ast.FuncDecl) bool {
	if d.Body == nil {
		return false
	}
	for _, s := range d.Body.List {
		if e, ok := s.(*ast.ExprStmt); ok {
			if c, ok := e.X.(*ast.CallExpr); ok {
				switch f := c.Fun.(type) {
				case *ast.SelectorExpr:
					if f.Sel.Name == "AssertLocked" {
						return true
					}
				case *ast.Ident:
					if f.Name == "assertLocked" || f.Name == "AssertLocked" {
						return true
					}
				}
			}
		}
	}
	return false
}

// scan records what the code of a function, or of a variable's value, writes and names.
func scan(f *ast.File, name string, code ast.Node, locked map[string]bool, of func(string) *lockFunc, funcs map[string]*lockFunc, vars map[string]bool) {
	global := func(id *ast.Ident) bool { return id.Obj == nil || f.Scope.Lookup(id.Name) == id.Obj }
	writes := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			case *ast.SliceExpr:
				e = x.X
			case *ast.Ident:
				if locked[x.Name] && global(x) {
					of(name).writes[x.Name] = true
				}
				return
			default:
				return
			}
		}
	}
	fields := map[*ast.Ident]bool{}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, l := range n.Lhs {
					writes(l)
				}
			}
		case *ast.IncDecStmt:
			writes(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				writes(n.X)
			}
		case *ast.SliceExpr:
			writes(n.X)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				writes(s.X) // a method may
			}
		case *ast.KeyValueExpr:
			if k, ok := n.Key.(*ast.Ident); ok {
				fields[k] = true
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Obj == nil && imported(f, x.Name) {
				fields[n.Sel] = true // of another package
			} else if funcs[n.Sel.Name] != nil {
				of(n.Sel.Name).from[name] = true
			}
		case *ast.Ident:
			if !fields[n] && n.Name != name && global(n) && (funcs[n.Name] != nil || vars[n.Name]) {
				of(n.Name).from[name] = true
			}
		}
		return true
	})
}

func imported(f *ast.File, name string) bool {
	for _, i := range f.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		if i.Name != nil && i.Name.Name == name || i.Name == nil && p[strings.LastIndexByte(p, '/')+1:] == name {
			return true
		}
	}
	return false
}

// uncovered returns the functions of a package that write variables under the lock without an
// assertion, with these variables.
func uncovered(pkg string, funcs map[string]*lockFunc) map[string][]string {
	covered := map[string]bool{}
	for more := true; more; {
		more = false
		for name, fn := range funcs {
			if covered[name] {
				continue
			}
			ok := fn.asserts || fn.early || notAsserted[pkg+"."+name] != "" || slices.Contains(namesOnly, pkg+"."+name)
			if !ok && !fn.public && len(fn.from) > 0 {
				ok = true
				for from := range fn.from {
					ok = ok && (covered[from] || from == name)
				}
			}
			if ok {
				covered[name], more = true, true
			}
		}
	}
	left := map[string][]string{}
	for name, fn := range funcs {
		if !covered[name] {
			for v := range fn.writes {
				left[name] = append(left[name], v)
			}
		}
	}
	return left
}

// mostlyAsserted is the least number of functions that assert the lock.
const mostlyAsserted = 150

func TestLockAsserted(t *testing.T) {
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "testdata" || d.Name() == "crashlab" {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "lockcheck_on.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	with := 0
	used := map[string]bool{}
	for dir, files := range packages {
		funcs := lockFuncs(files)
		pkg := filepath.Base(dir)
		for name, vars := range uncovered(pkg, funcs) {
			slices.Sort(vars)
			t.Errorf("kernel/%s: %s writes %s, which is under the kernel lock, and nothing asserts it", dir, name, strings.Join(vars, " "))
		}
		for name, fn := range funcs {
			if fn.asserts && len(fn.writes) > 0 {
				with++
			}
			if notAsserted[pkg+"."+name] != "" && len(fn.writes) > 0 {
				used[pkg+"."+name] = true
			}
		}
	}
	for name := range notAsserted {
		if !used[name] {
			t.Errorf("%s writes nothing that is under the kernel lock, and needs no exception", name)
		}
	}
	t.Logf("%d functions assert and write", with)
	if with < mostlyAsserted {
		t.Errorf("%d functions assert and write; want %d at least", with, mostlyAsserted)
	}
}

// TestLockAssertedCanFail: the test finds the functions that write without the assertion.
func TestLockAssertedCanFail(t *testing.T) {
	const source = `package p

// Under the kernel lock.
var count, list int

var other int // never written

var table = [...]func(){inTable}

func Asserts() { percpu.AssertLocked(); count++; below() }
func below()   { list = 1 }
func Bare()    { count = 2; bareBelow() }
func bareBelow() *int { return &list }
func inBranch() { if other != 0 { percpu.AssertLocked() }; count++ }
func Reads() int { return count + other }
func Hides() { var count int; count++ }
func inTable() { list++ }
func Calls()   { table[0]() }

// Begin is for the boot. Early context.
func Begin() { count = 3 }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range uncovered("p", lockFuncs([]*ast.File{f})) {
		got = append(got, name)
	}
	slices.Sort(got)
	if want := []string{"Bare", "bareBelow", "inBranch", "inTable"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
