package kernel

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/entropy"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/tracer"
)

// How the kernel comes up. The order serves dying: the console first, then the
// stacks and the gates, so that whatever goes wrong from the fourth line on is
// reported; then memory; then the report.

// Version is Zeroframe's version.
const Version = "0.1.0"

// Constants that packages which may not import each other must agree on.
const (
	_ = -uint(amd64.VectorSyscall ^ tracer.VectorSyscall)
	_ = -uint(linuxabi.VectorSignal ^ tracer.VectorSignal)
	_ = -uint(boot.Signature ^ tracer.Signature)
	_ = -uint(amd64.TrapMark ^ tracer.TrapMark)
	_ = -uint(amd64.VectorCall ^ tracer.VectorCall)
)

// start is where the boot package's assembly enters.
func start()

// earlyFunc is where start_amd64.s finds the first Go function.
var earlyFunc = early

// info is what the loader said.
var info boot.Info

// apic is the address of the local APIC's registers, 0 if there is none.
var apic uintptr

func findAPIC() {
	if base, ok := amd64.APICBase(); ok && mm.MapDevice(base, amd64.PageSize) {
		apic = base
		amd64.EnableAPIC(apic)
	}
}

// earlyHook is a program's code for the early context: it runs when the kernel
// is up and before the Go runtime would start. A program sets it in the source,
// since nothing else has run by then:
//
//	//go:linkname earlyHook github.com/zeroframe/zeroframe/kernel.earlyHook
//	var earlyHook = func() { ... }
//
//go:linkname earlyHook
var earlyHook func()

// early is the first Go function. Early context, on the boot stack.
//
//go:noinline
func early() {
	console.Init()
	findText()
	initStacks()
	amd64.SetTrapHandler(trap)
	amd64.LoadTables()
	amd64.InitFPU()

	findImage()
	findMarks()
	info.Read()
	setConsole()
	findRecord()
	setForm()
	setEnd()
	setLimits()
	amd64.MaskPIC()
	for i := range info.Modules() {
		m := &info.Modules()[i]
		mm.Keep(uintptr(m.Lo), uintptr(m.Hi))
	}
	if wrong := mm.Init(info.Regions(), image.segments[:image.n], image.end); wrong != "" {
		Panic(wrong)
	}
	lo, hi := amd64.TablePages()
	if mm.ReadOnly(lo, hi) {
		amd64.LockTables()
	}
	mapScreen()
	guardStacks()
	watchStacks()
	findAPIC()
	clock.Init(apic)
	entropy.Init(uint64(clock.Wall()))
	findRecordPort()
	findDepot()
	setProfiling()
	setRecording()
	startProbes()
	findNetwork()
	startNetconsole()

	console.HoldTail(true) // what is the same in each boot need not reach the next
	printReport()
	tellRecord()
	console.HoldTail(false)
	CheckStacks()
	if earlyHook != nil {
		earlyHook()
		CheckStacks()
	} else if crash, ok := Option("crash"); ok {
		console.String("crash=")
		console.Bytes(crash)
		console.String(" is ignored: this program is not the crash lab (kernel/crashlab)\n")
	}
	monitorAtBoot()
	startProgram()
}
