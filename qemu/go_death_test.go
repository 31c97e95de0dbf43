package qemu

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// Deaths under the Go runtime: each kind of the crash lab in goroutine context, booted.

// A goDeath is what such a kind must look like.
type goDeath struct {
	kind    string // of the crash
	trace   string // the JSON's kind
	context string
	vector  int    // -1: none
	reason  string // with 0x* for an address that the linker decides
	// chain is that of labTrace, of our own functions and the boundaries alone: what
	// the runtime calls in between depends on its version, and is held against its own
	// traceback.
	chain string
	end   string
	says  string // what the Go runtime itself must have said; "" if it had no chance
}

const (
	inGoroutine = " runtime.goexit"
	inMain      = " golab.Main main.main runtime.main runtime.goexit"
	nilMemory   = "panic: runtime error: invalid memory address or nil pointer dereference"
)

// panics are deaths of which the Go runtime says what it takes for the reason.
func goPanic(kind, reason, chain string) goDeath {
	return goDeath{kind, "panic", "goroutine", -1, reason, "g: " + chain + inGoroutine, "goexit", reason}
}

// goFault is a death by a fault of which the runtime cannot make a panic.
func goFault(kind string, vector int, reason, chain string) goDeath {
	return goDeath{kind, "fault", "goroutine", vector, reason, "trap g: " + chain + inGoroutine, "goexit", reason}
}

// goSignal is a death by a signal that was sent.
func goSignal(kind, reason, chain string) goDeath {
	return goDeath{kind, "panic", "goroutine", -1, reason, "trap g: " + chain + inGoroutine, "goexit", reason}
}

