package goinfo

import "unsafe"

// maxGs bounds the number of goroutines that is believed: that many have 32 GiB of stacks.
const maxGs = 1 << 24

// unknownStatus is the runtime's word for a status without a name.
const unknownStatus = "???"

// A G is a goroutine as the runtime describes it: a copy of its runtime.g at the time of [ReadG].
// What is not known is 0. It may be copied.
type G struct {
	Addr     uintptr // of the runtime.g
	ID       uint64  // the number in "goroutine 7"; 0 for a g0 or gsignal
	ParentID uint64  // of the goroutine that started it
	Status   uint32  // for [StatusName]; see also the methods

	StackLo, StackHi uintptr // its stack is StackLo <= address < StackHi

	// Its registers when it last left its stack. [SavedState] says which to use.
	SchedPC, SchedSP, SchedBP       uintptr
	SyscallPC, SyscallSP, SyscallBP uintptr // SyscallSP is 0 outside a system call

	M       uintptr // address of the runtime.m that it runs on, or 0
	LockedM uintptr // the same, of the one that it is locked to
	GoPC    uintptr // return address of the go statement that started it
	StartPC uintptr // entry of the function that it began with

	WaitSince int64  // when it began to wait, in ns of the runtime's clock; 0 if not known
	waiting   uint64 // index of the wait reason
}

// ReadG reads the runtime.g at addr. ok is false if memory cannot be read, if there is no
// goroutine, and if goroutines cannot be read at all ([Known]). Kernel context, early, goroutine.
func ReadG(addr uintptr) (g G, ok bool) {
	g.Addr = addr
	id, ok1 := load(addr, gID)
	status, ok2 := load(addr, gStatus)
	lo, ok3 := loadPtr(addr, gStackLo)
	hi, ok4 := loadPtr(addr, gStackHi)
	if !ok1 || !ok2 || !ok3 || !ok4 || lo > hi || lo%wordSize != 0 {
		return G{}, false
	}
	if n := item(numStatusNames); n != unknown && uint64(bare(uint32(status))) >= n {
		return G{}, false
	}
	g.ID, g.Status, g.StackLo, g.StackHi = id, uint32(status), lo, hi
	// A field that is not known, or does not exist, stays 0.
	g.ParentID, _ = load(addr, gParentID)
	g.SchedPC, _ = loadPtr(addr, gSchedPC)
	g.SchedSP, _ = loadPtr(addr, gSchedSP)
	g.SchedBP, _ = loadPtr(addr, gSchedBP)
	g.SyscallPC, _ = loadPtr(addr, gSyscallPC)
	g.SyscallSP, _ = loadPtr(addr, gSyscallSP)
	g.SyscallBP, _ = loadPtr(addr, gSyscallBP)
	g.M, _ = loadPtr(addr, gM)
	g.LockedM, _ = loadPtr(addr, gLockedM)
	g.GoPC, _ = loadPtr(addr, gGoPC)
	g.StartPC, _ = loadPtr(addr, gStartPC)
	since, _ := load(addr, gWaitSince)
	g.WaitSince = int64(since)
	g.waiting, _ = load(addr, gWaitReason)
	return g, true
}

// NumG returns the number of goroutines that [GAt] can return, including dead ones, which the
// runtime keeps for the next go statement. It is 0 if the number is not known, or cannot be true.
// Kernel context, early, goroutine.
func NumG() int {
	n, ok := loadVar(allgLen)
	if !ok || n > maxGs {
		return 0
	}
	return int(n)
}

// GAt returns goroutine i of all, 0 <= i < [NumG], in the order in which the
// runtime made them. See [ReadG] for ok. Kernel context, early, goroutine.
func GAt(i int) (g G, ok bool) {
	if i < 0 || i >= NumG() {
		return G{}, false
	}
	p, ok := loadVar(allgPtr)
	if !ok || p < firstPage {
		return G{}, false
	}
	addr, ok := readWord(uintptr(p) + uintptr(i)*unsafe.Sizeof(uintptr(0)))
	if !ok {
		return G{}, false
	}
	return ReadG(addr)
}

// GofFS returns the address of the runtime.g of a thread, by the thread's FS base: it is in the
// word below, the only thread-local variable of a Go program for amd64. During the runtime's own
// work that is the thread's g0 or gsignal. ok is false if there is none. Kernel context, early,
// goroutine.
func GofFS(fsbase uintptr) (g uintptr, ok bool) {
	if fsbase < firstPage {
		return 0, false
	}
	g, ok = readWord(fsbase - wordSize)
	return g, ok && g >= firstPage
}

