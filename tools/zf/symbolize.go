package main

// `zf symbolize` is tools/format/trace on a command line: it chooses where bytes come
// from (tools/format/source), with which images traces are resolved (images.go), and where
// the result goes. It ends at the end of its input or at an interrupt, and in
// either case says all that it has.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/input"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

const symbolizeText = `Symbolize passes text through and resolves the traces in it: function, file and
line of each address. INPUT is a log, or something live:

  FILE                   a log; with -follow one that grows, as with tail -F
  DEVICE                 a serial device: opened again when it was unplugged
  tcp:HOST:PORT          a TCP socket: QEMU's -serial tcp::PORT,server, or a
                         terminal server; telnet's commands are taken out
  unix:PATH              a unix socket: QEMU's -serial unix:PATH,server
  tcp-listen:[HOST]:PORT, unix-listen:PATH
                         the same for a side that connects by itself
  -                      standard input, as without an INPUT

  zf symbolize -e hello.elf serial.log
  zf symbolize -e hello.elf -follow serial.log
  zf symbolize -e hello.elf -baud 115200 /dev/ttyUSB0
  zf symbolize -e hello.elf unix:/tmp/serial
  zf symbolize -e vmlinux -e e1000e.ko dmesg.txt
  zf symbolize -e /usr/lib/debug dmesg.txt
  some-emulator | zf symbolize -e hello.elf

A line is out when it is complete, and a part of one after 50 ms; text does not
wait for the ELF file to be opened. A trace that is open when a device or a
connection vanishes counts as cut. Nothing is sent, but to the debuginfod
servers that $DEBUGINFOD_URLS names: the build ID of an image or of debug
information that is not here. What they have is kept in the cache of all such
clients ($DEBUGINFOD_CACHE_PATH); with such servers -e may be left out.

ELF is the image that was running, or a folder or a package (.deb, .rpm, tar)
of images: there a file is found by its build ID (anywhere, or as
.build-id/xx/yyyy.debug), a Linux module by its name (NAME.ko, and as compressed
by xz, zstd or gzip), a program by its name and the kernel as vmlinux. Of
several -e the one with a trace's build ID is taken, for a frame of a module
NAME.ko, for an address the first that has it. A trace of another build is left
as it is, and the exit status is 2. One that does not say its build, since its
begin line is missing, is left as it is too. A log that is resolved already
stays so.

Traces of others are resolved below their lines: Linux (oops, warning, panic),
LLVM and Fuchsia markup, Go's tracebacks (TamaGo's too), TinyGo's panics,
ESP-IDF's and Zephyr's backtraces, gdb's bt and WinDbg's k, and addresses that
are marked: pc=0x..., rip: 0x..., PC is at, lr : [<...>]; and the reports of
sanitizers, glibc, systemd-coredump, perf script, bpftrace, Rust, cgo, HotSpot,
Android, Chromium, Breakpad, macOS, the BSDs, Haiku, crash, drgn, EDK II and
coreboot. A line that looks like a frame of no known form is counted, and said
at the end; the exit status is 2 then.
Where each system or program runs is learnt from the log (Kernel Offset, mmap
elements, /proc/PID/maps, lists of modules, a name with its address) or given by
-bias. A frame that names a file is one of the -e with that build ID or name.
Most of them carry no build ID: what does not fit the ELF file is left as it is.

What a log collector puts in front of each line does no harm: the kernel's or
syslog's time, journalctl's, docker's or kubectl's names. A trace of Zeroframe
may stand behind any words that stay the same but for their digits.

INPUT may be photos of a screen with a death on it, PNG or JPEG, several, or a
folder of them, in any order: the code beside the text has the whole trace in
it, and where it is more than fits, several codes take turns, a page each. What
a telephone reads of the codes, as a text with a line a code, does as well. The
exit status is 2 if a photo could not be read or a code is missing.

  zf symbolize -e hello.elf photo.jpg
  zf symbolize -e hello.elf photos/

Records that the target sends between its text are taken out; -records keeps
them.

Source is shown (-context) and linked (-links) if it is here: at its path, where
-source says, and for paths that are not absolute (go build -trimpath) in the
current folder and module, in the module cache and in Go's standard library.
Only files with the name of a source file are opened.`

