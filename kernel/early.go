package kernel

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/dev/screen"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/memdump"
	"github.com/zeroframe/zeroframe/kernel/monitor"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// How the kernel comes up. The order is chosen so that it can die legibly: the console first, then
// the stacks and the gates, so that anything that goes wrong after LoadTables is reported; then
// memory; then the report.

// Version is Zeroframe's version.
const Version = "0.2.0"

// Constants of packages that may not import each other must agree.
const (
	_ = -uint(arch.TrapSyscall ^ tracer.VectorSyscall)
	_ = -uint(linux.VectorSignal ^ tracer.VectorSignal)
	_ = -uint(boot.Signature ^ tracer.Signature)
	_ = -uint(arch.TrapMark ^ tracer.TrapMark)
	_ = -uint(arch.TrapCall ^ tracer.VectorCall)
)

// earlyFunc is where boot/start_amd64.s finds the first Go function. Never written.
var earlyFunc = early

// info is the loader's information. Set once at boot.
var info boot.Info

func startInterrupts() {
	if base, ok := arch.InterruptRegisters(); ok {
		if base = mem.MapDevice(base, arch.PageSize); base != 0 {
			arch.StartInterrupts(base)
		}
	}
}

// earlyHook is a program's code for early context: it runs when the kernel is up and before the Go
// runtime would start. A program sets it in the source, because nothing else has run by then. Never
// written.
//
//go:linkname earlyHook
var earlyHook func()

// early is the first Go function. Early context, on the boot stack.
//
//go:noinline
func early() {
	percpu.InitFirst()
	console.Init()
	image.FindText()
	stack.Init()
	arch.SetTrapHandler(fault.Trap)
	if parts.Monitor {
		fault.OnStop(monitor.Open)
	}
	arch.LoadTables()
	arch.InitFPU()

	if wrong := image.Read(); wrong != "" {
		fault.Panic(wrong)
	}
	stack.FindMarks()
	linux.SetRuntimeWriter(stack.RuntimeWriter.Lo, stack.RuntimeWriter.Hi)
	info.Read()
	smp.Find(info.Root)
	option.SetLine(info.Cmdline())
	linux.SetCommandLine(info.Given())
	setConsole()
	fault.FindPrevious(info.Regions())
	fault.SetForm()
	fault.SetLast()
	fault.SetEnd()
	stack.SetLimits()
	arch.MaskInterrupts()
	setUpMemory()
	startInterrupts()
	clock.Init(mem.MapDevice(arch.AlarmRegisters(), arch.PageSize) != 0)
	fault.StartBranches()
	smp.Start(info.Regions())
	fault.SetWatches()
	entropy.Init(uint64(clock.Wall()))
	startObserving()
	addPlaces()
	findNetwork()
	findShares()
	findPort()
	startNetconsole()
	memdump.Configure(entropy.Word())
	option.PrintUnknown()

	console.HoldTail(true) // lines that are the same in each boot need not reach the next
	printReport()
	fault.PrintPrevious()
	memdump.AtBoot(info.Regions(), fault.PreviousCrashed())
	console.HoldTail(false)
	fault.CheckStacks()
	if earlyHook != nil {
		earlyHook()
		fault.CheckStacks()
	}

	if parts.Monitor {
		monitor.AtBoot()
	}
	startProgram()
}

// setUpMemory builds the page tables, and takes the RAM that must be set aside before anything else
// uses it.
func setUpMemory() {
	for i := range info.Modules() {
		m := &info.Modules()[i]
		if !mem.Keep(uintptr(m.Lo), uintptr(m.Hi)) {
			fault.Panic("the loader's modules are too many, or one ends before it begins")
		}
	}
	if wrong := mem.Init(info.Regions(), image.Segments[:image.NumSegments], image.End); wrong != "" {
		fault.Panic(wrong)
	}
	memdump.Find(info.Regions())
	percpu.This().SetRing(mem.Contiguous(arch.RingSize))
	c := &percpu.This().CPU
	if mem.ReadOnly(c.TablePages()) {
		c.LockTables()
	}
	mapScreen()
	if screen.On() {
		fault.UseCodes(mem.Contiguous(fault.CodesSize))
	}
	if !stack.Guard() {
		fault.Panic("not enough RAM behind the kernel's image for page tables: a stack has no guard page")
	}
	stack.Watch()
}

// startObserving starts what the command line asks to observe.
func startObserving() {
	observe.ChoosePort()
	observe.StartDepot()
	observe.StartProfile()
	observe.StartHandles()
	for i := range info.Modules() {
		if m := &info.Modules()[i]; observe.StartProbes(arch.Virtual(uintptr(m.Lo)),
			arch.Virtual(uintptr(m.Hi))) {
			return
		}
	}
}
