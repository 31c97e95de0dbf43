package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Pipes and event counters.

const (
	maxPipes    = 256
	pipeSize    = 16 * pageSize // less than a ring holds
	maxCounters = 64
	atomicWrite = 4096 // PIPE_BUF
)

// pipe is the state of a pipe.
type pipe struct {
	ring
	readers int32 // open files at the reading end
	writers int32
	fifo    vfs.ID // its name in the file tree, 0 if it has none
}

var pipes [maxPipes]pipe // under the kernel lock

type eventCounter struct {
	value     uint64
	semaphore bool
	used      bool
	file      int32
}

var counters [maxCounters]eventCounter // under the kernel lock

func sysPipe2(c *call) int64 {
	percpu.AssertLocked()
	flags := c.flags(1)
	if flags&^(oNonblock|oCloexec) != 0 {
		return -eINVAL
	}
	p, obj := (*pipe)(nil), 0
	for i := range pipes {
		if pipes[i].readers == 0 && pipes[i].writers == 0 {
			p, obj = &pipes[i], i
			break
		}
	}
	if p == nil {
		return -eNFILE
	}
	if !mem.Allowed(c.pointer(0), 8, true) {
		return -eFAULT
	}
	mode := flags & oNonblock
	r := open(file{kind: pipeRead, flags: mode, obj: int32(obj)}, flags)
	if r < 0 {
		return r
	}
	p.readers, p.fifo = 1, 0
	w := open(file{kind: pipeWrite, flags: mode | oWronly, obj: int32(obj)}, flags)
	if w < 0 {
		closeFD(uintptr(r))
		return w
	}
	p.writers = 1
	return openedTwo(c.pointer(0), r, w)
}

// pipeChanged tells all open files of pipe obj that something has happened to it.
func pipeChanged(obj int32) { changedAll(1<<pipeRead|1<<pipeWrite|1<<pipeFIFO, obj) }

// openFIFO opens a pipe by its name; f holds the node. It waits for the other end, unless it may
// not wait.
func (c *call) openFIFO(f file, flags uintptr) int64 {
	percpu.AssertLocked()
	if flags&oAccess == oAccess {
		vfs.Release(f.node)
		return -eINVAL
	}
	p, free := (*pipe)(nil), (*pipe)(nil)
	for i := range pipes {
		switch q := &pipes[i]; {
		case q.readers == 0 && q.writers == 0:
			if free == nil {
				free = q
			}
		case q.fifo == f.node:
			p = q
		}
	}
	if p == nil {
		if p = free; p == nil {
			vfs.Release(f.node)
			return -eNFILE
		}
		p.fifo = f.node
	}
	f.obj = int32((uintptr(unsafe.Pointer(p)) - addressOf(&pipes)) / unsafe.Sizeof(*p))
	if flags&(oAccess|oNonblock) == oWronly|oNonblock && p.readers == 0 {
		vfs.Release(f.node)
		return -eNXIO
	}
	fd := f.openEnd(p, flags)
	if fd < 0 {
		return fd
	}
	other := p.writers
	if f.kind == pipeWrite {
		other = p.readers
	}
	if other == 0 && flags&oNonblock == 0 {
		// The descriptor exists already; the call returns it when the other end is opened.
		t := thread.Current()
		t.Opening = int32(fd) + 1
		c.wait(get(uintptr(fd)))
	}
	return fd
}

// openEnd makes a file the end of a pipe that its flags select, and opens it.
func (f *file) openEnd(p *pipe, flags uintptr) int64 {
	f.kind = pipeRead
	switch flags & oAccess {
	case oRdwr:
		f.kind = pipeFIFO
	case oWronly:
		f.kind = pipeWrite
	}
	if f.kind != pipeWrite {
		p.readers++
	}
	if f.kind != pipeRead {
		p.writers++
	}
	fd := open(*f, flags)
	if fd < 0 {
		closePipe(f)
	} else {
		pipeChanged(f.obj)
	}
	return fd
}

