package fault

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// Watched places: each CPU's debug registers make it trap after an access (arch.Watch). The trap
// writes a trace, or with watch.panic=on the machine dies. All CPUs watch the same places; a CPU
// that stands still for the monitor takes over changes when it goes on.
//
//	debug exception: which places, what they hold; lock; a trace each; unlock
//
// While it reports, and in the panic path, the CPU watches nothing, because its own writes would be
// reported without end. It exchanges the value of a place before it waits for the lock, so when two
// CPUs write one after the other, each reports its own write.

// watches are the watched places; watchBits has a bit for each that is in use, and watchTurn counts
// their changes. Under the kernel lock.
var (
	watches   [arch.NumWatches]arch.Watch
	watchBits uint32
	watchTurn uint32
)

// watchValues are the values last seen in the places that have a bit in watchKnown. Under the
// kernel lock; the panic path takes none. Each changes atomically for all CPUs.
var (
	watchValues [arch.NumWatches]uint64
	watchKnown  uint32
)

// watchPanic says that an access ends the machine; watchExact is the result of arch.WatchesExact.
// Set once at boot.
var watchPanic, watchExact bool

// SetWatches reads the options watch= and watch.panic=, and makes all CPUs watch. Early context,
// after all CPUs have started.
func SetWatches() {
	_, watchPanic = option.Word("watch.panic")
	watchExact = arch.WatchesExact()
	for line := option.Line(); ; {
		value, rest, ok := option.Next(line, "watch")
		if !ok {
			break
		}
		line = rest
		addr, how := cut(value, ':')
		wrong := wantWatch
		if n, ok := ascii.Number(addr); ok {
			wrong = AddWatch(uintptr(n), how)
		}
		if wrong != "" {
			option.Ignored("watch", value, wrong)
		}
	}
	if watchBits == 0 {
		return
	}
	takeWatches()
	for n := uint32(1); n < percpu.Count(); n++ {
		smp.Begin(n, takeWatches)
		smp.Wait(n)
	}
}

const wantWatch = "want ADDRESS[:LENGTH][:w|rw], such as 0x54e1c0:4:w; zf run -watch takes the names of variables"

// AddWatch watches one more place, as how says: [LENGTH][:w|rw]. It returns what is wrong, or "".
// The running CPU and those that stand still pick it up in TakeWatches. Early and kernel context.
func AddWatch(addr uintptr, how []byte) (wrong string) {
	w := arch.Watch{Addr: addr, Size: 8}
	length, mode := cut(how, ':')
	if len(length) != 0 && (length[0] < '0' || length[0] > '9') {
		length, mode = nil, how
	}
	if len(length) != 0 {
		n, ok := ascii.Number(length)
		if !ok || n != 1 && n != 2 && n != 4 && n != 8 {
			return "the length must be 1, 2, 4 or 8"
		}
		w.Size = uint32(n)
	}
	switch {
	case ascii.Same(mode, "rw"):
		w.Reads = true
	case len(mode) != 0 && !ascii.Same(mode, "w"):
		return wantWatch
	}
	switch {
	case addr%uintptr(w.Size) != 0:
		return "the address must be a multiple of the length: watch less, or in parts"
	case addr >= highestWatch && addr-arch.DirectMap >= arch.MaxPhysical:
		return "that is no address of a program"
	case ownOfTraps(addr):
		return "what each trap writes cannot be watched: the stacks of traps, and what a CPU has for itself"
	}
	percpu.AssertLocked()
	for i := range watches {
		if watches[i].Size == 0 {
			watches[i] = w
			watchKnown &^= 1 << i
			if v, ok := loadWatch(i); ok {
				watchValues[i] = v
				watchKnown |= 1 << i
			}
			watchBits |= 1 << i
			watchTurn++
			return ""
		}
	}
	return "this CPU can watch 4 places, which are all in use"
}

// highestWatch is the end of the addresses that a program can have.
const highestWatch = 1 << 47

const _ = -uint(arch.NumWatches ^ 4) // as AddWatch says

// RemoveWatch ends the watch of that number. It returns false if there is none. Kernel context.
func RemoveWatch(i uint64) bool {
	percpu.AssertLocked()
	if i >= arch.NumWatches || watches[i].Size == 0 {
		return false
	}
	watches[i] = arch.Watch{}
	watchBits &^= 1 << i
	watchTurn++
	return true
}

// WatchAt returns the watch of that number, with Size 0 if there is none, and the value last seen
// there. Kernel and early context.
func WatchAt(i int) (w arch.Watch, v uint64, known bool) {
	return watches[i], watchValues[i], watchKnown>>i&1 != 0
}

// TakeWatches makes the running CPU watch the current places. Kernel and early context.
func TakeWatches() { takeWatches() }

//go:noinline
func takeWatches() {
	r := percpu.This()
	r.WatchTurn = watchTurn
	arch.SetWatches(&watches)
	if r.WatchHeld > 0 {
		arch.HoldWatches()
	}
}

// holdWatches makes the CPU watch nothing until releaseWatches has been called as often.
func holdWatches(r *percpu.Record) {
	if r.WatchHeld++; r.WatchHeld == 1 && r.WatchTurn != 0 {
		arch.HoldWatches()
	}
}

func releaseWatches(r *percpu.Record) {
	if r.WatchHeld == 0 {
		return
	}
	if r.WatchHeld--; r.WatchHeld == 0 && r.WatchTurn != 0 {
		takeWatches()
	}
}

