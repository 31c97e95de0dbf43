package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

// What a row's machine is given, and must say.
const (
	cmdline = `panic=reset env.TELL="two words" -- plain "two words" "a \"quote\"" "back\\slash"`
	told    = `teller: args ["plain" "two words" "a \"quote\"" "back\\slash"] env "two words" file "a file" <nil>`
	found   = "teller: the boot before has left "
	reason  = "panic: teller: the end"
	chain   = "main.deathC main.deathB main.deathA main.main"
	limit   = 4 * time.Minute // a busy host is slow
)

// lab is where images are made, each once.
type lab struct {
	dir    string // for what is made
	root   string // the folder of the module
	stderr io.Writer
	images map[string]*batch.Lab
	iso    string
	linux  *linux
}

// try boots a row and says what is wrong, if anything.
func (l *lab) try(ctx context.Context, r row) (*stamps, error) {
	said := new(stamps)
	b, err := l.image(ctx, r.Image)
	if err != nil {
		return said, err
	}
	files := filepath.Join(l.dir, "files.cpio")
	var a initrd.Archive
	a.AddFile("/etc/motd", 0o644, []byte("a file"))
	if err := a.WriteFile(files); err != nil {
		return said, err
	}
	cfg := r.Config
	cfg.MemoryMiB, cfg.Timeout, cfg.Reboots, cfg.Stdout = 256, limit, 1, said
	switch r.By {
	case direct:
		cfg.Kernel, cfg.Append, cfg.Initrd = b.Image, cmdline, files
	case disc, inBochs:
		cfg.CDROM, err = l.disc(ctx, b.Image, files)
	case kexec:
		if l.linux == nil {
			l.linux, err = findLinux(ctx, l.root)
		}
		if err == nil {
			cfg.Kernel, cfg.Append, cfg.MemoryMiB = l.linux.vmlinuz, "console=ttyS0 quiet", 512
			cfg.Initrd = filepath.Join(l.dir, "kexec.cpio")
			err = l.linux.initramfs(cfg.Initrd, b.Image, files)
		}
	}
	if err != nil {
		return said, err
	}
	said.start = time.Now()
	if r.By == inBochs {
		err = bochs(ctx, l.dir, cfg.CDROM, cfg.MemoryMiB, 1, said, halted, 1)
	} else {
		err = boot(ctx, cfg)
	}
	if err != nil {
		return said, err
	}
	return said, check(b, said.String(), r, cfg.MemoryMiB)
}

// boot boots the machine until it ends, which the second boot must do in peace.
func boot(ctx context.Context, cfg qemu.Config) error {
	vm, err := qemu.Start(ctx, cfg)
	if err != nil {
		return err
	}
	res, err := vm.Wait()
	if err != nil || res.Outcome != qemu.Exited || res.Program != 0 {
		return fmt.Errorf("the machine: %v, status %d, %v; want the second boot to exit with 0",
			res.Outcome, res.Program, err)
	}
	return nil
}

var report = regexp.MustCompile(
	`(?m)^\r?zeroframe \S+ build [0-9a-f]+\r?\nloader  (.*?)\r?\n(?:screen  (.*?)\r?\n)?memory  (\d+) KiB usable`)

// check holds what the two boots have said against what they should have.
func check(l *batch.Lab, serial string, r row, mib int) error {
	boots := report.FindAllStringSubmatch(serial, -1)
	if len(boots) != 2 {
		return fmt.Errorf("%d boot reports; want 2", len(boots))
	}
	name := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(r.Loader), `\*`, `\S+`) + "$")
	for _, b := range boots {
		if !name.MatchString(b[1]) {
			return fmt.Errorf("the loader is %q; want %q", b[1], r.Loader)
		}
		if !strings.HasPrefix(b[2], r.Screen) || r.Screen == "" && b[2] != "" {
			return fmt.Errorf("the screen is %q; want %q", b[2], r.Screen)
		}
		// Firmware keeps some, UEFI for its tables and services most of all.
		if kib, _ := strconv.Atoi(b[3]); kib > mib<<10 || kib < mib<<10-8<<10 {
			return fmt.Errorf("%d KiB usable of %d MiB", kib, mib)
		}
	}
	if !strings.Contains(serial, told) || strings.Count(serial, found) != 1 {
		return fmt.Errorf("the program did not say %q and then %q", told, found)
	}
	all, err := l.Traces(serial, nil)
	if err != nil {
		return err
	}
	if len(all) != 2 || all[0].Previous != 0 || all[1].Previous != 1 {
		return fmt.Errorf("%d traces; want that of the death and that of the boot before", len(all))
	}
	for _, t := range all {
		if got := strings.Join(batch.Functions(t), " "); !t.Complete() || t.Reason != reason ||
			!strings.Contains(got, chain) {
			return fmt.Errorf("%q, complete %v: %s; want %q: %s", t.Reason, t.Complete(), got, reason, chain)
		}
	}
	return nil
}

// image builds the program for the given loaders.
func (l *lab) image(ctx context.Context, names string) (b *batch.Lab, err error) {
	if b = l.images[names]; b != nil {
		return b, nil
	}
	loaders, err := image.ParseLoaders(names)
	if err != nil {
		return nil, err
	}
	b, err = batch.Build(ctx, image.BuildOptions{
		Package: batch.Module + "qemu/loaders/testdata/teller",
		Output:  filepath.Join(l.dir, "teller-"+names+".elf"),
		Loaders: loaders, Stderr: l.stderr,
	})
	if err == nil && l.images == nil {
		l.images = map[string]*batch.Lab{}
	}
	if err == nil {
		l.images[names] = b
	}
	return b, err
}

// disc makes the ISO image.
func (l *lab) disc(ctx context.Context, elf, files string) (string, error) {
	if l.iso != "" {
		return l.iso, nil
	}
	path := filepath.Join(l.dir, "teller.iso")
	have, err := iso.Make(ctx, iso.Options{Kernel: elf, Cmdline: cmdline, Files: files, Output: path,
		WantScreen: image.WantScreen})
	if err != nil {
		return "", err
	}
	if m := iso.MissingFirmware(have); m != "" {
		return "", errors.New(m)
	}
	l.iso = path
	return path, nil
}

// stamps notes when the bytes have come.
type stamps struct {
	strings.Builder
	start time.Time
	at    []int64 // of each byte, in ms
}

func (s *stamps) Write(p []byte) (int, error) {
	s.at = append(s.at, slices.Repeat([]int64{time.Since(s.start).Milliseconds()}, len(p))...)
	return s.Builder.Write(p)
}

// when returns when the first of the words had come, in ms, or 0.
func (s *stamps) when(words string) int64 {
	if i := strings.Index(s.String(), words); i >= 0 {
		return s.at[i]
	}
	return 0
}