func closePipe(f *file) {
	percpu.AssertLocked()
	p := &pipes[f.obj]
	if f.kind != pipeWrite {
		p.readers--
	}
	if f.kind != pipeRead {
		p.writers--
	}
	pipeChanged(f.obj)
	if p.fifo != 0 {
		vfs.Release(f.node)
	}
	if p.readers == 0 && p.writers == 0 {
		p.free()
	}
}

func readPipe(c *call, f *file, to, n uintptr) int64 {
	p := &pipes[f.obj]
	if n == 0 {
		return 0
	}
	if p.n == 0 {
		if p.writers == 0 {
			return 0
		}
		return c.waitFor(f)
	}
	done := uintptr(0)
	for done < n && p.n > 0 {
		at, part := p.at(0)
		part = min(part, n-done)
		if !copyOut(to+done, at, part) {
			if done == 0 {
				return -eFAULT
			}
			break
		}
		p.take(part)
		done += part
	}
	pipeChanged(f.obj)
	return int64(done)
}

// add is the ring's add, limited to the room of a pipe.
func (p *pipe) add(from, n uintptr, own bool) (done uintptr, errno int64) {
	return p.ring.add(from, min(n, pipeSize-p.n), own)
}

func writePipe(c *call, f *file, from, n uintptr) int64 {
	p := &pipes[f.obj]
	if n == 0 {
		return 0
	}
	if p.readers == 0 {
		send(thread.Current(), sigPIPE)
		return -ePIPE
	}
	t := thread.Current()
	room := pipeSize - p.n
	if room == 0 || n <= atomicWrite && room < n && t.Done == 0 {
		return c.waitFor(f)
	}
	done, failed := p.add(from, n, false)
	pipeChanged(f.obj)
	return c.wrote(f, n, done, failed)
}

// wrote ends a write that has moved done of n bytes, and then failed if failed is not 0.
func (c *call) wrote(f *file, n, done uintptr, failed int64) int64 {
	t := thread.Current()
	if done < n && failed == 0 && f.flags&oNonblock == 0 && !c.part {
		// The rest waits for room: the call starts over with what is left.
		t.Done += done
		c.f.Advance(done)
		c.wait(f)
	}
	c.f.Advance(-t.Done)
	done += t.Done
	t.Done = 0
	return partly(done, failed)
}

func sysEventfd2(c *call) int64 {
	const semaphore = 1
	flags := c.flags(1)
	if flags&^(semaphore|oNonblock|oCloexec) != 0 {
		return -eINVAL
	}
	for i := range counters {
		e := &counters[i]
		if e.used {
			continue
		}
		fd := open(file{kind: counter, flags: flags&oNonblock | oRdwr, obj: int32(i)}, flags)
		if fd >= 0 {
			e.used, e.value, e.semaphore = true, uint64(c.uint(0)), flags&semaphore != 0
			e.file = int32(fds[fd]) - 1
		}
		return fd
	}
	return -eMFILE
}

func readCounter(c *call, f *file, to, n uintptr) int64 {
	e := &counters[f.obj]
	if n < 8 {
		return -eINVAL
	}
	if e.value == 0 {
		return c.waitFor(f)
	}
	v := e.value
	if e.semaphore {
		v = 1
	}
	if !out64(to, v) {
		return -eFAULT
	}
	e.value -= v
	changed(int(e.file))
	return 8
}

func writeCounter(c *call, f *file, from, n uintptr) int64 {
	e := &counters[f.obj]
	if n != 8 {
		return -eINVAL
	}
	v, ok := in64(from)
	switch {
	case !ok:
		return -eFAULT
	case v == ^uint64(0):
		return -eINVAL
	case v >= ^uint64(0)-e.value:
		return c.waitFor(f)
	}
	e.value += v
	changed(int(e.file))
	return 8
}
