// Toolchains runs tests of the kernel with each stock Go toolchain that it is to work
// with, and says of each whether they pass:
//
//	go run ./qemu/toolchains [-v] [VERSION...]
//
// It must be started in the folder of the module. A version is that of a toolchain, such
// as go1.27.4; without any, those in this file are used. The go command gets what is not
// there from the Go module proxy. What runs is what depends on the toolchain: programs
// and deaths in QEMU, with their traces, and what code the compiler makes of the
// packages in kernel context.
//
// Standard output gets a line for each toolchain and at last "N passed, N failed", in
// tests; what a failed test said comes before, and with -v the name of each test. The
// exit status is 0 if all have passed, 1 if not, 2 for wrong usage.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// toolchains are the last ones of each version of Go that the kernel is to work with.
var toolchains = []string{"go1.25.14", "go1.26.11", "go1.27.4"}

// suites are the tests that run with each toolchain.
var suites = []struct {
	packages  []string
	run, skip string
}{
	// tracer.TestPanicBounds reads a table that is new in Go 1.26. How the kernel does
	// without, TestDeaths shows.
	{[]string{"./kernel", "./kernel/goinfo", "./tracer"}, "", "^TestPanicBounds$"},
	{[]string{"./qemu/soak"}, "^TestSoak$", ""},
	{[]string{"./qemu"}, "^(TestProgram|TestDeaths|TestGoDeaths|TestGoEnds|TestGoHang|TestGoMcall|TestUnknownRuntime|TestStrippedRuntime)$" +
		"|^TestStandardPackages$/^(sort|strings|errors)$|^TestBuildFlags$/^(N-l|l)$", ""},
}

