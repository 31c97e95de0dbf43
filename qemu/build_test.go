package qemu

// Each image and each command is built once for all tests: machines differ by their
// command lines.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// A buildCache keeps what was built from which options.
type buildCache struct {
	mu    sync.Mutex
	built map[string]func() (string, error)
}

// get builds once for each key; others wait meanwhile. make gets the path of the result.
func (c *buildCache) get(t testing.TB, key, name string, make func(path string) error) string {
	t.Helper()
	c.mu.Lock()
	once := c.built[key]
	if once == nil {
		// The name of the file is that of the program.
		dir := filepath.Join(guestDir, strconv.Itoa(len(c.built)))
		once = sync.OnceValues(func() (string, error) {
			path := filepath.Join(dir, name)
			if err := os.Mkdir(dir, 0o777); err != nil {
				return "", err
			}
			return path, make(path)
		})
		if c.built == nil {
			c.built = map[string]func() (string, error){}
		}
		c.built[key] = once
	}
	c.mu.Unlock()
	path, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var builds buildCache

// guestDir is where all that is built lies.
var guestDir string

// built returns the path of an image with those options, all but Output and Stderr.
func built(t testing.TB, o image.BuildOptions) string {
	t.Helper()
	path := builds.get(t, fmt.Sprintf("image %#v", o), path.Base(o.Package)+".elf", func(path string) error {
		var said strings.Builder
		o.Output, o.Stderr = path, &said
		_, err := image.Build(context.Background(), o)
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, &said)
		}
		return err
	})
	written(t, path) // it is a program for Linux, too
	return path
}

// writeProgram writes a program, such as a script, that the test executes.
func writeProgram(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	written(t, path)
}

// written waits until nobody has a program open for writing: Linux does not execute it before
// (ETXTBSY). Who is started by another test while this process writes it has it open, too, until
// that one has executed its own program. Of a file that is open for writing there is no lease
// (fcntl(2), F_SETLEASE).
func written(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	await.Poll(t, "nobody writes to "+path, func() bool {
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		return !errors.Is(err, unix.EAGAIN)
	})
}

// guest returns the path of the guest's image for the given loaders.
func guest(t testing.TB, l image.Loaders) string {
	t.Helper()
	return built(t, image.BuildOptions{Package: ".", Dir: "testdata/guest", Loaders: l, EntrySymbol: "guest/boot.entry", KernelPackage: "guest/kernel"})
}

// lab returns the crash lab for the given loaders.
func lab(t testing.TB, l image.Loaders) (path string, symbols *symbol.File) {
	t.Helper()
	path = built(t, image.BuildOptions{Package: "../kernel/crashlab", Loaders: l})
	return path, opened(t, path)
}

var symbolFiles struct {
	mu   sync.Mutex
	open map[string]*symbol.File
}

// opened returns an image's symbols, which all tests share.
func opened(t testing.TB, path string) *symbol.File {
	t.Helper()
	symbolFiles.mu.Lock()
	defer symbolFiles.mu.Unlock()
	if f := symbolFiles.open[path]; f != nil {
		return f
	}
	f, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if symbolFiles.open == nil {
		symbolFiles.open = map[string]*symbol.File{}
	}
	symbolFiles.open[path] = f
	return f
}

// program returns the image of a package of testdata. It is a program for Linux, too.
func program(t testing.TB, pkg string, env ...string) string {
	t.Helper()
	return built(t, image.BuildOptions{Package: "./testdata/" + pkg, Env: slices.Concat(testEnv(), env)})
}

// testEnv is the environment for builds.
func testEnv() []string { return append(os.Environ(), "GOAMD64=") }

// hostCommand returns the path of a command for this system.
func hostCommand(t testing.TB, pkg string) string {
	t.Helper()
	return builds.get(t, "host "+pkg, path.Base(pkg), func(path string) error {
		return goBuild(path, pkg)
	})
}

func goBuild(path, pkg string, flags ...string) error {
	args := append([]string{"build", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// zfCommand returns the path of zf as make build makes it: with zf-debugger beside it.
func zfCommand(t testing.TB) string {
	t.Helper()
	return builds.get(t, "zf", "zf", func(path string) error {
		return cmp.Or(goBuild(path, "../tools/zf", "-tags=lean"),
			goBuild(filepath.Join(filepath.Dir(path), "zf-debugger"), "../tools/zf"))
	})
}

// zfRun is zf run with arguments, for 10 minutes at most, and on one CPU whatever the host has, if
// the arguments do not say otherwise.
func zfRun(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(zfCommand(t), append([]string{"run", "-v", "-smp", "1", "-timeout", "10m"}, args...)...)
}

// zfTest is zf test with arguments, on one CPU like zfRun.
func zfTest(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(zfCommand(t), append([]string{"test", "-smp", "1"}, args...)...)
}
