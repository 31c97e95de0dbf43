package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/initrd"
	"github.com/zeroframe/zeroframe/tools/iso"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/wire"
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
	images map[image.Loaders]string
	iso    string
	linux  *linux
}

// times are when, since the machine's start, the kernel and the program have said something.
type times struct{ kernel, program time.Duration }

// try boots a row and says what is wrong, if anything.
func (l *lab) try(ctx context.Context, r row) (t times, serial string, err error) {
	elf, err := l.image(ctx, r.loaders)
	if err != nil {
		return t, "", err
	}
	cfg := r.config
	cfg.MemoryMiB, cfg.Timeout, cfg.Reboots = 256, limit, 1
	switch r.family {
	case direct:
		cfg.Kernel, cfg.Append = elf, cmdline
		cfg.Initrd, err = l.files()
	case disc, inBochs:
		cfg.CDROM, err = l.disc(ctx, elf)
	case kexec:
		err = l.kexec(ctx, elf, &cfg)
	}
	if err != nil {
		return t, "", err
	}
	out := &stamps{start: time.Now()}
	cfg.Stdout = out
	if r.family == inBochs {
		err = bochs(ctx, l.dir, cfg.CDROM, cfg.MemoryMiB, 1, out, halted, 1)
	} else {
		err = boot(ctx, cfg)
	}
	t, serial = times{out.when("zeroframe "), out.when("teller: ")}, out.String()
	if err != nil {
		return t, serial, err
	}
	return t, serial, check(elf, serial, r, cfg.MemoryMiB)
}

// boot boots the machine until it ends, which the second boot must do in peace.
func boot(ctx context.Context, cfg qemu.Config) error {
	vm, err := qemu.Start(ctx, cfg)
	if err != nil {
		return err
	}
	res, err := vm.Wait()
	if err != nil || res.Outcome != qemu.Exited || res.Program != 0 {
		return fmt.Errorf("the machine: %v, status %d, %v; want the second boot to exit with 0", res.Outcome, res.Program, err)
	}
	return nil
}

var report = regexp.MustCompile(`(?m)^\r?zeroframe \S+ build [0-9a-f]+\r?\nloader  (.*?)\r?\n(?:screen  (.*?)\r?\n)?memory  (\d+) KiB usable`)

// check holds what the two boots have said against what they should have.
func check(elf, serial string, r row, mib int) error {
	boots := report.FindAllStringSubmatch(serial, -1)
	if len(boots) != 2 {
		return fmt.Errorf("%d boot reports; want 2", len(boots))
	}
	name := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(r.loader), `\*`, `\S+`) + "$")
	for _, b := range boots {
		if !name.MatchString(b[1]) {
			return fmt.Errorf("the loader is %q; want %q", b[1], r.loader)
		}
		if !strings.HasPrefix(b[2], r.screen) || r.screen == "" && b[2] != "" {
			return fmt.Errorf("the screen is %q; want %q", b[2], r.screen)
		}
		// Firmware keeps some, UEFI for its tables and services most of all.
		if kib, _ := strconv.Atoi(b[3]); kib > mib<<10 || kib < mib<<10-8<<10 {
			return fmt.Errorf("%d KiB usable of %d MiB", kib, mib)
		}
	}
	if !strings.Contains(serial, told) || strings.Count(serial, found) != 1 {
		return fmt.Errorf("the program did not say %q and then %q", told, found)
	}
	all, err := deaths(elf, serial)
	if err != nil {
		return err
	}
	if len(all) != 2 || all[0].Previous != 0 || all[1].Previous != 1 {
		return fmt.Errorf("%d traces; want that of the death and that of the boot before", len(all))
	}
	for _, t := range all {
		if got := functions(t); !t.Complete() || t.Reason != reason || !strings.Contains(got, chain) {
			return fmt.Errorf("%q, complete %v: %s; want %q: %s", t.Reason, t.Complete(), got, reason, chain)
		}
	}
	return nil
}

// deaths reads the traces in a log.
func deaths(elf, serial string) (all []*wire.Trace, err error) {
	sym, err := symbol.Open(elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	f, err := trace.NewFilter(nil, trace.Options{Symbols: sym, OnTrace: func(t *wire.Trace) { all = append(all, t) }})
	if err != nil {
		return nil, err
	}
	io.WriteString(f, serial)
	return all, f.Close()
}

// functions lists the functions of a trace, innermost first.
func functions(t *wire.Trace) string {
	var all []string
	for _, f := range t.Frames {
		for _, c := range f.Calls {
			all = append(all, c.Function)
		}
	}
	return strings.Join(all, " ")
}

// image builds the program for the given loaders.
func (l *lab) image(ctx context.Context, loaders image.Loaders) (string, error) {
	if path := l.images[loaders]; path != "" {
		return path, nil
	}
	path := filepath.Join(l.dir, "teller-"+loaders.String()+".elf")
	_, err := image.Build(ctx, image.BuildOptions{
		Package: "./" + filepath.Join(l.root, "qemu/loaders/testdata/teller"), Output: path, Loaders: loaders, Stderr: l.stderr,
	})
	if err != nil {
		return "", err
	}
	if l.images == nil {
		l.images = map[image.Loaders]string{}
	}
	l.images[loaders] = path
	return path, nil
}

// files writes the archive that goes with the kernel.
func (l *lab) files() (string, error) {
	var a initrd.Archive
	a.AddFile("/etc/motd", 0o644, []byte("a file"))
	path := filepath.Join(l.dir, "files.cpio")
	return path, a.WriteFile(path)
}

// disc makes the ISO image.
func (l *lab) disc(ctx context.Context, elf string) (string, error) {
	if l.iso != "" {
		return l.iso, nil
	}
	files, err := l.files()
	if err != nil {
		return "", err
	}
	path := filepath.Join(l.dir, "teller.iso")
	have, err := iso.Make(ctx, iso.Options{Kernel: elf, Cmdline: cmdline, Files: files, Output: path, WantScreen: image.WantScreen})
	if err != nil {
		return "", err
	}
	if m := iso.MissingFirmware(have); m != "" {
		return "", fmt.Errorf("%s", m)
	}
	l.iso = path
	return path, nil
}

// kexec gives the machine a Linux that hands over to the kernel.
func (l *lab) kexec(ctx context.Context, elf string, cfg *qemu.Config) error {
	files, err := l.files()
	if err != nil {
		return err
	}
	if l.linux == nil {
		if l.linux, err = findLinux(ctx, l.root, l.stderr); err != nil {
			return err
		}
	}
	cfg.Kernel, cfg.Append, cfg.MemoryMiB = l.linux.vmlinuz, "console=ttyS0 quiet", 512
	cfg.Initrd = filepath.Join(l.dir, "kexec.cpio")
	return l.linux.initramfs(cfg.Initrd, elf, files)
}

// stamps notes when the bytes have come.
type stamps struct {
	start time.Time
	mu    sync.Mutex
	buf   bytes.Buffer
	at    []time.Duration // of each byte
}

func (s *stamps) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.start)
	for range p {
		s.at = append(s.at, now)
	}
	return s.buf.Write(p)
}

func (s *stamps) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// when returns when the first of the words had come, or 0.
func (s *stamps) when(words string) time.Duration {
	if i := strings.Index(s.String(), words); i >= 0 {
		return s.at[i]
	}
	return 0
}

// read returns a file's contents, padded to four bytes, as archives want to begin.
func read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	return append(b, make([]byte, -len(b)&3)...), err
}