var errNoELF = errors.New("-e ELF is missing: name the image that was running")

// symbolizeFlags are the flags of zf symbolize.
type symbolizeFlags struct {
	elfs                []string // files and folders
	color, format       string
	mapFile, base       string // in the place of elf
	index, debuginfod   string
	bias                string // of other systems' traces, above the first image
	guess               bool
	demangle            bool
	json, force, follow bool
	short               bool
	baud                int
	reconnect           input.Reconnect
	input               string
	inputs              []string // all of them, if they are photos
	view                viewFlags
	records             *records
}

// runSymbolize runs `zf symbolize`. A file that is not there is said first, and alone. Symbols take
// longer to read, so the input is opened next: an error of it must not wait for them.
func runSymbolize(c *call) error {
	var f symbolizeFlags
	if err := f.parse(c); err != nil {
		return err
	}
	ctx := c.interruptible()
	if err := areThere(f.elfs); err != nil {
		return err
	}
	size := f.size(c.stdin)
	if size > 4<<20 { // what is kept is large beside what each piece of the input takes
		defer debug.SetGCPercent(debug.SetGCPercent(30))
	}
	note := func(s string) { c.say("%s", s) }
	in, unread, err := f.open(ctx, c.stdin, note)
	if err != nil {
		return err
	}
	defer in.Close()
	indexes, err := newOpening(ctx, f.debuginfod, &c.streams)
	if err != nil {
		return err
	}
	defer indexes.clean()
	images := f.load(indexes)
	defer images.Close()
	defer indexes.finish()
	opt := f.options(ctx, c, images)
	if err := f.view.apply(&opt, opt.Color && isTerminal(c.stdout)); err != nil {
		return err
	}
	to, few := f.output(c, &opt)
	filter, err := trace.NewFilter(to, opt)
	if err != nil {
		return err
	}
	few.follow(filter)
	seen := &noise{to: filter}
	between := f.records.text(seen, &c.streams)
	decoded := input.Text(in,
		func() { note("the input is UTF-16, as Windows' tools write it; it is shown as UTF-8") })
	both := joined{between, func() error { return errors.Join(between.Cut(), filter.Cut()) }}
	err = cmp.Or(pump(ctx, pieces(size), both, decoded, images.failed()), between.Close(),
		filter.Close(), few.close(), f.records.end())
	if images.wait(ctx); err == nil && ctx.Err() == nil {
		err = images.err
	}
	if err != nil {
		return err
	}
	if size > 0 && ctx.Err() != nil {
		return errInterrupted // and where it is no file, that is how its user ends it
	}
	if f.resolved(filter.Stats(), unread) {
		f.sayNothing(filter.Stats(), seen, c, ctx.Err() != nil)
		return nil
	}
	return status(exitUsage)
}

// open opens the input; unread says that not all of the photos that it is could be read.
func (f *symbolizeFlags) open(ctx context.Context, stdin io.Reader,
	note func(string)) (in io.ReadCloser, unread bool, err error) {
	if f.inputs != nil {
		return readPhotos(f.inputs, note)
	}
	in, err = input.Open(ctx, f.input, input.Options{
		Baud: f.baud, Reconnect: f.reconnect, Follow: f.follow, Stdin: stdin, Note: note,
	})
	return in, false, err
}

// output returns where the filter writes, and with -short what shows deaths as zf run does.
func (f *symbolizeFlags) output(c *call, opt *trace.Options) (io.Writer, *short) {
	if !f.short {
		return f.view.alone(f.format, c.stdout, opt), nil
	}
	m := machine{streams: c.streams, view: f.view}
	m.stderr = c.stdout
	s := m.newShort(c.stdout, c.stdout, false, nil)
	s.options(opt)
	opt.Color, opt.Links = false, ""
	opt.Foreign = false // what Go's runtime prints of the same death
	return io.Discard, s
}

// resolved reports whether all that came was resolved.
func (f *symbolizeFlags) resolved(s trace.Stats, unread bool) bool {
	return !s.Mismatch && !s.MismatchBefore && !unread && s.Left == 0 &&
		(s.Traces+s.Foreign > 0 || s.Lost == 0)
}

