package observe

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/observe/profile"
	"github.com/zeroframe/zeroframe/kernel/observe/stackid"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// The sampling profiler (package profile): its memory and its options, and its connection to the
// timer and to the end of the machine.

// profileStacks is the number of different stacks that the profiler can count.
const profileStacks = 16 << 10

// defaultDepot is the depot's size in bytes, if something needs a depot and depot= gives no other
// size.
const defaultDepot = 256 << 10

// noDepot is printed for an option that needs a depot when there is none.
const noDepot = "it needs a stack depot, and there is none (depot=)"

// StartDepot reads the option depot=BYTES, and those that need a depot: record= and profile=. Early
// context, before the RAM is given away.
func StartDepot() {
	if !parts.Observe {
		return
	}
	given, ok := option.Value("depot")
	if record, recorded := option.Value("record"); !ok && (!recorded || ascii.Same(record, "off")) {
		if hz, _ := profileHz(); hz == 0 {
			return
		}
	}
	size := uint64(defaultDepot)
	if ok {
		if size, ok = ascii.Uint(given); !ok || size != 0 && size < stackid.MinSize || size > 1<<30 {
			option.Ignored("depot", given, "want a number of bytes, 4096 to 1 GiB, or 0 for none")
			size = defaultDepot
		}
		if size == 0 {
			return
		}
	}
	c := stackid.Code{TextLo: image.TextLo, TextHi: image.TextHi}
	c.TabLo, c.TabHi = arch.PCTableBounds()
	describeCode(&c)
	if base := mem.Contiguous(uintptr(size)); base == 0 ||
		!stackid.Setup(base, uintptr(size), &c, walkID) {
		console.String(
			"there is no stack depot: not enough RAM; make depot= smaller, or give the machine more\n")
	}
}

// profileHz reads the option profile=on|off|HZ.
func profileHz() (hz uint64, wrong []byte) {
	v, ok := option.Value("profile")
	switch {
	case !ok || ascii.Same(v, "off"):
		return 0, nil
	case ascii.Same(v, "on"):
		return profile.DefaultHz, nil
	}
	if hz, ok = ascii.Uint(v); !ok || hz == 0 || hz > profile.MaxHz {
		return 0, v
	}
	return hz, nil
}

// StartProfile starts the profiler, if the option profile= asks for it. Early context, after
// StartDepot.
func StartProfile() {
	if !parts.Observe {
		return
	}
	hz, wrong := profileHz()
	if wrong != nil {
		option.Ignored("profile", wrong, "want on, off or samples a second, to 100000")
	}
	if hz == 0 {
		return
	}
	if !stackid.On() {
		v, _ := option.Value("profile")
		option.Ignored("profile", v, noDepot)
		return
	}
	table := profile.Counts(profileStacks)
	if counts := mem.Contiguous(table); counts != 0 {
		profile.Setup(counts, table, hz)
		profile.Start(0)
		return
	}
	console.String("nothing is profiled: not enough RAM for the counts\n")
}

// describeCode names the functions that a quick walk must know.
func describeCode(c *stackid.Code) {
	t, ok := image.PCTable()
	if !ok {
		return
	}
	for i := range stack.Marks {
		m := &stack.Marks[i]
		stackid.Special(m.Lo, m.Hi)
		f, ok := t.Find(m.Lo)
		if !ok || m.Lo >= m.Hi {
			continue
		}
		at := [2]uintptr{m.Lo, m.Hi}
		switch name := f.Name(); {
		case ascii.Same(name, "runtime.goexit"):
			c.Goexit = at
		case ascii.Same(name, "runtime.mcall"):
			c.Mcall = at
			mcall = stack.CodeRange{Lo: m.Lo, Hi: m.Hi}
		case ascii.Same(name, "runtime.mstart"):
			c.Mstart = at
		case ascii.Same(name, "runtime.systemstack"):
			c.Systemstack = at
		}
	}
}

// walkID interns a stack of the program that is not plain: it walks as a trace does. But what a
// thread does once a goroutine has left it (mcall) does not belong to that goroutine: the stack
// ends there, as in the runtime's own profiles.
func walkID(f *arch.TrapFrame, number int) (id uint32, ok bool) {
	stack.ProgramRows(f.TLS, 0)
	stack.Walker.Plain = false
	stack.WalkFrom(false, f.PC, f.SP, f.FP, 0, 0)
	n, end := stack.Walker.N, stack.Walker.End
	for i := range n {
		if f := &stack.Frames[i]; f.Kind == tracer.RA && mcall.Holds(f.Addr-1) {
			n, end = i+1, tracer.EndZero
			break
		}
	}
	if number >= 0 {
		n = min(n, len(stack.Frames)-1)
		for i := n; i > 0; i-- {
			stack.Frames[i] = stack.Frames[i-1]
		}
		stack.Frames[0] = tracer.Frame{Kind: tracer.Trap, Vector: tracer.VectorSyscall,
			Error: uint32(number)}
		n++
	}
	return stackid.Depot().Intern(stack.Frames[:n], end)
}

