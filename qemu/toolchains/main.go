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
	{[]string{"./qemu"}, "^(TestProgram|TestDeaths|TestGoDeaths|TestGoEnds|TestGoHang|TestGoMcall|TestUnknownRuntime|TestPartlyKnownRuntime)$" +
		"|^TestStandardPackages$/^(sort|strings|errors)$", ""},
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

// A module is what go list -m -json and go mod edit -json tell of one.
type module struct {
	Path, Dir, GoVersion string
	Main                 bool
}

// moduleFor returns the folder of a module whose tests the toolchain can run: this one,
// or if its go.mod asks for a newer Go than the toolchain, a copy in tmp that does not.
// An older go command refuses to look at such a module at all. The same is done about
// modules that it requires: none of them is linked into an image, and those that the
// tests use do with an older Go in fact, which the compiler checks.
func moduleFor(toolchain, tmp string) (dir string, err error) {
	// With -e, since modules of which nothing is needed may be missing from go.sum.
	said, err := command("", nil, "go", "list", "-m", "-e", "-json=Path,Dir,GoVersion,Main", "all")
	if err != nil {
		return "", err
	}
	language := version.Lang(toolchain)
	var edit []string
	for d := json.NewDecoder(strings.NewReader(said)); d.More(); {
		var m module
		if err := d.Decode(&m); err != nil {
			return "", fmt.Errorf("go list -m: %w", err)
		}
		if m.GoVersion == "" || version.Compare("go"+m.GoVersion, toolchain) <= 0 || !m.Main && m.Dir == "" {
			continue
		}
		if m.Main {
			dir = filepath.Join(tmp, "main")
			if err := copyTree(dir, m.Dir); err != nil {
				return "", err
			}
			continue
		}
		to := filepath.Join(tmp, "required", strings.ReplaceAll(m.Path, "/", "-"))
		if err := copyTree(to, m.Dir); err != nil {
			return "", err
		}
		if _, err := command(to, nil, "go", "mod", "edit", "-go="+language[2:], "-toolchain=none"); err != nil {
			return "", err
		}
		edit = append(edit, "-replace="+m.Path+"="+to)
	}
	if dir == "" {
		if len(edit) > 0 {
			return "", fmt.Errorf("go.mod allows for %s, but requires a module that does not (go mod edit %s)", toolchain, edit[0])
		}
		return ".", nil
	}
	_, err = command(dir, nil, "go", append([]string{"mod", "edit", "-go=" + language[2:], "-toolchain=none"}, edit...)...)
	return dir, err
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
