package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Locks on files: flock(2), and the record locks of fcntl(2). A lock of flock belongs to an open
// file with all its descriptors, and so does a record lock of the F_OFD_ calls. A record lock of
// the older calls belongs to the process. There is only one process, so these locks conflict only
// with those of F_OFD_ calls. Locks of flock and record locks do not conflict with each other.

// fileLock is a lock on the bytes lo <= offset <= hi of a file.
type fileLock struct {
	what   uintptr // lockedFile
	owner  int32   // the index of an open file, or theProcess
	record bool
	write  bool
	lo, hi int64
}

const (
	maxLocks   = 1024
	theProcess = -1

	// Types of record locks.
	readLock  = 0
	writeLock = 1
	noLock    = 2

	endOfFile = 1<<63 - 1
)

// locks are in Linux's order for a file (fs/locks.c): owners that have held a lock for longer come
// first, and the locks of one owner are sorted by offset. Under the kernel lock.
var (
	locks    [maxLocks]fileLock
	numLocks int
)

// lockedFile returns what a lock of f locks: a number that all open files of one file share.
func lockedFile(f *file) uintptr {
	switch {
	case f.is(named), f.isPipe() && f.node != 0:
		return uintptr(f.node)
	case f.isPipe():
		return uintptr(pipeRead)<<32 | uintptr(f.obj)
	case f.kind == socketFile, f.kind == terminal:
		return uintptr(f.kind)<<32 | uintptr(f.obj)
	}
	return uintptr(counter) << 32 // Linux has one inode for all others
}

func insertLock(i int, l fileLock) {
	for j := numLocks; j > i; j-- {
		locks[j] = locks[j-1]
	}
	locks[i] = l
	numLocks++
}

func removeLock(i int) {
	numLocks--
	for ; i < numLocks; i++ {
		locks[i] = locks[i+1]
	}
}

// conflict returns the first lock that conflicts with l, or nil.
func conflict(l *fileLock) *fileLock {
	for i := range locks[:numLocks] {
		if o := &locks[i]; o.what == l.what && o.record == l.record && o.owner != l.owner &&
			(o.write || l.write) && o.lo <= l.hi && l.lo <= o.hi {
			return o
		}
	}
	return nil
}

// waitLock puts the running thread aside until a lock on that file is removed; then its system call
// starts over. owner is 1 + the open file that waits for a lock of the process, or 0.
func (c *call) waitLock(what uintptr, owner int32) {
	c.takeTurn()
	thread.Current().Bits = uint32(owner)
	thread.Block(c.f, thread.ForLock, what, never, 0)
}

// wakeLocks lets all threads that wait for a lock on a file try again.
func wakeLocks(what uintptr) { retry(thread.ForLock, what, what) }

// dropLocks removes all locks that owner has on a file.
func dropLocks(what uintptr, owner int32) {
	before := numLocks
	for i := numLocks - 1; i >= 0; i-- {
		if locks[i].what == what && locks[i].owner == owner {
			removeLock(i)
		}
	}
	if numLocks < before {
		wakeLocks(what)
	}
}

func sysFlock(c *call) int64 {
	const shared, exclusive, noWait, unlock, mandatory = 1, 2, 4, 8, 32
	op := c.uint(1)
	switch op &^ noWait {
	case shared, exclusive, unlock:
	default:
		if op&mandatory != 0 {
			return 0 // as Linux since 5.18, which has no such locks any more
		}
		return -eINVAL
	}
	f := usable(c.fd(0))
	op &^= noWait
	if f == nil || op != unlock && f.flags&oAccess == oAccess {
		return -eBADF
	}
	l := fileLock{what: lockedFile(f), owner: int32(index(f)), write: op == exclusive, hi: endOfFile}
	for i := range locks[:numLocks] {
		if o := &locks[i]; !o.record && o.what == l.what && o.owner == l.owner {
			if op != unlock && o.write == l.write {
				return 0
			}
			// The old lock is removed before the new one is tried, and stays removed if that fails,
			// as on Linux.
			removeLock(i)
			wakeLocks(l.what)
			break
		}
	}
	switch {
	case op == unlock:
	case conflict(&l) != nil:
		if c.uint(1)&noWait != 0 {
			return -eAGAIN
		}
		c.waitLock(l.what, 0)
	case numLocks == maxLocks:
		return -eNOLCK
	default:
		insertLock(numLocks, l)
	}
	return 0
}

// flockArg is struct flock.
type flockArg struct {
	kind, whence int16
	start, size  int64
	pid          int32
}

