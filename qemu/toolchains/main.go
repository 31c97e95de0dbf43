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
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/version"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
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
	{[]string{"./qemu"},
		"^(TestProgram|TestDeaths|TestGoDeaths|TestGoEnds|TestGoHang|TestGoMcall|TestUnknownRuntime|TestStrippedRuntime)$" +
			"|^TestStandardPackages$/^(sort|strings|errors)$|^TestBuildFlags$/^(N-l|l)$", ""},
}

func main() { batch.Main("toolchains", command) }

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	all := toolchains
	fs := flag.NewFlagSet("toolchains", flag.ContinueOnError)
	verbose := fs.Bool("v", false, "print the name of each test that ends")
	const usage = "usage: go run ./qemu/toolchains [-v] [VERSION...]   (such as go1.27.4; see its main.go)\n"
	err := batch.ParseNames(fs, args, usage, stdout, func(names []string) error {
		if len(names) > 0 {
			all = names
		}
		for _, t := range all {
			if !version.IsValid(t) {
				return fmt.Errorf("%s is no version of Go; want one such as %s", t, toolchains[0])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	lines := "\n"
	var sum count
	for _, t := range all {
		start := time.Now()
		c := count{out: stdout, toolchain: t, verbose: *verbose}
		err := c.try(ctx)
		line := fmt.Sprintf("%-9s ok    %d tests passed in %.0f s\n", t, c.passed,
			time.Since(start).Seconds())
		if err != nil || c.failed > 0 {
			line = fmt.Sprintf("%-9s FAIL  %d tests passed, %d failed", t, c.passed, c.failed)
			if err != nil {
				line += ": " + err.Error()
			}
			line += "\n"
			c.failed = max(c.failed, 1)
		}
		fmt.Fprint(stdout, line)
		lines += line
		sum.passed, sum.failed = sum.passed+c.passed, sum.failed+c.failed
		if ctx.Err() != nil {
			break
		}
	}
	if len(all) > 1 {
		fmt.Fprint(stdout, lines)
	}
	fmt.Fprintf(stdout, "%d passed, %d failed\n", sum.passed, sum.failed)
	if sum.failed > 0 {
		return batch.Failed(errors.New("not all have passed"))
	}
	return nil
}

// count is of a toolchain's tests, subtests too.
type count struct {
	passed, failed int

	toolchain string
	out       io.Writer
	verbose   bool
}

// try runs all suites with the toolchain. An error says why they could not be run, or
// failed otherwise than by a test.
func (c *count) try(ctx context.Context) error {
	env := []string{"GOTOOLCHAIN=" + c.toolchain}
	said, err := batch.Output(ctx, "", env, "go", "version")
	if err != nil {
		return err
	}
	if f := strings.Fields(said); len(f) < 3 || f[2] != c.toolchain {
		return fmt.Errorf("go version with GOTOOLCHAIN=%s says %q", c.toolchain, said)
	}
	tmp, err := os.MkdirTemp("", "zf-toolchains-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	dir, err := moduleFor(ctx, c.toolchain, tmp)
	if err != nil {
		return err
	}
	for _, s := range suites {
		for _, pkg := range s.packages {
			t, err := new(batch.TestFlags).Test(ctx, "go", dir, "", pkg, env, "-timeout=30m",
				"-run="+s.run, "-skip="+s.skip)
			if err != nil {
				return err
			}
			switch passed, failed := c.add(pkg, t); {
			case !t.Passed && failed == 0:
				return fmt.Errorf("go test %s: %s", pkg, t.End())
			case passed+failed == 0:
				return fmt.Errorf("go test %s ran no test", pkg)
			}
		}
	}
	return nil
}

// add counts the tests of a package, and passes on what those that failed have said, and what
// belongs to no test if anything failed.
func (c *count) add(pkg string, t *batch.Tests) (passed, failed int) {
	say := func(what, test string) {
		if lines := t.Lines[test]; len(lines) > 0 {
			fmt.Fprintf(c.out, "%s: %s\n%s\n", c.toolchain, what, strings.Join(lines, "\n"))
		}
	}
	for _, test := range t.Ended {
		switch t.Actions[test] {
		case "pass":
			passed++
		case "fail":
			failed++
			say(pkg+" "+test, test)
		}
		if c.verbose {
			fmt.Fprintf(c.out, "%s: %s %s %s\n", c.toolchain, t.Actions[test], pkg, test)
		}
	}
	if !t.Passed {
		say(pkg, "")
	}
	c.passed, c.failed = c.passed+passed, c.failed+failed
	return passed, failed
}

// moduleFor returns the folder of a module whose tests the toolchain can run: this one,
// or if its go.mod asks for a newer Go than the toolchain, a copy in tmp that does not.
// An older go command refuses to look at such a module at all, and at one that requires
// such a module. So the copy has what the tests need of other modules in a folder vendor,
// whose list is made to ask for no more. None of it is linked into an image, and does it
// need a newer Go in fact, then the compiler says so.
func moduleFor(ctx context.Context, toolchain, tmp string) (dir string, err error) {
	said, err := batch.Output(ctx, "", nil, "go", "list", "-m", "-f", "{{.GoVersion}} {{.Dir}}")
	if err != nil {
		return "", err
	}
	goVersion, root, _ := strings.Cut(strings.TrimSpace(said), " ")
	if version.Compare("go"+goVersion, toolchain) <= 0 {
		return ".", nil
	}
	dir = filepath.Join(tmp, "main")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	// What may be read-only becomes a copy that is not, without what git and the Makefile keep there.
	const copy = `tar -C "$0" --exclude=./.git --exclude=./bin --mode=u+w -cf - . | tar -C "$1" -xf -`
	if _, err := batch.Output(ctx, "", nil, "sh", "-c", copy, root, dir); err != nil {
		return "", err
	}
	if err := importTestdata(ctx, dir); err != nil {
		return "", err
	}
	if _, err := batch.Output(ctx, dir, nil, "go", "mod", "vendor"); err != nil {
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
	_, err = batch.Output(ctx, dir, nil, "go", "mod", "edit", "-go="+language, "-toolchain=none")
	return dir, err
}

// importTestdata has a package of the module in dir import what the programs that the
// tests build import of other modules: go mod vendor does not look into folders testdata.
func importTestdata(ctx context.Context, dir string) error {
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
	said, err := batch.Output(ctx, dir, nil, "go", args...)
	if err != nil {
		return err
	}
	file := []byte("package main\n")
	for path := range strings.FieldsSeq(said) {
		host, _, _ := strings.Cut(path, "/")
		if strings.Contains(host, ".") && !strings.HasPrefix(path, batch.Module) {
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
