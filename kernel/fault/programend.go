package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/observe/outbox"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// How a program ends: with a status of its own, or by dying. The Go runtime dies by ending the
// process with a status, too, but then the runtime's own code makes the call, and not a program
// through os.Exit or syscall.Exit.

// ProgramExit is called for exit_group with the frame f.
func ProgramExit(f *arch.TrapFrame, status int) {
	stopAlarm()
	if status != 0 {
		restoreKept() // the image's tables tell who called
	}
	if status == 0 || !calledByRuntime(f) {
		eventstream.CloseAll()
		outbox.Send()
		reportSyscalls()
		if _, ok := option.Word("kstat"); ok && percpu.Many {
			ReportLock()
		}
		observe.SendHandles("exit")
		Exit(status)
	}
	keepBranches(diedOfFault())
	d := NextStage(tracer.KindPanic)
	d.atTrap(f)
	d.Cause = false
	if m := linux.Message(); len(m) > 0 {
		d.Reason.bytes(m)
		if Contains(m, "out of memory") {
			d.Kind = tracer.KindOOM
		}
		if fault, ok := linux.MessageSignal(); ok {
			d.Kind, d.Cause = tracer.KindFault, true
			d.vector, d.code, d.at, d.addr = uint32(fault.Vector), uint32(fault.Error), fault.PC, fault.Addr
		}
	} else {
		d.Reason.Str(tracer.RuntimeEnded)
		d.Reason.Dec(uint64(status))
	}
	asleep := Contains(linux.Message(), "all goroutines are asleep")
	first := uint64(0)
	if asleep {
		// The runtime noticed this on some thread that had nothing to do. The program's goroutines
		// tell what it waits for.
		first = d.fromStopped()
	}
	WriteTrace()
	if asleep {
		ListGoroutines(first, false)
	}
	EndMachine()
}

// diedOfFault reports whether the runtime has printed that the program dies of a fault.
func diedOfFault() bool {
	if _, ok := linux.MessageSignal(); ok {
		return true
	}
	m := linux.Message() // of a fault that the runtime turned into a panic
	return Contains(m, "invalid memory address or nil pointer dereference") ||
		Contains(m, "unexpected fault address")
}

// calledByRuntime reports whether the runtime itself called runtime.exit, where f was taken.
func calledByRuntime(f *arch.TrapFrame) bool {
	t, ok := image.PCTable()
	if !ok {
		return false
	}
	fn, ok := t.Find(f.PC)
	if !ok || !runtimeName(fn.Name()) {
		return false
	}
	delta, ok := fn.SPDelta(f.PC)
	if !ok {
		return false
	}
	ra, ok := tracer.ReadWord(f.SP + uintptr(delta))
	if !ok {
		return false
	}
	caller, ok := t.Find(ra - 1)
	return ok && runtimeName(caller.Name())
}

// Contains reports whether b contains s. It runs in any context.
func Contains(b []byte, s string) bool {
	for i := 0; i+len(s) <= len(b); i++ {
		if ascii.Same(b[i:i+len(s)], s) {
			return true
		}
	}
	return false
}

// signalNames are the names of signals that end a program. Never written.
var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
	8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE",
	14: "SIGALRM", 15: "SIGTERM",
}

// tellsToEnd has a bit for each signal that tells a healthy program to end: those that leave no
// core on Linux (signal(7)).
const tellsToEnd = 1<<1 | 1<<2 | 1<<10 | 1<<12 | 1<<13 | 1<<14 | 1<<15

// fromInterrupted makes this the trace of a program that was told to end. It starts where the
// signal arrived, without the runtime's handler; if no goroutine ran there, it starts in the
// program's first goroutine. No tables follow, because nothing is broken.
func (d *Details) fromInterrupted() {
	d.brief = true
	f, ok := d.interrupted()
	if ok && f.Stack != stack.Goroutine && d.fromProgram() {
		f, ok = d.interrupted() // the thread where that goroutine runs may be in a handler, too
	}
	if ok {
		d.Have = 0
		d.PC, d.sp, d.fp = f.Addr, f.SP, f.FP
		d.reg(arch.RegisterPC, f.Addr)
		d.reg(arch.RegisterSP, f.SP)
		d.reg(arch.RegisterFP, f.FP)
	}
}

// interrupted returns the place that the outermost trap of the walk interrupted.
func (d *Details) interrupted() (f tracer.Frame, ok bool) {
	d.FindStacks()
	stack.Walker.Plain = false
	Walk(d)
	w := &stack.Walker
	for i := w.N - 1; i > 0; i-- {
		if w.Frames[i].Kind == tracer.PC && w.Frames[i-1].Kind == tracer.Trap {
			return w.Frames[i], true
		}
	}
	return f, false
}

// fromProgram makes the crash start in the first goroutine of the program, the main goroutine if it
// is there, whether it runs or not. It returns false if there is none.
func (d *Details) fromProgram() bool {
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || g.Dead() || SystemGoroutine(&g) {
			continue
		}
		if g.Running() {
			if t := ThreadOf(&g); t != nil {
				d.FromThread(t)
				return true
			}
		} else if d.FromGoroutine(&g) {
			d.Reason.Str(": ")
			d.describeG(&g)
			return true
		}
	}
	return false
}

// ProgramKilled is called when a signal ends the program.
func ProgramKilled(t *thread.Thread, sig int) {
	d := NextStage(tracer.KindPanic)
	f := &t.Frame
	d.atTrap(f)
	d.Cause = false
	asked := false
	if int(t.Fault.Signal) == sig {
		d.Kind = tracer.KindFault
		d.vector, d.code, d.addr = uint32(t.Fault.Vector), uint32(t.Fault.Error), t.Fault.Addr
		d.Cause = true
		d.describe(true)
		d.Reason.Str(": ")
	} else if m := linux.Message(); len(m) > 0 {
		d.Reason.bytes(m)
		d.Reason.Str(": ")
	} else {
		asked = tellsToEnd>>uint(sig)&1 != 0
	}
	d.Reason.Str("ended by signal ")
	d.Reason.Dec(uint64(sig))
	if sig < len(signalNames) {
		d.Reason.Str(", ")
		d.Reason.Str(signalNames[sig])
	}
	if asked {
		d.fromInterrupted()
	}
	WriteTrace()
	EndMachine()
}

// outOfMemory ends the machine after an access to a page for which there is no frame.
func outOfMemory(f *arch.TrapFrame) {
	d := NextStage(tracer.KindOOM)
	d.atTrap(f)
	d.Reason.Str("out of memory: all ")
	d.Reason.Dec(mem.AllFrames() * arch.PageSize >> 10)
	d.Reason.Str(" KiB are in use, at an access to ")
	d.Reason.hex(uint64(f.Addr))
	WriteTrace()
	EndMachine()
}

// reportSyscalls lists the system calls that had no answer, with syscalls=log.
func reportSyscalls() {
	if _, log := option.Word("syscalls"); !log {
		return
	}
	console.FreshLine()
	console.Printf("%d system calls", percpu.Calls())
	none := true
	for n := range linux.MaxCall {
		if count := linux.Unknown(n); count > 0 {
			if none {
				console.String("; not answered:")
			}
			none = false
			console.Printf("\n  %3d ", uint64(n))
			console.String(linux.CallName(n))
			console.Printf(", %d times", uint64(count))
		}
	}
	console.String("\n")
}
