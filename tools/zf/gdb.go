//go:build !lean

package main

// `zf gdb`: a machine that waits, and gdb on it. gdb gets the terminal, and with it
// the keys that send signals; the machine's serial port goes elsewhere.

import (
	"cmp"
	"context"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

const gdbText = `Gdb boots a main package, or an image made by zf build, in QEMU, which stops
before its first instruction, and runs gdb on it: with the image's symbols, with
an unwinder that leads over traps and system calls, and with

  zf-trace        the stack by its frame pointers, as the kernel's traces are
  zf-stacks       the kernel's stacks and how much of each has been used
  zf-goroutines   the program's goroutines and where each goes on

So: break main.main, continue, zf-trace. ^C stops the machine. The program's
standard input is empty. What it says, with traces resolved, goes to a file that
is named at the start.

bt ends where the next stack is further down in memory, which gdb takes for
damage; zf-trace goes on there.

With -core, or -e ELF and a core file, gdb looks at a core that zf core or
zf run -core made, and no machine starts: zf gdb -e hello.elf hello.core.

With -listen no gdb starts: the machine waits for one at an address, such as an
editor's own. -commands writes the commands above to a file for it.

The environment variable ZF_GDB names another gdb; it needs Python. Exit status:
0; 1 gdb ended with an error; 2 wrong usage or a failed build; 3 no gdb there,
or no machine.`

// gdbFlags is what the command line of `zf gdb` says.
type gdbFlags struct {
	runFlags
	gdb    []string // further arguments for gdb
	serial string
	live   bool // Delve is the debugger, on this machine
	noPort bool // this QEMU has no port for the program's text
	died   *ending
	core   string
	elf    string // the image of a core

	listen   string // address for another gdb
	commands string // file for gdb's commands
}

//go:embed gdb.py
var gdbCommands string

// gdbScript returns the commands with the constants that they need.
func gdbScript() string {
	return fmt.Sprintf("MODULE = %q\nTRAP_MARK = %#x\nSIGNATURE = %#x\nVECTOR_CALL = %d\n",
		"github.com/zeroframe/zeroframe/", uint64(tracer.TrapMark), uint64(tracer.Signature),
		tracer.VectorCall) + gdbCommands
}

// runGDB runs `zf gdb`.
func runGDB(c *call) error {
	f := gdbFlags{runFlags: runFlags{machine: machine{streams: c.streams}}}
	if err := f.parse(c); err != nil {
		return err
	}
	gdb := ""
	if f.listen == "" {
		var err error
		if gdb, err = findGDB(); err != nil {
			return failure{err, exitMachine}
		}
	}
	if f.commands != "" {
		if err := whole.WriteFile(f.commands, []byte(gdbScript()), 0o644); err != nil {
			return fmt.Errorf("-commands: %w", err)
		}
	}
	ctx := c.interruptible(syscall.SIGHUP)
	target, info := f.elf, (*image.Info)(nil)
	if target == "" {
		var err error
		if target, info, err = f.image(ctx, c); err != nil {
			return notBuilt(err)
		}
	} else if err := inspect.Check(f.core, target); err != nil && !f.force {
		return err
	}
	return f.debug(ctx, c, gdb, target, info)
}

// debug runs gdb on the core, or on the machine.
func (f *gdbFlags) debug(ctx context.Context, c *call, gdb, target string, info *image.Info) error {
	tmp, err := qemu.PlainFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	script := filepath.Join(tmp, "commands.py")
	if err := os.WriteFile(script, []byte(gdbScript()), 0o600); err != nil {
		return err
	}
	cmd := []string{"-q", "-iex", "set confirm off"}
	if path, ok := runtimeScript(target); ok {
		cmd = append(cmd, "-iex", "add-auto-load-safe-path "+path)
	}
	cmd = append(cmd, "-x", script)
	if f.core != "" {
		cmd = append(cmd, target, f.core)
		return c.onTerminal(ctx, gdb, append(cmd, f.gdb...))
	}

	socket := filepath.Join(tmp, "stub")
	stub := "unix:" + strings.ReplaceAll(socket, ",", ",,")
	if f.listen != "" {
		stub = "tcp:" + f.listen
	}
	vm, end, err := f.start(ctx, target, info, tmp, stub)
	if err != nil {
		return err
	}
	defer end()
	if f.listen != "" {
		c.say("the machine waits for a debugger on %s", f.listen)
		// ^C is how a user ends it
		if err := f.sayEnd(vm); err != nil && !errors.Is(err, context.Canceled) {
			return failure{err, exitMachine}
		}
		return nil
	}
	cmd = append(cmd, "-ex", "target remote "+socket, target)
	err = c.onTerminal(ctx, gdb, append(cmd, f.gdb...))
	vm.Kill()
	f.sayEnd(vm)
	return err
}

// sayEnd waits for the machine's end, and says how the kernel has ended it, if it has.
func (f *gdbFlags) sayEnd(vm *qemu.VM) error {
	res, err := vm.Wait()
	switch {
	case err != nil:
	case res.Outcome == qemu.Traced:
		f.say("the program ended in a trace")
	default:
		f.say("the program exited with status %d", res.Program)
	}
	return err
}

// parse reads the command line.
func (f *gdbFlags) parse(c *call) error {
	f.debuggedFlags(c)
	if err := c.parse([]option{
		{&f.gdb, "gdb",
			"pass `ARG` to gdb, such as -gdb -ex -gdb 'break main.main'; may be\ngiven many times"},
		{&f.serial, "serial",
			"write what the machine sends to `FILE`; - is the terminal\n(default: a new file)"},
		{&f.listen, "listen",
			"start no gdb; the machine waits for one at `ADDR`, such as 127.0.0.1:1234,\nand what it sends comes to the terminal unless there is -serial"},
		{&f.commands, "commands", "write zf-trace and the other commands to `FILE`, for gdb's source"},
		{&f.elf, "e", "the `ELF` file that was running, where a core is what is looked at"},
		{&f.core, "core", "look at the core `FILE` that zf core made of the image's trace"},
		{&f.force, "force", "resolve traces that come from another build, too"},
	}); err != nil {
		return err
	}
	if err := f.parseTarget(c); err != nil {
		return err
	}
	if err := wrongListen(f.listen, "127.0.0.1:1234"); err != nil {
		return err
	}
	isCore := inspect.IsCore(f.target)
	if isCore && f.elf == "" {
		f.elf = besideCore(f.target)
	}
	switch {
	case isCore && f.elf == "":
		return fmt.Errorf("%s is a core file: give -e ELF, the image that was running, too", f.target)
	case isCore:
		f.core, f.target = f.target, f.elf
	case f.elf != "":
		return fmt.Errorf("-e goes with a core file, and %s is none", f.target)
	}
	if f.listen != "" && f.serial == "" {
		f.serial = "-"
	}
	return f.settleAccel()
}

// debuggedFlags adds the flags of a machine that a debugger is to look at.
func (f *runFlags) debuggedFlags(c *call) {
	f.build.Stderr = c.stderr
	f.machine.flags(c.FlagSet, 128, 1)
	f.machine.cpuFlag(c.FlagSet)
	f.files.flags(c.FlagSet)
	buildFlags(c.FlagSet, &f.build)
}

// settleAccel has tcg run a machine that a debugger is to look at, unless -accel says otherwise:
// its breakpoints hold from the first instruction on.
func (m *machine) settleAccel() error {
	err := m.wrongAccel()
	m.accel = cmp.Or(m.accel, "tcg")
	return err
}

// wrongListen returns what is wrong with the value of a flag -listen, if anything is.
func wrongListen(address, example string) error {
	if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
		return fmt.Errorf("-listen %s is no address; want one such as %s", address, example)
	}
	return nil
}

