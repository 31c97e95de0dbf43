package main

// `zf run` is one pipeline: image -> machine -> trace filter -> terminal. Its exit
// status says how the program ended, and only the program's own word, passed on by
// the kernel, is ever a success: whatever else ends a machine is status 3.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
)

const runText = `Run boots a main package, or an image made by zf build, in QEMU. The serial port
is connected to the terminal, and traces are resolved as they come.

ARGS are the program's arguments (os.Args[1:]): they are appended to the kernel
command line behind " -- ", in double quotes where they need it.

^C ends the machine. ^\ sends it an NMI, so that it says where it is.

Exit status: 0 the program exited 0; 1 it ended in a trace; 2 wrong usage or a
failed build; 3 the machine failed (timeout, triple fault, QEMU missing);
otherwise the program's own status + 64.`

// runFlags is what the command line of `zf run` says.
type runFlags struct {
	build     image.BuildOptions
	machine   qemu.Config
	append    string
	json      string
	force     bool
	target    string
	arguments []string
}

// runRun runs `zf run`.
func runRun(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var f runFlags
	if code, ok := f.parse(args, stderr); !ok {
		return code
	}
	// A closed pipe behind us is an error of a write, after which the machine
	// is ended, not the end of this process with a machine left behind.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()

	// While it builds, ^\ is another ^C. boot() gives it its own meaning.
	building, stopBuilding := signal.NotifyContext(ctx, syscall.SIGQUIT)
	defer stopBuilding()
	elf, info, cleanup, err := f.image(building, stderr)
	if err != nil {
		return buildFailed("run", err, stderr)
	}
	defer cleanup()
	for _, path := range []string{elf, f.target} {
		if f.json != "" && f.json != "-" && samePath(f.json, path) {
			fmt.Fprintf(stderr, "zf run: -json %s would overwrite %s\n", f.json, path)
			return exitUsage
		}
	}
	if need := info.MinRAM() >> 20; uint64(f.machine.MemoryMiB) < need {
		fmt.Fprintf(stderr, "zf run: too small RAM size: %s ends at %d KiB and needs %d MiB, the machine has %d; give it -m %d or more\n",
			f.target, info.End>>10, need, f.machine.MemoryMiB, need)
		return exitUsage
	}
	sym, err := symbol.Open(elf)
	if err != nil {
		fmt.Fprintf(stderr, "zf run: %v\n", err)
		return exitUsage
	}
	defer sym.Close()

	f.machine.Kernel = elf
	f.machine.Append = kernelCommandLine(f.append, f.arguments)
	return f.boot(ctx, info, sym, stdin, stdout, stderr)
}

// parse reads the command line. If there is nothing more to do, ok is false and
// code is the exit status.
func (f *runFlags) parse(args []string, stderr io.Writer) (code int, ok bool) {
	f.build.Stderr = stderr
	fs := newFlags("run", "[flags] PKG|ELF [-- ARGS]", runText, stderr)
	fs.StringVar(&f.append, "append", "", "kernel command `LINE`")
	fs.Func("timeout", "end the machine after `TIME`, such as 5s, with a trace of where it\nis (default 0: never)", func(s string) (err error) {
		if f.machine.Timeout, err = time.ParseDuration(s); err != nil {
			return errors.New("want a duration such as 3s")
		}
		return nil
	})
	f.machine.MemoryMiB = 128
	fs.Func("m", "RAM `SIZE` in MiB, or with a suffix, M or G (default 128)", func(s string) (err error) {
		f.machine.MemoryMiB, err = memorySize(s)
		return err
	})
	fs.StringVar(&f.json, "json", "", "write traces as JSON lines to `FILE`; - is standard output, and serial\noutput then goes to standard error")
	fs.BoolVar(&f.force, "force", false, "resolve traces that come from another build, too")
	fs.Func("qemu", "pass `ARG` to QEMU; may be given many times", func(s string) error {
		f.machine.Extra = append(f.machine.Extra, s)
		return nil
	})
	fs.StringVar(&f.machine.Machine, "machine", "q35", "QEMU machine `TYPE`: q35, pc, microvm")
	fs.StringVar(&f.machine.CPU, "cpu", "", "QEMU processor `MODEL` (default: QEMU's own)")
	buildFlags(fs, &f.build)
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	rest := fs.Args()
	switch {
	case len(rest) == 0:
		fmt.Fprintln(stderr, "zf run: want a main package or an image; `zf help run` says more")
		return exitUsage, false
	case len(rest) > 1 && rest[1] != "--":
		fmt.Fprintf(stderr, "zf run: unexpected %q behind %s; flags go before it, the program's arguments behind --\n", rest[1], rest[0])
		return exitUsage, false
	case f.machine.Timeout < 0:
		fmt.Fprintf(stderr, "zf run: -timeout %v is negative; 0 means none\n", f.machine.Timeout)
		return exitUsage, false
	}
	f.target = rest[0]
	if len(rest) > 1 {
		f.arguments = rest[2:]
	}
	return 0, true
}

