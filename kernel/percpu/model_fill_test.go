package percpu_test

import "testing"

// Pages that are filled without the kernel lock (mem/fill.go). Two CPUs fill the same page, each
// twice; the third one, which has the lock, takes its area away meanwhile.

// The words.
const (
	fillArea     = 1 // 1 while the page is in an area
	fillEntry    = 2 // its frame: 1 + the number of the CPU that had taken it
	fillChanging = 3
	fillInside   = 4 // of each CPU
)

// Where a CPU is: the step that it makes next.
const (
	fillStart  = iota
	fillLook   // loads changing
	fillFind   // looks the area up
	fillTry    // loads the entry
	fillSet    // entry: 0 -> frame
	fillLeave  // inside = 0
	fillBegin  // the changer: changing = 1
	fillWait   // waits for each CPU to be out
	fillRemove // takes the area away
	fillFree   // gives the frame back
	fillEnd    // changing = 0
	fillDone
)

// fillChanger is the CPU that has the kernel lock.
const fillChanger = 0

type fillCPU struct {
	at, other    uint8
	times        uint8 // that it has begun to fill the page
	taken, freed uint8 // frames
}

type fillState struct {
	memory
	cpus [numCPUs]fillCPU
}

// fillFaults are what can be wrong.
type fillFaults struct {
	plainInside   bool // inside is stored, not locked
	plainChanging bool // changing is stored, not locked
	noLook        bool // who fills does not load changing
	noWait        bool // who changes does not wait
	plainEntry    bool // the entry is stored
}

func (l fillState) cpu(i int, w fillFaults, emit func(fillState, string)) {
	s := l
	c := &s.cpus[i]
	next := func(at uint8, what string) {
		c.at = at
		emit(s, what)
		s = l
	}
	if !s.drained(i) {
		s.commit(i)
		next(c.at, "a store comes to memory")
	}
	inside := fillInside + uint8(i)
	// put stores a word, locked or not, and goes on.
	put := func(word, value uint8, plain bool, at uint8, what string) {
		switch {
		case plain:
			if s.store(i, word, value) {
				next(at, what)
			}
		case s.drained(i):
			s.words[word] = value
			next(at, what)
		}
	}
	switch c.at {
	case fillStart:
		if c.times++; c.times > 2 {
			next(fillDone, "touches no more pages")
			break
		}
		put(inside, 1, w.plainInside, fillLook, "Fill: inside = 1")
	case fillLook:
		if s.load(i, fillChanging) == 0 || w.noLook {
			next(fillFind, "Fill: nobody changes areas")
		} else {
			next(fillLeave, "Fill: somebody changes areas")
		}
	case fillFind:
		if s.load(i, fillArea) == 1 {
			next(fillTry, "Fill: finds the area")
		} else {
			next(fillLeave, "Fill: there is no area")
		}
	case fillTry:
		if s.load(i, fillEntry) == 0 {
			next(fillSet, "Fill: there is no frame")
		} else {
			next(fillLeave, "Fill: there is a frame")
		}
	case fillSet:
		switch {
		case w.plainEntry:
			c.taken++
			put(fillEntry, uint8(i)+1, true, fillLeave, "Fill: stores the entry")
		case !s.drained(i):
		case s.swap(fillEntry, 0, uint8(i)+1):
			c.taken++
			next(fillLeave, "Fill: sets the entry")
		default:
			next(fillLeave, "Fill: another CPU was first")
		}
	case fillLeave:
		put(inside, 0, true, fillStart, "Fill: inside = 0")
	case fillBegin:
		c.other = fillChanger + 1
		at := uint8(fillWait)
		if w.noWait {
			at = fillRemove
		}
		put(fillChanging, 1, w.plainChanging, at, "beginChange: changing = 1")
	case fillWait:
		if s.load(i, fillInside+c.other) == 0 {
			at := uint8(fillWait)
			if c.other++; c.other == numCPUs {
				at = fillRemove
			}
			next(at, "beginChange: a CPU is out")
		}
	case fillRemove:
		put(fillArea, 0, true, fillFree, "takes the area away")
	case fillFree:
		if s.load(i, fillEntry) == 0 {
			next(fillEnd, "there is no frame")
		} else if s.store(i, fillEntry, 0) {
			c.freed++
			next(fillEnd, "gives the frame back")
		}
	case fillEnd:
		put(fillChanging, 0, true, fillDone, "endChange: changing = 0")
	}
}

const (
	strayFrame = "a page that is in no area has a frame"
	lostFrame  = "a frame is lost"
)

func fillModel(w fillFaults) model[fillState] {
	start := fillState{}
	start.words[fillArea] = 1
	start.cpus[fillChanger].at = fillBegin
	over := func(s *fillState) bool {
		for i := range s.cpus {
			if s.cpus[i].at != fillDone || !s.drained(i) {
				return false
			}
		}
		return true
	}
	return model[fillState]{
		start: start,
		steps: func(s fillState, emit func(fillState, int, string)) {
			for i := range numCPUs {
				s.cpu(i, w, func(to fillState, what string) { emit(to, i, what) })
			}
		},
		broken: func(s *fillState) string {
			taken, freed := uint8(0), uint8(0)
			for i := range s.cpus {
				taken, freed = taken+s.cpus[i].taken, freed+s.cpus[i].freed
			}
			switch {
			case s.cpus[fillChanger].at == fillDone && s.drained(fillChanger) && s.words[fillEntry] != 0:
				return strayFrame
			case over(s) && taken != freed:
				return lostFrame
			}
			return ""
		},
		final: over,
	}
}

func TestModelFill(t *testing.T) { holds(t, fillModel(fillFaults{})) }

func TestModelFillFaults(t *testing.T) {
	breaks(t, fillModel(fillFaults{plainInside: true}), strayFrame)
	breaks(t, fillModel(fillFaults{plainChanging: true}), strayFrame)
	breaks(t, fillModel(fillFaults{noLook: true}), strayFrame)
	breaks(t, fillModel(fillFaults{noWait: true}), strayFrame)
	breaks(t, fillModel(fillFaults{plainEntry: true}), lostFrame)
}
