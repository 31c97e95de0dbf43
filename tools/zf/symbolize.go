package main

// `zf symbolize` is tools/trace on a command line: it chooses where bytes come
// from (a file, a log that grows, a serial device, standard input) and where
// the result goes. It ends at the end of its input or at an interrupt, and in
// either case says all that it has.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.bug.st/serial"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
)

const symbolizeText = `Symbolize passes text through and resolves the traces in it: function, file and
line of each address. FILE is a log; a serial DEVICE is read live; without
either, or with "-", standard input is read.

  zf symbolize -e hello.elf serial.log
  zf symbolize -e hello.elf -follow serial.log
  zf symbolize -e hello.elf -baud 115200 /dev/ttyUSB0
  some-emulator | zf symbolize -e hello.elf

ELF is the image that was running. A trace of another build is left as it is,
and the exit status is 2. One that does not say its build, since its begin line
is missing, is left as it is too. A log that is resolved already stays so.

Traces of others are resolved below their lines: Linux (oops, warning, panic),
LLVM and Fuchsia markup, Go's tracebacks (TamaGo's too), TinyGo's panics,
ESP-IDF's and Zephyr's backtraces, gdb's bt and WinDbg's k, and addresses that
are marked: pc=0x..., rip: 0x..., PC is at, lr : [<...>]. Where each system runs
is learnt from the trace (Kernel Offset, mmap elements, a name with its address)
or is given by -bias. Most of them carry no build ID: what does not fit the ELF
file is left as it is.`

// symbolizeFlags are the flags of zf symbolize.
type symbolizeFlags struct {
	elf, color, format  string
	mapFile, base       string // in the place of elf
	bias                string // of other systems' traces
	guess               bool
	json, force, follow bool
	baud                int
	input               string
}

func runSymbolize(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return symbolize(ctx, args, stdin, stdout, stderr)
}

// symbolize runs until the input ends or ctx does.
func symbolize(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parseSymbolize(args, stdout, stderr)
	if !ok {
		return code
	}
	fail := func(format string, a ...any) int {
		fmt.Fprintf(stderr, "zf symbolize: "+format+"\n", a...)
		return exitUsage
	}
	sym, err := f.symbols()
	if err != nil {
		return fail("%v", err)
	}
	defer sym.Close()
	if f.mapFile != "" && !f.force {
		fmt.Fprintf(stderr, "zf symbolize: note: %s is a map, which has no build ID: that the traces come from its program is not checked\n", f.mapFile)
	}
	in, err := f.open(stdin)
	if err != nil {
		return fail("%v", err)
	}
	defer in.Close()

	opt := trace.Options{
		Symbols: sym,
		Force:   f.force || f.mapFile != "",
		Color:   f.color == "always" || f.color == "auto" && wantColor(stdout),
		// Who asks for colours in a pipe has a terminal, or a pager, behind it.
		Sanitize: f.color == "always" || isTerminal(stdout),
		Log:      stderr,
		Idle:     trace.DefaultIdle,
		Foreign:  f.format == "text",
		Guess:    f.guess,
	}
	if f.bias != "" {
		bias, err := trace.ParseBias(f.bias, sym)
		if err != nil {
			return fail("-bias: %v", err)
		}
		opt.Bias = &bias
	}
	text := stdout
	switch f.format {
	case "json":
		text, opt.JSON = nil, stdout
	case "k":
		text, opt.OnTrace = nil, func(t *trace.Trace) {
			if len(t.Frames) > 0 {
				stdout.Write(t.K())
			}
		}
	}
	filter, err := trace.NewFilter(text, opt)
	if err != nil {
		return fail("%v", err)
	}
	err = pump(ctx, filter, in)
	if cerr := filter.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fail("%v", err)
	}
	stats := filter.Stats()
	if stats.Mismatch {
		return exitUsage
	}
	if stats.Traces+stats.Foreign == 0 && ctx.Err() == nil {
		fmt.Fprintln(stderr, "zf symbolize: no trace found")
	}
	return exitOK
}

