package main

// What `zf run` and `zf test` share is one pipeline: image -> machine -> trace filter
// -> terminal. Its exit status says how the program ended, and only the program's own
// word, passed on by the kernel, is ever a success: whatever else ends a machine is
// status 3 (verdict.go).

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// machine is a machine to boot an image on, and what to tell its kernel.
type machine struct {
	streams
	quiet      bool // do not say what is booted
	qemu       qemu.Config
	append     string   // kernel command line of the user
	options    []string // of the kernel, which append may override
	forwards   []string // of -p, as options of -net
	arguments  []string // of the program
	json       string
	force      bool
	view       viewFlags
	verbose    bool   // show traces with all that they say
	logFile    string // -log
	log        recorder
	timestamps bool      // put the time before each line
	began      time.Time // of the boot
	noCore     bool      // there is no -core
	tests      bool      // the program is a test binary, whose output is read by others
	records    *records
	console    string        // -console: "virtio" or "com1"
	accel      string        // -accel; "" means the default
	noMounts   bool          // -mount none
	smp        bool          // the user has said how many CPUs
	core       string        // -core: the file; "": none
	coreELF    string        // the image that it is of
	built      bool          // which is there for this run alone
	cored      error         // what has become of the core
	keeps      bool          // the heap is to be read at an end of memory
	heap       string        // what the heap has, where the machine has died for want of memory
	oneCPU     bool          // what is asked for is of one CPU, unless the user has said how many
	record     string        // -record: the file; "": none
	recordLast time.Duration // -record-last; 0: all
	recordBy   string        // the flag that has said so; "": -record
	name       string        // of what is booted, for the recording
	pressed    *atomic.Bool  // the user has pressed ^C
}

// maxCPUs is how many CPUs the kernel takes.
const maxCPUs = 64

// hostCPUs is how many CPUs the machines of zf run and zf test have: as many as the host, and
// not more than four, since each one that has nothing to do costs the host some time, too.
func hostCPUs() int { return min(4, runtime.NumCPU()) }

// flags adds the flags that say what machine it is.
func (m *machine) flags(fs *flag.FlagSet, memoryMiB, cpus int) {
	m.qemu.MemoryMiB, m.qemu.CPU, m.qemu.CPUs, m.qemu.Machine = memoryMiB, "max", cpus, "q35"
	byDefault := "default 1"
	if cpus != 1 {
		byDefault = "default: the host's, 4 at most; 1 with\n-icount, -probe and -record"
		if m.who == "zf test" {
			byDefault = "default: the host's, 4 at most; 1 with\n-probe and -record-failures"
		}
	}
	addFlags(fs, []option{
		{&m.append, "append", "kernel command `LINE`"},
		{func(s string) (err error) {
			m.qemu.MemoryMiB, err = memorySize(s)
			return err
		}, "m", fmt.Sprintf("RAM `SIZE` in MiB, or with a suffix, M or G (default %d)", memoryMiB)},
		{func(s string) (err error) {
			m.smp = true
			m.qemu.CPUs, err = strconv.Atoi(s)
			if err != nil || m.qemu.CPUs < 1 || m.qemu.CPUs > maxCPUs {
				return fmt.Errorf("want a number from 1 to %d", maxCPUs)
			}
			return nil
		}, "smp", "`N` CPUs, 1 to 64 (" + byDefault +
			").\nThreads run on all; when one dies, a trace of each of the others follows"},
		{&m.qemu.Extra, "qemu", "pass `ARG` to QEMU; may be given many times"},
		{&m.qemu.Machine, "machine", "QEMU machine `TYPE`: q35, pc, microvm"},
		{func(s string) error {
			m.qemu.Net = s
			return qemu.CheckNet(s)
		}, "net", "add a network card of `MODEL` on QEMU's user network. The models are\n" +
			strings.Join(qemu.NetModels(), ", ") +
			".\nBehind a comma come options for QEMU's -netdev user.\nA program that uses package net reaches other machines by it; its\naddress comes by DHCP, or of ip= in -append. The card is the kernel's\n/dev/nic0, too (option net=on, which this adds)"},
		{m.mount, "mount",
			"let the guest see the folder `DIR` of the host, at its own path, or at\nPATH for DIR:/PATH. What is read comes when it is asked for. It is\nread-only; behind :private the program may write, and the host does not\nsee it; behind :rw it writes to the host. May be given many times.\nzf test shows the folders of the sources by itself, and not with none"},
	})
	m.records = new(records)
	m.records.flags(fs)
}