// mcall is the runtime's function. Set once at boot.
var mcall stack.CodeRange

// CompareStepped is for a filter of [StepTraces]: it interns the stack of the next instruction as
// the profiler does, and as a trace walks it. The two IDs must be equal. Not inlined, so that no
// other code is on the stack for debug exceptions.
//
//go:noinline
func CompareStepped() (sampled, walked uint32) {
	fp := arch.FramePointer()
	for next, ra := arch.FrameRecord(fp); ra != arch.TrapMark; next, ra = arch.FrameRecord(fp) {
		fp = next
	}
	f := arch.FrameOf(fp)
	sampled, _ = stackid.Program(f, -1)
	walked, _ = walkID(f, -1)
	return sampled, walked
}

// Sample is called when an interrupt of the timer has found the program running. A tick belongs to
// what ran when it was due: to the kernel, if the interrupt had to wait for the kernel to finish.
func Sample(f *arch.TrapFrame) {
	now := thread.Ran()
	if profile.Wait(now) != 0 {
		return
	}
	if at, call := thread.Switched(); call {
		if weight, late := profile.Due(at); weight != 0 {
			c := arch.LastCall() // of the previous thread: this one has not run yet
			count(c, int(c.Error), weight, late)
		}
	}
	if weight, late := profile.Due(now); weight != 0 {
		count(f, justCalled(f), weight, late)
	}
	profile.Skip(thread.Ran() - now)
}

// count counts a sample of the program's stack at f, of the system call number if that is
// not negative.
func count(f *arch.TrapFrame, number int, weight uint32, late bool) {
	began := arch.ReadCounter()
	if number >= 0 {
		profile.Called(number)
	}
	id, ok := stackid.Program(f, number)
	profile.Count(id, ok, weight, late, number >= 0, arch.ReadCounter()-began)
}

// justCalled returns the number of the system call that the kernel was in until just now, or -1:
// the interrupt had to wait for the call's end if nothing has run since. The frames from which the
// kernel returns tell that, and no other state of the thread does.
func justCalled(f *arch.TrapFrame) int {
	if f.PC-arch.SyscallSize-image.TextLo >= image.TextHi-image.TextLo || !arch.BehindSyscall(f.PC) {
		return -1
	}
	if c := arch.LastCall(); c.TLS == f.TLS && c.PC == f.PC {
		return int(c.Error)
	}
	// The thread has waited in between, or is new. Or a signal's handler has returned here: that
	// restores the whole FPU, which a call does not.
	if t := thread.Current(); !t.Full && t.Frame.TLS == f.TLS && t.Frame.PC == f.PC {
		return int(t.Frame.Error)
	}
	return -1
}

// NextSample returns when the next sample is due; now is the time.
func NextSample(now uint64) uint64 {
	if !profile.On() || thread.Current() == nil {
		return clock.Never
	}
	return now + profile.Wait(thread.Ran())
}

// sendingProfile is set while the profile is sent: if that faults, the crash sends none. Under the
// kernel lock; the panic path takes none.
var sendingProfile bool

// SendProfile sends the profile as a record, if there is one: when the machine ends, and
// after an NMI's trace. callName names the system calls. Kernel context.
func SendProfile(callName func(int) string) {
	if !profile.Ready() || sendingProfile {
		return
	}
	sendingProfile = true
	w := eventstream.Begin(profile.Kind)
	now := clock.Now()
	profile.Write(w, stackid.Depot(), profile.Times{
		Began: uint64(clock.Wall()) - now, Lasted: now, Ran: profile.Ran(thread.CPUTime()),
		Slow: stackid.Slow(), CostHz: clock.TSCHz(),
	}, callName)
	w.End()
	sendingProfile = false
}

// ChoosePort chooses where records go, by the option record.port.
func ChoosePort() {
	port, ok := option.Value("record.port")
	if !ok {
		port = nil
	}
	if wrong := eventstream.Configure(port); wrong != "" {
		option.Ignored("record.port", port, wrong)
	}
}
