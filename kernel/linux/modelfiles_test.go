package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"unsafe"
)

// How the model calls pipes, event counters and the calls that wait for them.

// handlers gives both systems a handler for SIGUSR1, which ends calls that wait, and for SIGUSR2,
// after which they go on.
func handlers() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1, syscall.SIGUSR2)
	for k, flags := range []uintptr{0, saRestart} {
		sig := []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2}[k]
		actions[sig] = action{handler: handleAt, flags: flags, restorer: 1}
		var a action
		sigaction := func(new, old *action) {
			_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
			if e != 0 {
				panic(e)
			}
		}
		sigaction(nil, &a)
		a.flags = a.flags&^saRestart | flags
		sigaction(&a, nil)
		usr2Action = [2]action{actions[sig], a}
	}
}

// interrupt lets a worker send signals to those that wait, until none does.
func (m *model) interrupt() {
	for j, w := range m.workers {
		for w.waits {
			m.do(m.oneIdle(), nil, "tgkill", syscall.SYS_TGKILL, pids{}, tid(j), int(syscall.SIGUSR1))
		}
	}
}

// wait describes what a worker waits for.
type wait struct {
	obj   int
	write bool
}

// files reads, writes and waits for pipes and counters.
func (m *model) files() {
	m.setTimes()
	const polls = -1
	waiting, polled := map[int]wait{}, map[int][]int{}
	busy := func(obj int, write bool) bool {
		return slices.ContainsFunc(m.workers, func(w *worker) bool {
			return w.waits && waiting[slices.Index(m.workers, w)] == wait{obj, write}
		})
	}
	// While some workers wait for events, none waits for their causes: their order would count.
	any := func(events bool) bool {
		return slices.ContainsFunc(m.workers, func(w *worker) bool {
			return w.waits && (w.call[0] == syscall.SYS_POLL || w.call[0] == syscall.SYS_EPOLL_WAIT) == events
		})
	}
	objects := 0
	for range 600 {
		idle := 0
		for _, w := range m.workers {
			if !w.waits {
				idle++
			}
		}
		i := m.oneIdle()
		if len(m.slots) < 4 || m.r.IntN(12) == 0 && len(m.slots) < 14 {
			objects++
			m.newFile(i, objects)
			continue
		}
		k := m.r.IntN(len(m.slots))
		op := m.r.IntN(17)
		for range 12 { // mostly, what the call is for
			if kind := m.slots[k].kind; op < 5 && kind != epoll && kind != closed || op >= 9 && op < 15 && kind == epoll || op >= 5 && op < 9 || op >= 15 {
				break
			}
			k = m.r.IntN(len(m.slots))
		}
		s := &m.slots[k]
		switch op {
		case 0, 1, 2, 3, 4:
			read := op < 2 || op == 2 && m.r.IntN(2) == 0
			if m.r.IntN(10) > 0 && s.kind != counter {
				read = s.kind == pipeRead
			}
			if idle == 1 || busy(s.obj, !read) || s.kind == closed && m.r.IntN(4) > 0 ||
				s.kind != closed && get(uintptr(s.fd[0])).flags&oNonblock == 0 && any(true) {
				continue
			}
			waiting[i] = wait{s.obj, !read}
			n := m.size(s)
			name, number := "write", syscall.SYS_WRITE
			answers := func(r int64) int { return 0 }
			if read {
				name, number, answers = "read", syscall.SYS_READ, func(r int64) int { return max(0, int(r)) }
			} else {
				m.fill(m.workers[i], n)
			}
			m.do(i, answers, name, uintptr(number), fd(k), at(0), n)
		case 5:
			if slices.ContainsFunc(m.workers, func(w *worker) bool {
				j := slices.Index(m.workers, w)
				return w.waits && (waiting[j].obj == s.obj || waiting[j].obj == polls && slices.Contains(polled[j], k))
			}) {
				continue // with Linux, it goes on waiting for what the descriptor was
			}
			m.do(i, nil, "close", syscall.SYS_CLOSE, fd(k))
			s.kind, s.fd = closed, [2]int{900, 900}
		case 6:
			a, b, _ := m.do(i, nil, "new dup", syscall.SYS_DUP, fd(k))
			m.made(a, b, *s)
		case 7:
			const getFL, setFL = 3, 4
			if busy(s.obj, false) || busy(s.obj, true) {
				continue // a pipe's waits see it with Linux, a counter's do not
			}
			m.do(i, nil, "fcntl", syscall.SYS_FCNTL, fd(k), setFL, []int{0, oNonblock, oNonblock}[m.r.IntN(3)])
			m.do(i, nil, "fcntl", syscall.SYS_FCNTL, fd(k), getFL, 0)
		case 8:
			if s.kind == epoll {
				continue // EINVAL with new Linux, ENOTTY with old
			}
			m.do(i, func(r int64) int { return 4 + int(max(-4, 4*r)) }, "ioctl", syscall.SYS_IOCTL, fd(k), 0x541b, at(0)) // FIONREAD
		case 9, 10, 11:
			m.control(i, k, m.r.IntN(len(m.slots)))
		case 12, 13, 14:
			timeout := m.timeout(idle)
			if timeout != 0 && (s.once() && busy(s.obj, false) || any(false)) {
				continue
			}
			waiting[i] = wait{s.obj, false}
			m.do(i, sortEvents(m.workers[i]), "epoll_wait", syscall.SYS_EPOLL_WAIT, fd(k), at(0), 30*min(1, m.r.IntN(20)), timeout)
		case 15:
			timeout := m.timeout(idle)
			if timeout != 0 && any(false) {
				continue
			}
			waiting[i], polled[i] = wait{polls, false}, nil
			n := 1 + m.r.IntN(3)
			for j := range n {
				p := (k + j) % len(m.slots)
				polled[i] = append(polled[i], p)
				if m.slots[p].kind == epoll && m.slots[p].once() {
					timeout = 0 // a worker that waits for the instance itself may be first
				}
				events := uint16(m.r.IntN(4)&^2 | m.r.IntN(2)<<2)
				m.log = append(m.log, fmt.Sprintf("fd%d, events %#x", (k+j)%len(m.slots), events))
				for side, room := range m.workers[i].room {
					binary.LittleEndian.PutUint32(room[8*j:], uint32(m.slots[(k+j)%len(m.slots)].fd[side]))
					binary.LittleEndian.PutUint32(room[8*j+4:], uint32(events))
				}
			}
			w := m.workers[i]
			m.do(i, func(int64) int {
				for j := range n { // the numbers are not the same
					binary.LittleEndian.PutUint32(w.room[0][8*j:], 0)
					binary.LittleEndian.PutUint32(w.room[1][8*j:], 0)
				}
				return 8 * n
			}, "poll", syscall.SYS_POLL, at(0), n, timeout)
		case 16:
			j := m.r.IntN(len(m.workers))
			m.do(i, nil, "tgkill", syscall.SYS_TGKILL, pids{}, tid(j), []int{0, int(syscall.SIGUSR1), int(syscall.SIGUSR2), 65}[m.r.IntN(4)])
		}
	}
	m.interrupt()
}

