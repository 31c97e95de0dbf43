package main

// `zf build` is image.Build behind flags: it adds the loaders' names to what `go
// build` takes, and one line that says what was written.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/gotest"
	"github.com/zeroframe/zeroframe/tools/image"
)

const buildText = `Build compiles a main package and writes a bootable image: an ELF file for
multiboot 1 and PVH loaders. The default name of FILE is that of the package,
with .elf.

PKG is what go build takes, or PATH@VERSION as for go run. A package that does
not import github.com/zeroframe/zeroframe/kernel is linked with it all the same,
and no file of it changes. The kernel is that of the module which PKG's go.mod
requires, otherwise the one that zf was built from; the environment variable
ZEROFRAME names a folder with another.`

// runBuild runs `zf build`.
func runBuild(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := newFlags("build", "[flags] PKG", buildText, stderr)
	o := image.BuildOptions{Stderr: stderr}
	fs.StringVar(&o.Output, "o", "", "write the image to `FILE`")
	fs.BoolVar(&o.HeapProfile, "memprofile", false, "add package kernel/observe/heapprofile:\nGo's runtime keeps a heap profile, for zf run -memprofile")
	fs.BoolVar(&o.Net, "net", false, "add package kernel/net/netup: the machine answers ping and ARP, and\nfinds out the hardware address that netconsole= sends to")
	buildFlags(fs, &o)
	if code, ok := parse(fs, args); !ok {
		return code
	}
	if fs.NArg() != 1 {
		return failing("zf build", stderr)("want one package, have %d; flags go before it", fs.NArg())
	}
	o.Package = fs.Arg(0)

	// An interrupted build cleans up after itself.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	built := showProgress(&o, stderr)
	b, err := image.Build(ctx, o)
	built()
	if err != nil {
		return buildFailed("build", err, stderr)
	}
	if b.Path == os.DevNull {
		return exitOK
	}
	fmt.Fprintf(stderr, "zf build: wrote %s, %s, for %v, build ID %s\n", b.Path, size(b.Size), b.Loaders, b.BuildID)
	return exitOK
}

// buildFlags adds the flags that the commands which build a program share.
func buildFlags(fs *flag.FlagSet, o *image.BuildOptions) {
	imageFlags(fs, o)
	gotest.RegisterBuild(fs, &o.Flags)
}

// imageFlags adds those of them that `zf test` has, too, which gives the others more use.
func imageFlags(fs *flag.FlagSet, o *image.BuildOptions) {
	o.Loaders = image.AllLoaders
	fs.Func("loaders", "make it bootable by `LIST`: multiboot, pvh or both\n(default multiboot,pvh)", func(s string) (err error) {
		o.Loaders, err = image.ParseLoaders(s)
		return err
	})
	fs.StringVar(&o.BuildMode, "buildmode", "", "go build's -buildmode; only exe is possible")
	fs.StringVar(&o.Tags, "tags", "", "go build's -tags")
	fs.StringVar(&o.GCFlags, "gcflags", "", "go build's -gcflags")
	fs.StringVar(&o.LDFlags, "ldflags", "", "go build's -ldflags, before those that an image needs")
}

// buildFailed says why an image could not be built.
func buildFailed(cmd string, err error, stderr io.Writer) int {
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "zf %s: interrupted; nothing was written\n", cmd)
	case errors.Is(err, image.ErrCompile):
		fmt.Fprintf(stderr, "zf %s: %v; its messages are above\n", cmd, err)
	default:
		fmt.Fprintf(stderr, "zf %s: %s\n", cmd, withStep(err.Error(), err))
	}
	return exitUsage
}

// size formats a number of bytes for people.
func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
