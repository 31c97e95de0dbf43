package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/recordport"
	"github.com/zeroframe/zeroframe/kernel/resource"
	"github.com/zeroframe/zeroframe/tracer"
)

// The way from a death to its trace, and the ladder for deaths on that way: a
// full trace; when that faults, addresses only; when that faults too, one line;
// then a word that needs no other code, and the machine ends as after any death, with what
// there is of a record. A rung is counted before anything is done on it, so whatever breaks,
// the ladder comes to its end.
//
// While a trace is written all exceptions go to the stack "nested", so that the
// stacks that the trace is about stay as they were, and NMIs are dropped. A
// trace that was asked for (NMI, breakpoint) takes the same way and then steps
// down from the ladder again.

const (
	// numRungs is the number of rungs: full trace, addresses, one line.
	numRungs = 3
	// maxRung is the last one that is good for anything: above numRungs the record may die,
	// then what is sent by network, and then there is the end that panic= asks for.
	maxRung = numRungs + 3
)

// The stack "nested", from the top: the second rung runs at its top (it is where
// a fault on the first one lands), the third below it, and an NMI that is dropped
// below that. So none of them overwrites another.
const (
	thirdRungBelow = 8 << 10
	droppedBelow   = 16 << 10
)

var (
	deaths [numRungs]death
	rung   int    // rungs in use
	seq    uint32 // traces since boot
	fatal  int    // fatal traps since boot

	// The stack "nested", apart from the table, which may be what is broken.
	nestedLo, nestedHi uintptr

	// What the IST was when the ladder was entered.
	savedLo, savedTop [amd64.NumIST]uintptr
)

// Panic gives up: it writes a trace of the caller, with that reason, and ends
// the machine as the option panic= says. Any context. It does not return.
//
//go:noinline
func Panic(reason string) {
	fp := amd64.FramePointer()
	if running && !amd64.OnFakeG() {
		panicCall(reason, fp)
	}
	d := climb(tracer.KindPanic)
	d.reason.str(reason)
	panicCaller(d, fp)
}

// panicCall makes the system call linuxabi.PanicCall: a goroutine's stack is not one to
// write a trace on.
func panicCall(reason string, fp uintptr)

// goroutinePanic answers it.
func goroutinePanic(f *amd64.TrapFrame, reason []byte) {
	d := climb(tracer.KindPanic)
	d.fromTrap(f)
	d.placeTrap(f)
	d.cause = false
	d.reason.bytes(reason)
	panicCaller(d, f.DX)
}

// panicCaller traces the caller of the function with the frame record at fp.
func panicCaller(d *death, fp uintptr) {
	saved, ra := amd64.FrameRecord(fp)
	d.have = 0
	d.callerAt(ra, fp+16, saved)
	perform()
	endFatal()
}

// die is for a fatal trap.
func die(f *amd64.TrapFrame) {
	if fatal++; fatal > maxRung {
		giveUp() // not even the ladder works
	}
	d := climb(tracer.KindFault)
	d.fromTrap(f)
	d.placeTrap(f)
	if rung > 1 {
		d.reason.str("in the panic path: ")
		d.describe(false)
	} else if !d.goPanic() {
		d.describe(true)
	}
	perform()
	endFatal()
}

// ask is for a trap that wants a trace and goes on.
func ask(kind tracer.TraceKind, f *amd64.TrapFrame, reason string) {
	if rung > 0 {
		die(f) // the panic path itself ran into it
	}
	d := climb(kind)
	d.fromTrap(f)
	d.placeTrap(f)
	d.reason.str(reason)
	perform()
	descend()
	if kind == tracer.KindNMI && running {
		listGoroutines(d.goroutine, false)
		if !recordport.Busy() {
			resource.Send("nmi")
			sendProfile()
			sendProbes()
			recordport.Flush()
		}
	}
}

// climb takes the next rung and returns its death, empty. Above the last rung
// there is nothing left to say, but for what endFatal does with what there is.
func climb(kind tracer.TraceKind) *death {
	amd64.DisableInterrupts()
	amd64.DropNMI(true) // before the rung is counted: an NMI in between is no fault of the panic path
	rung++
	switch {
	case rung > maxRung:
		giveUp() // even the end has failed
	case rung > numRungs:
		if rung == numRungs+1 {
			amd64.LastWord(0, 0)
		}
		endFatal()
	case rung == 1:
		for i := 1; i < amd64.NumIST; i++ {
			savedLo[i], savedTop[i] = amd64.IST(i)
			amd64.SetIST(i, nestedLo, nestedHi)
		}
		amd64.SetIST(amd64.ISTNMI, nestedLo, nestedHi-droppedBelow)
		console.HoldTail(true)
	case rung == 2:
		for i := 1; i < amd64.NumIST; i++ {
			if i != amd64.ISTNMI {
				amd64.SetIST(i, nestedLo, nestedHi-thirdRungBelow)
			}
		}
	}
	d := &deaths[rung-1]
	d.begin(kind)
	return d
}

// descend leaves the ladder: what follows is traced in full again.
func descend() {
	for i := 1; i < amd64.NumIST; i++ {
		amd64.SetIST(i, savedLo[i], savedTop[i])
	}
	rung, fatal = 0, 0
	console.HoldTail(false)
	amd64.DropNMI(false)
	if n := amd64.DroppedNMIs(); n != dropped {
		console.Dec(uint64(n - dropped))
		console.String(" NMI came while the trace was written and was not traced\n")
		dropped = n
	}
}

// dropped is how many NMIs had been dropped when that was last reported.
var dropped uint32

// perform writes the trace of the topmost rung.
func perform() { performRung(uintptr(rung)) }

// performRung runs writeRung: on the first rung on the panic stack; on the others it
// stays where the fault in the panic path has put them.
func performRung(n uintptr) {
	if rung == 1 {
		s := &stacks[stackPanic]
		amd64.OnStack(s.Lo, s.Hi, writeRung, n)
		return
	}
	writeRung(n)
}