func (m *model) timeout(idle int) int {
	if idle == 1 {
		return 0
	}
	return []int{0, 0, -1, 1 << 30}[m.r.IntN(4)]
}

// size returns how much is read or written at a time: for pipes, in pages or only a few bytes,
// because Linux's pipes consist of pages, which parts of pages do not fill.
func (m *model) size(s *slot) int {
	if s.kind == counter {
		return []int{0, 7, 8, 8, 8}[m.r.IntN(5)]
	}
	if s.obj%2 == 0 {
		return []int{0, 1, 1, 2, 5, 40, 100}[m.r.IntN(7)]
	}
	return pageSize * []int{0, 1, 1, 2, 5, 15, 16, 17, 30}[m.r.IntN(9)]
}

// fill writes the bytes that a worker is to write.
func (m *model) fill(w *worker, n int) {
	for j := 0; j < n; j += 8 {
		v := m.r.Uint64()
		if n < 10 {
			v = []uint64{0, 1, 2, 1 << 63, ^uint64(0) - 1, ^uint64(0)}[m.r.IntN(6)] // for a counter
		}
		for _, room := range w.room {
			binary.LittleEndian.PutUint64(room[j:], v)
		}
	}
}

// newFile makes a pipe, an event counter or an epoll instance, at random.
func (m *model) newFile(i, obj int) {
	flags := []int{0, oNonblock, oNonblock}[m.r.IntN(3)]
	w := m.workers[i]
	switch m.r.IntN(4) {
	case 0, 1:
		m.do(i, nil, "pipe2", syscall.SYS_PIPE2, at(0), flags)
		if w.result != 0 {
			return
		}
		for end, kind := range []kind{pipeRead, pipeWrite} {
			m.made(int64(binary.LittleEndian.Uint32(w.room[0][4*end:])), int64(binary.LittleEndian.Uint32(w.room[1][4*end:])), slot{kind: kind, obj: obj})
		}
	case 2:
		a, b, _ := m.do(i, nil, "new eventfd2", syscall.SYS_EVENTFD2, m.r.IntN(2), flags|m.r.IntN(2))
		m.made(a, b, slot{kind: counter, obj: obj})
	case 3:
		a, b, _ := m.do(i, nil, "new epoll_create1", syscall.SYS_EPOLL_CREATE1, 0)
		m.made(a, b, slot{kind: epoll, obj: obj})
	}
}

