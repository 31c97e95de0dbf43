package percpu_test

import "testing"

// The TLB shoot-down (flush.go). There are two pages, each of which is unmapped once, by a CPU of
// its own. The program's accesses load a page's entry into the CPU's TLB at any time, and use what
// is there. The kernel lock is one step here (model_lock_test.go has it); a CPU that waits for it
// may let interrupts in. The third CPU may be held once, by an NMI at any time (standStill), and is
// let go at any time.

// The words.
const (
	flushPage    = 1 // of two words: 1 if the page is mapped
	flushLock    = flushPage + 2
	flushRange   = flushLock + 1 // flushLo and flushHi: the page
	flushAsked   = flushRange + 1
	flushAtGate  = flushAsked + 1         // of three words
	flushFlushed = flushAtGate + numCPUs  // of three words
	flushHeld    = flushFlushed + numCPUs // of three words: 1 if State is Held
	flushPend    = flushHeld + numCPUs    // of three words: 1 if InterruptFlush is to come in
)

// Where a CPU is: the step that it makes next.
const (
	flushUser     = iota
	flushEnter    // Lock: AtGate = 1
	flushWait     // takes the lock; lets interrupts in meanwhile
	flushTry      // TryInterrupt: takes the lock, or not
	flushEnterInt // AtGate = 1
	flushWaitInt  // takes the lock, without interrupts
	flushBegin    // begin: CatchUp
	flushLeave    // AtGate = 0
	flushIn       // has the lock; gives it back, or unmaps a page
	flushIdle     // idle: has said that it is at the gate; gives the lock back
	flushSetRange // FlushOthers: stores the range
	flushAdd      // asked++
	flushOwn      // r.Flushed = asked
	flushAskGate  // behind, of each other CPU: loads AtGate
	flushAskCount // and Flushed
	flushAskState // and State
	flushSend     // sends the interrupt
	flushWaitGate // behind again, of each other one, until it is not
	flushWaitCount
	flushWaitState
	flushFree // gives the frame back
)

// Where it is in CatchUp.
const (
	catchNone  = iota
	catchGate  // the interrupt's handler: is the CPU at the gate?
	catchAsked // loads asked
	catchRange // loads the range, if it is behind by one, and drops it; otherwise all
	catchSay   // says so: Flushed
)

// A catchUp is one, by the handler or with the lock, or by the NMI.
type catchUp struct {
	at, was, asked uint8
}

// Where it is in an NMI.
const (
	nmiNone  = iota
	nmiHeld  // standStill: State = Held
	nmiLeave // State = Running
	nmiCatch // CatchUp
	nmiOver  // IRET
)

type flushCPU struct {
	at, page, other uint8
	tlb             uint8 // a bit for each page
	catch           catchUp
	handler         bool // catch is the interrupt's
	nmi             uint8
	quit            bool // stays in its program
	nmiCatch        catchUp
	held            bool // has been
}

// flushVictim is the CPU that unmaps nothing, is idle, gets other interrupts, and may be held; each
// of the others unmaps a page. What comes to it only would come to the others in the same way.
const flushVictim = 2

type flushState struct {
	memory
	cpus  [numCPUs]flushCPU
	freed uint8 // a bit for each page whose frame has been given back
}

// flushFaults are what can be wrong.
type flushFaults struct {
	// holds is none: CPU flushVictim is held once. There are fewer other things that may happen then.
	holds bool

	noWait      bool // FlushOthers does not wait
	noCatchUp   bool // begin does not catch up
	atGate      bool // the interrupt's handler drops the range at the gate, too, where nobody waits for it
	nmiRange    bool // so does a CPU that has been held
	storeCount  bool // CatchUp stores Flushed, though an NMI may have done so
	plainAsked  bool // FlushOthers stores asked, not locked
	plainLook   bool // a CPU that has been held loads asked, not locked
	waitsAtGate bool // FlushOthers waits for CPUs that are at the gate, too
}

// use loads the entries into the TLBs that the programs could have loaded: to have one more makes
// no difference to what a CPU does, so that those which have not loaded it need not be looked at.
func (s *flushState) use() {
	for i := range s.cpus {
		if c := &s.cpus[i]; c.at == flushUser && c.nmi == nmiNone && c.catch.at == catchNone {
			c.tlb |= s.words[flushPage] | s.words[flushPage+1]<<1
		}
	}
}

