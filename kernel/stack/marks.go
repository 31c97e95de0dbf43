package stack

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/tracer"
)

// The functions of the Go runtime in which a walk needs a rule, found by name in Go's pc tables. If
// a runtime lacks one of them, its rule is left out.

// Never written.
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

// Marks is the walker's table. A row without a function is empty. Set once at boot.
var Marks = []tracer.Mark{len(markedFuncs) - 1: {}}

// CodeRange is a function: lo <= pc < hi.
type CodeRange struct{ Lo, Hi uintptr }

// Holds reports whether pc is an address in the function. It runs in any context.
func (r *CodeRange) Holds(pc uintptr) bool { return pc-r.Lo < r.Hi-r.Lo }

// Functions about which more must be known. Set once at boot.
var morestack, execute, gogo, RuntimeWriter, Switch CodeRange // Switch gives a CPU to a thread

// kernelText is the kernel's code. Set once at boot.
var kernelText CodeRange

// KernelText bounds the kernel's code, which lies in one piece. Any context, after FindMarks.
func KernelText() (lo, hi uintptr) { return kernelText.Lo, kernelText.Hi }

// filesText is the code of package vfs. Set once at boot.
var filesText CodeRange

// FilesText bounds the code of package vfs, part of the kernel that no death needs; 0, 0 if it does
// not lie in one piece. Any context, after FindMarks.
func FilesText() (lo, hi uintptr) { return filesText.Lo, filesText.Hi }

// ours is the beginning of the names of the kernel's functions.
const ours = "github.com/zeroframe/zeroframe/"

// walkerAddr is the walker's address, because its own functions must not name it. Set once at boot.
var walkerAddr uintptr

// Goexit is the entry of runtime.goexit. Set once at boot.
var Goexit uintptr

// FindMarks fills the table. Early context, before the first walk.
func FindMarks() {
	t, ok := image.PCTable()
	if !ok {
		return
	}
	walkerAddr = uintptr(unsafe.Pointer(&Walker))
	n, whole := 0, true
	for i := 0; i < t.NumFuncs(); i++ {
		f, ok := t.Func(i)
		if !ok {
			continue
		}
		name := f.Name()
		if len(name) > len(ours) && ascii.Same(name[:len(ours)], ours) {
			if kernelText.Lo == 0 {
				kernelText.Lo = f.Entry()
			}
			kernelText.Hi = f.End()
			const files = "kernel/vfs."
			if rest := name[len(ours):]; len(rest) > len(files) && ascii.Same(rest[:len(files)], files) {
				if filesText.Lo == 0 {
					filesText.Lo, filesText.Hi = f.Entry(), f.Entry()
				}
				if filesText.Hi != f.Entry() {
					whole = false
				}
				filesText.Hi = f.End()
			}
		}
		if len(name) < 4 || name[0] != 'r' && name[0] != '_' && name[0] != 't' && name[0] != 'g' {
			continue
		}
		for j := range markedFuncs {
			if n < len(Marks) && ascii.Same(name, markedFuncs[j].name) {
				Marks[n] = tracer.Mark{Lo: f.Entry(), Hi: f.End(), Rule: markedFuncs[j].rule}
				n++
			}
		}
		noteFunc(name, &f)
	}
	if !whole {
		filesText = CodeRange{}
	}
	for i := n; n > 0 && i < len(Marks); i++ {
		Marks[i].Lo, Marks[i].Hi = Marks[0].Lo, Marks[0].Lo
	}
	Walker.Prepare()
}

// noteFunc keeps the bounds of a function about which more must be known.
func noteFunc(name []byte, f *tracer.Func) {
	switch {
	case ascii.Same(name, "runtime.goexit"):
		Goexit = f.Entry()
	case ascii.Same(name, "runtime.morestack"):
		morestack = CodeRange{f.Entry(), f.End()}
	case ascii.Same(name, "runtime.execute"):
		execute = CodeRange{f.Entry(), f.End()}
	case ascii.Same(name, "gogo"):
		gogo = CodeRange{f.Entry(), f.End()}
	case ascii.Same(name, ours+"kernel/thread.run"):
		Switch = CodeRange{f.Entry(), f.End()}
	case ascii.Same(name, "runtime.write1"):
		RuntimeWriter = CodeRange{f.Entry(), f.End()}
	}
}

// traced is the FS base of the thread that is being traced, which leads to its g. One per CPU.
var traced uintptr

