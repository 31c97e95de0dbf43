package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Descriptors and the open files that they name. Several descriptors may name one open file (dup);
// it is closed with the last of them.

// file is an open file.
type file struct {
	kind  kind
	flags uintptr // access mode, O_APPEND, O_NONBLOCK
	refs  int32   // descriptors that name it
	node  vfs.ID
	obj   int32
	off   int64 // offset of the next read or write; for a directory, the cookie
}

const (
	maxFiles = 2048
	maxFDs   = 2048

	oAccess   = 3
	oWronly   = 1
	oRdwr     = 2
	oAppend   = 0x400
	oNonblock = 0x800
	oDirect   = 0x4000
	oAsync    = 0x2000   // no file sends signals
	oSync     = 0x101000 // O_SYNC and O_DSYNC
	oNoATime  = 0x40000
	oCloexec  = 0x80000
	oPath     = 0x200000
	oLarge    = 0x8000
)

// Under the kernel lock.
var (
	files   [maxFiles]file
	fds     [maxFDs]int16 // index in files, plus 1; 0 is closed
	cloexec [maxFDs]bool
	cwd            = vfs.Root
	umask   uint32 = 0o022
)

// openStd opens the terminal as descriptors 0, 1 and 2. Reading does not block, so the Go runtime
// waits for input without a thread. 2 is a file of its own, so that its output can be told apart.
func openStd() {
	files[0] = file{kind: terminal, flags: oRdwr | oNonblock, refs: 1}
	files[1] = file{kind: terminal, flags: oRdwr, refs: 1}
	files[2] = file{kind: terminal, flags: oRdwr, refs: 1, obj: standardError}
	fds[0], fds[1], fds[2] = 1, 2, 3
}

// standardError is what obj is in a terminal's file that is the standard error.
const standardError = 1

// get returns the open file of a descriptor, or nil.
//
//go:noinline
func get(fd uintptr) *file {
	percpu.AssertLocked()
	if fd >= maxFDs || fds[fd] == 0 {
		return nil
	}
	return &files[fds[fd]-1]
}

// index returns a file's index in files.
func index(f *file) uintptr {
	return (uintptr(unsafe.Pointer(f)) - addressOf(&files)) / unsafe.Sizeof(*f)
}

// newFile returns a free entry, or nil.
func newFile() (f *file, i int) {
	percpu.AssertLocked()
	for i := range files {
		if f := &files[i]; f.kind == closed {
			return f, i
		}
	}
	return nil, 0
}

// newFD gives open file i the lowest free descriptor, at least lowest.
func newFD(i int, lowest uintptr, flags uintptr) int64 {
	percpu.AssertLocked()
	for fd := lowest; uint64(fd) < limits[limitFiles].soft; fd++ {
		if fds[fd] == 0 {
			fds[fd] = int16(i + 1)
			cloexec[fd] = flags&oCloexec != 0
			files[i].refs++
			fdsChanged()
			if handle.Logs(handle.FDs) {
				handle.Log(handle.Open, handle.FDs, fd, files[i].kind.logged())
			}
			return int64(fd)
		}
	}
	return -eMFILE
}

// open makes an open file and a descriptor for it.
func open(new file, flags uintptr) int64 {
	f, i := newFile()
	if f == nil {
		return -eNFILE
	}
	*f = new
	f.refs = 0
	fd := newFD(i, 0, flags)
	if fd < 0 {
		f.kind = closed
	}
	return fd
}

func closeFD(fd uintptr) int64 {
	percpu.AssertLocked()
	if handle.Logs(handle.FDs) {
		handle.Log(handle.Close, handle.FDs, fd, 0)
	}
	f := get(fd)
	if f == nil {
		return -eBADF
	}
	i := int(fds[fd]) - 1
	fds[fd] = 0
	fdsChanged()
	if f.flags&oPath == 0 {
		dropLocks(lockedFile(f), theProcess)
	}
	drop(i)
	return 0
}

// drop removes one reference to an open file.
func drop(i int) {
	percpu.AssertLocked()
	f := &files[i]
	f.refs--
	if f.refs > 0 {
		if f.isSocket() {
			collectRights()
		}
		return
	}
	unwatch(i)
	dropLocks(lockedFile(f), int32(i))
	f.end()
	// Waiters learn that it is gone.
	wakeFile(i)
	f.kind = closed
}

// wakeFile lets all threads that wait for open file i try again.
func wakeFile(i int) { retry(thread.ForFile, uintptr(i), uintptr(i)) }

// retry lets all threads that wait for why, with either key, make their calls again: the one that
// has waited longest goes first.
func retry(why thread.Why, key, or uintptr) {
	percpu.AssertLocked()
	for {
		var last *thread.Thread // the thread woken last is the first to run
		for tid := int32(1); tid <= thread.MaxTID(); tid++ {
			if t := thread.Get(tid); t != nil && t.State == thread.Waiting && t.Why == why &&
				(t.Key == key || t.Key == or) &&
				(last == nil || t.Turn > last.Turn) {
				last = t
			}
		}
		if last == nil {
			return
		}
		thread.Retry(last)
	}
}

