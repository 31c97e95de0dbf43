package main

// `zf run` is one pipeline: image -> machine -> trace filter -> terminal. Its exit
// status says how the program ended, and only the program's own word, passed on by
// the kernel, is ever a success: whatever else ends a machine is status 3.

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	elf, info, cleanup, err := f.image(ctx, stderr)
	if err != nil {
		return buildFailed("run", err, stderr)
	}
	defer cleanup()
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
	fs.DurationVar(&f.machine.Timeout, "timeout", 0, "end the machine after `TIME`, such as 5s, with a trace of where it is (0: never)")
	f.machine.MemoryMiB = 128
	fs.Func("m", "RAM `SIZE` in MiB, or with a suffix, M or G (default 128)", func(s string) (err error) {
		f.machine.MemoryMiB, err = memorySize(s)
		return err
	})
	fs.StringVar(&f.json, "json", "", "write traces as JSON lines to `FILE`; - is standard output, and serial output then goes to standard error")
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
	serial, jsonOut := stdout, io.Writer(nil)
	switch f.json {
	case "":
	case "-":
		serial, jsonOut = stderr, stdout
	default:
		file, err := os.Create(f.json)
		if err != nil {
			fmt.Fprintf(stderr, "zf run: -json: %v\n", err)
			return exitUsage
		}
		defer file.Close()
		jsonOut = file
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
	stderr = con.output(stderr)
	filter, err := trace.NewFilter(con.output(serial), trace.Options{
		Symbols:  sym,
		Force:    f.force,
		Color:    wantColor(serial),
		Sanitize: isTerminal(serial),
		JSON:     jsonOut,
		Log:      stderr,
		Idle:     trace.DefaultIdle,
	})
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
	halted := f.attend(vm, filter, quit)
	res, err := vm.Wait()
	if cerr := filter.Close(); err == nil && cerr != nil {
		err = cerr
	}
	if len(f.machine.Extra) > 0 && !errors.Is(err, qemu.ErrQEMU) {
		// Whoever gives QEMU arguments may have asked it to say something.
		io.WriteString(stderr, res.Stderr)
	}
	code, msg := verdict(ctx, res, err, filter.Stats(), halted)
	if code == exitMachine && res.Registers != "" {
		msg += where(sym, res.RIP)
	}
	if filter.Stats().Mismatch && !f.force {
		code = exitUsage
	}
	if msg != "" {
		fmt.Fprintf(stderr, "zf run: %s\n", msg)
	}
	return code
}

// attend looks after a machine until it ends: it passes on the user's ^\, and ends
// a machine that has halted for good after a fatal trace, unless a debugger may
// want to look at it. It reports whether it did the latter.
func (f *runFlags) attend(vm *qemu.VM, filter *trace.Filter, quit <-chan os.Signal) (halted bool) {
	debugged := strings.Contains(" "+strings.Join(f.machine.Extra, " ")+" ", " -s ") ||
		strings.Contains(strings.Join(f.machine.Extra, " "), "-gdb")
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	seen := 0
	for {
		select {
		case <-vm.Done():
			return halted
		case <-quit:
			vm.InjectNMI()
		case <-tick.C:
			if debugged || filter.Stats().Fatal == 0 {
				continue
			}
			// Twice in a row: between an NMI's handler and the next HLT
			// a living machine can look the same.
			if h, err := vm.Halted(); err != nil || !h {
				seen = 0
			} else if seen++; seen == 2 {
				halted = true
				vm.Kill()
			}
		}
	}
}

// verdict turns the end of a machine into an exit status and a message, which is
// "" if there is nothing to say that was not on the serial port.
func verdict(ctx context.Context, res qemu.Result, err error, stats trace.Stats, halted bool) (int, string) {
	switch {
	case err == nil && res.Outcome == qemu.Traced:
		return exitTrace, ""
	case err == nil && res.Outcome == qemu.Exited && res.Program == 0:
		return exitOK, ""
	case err == nil && res.Outcome == qemu.Exited:
		return exitProgram + res.Program, fmt.Sprintf("the program exited with status %d", res.Program)
	case halted:
		return exitTrace, "the machine halted after the trace"
	case errors.Is(err, qemu.ErrReset) && stats.Fatal > 0:
		return exitTrace, "the machine reset after the trace"
	case errors.Is(err, qemu.ErrPowerOff) && stats.Fatal > 0:
		return exitTrace, "the machine powered off after the trace"
	case errors.Is(err, qemu.ErrReset):
		return exitMachine, fmt.Sprintf("%v, without a trace; `-qemu -d -qemu int` shows the exceptions before it", err)
	case errors.Is(err, qemu.ErrTimeout):
		hint := "nothing came in answer to an NMI; `-qemu -s` lets gdb look"
		if stats.Traces > 0 {
			hint = "the trace above says where it was"
		}
		return exitMachine, fmt.Sprintf("%v; %s", err, hint)
	}
	return exitMachine, interrupted(ctx, err)
}

// interrupted is the message for an error that the user's ^C may be the cause of.
func interrupted(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	return fmt.Sprint(err)
}

// where says which function an address is in, for the end of a message.
func where(sym *symbol.File, addr uint64) string {
	frames := sym.Lookup(addr, false)
	if len(frames) == 0 {
		return ""
	}
	return fmt.Sprintf("; rip is in %s at %s:%d", frames[0].Function, frames[0].File, frames[0].Line)
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