// sayNothing says that no trace has come, and why that may be.
func (f *symbolizeFlags) sayNothing(s trace.Stats, seen *noise, c *call, interrupted bool) {
	if s.Traces+s.Foreign > 0 || interrupted || f.records.any() || f.inputs != nil {
		return
	}
	why := "the lines of one begin with zf1, or have a form that `zf help symbolize` names"
	if seen.isNoise() {
		why = fmt.Sprintf("most of what came is no text, as at a wrong speed of the line (-baud is %d)",
			f.baud)
	}
	c.say("no trace found; %s", why)
}

// areThere returns an error if one of the files is not there.
func areThere(files []string) error {
	for _, path := range files {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%w; give the image that `zf build -o FILE` wrote", err)
		}
	}
	return nil
}

// options returns how traces are resolved and shown.
func (f *symbolizeFlags) options(ctx context.Context, c *call, images *loader) trace.Options {
	return trace.Options{
		Images: func() *lookup.Images { // when there is a trace
			im := images.wait(ctx)
			if im != nil {
				images.assumed.WriteTo(c.stderr)
			}
			if im != nil && f.mapFile != "" && !f.force {
				c.say("note: %s is a map, which has no build ID: that the traces come from its program is not checked", f.mapFile)
			}
			return im
		},
		Force: f.force || f.mapFile != "",
		Color: f.color == "always" || f.color == "auto" && wantColor(c.stdout),
		// Who asks for colours in a pipe has a terminal, or a pager, behind it.
		Sanitize: f.color == "always" || isTerminal(c.stdout),
		Log:      c.stderr,
		Idle:     trace.DefaultIdle,
		Foreign:  true,
		Offsets:  f.offsets(),
		Guess:    f.guess,
		Demangle: f.demangle,
		Prefixes: true,
		OnList:   listWaits,
	}
}

// pieces returns in how large pieces an input of that size, 0 if it is not known, is read: a log
// that is there in larger ones than what is live, since what is looked up at once costs less
// (tools/format/trace).
func pieces(size int64) int {
	if size > 0 {
		return int(min(size, 2<<20)) // what trace looks up at once
	}
	return 32 << 10
}

// size returns how many bytes the input has, if it is a file that is whole, or else 0.
func (f *symbolizeFlags) size(stdin io.Reader) int64 {
	info, err := os.Stat(f.input)
	if file, ok := stdin.(*os.File); ok && f.input == "-" {
		info, err = file.Stat()
	}
	if err != nil || !info.Mode().IsRegular() || f.follow {
		return 0
	}
	return info.Size()
}

// offsets returns what looks through the input for where a kernel runs, or nil if the input
// is none that is whole.
func (f *symbolizeFlags) offsets() func() []foreign.KernelOffset {
	if f.input == "-" || f.size(nil) == 0 {
		return nil
	}
	return func() []foreign.KernelOffset {
		log, err := os.Open(f.input)
		if err != nil {
			return nil // it is gone: there is nothing ahead
		}
		defer log.Close()
		all, _ := foreign.KernelOffsets(input.Text(log, nil))
		return all
	}
}

// parse reads the arguments; flags may follow the input's name.
func (f *symbolizeFlags) parse(c *call) error {
	f.debuginfod, f.format, f.color, f.baud = debuginfodAuto, "text", "auto", input.DefaultBaud
	f.records = new(records)
	f.records.flags(c.FlagSet)
	f.view.flags(c.FlagSet)
	c.BoolFunc("reconnect",
		"wait for what is gone, or not there yet, and open it again: a\ndevice, a socket, a pipe (default: only a serial device that is gone;\n-reconnect=false: nothing)", func(s string) error {
			on, err := strconv.ParseBool(s)
			if err != nil {
				return errors.New("true or false is wanted")
			}
			if f.reconnect = input.Never; on {
				f.reconnect = input.Always
			}
			return nil
		})
	inputs, err := c.parseMixed([]option{
		{names(&f.elfs, wantFile), "e", "the `ELF` file that was running, or a folder; may be repeated"},
		{&f.mapFile, "map",
			"instead of -e, a map `FILE` in any format that `zf map -h` names:\nfunctions without lines, and no check of the build"},
		{&f.base, "base", baseUsage},
		{&f.index, "index", indexUsage},
		{&f.debuginfod, "debuginfod", debuginfodUsage},
		{&f.format, "format",
			"what is printed: `FORMAT` is text, or of the traces alone json\n(one object a line), k (the columns of a debugger's k) or markdown\n(for an issue)"},
		{&f.json, "json", "the same as -format=json"},
		{&f.short, "short",
			"show each death in a few lines, as zf run does; traces of other\nsystems are left as they are"},
		{&f.force, "force", "resolve traces of another or an unknown build too"},
		{&f.bias, "bias",
			"how far above its ELF addresses the system of other traces runs:\n`ADDR`, or FUNC+OFFSET=ADDR, where something was; of the first -e\n(default: as the trace tells)"},
		{&f.guess, "guess", "take any number that is an address in the code for one"},
		{&f.demangle, "C", "show the names of C++ and Rust as in the source"},
		{&f.color, "color",
			"colour the output: `WHEN` is auto, never, or always, as for\na terminal: control characters are made visible too"},
		{&f.follow, "follow", "wait for more at the end of FILE, as tail -F does"},
		{&f.follow, "f", "the same as -follow"},
		{&f.baud, "baud", "speed of a serial DEVICE: `RATE` in bits a second"},
	})
	if err != nil {
		return err
	}
	return f.check(c, inputs)
}

