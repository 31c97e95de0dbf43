package percpu_test

import "testing"

// The kernel lock (lock.go). Each CPU makes some system calls, at any time, and then stays in its
// program, where interrupts come in that take the lock, too. Only Unlock's interrupt wakes a CPU
// that halts: the model omits LongWait's timer. Whatever a CPU does in the kernel, it sets the timer
// that brings a postponed interrupt back to some time that does not come.

// The words. There are as many slots as CPUs, and tickets count modulo a multiple of that.
const (
	lockHeld = 1 + iota
	lockNext
	lockNow
	lockPassed
	lockHalted // of three words
	lockPend   = lockHalted + numCPUs
)

const (
	lockTickets = 2 * numCPUs
	// What mostPassed and mostPutOff are here.
	lockMostPassed = 1
	lockMostPutOff = 1
)

// Where a CPU is: the step that it makes next.
const (
	lockUser         = iota
	lockTryNow       // TryLock: loads now
	lockTryNext      // and next
	lockTryPassed    // and passed
	lockTryHeld      // and held
	lockTrySwap      // compares and swaps held
	lockLoadPassed   // passed++
	lockStorePassed  //
	lockIn           // has the lock; Unlock: frees it
	lockUnlockNow    // loads now
	lockUnlockSlot   // and the slot
	lockUnlockSwap   // takes what is there
	lockUnlockSend   // wakes that CPU
	lockTicket       // wait: takes a ticket
	lockTurnNow      // turn: loads now
	lockTurnHeld     // and held
	lockTurnSwap     // compares and swaps held
	lockResetPassed  // passed = 0
	lockNextInLine   // now++
	lockHaltSlot     // haltFor: puts itself into the slot
	lockHaltNow      // turn: loads now
	lockHaltHeld     // and held
	lockHalts        // lets interrupts in, and halts
	lockWoken        // takes itself out of the slot
	lockRaise        // RaiseDeferred
	lockUnlockRaise  // Unlock: RaiseDeferred
	lockUnlockedSlot // of a fault: Unlock that frees the lock behind its look at the slot
)

type lockCPU struct {
	at, seen, ticket uint8
	waits            bool // somebody is in line
	interrupt        bool // the gate is Interrupt
	deferred         bool
	timer            bool // it is to bring an interrupt back
	putOff           uint8
	calls            uint8 // system calls that it is yet to make
}

type lockState struct {
	memory
	cpus [numCPUs]lockCPU
	// over is how many have passed the first in line. No part of the kernel.
	over uint8
}

// lockFaults are what can be wrong, and what may happen.
type lockFaults struct {
	noLook      bool // Unlock does not look at the slot
	lookFirst   bool // Unlock looks at the slot and then frees the lock
	noLookAgain bool // haltFor does not look at the lock again
	noSwap      bool // TryLock stores held, having loaded it
	noPassed    bool // TryLock does not look at passed
	noRaise     bool // Unlock raises no postponed interrupt
	plainFree   bool // Unlock frees the lock by a store that is not locked

	// What may happen. calls is how many system calls each CPU makes. interrupts says that one
	// which comes to the program takes the lock by TryInterrupt, and not as a system call does.
	// noHalt has those that wait spin and not halt. mostOver is how many may pass the first in
	// line; 0: it is not counted.
	calls      [numCPUs]uint8
	interrupts bool
	noHalt     bool
	mostOver   uint8
}

func (l *lockState) steps(w lockFaults, emit func(lockState, int, string)) {
	for i := range numCPUs {
		l.cpu(i, w, func(to lockState, what string) { emit(to, i, what) })
	}
}

