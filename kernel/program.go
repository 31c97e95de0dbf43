package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/dev/port"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe/outbox"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/kernel/vfs"
	"github.com/zeroframe/zeroframe/tracer"
)

// Starting the program: the Go runtime's own entry, with the stack that Linux would have made.

// The first thread's stack. The runtime takes the upper 64 KiB for its g0.
const (
	firstStackTop  = 0x7fff_ffff_0000
	firstStackSize = 256 << 10
	firstStackUsed = 64 << 10
)

// startProgram starts the program and does not return. Early context.
func startProgram() {
	findKept()
	mem.Release(image.TextLo - image.HeaderRoom)
	if e := vfs.Init(clock.Wall()); e != 0 {
		fault.Panic("not enough RAM for the file tree")
	}
	setTerminal()
	openNetwork()
	openRecords()
	loadArchives()
	mountShares()
	vfs.Keep(mem.AllFrames() / 8)
	makePresets()
	storeRecord(fault.PreviousState())
	linux.BeginProc()
	if dir, ok := option.Value("cwd"); ok {
		if wrong := linux.Chdir(dir); wrong != "" {
			option.Ignored("cwd", dir, wrong)
		}
	}
	setTime()
	if seed, ok := option.Number("jitter"); ok {
		thread.Jitter(seed)
	}
	if seed, ok := option.Number("chaos"); ok {
		thread.Chaos(seed)
	}

	k := &stack.Table[stack.Kernel]
	if percpu.Count() == 1 {
		arch.SetSyscallHandler(linux.Handle, k.Lo, k.Hi)
	} else {
		shareThreads()
	}
	fault.OnInterrupt(arch.InterruptTimer, thread.Tick)
	fault.OnInterrupt(arch.InterruptWake, thread.Tick)
	fault.OnInterrupt(arch.InterruptConsole, linux.Pump)
	listen()
	linux.Start()
	outbox.Start()
	fault.SetWatchdog()
	thread.OnTick(fault.Tick)
	linux.OnExit(fault.ProgramExit)
	linux.OnPanic(fault.GoroutinePanic)
	linux.OnKill(fault.ProgramKilled)

	arch.OnStack(k.Lo, k.Hi, enter, uintptr(unsafe.Pointer(firstThread())))
}

// firstThread makes the program's first thread, with its name and its stack.
func firstThread() *thread.Thread {
	t := thread.New()
	if t == nil {
		fault.Panic("not enough RAM for a thread")
	}
	name, given := option.Value("arg0")
	if !given {
		name = ascii.Bytes(defaultArg0)
	}
	t.Name = linux.SetExecutable(name)
	lo := uintptr(firstStackTop - firstStackSize)
	if _, e := mem.Map(lo, firstStackSize, mem.ProtRead|mem.ProtWrite, true, true); e != 0 {
		fault.Panic("there is no room for the first stack")
	}
	return t
}

// enter fills the first stack and continues in the program. It runs on the kernel stack, on which
// the program's system calls will run.
func enter(first uintptr) {
	t := (*thread.Thread)(arch.Pointer(first))
	stack.Running = true
	saveKept()
	b := stackBuilder{next: firstStackTop}
	sp, ok := b.fill()
	if !ok {
		fault.Panic("the program's arguments and environment do not fit its first stack")
	}
	t.StackLo, t.StackHi = firstStackTop-firstStackUsed, firstStackTop
	arch.FillUser(t.StackLo, sp-128-t.StackLo, uint64(tracer.Signature))
	t.Frame.PC, t.Frame.SP = arch.RuntimeEntry(), sp
	for n := uint32(1); n < percpu.Count(); n++ {
		smp.Begin(n, joinThreads)
	}
	thread.AwaitOthers()
	thread.Enqueue(t)
	thread.Run()
}

// setTerminal reads the options tty=cooked|raw|pipe|empty, tty.columns and tty.rows.
func setTerminal() {
	rows, columns, _, _ := tty.Serial.Winsize()
	if n, ok := option.Number("tty.rows"); ok {
		rows = uint16(n)
	}
	if n, ok := option.Number("tty.columns"); ok {
		columns = uint16(n)
	}
	tty.Serial.SetWinsize(rows, columns, 0, 0)
	switch mode, _ := option.Word("tty"); mode {
	case 1:
		tty.Serial.SetMode(tty.Raw)
	case 2:
		tty.Serial.SetMode(tty.Pipe)
	case 3:
		tty.Serial.SetMode(tty.Pipe)
		tty.Serial.End()
	}
}

// setTime reads the option time=SECONDS, since the Unix epoch, for machines without a clock that
// tells the date.
func setTime() {
	if s, ok := option.Number("time"); ok {
		clock.SetWall(int64(s) * 1e9)
	}
}

// listen enables the interrupts of the serial port and of the virtio console.
func listen() {
	arch.ConnectConsole(arch.LocalInterrupts() &&
		mem.MapDevice(arch.LineRegisters, arch.PageSize) != 0)
	console.EnableInput()
	if port.Listens() {
		fault.OnInterrupt(arch.InterruptPort, linux.Pump)
	}
	console.TellInput(port.Listens(), entropy.Word())
}

// loadArchives puts the loader's initial archives into the file tree.
func loadArchives() {
	for i := range info.Modules() {
		m := &info.Modules()[i]
		if _, wrong := vfs.LoadCPIO(arch.Virtual(uintptr(m.Lo)), uintptr(m.Hi-m.Lo)); wrong != "" {
			console.String("initrd: ")
			console.Line(wrong)
		}
	}
}
