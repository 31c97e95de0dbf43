package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/tracer"
)

// The functions of the Go runtime in which a walk needs a rule, found by name in Go's
// pc tables. A runtime that does not have one of them does without its rule.

var markedFuncs = [...]struct {
	name string
	rule tracer.Rule
}{
	{"runtime.goexit", tracer.RuleExit},
	{"runtime.sigpanic", tracer.RuleExact},
	{"runtime.sigpanic0", tracer.RuleExact},
	{"runtime.asyncPreempt", tracer.RuleExact},
	{"runtime.systemstack", tracer.RuleSwitch},
	{"runtime.asmcgocall", tracer.RuleSwitch},
	{"runtime.switchToCrashStack0", tracer.RuleSwitch},
	{"runtime.nanotime1", tracer.RuleSwitch},
	{"time.now", tracer.RuleSwitch},
	{"runtime.mcall", tracer.RuleSaved},
	{"runtime.morestack", tracer.RuleSaved},
	{"gogo", tracer.RuleSaved},
	{"runtime.clone", tracer.RuleStart},
	{"runtime.mstart", tracer.RuleStart},
	{"runtime.rt0_go", tracer.RuleStart},
	{"_rt0_amd64", tracer.RuleStart},
	{"_rt0_amd64_linux", tracer.RuleStart},
	{"runtime.sigreturn__sigaction", tracer.RuleRestorer},
}

// marks is the walker's table. A row without a function is empty.
var marks = []tracer.Mark{len(markedFuncs) - 1: {}}

// codeRange is a function: lo <= pc < hi.
type codeRange struct{ lo, hi uintptr }

func (r *codeRange) holds(pc uintptr) bool { return pc-r.lo < r.hi-r.lo }

// Functions that more is to be known of.
var morestack, execute, gogo codeRange

// walkerAddr is the walker's address: its own functions may not name it.
var walkerAddr uintptr

// goexit is the entry of runtime.goexit.
var goexit uintptr

// findMarks fills the table. Early context, before the first walk.
func findMarks() {
	t, ok := pcTable()
	if !ok {
		return
	}
	walkerAddr = uintptr(unsafe.Pointer(&walker))
	n := 0
	for i := 0; i < t.NumFuncs(); i++ {
		f, ok := t.Func(i)
		if !ok {
			continue
		}
		name := f.Name()
		if len(name) < 4 || name[0] != 'r' && name[0] != '_' && name[0] != 't' && name[0] != 'g' {
			continue
		}
		for j := range markedFuncs {
			if n < len(marks) && Same(name, markedFuncs[j].name) {
				marks[n] = tracer.Mark{Lo: f.Entry(), Hi: f.End(), Rule: markedFuncs[j].rule}
				n++
			}
		}
		switch {
		case Same(name, "runtime.goexit"):
			goexit = f.Entry()
		case Same(name, "runtime.morestack"):
			morestack = codeRange{f.Entry(), f.End()}
		case Same(name, "runtime.execute"):
			execute = codeRange{f.Entry(), f.End()}
		case Same(name, "gogo"):
			gogo = codeRange{f.Entry(), f.End()}
		case Same(name, "runtime.write1"):
			linuxabi.SetRuntimeWriter(f.Entry(), f.End())
		}
	}
	for i := n; n > 0 && i < len(marks); i++ {
		marks[i].Lo, marks[i].Hi = marks[0].Lo, marks[0].Lo
	}
	walker.Prepare()
}

// traced is the FS base of the thread that is being traced: where its g is found.
var traced uintptr

// savedState is the walker's Saved: mcall and morestack have left a goroutine's stack
// for that of g0, and what they have left is in the goroutine's g. mcall keeps the g in
// the word above its call; for morestack it is the one that the thread runs.
func savedState(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
	g := uintptr(0)
	if morestack.holds(ra) {
		if g, ok = currentG(); !ok {
			return 0, 0, 0, false
		}
		if g == 0 || scheduling() {
			return 0, 0, 0, true // it has been put back: the thread schedules, no more
		}
	} else if g, ok = tracer.ReadWord(slot &^ 7); !ok {
		return 0, 0, 0, false
	}
	info, ok := goinfo.ReadG(g)
	if !ok || info.ID == 0 {
		return 0, 0, 0, false
	}
	if info.Dead() && goexit != 0 {
		// It has ended, and its stack may serve another: goexit is all that is left of it.
		return goexit + 1, 0, 0, true
	}
	// The walk goes on there, so that stack must be in the table.
	setRow(&stacks[stackG], info.StackLo, info.StackHi)
	return goinfo.SavedState(&info)
}

