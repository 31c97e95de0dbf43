package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Waiting for many descriptors: epoll, poll and select. An epoll instance is a few pages of watched
// descriptors; the Go runtime has one. An instance can watch others, if those watch none: Linux
// allows deeper nesting.

const (
	epollIn      = 0x1
	epollOut     = 0x4
	epollErr     = 0x8
	epollHup     = 0x10
	epollRdhup   = 0x2000
	epollAlone   = 1 << 28 // EPOLLEXCLUSIVE: all other waiters are woken, too
	epollWakeup  = 1 << 29
	epollOneshot = 1 << 30
	epollEdge    = 1 << 31

	epollFlags = epollOneshot | epollEdge

	maxEpolls   = 16
	pageWatches = pageSize / int(unsafe.Sizeof(watch{}))
	epollPages  = (maxFDs + pageWatches - 1) / pageWatches
)

// watch is a descriptor that an epoll instance watches.
type watch struct {
	fd     int16
	file   int16  // open file, plus 1; 0 is free
	events uint32 // the wanted events, with the flags above
	fresh  bool   // something has happened since the last report
	data   uint64 // the program's
}

type epollInstance struct {
	pages [epollPages]uintptr // of pageWatches each, allocated when needed
	n     int                 // no watch from here on is in use
	next  int                 // the watch at which the next wait begins
	used  bool
	file  int32
}

var epolls [maxEpolls]epollInstance // under the kernel lock

// at returns watch k, which is below n.
func (e *epollInstance) at(k int) *watch {
	at := uintptr(k%pageWatches) * unsafe.Sizeof(watch{})
	return (*watch)(arch.Pointer(e.pages[k/pageWatches] + at))
}

// free returns a watch that is not in use, or nil.
func (e *epollInstance) free() *watch {
	percpu.AssertLocked()
	for k := 0; k < e.n; k++ {
		if w := e.at(k); w.file == 0 {
			return w
		}
	}
	if e.n == epollPages*pageWatches {
		return nil
	}
	if page := &e.pages[e.n/pageWatches]; *page == 0 {
		if *page = mem.Frame(); *page == 0 {
			return nil
		}
	}
	e.n++
	return e.at(e.n - 1)
}

// forget removes a watch.
func (e *epollInstance) forget(w *watch) {
	w.file = 0
	for e.n > 0 && e.at(e.n-1).file == 0 {
		e.n--
	}
}

// nests reports whether the instance watches other instances.
func (e *epollInstance) nests() bool {
	for k := 0; k < e.n; k++ {
		if w := e.at(k); w.file != 0 && files[w.file-1].kind == epoll {
			return true
		}
	}
	return false
}

// watched reports whether another instance watches open file i.
func watched(i int) bool {
	for j := range epolls {
		e := &epolls[j]
		for k := 0; k < e.n; k++ {
			if e.at(k).file == int16(i+1) {
				return true
			}
		}
	}
	return false
}

// state returns the present events of an open file.
func state(f *file) uint32 {
	percpu.AssertLocked()
	if of := states[f.kind]; of != nil {
		return of(f)
	} else if f.kind == epoll {
		return when(anyReady(&epolls[f.obj]), epollIn)
	}
	return epollIn | epollOut
}

// ready reports whether a read of the file would not wait.
func ready(f *file) bool { return state(f)&(epollIn|epollHup|epollErr) != 0 }

// changed says that something has happened to open file i, so that whoever waits for it goes on.
func changed(i int) {
	percpu.AssertLocked()
	wakeFile(i)
	for j := range epolls {
		e := &epolls[j]
		hit := false
		for k := 0; k < e.n; k++ {
			if w := e.at(k); w.file == int16(i+1) {
				w.fresh = true
				hit = true
			}
		}
		if hit {
			wakeEpoll(j)
			changed(int(e.file))
		}
	}
	wakeEpoll(-1)
}

// wakeEpoll lets the threads that wait for epoll instance j look again, and those in poll.
func wakeEpoll(j int) { retry(thread.ForEpoll, uintptr(j), anyEpoll) }

// anyEpoll is the key of a thread in poll or select: it looks again whenever anything
// happens.
const anyEpoll = ^uintptr(0)