// image returns the path of the image to boot, built first if the target is a
// package, and a function that removes it if it was built here.
func (f *runFlags) image(ctx context.Context, stderr io.Writer) (path string, info *image.Info, cleanup func(), err error) {
	if fi, err := os.Stat(f.target); err == nil && fi.Mode().IsRegular() && filepath.Ext(f.target) != ".go" {
		info, err := image.InspectFile(f.target)
		if err != nil {
			return "", nil, nil, fmt.Errorf("%w; boot a package, or what `zf build` wrote", err)
		}
		if info.Loaders == 0 {
			return "", nil, nil, fmt.Errorf("%s has no boot header; make an image with `zf build`", f.target)
		}
		return f.target, info, func() {}, nil
	}
	tmp, err := os.MkdirTemp("", "zf-run-")
	if err != nil {
		return "", nil, nil, err
	}
	cleanup = func() { os.RemoveAll(tmp) }
	f.build.Package = f.target
	f.build.Output = tmp
	b, err := image.Build(ctx, f.build)
	if err != nil {
		cleanup()
		return "", nil, nil, err
	}
	return b.Path, &b.Info, cleanup, nil
}

// boot runs the machine and returns the exit status of its end.
func (f *runFlags) boot(ctx context.Context, info *image.Info, sym *symbol.File, stdin io.Reader, stdout, stderr io.Writer) int {
	serial, record := stdout, &recorder{}
	switch f.json {
	case "":
	case "-":
		serial, record = stderr, &recorder{w: stdout, name: "standard output"}
	default:
		file, err := os.Create(f.json)
		if err != nil {
			fmt.Fprintf(stderr, "zf run: -json: %v\n", err)
			return exitUsage
		}
		record = &recorder{w: file, name: f.json}
		defer file.Close() // for the errors below; the end closes it itself
	}
	with := ""
	if f.machine.Append != "" {
		with = ", with " + f.machine.Append
	}
	fmt.Fprintf(stderr, "zf run: booting %s on %s, %d MiB%s\n",
		filepath.Base(f.machine.Kernel), f.machine.Machine, f.machine.MemoryMiB, with)

	con, err := openConsole(stdin)
	if err != nil {
		fmt.Fprintf(stderr, "zf run: terminal: %v\n", err)
		return exitMachine
	}
	defer con.restore()
	var last *trace.Trace // that was fatal
	opt := trace.Options{
		Symbols:  sym,
		Force:    f.force,
		Color:    wantColor(serial),
		Sanitize: isTerminal(serial),
		Log:      stderr,
		Idle:     trace.DefaultIdle,
		OnTrace: func(t *trace.Trace) {
			if t.Fatal() {
				last = t
			}
		},
	}
	if record.w != nil {
		opt.JSON = record
	}
	filter, err := trace.NewFilter(serial, opt)
	if err != nil {
		fmt.Fprintf(stderr, "zf run: %v\n", err)
		return exitMachine
	}

	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	con.interrupt = interrupt
	f.machine.Stdin, f.machine.Stdout = con, filter
	// QEMU inherits that ^\ does not end it; for us it means an NMI.
	signal.Ignore(syscall.SIGQUIT)
	vm, err := qemu.Start(ctx, f.machine)
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	defer signal.Stop(quit)
	if err != nil {
		filter.Close()
		fmt.Fprintf(stderr, "zf run: %s\n", interrupted(ctx, err))
		return exitMachine
	}
	con.start(func() { vm.InjectNMI() })
	stuck := f.attend(vm, filter, quit)
	res, err := vm.Wait()
	if cerr := filter.Close(); err == nil && cerr != nil {
		err = cerr
	}
	if len(f.machine.Extra) > 0 && !errors.Is(err, qemu.ErrQEMU) {
		// Whoever gives QEMU arguments may have asked it to say something.
		io.WriteString(stderr, res.Stderr)
	}
	code, msg := verdict(ctx, res, err, filter.Stats(), stuck)
	if code == exitMachine && res.Registers != "" {
		msg += where(sym, res.RIP)
	}
	if filter.Stats().Mismatch && !f.force {
		code = exitUsage
	}
	if msg != "" {
		fmt.Fprintf(stderr, "zf run: %s\n", msg)
	}
	if last != nil {
		dir, _ := os.Getwd() // without it, paths are absolute
		io.WriteString(stderr, summary(last, dir))
	}
	if err := record.close(); err != nil {
		fmt.Fprintf(stderr, "zf run: -json: traces are missing from %s: %v\n", record.name, err)
		// What was asked for is not there, which must not look like success.
		if code == exitOK {
			code = exitUsage
		}
	}
	return code
}