func (l lockState) cpu(i int, w lockFaults, emit func(lockState, string)) {
	s := l
	c, was := &s.cpus[i], &l.cpus[i]
	me := uint8(i + 1)
	pend := uint8(lockPend + i)
	to := func(at uint8, what string) {
		if c.at = at; w.mostOver == 0 {
			s.over = 0
		}
		emit(s, what)
		s = l
	}
	again := func(what string) {
		to(lockTryNow, what)
		switch {
		case !was.interrupt:
			to(lockTicket, what+", stands in line")
		case was.putOff < lockMostPutOff: // TryInterrupt
			c.putOff, c.deferred, c.timer = c.putOff+1, true, true
			to(lockUser, what+", puts the interrupt off")
		default:
			to(lockTicket, what+", stands in line for the interrupt")
		}
	}
	unlocked := func(what string) {
		if c.deferred && !w.noRaise {
			to(lockUnlockRaise, what)
		} else {
			to(lockUser, what)
		}
	}
	spin := func(what string) {
		to(lockTurnNow, what)
		if !was.interrupt && !w.noHalt {
			to(lockHaltSlot, what+", is about to halt")
		}
	}
	if !s.drained(i) {
		s.commit(i)
		to(c.at, "a store comes to memory")
	}
	switch c.at {
	case lockUser:
		if s.words[pend] != 0 {
			s.words[pend], c.interrupt = 0, w.interrupts
			to(lockTryNow, "an interrupt comes in")
		}
		if c.timer {
			c.timer, c.interrupt = false, true
			to(lockTryNow, "the timer's interrupt comes in")
		}
		if c.calls != 0 {
			c.calls, c.interrupt = c.calls-1, false
			to(lockTryNow, "makes a system call")
		}
	case lockTryNow:
		c.seen = s.load(i, lockNow)
		to(lockTryNext, "TryLock: loads now")
	case lockTryNext:
		c.waits = c.seen != s.load(i, lockNext)
		c.seen = 0
		if c.waits && !w.noPassed {
			to(lockTryPassed, "TryLock: loads next, somebody waits")
		} else {
			to(lockTryHeld, "TryLock: loads next")
		}
	case lockTryPassed:
		if s.load(i, lockPassed) < lockMostPassed {
			to(lockTryHeld, "TryLock: loads passed")
			break
		}
		c.waits = false
		was.waits = false
		again("TryLock: loads passed, too many") // a turn more is one that begins later
	case lockTryHeld:
		if s.load(i, lockHeld) == 0 {
			to(lockTrySwap, "TryLock: loads held, free")
			break
		}
		was.waits = false
		c.waits = false
		again("TryLock: loads held, taken")
	case lockTrySwap:
		switch {
		case !s.drained(i):
		case w.noSwap || s.swap(lockHeld, 0, 1):
			s.words[lockHeld] = 1
			if s.over++; s.words[lockNow] == s.words[lockNext] {
				s.over = 0
			}
			if c.waits {
				c.waits = false
				to(lockLoadPassed, "TryLock: has the lock, before the first in line")
			} else {
				to(lockIn, "TryLock: has the lock")
			}
		default:
			was.waits, c.waits = false, false
			again("TryLock: another one has the lock")
		}
	case lockLoadPassed:
		c.seen = s.load(i, lockPassed)
		to(lockStorePassed, "TryLock: loads passed, to count")
	case lockStorePassed:
		if s.store(i, lockPassed, c.seen+1) {
			c.seen = 0
			to(lockIn, "TryLock: stores passed")
		}
	case lockIn:
		c.timer = false // it is set to another time
		if c.interrupt {
			c.deferred, c.putOff = false, 0
		}
		switch {
		case w.lookFirst:
			to(lockUnlockNow, "Unlock")
		case w.plainFree:
			if s.store(i, lockHeld, 0) {
				to(lockUnlockNow, "Unlock: stores held")
			}
		case s.drained(i):
			s.words[lockHeld] = 0
			if w.noLook {
				unlocked("Unlock: frees the lock")
			} else {
				to(lockUnlockNow, "Unlock: frees the lock")
			}
		}
	case lockUnlockNow:
		c.seen = s.load(i, lockNow)
		to(lockUnlockSlot, "Unlock: loads now")
	case lockUnlockSlot:
		slot := lockHalted + c.seen%numCPUs
		switch n := s.load(i, slot); {
		case n != 0:
			to(lockUnlockSwap, "Unlock: loads the slot, one has halted")
		case w.lookFirst:
			c.seen = 0
			to(lockUnlockedSlot, "Unlock: loads the slot, none")
		default:
			c.seen = 0
			unlocked("Unlock: loads the slot, none")
		}
	case lockUnlockSwap:
		slot := lockHalted + c.seen%numCPUs
		switch n := s.words[slot]; {
		case !s.drained(i):
		case n != 0:
			s.words[slot], c.seen = 0, n
			to(lockUnlockSend, "Unlock: takes the CPU out of the slot")
		case w.lookFirst:
			c.seen = 0
			to(lockUnlockedSlot, "Unlock: the slot is empty by now")
		default:
			c.seen = 0
			unlocked("Unlock: the slot is empty by now")
		}
	case lockUnlockSend:
		if s.send(i, lockPend+c.seen-1, 1) {
			if c.seen = 0; w.lookFirst {
				to(lockUnlockedSlot, "Unlock: sends the interrupt")
			} else {
				unlocked("Unlock: sends the interrupt")
			}
		}
	case lockUnlockRaise:
		if s.send(i, pend, 1) {
			c.deferred = false
			to(lockUser, "Unlock: RaiseDeferred")
		}
	case lockUnlockedSlot:
		if s.drained(i) {
			s.words[lockHeld] = 0
			unlocked("Unlock: frees the lock")
		}
	case lockTicket:
		if s.drained(i) {
			if s.words[lockNow] == s.words[lockNext] {
				s.over = 0
			}
			c.ticket = s.words[lockNext]
			s.words[lockNext] = (c.ticket + 1) % lockTickets
			to(lockTurnNow, "wait: takes a ticket")
		}
	case lockTurnNow:
		if s.load(i, lockNow) == c.ticket {
			to(lockTurnHeld, "turn: loads now, the first in line")
		} else {
			spin("turn: loads now, not the first in line")
		}
	case lockTurnHeld:
		if s.load(i, lockHeld) == 0 {
			to(lockTurnSwap, "turn: loads held, free")
		} else {
			spin("turn: loads held, taken")
		}
	case lockTurnSwap:
		switch {
		case !s.drained(i):
		case s.swap(lockHeld, 0, 1):
			s.over = 0
			to(lockResetPassed, "wait: has the lock")
		default:
			spin("wait: another one has the lock")
		}
	case lockResetPassed:
		if s.store(i, lockPassed, 0) {
			to(lockNextInLine, "wait: stores passed = 0")
		}
	case lockNextInLine:
		if s.drained(i) {
			s.words[lockNow] = (c.ticket + 1) % lockTickets
			c.ticket = 0
			to(lockIn, "wait: the next one is the first in line")
		}
	case lockHaltSlot:
		if s.drained(i) {
			s.swap(lockHalted+c.ticket%numCPUs, 0, me)
			if w.noLookAgain {
				to(lockHalts, "haltFor: is in the slot")
			} else {
				to(lockHaltNow, "haltFor: is in the slot")
			}
		}
	case lockHaltNow:
		if s.load(i, lockNow) == c.ticket {
			to(lockHaltHeld, "haltFor: loads now, the first in line")
		} else {
			to(lockHalts, "haltFor: loads now, halts")
		}
	case lockHaltHeld:
		if s.load(i, lockHeld) == 0 {
			to(lockWoken, "haltFor: loads held, free")
		} else {
			to(lockHalts, "haltFor: loads held, halts")
		}
	case lockHalts:
		if s.words[pend] != 0 {
			s.words[pend], c.deferred = 0, true
			to(lockWoken, "an interrupt comes in while it halts, is put off")
		}
		if c.timer {
			c.timer, c.deferred = false, true
			to(lockWoken, "the timer's interrupt comes in while it halts, is put off")
		}
	case lockWoken:
		if s.drained(i) {
			s.swap(lockHalted+c.ticket%numCPUs, me, 0)
			if c.deferred {
				to(lockRaise, "haltFor: is no more in the slot")
			} else {
				to(lockTurnNow, "haltFor: is no more in the slot")
			}
		}
	case lockRaise:
		if s.send(i, pend, 1) {
			c.deferred = false
			to(lockTurnNow, "RaiseDeferred")
		}
	}
}

