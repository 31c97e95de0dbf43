package kernel

import (
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
	{"runtime.clone", tracer.RuleStart},
	{"runtime.mstart", tracer.RuleStart},
	{"runtime.rt0_go", tracer.RuleStart},
	{"_rt0_amd64", tracer.RuleStart},
	{"_rt0_amd64_linux", tracer.RuleStart},
	{"runtime.sigreturn__sigaction", tracer.RuleRestorer},
}

// marks is the walker's table. A row without a function is empty.
var marks = []tracer.Mark{len(markedFuncs) - 1: {}}

// morestack bounds runtime.morestack.
var morestackLo, morestackHi uintptr

// goexit is the entry of runtime.goexit.
var goexit uintptr

// findMarks fills the table. Early context, before the first walk.
func findMarks() {
	t, ok := pcTable()
	if !ok {
		return
	}
	n := 0
	for i := 0; i < t.NumFuncs() && n < len(marks); i++ {
		f, ok := t.Func(i)
		if !ok {
			continue
		}
		name := f.Name()
		if len(name) < 8 || name[0] != 'r' && name[0] != '_' && name[0] != 't' {
			continue
		}
		for j := range markedFuncs {
			if Same(name, markedFuncs[j].name) {
				marks[n] = tracer.Mark{Lo: f.Entry(), Hi: f.End(), Rule: markedFuncs[j].rule}
				n++
			}
			switch {
			case Same(name, "runtime.goexit"):
				goexit = f.Entry()
			case Same(name, "runtime.morestack"):
				morestackLo, morestackHi = f.Entry(), f.End()
			case Same(name, "runtime.write1"):
				linuxabi.SetRuntimeWriter(f.Entry(), f.End())
			}
		}
	}
	for i := n; n > 0 && i < len(marks); i++ {
		marks[i].Lo, marks[i].Hi = marks[0].Lo, marks[0].Lo
	}
}

// traced is the FS base of the thread that is being traced: where its g is found.
var traced uintptr

// savedState is the walker's Saved: mcall and morestack have left a goroutine's stack
// for that of g0, and what they have left is in the goroutine's g. mcall keeps the g in
// the word above its call; for morestack it is the one that the thread runs.
func savedState(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
	g := uintptr(0)
	if ra >= morestackLo && ra < morestackHi {
		if g, ok = goinfo.GofFS(traced); !ok {
			return 0, 0, 0, false
		}
		m, ok1 := mOf(g)
		cur, ok2 := goinfo.Curg(m)
		if !ok1 || !ok2 {
			return 0, 0, 0, false
		}
		g = cur
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