// ownOfTraps reports whether the trap entry writes at addr: watching it would trap without end.
func ownOfTraps(addr uintptr) bool {
	for n := range percpu.Count() {
		if r := uintptr(unsafe.Pointer(percpu.At(n))); addr+7 >= r &&
			addr < r+unsafe.Sizeof(percpu.Record{}) {
			return true
		}
		for _, i := range [...]int{stack.Debug, stack.Nested, stack.Panic} {
			if lo, hi := stack.Bounds(n, i); addr >= lo && addr < hi {
				return true
			}
		}
	}
	return false
}

// watched handles a debug exception. It reports whether the exception was about watched places
// only. If it was a single step, too, the caller must still handle that.
func watched(f *arch.TrapFrame) bool {
	r := percpu.This()
	if r.WatchTurn == 0 {
		return false
	}
	hits, step := arch.TakeWatchHits()
	if hits &= watchBits; hits == 0 {
		return false
	}
	holdWatches(r)
	var seen [arch.NumWatches]watchSeen
	for i := range seen {
		if hits>>i&1 != 0 {
			seen[i].exchange(i)
			if seen[i].same() && !watchExact && !watches[i].Reads {
				hits &^= 1 << i
			}
		}
	}
	gate, took := r.AtGate, false
	switch {
	case !percpu.Many || r.Locked:
	case f.InKernel():
		// The CPU may be taking the lock just now: then the trace is written without it.
		took = r.TryLock(percpu.Exception, f.PC)
	default:
		r.Lock(percpu.Exception, f.PC)
		took = true
	}
	for i := range seen {
		if hits>>i&1 != 0 {
			reportWatch(f, i, &seen[i])
		}
	}
	if took {
		r.Unlock()
		r.AtGate = gate
	}
	releaseWatches(r)
	return !step && r.Stepping == 0
}

// holdForStep is called before an instruction is executed as a single step. If a step together with
// an access would lose the stack (arch.WatchesExact), the CPU does not watch meanwhile, and
// releaseAfterStep compares the values.
func holdForStep(r *percpu.Record) {
	if r.WatchTurn != 0 && !watchExact && !r.WatchStep {
		r.WatchStep = true
		holdWatches(r)
	}
}

// releaseAfterStep ends such a step: the instruction wrote whatever changed, because the other CPUs
// stand still.
func releaseAfterStep(r *percpu.Record, f *arch.TrapFrame) {
	if !r.WatchStep {
		return
	}
	for i := range watches {
		var s watchSeen
		if watchBits>>i&1 == 0 {
			continue
		}
		if s.exchange(i); s.before && s.now && s.was != s.is {
			reportWatch(f, i, &s)
		}
	}
	r.WatchStep = false
	releaseWatches(r)
}

// watchSeen is what a place held before and after an access, as far as that could be read.
type watchSeen struct {
	was, is     uint64
	before, now bool
}

// same reports whether the place is known to hold what it held.
func (s *watchSeen) same() bool { return s.before && s.now && s.was == s.is }

// exchange reads place i, stores what it holds as the last value, and puts the old and the new
// value into s.
func (s *watchSeen) exchange(i int) {
	s.is, s.now = loadWatch(i)
	if !s.now {
		return
	}
	p := &watchValues[i]
	for s.was = *p; !arch.CompareAndSwap64(p, s.was, s.is); s.was = *p {
	}
	for k := percpu.Load(&watchKnown); ; k = percpu.Load(&watchKnown) {
		s.before = k>>i&1 != 0
		if s.before || arch.CompareAndSwap(&watchKnown, k, k|1<<i) {
			return
		}
	}
}

// loadWatch returns what place i holds; ok is false if nothing is mapped there.
func loadWatch(i int) (v uint64, ok bool) {
	w := &watches[i]
	word, ok := tracer.ReadWord(w.Addr &^ 7)
	return uint64(word) >> (8 * (w.Addr & 7)) & (1<<(8*w.Size-1)<<1 - 1), ok
}

// reportWatch writes the trace of an access to place i. With watch.panic=on it does not return.
func reportWatch(f *arch.TrapFrame, i int, s *watchSeen) {
	kind := tracer.KindTrace
	if watchPanic {
		kind = tracer.KindPanic
		beginDeath(f, 0)
	}
	d := NextStage(kind)
	d.atTrap(f)
	d.Cause = false
	d.behind = behindAccess(f)
	t := &d.Reason
	t.Str("watch: ")
	t.hex(uint64(watches[i].Addr))
	if !watches[i].Reads {
		t.Str(" written")
	} else if s.before && s.was != s.is {
		t.Str(" written")
	} else {
		t.Str(" read or written")
	}
	if s.now {
		t.Str(": ")
		if s.before && (!watches[i].Reads || s.was != s.is) {
			t.hex(s.was)
			t.Str(" -> ")
		}
		t.hex(s.is)
	}
	WriteTrace()
	if watchPanic {
		EndMachine()
	}
	LeaveStages()
}

// behindAccess reports whether f's pc is just after the instruction that made an access, in the
// same function. It is not if a call wrote its return address, or if a repeated instruction goes
// on.
func behindAccess(f *arch.TrapFrame) bool {
	if f.PC < image.TextLo || f.PC >= image.TextHi || !f.BehindAccess() {
		return false
	}
	t, ok := image.PCTable()
	if !ok {
		return true
	}
	fn, ok := t.Find(f.PC)
	return !ok || fn.Entry() != f.PC
}

// cut splits b at the first byte sep, which is in neither part.
func cut(b []byte, sep byte) (before, behind []byte) {
	for i, c := range b {
		if c == sep {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}
