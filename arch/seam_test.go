package arch_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/zeroframe/zeroframe/"

// sources calls check with each Go file of the repository outside arch/ and boot/, and other with
// the name of each other file in kernel/.
func sources(t *testing.T, check func(path string, file *ast.File), other func(path string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, "../")
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name == "arch" || name == "boot" || name == ".git" {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go"):
			if strings.HasPrefix(name, "kernel/") {
				other(name)
			}
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // this example does not compile
		}
		check(name, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// register matches a name that contains a CPU register, device one that contains a device of a PC.
var (
	register = regexp.MustCompile(`^([RE][BSI]P|BP|[RE]?([ABCD]X|[SD]I)|[RE]FLAGS|R([89]|1[0-5])|CR[0-8]|reg(R|CR)[A-Z0-9]+)$`)
	device   = regexp.MustCompile(`(^|[a-z])(PIT|APIC|LAPIC|IOAPIC|PIC|VGA|HPET|CMOS)([A-Z]|$)`)
)

// seamWrongs returns what a file in kernel/ uses that belongs to the CPU or the board.
func seamWrongs(file *ast.File) (wrongs []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if register.MatchString(n.Name) {
				wrongs = append(wrongs, "names the register "+n.Name)
			} else if device.MatchString(n.Name) {
				wrongs = append(wrongs, "names a device: "+n.Name)
			}
		case *ast.CallExpr:
			name := ""
			switch f := n.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			if len(n.Args) == 0 {
				break
			}
			if _, ok := n.Args[0].(*ast.BasicLit); !ok {
				break
			}
			switch name {
			case "ReadPort8", "ReadPort16", "ReadPort32", "WritePort8", "WritePort16", "WritePort32":
				wrongs = append(wrongs, "has the number of a port")
			case "OnInterrupt", "RaiseInterrupt", "InterruptSelf":
				wrongs = append(wrongs, "has the number of an interrupt")
			}
		}
		return true
	})
	return wrongs
}

// TestSeam: outside arch/ and boot/ nothing imports past the seam, and the kernel names no
// register, no device of a PC, no port number and no interrupt number, and has no assembly. The
// crash lab is the exception: it makes its broken stacks and faults in assembly, and raises
// interrupts by number.
func TestSeam(t *testing.T) {
	files := 0
	sources(t, func(path string, file *ast.File) {
		for _, i := range file.Imports {
			if p, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(p, module+"arch/") {
				t.Errorf("%s imports %s; want arch", path, p)
			}
		}
		if !strings.HasPrefix(path, "kernel/") || strings.HasPrefix(path, "kernel/crashlab/") || strings.Contains(path, "/testdata/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		files++
		for _, wrong := range seamWrongs(file) {
			t.Errorf("%s %s", path, wrong)
		}
	}, func(path string) {
		if strings.HasSuffix(path, ".s") && !strings.HasPrefix(path, "kernel/crashlab/") {
			t.Errorf("%s is assembly outside arch/ and boot/", path)
		}
	})
	if files < 100 {
		t.Errorf("%d files of kernel/ were looked at; want at least 100", files)
	}
}

// TestSeamCanFail: the rules find the violations that they are for.
func TestSeamCanFail(t *testing.T) {
	const src = `package p
func f(f *frame) { f.RIP++; startAPIC(); arch.ReadPort8(0x60); fault.OnInterrupt(33, g); arch.ReadPort8(ports) }`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"has the number of a port", "has the number of an interrupt", "names a device: startAPIC", "names the register RIP"}
	got := seamWrongs(file)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("found %q; want %q", got, want)
	}
}

// exported returns the names that the Go files of a folder export.
func exported(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name := range file.Scope.Objects {
			if ast.IsExported(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestList: doc.go lists the names that this package exports, and the stub exports them, too.
func TestList(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([A-Z]\w*) +\S`).FindAllSubmatch(doc, -1) {
		listed = append(listed, string(m[1]))
	}
	slices.Sort(listed)
	// The stub also has the type of UART.Base: the list does not contain types.
	stub := slices.DeleteFunc(exported(t, "stub"), func(n string) bool { return n == "UARTBase" })
	for _, tt := range []struct {
		what  string
		names []string
	}{{"package arch", exported(t, ".")}, {"arch/stub", stub}} {
		for _, n := range tt.names {
			if !slices.Contains(listed, n) {
				t.Errorf("%s has %s, and doc.go does not list it", tt.what, n)
			}
		}
		for _, n := range listed {
			if !slices.Contains(tt.names, n) {
				t.Errorf("doc.go lists %s, and %s does not have it", n, tt.what)
			}
		}
	}
	if len(listed) < 100 {
		t.Errorf("doc.go lists %d names; want at least 100", len(listed))
	}
}

// overlay replaces this package's files with those of the stub, except those whose names end in one
// of the given suffixes.
func overlay(t *testing.T, without ...string) (file string) {
	t.Helper()
	replace := map[string]string{}
	own, _ := filepath.Glob("*.go")
	for _, f := range own {
		if !strings.HasSuffix(f, "_test.go") {
			replace[f] = ""
		}
	}
	stubs, _ := filepath.Glob("stub/*.go")
	for _, f := range stubs {
		if !slices.Contains(without, filepath.Base(f)) {
			replace["stub_"+filepath.Base(f)] = f
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	absolute := map[string]string{}
	for at, from := range replace {
		if from != "" {
			from = filepath.Join(dir, from)
		}
		absolute[filepath.Join(dir, at)] = from
	}
	b, err := json.Marshal(map[string]any{"Replace": absolute})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestStub: the kernel compiles with the stub, so it needs nothing else of the CPU and the board.
// Without the board's names it does not compile.
func TestStub(t *testing.T) {
	list := exec.Command("go", "list", "./kernel/...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool { return strings.Contains(p, "/crashlab") })
	build := func(overlay string) ([]byte, error) {
		cmd := exec.Command("go", append([]string{"build", "-tags", "stub", "-overlay", overlay}, packages...)...)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		return cmd.CombinedOutput()
	}
	if out, err := build(overlay(t)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := build(overlay(t, "board.go")); err == nil || !strings.Contains(string(out), "undefined: arch.") {
		t.Errorf("without the board's names: %v\n%s", err, out)
	}
}
