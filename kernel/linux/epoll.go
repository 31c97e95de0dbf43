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
// allows deeper nesting. What happens to a file, and what a wait looks at, costs by the watches
// that may be due, not by all that there are: of ten thousand connections few have something at a
// time.

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

	maxEpolls = 16
)

// watch is a descriptor that an epoll instance watches. It lies in a page frame of the instance;
// the links are addresses of others.
type watch struct {
	fd     int16
	file   int16  // open file, plus 1; 0 is free
	events uint32 // the wanted events, with the flags above
	data   uint64 // the program's
	epoll  int16  // the instance
	fresh  bool   // something has happened since the last report
	queued bool   // it is in the instance's queue

	next          uintptr // of the same file; of the spare ones
	before, after uintptr // in the queue
}

// watchFrame is what a page frame of an instance holds.
type watchFrame struct {
	next    uintptr
	watches [(pageSize - 8) / unsafe.Sizeof(watch{})]watch
}

const _ = pageSize - unsafe.Sizeof(watchFrame{})

// An epollInstance has in its queue the watches that may be due, the next one to be looked at
// first: all but those that want to be told of changes alone and have been told of all.
type epollInstance struct {
	frames      uintptr
	spare       uintptr // watches that are not in use
	first, last uintptr // the queue
	queued      int
	used        bool
	file        int32
}

var epolls [maxEpolls]epollInstance // under the kernel lock

func watchAt(a uintptr) *watch { return (*watch)(arch.Pointer(a)) }

func (w *watch) address() uintptr { return uintptr(unsafe.Pointer(w)) }

// add returns a new watch of open file i, or nil.
func (e *epollInstance) add(j, i int) *watch {
	percpu.AssertLocked()
	if e.spare == 0 && !e.grow() {
		return nil
	}
	w := watchAt(e.spare)
	e.spare = w.next
	f := fileAt(i)
	*w = watch{file: int16(i + 1), epoll: int16(j), next: f.watches}
	f.watches = w.address()
	return w
}

// grow gives the instance a page frame more.
func (e *epollInstance) grow() bool {
	at := mem.Frame()
	if at == 0 {
		return false
	}
	frame := (*watchFrame)(arch.Pointer(at))
	frame.next, e.frames = e.frames, at
	for k := range frame.watches {
		w := &frame.watches[k]
		w.next, e.spare = e.spare, w.address()
	}
	return true
}

// forget removes a watch.
func (e *epollInstance) forget(w *watch) {
	percpu.AssertLocked()
	e.unqueue(w)
	for link := &fileAt(int(w.file - 1)).watches; *link != 0; link = &watchAt(*link).next {
		if *link == w.address() {
			*link = w.next
			break
		}
	}
	w.file = 0
	w.next, e.spare = e.spare, w.address()
}

// queue puts a watch at the end of the queue.
func (e *epollInstance) queue(w *watch) {
	if w.queued {
		return
	}
	w.queued, w.before, w.after = true, e.last, 0
	if e.last != 0 {
		watchAt(e.last).after = w.address()
	} else {
		e.first = w.address()
	}
	e.last = w.address()
	e.queued++
}

func (e *epollInstance) unqueue(w *watch) {
	if !w.queued {
		return
	}
	if w.before != 0 {
		watchAt(w.before).after = w.after
	} else {
		e.first = w.after
	}
	if w.after != 0 {
		watchAt(w.after).before = w.before
	} else {
		e.last = w.before
	}
	w.queued = false
	e.queued--
}

