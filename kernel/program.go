package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fs"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/tracer"
)

// Starting the program: the Go runtime's own entry, with the stack that Linux would
// have given it.

// running is set from when the program's first instruction is about to run.
var running bool

// The first thread's stack. The runtime takes the upper 64 KiB for its g0.
const (
	firstStackTop  = 0x7fff_ffff_0000
	firstStackSize = 256 << 10
	firstStackUsed = 64 << 10
)

func runtimeEntry() uintptr

// startProgram starts the program and does not return. Early context.
func startProgram() {
	mm.Release(info.Regions(), image.textLo-headerRoom)
	if e := fs.Init(clock.Wall()); e != 0 {
		Panic("not enough RAM for the file tree")
	}
	setTerminal()
	openNetwork()
	openRecords()
	loadArchives()
	fs.Keep(mm.AllFrames() / 8)
	makePresets()
	storeRecord()
	if dir, ok := Option("cwd"); ok {
		if wrong := linuxabi.Chdir(dir); wrong != "" {
			complain("cwd", dir, wrong)
		}
	}
	setTime()

	k := &stacks[stackKernel]
	amd64.SetSyscallHandler(linuxabi.Handle, k.Lo, k.Hi)
	OnInterrupt(clock.Vector, timer)
	OnInterrupt(clock.PITVector, timer)
	OnInterrupt(console.Vector, linuxabi.Pump)
	listen()
	linuxabi.Start()
	setWatchdog()
	sched.OnTick(tick)
	linuxabi.OnExit(programExit)
	linuxabi.OnPanic(goroutinePanic)
	linuxabi.OnKill(programKilled)

	t := sched.New()
	if t == nil {
		Panic("not enough RAM for a thread")
	}
	lo := uintptr(firstStackTop - firstStackSize)
	if _, e := mm.Map(lo, firstStackSize, mm.ProtRead|mm.ProtWrite, true, true); e != 0 {
		Panic("there is no room for the first stack")
	}
	amd64.OnStack(k.Lo, k.Hi, enter, uintptr(unsafe.Pointer(t)))
}

// enter fills the first stack and goes on in the program. It runs on the kernel stack,
// where the program's system calls will.
func enter(thread uintptr) {
	t := (*sched.Thread)(amd64.Pointer(thread))
	running = true
	b := stackBuilder{next: firstStackTop}
	sp, ok := b.fill()
	if !ok {
		Panic("the program's arguments and environment do not fit its first stack")
	}
	t.StackLo, t.StackHi = firstStackTop-firstStackUsed, firstStackTop
	amd64.FillUser(t.StackLo, sp-128-t.StackLo, uint64(tracer.Signature))
	t.Frame.RIP, t.Frame.RSP = runtimeEntry(), sp
	sched.Enqueue(t)
	sched.Run()
}

func timer() {
	clock.Ack() // first: the shot may have been early, and is then set again
	sched.Tick()
}

// setTerminal reads the option tty=cooked|raw|pipe.
func setTerminal() {
	mode, ok := Option("tty")
	switch {
	case !ok || Same(mode, "cooked"):
	case Same(mode, "raw"):
		tty.SetMode(tty.Raw)
	case Same(mode, "pipe"):
		tty.SetMode(tty.Pipe)
	default:
		complain("tty", mode, "want cooked, raw or pipe")
	}
}

// setTime reads the option time=SECONDS, since the Unix epoch, for machines without a
// clock that tells the date.
func setTime() {
	value, ok := Option("time")
	if !ok {
		return
	}
	if s, ok := parseUint(value); ok && s < 1<<33 {
		clock.SetWall(int64(s) * 1e9)
		return
	}
	complain("time", value, "want seconds since 1970")
}

func complain(option string, value []byte, wrong string) {
	console.String(option)
	console.String("=")
	console.Bytes(value)
	console.String(" is ignored: ")
	console.String(wrong)
	console.String("\n")
}

// listen lets the serial port interrupt, by way of the I/O APIC, or of the 8259 where
// there is none.
func listen() {
	const irq = console.IRQ
	if apic != 0 && mm.MapDevice(amd64.IOAPICBase, amd64.PageSize) &&
		amd64.RouteISA(amd64.IOAPICBase, irq, console.Vector) {
		console.EnableInput()
		return
	}
	OnInterrupt(console.PICVector, inputPIC)
	if apic != 0 {
		amd64.PassPIC(apic)
	}
	amd64.UnmaskPIC(irq)
	console.EnableInput()
}

func inputPIC() {
	linuxabi.Pump()
	amd64.AckPIC(console.IRQ)
}

// loadArchives puts the loader's initial archives into the file tree.
func loadArchives() {
	for i := range info.Modules() {
		m := &info.Modules()[i]
		if _, wrong := fs.LoadCPIO(uintptr(m.Lo), uintptr(m.Hi-m.Lo)); wrong != "" {
			console.String("initrd: ")
			console.String(wrong)
			console.String("\n")
		}
	}
}
