package golab

import "os"

// A Crash is a way to die, or not to.
type Crash struct {
	Kind   string
	Run    func()
	Help   string
	InMain bool // it runs in the main goroutine, the others in one of their own
}

// Skewed is the kind in which the other CPUs' counters of time are off.
const Skewed = "cpu.skew"

// Crashes is the table of kinds. It is laid out in the source, because the early hook lists it
// before anything has run. Crash lab only.
var Crashes = [...]Crash{
	{"go.panic-error", panicErrorA, "panic with an error", false},
	{"go.panic-nested", panicNestedA, "panic in a deferred function that a panic has called", false},
	{"go.panic-replaced", replaceA, "panic, recovered, and another panic instead", false},
	{"go.repanic", repanicA, "panic, recovered and thrown again", false},
	{"go.assert", assertA, "failed type assertion", false},
	{"go.closed", closedA, "close of a closed channel", false},
	{"go.send-closed", sendClosedA, "send on a closed channel", false},
	{"go.nil-map", nilMapA, "write to a nil map", false},
	{"go.conversion", conversionA, "conversion of a slice that is too short to an array", false},
	{"go.div-asm", divideAsmA, "division by zero in assembly", false},
	{"go.wild", wildA, "read of an address where nothing is", false},
	{"go.fault-in-defer", faultInDeferA, "a fault in a deferred function", false},
	{"go.overflow", overflowA, "endless recursion", false},
	{"go.mutual", mutualA, "endless recursion of two functions", false},
	{"go.throw-deadlock", deadlockA, "all goroutines wait", true},
	{"go.throw-map", mapWritesA, "concurrent map writes", true},
	{"go.throw-unlock", unlockA, "unlock of an unlocked mutex", false},
	{"go.goexit-main", goexitMainA, "the main goroutine, which is the last, ends itself", true},
	{"go.oom", oomA, "more memory used than there is", false},
	{"go.oom-huge", oomHugeA, "more memory asked for than an address space has", false},
	{"go.driver-fault", driverA, "a fault in a goroutine that was waiting for a descriptor", true},
	{"go.runtime-fault", runtimeFaultA, "a fault in a function of the runtime", false},
	{"go.systemstack", systemStackA, "a fault in the runtime on the stack of g0, the world stopped", false},
	{"go.syscall-bug", syscallBugA, "a fault in the kernel's handler of a system call", false},
	{"go.kernel-spin", kernelSpinA, "an endless loop in the kernel's handler of a system call", false},
	{"go.cpu", otherCPUA, "another CPU dies while a goroutine runs", false},
	{"go.cpu-record", recordOfCPUA, "a nil pointer, when the other CPUs' own records have been overwritten", false},
	{"go.cpu-lock", lockHeldA, "with several CPUs: the last one keeps the kernel lock (lockup=panic)", false},
	{"go.cpu-deaf", deafA, "with several CPUs: the last one lets no interrupt in (lockup=panic)", false},
	{"go.cpu-deaf-line", deafInLineA, "likewise, while it is the first that waits for the kernel lock (lockup=panic)", false},
	{"go.cpu-busy", busyA, "the last CPU dies while a program keeps all of them busy, in the kernel or in a goroutine (crash.seed=), at a time (crash.delay=)", false},
	{"go.cpu-lock-dies", lockDiesA, "with several CPUs: the last one dies with the kernel lock, for which the first one waits", false},
	{"go.cpu-flush-dies", flushDiesA, "with several CPUs: the last one dies when the first one waits for it to drop pages", false},
	{"go.cpu-lock-ends", lockEndsA, "no crash: with several CPUs, the first one keeps the kernel lock until the last one has said so", true},
	{"go.no-lock", noLockA, "with several CPUs, in an image built with -tags lockcheck: the last one looks at mappings without the kernel lock", false},
	{"go.over-limit", overLimitA, "a word beyond the limit of the kernel's stack irq is written to", false},
	{"go.signal-segv", signalSEGVA, "SIGSEGV that no fault has caused", false},
	{"go.signal-abrt", signalABRTA, "SIGABRT", false},
	{"go.signal-kill", signalKILLA, "SIGKILL, which nobody can take", false},
	{"go.mcall", yieldA, "two goroutines that only yield, for an NMI from outside", true},
	{"go.spin", spinA, "an endless loop, for an NMI from outside", false},
	{"go.hang", hangA, "goroutines that wait, with a timer that keeps them from a deadlock", true},
	{"go.step", stepGoA, "no crash: a trace at each instruction of defers, a panic and a stack that grows", false},
	{"go.step-entry", stepEntryA, "no crash: a loop through the entry code of the kernel, for NMIs from outside", false},
	{"go.sleep", sleepA, "no crash: sleeps for a second", true},
	{"go.exit", exitA, "no crash: exit status 7", false},
	{"go.recover-20000", recoverA, "no crash: 20,000 faults, each recovered", true},
	{"go.bad-pointer", badPointerA, "no crash: system calls with bad pointers", true},
	{Skewed, skewedA, "no crash: the other CPUs' counters of time are off; their clock is not", true},
}

// The chains' operands come from variables, so that the compiler cannot foresee the crash. Crash
// lab only.
var (
	nilPointer *[4]uint64
	table      = [3]uint64{1, 2, 3}
	five       = 5
	zero       = 0
	sink       uint64
)

// Main crashes as the kind says, if that is in the table.
func Main(kind string) {
	for _, c := range Crashes {
		switch {
		case c.Kind != kind:
		case c.InMain:
			c.Run()
		default:
			InGoroutine(c.Run)
		}
	}
}

// InGoroutine crashes in a goroutine of its own. It does not return.
func InGoroutine(crash func()) {
	go crash()
	select {}
}

func say(s string) { os.Stdout.WriteString(s + "\n") }