// unwatch removes all watches of an open file that is being closed.
func unwatch(i int) {
	percpu.AssertLocked()
	for j := range epolls {
		e := &epolls[j]
		for k := e.n - 1; k >= 0; k-- {
			if w := e.at(k); w.file == int16(i+1) {
				e.forget(w)
			}
		}
	}
}

// sysEpollCreate ignores the expected number of descriptors.
func sysEpollCreate(c *call) int64 {
	if c.int(0) <= 0 {
		return -eINVAL
	}
	return c.newEpoll(0)
}

func (c *call) newEpoll(flags uintptr) int64 {
	if flags&^oCloexec != 0 {
		return -eINVAL
	}
	for j := range epolls {
		e := &epolls[j]
		if e.used {
			continue
		}
		fd := open(file{kind: epoll, obj: int32(j), flags: oRdwr}, flags)
		if fd >= 0 {
			e.used, e.file = true, int32(fds[fd])-1
		}
		return fd
	}
	return -eMFILE
}

func closeEpoll(f *file) {
	e := &epolls[f.obj]
	for i := range e.pages {
		if e.pages[i] != 0 {
			mem.FreeFrame(e.pages[i])
			e.pages[i] = 0
		}
	}
	e.used, e.n, e.next = false, 0, 0
}

func sysEpollCtl(c *call) int64 {
	const add, del, mod = 1, 2, 3
	ep, f := get(c.fd(0)), get(c.fd(2))
	if ep == nil || f == nil || (ep.flags|f.flags)&oPath != 0 {
		return -eBADF
	}
	if ep.kind != epoll || ep == f {
		return -eINVAL
	}
	if f.is(always) {
		return -ePERM // always ready
	}
	e := &epolls[ep.obj]
	i := int(fds[c.fd(2)])
	var found *watch
	for k := 0; k < e.n && found == nil; k++ {
		if w := e.at(k); int(w.file) == i && uintptr(w.fd) == c.fd(2) {
			found = w
		}
	}
	if c.op(1) == del {
		if found == nil {
			return -eNOENT
		}
		e.forget(found)
		return 0
	}
	events, ok1 := in32(c.pointer(3))
	data, ok2 := in64(c.pointer(3) + 4) // packed
	if !ok1 || !ok2 {
		return -eFAULT
	}
	const alone = epollIn | epollOut | epollErr | epollHup | epollWakeup | epollEdge | epollAlone
	if events&epollAlone != 0 && (c.op(1) == mod || f.kind == epoll || events&^alone != 0) {
		return -eINVAL
	}
	switch c.op(1) {
	case add:
		if found != nil {
			return -eEXIST
		}
		if f.kind == epoll && (epolls[f.obj].nests() || watched(int(e.file))) {
			return -eLOOP
		}
		if found = e.free(); found == nil {
			return -eNOMEM
		}
	case mod:
		if found == nil {
			return -eNOENT
		}
	default:
		return -eINVAL
	}
	found.fd, found.file, found.events, found.data, found.fresh = int16(c.fd(2)), int16(i),
		events|epollErr|epollHup, data, true
	if found.report() != 0 {
		wakeEpoll(int(ep.obj))
		changed(int(e.file))
	}
	return 0
}

// report returns the events of a watch that are due to be reported.
func (w *watch) report() uint32 {
	if w.file == 0 || w.events&epollEdge != 0 && !w.fresh {
		return 0
	}
	return state(&files[w.file-1]) & w.events &^ epollFlags
}

func anyReady(e *epollInstance) bool {
	for k := 0; k < e.n; k++ {
		if e.at(k).report() != 0 {
			return true
		}
	}
	return false
}

// waitEpoll waits for events. timeout is in ns, ^0 for no limit.
func (c *call) waitEpoll(timeout uint64) int64 {
	ep := get(c.fd(0))
	switch {
	case ep == nil || ep.flags&oPath != 0:
		return -eBADF
	case c.int(2) <= 0 || c.int(2) > (1<<31-1)/12 || ep.kind != epoll:
		return -eINVAL
	}
	e := &epolls[ep.obj]
	n := uintptr(0)
	// The watch that was reported last comes last, so that each has its turn when there is room for
	// few.
	for i, first := 0, e.next; i < e.n && n < uintptr(c.int(2)); i++ {
		k := (first + i) % e.n
		w := e.at(k)
		events := w.report()
		if events == 0 {
			continue
		}
		at := c.pointer(1) + n*12
		if !out32(at, events) || !out64(at+4, w.data) {
			if n == 0 {
				return -eFAULT
			}
			break
		}
		w.fresh, e.next = false, k+1
		if w.events&epollOneshot != 0 {
			w.events &= epollFlags
		}
		n++
	}
	if n > 0 {
		return int64(n)
	}
	return c.waitEvents(uintptr(ep.obj), timeout)
}

