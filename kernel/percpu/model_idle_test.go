package percpu_test

import "testing"

// Idle CPUs and ready threads (package thread, cpus.go and queue.go). What a CPU does with the
// kernel lock is one step (model_lock_test.go has the lock), since no other CPU sees what is in
// between but the interrupts that it sends, which come in at any time behind it.
//
// A thread waits, wakes others, or spins from some time on; then it leaves its CPU by interrupts
// only. A device wakes the last thread, by an interrupt of CPU 0. The timers of idle CPUs that
// others run beside (watchEvery) and those that look for lock-ups are left out, as are sleepers:
// what they would do late must come about without them.

const numThreads = 4

// What a thread is.
const (
	idleWaits = iota
	idleReady
	idleRuns
)

// Where a CPU is.
const (
	idleUser   = iota // runs a thread
	idleHalted        // idle: has given the lock back, and halts
	idleWoken         // idle: is to take the lock
	idleLate          // of a fault: has given the lock back, and is to set its bit
)

// The interrupts that come in.
const (
	idleWake   = 1 << iota // InterruptWake
	idleDevice             // the device's
)

type idleCPU struct {
	at, thread, pend uint8 // thread is 1 + a thread's number
	event, shot      bool  // Event is the slice's end; the timer is set to it
	preempt          bool
}

type idleState struct {
	cpus    [numCPUs]idleCPU
	threads [numThreads]uint8
	spins   [numThreads]bool
	queue   [numThreads]uint8 // 1 + a thread's number; 0 behind the last one
	idle    uint8             // idleCPUs
	device  bool              // the device is yet to interrupt
}

type idleConfig struct {
	affinity [numThreads]uint8
	device   bool
	thread   int // which thread is to get a CPU

	lateBit bool // idle gives the lock back and then sets the bit
	noWake  bool // giveCPU sends no interrupt
	keepBit bool // giveCPU leaves the bit
	noArm   bool // a CPU that is woken does not set its timer to Event
	noSlice bool // nobody's slice is ended
	noPass  bool // a CPU that takes a thread that may not run on all wakes none for the others
}

func (s *idleState) anyReady(c int, w *idleConfig) bool { return s.firstFor(c, w) >= 0 }

// firstFor returns the place in the queue of the first thread that may run on a CPU, or -1.
func (s *idleState) firstFor(c int, w *idleConfig) int {
	for i, t := range s.queue {
		if t != 0 && w.affinity[t-1]>>c&1 != 0 {
			return i
		}
	}
	return -1
}

// insert puts a thread into the queue.
func (s *idleState) insert(place int, t uint8) {
	copy(s.queue[place+1:], s.queue[place:])
	s.queue[place], s.threads[t] = t+1, idleReady
}

func (s *idleState) queued() (n int) {
	for n < numThreads && s.queue[n] != 0 {
		n++
	}
	return n
}

// giveCPU wakes an idle CPU for a thread, or ends the slices of busy ones.
func (s *idleState) giveCPU(c int, t uint8, w *idleConfig) bool {
	idle := s.idle & w.affinity[t]
	if idle == 0 {
		for n := range s.cpus { // armSlices
			o := &s.cpus[n]
			if o.thread == 0 || o.event || w.noSlice {
				continue
			}
			if o.event = true; n == c {
				o.shot = true
			} else {
				o.pend |= idleWake
			}
		}
		return false
	}
	n := c
	if idle>>n&1 == 0 {
		for n = 0; idle>>n&1 == 0; n++ {
		}
		if !w.noWake {
			s.cpus[n].pend |= idleWake
		}
	}
	if !w.keepBit {
		s.idle &^= 1 << n
	}
	return true
}

// run is Run: it gives the CPU to a thread, or the CPU is idle.
func (s *idleState) run(c int, w *idleConfig) {
	r := &s.cpus[c]
	i := s.firstFor(c, w)
	if i < 0 {
		r.event, r.shot, r.preempt, r.thread = false, false, false, 0
		if r.at = idleHalted; w.lateBit {
			r.at = idleLate
		} else {
			s.idle |= 1 << c
		}
		return
	}
	t := s.queue[i] - 1
	copy(s.queue[i:], s.queue[i+1:])
	s.queue[numThreads-1] = 0
	s.threads[t] = idleRuns
	r.at, r.thread, r.preempt = idleUser, t+1, false
	if s.queue[0] != 0 && !r.event && !w.noSlice {
		r.event, r.shot = true, true
	}
	for _, q := range s.queue { // passOn
		if q != 0 && w.affinity[t] != 1<<len(s.cpus)-1 && !w.noPass {
			s.giveCPU(c, q-1, w)
		}
	}
}

// leaveTrap is LeaveTrap; over says that the thread has had its time.
func (s *idleState) leaveTrap(c int, over bool, w *idleConfig) {
	r := &s.cpus[c]
	if r.thread == 0 || !r.preempt || !s.anyReady(c, w) {
		return
	}
	t := r.thread - 1 // GiveWay
	r.thread = 0
	if n := s.queued(); over || n == 0 {
		s.insert(n, t)
	} else {
		s.insert(1, t)
	}
	s.giveCPU(c, t, w)
	s.run(c, w)
}