// mount takes a value of -mount.
func (m *machine) mount(s string) error {
	if s == noMount {
		m.noMounts = true
		return nil
	}
	share, err := qemu.ParseShare(s)
	if err == nil && len(m.qemu.Shares) == qemu.MaxShares {
		err = fmt.Errorf("there are %d folders already; more is not possible", qemu.MaxShares)
	}
	m.qemu.Shares = append(m.qemu.Shares, share)
	return err
}

// cpuFlag adds the flag for the processor.
func (m *machine) cpuFlag(fs *flag.FlagSet) {
	addFlags(fs,
		[]option{{&m.qemu.CPU, "cpu",
			"QEMU processor `MODEL`; max has all that\nthe accelerator can do"}})
	m.accelFlags(fs)
}

// consoleFlag adds the flag for the way of the program's text.
func (m *machine) consoleFlag(fs *flag.FlagSet) {
	m.console = "virtio"
	fs.Func("console",
		"send the program's text and its input by `PORT`: virtio, a virtio\nconsole, or com1, the serial port, which is slower. The kernel's own\ntext and traces go by the serial port in any case (default virtio)", func(s string) error {
			if s != "virtio" && s != "com1" {
				return errors.New("want virtio or com1")
			}
			m.console = s
			return nil
		})
}

// boot runs the machine and returns the exit status of its end.
func (m *machine) boot(ctx context.Context, sym *symbol.File) int {
	serial, record, err := m.openJSON()
	if err != nil {
		return m.failed(exitUsage, fmt.Errorf("-json: %w", err))
	}
	defer record.close() // for the errors below; the end closes it itself
	if err := m.chooseAccel(ctx); err != nil {
		return m.failed(exitMachine, err)
	}
	m.sayBooting()
	m.keeps = m.readsHeap(sym)
	stdin, pipe, cooked, options := m.settle()
	m.setAppend(options)
	con, err := openConsole(stdin, pipe)
	if err != nil {
		return m.failed(exitMachine, fmt.Errorf("terminal: %w", err))
	}
	defer con.restore()
	m.pressed, m.began = &con.pressed, time.Now()
	opt := trace.Options{Force: m.force}
	if m.core == "" { // which tells more
		opt.OnList = listWaits
	}
	if record.w != nil {
		opt.JSON = record
	}
	if m.logFile != "" {
		file, err := os.Create(m.logFile)
		if err != nil {
			return m.failed(exitUsage, fmt.Errorf("-log: %w", err))
		}
		m.log = recorder{w: file, name: m.logFile}
		defer m.log.close()
	}
	out, err := m.newScreen(serial, serial, sym, cooked, m.quiet, m.newDeaths(), opt)
	if err != nil {
		return m.failed(exitUsage, err)
	}
	second := m.records.frames()
	if port, _ := lastOption(m.append, "record.port"); port == "com2" || m.qemu.CDROM != "" &&
		m.record == "" {
		m.qemu.Records = second
	}
	ctx, con.interrupt = context.WithCancel(ctx)
	defer con.interrupt()
	m.cored = errNoDeath
	m.qemu.Died = func(vm *qemu.VM) {
		m.keepCore(vm, sym)
		m.readHeap(vm, sym, out)
	}
	m.qemu.Stdin, m.qemu.Stdout = con, noticing{out.text, con.listens}
	if out.program != nil {
		m.qemu.PortOutput = noticing{out.program, con.listens}
		m.qemu.PortErrors = noticing{out.errors, con.listens}
	}
	recording, err := m.startRecord(ctx, sym, cooked)
	if err != nil {
		out.close()
		return m.failed(exitUsage, fmt.Errorf("%s: %w", m.recordFlagName(), err))
	}
	code := m.run(ctx, sym, con, options, out, second, recording)
	for _, r := range []struct {
		*recorder
		what string
	}{{record, "-json: traces are"}, {&m.log, "-log: text is"}} {
		if err := r.close(); err != nil {
			m.fail(fmt.Errorf("%s missing from %s: %w", r.what, r.name, err))
			code = cmp.Or(code, exitUsage)
		}
	}
	return code
}

