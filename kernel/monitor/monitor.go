package monitor

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/tracer"
)

// The monitor: a prompt on the serial port at which the kernel answers questions while the machine
// stands still. It opens
//
//	on ^], seen by the port's interrupt, so whatever the program does
//	before the program starts, with the word "monitor" on the kernel command line
//	after a fatal trace, with panic=monitor
//
// It needs nothing that it examines: no thread, no runtime, no interrupt. It polls the port, reads
// memory with loads that may fault, and runs on a stack that nothing else uses then. All other CPUs
// stand still, each in an NMI. The clock stops, too, so the program does not see that time has
// passed: no timer is late and the watchdog does not fire.
//
// What was interrupted is kept like a crash (stop), from which the commands make traces and
// answers. Traces have the usual form, for zf to resolve; the answers name functions and lines from
// Go's own tables.

// A command of the monitor.
type command struct {
	name, args string
	help       string
	more       string // for `help NAME`
}

// The commands, as indices of the table.
const (
	cmdHelp = iota
	cmdTrace
	cmdContinue
	cmdGoroutines
	cmdGoroutine
	cmdThreads
	cmdThread
	cmdCPUs
	cmdCPU
	cmdLocks
	cmdStacks
	cmdHandles
	cmdRegs
	cmdExamine
	cmdSym
	cmdWatch
	cmdProfile
	cmdProbe
	cmdCrash
	cmdReboot
)

// commands is the table, in the order of `help`. A name may be shortened to a prefix that no
// earlier name has. A new command needs a row here and a case in runCommand. Never written.
var commands = [...]command{
	cmdHelp: {"help", "[COMMAND]", "this list, or more about a command",
		"Names may be cut: `g` is goroutines, `c` continue. Keys: backspace, ^W and ^U\nerase, ^P or the upward arrow brings the last line back, ^C drops the line."},
	cmdTrace: {"bt", "[all]", "trace of what was interrupted; of all CPUs", ""},
	cmdContinue: {"continue", "", "let the machine go on; so does ^D",
		"^] at an empty prompt goes on too, and is then passed to the program."},
	cmdGoroutines: {"goroutines", "[all|trace]", "what each goroutine waits for",
		"`all` lists the runtime's own goroutines too; `trace` writes a trace of each.\nA * marks the one that runs. See also goroutine."},
	cmdGoroutine: {"goroutine", "N", "trace of goroutine N", ""},
	cmdThreads: {"threads", "", "the program's threads, what they wait for",
		"CPU is the time that the thread has run; then where it is. A * marks the one that\nruns. See also thread."},
	cmdThread: {"thread", "N", "trace of thread N", ""},
	cmdCPUs: {"cpus", "", "the CPUs, what each is at",
		"A * marks the one that runs the monitor; the others stand still. See also cpu."},
	cmdCPU: {"cpu", "N", "trace of CPU N", ""},
	cmdLocks: {"locks", "", "what the kernel lock has cost, by gate",
		"A gate is a system call, or what has come otherwise. Times are in us; the first longest\nis how long it was held at a time at most, the second how long it was waited for."},
	cmdStacks: {"stacks", "", "how much of the kernel's stacks was used", ""},
	cmdHandles: {"handles", "[KIND|send]", "what is open, and who opened it (record=)",
		"Without KIND: how many of each kind. With it, a line for each that is open.\n`send` sends a snapshot for zf handles."},
	cmdRegs: {"regs", "", "registers of what was interrupted", ""},
	cmdExamine: {"x", "[/[N][KIND][SIZE]] ADDR", "memory, such as: x/8gx rsp+16",
		"KIND is x, d, u, c (characters), s (string) or a (addresses, with functions); SIZE\nis b, h, w or g: 1, 2, 4, 8 bytes. ADDR is a sum of numbers, registers and\nfunctions: 0x200000, rsp+8, main.main. Without ADDR it goes on where it was."},
	cmdSym: {"sym", "ADDR|NAME", "function at an address, or by its name", ""},
	cmdWatch: {"watch", "[ADDR[:N][:w|rw] | off [N]]", "trace writes to memory; what is watched",
		"ADDR is as that of x, N the length: 1, 2, 4 or 8, which it is without. w is writes,\nrw reads, too. 4 places can be watched; `off` ends one, by its number, or all."},
	cmdProfile: {"profile", "[on|off|dump]", "the sampling profiler (profile=)",
		"dump sends what there is as a record, as the end of the machine does."},
	cmdProbe:  {"probe", "[dump]", "what is probed; dump sends the counts", ""},
	cmdCrash:  {"crash", "KIND", "die: `help crash` has the kinds", crashHelp},
	cmdReboot: {"reboot", "", "reset the machine", ""},
}