const (
	exclusion  = "mutual exclusion"
	lostWakeUp = "lost wake-up"
	lostRaise  = "lost interrupt"
	overtaken  = "the first in line is passed too often"
)

func (l *lockState) broken(w lockFaults) string {
	in, rests, halted, lost := 0, 0, false, false
	for i := range l.cpus {
		switch c := &l.cpus[i]; c.at {
		case lockLoadPassed, lockStorePassed, lockIn, lockResetPassed, lockNextInLine, lockUnlockedSlot:
			in++
		case lockUser:
			if c.calls == 0 && l.words[lockPend+i] == 0 && !c.timer && l.drained(i) {
				rests++
				lost = lost || c.deferred
			}
		case lockHalts:
			if l.words[lockPend+i] == 0 && !c.timer {
				rests++
				halted = halted || l.words[lockNow] == c.ticket && l.words[lockHeld] == 0
			}
		}
	}
	switch {
	case in > 1:
		return exclusion
	case halted && rests == numCPUs:
		return lostWakeUp
	case lost:
		return lostRaise
	case w.mostOver != 0 && l.over > w.mostOver:
		return overtaken
	}
	return ""
}

// same has the first in line have ticket 0, and numbers the CPUs in an order that does not depend
// on their numbers.
func (l *lockState) same() {
	if now := l.words[lockNow]; now != 0 {
		first := func(ticket *uint8) { *ticket = (*ticket + lockTickets - now) % lockTickets }
		first(&l.words[lockNow])
		first(&l.words[lockNext])
		was := l.words
		for n := range uint8(numCPUs) {
			l.words[lockHalted+n] = was[lockHalted+(n+now)%numCPUs]
		}
		for i := range l.cpus {
			switch c := &l.cpus[i]; c.at {
			case lockTryNext, lockUnlockSlot, lockUnlockSwap:
				first(&c.seen)
			case lockTurnNow, lockTurnHeld, lockTurnSwap, lockResetPassed, lockNextInLine,
				lockHaltSlot, lockHaltNow, lockHaltHeld, lockHalts, lockWoken, lockRaise:
				first(&c.ticket)
			}
		}
	}
	less := func(a, b int) bool {
		x, y := l.cpus[a].key(), l.cpus[b].key()
		if x == y {
			x, y = uint64(l.words[lockPend+a]), uint64(l.words[lockPend+b])
		}
		return x < y
	}
	for _, p := range [...][2]int{{0, 1}, {1, 2}, {0, 1}} {
		if less(p[1], p[0]) {
			l.swapCPUs(p[0], p[1])
		}
	}
}