// ID returns the number of the runtime.g at addr. It is for frequent calls, and reads nothing else.
// Kernel context, early, goroutine.
func ID(addr uintptr) (id uint64, ok bool) { return load(addr, gID) }

// Bounds returns the bounds of the stack of the runtime.g at addr, a goroutine's or a thread's, lo
// <= address < hi. ok is false if they cannot be read or cannot be right. It is for frequent calls,
// and reads nothing else. Kernel context, early, goroutine.
func Bounds(addr uintptr) (lo, hi uintptr, ok bool) {
	// They are the first words of each runtime.g, which the compiler depends on.
	lo, ok1 := readWord(addr)
	hi, ok2 := readWord(addr + wordSize)
	return lo, hi, ok1 && ok2 && lo < hi && (lo|hi)%wordSize == 0
}

// MOf returns the address of the runtime.m that the runtime.g at addr runs on; ok is false
// if it has none. Kernel context, early, goroutine.
func MOf(addr uintptr) (m uintptr, ok bool) {
	m, ok = loadPtr(addr, gM)
	return m, ok && m != 0
}

// is reports whether the goroutine has a status, given as an item.
func (g *G) is(status int) bool {
	s := item(status)
	return s != unknown && uint64(bare(g.Status)) == s
}

// Dead reports whether the goroutine has ended, or has not begun.
func (g *G) Dead() bool { return g.is(statusDead) }

// Running reports whether a thread runs the goroutine's Go code, so that its position is in the
// thread's registers. It is also true while the runtime works for it on the thread's g0.
func (g *G) Running() bool { return g.is(statusRunning) }

// InSyscall reports whether the goroutine has entered a system call that may block.
func (g *G) InSyscall() bool { return g.is(statusSyscall) }

// Waiting reports whether the goroutine waits for something.
func (g *G) Waiting() bool { return g.is(statusWaiting) }

// Scanned reports whether the garbage collector holds the goroutine, to look at
// its stack. The runtime's traceback then adds "(scan)" to the status.
func (g *G) Scanned() bool {
	s := item(statusScan)
	return s != unknown && uint64(g.Status)&s != 0
}

// WaitReason returns what the goroutine waits for, or last waited for, in the runtime's words
// ("chan receive"). It is nil if there is none, or none is known. The bytes are the runtime's own:
// do not write to them.
func (g *G) WaitReason() []byte {
	if g.waiting == 0 {
		return nil // the runtime's waitReasonZero
	}
	s := loadString(waitReasons, numWaitReasons, g.waiting)
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// State returns the first words in brackets of the runtime's traceback: the wait reason if the
// goroutine waits, its status otherwise.
func (g *G) State() string {
	if g.Waiting() {
		if r := g.WaitReason(); len(r) > 0 {
			return unsafe.String(unsafe.SliceData(r), len(r))
		}
	}
	return StatusName(g.Status)
}

// StatusName returns the runtime's name of a goroutine's status ("runnable"), by the table of its
// traceback, whether the garbage collector holds the goroutine or not; for a status without a name
// it returns "???", as the runtime does. Kernel context, early, goroutine.
func StatusName(status uint32) string {
	if s := loadString(statusNames, numStatusNames, uint64(bare(status))); s != "" {
		return s
	}
	return unknownStatus
}

// bare returns a status without the garbage collector's bit.
func bare(status uint32) uint32 {
	if s := item(statusScan); s != unknown {
		status &^= uint32(s)
	}
	return status
}

// SavedState returns the registers with which g goes on once it gets its stack back, for a walk of
// it: those of its system call while it is in one, otherwise those that it had when it left its
// stack for another goroutine or for the runtime's own stack (mcall, systemstack, morestack). ok is
// false if there are none, or if the stack pointer is outside its stack.
//
// A goroutine that runs on its own stack, so that [GofFS] of its thread is g, may still have old
// ones, of its last system call, which mean nothing. Those of a g0 are where the runtime's next
// work on it begins. Kernel context, early, goroutine.
func SavedState(g *G) (pc, sp, bp uintptr, ok bool) {
	pc, sp, bp = g.SchedPC, g.SchedSP, g.SchedBP
	if g.SyscallSP != 0 {
		pc, sp, bp = g.SyscallPC, g.SyscallSP, g.SyscallBP
	}
	// The runtime zeroes sched.sp when it switches back to the goroutine's stack.
	ok = pc != 0 && sp >= g.StackLo && sp <= g.StackHi && sp%wordSize == 0 && sp != 0
	return pc, sp, bp, ok
}