// check takes the inputs, and returns what is wrong with the command line, if anything is.
func (f *symbolizeFlags) check(c *call, inputs []string) error {
	f.input = "-"
	if len(inputs) > 0 {
		f.input = inputs[0]
	}
	photos := slices.ContainsFunc(inputs, isPhoto)
	switch {
	case photos && lean:
		return c.handOver()
	case photos:
		f.inputs = inputs
	}
	if f.json && f.format == "text" {
		f.format = "json"
	}
	switch {
	case len(f.elfs) > 0 && f.mapFile != "":
		return c.wrong("-e and -map: give one of them")
	case f.base != "" && f.mapFile == "":
		return c.wrong("-base is for -map")
	case len(f.elfs) == 0 && f.mapFile == "" && !f.hasServers():
		return c.wrong("%w", errNoELF)
	case !slices.Contains(formats, f.format):
		return c.wrong("-format is %s, not %q", formatList(), f.format)
	case f.short && f.format != "text":
		return c.wrong("-short shows text, and -format=%s does not", f.format)
	case f.json && f.format != "json":
		return c.wrong("-json and -format=%s ask for two things at once", f.format)
	case len(inputs) > 1 && !photos:
		return c.wrong("one input at a time, not %d", len(inputs))
	case f.color != "auto" && f.color != "always" && f.color != "never":
		return c.wrong("-color is auto, always or never, not %q", f.color)
	case f.baud <= 0:
		return c.wrong("-baud %d is no speed", f.baud)
	case f.follow && f.input == "-":
		return c.wrong("-follow needs the name of a file; a pipe is followed anyway")
	}
	return nil
}

// hasServers reports whether images can come from debuginfod servers alone.
func (f *symbolizeFlags) hasServers() bool {
	return f.debuginfod == debuginfodAuto && strings.TrimSpace(os.Getenv(buildid.URLsEnv)) != ""
}

// grace is how long an interrupt waits for what is already under way: in a
// pipeline it reaches the writer too, whose last words are worth having.
const grace = 100 * time.Millisecond

// A sink takes an input that may break off and begin anew.
type sink interface {
	io.Writer
	Cut() error
}

// joined is a sink of a writer, and of what the input's break means for all behind it.
type joined struct {
	io.Writer
	cut func() error
}

func (j joined) Cut() error { return j.cut() }

// pump sends the input to a sink, in pieces of a size, until one of them or ctx ends, or failed
// brings an error.
func pump(ctx context.Context, size int, to sink, in io.Reader, failed <-chan error) error {
	done := make(chan error, 1)
	go func() { done <- copyInput(size, to, in) }()
	select {
	case err := <-done:
		return err
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return nil
	}
}

// copyInput copies in pieces of a size.
func copyInput(size int, to sink, in io.Reader) error {
	buf := make([]byte, size)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		}
		switch {
		case err == io.EOF, n == 0 && err == nil:
			return nil
		case errors.Is(err, input.ErrCut):
			if err := to.Cut(); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		case err != nil:
			return fmt.Errorf("input: %w", err)
		}
	}
}
