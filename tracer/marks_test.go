package tracer

import (
	"fmt"
	"strings"
	"testing"
)

// Marked functions of the tests, 16 bytes each, at the end of the text.
const (
	inExit     = testTextLo + 0x80000 + iota<<4
	inExact    // as sigpanic
	inPreempt  // another RuleExact
	inSwitch   // as systemstack
	inSaved    // as mcall
	inStart    // as mstart
	inRestorer // its entry
	endOfMarks
)

var testMarks = []Mark{
	{inPreempt, inPreempt + 16, RuleExact},
	{inExit, inExit + 16, RuleExit},
	{inExact, inExact + 16, RuleExact},
	{inSwitch, inSwitch + 16, RuleSwitch},
	{inSaved, inSaved + 16, RuleSaved},
	{inStart, inStart + 16, RuleStart},
	{inRestorer, inRestorer + 16, RuleRestorer},
	{0x5000, 0x5000, RuleExit}, // empty
}

func TestMarks(t *testing.T) {
	const a, b, c = testTextLo + 0x10, testTextLo + 0x20, testTextLo + 0x30
	none := func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return 0, 0, 0, false }
	tests := []struct {
		name      string
		build     func(w *world) (pc, sp, fp uintptr)
		saved     func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool)
		switching func(w *world) func(pc, sp, fp uintptr) (ra, rsp, rbp uintptr, ok bool)
		delta     map[uintptr]uintptr // SPDelta by pc
		want      string
		value     func(w *world) uintptr
	}{
		// RuleExit.
		{name: "goexit", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), a)
			w.put(0, 20, 0, inExit+1)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:200010 ra:280001 goexit"},
		{name: "goexit above a zero near the top", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 58, 0, inExit+1, 0)
			return testPC, w.at(0, 8), w.at(0, 58)
		}, want: "pc:210000 ra:280001 goexit"},
		{name: "goexit as the caller of a prologue", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 20, inExit+1)
			return testPC, w.at(0, 20), 0
		}, delta: map[uintptr]uintptr{testPC: 0}, want: "pc:210000 ra:280001 goexit"},
		{name: "in goexit itself", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 20, a)
			return inExit, w.at(0, 20), 0
		}, delta: map[uintptr]uintptr{inExit: 0}, want: "pc:280000 goexit"},
		{name: "goexit with a frame pointer is no end", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExit+1)
			w.put(0, 20, 4, a)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:280001 ra:200010 misaligned", value: func(w *world) uintptr { return 4 }},
		{name: "the entry of goexit is the function before", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, 0, inExit)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:280000 outside"},

		// RuleStart.
		{name: "start of a thread", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 40), a)
			w.put(0, 40, 0, inStart+5, b)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:200010 ra:280055 zero"},
		{name: "a function that ends with a call", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 40, 0, inStart+16, b)
			return testPC, w.at(0, 8), w.at(0, 40)
		}, want: "pc:210000 ra:280060 zero"},
		{name: "in the first function, which has no caller", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 40, a)
			return inStart + 5, w.at(0, 40), 0
		}, delta: map[uintptr]uintptr{inStart + 5: 0}, want: "pc:280055 zero"},
		{name: "a start function that was called", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 8, a)
			w.put(0, 58, 0, b, 0)
			return inStart + 5, w.at(0, 8), w.at(0, 58)
		}, delta: map[uintptr]uintptr{inStart + 5: 0}, want: "pc:280055 ra:200010 ra:200020 zero"},

		// RuleExact.
		{name: "fault in a function with its record", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 30), a) // sigpanic's record: the faulting pc
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{a: 9 * 8}, want: "pc:210000 ra:280014 pc:200010 ra:200020 zero"},
		{name: "fault in a leaf without a record", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 30), a) // the faulting pc
			w.put(0, 24, c)              // the leaf's return address
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{a: 16}, want: "pc:210000 ra:280014 pc:200010 ra:200030 ra:200020 zero"},
		// The stack has moved, and the frame pointer that the faulting function saved belongs to
		// the old stack.
		{name: "fault in a function whose stack has moved", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 30), a)
			w.put(0, 30, w.at(0, 40)-5*stackGranule, b)
			w.put(0, 40, w.at(0, 62), c)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{a: 9 * 8, b - 1: 9 * 8}, want: "pc:210000 ra:280014 pc:200010 ra:200020 ra:200030 zero"},
		{name: "it is damaged, not of an old stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 30), a)
			w.put(0, 30, w.at(0, 41)-5*stackGranule, b)
			w.put(0, 40, w.at(0, 62), c)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{a: 9 * 8, b - 1: 9 * 8}, want: "pc:210000 ra:280014 pc:200010 ra:200020 outside",
			value: func(w *world) uintptr { return w.at(0, 41) - 5*stackGranule }},
		{name: "the record of another function is of an old stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 30), a)
			w.put(0, 30, w.at(0, 40), b)
			w.put(0, 40, w.at(0, 62)-5*stackGranule, c)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{a: 9 * 8, b - 1: 9 * 8, c - 1: 20 * 8}, want: "pc:210000 ra:280014 pc:200010 ra:200020 ra:200030 outside",
			value: func(w *world) uintptr { return w.at(0, 62) - 5*stackGranule }},
		{name: "the exact function is where the walk begins", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 20, w.at(0, 30), a)
			w.put(0, 24, c)
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return inExact + 4, w.at(0, 10), w.at(0, 20)
		}, delta: map[uintptr]uintptr{a: 16, inExact + 4: 11 * 8}, want: "pc:280014 pc:200010 ra:200030 ra:200020 zero"},
		{name: "in the prologue of the exact function", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 21, a)
			w.put(0, 22, c)
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return inExact, w.at(0, 21), w.at(0, 30)
		}, delta: map[uintptr]uintptr{inExact: 0, a: 0}, want: "pc:280010 pc:200010 ra:200030 ra:200020 zero"},
		{name: "a leaf called by the exact function", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, inExact+4)
			w.put(0, 20, w.at(0, 30), a)
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 10), w.at(0, 20)
		}, delta: map[uintptr]uintptr{testPC: 0}, want: "pc:210000 ra:280014 pc:200010 ra:200020 zero"},
		{name: "what was interrupted is no code, nor is the word above", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 30), 0x1234, 0x5678)
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:280014 pc:1234 ra:200020 zero"},
		{name: "call of nil: the runtime pushed nothing", build: func(w *world) (uintptr, uintptr, uintptr) {
			// sigpanic looks as if the caller had called it: its record holds
			// that call's return address.
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 30), a)
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{a: 9 * 8}, want: "pc:210000 ra:280014 pc:200010 ra:200020 zero"},
		{name: "preempted in the function that a fault in a leaf injected", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 12), inPreempt+4)
			w.put(0, 12, w.at(0, 20), inExact+4) // resumes inside the other
			w.put(0, 20, w.at(0, 30), a)
			w.put(0, 22, c)
			w.put(0, 30, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{a: 0, inExact + 4: 7 * 8}, want: "pc:210000 ra:280024 pc:280014 pc:200010 ra:200030 ra:200020 zero"},
		{name: "exact pc at the very top", build: func(w *world) (uintptr, uintptr, uintptr) {
			// Its stack pointer is the end of the stack; the frame pointer must not lead to another
			// stack.
			w.put(0, 10, w.at(0, 62), inExact+4)
			w.put(0, 62, w.at(1, 20), a)
			w.put(1, 20, w.at(1, 30), b)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:280014 pc:200010 outside", value: func(w *world) uintptr { return w.at(1, 20) }},
		{name: "exact pc whose frame pointer leads back", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.put(0, 20, w.at(0, 10), a)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:280014 pc:200010 backward", value: func(w *world) uintptr { return w.at(0, 10) }},
		{name: "a trap record in the place of the exact pc", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), inExact+4)
			w.trap(0, 20, 14, 0, a, w.at(0, 29), w.at(0, 62))
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, want: "pc:210000 ra:280014 trap:200010 pc:200010 zero"},

		// RuleSwitch.
		{name: "systemstack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(1, 20), a)
			w.put(1, 20, w.at(0, 10), inSwitch+4)
			w.put(0, 10, w.at(0, 20), b)
			w.put(0, 20, 0, inExit+1)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, want: "pc:210000 ra:200010 ra:280034 ra:200020 ra:280001 goexit"},
		{name: "a leaf on the other stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, inSwitch+4)
			w.put(0, 10, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return testPC, w.at(1, 10), w.at(0, 10)
		}, delta: map[uintptr]uintptr{testPC: 0}, want: "pc:210000 ra:280034 ra:200020 zero"},
		{name: "in systemstack, between the stacks", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 11, c) // no return address of its own
			w.put(0, 10, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return inSwitch + 4, w.at(1, 10), w.at(0, 10)
		}, delta: map[uintptr]uintptr{inSwitch + 4: 8}, want: "pc:280034 ra:200020 zero"},
		{name: "in systemstack, on its caller's stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 8, a)
			w.put(0, 10, w.at(0, 62), b)
			w.put(0, 62, 0, 0)
			return inSwitch, w.at(0, 8), w.at(0, 10)
		}, delta: map[uintptr]uintptr{inSwitch: 0}, want: "pc:280030 ra:200010 ra:200020 zero"},
		{name: "switch back to the stack before", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(0, 10), inSwitch+4)
			w.put(0, 10, w.at(1, 20), inSwitch+4)
			w.put(1, 20, w.at(0, 10), inSwitch+4)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, want: "pc:210000 ra:280034 ra:280034 revisit", value: func(w *world) uintptr { return w.at(1, 20) }},
		{name: "switch to no stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, 0xdead0000, inSwitch+4)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, want: "pc:210000 ra:280034 outside", value: func(w *world) uintptr { return 0xdead0000 }},
		{name: "switch to a misaligned record", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(0, 10)+1, inSwitch+4)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, want: "pc:210000 ra:280034 misaligned", value: func(w *world) uintptr { return w.at(0, 10) + 1 }},
		{name: "switch to the last word of a stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(0, 63), inSwitch+4)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, want: "pc:210000 ra:280034 outside", value: func(w *world) uintptr { return w.at(0, 63) }},
		{name: "switch downwards on the same stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 20, w.at(0, 10), inSwitch+4)
			return testPC, w.at(0, 8), w.at(0, 20)
		}, want: "pc:210000 ra:280034 backward", value: func(w *world) uintptr { return w.at(0, 10) }},
		{name: "another stack from a function next to a mark", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(0, 20), endOfMarks+1)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, want: "pc:210000 ra:280071 outside", value: func(w *world) uintptr { return w.at(0, 20) }},

		// RuleSaved.
		{name: "mcall", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(1, 20), a)
			w.put(1, 20, 0, inSaved+4, 0x900) // above it the g
			w.put(0, 18, 1, 2, w.at(0, 40), c)
			w.put(0, 40, 0, inExit+1)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
				return b, w.at(0, 18), w.at(0, 20), ra == inSaved+4 && slot == w.at(1, 22)
			}
		}, want: "pc:210000 ra:200010 ra:280044 ra:200020 ra:200030 ra:280001 goexit"},
		{name: "morestack: f has no record yet", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0, inSaved+4)
			w.put(0, 18, a) // f's return address; its caller has the record
			w.put(0, 20, w.at(0, 40), c)
			w.put(0, 40, 0, inExit+1)
			return testPC, w.at(1, 8), w.at(1, 20)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
				return b, w.at(0, 18), w.at(0, 20), true
			}
		}, delta: map[uintptr]uintptr{b - 1: 0}, want: "pc:210000 ra:280044 ra:200020 ra:200010 ra:200030 ra:280001 goexit"},
		{name: "morestack of a function that a fault in a leaf injected", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0, inSaved+4)
			w.put(0, 17, b, c) // the exact pc, and the leaf's return address
			w.put(0, 20, w.at(0, 40), a)
			w.put(0, 40, 0, inExit+1)
			return testPC, w.at(1, 8), w.at(1, 20)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
				return inExact + 8, w.at(0, 17), w.at(0, 20), true
			}
		}, delta: map[uintptr]uintptr{inExact + 7: 0, b: 0}, want: "pc:210000 ra:280044 ra:280018 pc:200020 ra:200030 ra:200010 ra:280001 goexit"},
		{name: "a leaf called by mcall", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, inSaved+4, 0x900)
			w.put(0, 20, 0, inExit+1)
			return testPC, w.at(1, 20), 0
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
				return b, w.at(0, 18), w.at(0, 20), slot == w.at(1, 21)
			}
		}, delta: map[uintptr]uintptr{testPC: 0}, want: "pc:210000 ra:280044 ra:200020 ra:280001 goexit"},
		{name: "in mcall, behind the switch", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0x900, a, a)
			w.put(0, 20, 0, inExit+1)
			return inSaved + 4, w.at(1, 20), 0
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
				return b, w.at(0, 18), w.at(0, 20), ra == inSaved+4 && slot == w.at(1, 20)
			}
		}, delta: map[uintptr]uintptr{inSaved + 4: 16}, want: "pc:280044 ra:200020 ra:280001 goexit"},
		{name: "mcall that nobody can tell about", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 60, 0, inSaved+4, 0)
			return testPC, w.at(1, 8), w.at(1, 60)
		}, want: "pc:210000 ra:280044 outside"},
		{name: "mcall of what is not known", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 60, 0, inSaved+4, 0)
			return testPC, w.at(1, 8), w.at(1, 60)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return none },
			want: "pc:210000 ra:280044 outside"},
		{name: "saved: not in the text", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0, inSaved+4, 0)
			return testPC, w.at(1, 8), w.at(1, 20)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return 4, w.at(0, 8), w.at(0, 20), true }
		}, want: "pc:210000 ra:280044 outside"},
		{name: "saved: nothing waits there", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0, inSaved+4, 0)
			return testPC, w.at(1, 8), w.at(1, 20)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return 0, 0, 0, true }
		}, want: "pc:210000 ra:280044 zero"},
		{name: "in mcall, RSP changed and RBP not yet", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0x900, a, a)
			w.put(0, 20, 0, inExit+1)
			return inSaved + 4, w.at(1, 20), w.at(0, 30)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return 0, 0, 0, false }
		}, switching: func(w *world) func(ra, sp, fp uintptr) (pc, rsp, rbp uintptr, ok bool) {
			return func(ra, sp, fp uintptr) (pc, rsp, rbp uintptr, ok bool) {
				return b, w.at(0, 18), w.at(0, 20), ra == inSaved+4 && sp == w.at(1, 20) && fp == w.at(0, 30)
			}
		}, delta: map[uintptr]uintptr{inSaved + 4: 16}, want: "pc:280044 ra:200020 ra:280001 goexit"},
		{name: "saved: further up on the same stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0, inSaved+4, 0)
			return testPC, w.at(1, 8), w.at(1, 20)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return b, w.at(1, 30), w.at(1, 40), true }
		}, want: "pc:210000 ra:280044 ra:200020 revisit", value: func(w *world) uintptr { return w.at(1, 30) }},
		{name: "saved: the same place for ever", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0, inSaved+4, 0)
			w.put(0, 20, 0, inSaved+4, 0)
			return testPC, w.at(1, 8), w.at(1, 20)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return b, w.at(0, 18), w.at(0, 20), true }
		}, want: "pc:210000 ra:280044 ra:200020 ra:280044 ra:200020 revisit", value: func(w *world) uintptr { return w.at(0, 18) }},
		{name: "saved: the same place for ever, in no stack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 20, 0, inSaved+4, 0)
			return testPC, w.at(1, 8), w.at(1, 20)
		}, saved: func(w *world) func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) {
			return func(ra, slot uintptr) (pc, sp, fp uintptr, ok bool) { return inSaved + 4, 16, 0, true }
		}, want: "pc:210000 " + strings.Repeat("ra:280044 ", 63) + "limit"},

		// RuleRestorer.
		{name: "in a signal handler", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(1, 40), a)
			w.trap(1, 40, VectorSignal, 23, b, w.at(0, 8), w.at(0, 10))
			w.put(0, 10, 0, inExit+1)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, want: "pc:210000 ra:200010 trap:200020 pc:200020 ra:280001 goexit"},
		{name: "in a signal handler without a record", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 38, inRestorer)
			w.trap(1, 40, VectorSignal, 23, b, w.at(0, 8), w.at(0, 10))
			w.put(0, 10, 0, inExit+1)
			return testPC, w.at(1, 10), w.at(1, 40)
		}, delta: map[uintptr]uintptr{testPC: 28 * 8}, want: "pc:210000 trap:200020 pc:200020 ra:280001 goexit"},
		{name: "a restorer that no trap record follows", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 38, inRestorer)
			w.put(1, 40, 0, inExit+1)
			return testPC, w.at(1, 10), w.at(1, 40)
		}, delta: map[uintptr]uintptr{testPC: 28 * 8}, want: "pc:210000 ra:280060 ra:280001 goexit"},
		{name: "in the restorer itself", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.trap(1, 40, VectorSignal, 23, b, w.at(0, 8), w.at(0, 10))
			w.put(0, 10, 0, inExit+1)
			return inRestorer + 5, w.at(1, 40), w.at(1, 40)
		}, want: "pc:280065 trap:200020 pc:200020 ra:280001 goexit"},

		// All in one: a system call on the stack of g0, for a goroutine.
		{name: "system call under systemstack", build: func(w *world) (uintptr, uintptr, uintptr) {
			w.trap(2, 40, VectorSyscall, 202, a, w.at(1, 8), w.at(1, 10))
			w.put(1, 10, w.at(1, 20), b)
			w.put(1, 20, w.at(0, 10), inSwitch+4)
			w.put(0, 10, w.at(0, 20), c)
			w.put(0, 20, 0, inExit+1)
			return testPC, w.at(2, 8), w.at(2, 40)
		}, want: "pc:210000 trap:200010 pc:200010 ra:200020 ra:280034 ra:200030 ra:280001 goexit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 512, 512, 512)
			pc, sp, fp := tt.build(w)
			for i, wk := range w.walkers {
				wk.Marks = testMarks
				if tt.saved != nil {
					wk.Saved = tt.saved(w)
				}
				if wk.Switching = nil; tt.switching != nil {
					wk.Switching = tt.switching(w)
				}
				if tt.delta != nil {
					wk.SPDelta = func(pc uintptr) (uintptr, bool) { d, ok := tt.delta[pc]; return d, ok }
				}
				wk.Walk(pc, sp, fp)
				if got := ends(wk); got != tt.want {
					t.Errorf("walker %d: Walk = %s; want %s", i, got, tt.want)
				}
				want := uintptr(0)
				if tt.value != nil {
					want = tt.value(w)
				}
				if wk.EndValue != want {
					t.Errorf("walker %d: EndValue = %#x; want %#x", i, wk.EndValue, want)
				}
				if wk.End.Complete() != (wk.End == EndZero || wk.End == EndGoexit) {
					t.Errorf("%v.Complete() = %v", wk.End, wk.End.Complete())
				}
				checkExact(t, w, wk)
			}
		})
	}
}

