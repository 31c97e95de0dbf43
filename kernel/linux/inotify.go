package linux

import (
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Watching files: the calls of inotify. Package vfs has the watches and the events.

func sysInotifyInit1(c *call) int64 {
	flags := c.flags(0)
	if flags&^(oNonblock|oCloexec) != 0 {
		return -eINVAL
	}
	g, ok := vfs.NewGroup()
	if !ok {
		return -eMFILE
	}
	fd := open(file{kind: watcher, flags: flags & oNonblock, obj: int32(g)}, flags)
	if fd < 0 {
		vfs.EndGroup(g)
	}
	return fd
}

func sysInotifyAddWatch(c *call) int64 {
	const (
		onlyDir  = 0x01000000
		noFollow = 0x02000000
		both     = vfs.IN_MASK_ADD | vfs.IN_MASK_CREATE
	)
	mask := c.uint(2)
	const known = vfs.IN_ALL_EVENTS | 0x2000 | vfs.IN_Q_OVERFLOW | vfs.IN_IGNORED | onlyDir |
		noFollow | 0x04000000 | both | vfs.IN_ISDIR | vfs.IN_ONESHOT
	if mask&known == 0 {
		return -eINVAL
	}
	f := usable(c.fd(0))
	switch {
	case f == nil:
		return -eBADF
	case mask&both == both || f.kind != watcher:
		return -eINVAL
	}
	flags := uintptr(0)
	if mask&noFollow != 0 {
		flags = atNoFollow
	}
	id, errno := lookUp(here, c.pointer(1), flags)
	if errno != 0 {
		return errno
	}
	if mask&onlyDir != 0 && vfs.Mode(id)&vfs.S_IFMT != vfs.S_IFDIR {
		return -eNOTDIR
	}
	wd, e := vfs.Watch(int(f.obj), id, mask)
	if e != 0 {
		return -int64(e)
	}
	return int64(wd)
}

func sysInotifyRmWatch(c *call, f *file) int64 {
	if f.kind != watcher {
		return -eINVAL
	}
	return -int64(vfs.Unwatch(int(f.obj), c.int(1)))
}

// readEvents fills the program's buffer with struct inotify_event.
func readEvents(c *call, f *file, to, n uintptr) int64 {
	done := uintptr(0)
	for {
		wd, mask, cookie, name, ok := vfs.Event(int(f.obj))
		if !ok {
			break
		}
		const head = 16
		size := uintptr(vfs.EventSize(len(name)))
		if size > n-done {
			if done == 0 {
				return -eINVAL
			}
			break
		}
		at := to + done
		if !zeroOut(at, size) ||
			!store(at, &[4]uint32{uint32(wd), mask, cookie, uint32(size - head)}) ||
			!outBytes(at+head, name) {
			return -eFAULT
		}
		done += size
		vfs.TakeEvent(int(f.obj))
	}
	if done == 0 {
		return c.waitFor(f)
	}
	return int64(done)
}

// tellWatchers wakes the threads that wait for an event, if there are events. Not inlined: few
// calls come here.
//
//go:noinline
func tellWatchers() {
	percpu.AssertLocked()
	told := vfs.Told
	vfs.Told = 0
	for i := range highFile {
		if f := fileAt(i); f.kind == watcher && told>>uint(f.obj)&1 != 0 {
			changed(i)
		}
	}
}
