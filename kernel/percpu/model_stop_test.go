package percpu_test

import "testing"

// A death with several CPUs, and the monitor that holds them (package fault, cpus.go). CPUs die at
// any time, at the same time, too, also while the monitor is open on them or on another one. A CPU
// that is in an NMI of another kind takes no other until it returns, and may die there, or report
// the NMI, for which it holds the others, too. The limits of stopOthers and awaitNone are steps that
// can be made at any time, where late is set. Those of a CPU which has died behind another, or waits
// for the end of a report, are taken to be long enough: the first is over only if the other one
// hangs.

// The words.
const (
	stopDying = 1 + iota
	stopHeld
	stopAsked                           // of three words
	stopState     = stopAsked + numCPUs // of three words
	stopNMI       = stopState + numCPUs // of three words: 1 if one waits to be taken
	stopReporting = stopNMI + numCPUs
)

// The states of a CPU, of percpu.State.
const (
	stopRunning = iota
	stopIsDying
	stopStopped
	stopIsHeld
)

// Where a CPU is: the step that it makes next.
const (
	stopRun       = iota
	stopSwap      // takeMachine: compares and swaps dying
	stopLose      // State = Dying, behind another one
	stopAwait     // loads dying; waits to be stopped
	stopTake      // takes the machine over, once its time is over
	stopSetDying  // State = Dying
	stopReport    // awaitReport: loads reporting
	stopSend      // stopOthers: sends each an NMI
	stopAwaitAll  // loads each State
	stopReset     // resets those that still run
	stopWrites    // writes the traces
	stopEnd       // has ended the machine
	stopHalted    // halt, for good
	stopIsReset   //
	stopHang      // has died, and comes no further
	holdDying     // HoldCPUs: loads dying
	holdHeld      // of a fault: and held
	holdSetHeld   // held = its number
	holdAsk       // Asked = 1
	holdSend      // sends the NMI
	holdAwait     // awaitNone(Running)
	holdOpen      // the monitor is open
	holdRelease   // ReleaseCPUs: held = 0
	holdAwaitHeld // awaitNone(Held)
	reportSwap    // of an NMI: beginReport: swaps reporting
	reportDying   // loads dying
	reportUndo    // reporting = 0
	reportStop    // stopIfAsked: State = Stopped
	reportEnd     // endReport: reporting = 0
)

// Where it is in an NMI.
const (
	nmiDying      = 1 + iota // stopIfAsked: loads dying
	nmiMine                  // loads it again
	nmiState                 // loads State
	nmiStop                  // State = Stopped
	nmiAsked                 // standStill: loads Asked
	nmiClear                 // Asked = 0
	nmiHeldWord              // loads held
	nmiSetHeld               // State = Held
	nmiHeldDying             // loads dying
	nmiSetRunning            // State = Running
	nmiReturn                // IRET
)

type stopCPU struct {
	at, nmi, other, seen uint8
	blocked              bool // it is in an NMI of another kind
	opens                bool // it is yet to open the monitor, or, in an NMI, to report it
	reports              bool // it does
}

type stopModelState struct {
	memory
	cpus [numCPUs]stopCPU
	late bool // a CPU was waited for no longer
}

// stopConfig is what may come, and what can be wrong.
type stopConfig struct {
	dies, inNMI, opens [numCPUs]bool
	late               bool // stopWait may be over
	hangs              bool // CPU 0 comes no further when it has died first

	noSwap    bool // takeMachine loads dying and then stores it
	noStop    bool // standStill does not look whether a CPU has died
	noMine    bool // stopIfAsked does not look whether its own CPU has died first
	heldStore bool // HoldCPUs loads held and then stores it
	takeStore bool // who takes the machine over stores dying
	noNMI     bool // stopOthers sends none
	noReport  bool // takeMachine does not look whether a CPU reports an NMI
}