// start starts the machine, which waits for gdb on stub, a character device of QEMU's. end is
// called when it has ended.
func (f *gdbFlags) start(ctx context.Context, target string, info *image.Info, tmp,
	stub string) (vm *qemu.VM, end func(), err error) {
	var open []io.Closer
	end = func() {
		for _, c := range slices.Backward(open) {
			c.Close()
		}
	}
	fail := func(code int, err error) (*qemu.VM, func(), error) {
		end()
		return nil, nil, failure{err, code}
	}
	if err := f.chooseAccel(ctx); err != nil {
		return fail(exitMachine, err)
	}
	sym, err := symbol.Open(target)
	if err != nil {
		return fail(exitUsage, err)
	}
	open = append(open, sym)
	if err := f.load(target, info, sym, tmp); err != nil {
		return fail(exitUsage, err)
	}
	serial := f.stdout
	file, err := f.openSerial()
	if err != nil {
		return fail(exitUsage, fmt.Errorf("-serial: %w", err))
	}
	if file != nil {
		serial, open = file, append(open, file)
		f.say("what the machine sends is in %s", file.Name())
	}
	_, own := lastOption(f.append, "console")
	f.qemu.Port = f.live && !own && !f.noPort
	sent, err := f.takes(serial, file == nil, sym)
	if err != nil {
		return fail(exitMachine, err)
	}
	open = append(open, sent)
	con, err := openConsole(nil, true) // nothing, and its end
	if err != nil {
		return fail(exitMachine, err)
	}
	f.connect(con, sent, stub)
	options := kernelOption("arg0", strings.TrimSuffix(filepath.Base(target), ".elf")) + " tty=pipe"
	if f.qemu.Port {
		options += " console=virtio"
	}
	f.qemu.Append = kernelCommandLine(strings.TrimSpace(options+" "+f.append), f.arguments)
	vm, err = qemu.Start(ctx, f.qemu)
	if errors.Is(err, qemu.ErrPort) {
		end()
		f.noPort = true
		return f.start(ctx, target, info, tmp, stub)
	}
	if err != nil {
		return fail(exitMachine, err)
	}
	return vm, end, nil
}