// nests reports whether the instance watches other instances.
func (e *epollInstance) nests() bool {
	for at := e.frames; at != 0; {
		frame := (*watchFrame)(arch.Pointer(at))
		for k := range frame.watches {
			if w := &frame.watches[k]; w.file != 0 && fileAt(int(w.file-1)).kind == epoll {
				return true
			}
		}
		at = frame.next
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
	for at := fileAt(i).watches; at != 0; {
		w := watchAt(at)
		e := &epolls[w.epoll]
		w.fresh = true
		e.queue(w)
		wakeEpoll(int(w.epoll))
		changed(int(e.file))
		at = w.next
	}
	wakeEpoll(-1)
}

// changedAll is changed for the open files of some kinds, a bit each, that have that obj; anyObj
// stands for all.
func changedAll(kinds uint32, obj int32) {
	percpu.AssertLocked()
	for i := range highFile {
		if f := fileAt(i); (f.obj == obj || obj == anyObj) && kinds>>(f.kind%32)&1 != 0 {
			changed(i)
		}
	}
}

const anyObj = -1

// wakeEpoll lets the threads that wait for epoll instance j look again, and those in poll.
func wakeEpoll(j int) { retry(thread.ForEpoll, uintptr(j), anyEpoll) }

// anyEpoll is the key of a thread in poll or select: it looks again whenever anything
// happens.
const anyEpoll = ^uintptr(0)

// unwatch removes all watches of an open file that is being closed.
func unwatch(i int) {
	percpu.AssertLocked()
	for f := fileAt(i); f.watches != 0; {
		w := watchAt(f.watches)
		epolls[w.epoll].forget(w)
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
	for e.frames != 0 {
		frame := (*watchFrame)(arch.Pointer(e.frames))
		for k := range frame.watches {
			if w := &frame.watches[k]; w.file != 0 {
				e.forget(w)
			}
		}
		at := e.frames
		e.frames = frame.next
		mem.FreeFrame(at)
	}
	*e = epollInstance{}
}

// watchBy returns the watch of an open file that epoll instance j has by a descriptor, or nil.
func (f *file) watchBy(j int32, fd uintptr) *watch {
	for at := f.watches; at != 0; at = watchAt(at).next {
		if w := watchAt(at); int32(w.epoll) == j && uintptr(w.fd) == fd {
			return w
		}
	}
	return nil
}

func sysEpollCtl(c *call) int64 {
	const add, del, mod = 1, 2, 3
	ep, f := usable(c.fd(0)), usable(c.fd(2))
	if ep == nil || f == nil {
		return -eBADF
	}
	if ep.kind != epoll || ep == f {
		return -eINVAL
	}
	if f.is(always) {
		return -ePERM // always ready
	}
	e := &epolls[ep.obj]
	i := int(fds[c.fd(2)]) - 1
	found := f.watchBy(ep.obj, c.fd(2))
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
		if f.kind == epoll && (epolls[f.obj].nests() || fileAt(int(e.file)).watches != 0) {
			return -eLOOP
		}
		if found = e.add(int(ep.obj), i); found == nil {
			return -eNOMEM
		}
	case mod:
		if found == nil {
			return -eNOENT
		}
	default:
		return -eINVAL
	}
	found.fd, found.data, found.fresh = int16(c.fd(2)), data, true
	found.events = events | epollErr | epollHup
	e.queue(found)
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
	return state(fileAt(int(w.file-1))) & w.events &^ epollFlags
}

func anyReady(e *epollInstance) bool {
	for at := e.first; at != 0; at = watchAt(at).after {
		if watchAt(at).report() != 0 {
			return true
		}
	}
	return false
}

// waitEpoll waits for events. timeout is in ns, ^0 for no limit.
func (c *call) waitEpoll(timeout uint64) int64 {
	ep := usable(c.fd(0))
	switch {
	case ep == nil:
		return -eBADF
	case c.int(2) <= 0 || c.int(2) > (1<<31-1)/12 || ep.kind != epoll:
		return -eINVAL
	}
	e := &epolls[ep.obj]
	n := uintptr(0)
	// What was looked at goes to the end of the queue, so that each watch has its turn when there is
	// room for few.
	for left := e.queued; left > 0 && n < uintptr(c.int(2)); left-- {
		w := watchAt(e.first)
		if events := w.report(); events != 0 {
			at := c.pointer(1) + n*12
			if !out32(at, events) || !out64(at+4, w.data) {
				if n == 0 {
					return -eFAULT
				}
				break
			}
			w.fresh = false
			if w.events&epollOneshot != 0 {
				w.events &= epollFlags
			}
			n++
		}
		e.unqueue(w)
		if (w.fresh || w.events&epollEdge == 0) && w.events&^epollFlags != 0 {
			e.queue(w)
		}
	}
	if n > 0 {
		return int64(n)
	}
	return c.waitEvents(uintptr(ep.obj), timeout, 0)
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
// over, with the deadline of the first time. over is its result if the time passes while it waits.
func (c *call) waitEvents(key uintptr, timeout uint64, over int64) int64 {
	t := thread.Current()
	if !c.again {
		t.Until, t.Left = never, 0
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
	thread.Block(c.f, thread.ForEpoll, key, t.Until, over)
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
	for i := range n {
		at := c.pointer(0) + i*8
		fd, ok1 := in32(at)
		events, ok2 := in32(at + 4)
		if !ok1 || !ok2 {
			return -eFAULT
		}
		revents := uint32(0)
		if int32(fd) >= 0 {
			if f := usable(uintptr(fd)); f == nil {
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
	return c.waitEvents(anyEpoll, timeout, 0)
}

func sysPoll(c *call) int64         { return c.pollFor(millis(c.int(2))) }
func sysEpollPwait(c *call) int64   { return c.pwaitEpoll(millis(c.int(3))) }
func sysEpollCreate1(c *call) int64 { return c.newEpoll(c.flags(0)) }