func (l stopModelState) cpu(i int, w *stopConfig, emit func(stopModelState, string)) {
	s := l
	c := &s.cpus[i]
	me, state := uint8(i+1), stopState+uint8(i)
	other := l.cpus[i].other
	send := func(what string) {
		emit(s, what)
		s = l
	}
	to := func(at uint8, what string) {
		c.at = at
		send(what)
	}
	toNMI := func(at uint8, what string) {
		c.nmi = at
		send(what)
	}
	if !s.drained(i) && c.at != stopIsReset {
		s.commit(i)
		send("a store comes to memory")
	}
	if c.at == stopIsReset || c.at == stopEnd {
		return
	}
	switch c.nmi {
	case nmiNone:
		if nmi := stopNMI + uint8(i); s.words[nmi] != 0 && !c.blocked {
			s.words[nmi] = 0
			toNMI(nmiDying, "an NMI comes in")
		}
	case nmiDying:
		if s.load(i, stopDying) == 0 {
			toNMI(nmiAsked, "stopIfAsked: loads dying, none")
		} else {
			toNMI(nmiMine, "stopIfAsked: loads dying")
		}
		return
	case nmiMine:
		if s.load(i, stopDying) == me && !w.noMine {
			toNMI(nmiReturn, "stopIfAsked: has died first itself")
		} else {
			toNMI(nmiState, "stopIfAsked: another one has died first")
		}
		return
	case nmiState:
		if s.load(i, state) == stopRunning {
			toNMI(nmiStop, "stopIfAsked: loads State, Running")
		} else {
			c.nmi, c.blocked, c.other, c.seen = nmiNone, true, 0, 0
			to(stopHalted, "stopIfAsked: loads State, halts")
		}
		return
	case nmiStop:
		if s.store(i, state, stopStopped) {
			c.nmi, c.blocked, c.other, c.seen = nmiNone, true, 0, 0
			to(stopHalted, "stopIfAsked: State = Stopped, halts")
		}
		return
	case nmiAsked:
		if s.load(i, stopAsked+uint8(i)) == 0 {
			toNMI(nmiReturn, "standStill: loads Asked, 0")
		} else {
			toNMI(nmiClear, "standStill: loads Asked")
		}
		return
	case nmiClear:
		if s.store(i, stopAsked+uint8(i), 0) {
			toNMI(nmiHeldWord, "standStill: Asked = 0")
		}
		return
	case nmiHeldWord:
		if s.load(i, stopHeld) == 0 {
			toNMI(nmiSetRunning, "standStill: loads held, 0")
		} else {
			toNMI(nmiSetHeld, "standStill: loads held")
		}
		return
	case nmiSetHeld:
		if s.store(i, state, stopIsHeld) {
			toNMI(nmiHeldDying, "standStill: State = Held")
		}
		return
	case nmiHeldDying:
		if s.load(i, stopDying) == 0 || w.noStop {
			toNMI(nmiHeldWord, "standStill: loads dying, none")
		} else {
			toNMI(nmiStop, "standStill: loads dying")
		}
		return
	case nmiSetRunning:
		if s.store(i, state, stopRunning) {
			toNMI(nmiReturn, "standStill: State = Running")
		}
		return
	case nmiReturn:
		if s.drained(i) {
			toNMI(nmiNone, "returns from the NMI")
		}
		return
	}
	// next is for a loop over the other CPUs: behind the last one it goes to then.
	next := func(then uint8, what string) {
		if c.other = (other + 1) % numCPUs; c.other == uint8(i) {
			c.at, c.other = then, uint8(i+1)%numCPUs
		}
		send(what)
	}
	dies := func() {
		if w.dies[i] {
			to(stopSwap, "dies")
		}
	}
	holdFails, holdDone := uint8(stopRun), uint8(holdOpen)
	if c.reports {
		holdFails, holdDone = reportSwap, reportSwap
	}
	switch c.at {
	case stopRun:
		c.other = uint8(i+1) % numCPUs
		dies()
		if c.blocked {
			c.blocked, c.opens, c.reports = false, false, false
			send("returns from an NMI")
		}
		if c.opens {
			c.opens, c.reports, c.other = false, c.blocked, uint8(i+1)%numCPUs
			to(holdDying, "opens the monitor, or reports the NMI")
		}
	case stopSwap:
		c.other = uint8(i+1) % numCPUs
		switch {
		case !s.drained(i):
		case w.noSwap && s.words[stopDying] == 0:
			to(stopTake, "takeMachine: loads dying, none")
		case s.swap(stopDying, 0, me):
			to(stopSetDying, "takeMachine: is the first one")
			if w.hangs && i == 0 {
				s.words[stopDying] = me
				to(stopHang, "takeMachine: is the first one, and hangs")
			}
		default:
			to(stopLose, "takeMachine: another one is the first")
		}
	case stopLose:
		if s.store(i, state, stopIsDying) {
			to(stopAwait, "takeMachine: State = Dying")
		}
	case stopAwait:
		if c.seen == 0 {
			c.seen = s.load(i, stopDying)
			to(stopAwait, "takeMachine: loads dying, waits to be stopped")
		} else if s.cpus[c.seen-1].at == stopHang {
			to(stopTake, "takeMachine: its time is over")
		}
	case stopTake:
		c.seen = 0
		switch {
		case w.noSwap || w.takeStore:
			if s.store(i, stopDying, me) {
				to(stopSetDying, "takeMachine: stores dying")
			}
		case !s.drained(i):
		case s.swap(stopDying, l.cpus[i].seen, me):
			to(stopSetDying, "takeMachine: takes the machine over")
		default:
			to(stopAwait, "takeMachine: another one has taken the machine over")
		}
	case stopSetDying:
		if s.store(i, state, stopIsDying) {
			if c.at = stopReport; w.noReport {
				c.at = stopSend
			}
			send("takeMachine: State = Dying")
		}
	case stopReport:
		if n := s.load(i, stopReporting); n == 0 || n == me {
			if c.at = stopSend; w.noNMI {
				c.at = stopAwaitAll
			}
			send("awaitReport: loads reporting, none")
		}
	case stopSend:
		if s.send(i, stopNMI+other, 1) {
			next(stopAwaitAll, "stopOthers: sends an NMI")
		}
	case stopAwaitAll:
		if o := s.load(i, stopState+other); o != stopRunning && o != stopIsHeld {
			next(stopWrites, "stopOthers: loads State, stands still")
		}
		if w.late {
			s.late, c.other = true, uint8(i+1)%numCPUs
			to(stopReset, "stopOthers: its time is over")
		}
	case stopReset:
		if other != 0 && s.load(i, stopState+other) == stopRunning {
			o := &s.cpus[other]
			*o = stopCPU{at: stopIsReset}
			s.stores[other] = [2]store{}
			next(stopWrites, "stopOthers: resets a CPU")
		} else {
			next(stopWrites, "stopOthers: does not reset a CPU")
		}
	case stopWrites:
		to(stopEnd, "ends the machine")
	case holdDying:
		if s.load(i, stopDying) == 0 {
			c.at = holdSetHeld
			if w.heldStore {
				c.at = holdHeld
			}
			to(c.at, "HoldCPUs: loads dying, none")
		} else {
			to(holdFails, "HoldCPUs: loads dying")
		}
	case holdHeld: // of the fault
		if s.load(i, stopHeld) == 0 {
			to(holdSetHeld, "HoldCPUs: loads held, 0")
		} else {
			to(holdFails, "HoldCPUs: loads held")
		}
	case holdSetHeld:
		switch {
		case w.heldStore:
			if s.store(i, stopHeld, me) {
				to(holdAsk, "HoldCPUs: stores held")
			}
		case !s.drained(i):
		case s.swap(stopHeld, 0, me):
			to(holdAsk, "HoldCPUs: swaps held")
		default:
			to(holdFails, "HoldCPUs: another one holds the CPUs")
		}
	case holdAsk:
		if s.store(i, stopAsked+other, 1) {
			to(holdSend, "HoldCPUs: Asked = 1")
		}
	case holdSend:
		if s.send(i, stopNMI+other, 1) {
			c.at = holdAsk
			next(holdAwait, "HoldCPUs: sends an NMI")
		}
	case holdAwait:
		if s.load(i, stopState+other) != stopRunning {
			next(holdDone, "awaitNone: loads State, not Running")
		}
		if w.late {
			s.late, c.other = true, uint8(i+1)%numCPUs
			to(holdDone, "awaitNone: its time is over")
		}
		dies()
	case reportSwap:
		if s.drained(i) {
			s.swap(stopReporting, 0, me)
			to(reportDying, "beginReport: swaps reporting")
		}
	case reportDying:
		if s.load(i, stopDying) == 0 {
			to(holdOpen, "beginReport: loads dying, none")
		} else {
			to(reportUndo, "beginReport: loads dying")
		}
	case reportUndo:
		if s.store(i, stopReporting, 0) {
			to(reportStop, "endReport: reporting = 0")
		}
	case reportStop:
		if s.load(i, state) != stopRunning || s.store(i, state, stopStopped) {
			to(stopHalted, "stopIfAsked: State = Stopped, halts")
		}
	case holdOpen:
		if c.reports {
			to(reportEnd, "has written the report")
		} else {
			to(holdRelease, "closes the monitor")
		}
		dies()
	case reportEnd:
		if s.store(i, stopReporting, 0) {
			c.reports = false
			if c.at = stopRun; s.words[stopHeld] == me {
				c.at = holdRelease
			}
			send("endReport: reporting = 0")
		}
	case holdRelease:
		if s.store(i, stopHeld, 0) {
			to(holdAwaitHeld, "ReleaseCPUs: held = 0")
		}
	case holdAwaitHeld:
		if s.load(i, stopState+other) != stopIsHeld {
			next(stopRun, "awaitNone: loads State, not Held")
		}
		if w.late {
			s.late, c.other = true, uint8(i+1)%numCPUs
			to(stopRun, "awaitNone: its time is over")
		}
	}
}