func (c *lockCPU) key() uint64 {
	k := uint64(c.at)<<32 | uint64(c.seen)<<24 | uint64(c.ticket)<<16 | uint64(c.putOff)<<8
	for i, b := range [...]bool{c.waits, c.interrupt, c.deferred, c.timer} {
		if b {
			k |= 1 << i
		}
	}
	return k
}

// swapCPUs gives two CPUs each other's number.
func (l *lockState) swapCPUs(a, b int) {
	l.cpus[a], l.cpus[b] = l.cpus[b], l.cpus[a]
	l.stores[a], l.stores[b] = l.stores[b], l.stores[a]
	l.words[lockPend+a], l.words[lockPend+b] = l.words[lockPend+b], l.words[lockPend+a]
	renumber := func(n *uint8, base int) {
		switch *n {
		case uint8(base + a):
			*n = uint8(base + b)
		case uint8(base + b):
			*n = uint8(base + a)
		}
	}
	for i := range numCPUs {
		renumber(&l.words[lockHalted+i], 1)
		for n := range l.stores[i] {
			renumber(&l.stores[i][n].word, lockPend|raise)
		}
		if l.cpus[i].at == lockUnlockSend {
			renumber(&l.cpus[i].seen, 1)
		}
	}
}

func lockModel(w lockFaults) model[lockState] {
	start := lockState{}
	for i := range start.cpus {
		start.cpus[i].calls = w.calls[i]
	}
	return model[lockState]{
		start:  start,
		steps:  func(s lockState, emit func(lockState, int, string)) { s.steps(w, emit) },
		same:   (*lockState).same,
		swap:   (*lockState).swapCPUs,
		broken: func(s *lockState) string { return s.broken(w) },
		final: func(s *lockState) bool {
			for i := range s.cpus {
				if c := &s.cpus[i]; c.at != lockUser || c.calls != 0 {
					return false
				}
			}
			return true
		},
	}
}

// mostOver is how many pass the first in line: of the others, each may have looked whether somebody
// waits before there was a line, and all but one may have looked at passed before the last one
// counted it up.
const mostOver = lockMostPassed + (numCPUs - 1) + (numCPUs - 2)

func TestModelLock(t *testing.T) {
	holds(t, lockModel(lockFaults{calls: [...]uint8{2, 2, 2}}))
	holds(t, lockModel(lockFaults{calls: [...]uint8{2, 1, 1}, interrupts: true}))
	holds(t, lockModel(lockFaults{calls: [...]uint8{1, 3, 3}, mostOver: mostOver, noHalt: true}))
}

func TestModelLockFaults(t *testing.T) {
	calls := [...]uint8{2, 2, 2}
	breaks(t, lockModel(lockFaults{calls: calls, noLook: true}), lostWakeUp)
	breaks(t, lockModel(lockFaults{calls: calls, lookFirst: true}), lostWakeUp)
	breaks(t, lockModel(lockFaults{calls: calls, noLookAgain: true}), lostWakeUp)
	breaks(t, lockModel(lockFaults{calls: calls, plainFree: true}), lostWakeUp)
	breaks(t, lockModel(lockFaults{calls: calls, noSwap: true}), exclusion)
	breaks(t, lockModel(lockFaults{calls: [...]uint8{2, 1, 1}, interrupts: true, noRaise: true}), lostRaise)
	calls = [...]uint8{1, 3, 3}
	breaks(t, lockModel(lockFaults{calls: calls, mostOver: mostOver, noHalt: true, noPassed: true}), overtaken)
	breaks(t, lockModel(lockFaults{calls: calls, mostOver: mostOver - 1, noHalt: true}), overtaken)
}
