package tracer

import "unsafe"

// Exit thunks: a function's return address is replaced by the address of a few instructions, which
// run a hook and then go where the function would have returned to. The hook does not see the
// function's arguments, and the caller notices nothing: all registers are as the function left
// them.
//
// The words on the stack are then not what they seem. So this is only for stacks that never move
// and that only the hardware and this package's walks read: those of kernel context and of
// assembly. A goroutine's stack is read by Go's runtime, in garbage collection and when it grows or
// shrinks. There the runtime would find the thunk, whose caller it cannot find, and die
// ("traceback: unexpected SPWRITE function tracer.exitThunk"); and after a move, the table would
// have the old addresses. So goroutines are refused. For their functions there are probes: zf run
// -probe.
//
// The original return addresses are kept in one table, because the thunk has only the stack pointer
// to find them by. The table is the package's only state. Entries are found by the address of the
// word on the stack, so hooks nest in every way: functions in functions, in handlers of traps on
// other stacks, several on one function (the last one set runs first). A function that never
// returns leaves its entry in the table; the entry is dropped when its word has changed and the
// room is needed.

// MaxExits is the number of hooks that can be set at a time.
const MaxExits = 64

// exit is a replaced return address.
type exit struct {
	slot uintptr // address of the word
	ra   uintptr // the original address: the thunk, if the function has another hook
	f    uintptr // address of the hook's code
	arg  uintptr
}

var (
	exits    [MaxExits]exit
	numExits int
)

// Refusal says why no hook was set; "" means that one was set.
type Refusal string

// The reasons.
const (
	OnGoroutine Refusal = "this is a goroutine's stack, which Go's runtime reads and moves: it would die of the replaced return address (zf run -probe counts and times a goroutine's functions)"
	NoExitRoom  Refusal = "there is no room for another hook"
	NoExitThunk Refusal = "there are exit thunks for amd64 alone"
	NotASlot    Refusal = "no return address can be there"
)

// OnReturn makes f be called with arg when the function that calls OnReturn returns, after its
// deferred calls. f must be a top-level function: only its address is kept. It runs on the same
// stack; it may panic, walk and set hooks itself. The function that calls OnReturn must not be
// inlined, or the function that contains it gets the hook. OnReturn does nothing, and says why, if
// [MaxExits] hooks are set, on a goroutine's stack, and on a CPU other than amd64. Early and kernel
// context; any other is refused.
func OnReturn(f func(arg uintptr), arg uintptr) Refusal {
	fp, moves := hookFrame()
	switch {
	case fp == 0:
		return NoExitThunk
	case moves:
		return OnGoroutine
	}
	// fp is this function's own record; the one above is its caller's.
	caller, ok := ReadWord(fp)
	if !ok {
		return NotASlot
	}
	return OnReturnAt(caller+8, f, arg)
}

// OnReturnAt is OnReturn for the function whose return address lies at slot. It is for assembly,
// where at a function's entry that is the address in SP. It does not check the kind of stack.
func OnReturnAt(slot uintptr, f func(arg uintptr), arg uintptr) Refusal {
	thunk := exitThunkPC()
	if thunk == 0 {
		return NoExitThunk
	}
	ra, ok := ReadWord(slot)
	if !ok || slot%8 != 0 {
		return NotASlot
	}
	if ra == thunk {
		if _, ok := TrueReturn(slot, ra); !ok {
			return NotASlot
		}
	} else {
		dropExits(slot) // of an earlier function that has not returned
	}
	if numExits == MaxExits {
		dropStale(thunk)
	}
	if numExits == MaxExits {
		return NoExitRoom
	}
	exits[numExits] = exit{slot, ra, **(**uintptr)(unsafe.Pointer(&f)), arg}
	numExits++ // an interrupt from here on finds a complete entry
	*(*uintptr)(pointer(slot)) = thunk
	return ""
}

// TrueReturn is for code that reads return addresses from a stack. For the address ra found at slot
// it returns where the function really returns to, and whether the address was replaced. Any
// context.
func TrueReturn(slot, ra uintptr) (pc uintptr, replaced bool) {
	if numExits == 0 || ra != exitThunkPC() {
		return ra, false
	}
	for i := numExits - 1; i >= 0; i-- {
		if e := &exits[i]; e.slot == slot && e.ra != ra {
			return e.ra, true
		}
	}
	return ra, false
}

// hooked reports whether a function whose return address lies at lo <= slot < hi has a hook.
func hooked(lo, hi uintptr) bool {
	for i := range exits[:numExits] {
		if exits[i].slot-lo < hi-lo {
			return true
		}
	}
	return false
}

// dropExits drops the entries of a slot.
func dropExits(slot uintptr) {
	n := 0
	for i := 0; i < numExits; i++ {
		if exits[i].slot != slot {
			exits[n] = exits[i]
			n++
		}
	}
	numExits = n
}

// dropStale drops the entries whose word no longer holds the thunk's address.
func dropStale(thunk uintptr) {
	n := 0
	for i := 0; i < numExits; i++ {
		if ra, ok := ReadWord(exits[i].slot); ok && ra == thunk {
			exits[n] = exits[i]
			n++
		}
	}
	numExits = n
}

// exited is called by the thunk when the function whose return address was at slot has returned. It
// restores the address and calls the hook.
func exited(slot uintptr) {
	for i := numExits - 1; i >= 0; i-- {
		e := exits[i]
		if e.slot != slot {
			continue
		}
		*(*uintptr)(pointer(slot)) = e.ra
		for ; i+1 < numExits; i++ {
			exits[i] = exits[i+1]
		}
		numExits--
		p := &e.f
		(*(*func(uintptr))(unsafe.Pointer(&p)))(e.arg)
		return
	}
	exits[slot].slot = slot // the table was overwritten: there is nowhere to go
}

// atThunk reports whether pc is the thunk's first instruction: then its return address is in the
// word below SP, where the return has left it.
func atThunk(pc uintptr) bool { return numExits != 0 && pc == exitThunkPC() }

// trueReturns restores the true return addresses in the frames from first on, which were found in
// the records from fp up.
func (w *Walker) trueReturns(first int, fp uintptr) {
	for i := first; i < w.N; i++ {
		f := &w.Frames[i]
		f.Addr, _ = TrueReturn(fp+8, f.Addr)
		fp = f.FP
	}
}
