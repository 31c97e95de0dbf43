package main

// `zf run`: what to boot, and with which files; machine.go boots it.

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const runText = `Run boots a main package, or an image made by zf build, in QEMU. The serial port
is connected to the terminal, and traces are resolved as they come. PKG is what
zf build takes. An ISO image made by zf iso, FILE.iso, boots by its own loader,
with the command line that it has.

ARGS are the program's arguments (os.Args[1:]): they are appended to the kernel
command line behind " -- ", in double quotes where they need it. Its os.Args[0]
is the last element of the package path, unless -append has arg0=NAME.

On a terminal ^C is the program's, as a SIGINT, which ends it unless it has a
handler; a second one within a second ends the machine. ^\ sends it an NMI, so
that it says where it is. ^] opens the kernel's monitor, a prompt for looking at
the machine, which stands still meanwhile: type help there; a second ^] goes to
the program. Input that is no terminal has an end of file (kernel option
tty=pipe, unless -append has another tty=).

A death is shown in a few lines: the reason, the program's own place, the frames
of what died, who waits for whom or what the other CPUs did, and of an end of
memory what the heap has. All that the machine has said is in a file that the
last line names, of which the 50 latest are kept; zf last shows the latest one.
With -v all is shown as it comes. The program's two outputs are those of zf,
byte for byte, and what the kernel says goes to standard error. With -console
com1 the text of both goes to standard output, and with -v all does. What Go's
runtime prints of a panic is shown by the death alone.

What a program or the kernel sends as records (/dev/record) is taken out of the
text; -records keeps it. With -append record.port=com2 the machine has a second
serial port for them.

With -append panic=reset the machine resets when the kernel dies, and -reboots 1
lets it boot again: that boot tells how the one before died, from a record in
RAM.

With -record FILE.zfr the whole run is recorded: zf replay FILE.zfr does the
same again, instruction by instruction, as often as it is wanted. -record-last
30s keeps the end of the run alone.

With -probe 'main.parse*' the calls of these functions are counted and timed by
breakpoints, and shown at the end with what could not be probed, and why.

Exit status: 0 the program exited 0; 1 it ended in a trace; 2 wrong usage, a
failed build, or what a flag such as -cpuprofile wants has not come; 3 the
machine failed (timeout, triple fault, QEMU missing); otherwise the program's
own status + 64, and 255 where that is more; 130 it ended by ^C. With -reboots,
it is that of the last boot.`

// runFlags is what the command line of `zf run` says.
type runFlags struct {
	machine
	build  image.BuildOptions
	files  guestFiles
	flight flight
	target string
	chaos  chaosFlags
}

// runRun runs `zf run`.
func runRun(c *call) error {
	f := runFlags{machine: machine{streams: c.streams}}
	if err := f.parse(c); err != nil {
		return err
	}
	if lean && f.flight.wantsDebugger(&f.machine) {
		return c.handOver()
	}
	// A closed pipe behind us is an error of a write, after which the machine
	// is ended, not the end of this process with a machine left behind.
	signal.Ignore(syscall.SIGPIPE)
	ctx := c.interruptible(syscall.SIGHUP)
	// While it builds, ^\ is another ^C. boot() gives it its own meaning.
	building, stopBuilding := signal.NotifyContext(ctx, syscall.SIGQUIT)
	defer stopBuilding()
	elf, info, err := f.image(building, c)
	if err != nil {
		return notBuilt(err)
	}
	if err := cmp.Or(f.overwrites(elf), f.records.wrong()); err != nil {
		return err
	}
	tmp, err := c.folder()
	if err != nil {
		return err
	}
	sym, err := symbol.Open(elf)
	if err != nil {
		return err
	}
	defer sym.Close()
	if err := f.load(elf, info, sym, tmp); err != nil {
		return err
	}
	if f.isISO() {
		f.qemu.Kernel, f.qemu.CDROM = "", f.target
		return status(f.boot(ctx, sym))
	}
	f.sayUnlinked(sym)
	f.options = []string{kernelOption("arg0", strings.TrimSuffix(filepath.Base(elf), ".elf"))}
	if f.quiet {
		f.options = append(f.options, "report=off")
	}
	if f.chaos.on {
		if !f.chaos.said {
			f.chaos.seed = clockSeed()
		}
		f.chaos.add(&f.machine, f.chaos.seed)
		c.say("-chaos has the seed %d", f.chaos.seed)
	}
	if err := f.flight.watch.resolve(&f.machine, elf); err != nil {
		return err
	}
	f.flight.arm(&f.machine, sym, &c.streams)
	return status(f.flight.end(&c.streams, f.boot(ctx, sym)))
}