// recordLock does a call of fcntl for record locks; ofd selects their kind.
func (c *call) recordLock(f *file, ofd, get, wait bool) int64 {
	var a flockArg
	at := c.pointer(2)
	if f.flags&oPath != 0 {
		return -eBADF
	}
	if !load(&a, at) {
		return -eFAULT
	}
	if get && !ofd && a.kind != readLock && a.kind != writeLock {
		return -eINVAL
	}
	l := fileLock{what: lockedFile(f), owner: theProcess, record: true, write: a.kind == writeLock}
	if ofd {
		l.owner = int32(index(f))
	}
	access := f.flags & oAccess
	switch errno := a.bytes(f, &l); {
	case errno != 0:
		return errno
	case uint16(a.kind) > noLock:
		return -eINVAL
	case !get && (a.kind == readLock && access != 0 && access != oRdwr || l.write &&
		access != oWronly && access != oRdwr):
		return -eBADF
	case ofd && a.pid != 0:
		return -eINVAL
	case get:
		a.find(&l)
		return copied(mem.Allowed(at, unsafe.Sizeof(a), true) && store(at, &a))
	case a.kind == noLock:
		return changeLocks(&l, true)
	}
	o := conflict(&l)
	switch {
	case o == nil:
		return changeLocks(&l, false)
	case !wait:
		return -eAGAIN
	case !ofd && waitsForProcess(o.owner):
		return -eDEADLK
	case o.owner == theProcess:
		c.waitLock(l.what, l.owner+1)
	default:
		c.waitLock(l.what, 0)
	}
	return 0
}

// bytes sets the range of l to the bytes of the file that the argument names.
func (a *flockArg) bytes(f *file, l *fileLock) int64 {
	from := int64(0)
	switch a.whence {
	case 0:
	case 1:
		from = f.off
	case 2:
		if f.kind == node {
			from = vfs.Size(f.node)
		}
	default:
		return -eINVAL
	}
	if a.start > endOfFile-from {
		return -eOVERFLOW
	}
	l.lo, l.hi = from+a.start, endOfFile
	switch {
	case l.lo < 0:
		return -eINVAL
	case a.size > 0:
		if a.size-1 > endOfFile-l.lo {
			return -eOVERFLOW
		}
		l.hi = l.lo + a.size - 1
	case a.size < 0:
		if l.lo+a.size < 0 {
			return -eINVAL
		}
		l.lo, l.hi = l.lo+a.size, l.lo-1
	}
	return 0
}

// find writes into the argument the lock that conflicts with l; if the argument asks for no lock,
// it writes one that its owner has.
func (a *flockArg) find(l *fileLock) {
	o := (*fileLock)(nil)
	if a.kind != noLock {
		o = conflict(l)
	} else {
		for i := range locks[:numLocks] {
			if p := &locks[i]; o == nil && p.record && p.what == l.what && p.owner == l.owner &&
				p.lo <= l.hi && l.lo <= p.hi {
				o = p
			}
		}
	}
	a.kind = noLock
	if o == nil {
		return
	}
	*a = flockArg{kind: readLock, start: o.lo, size: o.hi - o.lo + 1, pid: -1}
	if o.write {
		a.kind = writeLock
	}
	if o.hi == endOfFile {
		a.size = 0
	}
	if o.owner == theProcess {
		a.pid = pid
	}
}

// waitsForProcess reports whether a thread waits for a lock of the process on behalf of an
// open file.
func waitsForProcess(owner int32) bool {
	for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
		if t.WaitsFor(thread.ForLock) && t.Bits == uint32(owner)+1 {
			return true
		}
	}
	return false
}

// changeLocks gives the owner of l that lock in place of its locks on these bytes, or with unlock
// removes them.
func changeLocks(l *fileLock, unlock bool) int64 {
	if numLocks > maxLocks-2 && !(unlock && l.lo == 0 && l.hi == endOfFile) {
		return -eNOLCK // one lock may be split, which needs two more
	}
	at := -1 // where the owner's locks begin
	for i := 0; i < numLocks; i++ {
		o := &locks[i]
		if !o.record || o.what != l.what || o.owner != l.owner {
			continue
		}
		if at < 0 {
			at = i
		}
		switch same := !unlock && o.write == l.write; {
		case same && o.lo-1 <= l.hi && l.lo-1 <= o.hi:
			l.lo, l.hi = min(l.lo, o.lo), max(l.hi, o.hi)
			removeLock(i)
			i--
		case !same && o.lo <= l.hi && l.lo <= o.hi:
			right := *o
			if o.hi = l.lo - 1; o.hi < o.lo {
				removeLock(i)
				i--
			}
			if right.hi > l.hi {
				right.lo = l.hi + 1
				i++
				insertLock(i, right)
			}
		}
	}
	if !unlock {
		if at < 0 {
			at = numLocks
		}
		for at < numLocks && locks[at].record && locks[at].what == l.what &&
			locks[at].owner == l.owner && locks[at].lo < l.lo {
			at++
		}
		insertLock(at, *l)
	}
	wakeLocks(l.what)
	return 0
}
