package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/profile"
	"github.com/zeroframe/zeroframe/kernel/recordport"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/kernel/stackid"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/depot"
)

// The sampling profiler (package profile): its memory and its options, and where the timer
// and the end of the machine meet it.

// profileStacks is how many different stacks the profiler can count.
const profileStacks = 16 << 10

// defaultDepot is the depot's size in bytes, where something needs one and depot= does not
// say another.
const defaultDepot = 256 << 10

// noDepot is said of an option that needs a depot where there is none.
const noDepot = "it needs a stack depot, and there is none (depot=)"

// findDepot reads the option depot=BYTES, and those that need a depot: record= and profile=.
// Early context, before the RAM is given away.
func findDepot() {
	given, ok := Option("depot")
	if record, recorded := Option("record"); !ok && (!recorded || Same(record, "off")) {
		if hz, _ := profileHz(); hz == 0 {
			return
		}
	}
	size := uint64(defaultDepot)
	if ok {
		if size, ok = parseUint(given); !ok || size != 0 && size < depot.MinSize || size > 1<<30 {
			complain("depot", given, "want a number of bytes, 4096 to 1 GiB, or 0 for none")
			size = defaultDepot
		}
		if size == 0 {
			return
		}
	}
	c := stackid.Code{TextLo: image.textLo, TextHi: image.textHi}
	c.TabLo, c.TabHi = pctabBounds()
	describeCode(&c)
	if base := mm.Contiguous(uintptr(size)); base == 0 || !stackid.Setup(base, uintptr(size), &c, walkID) {
		console.String("there is no stack depot: not enough RAM; make depot= smaller, or give the machine more\n")
	}
}

// profileHz reads the option profile=on|off|HZ.
func profileHz() (hz uint64, wrong []byte) {
	v, ok := Option("profile")
	switch {
	case !ok || Same(v, "off"):
		return 0, nil
	case Same(v, "on"):
		return profile.DefaultHz, nil
	}
	if hz, ok = parseUint(v); !ok || hz == 0 || hz > profile.MaxHz {
		return 0, v
	}
	return hz, nil
}

// setProfiling starts the profiler, if the option profile= wants it. Early context, after
// findDepot.
func setProfiling() {
	hz, wrong := profileHz()
	if wrong != nil {
		complain("profile", wrong, "want on, off or samples a second, to 100000")
	}
	if hz == 0 {
		return
	}
	if !stackid.On() {
		v, _ := Option("profile")
		complain("profile", v, noDepot)
		return
	}
	table := profile.Counts(profileStacks)
	if counts := mm.Contiguous(table); counts != 0 {
		profile.Setup(counts, table, hz)
		profile.Start(0)
		return
	}
	console.String("nothing is profiled: not enough RAM for the counts\n")
}

// describeCode names the functions that a quick walk has to know.
func describeCode(c *stackid.Code) {
	t, ok := pcTable()
	if !ok {
		return
	}
	for i := range marks {
		m := &marks[i]
		stackid.Special(m.Lo, m.Hi)
		f, ok := t.Find(m.Lo)
		if !ok || m.Lo >= m.Hi {
			continue
		}
		at := [2]uintptr{m.Lo, m.Hi}
		switch name := f.Name(); {
		case Same(name, "runtime.goexit"):
			c.Goexit = at
		case Same(name, "runtime.mcall"):
			c.Mcall = at
			mcall = codeRange{m.Lo, m.Hi}
		case Same(name, "runtime.mstart"):
			c.Mstart = at
		case Same(name, "runtime.systemstack"):
			c.Systemstack = at
		}
	}
}

// walkID interns a stack of the program's that is not plain: it walks as a trace does. But
// what a thread does once a goroutine has left it (mcall) is not that goroutine's: there
// the stack ends, as in the runtime's own profiles.
func walkID(f *amd64.TrapFrame, number int) (id uint32, ok bool) {
	d := &sampled
	d.pc, d.sp, d.fp, d.fs = f.RIP, f.RSP, f.BP, f.FSBase
	threadStacks(d)
	walker.Plain = false
	walk(d)
	n, end := walker.N, walker.End
	for i := range n {
		if f := &frames[i]; f.Kind == tracer.RA && mcall.holds(f.Addr-1) {
			n, end = i+1, tracer.EndZero
			break
		}
	}
	if number >= 0 {
		n = min(n, len(frames)-1)
		for i := n; i > 0; i-- {
			frames[i] = frames[i-1]
		}
		frames[0] = tracer.Frame{Kind: tracer.Trap, Vector: tracer.VectorSyscall, Error: uint32(number)}
		n++
	}
	return stackid.Depot().Intern(frames[:n], end)
}

// sampled is where such a walk begins.
var sampled death

// mcall is the runtime's function.
var mcall codeRange

// CompareStepped is for a filter of [StepTraces]: it interns the stack of the next instruction
// as the profiler does, and as a trace is walked. The two IDs are to be the same. Not inlined,
// so that no other code finds itself on the stack for debug exceptions.
//
//go:noinline
func CompareStepped() (sampled, walked uint32) {
	f := (*amd64.TrapFrame)(amd64.Pointer(stacks[stackDebug].Hi - unsafe.Sizeof(amd64.TrapFrame{})))
	sampled, _ = stackid.Program(f, -1)
	walked, _ = walkID(f, -1)
	return sampled, walked
}

// sample is called for an interrupt of the timer that has found the program running.
func sample(f *amd64.TrapFrame) {
	weight := profile.Due(sched.CPUTime())
	if weight == 0 {
		return
	}
	began := amd64.ReadTSC()
	number := justCalled(f)
	if number >= 0 {
		profile.Called(number)
	}
	id, ok := stackid.Program(f, number)
	profile.Count(id, ok, weight, amd64.ReadTSC()-began)
}

// justCalled returns the number of the system call that the kernel was in until just now,
// or -1: the interrupt had to wait for its end if nothing has run behind it.
func justCalled(f *amd64.TrapFrame) int {
	const syscall = 0x050f // 0f 05
	if f.RIP-2-image.textLo >= image.textHi-image.textLo || load16(f.RIP-2) != syscall {
		return -1
	}
	if c := amd64.LastCall(); c.FSBase == f.FSBase && c.RIP == f.RIP {
		return int(c.Error)
	}
	return int(sched.Current().Number) // it has waited in between
}

// sampleBy returns when the next sample is due; now is the time.
func sampleBy(now uint64) uint64 {
	if !profile.On() || sched.Current() == nil {
		return clock.Never
	}
	return now + profile.Wait(sched.CPUTime())
}

// sendingProfile is set while the profile is sent: should that fault, the death sends none.
var sendingProfile bool

// sendProfile sends the profile as a record, if there is one: when the machine ends, and
// after an NMI's trace. Kernel context.
func sendProfile() {
	if !profile.Ready() || sendingProfile {
		return
	}
	sendingProfile = true
	w := recordport.Begin(profile.Kind)
	now := clock.Now()
	profile.Write(w, stackid.Depot(), profile.Times{
		Began: uint64(clock.Wall()) - now, Lasted: now, Ran: profile.Ran(sched.CPUTime()), Slow: stackid.Slow(), CostHz: clock.TSCHz(),
	})
	w.End()
	sendingProfile = false
}