// overwrites returns an error if a file to be written is what is booted.
func (f *runFlags) overwrites(elf string) error {
	for _, path := range []string{elf, f.target} {
		for _, o := range []struct{ flag, path string }{{"-json", f.json}, {"-log", f.logFile}} {
			if o.path != "" && o.path != "-" && samePath(o.path, path) {
				return fmt.Errorf("%s %s would overwrite %[2]s", o.flag, o.path)
			}
		}
	}
	return nil
}

// load gives the machine its image and its files, packed into folder tmp.
func (f *runFlags) load(elf string, info *image.Info, sym *symbol.File, tmp string) error {
	var archive *initrd.Archive
	if len(f.flight.probes.patterns) > 0 {
		archive = new(initrd.Archive)
		if err := f.flight.choose(sym, archive); err != nil {
			return err
		}
	}
	files, size, err := f.files.write(tmp, archive)
	if err != nil {
		return err
	}
	if need := needMiB(info, size); f.qemu.MemoryMiB < need {
		what := f.target
		if size > 0 {
			what = fmt.Sprintf("%s with %d KiB of files", what, size>>10)
		}
		return fmt.Errorf(
			"too small RAM size: %s ends at %d KiB and needs %d MiB, the machine has %d; give it -m %[3]d or more",
			what, info.End>>10+uint64(size)>>10, need, f.qemu.MemoryMiB)
	}
	f.qemu.Kernel, f.qemu.Initrd, f.name = elf, files, filepath.Base(f.target)
	if f.coreELF, f.built = elf, elf != f.target; f.built { // "." is no name
		f.name = strings.TrimSuffix(filepath.Base(elf), ".elf")
	}
	return nil
}

// parse reads the command line.
func (f *runFlags) parse(c *call) error {
	f.build.Stderr = c.stderr
	fs := c.FlagSet
	f.view.flags(fs)
	f.machine.recordFlag(fs)
	f.chaos.flags(fs, "-record", "(default: another one each time)")
	f.machine.flags(fs, 128, hostCPUs())
	f.machine.cpuFlag(fs)
	f.machine.consoleFlag(fs)
	f.files.flags(fs)
	f.flight.flags(fs)
	buildFlags(fs, &f.build)
	if err := c.parse([]option{
		{func(s string) (err error) {
			if f.qemu.Timeout, err = time.ParseDuration(s); err != nil {
				return errors.New("want a duration such as 3s")
			}
			return nil
		}, "timeout",
			"end the machine after `TIME`, such as 5s, with a trace of where it\nis (default 0: never)"},
		{&f.json, "json",
			"write traces as JSON lines to `FILE`; - is standard output, and serial\noutput then goes to standard error"},
		{&f.quiet, "q", "say nothing but what the program says; with -v, leave the boot\nreport out"},
		{&f.verbose, "v",
			"show the boot report, all that the traces say as it comes, and which\naccelerator runs the machine, and why"},
		{&f.logFile, "log", "write all that the machine says to `FILE`, as -v would show it"},
		{&f.timestamps, "timestamps",
			"put the seconds since the boot before each line of the program and the\nkernel"},
		{&f.force, "force", "resolve traces that come from another build, too"},
		{&f.qemu.UEFI, "uefi", "boot by UEFI firmware (OVMF): ISO images only"},
		{&f.core, "core",
			"when the machine dies, resets or passes its -timeout, write all of its\nmemory to `FILE`, as a core for Delve and gdb"},
		{f.forward, "p",
			"reach the program's TCP port `PORT` by the host's: PORT, HOST:PORT (two\nnumbers) or ADDRESS:HOST:PORT; with /udp behind, a UDP port. The host's\naddress is 127.0.0.1 if it is not given. Implies -net virtio, with\n-record -net e1000e. May be given many times"},
		{&f.qemu.Reboots, "reboots", "let the machine reset `N` times; the next reset ends it"},
	}); err != nil {
		return err
	}
	f.network()
	if err := f.parseTarget(c); err != nil {
		return err
	}
	return f.wrong()
}

