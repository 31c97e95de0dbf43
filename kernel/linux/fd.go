package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
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
	index int32   // which one it is
	node  vfs.ID
	obj   int32
	off   int64 // offset of the next read or write; for a directory, the cookie

	watches uintptr // those of epoll instances, linked by next
}

const (
	maxFiles = 24000 // an int16 has more
	maxFDs   = maxFiles

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
	fileFrames [maxFiles/frameFiles + 1]uintptr // of frameFiles files each
	highFile   int                              // no file from here on has ever been open
	freeFile   int                              // all below are open
	fds        [maxFDs]int16                    // index of the file, plus 1; 0 is closed
	freeFD     uintptr                          // all below are open
	highFD     uintptr                          // no descriptor from here on has ever been open
	cloexec    [maxFDs]bool
	cwd               = vfs.Root
	umask      uint32 = 0o022
)

// frameFiles is how many files a page frame has room for.
const frameFiles = pageSize / int(unsafe.Sizeof(file{}))

// fileAt returns file i, which is below highFile.
func fileAt(i int) *file {
	at := uintptr(i%frameFiles) * unsafe.Sizeof(file{})
	return (*file)(arch.Pointer(fileFrames[i/frameFiles] + at))
}

// openStd opens the terminal as descriptors 0, 1 and 2. Reading does not block, so the Go runtime
// waits for input without a thread. 2 is a file of its own, so that its output can be told apart.
func openStd() {
	for fd, how := range [3]file{
		{flags: oRdwr | oNonblock}, {flags: oRdwr}, {flags: oRdwr, obj: standardError},
	} {
		f := newFile()
		f.kind, f.flags, f.obj, f.refs = terminal, how.flags, how.obj, 1
		fds[fd] = int16(fd + 1)
	}
	freeFD, highFD = 3, 3
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
	return fileAt(int(fds[fd]) - 1)
}

// usable is get for calls that do not accept a descriptor of O_PATH.
func usable(fd uintptr) *file {
	f := get(fd)
	if f != nil && f.flags&oPath != 0 {
		return nil
	}
	return f
}

// index returns which file it is.
func index(f *file) uintptr { return uintptr(f.index) }

// newFile returns a free entry, or nil.
func newFile() *file {
	percpu.AssertLocked()
	for i := freeFile; i < maxFiles; i++ {
		if frame := &fileFrames[i/frameFiles]; *frame == 0 {
			if *frame = mem.Frame(); *frame == 0 {
				return nil
			}
		}
		if f := fileAt(i); f.kind == closed {
			freeFile, highFile = i+1, max(highFile, i+1)
			f.index = int32(i)
			return f
		}
	}
	return nil
}

// newFD gives open file i the lowest free descriptor, at least lowest.
func newFD(i int, lowest uintptr, flags uintptr) int64 {
	percpu.AssertLocked()
	for fd := max(lowest, freeFD); uint64(fd) < limits[limitFiles].soft; fd++ {
		if fds[fd] == 0 {
			if lowest <= freeFD {
				freeFD = fd + 1
			}
			highFD = max(highFD, fd+1)
			fds[fd] = int16(i + 1)
			cloexec[fd] = flags&oCloexec != 0
			fileAt(i).refs++
			entriesChanged(fdDir)
			if handle.Logs(handle.FDs) {
				handle.Log(handle.Open, handle.FDs, fd, fileAt(i).kind.logged())
			}
			return int64(fd)
		}
	}
	return -eMFILE
}

// open makes an open file and a descriptor for it.
func open(new file, flags uintptr) int64 {
	f := newFile()
	if f == nil {
		return -eNFILE
	}
	i := f.index
	*f = new
	f.refs, f.index = 0, i
	fd := newFD(int(i), 0, flags)
	if fd < 0 {
		f.free()
	}
	return fd
}

// openedTwo writes the numbers of two new descriptors, or closes them again if it cannot.
func openedTwo(at uintptr, a, b int64) int64 {
	if store(at, &[2]uint32{uint32(a), uint32(b)}) {
		return 0
	}
	closeFD(uintptr(a))
	closeFD(uintptr(b))
	return -eFAULT
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
	freeFD = min(freeFD, fd)
	entriesChanged(fdDir)
	if f.flags&oPath == 0 {
		dropLocks(lockedFile(f), theProcess)
	}
	drop(i)
	return 0
}

// drop removes one reference to an open file.
func drop(i int) {
	percpu.AssertLocked()
	f := fileAt(i)
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
	f.free()
}

// free makes the entry free.
func (f *file) free() {
	f.kind = closed
	freeFile = min(freeFile, int(f.index))
}

// wakeFile lets all threads that wait for open file i try again.
func wakeFile(i int) { retry(thread.ForFile, uintptr(i), uintptr(i)) }

// retry lets all threads that wait for why, with either key, make their calls again: the one that
// has waited longest goes first.
func retry(why thread.Why, key, or uintptr) {
	percpu.AssertLocked()
	for {
		var last *thread.Thread // the thread woken last is the first to run
		for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
			if t.WaitsFor(why) && (t.Key == key || t.Key == or) &&
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
	fileAt(i).refs++ // so that closing c.fd(1) does not close it
	if fds[c.fd(1)] != 0 {
		closeFD(c.fd(1))
	}
	fileAt(i).refs--
	return newFD(i, c.fd(1), flags)
}

func sysFcntl(c *call, f *file) int64 {
	const (
		dupFD, getFD, setFD, getFL, setFL      = 0, 1, 2, 3, 4
		getLK, setLK, setLKW                   = 5, 6, 7
		getLKOfd, setLKOfd, setLKWOfd          = 36, 37, 38
		dupFDCloexec, setPipeSize, getPipeSize = 1030, 1031, 1032
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
