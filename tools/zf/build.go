package main

// `zf build` is image.Build behind flags: it adds the loaders' names to what `go
// build` takes, and one line that says what was written.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/zeroframe/zeroframe/tools/machine/gotest"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

const buildText = `Build compiles a main package and writes a bootable image: an ELF file for
multiboot 1 and PVH loaders. The default name of FILE is that of the package,
with .elf.

PKG is what go build takes, or PATH@VERSION as for go run. A package that does
not import github.com/zeroframe/zeroframe/kernel is linked with it all the same,
and no file of it changes. The kernel is that of the module which PKG's go.mod
requires, otherwise the one that zf was built from; the environment variable
ZEROFRAME names a folder with another.

The kernel has parts that most programs do not use: dump (its memory, option
core=), monitor (the prompt), network (cards and netconsole=), observe
(profiles, handles, probes), shares (zf run -mount) and sockets. An image has
all of them, unless -parts names those that it is to have: with -parts none it
is smaller by half a megabyte. zf run PKG links what its flags and -append need.
A program that imports net, or can make system calls by itself, has sockets in
any case. What an image is without, its boot report says.`

// runBuild runs `zf build`.
func runBuild(c *call) error {
	o := image.BuildOptions{Stderr: c.stderr}
	buildFlags(c.FlagSet, &o)
	if err := c.parse([]option{
		{&o.Output, "o", "write the image to `FILE`"},
		{&o.HeapProfile, "memprofile",
			"add package kernel/observe/heapprofile:\nGo's runtime keeps a heap profile, for zf run -memprofile"},
		{func(s string) (err error) {
			o.Parts, err = image.ParseParts(s)
			return err
		}, "parts", "link only these parts of the kernel: all, none, or `LIST`, such as\nmonitor,network (default all)"},
		{&o.Net, "net",
			"add package kernel/net/netup: the machine answers ping and ARP, and\nfinds out the hardware address that netconsole= sends to. Into a program\nthat uses package net goes a network stack instead, kernel/net/inet,\nwhich does the same, and by which its sockets reach other machines"},
	}); err != nil {
		return err
	}
	if c.NArg() != 1 {
		return fmt.Errorf("want one package, have %d; flags go before it", c.NArg())
	}
	o.Package, o.Inet = c.Arg(0), o.Net
	// An interrupted build cleans up after itself.
	ctx := c.interruptible()
	built := showProgress(&o, c.stderr)
	b, err := image.Build(ctx, o)
	built()
	if err != nil {
		return notBuilt(err)
	}
	if b.Path == os.DevNull {
		return nil
	}
	c.say("wrote %s, %s, for %v, build ID %s", b.Path, size(b.Size), b.Loaders, b.BuildID)
	return nil
}

// buildFlags adds the flags that the commands which build a program share.
func buildFlags(fs *flag.FlagSet, o *image.BuildOptions) {
	imageFlags(fs, o)
	gotest.RegisterBuild(fs, &o.Flags)
}

// imageFlags adds those of them that `zf test` has, too, which gives the others more use.
func imageFlags(fs *flag.FlagSet, o *image.BuildOptions) {
	o.Loaders = image.AllLoaders
	addFlags(fs, []option{
		{func(s string) (err error) {
			o.Loaders, err = image.ParseLoaders(s)
			return err
		}, "loaders", "make it bootable by `LIST`: multiboot, pvh or both\n(default multiboot,pvh)"},
		{&o.BuildMode, "buildmode", "go build's -buildmode; only exe is possible"},
		{&o.Tags, "tags", "go build's -tags"},
		{&o.GCFlags, "gcflags", "go build's -gcflags"},
		{&o.LDFlags, "ldflags", "go build's -ldflags, before those that an image needs"},
	})
}

// notBuilt returns the error of an image that could not be built.
func notBuilt(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w; nothing was written", errInterrupted)
	case errors.Is(err, image.ErrCompile):
		return fmt.Errorf("%w; its messages are above", err)
	}
	return err
}

// size formats a number of bytes for people.
func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
