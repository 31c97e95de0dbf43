package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/recordport"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/tracer"
)

// How a program ends: by a status of its own, or by dying. The Go runtime dies by
// ending the process with a status, too; but then it is the runtime's own code that
// calls, and not a program through os.Exit or syscall.Exit.

// programExit is called for exit_group with the frame f.
func programExit(f *amd64.TrapFrame, status int) {
	if status == 0 || !calledByRuntime(f) {
		recordport.CloseAll()
		reportSyscalls()
		sendResources("exit")
		Exit(status)
	}
	d := climb(tracer.KindPanic)
	d.fromTrap(f)
	d.cause = false
	d.placeTrap(f)
	if m := linuxabi.Message(); len(m) > 0 {
		d.reason.bytes(m)
		if contains(m, "out of memory") {
			d.kind = tracer.KindOOM
		}
		if fault, ok := linuxabi.MessageSignal(); ok {
			d.kind, d.cause = tracer.KindFault, true
			d.vector, d.code, d.at, d.addr = uint32(fault.Vector), uint32(fault.Error), fault.PC, fault.Addr
		}
	} else {
		d.reason.str("the Go runtime has ended the program with status ")
		d.reason.dec(uint64(status))
	}
	asleep := contains(linuxabi.Message(), "all goroutines are asleep")
	first := uint64(0)
	if asleep {
		// The runtime has noticed on some thread that had nothing to do. What the
		// program waits for is in its goroutines.
		first = d.sleeper()
	}
	perform()
	if asleep {
		listGoroutines(first, false)
	}
	endFatal()
}

// calledByRuntime reports whether runtime.exit, in which f is, was called by the
// runtime for itself.
func calledByRuntime(f *amd64.TrapFrame) bool {
	t, ok := pcTable()
	if !ok {
		return false
	}
	fn, ok := t.Find(f.RIP)
	if !ok || !runtimeName(fn.Name()) {
		return false
	}
	delta, ok := fn.SPDelta(f.RIP)
	if !ok {
		return false
	}
	ra, ok := tracer.ReadWord(f.RSP + uintptr(delta))
	if !ok {
		return false
	}
	caller, ok := t.Find(ra - 1)
	return ok && runtimeName(caller.Name())
}

func contains(b []byte, s string) bool {
	for i := 0; i+len(s) <= len(b); i++ {
		if Same(b[i:i+len(s)], s) {
			return true
		}
	}
	return false
}

// signalNames are the names of signals that end a program.
var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
}

// programKilled is called when a signal ends the program.
func programKilled(t *sched.Thread, sig int) {
	d := climb(tracer.KindPanic)
	f := &t.Frame
	d.fromTrap(f)
	d.placeTrap(f)
	d.cause = false
	if int(t.Fault.Signal) == sig {
		d.kind = tracer.KindFault
		d.vector, d.code, d.addr = uint32(t.Fault.Vector), uint32(t.Fault.Error), t.Fault.Addr
		d.cause = true
		d.describe(true)
		d.reason.str(": ")
	} else if m := linuxabi.Message(); len(m) > 0 {
		d.reason.bytes(m)
		d.reason.str(": ")
	}
	d.reason.str("ended by signal ")
	d.reason.dec(uint64(sig))
	if sig < len(signalNames) {
		d.reason.str(", ")
		d.reason.str(signalNames[sig])
	}
	perform()
	endFatal()
}

// outOfMemory is for an access to a page for which there is no frame.
func outOfMemory(f *amd64.TrapFrame) {
	d := climb(tracer.KindOOM)
	d.fromTrap(f)
	d.placeTrap(f)
	d.reason.str("out of memory: all ")
	d.reason.dec(mm.AllFrames() * amd64.PageSize >> 10)
	d.reason.str(" KiB are in use, at an access to ")
	d.reason.hex(uint64(f.CR2))
	perform()
	endFatal()
}

// reportSyscalls lists the system calls that were not answered, with syscalls=log.
func reportSyscalls() {
	how, ok := Option("syscalls")
	if !ok {
		return
	}
	if !Same(how, "log") {
		complain("syscalls", how, "want log")
		return
	}
	console.FreshLine()
	console.Dec(linuxabi.Calls())
	console.String(" system calls")
	none := true
	for n := 0; n < linuxabi.MaxCall; n++ {
		if count := linuxabi.Unknown(n); count > 0 {
			if none {
				console.String("; not answered:")
			}
			none = false
			console.String("\n  ")
			console.DecPad(uint64(n), 3)
			console.String(" ")
			console.String(linuxabi.CallName(n))
			console.String(", ")
			console.Dec(uint64(count))
			console.String(" times")
		}
	}
	console.String("\n")
}