var goDeaths = []goDeath{
	// The chains of the early context.
	goPanic("go.panic", "panic: the crash lab gave up", "main.panicC main.panicB main.panicA"),
	goPanic("go.panic-type", "panic: main.exitCode(-7)", "main.panicTypeC main.panicTypeB main.panicTypeA"),
	goPanic("go.nil-read", nilMemory, "main.nilReadC main.nilReadB main.nilReadA"),
	goPanic("go.nil-write", nilMemory, "main.nilWriteC main.nilWriteB main.nilWriteA"),
	goPanic("go.nil-call", nilMemory, "main.callAddress main.nilCallC main.nilCallB main.nilCallA"),
	goPanic("go.bounds", "panic: runtime error: index out of range [5] with length 3",
		"main.boundsC main.boundsB main.boundsA"),
	goPanic("go.slice", "panic: runtime error: slice bounds out of range [:5] with capacity 3",
		"main.sliceC main.sliceB main.sliceA"),
	goPanic("go.div0", "panic: runtime error: integer divide by zero", "main.divideC main.divideB main.divideA"),
	goPanic("go.gp", "fatal error: fault", "main.protectionC main.protectionB main.protectionA"),
	goPanic("go.ro-write", "fatal error: fault", "main.readOnlyC main.readOnlyB main.readOnlyA"),
	goPanic("go.nx", "fatal error: fault", "main.callAddress main.noExecC main.noExecB main.noExecA"),
	goPanic("go.leaf", nilMemory, "main.leafC main.leafB main.leafA"),
	goFault("go.ud2", 6, "SIGILL: illegal instruction", "main.undefinedC main.undefinedB main.undefinedA"),
	goFault("go.int3", 3, "SIGTRAP: trace trap", "main.breakpointC main.breakpointB main.breakpointA"),
	{"go.double-fault", "fault", "goroutine", 8, "double fault",
		"g: main.doubleC main.doubleB main.doubleA" + inGoroutine, "goexit", ""},
	{"go.in-irq", "fault", "kernel", 14, "nil pointer dereference, write to 0x18",
		"irq: main.inIRQE main.inIRQD main.inIRQHandler kernel/fault.interrupt kernel/fault.Trap arch/amd64.trapEntry trap" +
			" g: arch/pc.InterruptSelf? arch.InterruptSelf? kernel/fault.RaiseInterrupt main.inIRQC main.inIRQB main.inIRQA" + inGoroutine, "goexit", ""},
	{"go.overflow-irq", "fault", "kernel", 14, "stack overflow: irq ran into its guard page, write to 0x*",
		"irq: main.irqOverflowD* main.irqOverflowHandler kernel/fault.interrupt kernel/fault.Trap arch/amd64.trapEntry trap" +
			" g: arch/pc.InterruptSelf? arch.InterruptSelf? kernel/fault.RaiseInterrupt main.irqOverflowC main.irqOverflowB main.irqOverflowA" + inGoroutine, "goexit", ""},

	// Damaged frame pointers: the trace ends there, and says so.
	{"go.rbp-misaligned", "fault", "goroutine", 6, "SIGILL: illegal instruction",
		"trap g: main.smash main.misalignedC main.misalignedB", "misaligned", "SIGILL"},
	{"go.rbp-outside", "fault", "goroutine", 6, "SIGILL: illegal instruction",
		"trap g: main.smash main.outsideC", "outside", "SIGILL"},
	{"go.rbp-cycle", "fault", "goroutine", 6, "SIGILL: illegal instruction",
		"trap g: main.smashSelf main.cycleC", "backward", "SIGILL"},
	{"go.rbp-zero", "fault", "goroutine", 6, "SIGILL: illegal instruction",
		"trap g: main.smash main.zeroFPC", "outside", "SIGILL"},
	{"go.ra-smashed", "fault", "goroutine", 6, "SIGILL: illegal instruction",
		"trap g: main.smashCaller main.smashedC", "text", "SIGILL"},

	// Panics and faults of programs.
	goPanic("go.panic-error", "panic: an error of the crash lab",
		"golab.panicErrorC golab.panicErrorB golab.panicErrorA"),
	goPanic("go.panic-nested", "panic: the first, panic: the second",
		"golab.panicDeferred golab.panicNestedC golab.panicNestedB golab.panicNestedA"),
	goPanic("go.panic-replaced", "panic: the first [recovered], panic: the second",
		"golab.panicInstead golab.replaceC golab.replaceB golab.replaceA"),
	goPanic("go.repanic", "panic: the first [recovered*",
		"golab.panicAgain golab.repanicC golab.repanicB golab.repanicA"),
	goPanic("go.assert", "panic: interface conversion: interface {} is int, not string",
		"golab.assertC golab.assertB golab.assertA"),
	goPanic("go.closed", "panic: close of closed channel", "golab.closedC golab.closedB golab.closedA"),
	goPanic("go.send-closed", "panic: send on closed channel",
		"golab.sendClosedC golab.sendClosedB golab.sendClosedA"),
	goPanic("go.nil-map", "panic: assignment to entry in nil map", "golab.nilMapC golab.nilMapB golab.nilMapA"),
	goPanic("go.conversion", "panic: runtime error: cannot convert slice with length 3 to array or pointer to array with length 4",
		"golab.conversionC golab.conversionB golab.conversionA"),
	goPanic("go.div-asm", "panic: runtime error: integer divide by zero",
		"golab.divideAsmC golab.divideAsmB golab.divideAsmA"),
	goPanic("go.wild", "fatal error: fault", "golab.wildC golab.wildB golab.wildA"),
	goPanic("go.fault-in-defer", nilMemory,
		"golab.faultDeferred golab.faultInDeferC golab.faultInDeferB golab.faultInDeferA"),
	goPanic("go.driver-fault", nilMemory, "golab.driverC golab.driverEvent golab.driverLoop"),

	// What the runtime gives up over.
	goPanic("go.throw-map", "fatal error: concurrent map writes", "golab.mapWriterC golab.mapWriterB golab.mapWriterA"),
	goPanic("go.throw-unlock", "fatal error: sync: unlock of unlocked mutex",
		"golab.unlockC golab.unlockB golab.unlockA"),
	{"go.throw-deadlock", "panic", "goroutine", -1, "fatal error: all goroutines are asleep - deadlock!*",
		"g: golab.deadlockC golab.deadlockB golab.deadlockA" + inMain, "goexit",
		"fatal error: all goroutines are asleep - deadlock!"},
	{"go.goexit-main", "panic", "goroutine", -1, "fatal error: no goroutines (main called runtime.Goexit) - deadlock!",
		"g:? runtime.goexit", "goexit", "fatal error: no goroutines (main called runtime.Goexit) - deadlock!"},
	{"go.overflow", "panic", "goroutine", -1, "fatal error: stack overflow",
		"g: golab.overflowC* golab.overflowB golab.overflowA" + inGoroutine, "goexit",
		"fatal error: stack overflow"},
	{"go.oom", "oom", "goroutine", 14, "out of memory: all *",
		"g: golab.oomC golab.oomB golab.oomA" + inGoroutine, "goexit", ""},
	{"go.oom-huge", "oom", "goroutine", -1, "fatal error: runtime: out of memory",
		"g: golab.oomHugeC golab.oomHugeB golab.oomHugeA" + inGoroutine, "goexit", "fatal error: runtime: out of memory"},
	goPanic("go.runtime-fault", "fatal error: fault", "golab.runtimeFaultC golab.runtimeFaultB golab.runtimeFaultA"),
	goFault("go.systemstack", 14, "SIGSEGV: segmentation violation",
		"golab.systemStackC golab.systemStackB golab.systemStackA"),
	goSignal("go.signal-segv", "SIGSEGV: segmentation violation",
		"golab.signalC golab.signalB golab.signalSEGVA"),
	goSignal("go.signal-abrt", "SIGABRT: abort", "golab.signalC golab.signalB golab.signalABRTA"),
	{"go.signal-kill", "panic", "goroutine", -1, "ended by signal 9, SIGKILL",
		"g: golab.signalC golab.signalB golab.signalKILLA" + inGoroutine, "goexit", ""},

	{"go.kernel-panic", "panic", "goroutine", -1, "the crash lab asked for it",
		"g: main.kernelPanicC main.kernelPanicB main.kernelPanicA" + inGoroutine, "goexit", ""},

	// Bugs of the kernel's: both sides of the boundary are there.
	{"go.syscall-bug", "fault", "kernel", 14, "nil pointer dereference, write to 0x10",
		"kernel: golab.syscallBugE golab.syscallBugD golab.syscallBugHandler kernel/linux.noSuchCall" +
			" kernel/linux.(*call).do kernel/linux.Handle arch/amd64.syscallEntry trap" +
			" g: golab.syscallBugC golab.syscallBugB golab.syscallBugA" + inGoroutine, "goexit", ""},
}