// made keeps a descriptor of both systems.
func (m *model) made(a, b int64, s slot) {
	if a < 0 || b < 0 {
		if a != b {
			m.fail("it is %d; Linux has %d", a, b)
		}
		return
	}
	// The numbers are equal and new: an epoll instance identifies files by their descriptors'
	// numbers, also when these have been closed.
	m.lastFD++
	n := 200 + m.lastFD
	fds[n], fds[a] = fds[a], 0
	freeFD, highFD = min(freeFD, uintptr(a)), max(highFD, uintptr(n)+1)
	if err := syscall.Dup3(int(b), n, 0); err != nil {
		m.t.Fatal(err)
	}
	syscall.Close(int(b))
	s.fd = [2]int{n, n}
	for k := range m.slots {
		if m.slots[k].kind == closed {
			m.slots[k] = s
			return
		}
	}
	m.slots = append(m.slots, s)
}

// control changes what an epoll instance watches.
func (m *model) control(i, ep, k int) {
	if m.slots[ep].kind != epoll && m.r.IntN(10) > 0 {
		return
	}
	if e, w := &m.slots[ep], &m.slots[k]; w.kind == epoll && w.obj != e.obj && (e.obj%2 != 0 || w.obj%2 != 1 || w.once()) {
		return // Linux stacks them higher than two
	}
	events := uint32(m.r.IntN(2)*epollIn | m.r.IntN(2)*epollOut | m.r.IntN(2)*epollRdhup)
	if m.slots[ep].once() && m.r.IntN(2) == 0 {
		events |= epollOneshot
	}
	for _, room := range m.workers[i].room {
		binary.LittleEndian.PutUint32(room, events)
		binary.LittleEndian.PutUint64(room[4:], uint64(k)<<32)
	}
	m.log = append(m.log, fmt.Sprintf("events %#x", events))
	m.do(i, nil, "epoll_ctl", syscall.SYS_EPOLL_CTL, fd(ep), m.r.IntN(5), fd(k), at(0))
}

// once reports whether an epoll instance may report something once: then one thread at a time waits
// for it. Linux does not define which thread is told.
func (s *slot) once() bool { return s.obj%3 == 0 }

// sortEvents sorts the events that epoll_wait has written: their order is not defined.
func sortEvents(w *worker) func(int64) int {
	return func(r int64) int {
		for _, room := range w.room {
			var all [][]byte
			for k := range max(0, r) {
				all = append(all, bytes.Clone(room[12*k:12*k+12]))
			}
			slices.SortFunc(all, bytes.Compare)
			copy(room, bytes.Join(all, nil))
		}
		return max(0, int(r)*12)
	}
}