// catchUp makes the next step of one. It returns false if the step has to wait.
func (s *flushState) catchUp(i int, u *catchUp, inNMI bool, w *flushFaults) (what string, ok bool) {
	c := &s.cpus[i]
	flushed := uint8(flushFlushed + i)
	switch u.at {
	case catchGate:
		if u.at = catchAsked; s.load(i, flushAtGate+uint8(i)) == 1 {
			u.at = catchNone
		}
		return "the handler: looks whether it is at the gate", true
	case catchAsked:
		if inNMI && !w.plainLook && !s.drained(i) {
			return "", false
		}
		u.was, u.asked, u.at = s.load(i, flushed), s.load(i, flushAsked), catchRange
		if u.asked == u.was {
			*u = catchUp{}
		}
		return "CatchUp: loads asked", true
	case catchRange:
		u.at = catchSay
		if u.asked-u.was == 1 && (w.nmiRange || !inNMI) {
			c.tlb &^= 1 << s.load(i, flushRange)
			return "CatchUp: drops the range", true
		}
		c.tlb = 0
		return "CatchUp: drops all", true
	}
	switch {
	case w.storeCount:
		if !s.store(i, flushed, u.asked) {
			return "", false
		}
	case !s.drained(i):
		return "", false
	default:
		s.swap(flushed, u.was, u.asked)
	}
	*u = catchUp{}
	return "CatchUp: stores Flushed", true
}

func (l flushState) cpu(i int, w flushFaults, emit func(flushState, string)) {
	s := l
	c := &s.cpus[i]
	to := func(what string) {
		s.use()
		emit(s, what)
		s = l
	}
	if !s.drained(i) {
		s.commit(i)
		to("a store comes to memory")
	}
	switch c.nmi {
	case nmiNone:
		if !c.held && w.holds && i == flushVictim {
			c.held, c.nmi = true, nmiHeld
			to("an NMI comes in")
		}
	case nmiHeld:
		if s.store(i, flushHeld+uint8(i), 1) {
			c.nmi = nmiLeave
			to("standStill: State = Held")
		}
		return
	case nmiLeave:
		if s.store(i, flushHeld+uint8(i), 0) {
			c.nmi, c.nmiCatch.at = nmiCatch, catchAsked
			to("standStill: State = Running")
		}
		return
	case nmiCatch:
		if what, ok := s.catchUp(i, &c.nmiCatch, true, &w); ok {
			if c.nmiCatch.at == catchNone {
				c.nmi = nmiOver
			}
			to("standStill: " + what)
		}
		return
	case nmiOver:
		if s.drained(i) {
			c.nmi = nmiNone
			to("returns from the NMI")
		}
		return
	}
	if c.catch.at != catchNone {
		if what, ok := s.catchUp(i, &c.catch, false, &w); ok {
			c.handler = c.handler && c.catch.at != catchNone
			to(what)
		}
		return
	}
	pend := flushPend + uint8(i)
	if (c.at == flushUser || c.at == flushWait) && s.words[pend] != 0 && s.drained(i) {
		s.words[pend] = 0
		c.catch.at, c.handler = catchGate, true
		if w.atGate {
			c.catch.at = catchAsked
		}
		to("the interrupt comes in")
	}
	next := func(at uint8, what string) {
		c.at = at
		to(what)
	}
	// others goes through the other CPUs, by behind: the step at is its first one.
	other := c.other
	others := func(at, then uint8, what string) {
		if c.other = (c.other + 1) % numCPUs; c.other == uint8(i) {
			at = then
		}
		next(at, what)
	}
	switch c.at {
	case flushUser:
		if c.quit || w.holds && i != flushVictim && s.freed>>i&1 != 0 {
			break
		}
		next(flushEnter, "makes a system call")
		if i == flushVictim {
			c.quit = true
			next(flushUser, "makes no more system calls")
		}
		if i == flushVictim && !w.holds {
			next(flushTry, "another interrupt comes in")
		}
	case flushEnter:
		if s.store(i, flushAtGate+uint8(i), 1) {
			next(flushWait, "Lock: AtGate = 1")
		}
	case flushEnterInt:
		if s.store(i, flushAtGate+uint8(i), 1) {
			next(flushWaitInt, "TryInterrupt: AtGate = 1")
		}
	case flushWait, flushWaitInt:
		if s.drained(i) && s.swap(flushLock, 0, 1) {
			if !w.noCatchUp {
				c.catch.at = catchAsked
			}
			next(flushLeave, "has the lock")
		}
	case flushTry:
		if s.drained(i) && s.swap(flushLock, 0, 1) {
			c.catch.at = catchAsked
			next(flushLeave, "TryInterrupt: has the lock")
		}
		next(flushEnterInt, "TryInterrupt: waits for the lock")
		if s.drained(i) {
			next(flushUser, "TryInterrupt: puts the interrupt off")
		}
	case flushLeave:
		if s.store(i, flushAtGate+uint8(i), 0) {
			next(flushIn, "begin: AtGate = 0")
		}
	case flushIn:
		if s.drained(i) && (!w.holds || i == flushVictim || s.freed>>i&1 != 0) {
			s.words[flushLock] = 0
			next(flushUser, "gives the lock back")
		}
		if i == flushVictim && !w.holds && s.store(i, flushAtGate+uint8(i), 1) {
			next(flushIdle, "idle: AtGate = 1")
		}
		if page := uint8(i); i != flushVictim {
			if s.load(i, flushPage+page) == 1 && s.store(i, flushPage+page, 0) {
				c.page, c.tlb = page, c.tlb&^(1<<page)
				next(flushSetRange, "unmaps a page")
			}
		}
	case flushIdle:
		if s.drained(i) {
			s.words[flushLock] = 0
			next(flushWait, "idle: gives the lock back, and halts")
		}
	case flushSetRange:
		if s.store(i, flushRange, c.page) {
			next(flushAdd, "FlushOthers: stores the range")
		}
	case flushAdd:
		n := s.load(i, flushAsked) + 1
		c.other = uint8(i+1) % numCPUs
		if w.plainAsked {
			if s.store(i, flushAsked, n) {
				next(flushOwn, "FlushOthers: stores asked")
			}
		} else if s.drained(i) {
			s.words[flushAsked] = n
			next(flushOwn, "FlushOthers: asked++")
		}
	case flushOwn:
		if s.store(i, flushFlushed+uint8(i), s.load(i, flushAsked)) {
			if w.noWait {
				next(flushFree, "FlushOthers: its own Flushed")
			} else {
				next(flushAskGate, "FlushOthers: its own Flushed")
			}
		}
	case flushAskGate:
		if s.load(i, flushAtGate+other) == 0 || w.waitsAtGate {
			next(flushAskCount, "behind: loads AtGate")
		} else {
			others(flushAskGate, flushWaitGate, "behind: loads AtGate, is at the gate")
		}
	case flushAskCount:
		if s.load(i, flushFlushed+other) != s.load(i, flushAsked) {
			next(flushAskState, "behind: loads Flushed")
		} else {
			others(flushAskGate, flushWaitGate, "behind: loads Flushed, has dropped the page")
		}
	case flushAskState:
		if s.load(i, flushHeld+other) == 0 {
			next(flushSend, "behind: loads State, runs")
		} else {
			others(flushAskGate, flushWaitGate, "behind: loads State, is held")
		}
	case flushSend:
		if s.send(i, flushPend+other, 1) {
			others(flushAskGate, flushWaitGate, "FlushOthers: sends the interrupt")
		}
	case flushWaitGate:
		if c.other == uint8(i) {
			c.other, other = (c.other+1)%numCPUs, (other+1)%numCPUs
		}
		if s.load(i, flushAtGate+other) == 0 || w.waitsAtGate {
			next(flushWaitCount, "waits, behind: loads AtGate")
		} else {
			others(flushWaitGate, flushFree, "waits, behind: loads AtGate, is at the gate")
		}
	case flushWaitCount:
		if s.load(i, flushFlushed+other) != s.load(i, flushAsked) {
			next(flushWaitState, "waits, behind: loads Flushed")
		} else {
			others(flushWaitGate, flushFree, "waits, behind: loads Flushed, has dropped the page")
		}
	case flushWaitState:
		if s.load(i, flushHeld+other) == 0 {
			next(flushWaitGate, "waits, behind: loads State, runs")
		} else {
			others(flushWaitGate, flushFree, "waits, behind: loads State, is held")
		}
	case flushFree:
		s.freed |= 1 << c.page
		c.other, c.page = 0, 0
		next(flushIn, "gives the frame back")
	}
}

