package main

// What `zf run` and `zf test` share is one pipeline: image -> machine -> trace filter
// -> terminal. Its exit status says how the program ended, and only the program's own
// word, passed on by the kernel, is ever a success: whatever else ends a machine is
// status 3 (verdict.go).

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
)

// machine is a machine to boot an image on, and what to tell its kernel.
type machine struct {
	command    string // for messages: "zf run"
	quiet      bool   // do not say what is booted
	qemu       qemu.Config
	append     string   // kernel command line of the user
	options    []string // of the kernel, which append may override
	arguments  []string // of the program
	json       string
	force      bool
	view       viewFlags
	records    *records
	console    string        // -console: "virtio" or "com1"
	accel      string        // -accel; "" means the default
	sayAccel   bool          // say which accelerator it is, and why
	noMounts   bool          // -mount none
	smp        bool          // the user has said how many CPUs
	core       string        // -core: the file; "": none
	coreELF    string        // the image that it is of
	built      bool          // which is there for this run alone
	cored      error         // what has become of the core
	oneCPU     bool          // what is asked for is of one CPU, unless the user has said how many
	record     string        // -record: the file; "": none
	recordLast time.Duration // -record-last; 0: all
	recordBy   string        // the flag that has said so; "": -record
	name       string        // of what is booted, for the recording
}

// maxCPUs is how many CPUs the kernel takes.
const maxCPUs = 64

// hostCPUs is how many CPUs the machines of zf run and zf test have: as many as the host, and not more
// than four, since each one that has nothing to do costs the host some time, too.
func hostCPUs() int { return min(4, runtime.NumCPU()) }

// flags adds the flags that say what machine it is.
func (m *machine) flags(fs *flag.FlagSet, memoryMiB, cpus int) {
	fs.StringVar(&m.append, "append", "", "kernel command `LINE`")
	m.qemu.MemoryMiB, m.qemu.CPU = memoryMiB, "max"
	fs.Func("m", fmt.Sprintf("RAM `SIZE` in MiB, or with a suffix, M or G (default %d)", memoryMiB), func(s string) (err error) {
		m.qemu.MemoryMiB, err = memorySize(s)
		return err
	})
	m.qemu.CPUs = cpus
	byDefault := "default 1"
	if cpus != 1 {
		byDefault = "default: the host's, 4 at most; 1 with\n-icount, -probe and -record"
		if m.command == "zf test" {
			byDefault = "default: the host's, 4 at most; 1 with\n-probe and -record-failures"
		}
	}
	fs.Func("smp", "`N` CPUs, 1 to 64 ("+byDefault+").\nThreads run on all; when one dies, a trace of each of the others follows", func(s string) (err error) {
		m.smp = true
		m.qemu.CPUs, err = strconv.Atoi(s)
		if err != nil || m.qemu.CPUs < 1 || m.qemu.CPUs > maxCPUs {
			return fmt.Errorf("want a number from 1 to %d", maxCPUs)
		}
		return nil
	})
	fs.Func("qemu", "pass `ARG` to QEMU; may be given many times", func(s string) error {
		m.qemu.Extra = append(m.qemu.Extra, s)
		return nil
	})
	fs.StringVar(&m.qemu.Machine, "machine", "q35", "QEMU machine `TYPE`: q35, pc, microvm")
	fs.Func("net", "add a network card of `MODEL` on QEMU's user network. The models are\n"+strings.Join(qemu.NetModels(), ", ")+
		".\nBehind a comma come options for QEMU's -netdev user.\nIt is the kernel's /dev/nic0 (option net=on, which this adds). With\nnetconsole= or ip= in -append, package kernel/net/netup is linked, as by\nzf build -net", func(s string) error {
		m.qemu.Net = s
		return qemu.CheckNet(s)
	})
	fs.Func("mount", "let the guest see the folder `DIR` of the host, at its own path, or at\nPATH for DIR:/PATH. What is read comes when it is asked for. It is\nread-only; behind :private the program may write, and the host does not\nsee it; behind :rw it writes to the host. May be given many times.\nzf test shows the folders of the sources by itself, and not with none", func(s string) error {
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
	})
	m.records = new(records)
	m.records.flags(fs)
}

// cpuFlag adds the flag for the processor.
func (m *machine) cpuFlag(fs *flag.FlagSet) {
	fs.StringVar(&m.qemu.CPU, "cpu", m.qemu.CPU, "QEMU processor `MODEL`; max has all that\nthe accelerator can do")
	m.accelFlags(fs)
}