func (l idleState) cpu(i int, w *idleConfig, emit func(idleState, string)) {
	s := l
	c := &s.cpus[i]
	send := func(what string) {
		emit(s, what)
		s = l
	}
	switch c.at {
	case idleUser:
		t := c.thread - 1
		if c.pend&idleWake != 0 {
			if c.pend &^= idleWake; !w.noArm && c.event {
				c.shot = true
			}
			s.leaveTrap(i, false, w)
			send("is woken while it runs a thread")
		}
		if c.shot { // Tick
			c.shot, c.event = false, false
			c.preempt = c.preempt || s.anyReady(i, w)
			s.leaveTrap(i, true, w)
			send("the timer interrupts")
		}
		if c.pend&idleDevice != 0 {
			c.pend &^= idleDevice
			s.deviceDone(i, w)
			s.leaveTrap(i, false, w)
			send("the device interrupts a thread")
		}
		if s.spins[t] {
			break
		}
		c.thread, s.threads[t] = 0, idleWaits
		s.run(i, w)
		send("its thread waits")
		s.spins[t] = true
		send("its thread spins from now on")
		for u := range uint8(numThreads) {
			if s.threads[u] == idleWaits && !(w.device && u == numThreads-1) {
				s.insert(s.queued(), u) // Enqueue
				s.giveCPU(i, u, w)
				send("its thread wakes another")
			}
		}
	case idleHalted:
		if c.pend&idleWake != 0 {
			c.pend, c.at = c.pend&^idleWake, idleWoken
			send("is woken")
		}
		if c.pend&idleDevice != 0 {
			c.pend, c.at = c.pend&^idleDevice, idleWoken
			s.deviceDone(i, w)
			send("the device interrupts the idle CPU")
		}
	case idleWoken:
		s.idle &^= 1 << i
		s.run(i, w)
		send("idle: has the lock again")
	case idleLate:
		s.idle |= 1 << i
		c.at = idleHalted
		send("idle: sets its bit")
	}
}

// deviceDone wakes the device's thread: WakeNow.
func (s *idleState) deviceDone(i int, w *idleConfig) {
	if t := uint8(numThreads - 1); s.threads[t] == idleWaits {
		s.insert(0, t)
		if !s.giveCPU(i, t, w) {
			s.cpus[i].preempt = true
		}
	}
}

const idleBeside = "a CPU is idle beside a ready thread"

func (s *idleState) broken(w *idleConfig) string {
	for _, q := range s.queue {
		if q == 0 {
			break // the last one
		}
		coming, halted := false, false
		for n := range s.cpus {
			if c := &s.cpus[n]; w.affinity[q-1]>>n&1 != 0 && c.at != idleUser {
				here := c.at != idleHalted || c.pend != 0
				coming, halted = coming || here, halted || !here
			}
		}
		if halted && !coming {
			return idleBeside
		}
	}
	return ""
}

func idleModel(w idleConfig) model[idleState] {
	start := idleState{device: w.device}
	for n := range uint8(numThreads) {
		if n < numThreads-1 || !w.device {
			start.insert(int(n), n)
		}
	}
	for n := range start.cpus {
		start.cpus[n].at = idleWoken // Join
	}
	return model[idleState]{
		start: start,
		steps: func(s idleState, emit func(idleState, int, string)) {
			for i := range s.cpus {
				s.cpu(i, &w, func(to idleState, what string) { emit(to, i, what) })
			}
			if s.device {
				s.device = false
				s.cpus[0].pend |= idleDevice
				emit(s, 0, "the device sends its interrupt")
			}
		},
		broken: func(s *idleState) string { return s.broken(&w) },
		final:  func(s *idleState) bool { return s.threads[w.thread] != idleReady },
	}
}

func TestModelIdle(t *testing.T) {
	all := [...]uint8{7, 7, 7, 7}
	holds(t, idleModel(idleConfig{affinity: all}))
	holds(t, idleModel(idleConfig{affinity: all, device: true, thread: numThreads - 1}))
	for n := range numThreads {
		holds(t, idleModel(idleConfig{affinity: [...]uint8{7, 1, 2, 6}, thread: n}))
		holds(t, idleModel(idleConfig{affinity: [...]uint8{7, 3, 2, 2}, device: true, thread: n}))
	}
}

func TestModelIdleFaults(t *testing.T) {
	all, some := [...]uint8{7, 7, 7, 7}, [...]uint8{7, 1, 2, 6}
	breaks(t, idleModel(idleConfig{affinity: all, lateBit: true}), idleBeside)
	breaks(t, idleModel(idleConfig{affinity: all, noWake: true}), idleBeside)
	breaks(t, idleModel(idleConfig{affinity: all, keepBit: true}), idleBeside)
	breaks(t, idleModel(idleConfig{affinity: some, thread: 2, noArm: true}), deadlock)
	breaks(t, idleModel(idleConfig{affinity: all, noSlice: true}), deadlock)
	breaks(t, idleModel(idleConfig{affinity: [...]uint8{7, 3, 2, 2}, device: true, noPass: true}), idleBeside)
}