// takes returns what takes all that the machine says, and shows it by serial: under Delve a death
// in a few lines, as zf run does.
func (f *gdbFlags) takes(serial io.Writer, ours bool, sym *symbol.File) (io.WriteCloser, error) {
	if f.live {
		s, err := f.newScreen(serial, serial, sym, false, true, f.newDeaths(),
			trace.Options{Force: f.force, OnList: listWaits})
		if err == nil && s.short != nil {
			f.died = &s.short.died
		}
		return liveScreen{s}, err
	}
	return trace.NewFilter(serial, trace.Options{
		Symbols: sym, Force: f.force, Log: f.stderr, Idle: trace.DefaultIdle,
		Sanitize: ours && isTerminal(f.stdout),
	})
}

// openSerial opens the file for what the machine sends; nil: it goes to standard output.
func (f *gdbFlags) openSerial() (*os.File, error) {
	switch f.serial {
	case "-":
		return nil, nil
	case "":
		return os.CreateTemp("", "zf-gdb-*.log")
	}
	return os.Create(f.serial)
}

// connect has the machine wait for gdb on stub, and send what it says to sent.
func (f *gdbFlags) connect(con *console, sent io.Writer, stub string) {
	f.qemu.GDB = stub + ",server=on,wait=off"
	f.qemu.Paused = true
	f.qemu.Stdin, f.qemu.Stdout = con, noticing{sent, con.listens}
	if s, ok := sent.(liveScreen); ok && f.qemu.Port {
		f.qemu.PortOutput = noticing{s.program, con.listens}
		f.qemu.PortErrors = noticing{s.errors, con.listens}
	}
}

// liveScreen is a screen as a writer.
type liveScreen struct{ *screen }

func (s liveScreen) Write(p []byte) (int, error) { return s.text.Write(p) }
func (s liveScreen) Close() error                { return s.close() }

// onTerminal runs a debugger to its end, with env besides our own environment. On a terminal
// gdb is the foreground process group while it runs: ^C is for it alone, and QEMU, in ours,
// does not end by it.
func (c *call) onTerminal(ctx context.Context, debugger string, args []string,
	env ...string) error {
	cmd := exec.CommandContext(ctx, debugger, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, c.stderr
	// Debian's gdb would ask the network for symbols that the image has itself.
	cmd.Env = append(append(os.Environ(), "DEBUGINFOD_URLS="), env...)
	if file, ok := c.stdin.(*os.File); ok && isTerminal(file) {
		defer foreground(cmd, file)()
	}
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return failure{errors.New("interrupted"), exitTrace}
	case errors.As(err, new(*exec.ExitError)):
		return failure{fmt.Errorf("%s: %w", c.name, err), exitTrace}
	}
	return failure{err, exitMachine}
}

// runtimeScript returns the path of the Go runtime's own commands for gdb, which the
// ELF file names. gdb loads only what it is told to trust.
func runtimeScript(image string) (path string, ok bool) {
	file, err := elf.Open(image)
	if err != nil {
		return "", false
	}
	defer file.Close()
	section := file.Section(".debug_gdb_scripts")
	if section == nil {
		return "", false
	}
	// Entries: a byte that says what it is, 1 for a Python file, and a path.
	b, err := section.Data()
	if err != nil || len(b) < 2 || b[0] != 1 {
		return "", false
	}
	path, _, ok = strings.Cut(string(b[1:]), "\x00")
	return path, ok && ofGo(path)
}

// ofGo reports whether a file is the Go runtime's own commands, of the Go that is installed or
// of one that it has fetched. The path comes out of an ELF file, which may be anybody's: gdb
// runs the file, and with the path / in its list whatever else the ELF file names or holds.
func ofGo(path string) bool {
	cmd := exec.Command("go", "env", "GOROOT", "GOMODCACHE")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	root, rest, _ := strings.Cut(string(out), "\n")
	cache := strings.TrimSpace(rest)
	at, ok := strings.CutSuffix(path, filepath.FromSlash("/src/runtime/runtime-gdb.py"))
	if err != nil || !ok || root == "" || strings.ContainsAny(path, " \n:") {
		return false
	}
	toolchain, ok := strings.CutPrefix(at, filepath.Join(cache, "golang.org", "toolchain@"))
	return at == root || ok && cache != "" && !strings.ContainsAny(toolchain, `/\`)
}
