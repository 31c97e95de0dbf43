package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
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
		if !strings.HasSuffix(path, ".s") || strings.HasPrefix(path, "kernel/crashlab/") {
			return
		}
		text, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) { // one of comments lets the compiler accept functions without a body
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				t.Errorf("%s is assembly outside arch/ and boot/", path)
				break
			}
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