// savedState is the walker's Saved: mcall and morestack leave a goroutine's stack for that of g0,
// and the goroutine's g tells what they left. mcall keeps the g in the word above its call; for
// morestack it is the one that the thread runs.
func savedState(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
	g := uintptr(0)
	if morestack.Holds(ra) {
		if g, ok = currentG(); !ok {
			return 0, 0, 0, false
		}
		if g == 0 || scheduling() {
			return 0, 0, 0, true // it was put back: the thread only schedules
		}
	} else if g, ok = tracer.ReadWord(slot &^ 7); !ok {
		return 0, 0, 0, false
	}
	info, ok := goinfo.ReadG(g)
	if !ok || info.ID == 0 {
		return 0, 0, 0, false
	}
	if info.Dead() && Goexit != 0 {
		// It has ended, and its stack may serve another: only goexit is left of it.
		return Goexit + 1, 0, 0, true
	}
	if m, ok := tracedM(); ok && info.M != 0 && info.M != m {
		return 0, 0, 0, true // another thread has taken it meanwhile and runs it: this one only schedules
	}
	// The walk goes on there, so that stack must be in the table.
	setRow(&Table[Goroutine], info.StackLo, info.StackHi)
	return goinfo.SavedState(&info)
}

// tracedM returns the address of the m of the traced thread.
func tracedM() (m uintptr, ok bool) {
	g, ok := goinfo.GofFS(traced)
	if !ok {
		return 0, false
	}
	return mOf(g)
}

// currentG returns the address of the goroutine that the traced thread runs, or that the runtime
// works for on the thread's g0; 0 if there is none.
func currentG() (g uintptr, ok bool) {
	m, ok := tracedM()
	if !ok {
		return 0, false
	}
	return goinfo.Curg(m)
}

// scheduling reports whether the walk has come through runtime.execute: then the thread's current
// goroutine is already the next one, not the one that has left the thread.
func scheduling() bool {
	w := (*tracer.Walker)(arch.Pointer(walkerAddr))
	for i := range w.N {
		if f := &w.Frames[i]; f.Kind == tracer.RA && execute.Holds(f.Addr-1) {
			return true
		}
	}
	return false
}

// switching is the walker's Switching. mcall and morestack load RSP with g0's before they zero RBP
// and call; gogo loads the goroutine's RSP, then RBP, then jumps.
func switching(pc, sp, fp uintptr) (ra, rsp, rbp uintptr, ok bool) {
	g, ok := currentG()
	if !ok || g == 0 {
		return 0, 0, 0, false
	}
	info, ok := goinfo.ReadG(g)
	if !ok || info.ID == 0 || gogo.Holds(pc) != (sp > info.StackLo && sp <= info.StackHi) {
		return 0, 0, 0, false // not yet, or not any more
	}
	setRow(&Table[Goroutine], info.StackLo, info.StackHi)
	if !gogo.Holds(pc) {
		return goinfo.SavedState(&info)
	}
	if info.SchedPC == info.StartPC && Goexit != 0 {
		return Goexit + 1, sp + 8, 0, true // it will run for the first time
	}
	if info.SchedBP != 0 {
		fp = info.SchedBP // once loaded, the saved value is zeroed
	}
	return info.SchedPC, sp, fp, true
}

// Registers that arch.AtEntry needs at the exact pc that the walk starts with. One per CPU.
var startA, startB uintptr

// atEntry is the walker's Entry.
func atEntry(pc, sp, fp, rec uintptr) (at tracer.Interrupted, state tracer.EntryState) {
	a, b := startA, startB
	if rec != 0 {
		a, b = arch.EntryRegistersAt(rec, tracer.ReadWord)
	}
	i, s := arch.AtEntry(&walked().CPU, pc, sp, fp, a, b, tracer.ReadWord)
	switch s {
	case arch.EntryRecord:
		state = tracer.EntryRecord
	case arch.EntryBare:
		state = tracer.EntryBare
		at = tracer.Interrupted{Vector: uint32(i.Trap), Error: uint32(i.Error), PC: i.PC, SP: i.SP,
			FP: i.FP}
	}
	return at, state
}

// unknownStack is the walker's Unknown. While the kernel switches threads, it runs on the stack on
// which the previous thread entered it: the record leads to that thread's goroutine, but the row
// holds the next goroutine's stack.
func unknownStack(rec, sp uintptr) {
	w := (*tracer.Walker)(arch.Pointer(walkerAddr))
	for i := range w.N {
		if w.Frames[i].Stack == Goroutine {
			return // the walk has been there
		}
	}
	fs, ok := tracer.ReadWord(arch.TLSOf(rec))
	if !ok {
		return
	}
	if info, ok := goroutineOf(fs); ok && sp > info.StackLo && sp <= info.StackHi {
		setRow(&Table[Goroutine], info.StackLo, info.StackHi)
	}
}