// ourChain is the chain of our own functions, of runtime.main and runtime.goexit, and
// of boundaries; a stack is named where one of them is the first on it, and then the
// number of equal frames in a row is left out.
func (t *labTrace) ourChain() string {
	var words []string
	stack := ""
	for _, w := range strings.Fields(strings.ReplaceAll(t.chain(), "kernel/crashlab/", "")) {
		name, _, _ := strings.Cut(w, "*")
		switch {
		case strings.HasSuffix(w, ":"):
			stack = w
		case w == "trap", w == "?":
			words, stack = append(words, w), ""
		case w == "runtime.goexit", w == "runtime.main", isOurs(name):
			if stack != "" {
				words, stack = append(words, stack), ""
			}
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

var ours = regexp.MustCompile(`^(main|golab|kernel|kernel/\w+|arch|arch/amd64|arch/pc)\.`)

func isOurs(name string) bool { return ours.MatchString(name) }

// sameChain compares with a chain in which a word that ends in "?" may be missing, and
// one that ends in "*" is a frame that comes any number of times.
func sameChain(got, want string) bool {
	re := regexp.QuoteMeta(want)
	re = regexp.MustCompile(`(\S+)\\\? `).ReplaceAllString(re, `($1 )?`)
	re = regexp.MustCompile(`\\\*( |$)`).ReplaceAllString(re, `\*\d+$1`)
	return regexp.MustCompile("^" + re + "$").MatchString(got)
}

func TestGoDeaths(t *testing.T) {
	t.Parallel()
	for _, d := range goDeaths {
		t.Run(d.kind, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			res, serial, err := boot(t, Config{Kernel: path}, "crash="+d.kind+" env.GOTRACEBACK=system")
			if err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
			all := traces(t, symbols, serial)
			if len(all) == 0 {
				t.Fatal("no trace")
			}
			checkGoDeath(t, all[0], d)
			if id := symbols.BuildID(); all[0].BuildID != id {
				t.Errorf("build ID = %s; want the image's, %s", all[0].BuildID, id)
			}
			for _, tr := range all[1:] {
				if tr.Kind != "trace" {
					t.Errorf("a second trace of kind %s: %s", tr.Kind, tr.Reason)
				}
			}
			says, _, _ := strings.Cut(d.says, "*")
			says = strings.ReplaceAll(says, ", panic: ", "\r\n\tpanic: ") // a line each
			if text, _, _ := strings.Cut(serial, "zf1 begin"); !strings.Contains(text, says) {
				t.Errorf("Go's own message is not there: %q", says)
			}
			if d.says != "" && !strings.HasPrefix(d.chain, "trap g: main.smash") {
				compareWithGo(t, all[0], serial)
			}
		})
	}
}

func checkGoDeath(t *testing.T, tr *labTrace, d goDeath) {
	t.Helper()
	got := tr.ourChain()
	ended := d.kind == "go.goexit-main" // its stack may be gone
	if ended {
		got = strings.TrimPrefix(got, ": ")
	}
	if !sameChain(got, d.chain) {
		t.Errorf("our functions = %s\nwant            %s\nof %s", got, d.chain, tr.chain())
	}
	complete := d.end == "goexit"
	if tr.Kind != d.trace || tr.Context != d.context || tr.End != d.end || tr.Complete != complete || tr.Damaged || tr.Version != 1 {
		t.Errorf("kind, context, end, complete, damaged, version = %s, %s, %s, %v, %v, %d; want %s, %s, %s, %v, false, 1",
			tr.Kind, tr.Context, tr.End, tr.Complete, tr.Damaged, tr.Version, d.trace, d.context, d.end, complete)
	}
	vector := -1
	if tr.Vector != nil {
		vector = *tr.Vector
	}
	if vector != d.vector {
		t.Errorf("vector = %d; want %d", vector, d.vector)
	}
	start, _, cut := strings.Cut(d.reason, "*")
	if tr.Reason != d.reason && !(cut && strings.HasPrefix(tr.Reason, start)) {
		t.Errorf("reason = %q; want %q", tr.Reason, d.reason)
	}
	if tr.Thread < 1 || tr.Goroutine < 1 && !ended {
		t.Errorf("thread, goroutine = %d, %d; want those that ran", tr.Thread, tr.Goroutine)
	}
	last := tr.Frames[len(tr.Frames)-1]
	if complete && last.Function != "runtime.goexit" {
		t.Errorf("the trace is complete and ends in %s; want runtime.goexit", last.Function)
	}
	for i, f := range tr.Frames {
		if f.Kind != "trap" && (f.Function == "" || f.Line == 0) {
			t.Errorf("frame %d, %s, has no function or no line", i, f.Address)
		}
	}
	if f := tr.Frames[0]; tr.Registers["rip"] != f.Address || tr.Registers["rbp"] != f.FP {
		t.Errorf("rip, rbp = %s, %s; want frame 0's, %s, %s", tr.Registers["rip"], tr.Registers["rbp"], f.Address, f.FP)
	}
	// The stacks: the kernel's, the goroutine's and the threads', each with a size.
	names := map[string]labStack{}
	for _, s := range tr.Stacks {
		names[s.Name] = s
		if s.Size == 0 || s.Used < 0 || s.Used > s.Size {
			t.Errorf("stack %+v; want one with a size and a use", s)
		}
	}
	for _, f := range tr.Frames {
		if s, ok := names[f.Stack]; f.Kind != "trap" && (!ok || s.Used == 0 && f.Stack != "g") && !(ended && f.Stack == "") {
			t.Errorf("frame %s is on the stack %q, which is %+v in the table", f.Function, f.Stack, s)
		}
	}
	for _, name := range []string{"boot", "kernel", "panic", "g0.1", "sig.1"} {
		if _, ok := names[name]; !ok {
			t.Errorf("stack %s is not in the table", name)
		}
	}
}