// run starts the machine, waits for its end, and says what has become of it and of what was
// asked for, which must not look like success where it is not there.
func (m *machine) run(ctx context.Context, sym *symbol.File, con *console, options []string,
	out *screen, second *eventstream.Frames, recording *recording) int {
	quit := make(chan os.Signal, 1)
	defer quits.stop(quit)
	vm, err := m.start(ctx, options, quit)
	if err != nil {
		out.close()
		recording.remove()
		if ctx.Err() != nil {
			m.sayEnd(errInterrupted.Error(), nil)
			return exitInterrupt
		}
		code := m.failed(exitMachine, err)
		m.sayQEMU(err)
		return code
	}
	recording.keepLast(vm)
	con.start(func() { m.askNMI(vm) })
	stuck := m.attend(vm, out.filter, quit)
	res, err := vm.Wait()
	err = cmp.Or(err, out.close(), second.Close())
	rerr := recording.end(res, err)
	if s := recording.begins(); s != "" && !m.quiet {
		m.say("%s", s)
	}
	code := m.ended(ctx, sym, res, err, stuck, out)
	if n := second.Skipped(); n > 0 && !m.qemu.UEFI { // UEFI speaks on each serial port
		m.say("%d bytes of the second serial port were no part of a record that came whole", n)
	}
	if m.core != "" && m.cored != nil {
		m.say("-core: %v", m.cored)
	}
	if err := m.records.end(); err != nil && code == exitOK {
		code = exitUsage
	}
	if rerr != nil {
		code = max(code, m.failed(exitUsage, fmt.Errorf("%s: %s: %w", m.recordFlagName(),
			m.record, rerr)))
	}
	return code
}

// failed says an error, and returns the exit status.
func (s *streams) failed(code int, err error) int {
	s.fail(err)
	return code
}

// openJSON opens where -json has traces go. serial is where the machine's text goes then.
func (m *machine) openJSON() (serial io.Writer, r *recorder, err error) {
	switch m.json {
	case "":
		return m.stdout, &recorder{}, nil
	case "-":
		return m.stderr, &recorder{w: m.stdout, name: "standard output"}, nil
	}
	file, err := os.Create(m.json)
	return m.stdout, &recorder{w: file, name: m.json}, err
}

// sayBooting says what is booted, and what is odd about its options.
func (m *machine) sayBooting() {
	if !m.quiet && m.verbose {
		with := ""
		if line := kernelCommandLine(m.append, m.arguments); line != "" {
			with = ", with " + line
		}
		m.say("booting %s on %s, %d MiB%s%s",
			filepath.Base(m.qemu.Kernel+m.qemu.CDROM), m.qemu.Machine, m.qemu.MemoryMiB, m.byAccel(), with)
	}
	for _, note := range unknownOptions(m.append) {
		m.say("note: %s", note)
	}
}

// settle decides on what the flags leave open: CPUs, and by which port text and input go. It
// returns the machine's input, whether that is sent as tty=pipe wants it, whether the kernel
// ends lines with CR LF, and the kernel's options.
func (m *machine) settle() (stdin io.Reader, pipe, cooked bool, options []string) {
	// How many CPUs the host has must change no count, and no instruction.
	if !m.smp && (m.oneCPU || m.qemu.Icount || m.record != "" ||
		slices.Contains(m.qemu.Extra, "-icount")) {
		m.qemu.CPUs = 1
	}
	stdin, cooked, options = m.stdin, true, slices.Clone(m.options)
	if m.qemu.Net != "" {
		options = append(options, "net=on")
	}
	// With -icount no instruction may wait for the host, as a virtio console that is full does. In a
	// recording it is not.
	if _, own := lastOption(m.append, "console"); m.console == "virtio" && !own &&
		m.qemu.CDROM == "" && !m.qemu.NoSerial && !m.qemu.Icount && m.record == "" {
		m.qemu.Port = true
		options = append(options, "console=virtio")
	}
	options = append(options, qemu.ShareOptions(m.qemu.Shares)...)
	switch {
	case m.core != "":
		options = append(options, "panic=halt") // it is to be there still
	case m.keeps:
		options = append(options, "panic=keep")
	}
	switch tty, ok := lastOption(m.append, "tty"); {
	case m.qemu.CDROM != "": // it has its own options
	case ok:
		pipe, cooked = tty == "pipe", tty == "cooked"
	case m.qemu.Icount && (noInput(stdin) || m.record != ""):
		// Its end would come when the host gets to it, in the midst of the guest's
		// instructions. QEMU hands over to a recorded machine what has come for it
		// while that sleeps in the host's time, which it does not with -icount.
		if !noInput(stdin) {
			m.say("note: a machine that is recorded with -icount gets no input; leave -icount out")
		}
		stdin, cooked = nil, false
		options = append(options, "tty=empty")
	case !isTerminal(stdin):
		pipe, cooked = true, false
		options = append(options, "tty=pipe")
	}
	if isTerminal(stdin) && m.qemu.CDROM == "" {
		if columns, rows, err := term.GetSize(int(stdin.(*os.File).Fd())); err == nil &&
			columns > 0 && rows > 0 {
			options = append(options, fmt.Sprintf("tty.columns=%d", columns),
				fmt.Sprintf("tty.rows=%d", rows))
		}
	}
	return stdin, pipe, cooked, options
}