// currentG returns the address of the goroutine that the traced thread runs, or for which
// the runtime works on the thread's g0; 0 if there is none.
func currentG() (g uintptr, ok bool) {
	if g, ok = goinfo.GofFS(traced); !ok {
		return 0, false
	}
	m, ok := mOf(g)
	if !ok {
		return 0, false
	}
	return goinfo.Curg(m)
}

// scheduling reports whether the walk has come through runtime.execute: the thread's
// current goroutine is then the next one already, not the one that has left it.
func scheduling() bool {
	w := (*tracer.Walker)(amd64.Pointer(walkerAddr))
	for i := range w.N {
		if f := &w.Frames[i]; f.Kind == tracer.RA && execute.holds(f.Addr-1) {
			return true
		}
	}
	return false
}

// switching is the walker's Switching. mcall and morestack load RSP with g0's before they
// zero RBP and call; gogo loads the goroutine's, then RBP, then jumps.
func switching(pc, sp, fp uintptr) (ra, rsp, rbp uintptr, ok bool) {
	g, ok := currentG()
	if !ok || g == 0 {
		return 0, 0, 0, false
	}
	info, ok := goinfo.ReadG(g)
	if !ok || info.ID == 0 || gogo.holds(pc) != (sp > info.StackLo && sp <= info.StackHi) {
		return 0, 0, 0, false // not yet, or not any more
	}
	setRow(&stacks[stackG], info.StackLo, info.StackHi)
	if !gogo.holds(pc) {
		return goinfo.SavedState(&info)
	}
	if info.SchedPC == info.StartPC && goexit != 0 {
		return goexit + 1, sp + 8, 0, true // it is to run for the first time
	}
	if info.SchedBP != 0 {
		fp = info.SchedBP // once loaded, it is zeroed there
	}
	return info.SchedPC, sp, fp, true
}

// RAX and RCX at the exact pc that the walk starts with.
var startAX, startCX uintptr

// atEntry is the walker's Entry.
func atEntry(pc, sp, fp, rec uintptr) (at tracer.Interrupted, state tracer.EntryState) {
	ax, cx := startAX, startCX
	if rec != 0 {
		f := rec - unsafe.Offsetof(amd64.TrapFrame{}.BP)
		ax, _ = tracer.ReadWord(f + unsafe.Offsetof(amd64.TrapFrame{}.AX))
		cx, _ = tracer.ReadWord(f + unsafe.Offsetof(amd64.TrapFrame{}.CX))
	}
	i, s := amd64.AtEntry(pc, sp, fp, ax, cx, tracer.ReadWord)
	switch s {
	case amd64.EntryRecord:
		state = tracer.EntryRecord
	case amd64.EntryBare:
		state = tracer.EntryBare
		at = tracer.Interrupted{Vector: uint32(i.Vector), Error: uint32(i.Error), PC: i.PC, SP: i.SP, FP: i.BP}
	}
	return at, state
}

// unknownStack is the walker's Unknown. While it changes threads, the kernel is on the
// stack on which it was entered from the one before: the record leads to that one's
// goroutine, and the row holds the stack of the next one's.
func unknownStack(rec, sp uintptr) {
	w := (*tracer.Walker)(amd64.Pointer(walkerAddr))
	for i := range w.N {
		if w.Frames[i].Stack == stackG {
			return // the walk has been there
		}
	}
	fs, ok := tracer.ReadWord(rec - unsafe.Offsetof(amd64.TrapFrame{}.BP) + unsafe.Offsetof(amd64.TrapFrame{}.FSBase))
	if !ok {
		return
	}
	if info, ok := goroutineOf(fs); ok && sp > info.StackLo && sp <= info.StackHi {
		setRow(&stacks[stackG], info.StackLo, info.StackHi)
	}
}