// pwaitEpoll is epoll_wait with a mask of signals.
func (c *call) pwaitEpoll(timeout uint64) int64 {
	if e := maskFor(c.pointer(4), c.size(5)); e != 0 {
		return e
	}
	return unmask(c.waitEpoll(timeout))
}

// maskFor gives the running thread the mask of signals at set until its call ends. If set is 0,
// nothing changes.
func maskFor(set, size uintptr) int64 {
	if set == 0 {
		return 0
	}
	if size != sigsetSize {
		return -eINVAL
	}
	mask, ok := in64(set)
	if !ok {
		return -eFAULT
	}
	t := thread.Current()
	t.SavedMask, t.HasSavedMask = t.Mask, true
	t.Mask = mask &^ unblockable
	return 0
}

// unmask restores the mask that maskFor replaced, for a call that returns result. If a signal has
// ended the call, leave restores it instead, after the signal's handler.
func unmask(result int64) int64 {
	if t := thread.Current(); t.HasSavedMask && result != -eINTR {
		t.Mask, t.HasSavedMask = t.SavedMask, false
	}
	return result
}

// waitEvents waits until something happens; it returns 0 if the time is over. The call then starts
// over, with the deadline of the first time.
func (c *call) waitEvents(key uintptr, timeout uint64) int64 {
	t := thread.Current()
	if !c.again {
		t.Until = never
		if timeout < 1<<62 {
			t.Until = clock.Now() + timeout
		}
	}
	if t.HasSavedMask && t.Pending&^t.Mask != 0 {
		return -eINTR
	}
	if timeout == 0 || clock.Now() >= t.Until {
		return 0
	}
	c.takeTurn()
	thread.Block(c.f, thread.ForEpoll, key, t.Until, 0)
	return 0
}

func millis(v int32) uint64 {
	if v < 0 {
		return never
	}
	return uint64(v) * 1e6
}

func sysEpollPwait2(c *call) int64 {
	timeout, e := inTimeout(c.pointer(3))
	if e != 0 {
		return e
	}
	return c.pwaitEpoll(timeout)
}

func sysPpoll(c *call) int64 {
	timeout, e := inTimeout(c.pointer(2))
	if e != 0 {
		return e
	}
	if e := maskFor(c.pointer(3), c.size(4)); e != 0 {
		return e
	}
	return unmask(c.pollFor(timeout))
}

// pollFor is poll. A struct pollfd is fd, events, revents in 4, 2 and 2 bytes.
func (c *call) pollFor(timeout uint64) int64 {
	n := uintptr(c.uint(1))
	if uint64(n) > limits[limitFiles].soft {
		return -eINVAL
	}
	hits := int64(0)
	for i := uintptr(0); i < n; i++ {
		at := c.pointer(0) + i*8
		fd, ok1 := in32(at)
		events, ok2 := in32(at + 4)
		if !ok1 || !ok2 {
			return -eFAULT
		}
		revents := uint32(0)
		if int32(fd) >= 0 {
			if f := get(uintptr(fd)); f == nil || f.flags&oPath != 0 {
				revents = 0x20 // POLLNVAL
			} else {
				revents = state(f) & (events&0xffff | epollErr | epollHup)
			}
		}
		if !outShort(at+6, uint16(revents)) {
			return -eFAULT
		}
		if revents != 0 {
			hits++
		}
	}
	if hits > 0 {
		return hits
	}
	return c.waitEvents(anyEpoll, timeout)
}

func sysPoll(c *call) int64         { return c.pollFor(millis(c.int(2))) }
func sysEpollPwait(c *call) int64   { return c.pwaitEpoll(millis(c.int(3))) }
func sysEpollCreate1(c *call) int64 { return c.newEpoll(c.flags(0)) }
