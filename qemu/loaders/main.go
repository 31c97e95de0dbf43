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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// row is a loader on a machine.
type row struct {
	Name   string
	By     string // how a kernel gets to the machine: one of the words below
	Image  string // which loaders the image is made for
	Loader string // what the boot report says
	Screen string // how that begins to say what screen there is
	qemu.Config
}

const (
	direct  = "QEMU"  // QEMU loads it
	disc    = "disc"  // GRUB, from an ISO image
	kexec   = "kexec" // Linux, by u-root's kexec
	inBochs = "Bochs" // GRUB, from an ISO image, on a machine that is not QEMU
)

// rows are the table, an object of JSON a row. Sources of the loaders' names: QEMU's multiboot.c,
// GRUB, and u-root's package multiboot.
var rows = readRows(`
{"Name": "qemu-multiboot-pc", "By": "QEMU", "Image": "multiboot", "Machine": "pc", "Loader": "qemu, multiboot"}
{"Name": "qemu-multiboot-q35", "By": "QEMU", "Image": "multiboot,pvh", "Loader": "qemu, multiboot"}
{"Name": "qemu-multiboot-microvm", "By": "QEMU", "Image": "multiboot", "Machine": "microvm", "Loader": "qemu, multiboot"}
{"Name": "qemu-pvh-pc", "By": "QEMU", "Image": "pvh", "Machine": "pc", "Loader": "PVH"}
{"Name": "qemu-pvh-q35", "By": "QEMU", "Image": "pvh", "Loader": "PVH"}
{"Name": "qemu-pvh-microvm", "By": "QEMU", "Image": "pvh", "Machine": "microvm", "Loader": "PVH"}
{"Name": "grub-bios-pc", "By": "disc", "Image": "multiboot,pvh", "Machine": "pc", "Loader": "GRUB *, multiboot"}
{"Name": "grub-bios-q35", "By": "disc", "Image": "multiboot,pvh", "Loader": "GRUB *, multiboot"}
{"Name": "grub-bios-stick", "By": "disc", "Image": "multiboot,pvh", "Stick": true, "Extra": ["-vga", "std"], "Loader": "GRUB *, multiboot", "Screen": "80x25 characters at 0xb8000"}
{"Name": "grub-uefi-pc", "By": "disc", "Image": "multiboot,pvh", "Machine": "pc", "UEFI": true, "Loader": "GRUB *, multiboot"}
{"Name": "grub-uefi-q35", "By": "disc", "Image": "multiboot,pvh", "UEFI": true, "Extra": ["-vga", "std"], "Loader": "GRUB *, multiboot", "Screen": "800x600, "}
{"Name": "grub-uefi-stick", "By": "disc", "Image": "multiboot,pvh", "UEFI": true, "Stick": true, "Loader": "GRUB *, multiboot"}
{"Name": "linux-kexec-pc", "By": "kexec", "Image": "multiboot,pvh", "Machine": "pc", "Loader": "u-root kexec, multiboot"}
{"Name": "linux-kexec-q35", "By": "kexec", "Image": "multiboot,pvh", "Loader": "u-root kexec, multiboot"}
{"Name": "bochs-bios", "By": "Bochs", "Image": "multiboot,pvh", "Loader": "GRUB *, multiboot", "Screen": "80x25 characters at 0xb8000"}
`)

func readRows(table string) (all []row) {
	for d := json.NewDecoder(strings.NewReader(table)); d.More(); {
		var r row
		if err := d.Decode(&r); err != nil {
			panic(err) // in this file
		}
		all = append(all, r)
	}
	return all
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
		line := fmt.Sprintf("%s\tok\t%d\t%d\n", r.Name, said.when("zeroframe "), said.when("teller: "))
		switch {
		case r.By == inBochs && errors.Is(err, exec.ErrNotFound):
			line = fmt.Sprintf("%s\tnot run: %v\n", r.Name, err)
		case err != nil:
			failed++
			line = fmt.Sprintf("%s\tFAIL: %v\n", r.Name, err)
		}
		if err != nil || *verbose {
			fmt.Fprintf(stderr, "%s said:\n%s\n", r.Name, said)
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
		i := slices.IndexFunc(rows, func(r row) bool { return r.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q", n)
		}
		all = append(all, rows[i])
	}
	return all, nil
}