const (
	twoHave  = "two CPUs have the machine"
	twoWrite = "a CPU reports an NMI while another one writes the traces of a death"
	runsOn   = "a CPU runs on while the machine ends"
	allHeld  = "all CPUs stand still for one another"
	strayNMI = "an NMI of the kernel's is taken for one from outside"
)

func (l *stopModelState) broken() string {
	have, held, ended, runs, stray := 0, 0, false, false, false
	writes, reports := false, false
	for i := range l.cpus {
		c := &l.cpus[i]
		switch c.at {
		case stopSetDying, stopReport, stopSend, stopAwaitAll, stopReset, stopWrites, stopEnd:
			have++
			ended = ended || c.at == stopEnd
			writes = writes || c.at == stopWrites
		case stopHalted, stopIsReset, stopLose, stopAwait, stopTake, stopHang:
		default:
			runs = true
			reports = reports || c.at == holdOpen && c.reports
		}
		if c.nmi >= nmiHeldWord && c.nmi <= nmiHeldDying && l.words[stopHeld] != 0 && l.drained(i) {
			held++
		}
		stray = stray || c.nmi == nmiAsked && l.load(i, stopAsked+uint8(i)) == 0
	}
	switch {
	case have > 1:
		return twoHave
	case writes && reports:
		return twoWrite
	case held == numCPUs:
		return allHeld
	case ended && runs && !l.late:
		return runsOn
	case stray && !l.late:
		return strayNMI
	}
	return ""
}