const staleEntry = "a CPU uses a frame that has been given back"

func flushModel(w flushFaults) model[flushState] {
	start := flushState{}
	start.words[flushPage], start.words[flushPage+1] = 1, 1
	start.use()
	return model[flushState]{
		start: start,
		steps: func(s flushState, emit func(flushState, int, string)) {
			for i := range numCPUs {
				s.cpu(i, w, func(to flushState, what string) { emit(to, i, what) })
			}
		},
		broken: func(s *flushState) string {
			for i := range s.cpus {
				c := &s.cpus[i]
				if c.at == flushUser && c.nmi == nmiNone && c.catch.at == catchNone && c.tlb&s.freed != 0 {
					return staleEntry
				}
			}
			return ""
		},
		final: func(s *flushState) bool {
			for i := range s.cpus {
				if s.cpus[i].at != flushUser {
					return false
				}
			}
			return s.freed == 3
		},
	}
}

func TestModelFlush(t *testing.T) {
	holds(t, flushModel(flushFaults{}))
	holds(t, flushModel(flushFaults{holds: true}))
}

func TestModelFlushFaults(t *testing.T) {
	breaks(t, flushModel(flushFaults{noWait: true}), staleEntry)
	breaks(t, flushModel(flushFaults{noCatchUp: true}), staleEntry)
	breaks(t, flushModel(flushFaults{atGate: true}), staleEntry)
	breaks(t, flushModel(flushFaults{waitsAtGate: true}), noEnd)
	breaks(t, flushModel(flushFaults{holds: true, nmiRange: true}), staleEntry)
	breaks(t, flushModel(flushFaults{holds: true, plainAsked: true}), staleEntry)
	breaks(t, flushModel(flushFaults{holds: true, plainLook: true}), staleEntry)
	breaks(t, flushModel(flushFaults{holds: true, storeCount: true}), noEnd)
}
