package main

// `zf iso` is iso.Make behind flags, for machines that have no QEMU around them.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

const isoText = `Iso makes an ISO image from which a real machine boots, by BIOS or UEFI: GRUB,
the kernel, its command line and files. PKG is what zf build takes. The default
name of FILE is that of the package, with .iso.

To write it on a USB stick, find the stick's name (lsblk), which is the whole
device and no partition of it, and

	sudo dd if=FILE of=/dev/sdX bs=4M conv=fsync

which erases the stick. Then choose the stick in the firmware's boot menu, with
Secure Boot off: nobody has signed the image. The console is the first serial
port, 115200 baud, 8N1; "zf symbolize -e ELF -baud 115200 /dev/ttyUSB0", on the
machine at its other end, resolves traces as they come. Keep the ELF file (zf
build makes the same one).

"zf run FILE.iso" boots it in QEMU by BIOS, "zf run -uefi FILE.iso" by UEFI.

"-append net=on" has a program that uses package net talk to other machines by
the machine's network card.

ARGS are the program's arguments, as for zf run. It needs GRUB's grub-mkrescue
with xorriso and mtools, and says which of them is missing.`

// runISO runs `zf iso`.
func runISO(c *call) error {
	var output string
	var verbose bool
	f := runFlags{}
	f.build.Stderr = c.stderr
	f.files.flags(c.FlagSet)
	buildFlags(c.FlagSet, &f.build)
	if err := c.parse([]option{
		{&output, "o", "write the ISO image to `FILE`"},
		{&f.append, "append", "kernel command `LINE`"},
		{&verbose, "v", "show what GRUB's tools say"},
	}); err != nil {
		return err
	}
	if err := f.parseTarget(c); err != nil {
		return err
	}
	ctx := c.interruptible()
	elf, _, err := f.image(ctx, c)
	if err != nil {
		return notBuilt(err)
	}
	name := strings.TrimSuffix(filepath.Base(elf), ".elf")
	if output == "" {
		output = name + ".iso"
	}
	if samePath(output, elf) {
		return fmt.Errorf("-o %s would overwrite the image", output)
	}
	o := iso.Options{
		Kernel: elf, Title: name, Output: output, WantScreen: image.WantScreen,
		Cmdline: kernelCommandLine(strings.TrimSpace(kernelOption("arg0", name)+" "+f.append),
			f.arguments),
	}
	if verbose {
		o.Words = c.stderr
	}
	dir, err := c.folder()
	if err != nil {
		return err
	}
	if o.Files, _, err = f.files.write(dir, nil); err != nil {
		return err
	}
	firmware, err := iso.Make(ctx, o)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w; nothing was written", errInterrupted)
	}
	if err != nil {
		return err
	}
	return sayISO(c, output, elf, firmware)
}

// sayISO says what was written, of what build.
func sayISO(c *call, output, elf string, firmware []string) error {
	fi, err := os.Stat(output)
	if err != nil {
		return err
	}
	id := "none"
	if info, err := image.InspectFile(elf); err == nil {
		id = info.BuildID
	}
	c.say("wrote %s, %s, for %s, build ID %s", output, size(fi.Size()),
		strings.Join(firmware, " and "), id)
	if m := iso.MissingFirmware(firmware); m != "" {
		c.say("%s", m)
	}
	return nil
}

// fromISO takes the kernel out of an ISO image into a file in dir, for its symbols.
func fromISO(path, dir string) (elf string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	r, err := iso.Kernel(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	elf = filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".iso")+".elf")
	out, err := os.Create(elf)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, r)
	return elf, cmp.Or(err, out.Close())
}