// checkExact compares each exact pc after a RuleExact frame with the stack: the word below its
// stack pointer is the pc itself.
func checkExact(t *testing.T, w *world, wk *Walker) {
	t.Helper()
	for i := 1; i < wk.N; i++ {
		f, in := wk.Frames[i], wk.Frames[i-1]
		if f.Kind != PC || in.Kind == Trap {
			continue
		}
		if got := *(*uintptr)(pointer(f.SP - 8)); got != f.Addr || f.Stack != in.Stack {
			t.Errorf("frame %d: pc %#x with SP %#x on stack %d, below which is %#x; frame before on stack %d", i, f.Addr, f.SP, f.Stack, got, in.Stack)
		}
	}
}

// TestExactAnywhere: an injected call is found at each place in the list.
func TestExactAnywhere(t *testing.T) {
	const n = 13
	for at := 0; at < n; at++ {
		w := newWorld(t, 512)
		want := "pc:210000 "
		for i := 0; i <= n; i++ {
			ra := uintptr(testTextLo + i)
			if i == at {
				ra = inExact + 1
			}
			kind := "ra"
			if i == at+1 {
				kind = "pc"
			}
			w.put(0, 8+2*i, w.at(0, 10+2*i), ra)
			want += fmt.Sprintf("%s:%x ", kind, ra)
		}
		w.put(0, 8+2*n, 0, inExit+1)
		want = want[:strings.LastIndex(want[:len(want)-1], " ")+1]
		if at+1 == n {
			// An exact pc in goexit: a return address there is one higher.
			want += "pc:280001 goexit"
		} else {
			want += "ra:280001 goexit"
		}
		for i, wk := range w.walkers {
			wk.Marks = testMarks
			wk.Walk(testPC, w.at(0, 6), w.at(0, 8))
			if got := ends(wk); got != want {
				t.Errorf("walker %d, exact frame %d: %s; want %s", i, at+1, got, want)
			}
		}
	}
}

// The rest walks a stack that Go's runtime made: a nil pointer dereference in a leaf, seen from the
// deferred function, on a goroutine of its own.