// consoleFlag adds the flag for the way of the program's text.
func (m *machine) consoleFlag(fs *flag.FlagSet) {
	m.console = "virtio"
	fs.Func("console", "send the program's text and its input by `PORT`: virtio, a virtio\nconsole, or com1, the serial port, which is slower. The kernel's own\ntext and traces go by the serial port in any case (default virtio)", func(s string) error {
		if s != "virtio" && s != "com1" {
			return errors.New("want virtio or com1")
		}
		m.console = s
		return nil
	})
}

// boot runs the machine and returns the exit status of its end.
func (m *machine) boot(ctx context.Context, sym *symbol.File, stdin io.Reader, stdout, stderr io.Writer) int {
	serial, record := stdout, &recorder{}
	switch m.json {
	case "":
	case "-":
		serial, record = stderr, &recorder{w: stdout, name: "standard output"}
	default:
		file, err := os.Create(m.json)
		if err != nil {
			return failing(m.command, stderr)("-json: %v", err)
		}
		record = &recorder{w: file, name: m.json}
		defer file.Close() // for the errors below; the end closes it itself
	}
	if err := m.chooseAccel(ctx, stderr); err != nil {
		fmt.Fprintf(stderr, m.command+": %v\n", err)
		return exitMachine
	}
	if !m.quiet {
		with := ""
		if line := kernelCommandLine(m.append, m.arguments); line != "" {
			with = ", with " + line
		}
		fmt.Fprintf(stderr, m.command+": booting %s on %s, %d MiB%s%s\n",
			filepath.Base(m.qemu.Kernel+m.qemu.CDROM), m.qemu.Machine, m.qemu.MemoryMiB, m.byAccel(), with)
	}

	// How many CPUs the host has must change no count, and no instruction.
	if !m.smp && (m.oneCPU || m.qemu.Icount || m.record != "" || slices.Contains(m.qemu.Extra, "-icount")) {
		m.qemu.CPUs = 1
	}
	if note := unknownOption(m.append); note != "" {
		fmt.Fprintf(stderr, "%s: note: %s\n", m.command, note)
	}

	options, pipe, cooked := m.options, false, true
	if m.qemu.Net != "" {
		options = append(options[:len(options):len(options)], "net=on")
	}
	// With -icount no instruction may wait for the host, as a virtio console that is full does. In a
	// recording it is not.
	if _, own := lastOption(m.append, "console"); m.console == "virtio" && !own && m.qemu.CDROM == "" && !m.qemu.NoSerial && !m.qemu.Icount && m.record == "" {
		m.qemu.Port = true
		options = append(options[:len(options):len(options)], "console=virtio")
	}
	options = append(options[:len(options):len(options)], qemu.ShareOptions(m.qemu.Shares)...)
	if m.core != "" {
		options = append(options, "panic=halt") // it is to be there still
	}
	switch tty, ok := lastOption(m.append, "tty"); {
	case m.qemu.CDROM != "": // it has its own options
	case ok:
		pipe, cooked = tty == "pipe", tty == "cooked"
	case m.qemu.Icount && (noInput(stdin) || m.record != ""):
		// Its end would come when the host gets to it, in the midst of the guest's instructions. QEMU hands over to a
		// recorded machine what has come for it while that sleeps in the host's time, which it does not with -icount.
		if !noInput(stdin) {
			fmt.Fprintf(stderr, "%s: note: a machine that is recorded with -icount gets no input; leave -icount out\n", m.command)
		}
		stdin, cooked = nil, false
		options = append(options[:len(options):len(options)], "tty=empty")
	case !isTerminal(stdin):
		pipe, cooked = true, false
		options = append(options[:len(options):len(options)], "tty=pipe")
	}
	if isTerminal(stdin) && m.qemu.CDROM == "" {
		if columns, rows, err := term.GetSize(int(stdin.(*os.File).Fd())); err == nil && columns > 0 && rows > 0 {
			options = append(options[:len(options):len(options)], fmt.Sprintf("tty.columns=%d", columns), fmt.Sprintf("tty.rows=%d", rows))
		}
	}
	m.setAppend(options)
	con, err := openConsole(stdin, pipe)
	if err != nil {
		fmt.Fprintf(stderr, m.command+": terminal: %v\n", err)
		return exitMachine
	}
	defer con.restore()
	var died ending
	opt := trace.Options{
		Symbols:  sym,
		Force:    m.force,
		Color:    wantColor(serial),
		Sanitize: isTerminal(serial),
		Columns:  columnsOf(serial),
		Log:      stderr,
		Idle:     trace.DefaultIdle,
		OnTrace:  died.take,
	}
	if err := m.view.apply(&opt, opt.Color); err != nil {
		fmt.Fprintf(stderr, m.command+": %v\n", err)
		return exitUsage
	}
	if m.core == "" { // which tells more
		opt.OnList = listWaits
	}
	if record.w != nil {
		opt.JSON = record
	}
	ends := &lineEnds{w: serial}
	if cooked {
		serial = ends
	}
	if m.quiet {
		serial = &withoutReport{w: serial}
	}
	filter, err := trace.NewFilter(serial, opt)
	if err != nil {
		fmt.Fprintf(stderr, m.command+": %v\n", err)
		return exitMachine
	}

	text, second := m.records.text(filter, m.command, stderr), m.records.frames()
	if port, _ := lastOption(m.append, "record.port"); port == "com2" || m.qemu.CDROM != "" && m.record == "" {
		m.qemu.Records = second
	}

	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	if m.core != "" {
		m.keepCore(sym, stderr)
	}
	con.interrupt = interrupt
	m.qemu.Stdin, m.qemu.Stdout = con, noticing{text, con.listens}
	recording, err := m.startRecord(ctx, sym, cooked)
	if err != nil {
		filter.Close()
		return failing(m.command, stderr)("%s: %v", m.recordFlagName(), err)
	}
	if recording != nil {
		replay := qemu.Config{Replay: "-", Machine: m.qemu.Machine, CPU: m.qemu.CPU, MemoryMiB: m.qemu.MemoryMiB, Net: m.qemu.Net, Append: m.qemu.Append, Extra: m.qemu.Extra}
		for _, doubt := range replay.Doubts() {
			fmt.Fprintf(stderr, "%s: note: to replay it takes -trust-qemu-args, since %s\n", m.command, printable(doubt))
		}
	}
	quit := make(chan os.Signal, 1)
	vm, err := quits.start(ctx, m.qemu, quit)
	defer quits.stop(quit)
	if errors.Is(err, qemu.ErrPort) {
		fmt.Fprintf(stderr, m.command+": %v: the program's text comes by the serial port, which is slower, as with -console com1\n", qemu.ErrPort)
		m.qemu.Port = false
		m.setAppend(slices.DeleteFunc(options, func(o string) bool { return o == "console=virtio" }))
		vm, err = quits.start(ctx, m.qemu, quit)
	}
	if err != nil {
		filter.Close()
		recording.remove()
		fmt.Fprintf(stderr, m.command+": %s\n", interrupted(ctx, withQEMUStep(err)))
		return exitMachine
	}
	recording.keepLast(vm)
	con.start(func() { m.askNMI(vm, stderr) })
	stuck := m.attend(vm, filter, quit)
	res, err := vm.Wait()
	for _, cerr := range []error{text.Close(), second.Close(), filter.Close(), ends.flush()} {
		if err == nil {
			err = cerr
		}
	}
	rerr := recording.end(res, err)
	if s := recording.begins(); s != "" && !m.quiet {
		fmt.Fprintf(stderr, "%s: %s\n", m.command, s)
	}
	err = withQEMUStep(m.accelFailed(err))
	if len(m.qemu.Extra) > 0 && !errors.Is(err, qemu.ErrQEMU) {
		// Whoever gives QEMU arguments may have asked it to say something.
		io.WriteString(stderr, res.Stderr)
	}
	code, msg := verdict(ctx, res, err, filter.Stats(), stuck, sym)
	if how, own := lastOption(m.append, "panic"); m.core != "" && stuck == afterTrace && (!own || how == "exit") {
		msg = "" // it halted for us
	}
	if filter.Stats().Mismatch && !m.force {
		code = exitUsage
	}
	if msg != "" {
		fmt.Fprintf(stderr, m.command+": %s\n", msg)
		if strings.HasSuffix(msg, registersFollow) {
			io.WriteString(stderr, generalRegisters(res.Registers))
		}
	}
	if died.first != nil {
		dir, _ := os.Getwd() // without it, paths are absolute
		io.WriteString(stderr, summary(m.command, died.first, dir))
	}
	if n := second.Skipped(); n > 0 && !m.qemu.UEFI { // UEFI speaks on each serial port
		fmt.Fprintf(stderr, m.command+": %d bytes of the second serial port were no part of a record that came whole\n", n)
	}
	if m.core != "" {
		m.endCore(stderr)
	}
	if err := m.records.end(); err != nil && code == exitOK {
		code = exitUsage
	}
	if rerr != nil {
		failing(m.command, stderr)("%s: %s: %v", m.recordFlagName(), m.record, rerr)
		code = max(code, exitUsage)
	}
	if err := record.close(); err != nil {
		failing(m.command, stderr)("-json: traces are missing from %s: %v", record.name, err)
		// What was asked for is not there, which must not look like success.
		if code == exitOK {
			code = exitUsage
		}
	}
	return code
}