// parseSymbolize reads the arguments; flags may follow the input's name.
// Help that was asked for is output; an error is one line.
func parseSymbolize(args []string, stdout, stderr io.Writer) (f symbolizeFlags, code int, ok bool) {
	set := newFlags("symbolize", "-e ELF [flags] [FILE|DEVICE|-]", symbolizeText, stdout)
	usage := set.Usage
	set.Usage = func() {} // not for an error
	set.SetOutput(io.Discard)
	fail := func(wrong string) (symbolizeFlags, int, bool) {
		fmt.Fprintf(stderr, "zf symbolize: %s; `zf symbolize -h` lists the flags\n", wrong)
		return f, exitUsage, false
	}
	set.StringVar(&f.elf, "e", "", "the `ELF` file that was running")
	set.StringVar(&f.mapFile, "map", "", "instead of -e, a map `FILE` in any format that `zf map -h` names:\nfunctions without lines, and no check of the build")
	set.StringVar(&f.base, "base", "", baseUsage)
	set.StringVar(&f.format, "format", "text", "what is printed: `FORMAT` is text, or of the traces alone json\n(one object a line) or k (the columns of a debugger's k)")
	set.BoolVar(&f.json, "json", false, "the same as -format=json")
	set.BoolVar(&f.force, "force", false, "resolve traces of another or an unknown build too")
	set.StringVar(&f.bias, "bias", "", "how far above its ELF addresses the system of other traces runs:\n`ADDR`, or FUNC+OFFSET=ADDR, where something was (default: as the\ntrace tells)")
	set.BoolVar(&f.guess, "guess", false, "take any number that is an address in the code for one")
	set.StringVar(&f.color, "color", "auto", "colour the output: `WHEN` is auto, never, or always, as for\na terminal: control characters are made visible too")
	set.BoolVar(&f.follow, "follow", false, "wait for more at the end of FILE, as tail -F does")
	set.BoolVar(&f.follow, "f", false, "the same as -follow")
	set.IntVar(&f.baud, "baud", 115200, "speed of a serial DEVICE: `RATE` in bits a second")
	var inputs []string
	for {
		switch err := set.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			set.SetOutput(stdout)
			usage()
			return f, exitOK, false
		case err != nil:
			return fail(err.Error())
		}
		if args = set.Args(); len(args) == 0 {
			break
		}
		inputs, args = append(inputs, args[0]), args[1:]
	}
	f.input = "-"
	if len(inputs) > 0 {
		f.input = inputs[0]
	}
	if f.json && f.format == "text" {
		f.format = "json"
	}
	var wrong string
	switch {
	case f.elf != "" && f.mapFile != "":
		wrong = "-e and -map: give one of them"
	case f.base != "" && f.mapFile == "":
		wrong = "-base is for -map"
	case f.elf == "" && f.mapFile == "":
		wrong = "-e ELF is missing: name the image that was running"
	case f.format != "text" && f.format != "json" && f.format != "k":
		wrong = fmt.Sprintf("-format is text, json or k, not %q", f.format)
	case f.json && f.format == "k":
		wrong = "-json and -format=k ask for two things at once"
	case len(inputs) > 1:
		wrong = fmt.Sprintf("one input at a time, not %d", len(inputs))
	case f.color != "auto" && f.color != "always" && f.color != "never":
		wrong = fmt.Sprintf("-color is auto, always or never, not %q", f.color)
	case (f.guess || f.bias != "") && f.format != "text":
		wrong = "-guess and -bias are for the traces of others, which -format=text has alone"
	case f.baud <= 0:
		wrong = fmt.Sprintf("-baud %d is no speed", f.baud)
	case f.follow && f.input == "-":
		wrong = "-follow needs the name of a file; a pipe is followed anyway"
	default:
		return f, exitOK, true
	}
	return fail(wrong)
}

// resolver is what traces are resolved with.
type resolver interface {
	trace.Resolver
	io.Closer
}

// symbols opens the ELF file or the map.
func (f *symbolizeFlags) symbols() (resolver, error) {
	if f.mapFile == "" {
		return openSymbols(f.elf)
	}
	return openMap(f.mapFile, f.base)
}

// openSymbols opens an ELF file that can resolve something.
func openSymbols(path string) (*symbol.File, error) {
	sym, err := symbol.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; give the image that `zf build -o FILE` wrote", err)
	case err != nil:
		return nil, err
	}
	if err := sym.CanResolve(); err != nil && !sym.FindsFunctions() {
		sym.Close()
		return nil, fmt.Errorf("%w; give the image as it was built", err)
	}
	return sym, nil
}

// open opens the input.
func (f *symbolizeFlags) open(stdin io.Reader) (io.ReadCloser, error) {
	if f.input == "-" {
		return io.NopCloser(stdin), nil
	}
	info, err := os.Stat(f.input)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give a log or a serial device", f.input)
	case info.Mode()&os.ModeCharDevice != 0 && !sameAsInput(info, stdin):
		return f.openDevice()
	case f.follow:
		return trace.Follow(f.input)
	}
	return os.Open(f.input)
}

// sameAsInput reports whether the file is the one that r reads: /dev/stdin is a
// device, but our own terminal's settings are not ours to change.
func sameAsInput(info fs.FileInfo, r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	own, err := file.Stat()
	return err == nil && os.SameFile(own, info)
}

// openDevice opens a serial line, raw, 8 bits, no parity, one stop bit.
func (f *symbolizeFlags) openDevice() (io.ReadCloser, error) {
	port, err := serial.Open(f.input, &serial.Mode{BaudRate: f.baud})
	var pe *serial.PortError
	switch {
	case err == nil:
		return port, nil
	case errors.As(err, &pe) && pe.Code() == serial.InvalidSerialPort:
		return os.Open(f.input) // another character device, such as /dev/null
	case errors.As(err, &pe) && pe.Code() == serial.PermissionDenied:
		return nil, fmt.Errorf("%s: %w; your user may have to be in the group dialout", f.input, err)
	case errors.As(err, &pe) && pe.Code() == serial.PortBusy:
		return nil, fmt.Errorf("%s: %w; another program has it open", f.input, err)
	}
	return nil, fmt.Errorf("%s: %w", f.input, err)
}

// grace is how long an interrupt waits for what is already under way: in a
// pipeline it reaches the writer too, whose last words are worth having.
const grace = 100 * time.Millisecond

// pump sends the input through the filter, until one of them or ctx ends.
func pump(ctx context.Context, filter *trace.Filter, in io.Reader) error {
	done := make(chan error, 1)
	go func() { done <- copyInput(filter, in) }()
	select {
	case err := <-done:
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

func copyInput(filter *trace.Filter, in io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if _, err := filter.Write(buf[:n]); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		}
		switch {
		case err == io.EOF, gone(err), n == 0 && err == nil:
			return nil
		case err != nil:
			return fmt.Errorf("input: %w", err)
		}
	}
}

// gone reports whether the error says that the other end of a serial line, or
// the line itself, is there no more. For a machine's console that is the end.
func gone(err error) bool {
	var pe *serial.PortError
	return errors.Is(err, syscall.EIO) || errors.As(err, &pe) && pe.Code() == serial.PortClosed
}