// start starts the machine, without a virtio console if this QEMU has none.
func (m *machine) start(ctx context.Context, options []string,
	quit chan<- os.Signal) (*qemu.VM, error) {
	vm, err := quits.start(ctx, m.qemu, quit)
	if errors.Is(err, qemu.ErrPort) {
		m.say("%v: the program's text comes by the serial port, which is slower, as with -console com1",
			qemu.ErrPort)
		m.qemu.Port = false
		m.setAppend(slices.DeleteFunc(options, func(o string) bool { return o == "console=virtio" }))
		vm, err = quits.start(ctx, m.qemu, quit)
	}
	return vm, err
}

// ended says how the machine has ended, and returns the exit status for it.
func (m *machine) ended(ctx context.Context, sym *symbol.File, res qemu.Result, err error,
	stuck stuck, out *screen) int {
	err = withQEMUStep(m.accelFailed(err))
	if len(m.qemu.Extra) > 0 && !errors.Is(err, qemu.ErrQEMU) {
		// Whoever gives QEMU arguments may have asked it to say something.
		io.WriteString(m.stderr, res.Stderr)
	}
	stats := out.filter.Stats()
	code, msg := verdict(ctx, res, err, stats, stuck, sym)
	if how, own := lastOption(m.append, "panic"); stuck == afterTrace && (!own || how == "exit") &&
		(m.core != "" || out.oom.Load()) {
		msg = "" // it halted for us
	}
	if stats.Mismatch && !m.force {
		code = exitUsage
	}
	if msg != "" {
		m.sayEnd(msg, err)
		m.sayQEMU(err)
		if strings.HasSuffix(msg, registersFollow) {
			io.WriteString(m.stderr, generalRegisters(res.Registers))
		}
	}
	died := &out.died
	if out.short != nil {
		died = &out.short.died
	}
	if errors.Is(err, qemu.ErrTimeout) && stats.Traces > 0 && died.first == nil {
		dir, _ := os.Getwd()
		io.WriteString(m.stderr, died.where(m.who, dir))
	}
	if died.first != nil && m.quit(died.first) {
		return exitInterrupt
	}
	if out.short == nil {
		died.say(&m.streams)
		if m.heap != "" {
			m.say("%s", m.heap)
		}
	}
	return code
}

// sayEnd says how the machine has ended. That zf test was interrupted it says by itself, once.
func (m *machine) sayEnd(msg string, err error) {
	switch {
	case m.tests && msg == errInterrupted.Error():
	case errors.Is(err, qemu.ErrQEMU):
		m.say("%s", msg) // it may have a command that is to be copied
	default:
		w := render.Short{Width: columns}
		io.WriteString(m.stderr, strings.Join(w.Wrap(m.who+": "+msg, "    "), "\n")+"\n")
	}
}

// quit reports whether a trace is of a program that the user's ^C has ended, as on Linux: it is no
// death.
func (m *machine) quit(t *wire.Trace) bool {
	// As kernel/fault/programend.go says it, with where a program was that waited.
	rest, ok := strings.CutPrefix(t.Reason, "ended by signal 2, SIGINT")
	return ok && (rest == "" || rest[0] == ':') && m.pressed != nil && m.pressed.Load()
}

// setAppend makes the kernel's command line. Our options come first: behind a "--" in the user's
// line they would be arguments of the program, and of several equal options the last one counts.
func (m *machine) setAppend(options []string) {
	m.qemu.Append = ""
	if m.qemu.CDROM == "" { // it has its own
		m.qemu.Append = kernelCommandLine(strings.TrimSpace(strings.Join(append(slices.Clip(options),
			m.append), " ")), m.arguments)
	}
}

// recorder takes the traces as JSON, or the whole text. An error stops it alone, not the machine,
// whose text goes on; the end of the command tells.
type recorder struct {
	w    io.Writer // nil: none
	name string
	err  error // the first one
}

// Write writes all of p, which is whole lines of JSON, or nothing of it that stays.
func (r *recorder) Write(p []byte) (int, error) {
	if r.err != nil {
		return len(p), nil
	}
	n := 0
	if n, r.err = r.w.Write(p); r.err != nil && n > 0 {
		if file, ok := r.w.(*os.File); ok {
			if end, err := file.Seek(0, io.SeekCurrent); err == nil {
				file.Truncate(end - int64(n))
			}
		}
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

// noInput reports whether there is nothing to read.
func noInput(stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok || file == nil {
		return stdin == nil
	}
	is, err := file.Stat()
	null, err2 := os.Stat(os.DevNull)
	return err == nil && err2 == nil && os.SameFile(is, null)
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