// recorder takes the traces as JSON. An error stops it alone, not the machine, whose
// text goes on; the end of the command tells.
type recorder struct {
	w    io.Writer // nil: none
	name string
	err  error // the first one
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.err == nil {
		_, r.err = r.w.Write(p)
	}
	return len(p), nil
}

// close closes a file, which may be where a full disk is noticed, and returns the
// first error. The standard output is left open.
func (r *recorder) close() error {
	if file, ok := r.w.(*os.File); ok && file != os.Stdout {
		if err := file.Close(); r.err == nil {
			r.err = err
		}
	}
	var path *fs.PathError
	if errors.As(r.err, &path) { // its name is said already
		return path.Err
	}
	return r.err
}

// samePath reports whether both names are of one file that exists.
func samePath(a, b string) bool {
	fa, err := os.Stat(a)
	if err != nil {
		return false
	}
	fb, err := os.Stat(b)
	return err == nil && os.SameFile(fa, fb)
}

// stuck says that a machine halted for good and had to be ended.
type stuck int

const (
	notStuck   stuck = iota
	afterTrace       // as it does with panic=halt, or without a debug-exit device
	untold           // without a trace: the boot code refused the machine
)

// How often attend looks at a machine, and how many times in a row it must be
// halted: twice after a trace, since between an NMI's handler and the next HLT a
// living machine can look the same, and for a second where no trace says it died.
const (
	lookInterval   = 250 * time.Millisecond
	looksAfterDead = 2
	looksUntold    = 5
)

// attend looks after a machine until it ends: it passes on the user's ^\, and ends
// a machine that has halted for good, unless a debugger may want to look at it. It
// reports whether and why it did the latter.
func (f *runFlags) attend(vm *qemu.VM, filter *trace.Filter, quit <-chan os.Signal) (why stuck) {
	debugged := strings.Contains(" "+strings.Join(f.machine.Extra, " ")+" ", " -s ") ||
		strings.Contains(strings.Join(f.machine.Extra, " "), "-gdb")
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	seen := 0
	for {
		select {
		case <-vm.Done():
			return why
		case <-quit:
			vm.InjectNMI()
		case <-tick.C:
			if debugged || why != notStuck {
				continue
			}
			// Halted with interrupts off, only an NMI could wake it.
			if h, err := vm.Halted(); err != nil || !h {
				seen = 0
				continue
			}
			seen++
			switch dead := filter.Stats().Fatal > 0; {
			case dead && seen >= looksAfterDead:
				why = afterTrace
				vm.Kill()
			case !dead && seen >= looksUntold:
				why = untold
				vm.Kill()
			}
		}
	}
}

// kernelCommandLine joins the kernel's words and the program's arguments. An
// argument that is empty or holds space, quotes or backslashes is put in double
// quotes, with a backslash before each quote and backslash in it.
func kernelCommandLine(line string, args []string) string {
	if len(args) == 0 {
		return line
	}
	var b strings.Builder
	b.WriteString(line)
	if line != "" {
		b.WriteByte(' ')
	}
	b.WriteString("--")
	for _, a := range args {
		b.WriteByte(' ')
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\") {
			a = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a) + `"`
		}
		b.WriteString(a)
	}
	return b.String()
}

// memorySize reads a size of RAM in MiB, with an optional suffix M, MiB, G or GiB.
func memorySize(s string) (int, error) {
	num, unit := strings.ToUpper(s), 1
	num = strings.TrimSuffix(strings.TrimSuffix(num, "IB"), "B")
	switch {
	case strings.HasSuffix(num, "M"):
		num = num[:len(num)-1]
	case strings.HasSuffix(num, "G"):
		num, unit = num[:len(num)-1], 1024
	}
	n, err := strconv.ParseUint(num, 10, 20)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("want a size in MiB such as 128, 128M or 1G")
	}
	return int(n) * unit, nil
}