func (l *stopModelState) final() bool {
	rest := true
	for i := range l.cpus {
		c := &l.cpus[i]
		if c.at == stopEnd {
			return true
		}
		rest = rest && c.at == stopRun && c.nmi == nmiNone
	}
	return rest
}

func stopModel(w stopConfig) model[stopModelState] {
	start := stopModelState{}
	for i := range start.cpus {
		start.cpus[i] = stopCPU{blocked: w.inNMI[i], opens: w.opens[i]}
	}
	return model[stopModelState]{
		start: start,
		steps: func(s stopModelState, emit func(stopModelState, int, string)) {
			for i := range s.cpus {
				if s.cpus[i].at == stopEnd {
					return
				}
			}
			for i := range s.cpus {
				s.cpu(i, &w, func(to stopModelState, what string) { emit(to, i, what) })
			}
		},
		broken: (*stopModelState).broken,
		final:  (*stopModelState).final,
	}
}

type onCPUs = [numCPUs]bool

var allDie = onCPUs{true, true, true}

func TestModelStop(t *testing.T) {
	holds(t, stopModel(stopConfig{dies: allDie}))
	holds(t, stopModel(stopConfig{dies: onCPUs{true, true}, opens: onCPUs{true}}))
	holds(t, stopModel(stopConfig{dies: onCPUs{false, true}, opens: onCPUs{true}, late: true}))
	holds(t, stopModel(stopConfig{dies: onCPUs{false, false, true}, opens: onCPUs{true, true}}))
	holds(t, stopModel(stopConfig{dies: allDie, inNMI: onCPUs{true, false, true}, late: true}))
	holds(t, stopModel(stopConfig{dies: allDie, late: true, hangs: true}))
	holds(t, stopModel(stopConfig{dies: allDie, inNMI: onCPUs{false, true, true}, late: true, hangs: true}))
	first := onCPUs{true}
	holds(t, stopModel(stopConfig{dies: onCPUs{true, true}, inNMI: first, opens: first}))
	holds(t, stopModel(stopConfig{dies: onCPUs{false, true}, inNMI: first, opens: first, late: true}))
}

func TestModelStopFaults(t *testing.T) {
	breaks(t, stopModel(stopConfig{dies: allDie, noSwap: true}), twoHave)
	breaks(t, stopModel(stopConfig{dies: onCPUs{true}, noNMI: true}), deadlock)
	breaks(t, stopModel(stopConfig{dies: onCPUs{false, true}, opens: onCPUs{true}, noMine: true}), deadlock)
	breaks(t, stopModel(stopConfig{dies: onCPUs{true}, opens: onCPUs{true}, noStop: true}), noEnd)
	breaks(t, stopModel(stopConfig{opens: onCPUs{true, true}, heldStore: true}), allHeld)
	first := onCPUs{true}
	breaks(t, stopModel(stopConfig{dies: onCPUs{false, true}, inNMI: first, opens: first, late: true,
		noReport: true}), twoWrite)
	inNMI := onCPUs{false, true, true}
	breaks(t, stopModel(stopConfig{dies: allDie, inNMI: inNMI, late: true, hangs: true, takeStore: true}), twoHave)
}
