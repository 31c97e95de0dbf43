package main

// `zf iso` is iso.Make behind flags, for machines that have no QEMU around them.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/iso"
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

ARGS are the program's arguments, as for zf run. It needs GRUB's grub-mkrescue
with xorriso and mtools, and says which of them is missing.`

// runISO runs `zf iso`.
func runISO(args []string, _ io.Reader, _, stderr io.Writer) int {
	fs := newFlags("iso", "[flags] PKG|ELF [-- ARGS]", isoText, stderr)
	var output string
	f := runFlags{}
	f.build.Stderr = stderr
	fs.StringVar(&output, "o", "", "write the ISO image to `FILE`")
	fs.StringVar(&f.append, "append", "", "kernel command `LINE`")
	f.files.flags(fs)
	buildFlags(fs, &f.build)
	if code, ok := parse(fs, args); !ok {
		return code
	}
	fail := failing("zf iso", stderr)
	var err error
	if f.target, f.arguments, err = targetOf("iso", fs.Args()); err != nil {
		return fail("%v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	elf, _, cleanup, err := f.image(ctx, stderr)
	if err != nil {
		return buildFailed("iso", err, stderr)
	}
	defer cleanup()
	name := strings.TrimSuffix(filepath.Base(elf), ".elf")
	if output == "" {
		output = name + ".iso"
	}
	if samePath(output, elf) {
		return fail("-o %s would overwrite the image", output)
	}
	o := iso.Options{
		Kernel: elf, Title: name, Output: output, WantScreen: image.WantScreen,
		Cmdline: kernelCommandLine(strings.TrimSpace(kernelOption("arg0", name)+" "+f.append), f.arguments),
	}
	if o.Files, cleanup, err = f.packFiles(); err == nil {
		defer cleanup()
		var firmware []string
		if firmware, err = iso.Make(ctx, o); err == nil {
			return isoWritten(output, elf, firmware, stderr)
		}
	}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; nothing was written")
	}
	return fail("%v", err)
}

// packFiles packs the files for the guest; path is "" if there are none.
func (f *runFlags) packFiles() (path string, cleanup func(), err error) {
	tmp, err := os.MkdirTemp("", "zf-iso-")
	if err != nil {
		return "", nil, err
	}
	cleanup = func() { os.RemoveAll(tmp) }
	if path, _, err = f.files.write(tmp, nil); err != nil {
		cleanup()
		return "", nil, err
	}
	return path, cleanup, nil
}

// isoWritten says what was written.
func isoWritten(output, elf string, firmware []string, stderr io.Writer) int {
	fi, err := os.Stat(output)
	if err != nil {
		return failing("zf iso", stderr)("%v", err)
	}
	id := "none"
	if info, err := image.InspectFile(elf); err == nil {
		id = info.BuildID
	}
	fmt.Fprintf(stderr, "zf iso: wrote %s, %s, for %s, build ID %s\n", output, size(fi.Size()), strings.Join(firmware, " and "), id)
	if m := iso.MissingFirmware(firmware); m != "" {
		fmt.Fprintf(stderr, "zf iso: %s\n", m)
	}
	return exitOK
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
	if _, err = io.Copy(out, r); err == nil {
		err = out.Close()
	} else {
		out.Close()
	}
	return elf, err
}