// takeTurn is for a call that will wait: it goes after those that already wait, unless it has
// waited before.
func (c *call) takeTurn() {
	if !c.again {
		turns++
		thread.Current().Turn = turns
	}
}

// wait puts the running thread aside until something happens to open file i; then its system call
// starts over.
func (c *call) wait(f *file) {
	c.takeTurn()
	thread.Block(c.f, thread.ForFile, index(f), never, 0)
}

// waitFor is wait for a call that gets EAGAIN if the file is non-blocking.
func (c *call) waitFor(f *file) int64 {
	if f.flags&oNonblock != 0 {
		return -eAGAIN
	}
	c.wait(f)
	return 0
}

func sysClose(c *call) int64 { return closeFD(c.fd(0)) }

func sysCloseRange(c *call) int64 {
	const onExec, unshare = 4, 2
	flags := c.flags(2)
	if flags&^(onExec|unshare) != 0 || c.uint(0) > c.uint(1) {
		return -eINVAL
	}
	for fd := c.fd(0); fd <= uintptr(c.uint(1)) && fd < maxFDs; fd++ {
		switch {
		case fds[fd] == 0:
		case flags&onExec != 0:
			cloexec[fd] = true
		default:
			closeFD(fd)
		}
	}
	return 0
}

func sysDup(c *call, _ *file) int64 {
	return newFD(int(fds[c.fd(0)])-1, 0, 0)
}

// dupTo is dup3, and with same dup2, which does nothing for equal descriptors.
func (c *call) dupTo(same bool) int64 {
	if !same && c.flags(2)&^oCloexec != 0 {
		return -eINVAL
	}
	if !same && c.fd(0) == c.fd(1) {
		return -eINVAL
	}
	if get(c.fd(0)) == nil || uint64(c.fd(1)) >= limits[limitFiles].soft {
		return -eBADF
	}
	if c.fd(0) == c.fd(1) {
		return int64(c.fd(1))
	}
	flags := c.flags(2)
	if same {
		flags = 0
	}
	i := int(fds[c.fd(0)]) - 1
	files[i].refs++ // so that closing c.fd(1) does not close it
	if fds[c.fd(1)] != 0 {
		closeFD(c.fd(1))
	}
	files[i].refs--
	return newFD(i, c.fd(1), flags)
}

func sysFcntl(c *call, f *file) int64 {
	const (
		dupFD        = 0
		getFD        = 1
		setFD        = 2
		getFL        = 3
		setFL        = 4
		getLK        = 5
		setLK        = 6
		setLKW       = 7
		getLKOfd     = 36
		setLKOfd     = 37
		setLKWOfd    = 38
		dupFDCloexec = 1030
		setPipeSize  = 1031
		getPipeSize  = 1032
	)
	op := c.op(1)
	if f.flags&oPath != 0 && op != dupFD && op != dupFDCloexec && op != getFD && op != setFD &&
		op != getFL {
		return -eBADF
	}
	switch op {
	case dupFD, dupFDCloexec:
		if uint64(c.fd(2)) >= limits[limitFiles].soft {
			return -eINVAL
		}
		flags := uintptr(0)
		if c.op(1) == dupFDCloexec {
			flags = oCloexec
		}
		return newFD(int(fds[c.fd(0)])-1, c.fd(2), flags)
	case getFD:
		if cloexec[c.fd(0)] {
			return 1
		}
		return 0
	case setFD:
		cloexec[c.fd(0)] = c.flags(2)&1 != 0
		return 0
	case getFL:
		if f.flags&oPath == 0 && (f.is(named) || f.kind == terminal || f.isNamedPipe()) {
			return int64(f.flags | oLarge)
		}
		return int64(f.flags)
	case setFL:
		const changeable = oAppend | oNonblock
		if c.flags(2)&oDirect != 0 {
			return -eINVAL
		}
		f.flags = f.flags&^changeable | c.flags(2)&changeable
		return 0
	case getLK, setLK, setLKW:
		return c.recordLock(f, false, c.op(1) == getLK, c.op(1) == setLKW)
	case getLKOfd, setLKOfd, setLKWOfd:
		return c.recordLock(f, true, c.op(1) == getLKOfd, c.op(1) == setLKWOfd)
	case setPipeSize, getPipeSize:
		switch {
		case !f.isPipe():
			return -eBADF
		case op == getPipeSize:
		case c.uint(2) > 1<<31:
			return -eINVAL
		case c.uint(2) > pipeSize:
			return -ePERM // as on Linux, for more than /proc/sys/fs/pipe-max-size
		}
		return pipeSize
	}
	return -eINVAL
}

func sysDup2(c *call) int64 { return c.dupTo(true) }
func sysDup3(c *call) int64 { return c.dupTo(false) }