const prompt = "monitor> "

// Under the kernel lock.
var (
	leaving    bool // the command was one that continues the program
	promptLine Line
)

// setMonitor reads the option monitor=on|off, and returns whether the word "monitor" asks for the
// prompt at boot. With tty=raw all bytes belong to the program unless the option says on.
func setMonitor() (atBoot bool) {
	line := option.Line()
	for {
		word, rest, ok := option.NextWord(line)
		if !ok {
			break
		}
		if ascii.Same(word, "monitor") {
			atBoot = true
		}
		line = rest
	}
	mode, _ := option.Value("tty")
	tty.Attention = !ascii.Same(mode, "raw")
	if off, ok := option.Word("monitor"); ok {
		tty.Attention = off == 0
		atBoot = atBoot && off == 0
	}
	return atBoot
}

// AtBoot opens the monitor before the program starts, if the command line asks for it. Early
// context.
//
//go:noinline
func AtBoot() {
	if !setMonitor() {
		return
	}
	fp := arch.FramePointer()
	saved, ra := arch.FrameRecord(fp)
	fault.StopAt(ra, fp+16, saved)
	Open(fault.StopBoot)
}

// Open runs the monitor until someone types continue.
func Open(reason fault.StopReason) {
	was := fault.StopWhy
	fault.StopWhy = reason
	i := stack.Kernel
	switch {
	case fault.Nested > 0:
		i = stack.Debug
	case stack.Running:
		i = stack.Boot // nothing has run there since the program started
	}
	fault.Nested++
	held := fault.HoldCPUs() // while the clock still runs
	stopped := clock.Hold()
	arch.OnStack(stack.Table[i].Lo, stack.Table[i].Hi, loop, 0)
	if stopped {
		clock.Release()
	}
	if held {
		fault.ReleaseCPUs()
	}
	fault.Nested--
	fault.StopWhy = was
}

// loop is the monitor's loop.
func loop(uintptr) {
	percpu.AssertLocked()
	greet()
	leaving = false
	if _, columns, _, _ := tty.Serial.Winsize(); columns != 0 {
		promptLine.Room = max(1, min(MaxLine, int(columns)-len(prompt)-1))
	}
	console.String(prompt)
	for !leaving {
		b, ok := console.Receive()
		if !ok {
			arch.Pause()
			continue
		}
		event := promptLine.Input(b)
		for _, c := range promptLine.Echo[:promptLine.Echoed] {
			console.Byte(c)
		}
		line := promptLine.Text()
		if event != Typing {
			promptLine.Next() // now, because the command may die
		}
		switch event {
		case Typing:
			continue
		case Entered:
			console.String("\n")
			runCommand(line)
		case Dropped:
			console.String("\n")
		case End:
			console.String("\n")
			leaving = true
		case Again:
			console.String("\n")
			leaving = true
			linux.Typed(Key)
		}
		if !leaving {
			console.FreshLine()
			console.String(prompt)
		}
	}
	if fault.StopWhy == fault.StopFatal {
		// Not by a return: a load of the monitor's that faulted may have overwritten what the crash
		// left of its stack.
		fault.Quit()
	}
}

