package why

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// What a panic was about: an argument of the runtime's function that has panicked, or what was
// compared before that.

// Functions of the runtime that panic over an argument, and where it is at their start.
var panickers = map[string]struct {
	what string
	reg  int
}{
	"runtime.mapassign":           {"assignment to an entry of a nil map", rbx},
	"runtime.mapassign_faststr":   {"assignment to an entry of a nil map", rbx},
	"runtime.mapassign_fast32":    {"assignment to an entry of a nil map", rbx},
	"runtime.mapassign_fast64":    {"assignment to an entry of a nil map", rbx},
	"runtime.mapassign_fast64ptr": {"assignment to an entry of a nil map", rbx},
	"runtime.panicdottypeE":       {badType, rax},
	"runtime.panicdottypeI":       {badType, rax},
}

// What stands for the instruction where there is none: a longer path may have it, or no path has.
const (
	notInPath = -1
	never     = -2
)

// What makeslice panics over.
const (
	badLength   = "make of a slice with a bad length"
	badCapacity = "make of a slice with a bad capacity"
)

// badType is what an interface died of whose type was another one.
const badType = "a type assertion has failed"

// calledPanics are parts of the names of functions of the runtime that compiled code calls to
// panic, and what over.
var calledPanics = []struct{ part, what string }{
	{"anicIndex", "an index out of range"},
	{"anicBounds", "an index out of range"},
	{"anicSlice", "a slice bound out of range"},
	{"anicdivide", "a division by zero"},
	{"anicshift", "a negative shift"},
	{"makeslicelen", badLength},
	{"makeslicecap", badCapacity},
}

// reason finds what the panic was about: a place, and the instruction in front of which it has had
// the value. Instead of that it may be notInPath or never.
func (w *Why) reason(path []entry, reporter, caller string) (at int, from []place, what string) {
	if reporter != fnPanic {
		return w.inLibrary(path, reporter)
	}
	if p, ok := panickers[caller]; ok {
		if i := w.lastEntry(path, caller); i >= 0 {
			return i, []place{register(p.reg)}, p.what
		}
		return notInPath, nil, ""
	}
	if caller == "runtime.makeslice" { // makeslice(type, length, capacity)
		i := w.lastEntry(path, caller)
		call, ok := callerOf(path, len(path)-1)
		if i < 0 || !ok {
			return notInPath, nil, ""
		}
		if c := w.file.Lookup(path[call].pc, false); strings.HasSuffix(c[0].Function, "cap") {
			return i, []place{register(rcx)}, badCapacity
		}
		return i, []place{register(rbx)}, badLength
	}
	if strings.HasPrefix(caller, "internal/runtime/maps.") {
		for name, p := range panickers {
			if i := w.lastEntry(path, name); i >= 0 {
				return i, []place{register(p.reg)}, p.what
			}
		}
	}
	if caller == "runtime.closechan" || caller == "runtime.chansend" {
		i := w.lastEntry(path, caller)
		if i < 0 {
			return notInPath, nil, ""
		}
		if path[i].gpr[rax] == 0 {
			return i, []place{register(rax)}, "close of a nil channel"
		}
		what = "close of a channel that is closed"
		if caller == "runtime.chansend" {
			what = "send on a channel that is closed"
		}
		return i, []place{bytesAt(path[i].gpr[rax]+uint64(w.fields["runtime.hchan.closed"]), 4)}, what
	}
	if at, from, what = w.inLibrary(path, reporter); at >= 0 {
		return at, from, what
	}
	return w.inOwn(path)
}

// inOwn is reason for the others: the comparison that has led there, in the program's own function.
func (w *Why) inOwn(path []entry) (at int, from []place, what string) {
	for k := len(path) - 1; k > 0; k-- {
		if path[k].inst.Op != x86asm.CALL {
			continue
		}
		c := w.file.Lookup(path[k].pc, false)
		if len(c) == 0 || !w.own(&c[len(c)-1]) {
			continue
		}
		what = "a panic"
		name := w.function(path[min(k+1, len(path)-1)].pc, false)
		for _, p := range calledPanics {
			if strings.Contains(name, p.part) {
				what = p.what
				break
			}
		}
		i, ok := w.branchBefore(path, k)
		if ok && what == badCapacity { // the last comparison has only chosen between the two
			i, ok = w.branchBefore(path, i)
		}
		if !ok {
			start, _ := w.file.FuncStart(path[k].pc)
			// Whatever happens, it comes here: that is seen in the path, or in the code.
			explicit := path[min(k+1, len(path)-1)].pc == w.entry(fnPanic)
			if w.last(path, start) >= 0 || explicit && w.at != nil &&
				w.bound(start, path[k].pc, w.at.decode) {
				return k, nil, what
			}
			return notInPath, nil, ""
		}
		return i, w.compared(&path[i]), what
	}
	return notInPath, nil, ""
}

// inLibrary finds what a function of the standard library or of the kernel has given up over: the
// comparison that has led to its call of reporter, over functions that do nothing but report. at is
// never if the program's own code has given up, or the runtime by itself.
func (w *Why) inLibrary(path []entry, reporter string) (at int, from []place, what string) {
	return w.checked(path, w.last(path, w.entry(reporter)), reporter == fnPanic)
}

// checked is inLibrary for the call that path[k] is in; by the runtime itself only with all.
func (w *Why) checked(path []entry, k int, all bool) (at int, from []place, what string) {
	for k > 0 {
		call, ok := callerOf(path, k)
		if !ok {
			return notInPath, nil, ""
		}
		k = call
		calls := w.file.Lookup(path[k].pc, false)
		if len(calls) == 0 {
			return never, nil, ""
		}
		if _, own := w.ownCall(calls); own {
			return never, nil, ""
		}
		name := calls[len(calls)-1].Function
		if reports(name) {
			continue
		}
		if strings.HasPrefix(name, "runtime.") && !all {
			return never, nil, "" // its own affairs
		}
		i, ok := w.branchBefore(path, k)
		if !ok {
			if first, _ := w.file.FuncStart(path[k].pc); w.last(path[:k], first) < 0 {
				return notInPath, nil, ""
			}
			continue // whatever happens, it comes here
		}
		what = "a panic in " + name
		if !all {
			what = "given up by " + name
		}
		return i, w.compared(&path[i]), what
	}
	return notInPath, nil, ""
}

// reporting returns the outermost call of a function that only reports, of those of the runtime
// that path[k] is in, or -1. In the kernel a panic ends at the first step of the runtime's that
// needs a goroutine, by a fault.
func (w *Why) reporting(path []entry, k int) int {
	found := -1
	for ok := true; ok; k, ok = callerOf(path, k) {
		name := w.function(path[k].pc, false)
		if !strings.HasPrefix(name, "runtime.") {
			break
		}
		if reports(name) {
			found = k
		}
	}
	return found
}

// reports reports whether a function of the runtime only reports what another one has found.
func reports(function string) bool {
	name := function[strings.LastIndexByte(function, '.')+1:]
	return strings.HasPrefix(function, "runtime.") &&
		(strings.HasPrefix(name, "panic") || strings.HasPrefix(name, "goPanic")) ||
		strings.HasSuffix(name, "fatal") || strings.HasSuffix(name, "throw")
}

// compared are the places that a comparison is about.
func (w *Why) compared(e *entry) (from []place) {
	for _, a := range e.inst.Args {
		for _, p := range e.placesOf(a) {
			if len(from) == 0 || from[0] != p {
				from = append(from, p)
			}
		}
	}
	return from
}