var verbose = flag.Bool("v", false, "print the name of each test that ends")

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./qemu/toolchains [-v] [VERSION...]   (such as go1.27.4; see its main.go)")
	}
	flag.Parse()
	all := flag.Args()
	if len(all) == 0 {
		all = toolchains
	}
	for _, t := range all {
		if !version.IsValid(t) {
			fmt.Fprintf(os.Stderr, "toolchains: %s is no version of Go; want one such as %s\n", t, toolchains[0])
			os.Exit(2)
		}
	}
	var lines []string
	passed, failed := 0, 0
	for _, t := range all {
		start := time.Now()
		c, err := try(t, os.Stdout)
		line := fmt.Sprintf("%-9s ok    %d tests passed in %.0f s", t, c.passed, time.Since(start).Seconds())
		if err != nil || c.failed > 0 {
			line = fmt.Sprintf("%-9s FAIL  %d tests passed, %d failed", t, c.passed, c.failed)
			if err != nil {
				line += ": " + err.Error()
			}
			c.failed = max(c.failed, 1)
		}
		lines = append(lines, line)
		passed, failed = passed+c.passed, failed+c.failed
		fmt.Println(line)
	}
	if len(all) > 1 {
		fmt.Println("\n" + strings.Join(lines, "\n"))
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// count is of tests, subtests too.
type count struct{ passed, failed int }

// try runs all suites with a toolchain. An error says why they could not be run, or
// failed otherwise than by a test.
func try(toolchain string, out io.Writer) (c count, err error) {
	env := append(os.Environ(), "GOTOOLCHAIN="+toolchain)
	if said, err := command("", env, "go", "version"); err != nil {
		return c, err
	} else if f := strings.Fields(said); len(f) < 3 || f[2] != toolchain {
		return c, fmt.Errorf("go version with GOTOOLCHAIN=%s says %q", toolchain, said)
	}
	tmp, err := os.MkdirTemp("", "zf-toolchains-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(tmp)
	dir, err := moduleFor(toolchain, tmp)
	if err != nil {
		return c, err
	}
	for _, s := range suites {
		args := []string{"test", "-json", "-count=1", "-timeout=30m"}
		if s.run != "" {
			args = append(args, "-run="+s.run)
		}
		if s.skip != "" {
			args = append(args, "-skip="+s.skip)
		}
		cmd := exec.Command("go", append(args, s.packages...)...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, env, out
		events, err := cmd.StdoutPipe()
		if err != nil {
			return c, err
		}
		if err := cmd.Start(); err != nil {
			return c, err
		}
		n, readErr := read(events, out, toolchain)
		c.passed, c.failed = c.passed+n.passed, c.failed+n.failed
		err = cmd.Wait()
		switch {
		case readErr != nil:
			return c, readErr
		case err != nil && n.failed == 0:
			return c, fmt.Errorf("go test %s: %w", strings.Join(s.packages, " "), err)
		case n.passed == 0:
			return c, fmt.Errorf("go test %s ran no test", strings.Join(s.packages, " "))
		}
	}
	return c, nil
}

// event is a line of go test -json (cmd/test2json).
type event struct{ Action, ImportPath, Package, Test, Output string }

// read counts the tests in the output of go test -json, and passes on what those that
// failed have said, and what belongs to no test if anything failed.
func read(events io.Reader, out io.Writer, toolchain string) (c count, err error) {
	said := map[string]*strings.Builder{} // by package and test
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return c, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(out, "%s", line) // not of a test, such as a linker's complaint
			continue
		}
		name := strings.TrimSpace(e.ImportPath + e.Package + " " + e.Test) // a build has no Package
		switch e.Action {
		case "output", "build-output":
			if said[name] == nil {
				said[name] = new(strings.Builder)
			}
			said[name].WriteString(e.Output)
		case "pass", "fail":
			if e.Test != "" && e.Action == "pass" {
				c.passed++
			}
			if e.Test != "" && e.Action == "fail" {
				c.failed++
			}
			if e.Action == "fail" && said[name] != nil {
				fmt.Fprintf(out, "%s: %s\n%s", toolchain, name, said[name])
			}
			if *verbose && e.Test != "" {
				fmt.Fprintf(out, "%s: %s %s\n", toolchain, e.Action, name)
			}
			delete(said, name)
		case "build-fail":
			if said[name] != nil {
				fmt.Fprintf(out, "%s: %s\n%s", toolchain, name, said[name])
			}
		}
	}
}

// moduleFor returns the folder of a module whose tests the toolchain can run: this one,
// or if its go.mod asks for a newer Go than the toolchain, a copy in tmp that does not.
// An older go command refuses to look at such a module at all, and at one that requires
// such a module. So the copy has what the tests need of other modules in a folder vendor,
// whose list is made to ask for no more. None of it is linked into an image, and does it
// need a newer Go in fact, then the compiler says so.
func moduleFor(toolchain, tmp string) (dir string, err error) {
	said, err := command("", nil, "go", "list", "-m", "-f", "{{.GoVersion}} {{.Dir}}")
	if err != nil {
		return "", err
	}
	goVersion, root, _ := strings.Cut(strings.TrimSpace(said), " ")
	if version.Compare("go"+goVersion, toolchain) <= 0 {
		return ".", nil
	}
	dir = filepath.Join(tmp, "main")
	if err := copyTree(dir, root); err != nil {
		return "", err
	}
	if err := importTestdata(dir); err != nil {
		return "", err
	}
	if _, err := command(dir, nil, "go", "mod", "vendor"); err != nil {
		return "", err
	}
	language := version.Lang(toolchain)[len("go"):]
	list := filepath.Join(dir, "vendor", "modules.txt")
	b, err := os.ReadFile(list)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(list, lowered(b, language), 0o666); err != nil {
		return "", err
	}
	_, err = command(dir, nil, "go", "mod", "edit", "-go="+language, "-toolchain=none")
	return dir, err
}

// importTestdata has a package of the module in dir import what the programs that the
// tests build import of other modules: go mod vendor does not look into folders testdata.
func importTestdata(dir string) error {
	args := []string{"list", "-e", "-f", `{{join .Imports "\n"}}`}
	for _, pattern := range []string{"qemu/testdata/*/*.go", "*/*/testdata/*/*.go"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if rel, err := filepath.Rel(dir, filepath.Dir(path)); err != nil {
				return err
			} else if pkg := "./" + filepath.ToSlash(rel); args[len(args)-1] != pkg {
				args = append(args, pkg)
			}
		}
	}
	said, err := command(dir, nil, "go", args...)
	if err != nil {
		return err
	}
	file := []byte("package main\n")
	for _, path := range strings.Fields(said) {
		if host, _, _ := strings.Cut(path, "/"); strings.Contains(host, ".") && !strings.HasPrefix(path, "github.com/zeroframe/zeroframe/") {
			file = fmt.Appendf(file, "import _ %q\n", path)
		}
	}
	return os.WriteFile(filepath.Join(dir, "qemu", "toolchains", "testdata.go"), file, 0o666)
}

// vendoredGo matches the version of Go that a module asks for in vendor/modules.txt.
var vendoredGo = regexp.MustCompile(`(?m)^## (?:explicit; )?go (\S+)$`)

// lowered returns a vendor/modules.txt in which no module asks for a newer Go than
// language, such as 1.25.
func lowered(list []byte, language string) []byte {
	return vendoredGo.ReplaceAllFunc(list, func(line []byte) []byte {
		prefix, asked, _ := bytes.Cut(line, []byte("go "))
		if version.Compare("go"+string(asked), "go"+language) <= 0 {
			return line
		}
		return fmt.Appendf(nil, "%sgo %s", prefix, language)
	})
}

// copyTree copies the files of a folder, which may be read-only, into a new one. It
// leaves out what git and the Makefile keep there.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (rel == ".git" || rel == "bin"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, fi.Mode().Perm()|0o200)
	})
}

// command runs a program and returns what it wrote to its standard output. The error has
// what it wrote to the other.
func command(dir string, env []string, name string, args ...string) (string, error) {
	var msg strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &msg
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %s", name, args[0], cmp.Or(strings.TrimSpace(msg.String()), err.Error()))
	}
	return string(out), err
}
