// Loaders boots one kernel by each loader that it is to start from, on real QEMU machines and in
// Bochs, and with real packages of Debian's:
//
//	go run ./qemu/loaders [-v] [-o FILE] [NAME...]
//
//	main.go   the command: the rows, one after the other
//	try.go    one row: what is booted how, and what it must say
//	linux.go  Linux with u-root, and where both come from
//	bochs.go  Bochs in QEMU's place
//
// It must be started in the folder of the module; names are those of rows in this file.
// Each row is two boots: the program tells the memory map's size, its arguments, its
// environment and a file that came along, and dies; the machine resets, and the second
// boot, by the same loader, tells the death of the first from RAM. Both traces must be
// whole and name the very functions.
//
// QEMU's own loader and GRUB need no network. For Linux with u-root, Debian's kernel
// comes from apt-get, u-root from the Go module proxy; both are kept in the user's cache.
// $ZF_VMLINUZ names another Linux, which must have kexec and a console on ttyS0.
//
// Standard output gets a line for each row: name, "ok", "not run" for want of Bochs, or what is
// wrong, and in milliseconds since the machine's start the kernel's first word and the program's.
// The exit status is 0 if all are ok or not run, 1 if not, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/image"
)

// row is a loader on a machine.
type row struct {
	name    string
	family  family
	loaders image.Loaders // that the image is made for
	config  qemu.Config
	loader  string // what the boot report says
	screen  string // how that begins to say what screen there is
}

// family is how a kernel gets to the machine.
type family int

const (
	direct  family = iota // QEMU loads it
	disc                  // GRUB, from an ISO image
	kexec                 // Linux, by u-root's kexec
	inBochs               // GRUB, from an ISO image, on a machine that is not QEMU
)

// Sources of the loaders' names: QEMU's multiboot.c, GRUB, and u-root's package multiboot.
const (
	byQEMU = "qemu, multiboot"
	byPVH  = "PVH"
	byGRUB = "GRUB *, multiboot"
	byRoot = "u-root kexec, multiboot"
)

// vga adds a screen, which the other machines do not have.
var vga = []string{"-vga", "std"}

var rows = []row{
	{"qemu-multiboot-pc", direct, image.Multiboot, qemu.Config{Machine: "pc"}, byQEMU, ""},
	{"qemu-multiboot-q35", direct, image.AllLoaders, qemu.Config{}, byQEMU, ""},
	{"qemu-multiboot-microvm", direct, image.Multiboot, qemu.Config{Machine: "microvm"}, byQEMU, ""},
	{"qemu-pvh-pc", direct, image.PVH, qemu.Config{Machine: "pc"}, byPVH, ""},
	{"qemu-pvh-q35", direct, image.PVH, qemu.Config{}, byPVH, ""},
	{"qemu-pvh-microvm", direct, image.PVH, qemu.Config{Machine: "microvm"}, byPVH, ""},
	{"grub-bios-pc", disc, image.AllLoaders, qemu.Config{Machine: "pc"}, byGRUB, ""},
	{"grub-bios-q35", disc, image.AllLoaders, qemu.Config{}, byGRUB, ""},
	{"grub-bios-stick", disc, image.AllLoaders, qemu.Config{Stick: true, Extra: vga}, byGRUB,
		"80x25 characters at 0xb8000"},
	{"grub-uefi-pc", disc, image.AllLoaders, qemu.Config{Machine: "pc", UEFI: true}, byGRUB, ""},
	{"grub-uefi-q35", disc, image.AllLoaders, qemu.Config{UEFI: true, Extra: vga}, byGRUB,
		"800x600, "},
	{"grub-uefi-stick", disc, image.AllLoaders, qemu.Config{UEFI: true, Stick: true}, byGRUB, ""},
	{"linux-kexec-pc", kexec, image.AllLoaders, qemu.Config{Machine: "pc"}, byRoot, ""},
	{"linux-kexec-q35", kexec, image.AllLoaders, qemu.Config{}, byRoot, ""},
	{"bochs-bios", inBochs, image.AllLoaders, qemu.Config{}, byGRUB, "80x25 characters at 0xb8000"},
}

func main() {
	image.RunTool() // if the go command started us in the compiler's place
	batch.Main("loaders", command)
}

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("loaders", flag.ContinueOnError)
	verbose := fs.Bool("v", false, "print what the machines say")
	out := fs.String("o", "", "write the lines to `FILE`, too")
	var todo []row
	err := batch.ParseNames(fs, args,
		"usage: go run ./qemu/loaders [-v] [-o FILE] [NAME...]   (see its main.go)\n", stdout,
		func(names []string) (err error) {
			todo, err = choose(names)
			return err
		})
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "zf-loaders-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	l := lab{dir: tmp, root: ".", stderr: stderr}
	lines, failed := "", 0
	for _, r := range todo {
		said, err := l.try(ctx, r)
		line := fmt.Sprintf("%s\tok\t%d\t%d\n", r.name, said.when("zeroframe "), said.when("teller: "))
		switch {
		case r.family == inBochs && errors.Is(err, exec.ErrNotFound):
			line = fmt.Sprintf("%s\tnot run: %v\n", r.name, err)
		case err != nil:
			failed++
			line = fmt.Sprintf("%s\tFAIL: %v\n", r.name, err)
		}
		if err != nil || *verbose {
			fmt.Fprintf(stderr, "%s said:\n%s\n", r.name, said)
		}
		fmt.Fprint(stdout, line)
		if lines += line; *out != "" {
			if err := batch.Replace(*out, lines); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if failed > 0 {
		return batch.Failed(fmt.Errorf("%d of %d loaders failed", failed, len(todo)))
	}
	return nil
}

// choose returns the rows of those names, or all.
func choose(names []string) (all []row, err error) {
	if len(names) == 0 {
		return rows, nil
	}
	for _, n := range names {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == n })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q", n)
		}
		all = append(all, rows[i])
	}
	return all, nil
}