// wrong returns what is wrong with the flags, if anything is.
func (f *runFlags) wrong() error {
	if err := cmp.Or(f.wrongAccel(), f.flight.wrong(), f.wrongRecord(),
		whole.Try(f.core, f.logFile, f.json)); err != nil {
		return err
	}
	_, open := iso.Words(f.append)
	switch {
	case f.qemu.Timeout < 0:
		return fmt.Errorf("-timeout %v is negative; 0 means none", f.qemu.Timeout)
	case f.qemu.Reboots < 0:
		return fmt.Errorf("-reboots %d is negative", f.qemu.Reboots)
	case f.qemu.UEFI && !f.isISO():
		return errors.New("-uefi boots ISO images; make one with zf iso")
	case open:
		return fmt.Errorf(
			"-append: a double quote is not closed in %s; one of two words is env.NAME=\"a b\"", f.append)
	case f.core != "" && (samePath(f.core, f.target) || f.core == f.json):
		return fmt.Errorf("-core %s would overwrite %[1]s", f.core)
	case f.logFile != "" && (f.logFile == f.json || f.logFile == f.core || f.logFile == f.record):
		return fmt.Errorf("-log %s is written by another flag, too", f.logFile)
	case f.isISO() && (f.append != "" || len(f.arguments) > 0 || f.files.any() || f.flight.any()):
		return fmt.Errorf("%s has its own command line, arguments and files; give them to zf iso",
			f.target)
	}
	return nil
}

// parseTarget reads what stands behind a command's flags: what to boot, and behind -- the
// program's arguments.
func (f *runFlags) parseTarget(c *call) error {
	rest := c.Args()
	if len(rest) == 0 {
		return fmt.Errorf("want a main package or an image; `zf help %s` says more", c.name)
	}
	f.target = rest[0]
	if len(rest) > 1 {
		if rest[1] != "--" {
			return fmt.Errorf(
				"unexpected %q behind %s; flags go before it, the program's arguments behind --",
				rest[1], rest[0])
		}
		f.arguments = rest[2:]
	}
	return nil
}

// inspectImage looks at a file that is to be booted. The error says what else it is.
func inspectImage(path string) (*image.Info, error) {
	info, err := image.InspectFile(path)
	if err == nil && info.Loaders > 0 {
		if err := image.CheckKernelFlags(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return info, nil
	}
	file, openErr := elf.Open(path)
	if openErr == nil {
		defer file.Close()
	}
	switch {
	case openErr == nil && err == nil && file.Section(".symtab") == nil:
		return nil, fmt.Errorf(
			"%s has no boot header, nor symbols: strip has been at it; boot it as `zf build` wrote it", path)
	case err == nil:
		return nil, fmt.Errorf("%s has no boot header; make an image with `zf build`", path)
	case (errors.Is(err, image.ErrLayout) || errors.Is(err, image.ErrDynamic)) && openErr == nil &&
		file.Machine == elf.EM_X86_64 && len(file.Sections) > 0:
		return nil, fmt.Errorf(
			"%s is a program for an operating system, no image; boot its package, or what `zf build` makes of that", path)
	}
	return nil, fmt.Errorf("%w; boot a package, or what `zf build` wrote", err)
}

// isISO reports whether the target is an ISO image.
func (f *runFlags) isISO() bool { return filepath.Ext(f.target) == ".iso" }

// image returns the path of the image to boot, built first if the target is a package.
func (f *runFlags) image(ctx context.Context, c *call) (path string, info *image.Info, err error) {
	fi, err := os.Stat(f.target)
	first, _, _ := strings.Cut(f.target, "/")
	switch {
	case f.isISO():
		tmp, err := c.folder()
		if err == nil {
			path, err = fromISO(f.target, tmp)
		}
		if err == nil {
			info, err = image.InspectFile(path)
		}
		return path, info, err
	case err == nil && fi.Mode().IsRegular() && filepath.Ext(f.target) != ".go":
		info, err = inspectImage(f.target)
		return f.target, info, err
	case err == nil && fi.IsDir() && first != "." && first != ".." && !filepath.IsAbs(f.target):
		// It may be meant all the same: the module can have a package of that path.
		f.build.Folder = "./" + filepath.ToSlash(f.target)
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(f.target) == ".core":
		return "", nil, err
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(f.target) == ".elf":
		return "", nil, fmt.Errorf("there is no file %s; make it with `zf build -o %[1]s PKG`", f.target)
	}
	f.build.Package = f.target
	f.build.Net, f.build.Inet = f.hasAddress(), f.hasSockets()
	_, f.build.Zones = lastOption(f.append, "env.TZ")
	f.build.HeapProfile = f.flight.heap.path != ""
	f.build.Parts = f.parts(f.flight.any())
	if f.build.Output, err = c.folder(); err != nil {
		return "", nil, err
	}
	built := showProgress(&f.build, c.stderr)
	b, err := image.Build(ctx, f.build)
	built()
	if err != nil {
		return "", nil, err
	}
	return b.Path, &b.Info, nil
}