// setAppend makes the kernel's command line. Our options come first: behind a "--" in the user's
// line they would be arguments of the program, and of several equal options the last one counts.
func (m *machine) setAppend(options []string) {
	m.qemu.Append = ""
	if m.qemu.CDROM == "" { // it has its own
		m.qemu.Append = kernelCommandLine(strings.TrimSpace(strings.Join(append(slices.Clip(options), m.append), " ")), m.arguments)
	}
}

// quits are the machines that run: each gets an NMI for ^\.
var quits quitting

type quitting struct {
	mu   sync.Mutex
	open []chan<- os.Signal
}

// start starts a machine whose ^\ goes to c. QEMU inherits that ^\ does not end it, which
// for a moment takes it from all of us.
func (q *quitting) start(ctx context.Context, config qemu.Config, c chan<- os.Signal) (*qemu.VM, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	signal.Ignore(syscall.SIGQUIT)
	vm, err := qemu.Start(ctx, config)
	q.open = append(q.open, c)
	for _, c := range q.open {
		signal.Notify(c, syscall.SIGQUIT)
	}
	return vm, err
}

// stop ends that ^\ goes to c.
func (q *quitting) stop(c chan<- os.Signal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	signal.Stop(c)
	q.open = slices.DeleteFunc(q.open, func(o chan<- os.Signal) bool { return o == c })
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
func (m *machine) attend(vm *qemu.VM, filter *trace.Filter, quit <-chan os.Signal) (why stuck) {
	debugged := strings.Contains(" "+strings.Join(m.qemu.Extra, " ")+" ", " -s ") ||
		strings.Contains(strings.Join(m.qemu.Extra, " "), "-gdb")
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	seen := 0
	for {
		select {
		case <-vm.Done():
			return why
		case <-quit:
			m.askNMI(vm, os.Stderr)
		case <-tick.C:
			if debugged || why != notStuck {
				continue
			}
			// Halted with interrupts off, only an NMI could wake it.
			// All CPUs: the one that has died may still send traces or the memory while the others stand still.
			if h, err := vm.Dead(); err != nil || !h {
				seen = 0
				continue
			}
			seen++
			switch dead := filter.Stats().Fatal > 0; {
			case dead && seen >= looksAfterDead:
				why = afterTrace
				vm.End()
			case !dead && seen >= looksUntold:
				why = untold
				vm.End()
			}
		}
	}
}

// kernelOption is an option of the kernel command line. A value with a quote in it
// cannot be said and leaves the option out.
func kernelOption(key, value string) string {
	switch {
	case strings.ContainsAny(value, "\"\n"):
		return ""
	case strings.Contains(value, " "):
		return key + `="` + value + `"`
	}
	return key + "=" + value
}

// kernelWords returns the words of a kernel command line as the kernel reads it
// (kernel/option/words.go): parted by spaces, but for those in double quotes, in which a
// backslash stands before a quote that does not end them. ended is set if the word "--"
// follows them, behind which are the program's arguments.
func kernelWords(line string) (words []string, ended bool) {
	quoted, escaped := false, false
	words = strings.FieldsFunc(line, func(r rune) bool {
		was := escaped
		escaped = !was && quoted && r == '\\'
		if r == '"' && !was {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	if i := slices.Index(words, "--"); i >= 0 {
		return words[:i], true
	}
	return words, false
}

// lastOption finds an option as the kernel does.
func lastOption(line, key string) (value string, ok bool) {
	words, _ := kernelWords(line)
	for _, w := range words {
		if v, found := strings.CutPrefix(w, key+"="); found {
			if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
				v = v[1 : len(v)-1]
			}
			value, ok = v, true
		}
	}
	return value, ok
}

// hasAddress reports whether the kernel is told an address of the machine, without which
// it has nothing to answer on a network.
func (m *machine) hasAddress() bool {
	_, console := lastOption(m.append, "netconsole")
	_, ip := lastOption(m.append, "ip")
	return console || ip
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

// kernelCommandLine joins the kernel's words and the program's arguments. An
// argument that is empty or holds space, quotes or backslashes is put in double
// quotes, with a backslash before each quote and backslash in it. If line has arguments
// already, these follow them.
func kernelCommandLine(line string, args []string) string {
	if len(args) == 0 {
		return line
	}
	var b strings.Builder
	b.WriteString(line)
	if line != "" {
		b.WriteByte(' ')
	}
	if _, ended := kernelWords(line); !ended {
		b.WriteString("-- ")
	}
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
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