// greet says where the machine was stopped.
func greet() {
	console.FreshLine()
	console.String("monitor: ")
	switch {
	case fault.StopWhy == fault.StopBoot:
		console.String("the program has not started")
	case fault.StopWhy == fault.StopFatal:
		console.String("the kernel has died; `continue` ends the machine")
	default:
		console.String("stopped at ")
		seconds(clock.Now(), 0)
		console.String(" s, ")
		if idleStop() {
			console.String("idle: all threads wait")
			break
		}
		fault.Stop.FindStacks()
		if fault.Stop.Goroutine != 0 {
			console.Printf("goroutine %d, ", fault.Stop.Goroutine)
		}
		console.Printf("thread %d,\n  in ", uint64(fault.Stop.Thread))
		printPC(fault.Stop.PC, fault.Stop.Call)
	}
	console.String("\nmonitor: `help` lists the commands, `continue` or ^D goes on\n")
}

// idleStop reports whether the CPU was idle.
func idleStop() bool {
	return fault.Stop.Context == tracer.ContextKernel && thread.Current() == nil
}

// runCommand finds the command that a line names, and runs it.
func runCommand(line []byte) {
	name, args := Command(line)
	if len(name) == 0 {
		return
	}
	switch findCommand(name) {
	case cmdHelp:
		runHelp(args)
	case cmdTrace:
		runTrace(args)
	case cmdContinue:
		leaving = true
	case cmdGoroutines:
		runGoroutines(args)
	case cmdGoroutine:
		runGoroutine(args)
	case cmdThreads:
		runThreads()
	case cmdThread:
		runThread(args)
	case cmdCPUs:
		runCPUs()
	case cmdCPU:
		runCPU(args)
	case cmdLocks:
		runLocks()
	case cmdStacks:
		runStacks()
	case cmdHandles:
		runHandles(args)
	case cmdRegs:
		runRegs()
	case cmdExamine:
		runExamine(args)
	case cmdSym:
		runSym(args)
	case cmdWatch:
		runWatch(args)
	case cmdProfile:
		runProfile(args)
	case cmdProbe:
		runProbe(args)
	case cmdCrash:
		runCrash(args)
	case cmdReboot:
		fault.Reset()
	default:
		noCommand(name)
	}
}

func noCommand(name []byte) {
	console.Bytes(name)
	console.String(": no such command; `help` lists them\n")
}

// findCommand returns the index of the command with that name or prefix, or -1.
func findCommand(name []byte) int {
	found := -1
	for i := range commands {
		n := commands[i].name
		if len(name) > len(n) || !ascii.Same(name, n[:len(name)]) {
			continue
		}
		if len(name) == len(n) {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

func runHelp(args []byte) {
	if len(args) > 0 {
		name, _ := Word(args)
		i := findCommand(name)
		if i < 0 {
			noCommand(name)
			return
		}
		c := &commands[i]
		console.String(c.name)
		console.String(" ")
		console.Line(c.args)
		console.Line(c.help)
		if len(c.more) > 0 {
			console.Line(c.more)
		}
		return
	}
	for i := range commands {
		c := &commands[i]
		console.String("  ")
		console.String(c.name)
		console.String(" ")
		console.String(c.args)
		spaces(30 - len(c.name) - len(c.args))
		console.Line(c.help)
	}
}

// spaces writes n blanks, one at least.
func spaces(n int) {
	for {
		console.Byte(' ')
		if n--; n <= 0 {
			return
		}
	}
}

// seconds writes a time in ns as seconds, right-aligned up to the decimal point in width
// characters.
func seconds(ns uint64, width int) {
	console.DecPad(ns/1e9, width)
	console.Byte('.')
	for div := uint64(1e8); div >= 1e6; div /= 10 {
		console.Byte('0' + byte(ns/div%10))
	}
}

// traceStop writes a trace of what was interrupted.
func traceStop() {
	d := fault.NextStage(tracer.KindTrace)
	*d = fault.Stop
	d.Kind, d.Begun, d.Seq = tracer.KindTrace, false, 0
	if fault.StopWhy != fault.StopFatal {
		d.Reason.N = 0
		d.Reason.Str("monitor")
	}
	fault.WriteTrace()
	fault.LeaveStages()
}
