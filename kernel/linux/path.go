package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/tty"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Calls on names of files. A name is looked up from the working directory, or from the
// directory that a descriptor names.

const (
	atFDCWD         = -100
	atNoFollow      = 0x100
	atRemoveDir     = 0x200
	atSymlinkFollow = 0x400
	atEmptyPath     = 0x1000

	here = 1<<64 + atFDCWD // the working directory, as a call's argument
)

// base returns the directory from which a name is looked up.
func base(dirfd uintptr, path []byte) (dir vfs.ID, errno int64) {
	if len(path) > 0 && path[0] == '/' {
		return vfs.Root, 0
	}
	if int32(dirfd) == atFDCWD {
		return cwd, 0
	}
	f := get(dirfd)
	if f == nil {
		return 0, -eBADF
	}
	if f.kind != node {
		return 0, -eNOTDIR
	}
	return f.node, 0
}

// name reads a call's path argument into buffer i, and finds where it starts from. An empty
// path names nothing.
func name(i int, dirfd, addr uintptr) (dir vfs.ID, path []byte, errno int64) {
	dir, path, errno = nameOrNone(i, dirfd, addr)
	if errno != -eFAULT && len(path) == 0 {
		errno = -eNOENT
	}
	return dir, path, errno
}

// nameOrNone is name for a path that may be empty.
func nameOrNone(i int, dirfd, addr uintptr) (dir vfs.ID, path []byte, errno int64) {
	path, errno = inString(i, addr)
	if errno == 0 {
		dir, errno = base(dirfd, path)
	}
	return dir, path, errno
}

// lookUp returns the node that a call's path argument leads to. With atEmptyPath an
// empty path is the descriptor itself.
func lookUp(dirfd, addr, flags uintptr) (id vfs.ID, errno int64) {
	if flags&atEmptyPath != 0 {
		if dir, path, errno := nameOrNone(0, dirfd, addr); len(path) == 0 {
			if errno == -eNOTDIR {
				return get(dirfd).node, notNode(get(dirfd))
			}
			return dir, errno
		}
	}
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return 0, errno
	}
	id, e := vfs.Walk(dir, path, flags&atNoFollow == 0)
	return id, -int64(e)
}

// keptFlags are those that fcntl tells of an open file.
const keptFlags = oAccess | oAppend | oNonblock | oPath | vfs.O_DIRECTORY | vfs.O_NOFOLLOW | vfs.O_TMPFILE&^vfs.O_DIRECTORY | oNoATime | oSync | oAsync

// openAt opens; within is 0, or the bounds of the walk (vfs.OpenWithin).
func (c *call) openAt(dirfd, addr, flags, mode uintptr, within int) int64 {
	if t := thread.Current(); t.Opening != 0 {
		fd := int64(t.Opening) - 1
		t.Opening = 0
		if c.again && get(uintptr(fd)) != nil {
			return fd
		}
	}
	if flags&(vfs.O_CREAT|vfs.O_DIRECTORY|oPath) == vfs.O_CREAT|vfs.O_DIRECTORY {
		return -eINVAL
	}
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	if within&vfs.BoundRoot != 0 { // even if the path begins with a slash
		if dir, errno = base(dirfd, nil); errno != 0 {
			return errno
		}
	}
	id, e := c.host, vfs.Errno(0)
	if id != 0 {
		vfs.Retain(id)
		vfs.Notify(id, vfs.IN_OPEN)
	} else if id, e = vfs.OpenWithin(dir, path, int(flags), within, uint32(mode)&^umask, clock.Wall()); e != 0 {
		return -int64(e)
	}
	if made, fd := vfs.Made(id); made == madeFD && flags&oPath == 0 {
		vfs.Release(id)
		return c.reopen(fd, flags)
	}
	f := file{kind: node, node: id, flags: flags & keptFlags}
	if flags&oPath != 0 {
		f.flags &= oPath | vfs.O_DIRECTORY | vfs.O_NOFOLLOW
	}
	switch m := vfs.Mode(id) & vfs.S_IFMT; {
	case flags&oPath != 0:
	case m == vfs.S_IFCHR:
		f.kind, f.rdev = device, vfs.Stat(id).Rdev
		if f.rdev == devTTY && !tty.Serial.IsTerminal() {
			vfs.Release(id)
			return -eNXIO
		}
	case m == vfs.S_IFIFO:
		return c.openFIFO(f, flags)
	}
	if f.kind == device && f.rdev == DevNIC && !nic.Up() {
		vfs.Release(id)
		return -eNXIO
	}
	if f.kind == device && f.rdev == DevRecord && !openRecord(&f) {
		vfs.Release(id)
		return -eBUSY
	}
	if f.kind == device {
		if errno := f.openPair(); errno != 0 {
			vfs.Release(id)
			return errno
		}
	}
	fd := open(f, flags)
	if fd < 0 {
		vfs.Release(id)
		if f.pair() != nil {
			f.closePair()
		}
		if f.kind == device && f.rdev == DevRecord {
			eventstream.Close(int(f.obj))
		}
	} else if f.kind == device && f.rdev == DevNIC {
		cardOpened()
	}
	return fd
}

// openat2 is openat with bounds for the walk, which refuses what it does not know.
func (c *call) openat2() int64 {
	const (
		cached    = 0x20
		allBounds = vfs.BoundMount | vfs.BoundMagic | vfs.BoundLink | vfs.BoundBeneath | vfs.BoundRoot | cached
		tmpfile   = vfs.O_TMPFILE &^ vfs.O_DIRECTORY
		known     = oAccess | vfs.O_CREAT | vfs.O_EXCL | 0x100 | vfs.O_TRUNC | oAppend | oNonblock | oSync | oAsync | oDirect |
			oLarge | vfs.O_DIRECTORY | vfs.O_NOFOLLOW | oNoATime | oCloexec | oPath | tmpfile
		pathFlags = vfs.O_DIRECTORY | vfs.O_NOFOLLOW | oPath | oCloexec
		howSize   = 24
	)
	at, size := c.args[2].Pointer(), c.args[3].Size()
	switch {
	case size < howSize:
		return -eINVAL
	case size > pageSize:
		return -e2BIG
	}
	if !copyIn(blockAddr(), at, size) {
		return -eFAULT
	}
	for _, b := range block[howSize:size] {
		if b != 0 {
			return -e2BIG
		}
	}
	how := (*[3]uint64)(unsafe.Pointer(&block)) // flags, mode, bounds
	flags, mode, within := how[0], how[1], how[2]
	creates := flags&(vfs.O_CREAT|tmpfile) != 0
	switch {
	case flags&^known != 0, within&^allBounds != 0, within&vfs.BoundBeneath != 0 && within&vfs.BoundRoot != 0:
		return -eINVAL
	case creates && mode&^0o7777 != 0, !creates && mode != 0, flags&oPath != 0 && flags&^pathFlags != 0:
		return -eINVAL
	case within&cached != 0 && flags&(vfs.O_CREAT|vfs.O_TRUNC|tmpfile) != 0:
		return -eAGAIN
	}
	return c.openAt(c.args[0].FD(), c.args[1].Pointer(), uintptr(flags), uintptr(mode), int(within))
}

func (c *call) mkdirAt(dirfd, addr, mode uintptr) int64 {
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	_, e := vfs.Mkdir(dir, path, uint32(mode)&^umask, clock.Wall())
	return -int64(e)
}

func (c *call) mknodAt(dirfd, addr, mode, dev uintptr) int64 {
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	_, e := vfs.Mknod(dir, path, uint32(mode)&^umask, uint64(dev), clock.Wall())
	return -int64(e)
}

func (c *call) unlinkAt(dirfd, addr, flags uintptr) int64 {
	if flags&^atRemoveDir != 0 {
		return -eINVAL
	}
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	if flags&atRemoveDir != 0 {
		return -int64(vfs.Rmdir(dir, path, clock.Wall()))
	}
	return -int64(vfs.Unlink(dir, path, clock.Wall()))
}

func (c *call) renameAt(oldfd, oldAddr, newfd, newAddr, flags uintptr) int64 {
	oldDir, oldPath, errno := name(0, oldfd, oldAddr)
	if errno != 0 {
		return errno
	}
	newDir, newPath, errno := name(1, newfd, newAddr)
	if errno != 0 {
		return errno
	}
	return -int64(vfs.Rename(oldDir, oldPath, newDir, newPath, int(flags), clock.Wall()))
}

func (c *call) linkAt(oldfd, oldAddr, newfd, newAddr, flags uintptr) int64 {
	if flags&^(atSymlinkFollow|atEmptyPath) != 0 {
		return -eINVAL
	}
	oldDir, oldPath, errno := nameOrNone(0, oldfd, oldAddr)
	if errno == 0 && len(oldPath) == 0 && flags&atEmptyPath == 0 {
		errno = -eNOENT
	}
	if errno != 0 {
		return errno
	}
	newDir, newPath, errno := name(1, newfd, newAddr)
	if errno != 0 {
		return errno
	}
	if len(oldPath) == 0 {
		return -int64(vfs.LinkNode(oldDir, newDir, newPath, clock.Wall()))
	}
	return -int64(vfs.Link(oldDir, oldPath, newDir, newPath, flags&atSymlinkFollow != 0, clock.Wall()))
}

func (c *call) symlinkAt(targetAddr, dirfd, addr uintptr) int64 {
	target, errno := inString(1, targetAddr)
	if errno != 0 {
		return errno
	}
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	_, e := vfs.Symlink(target, dir, path, clock.Wall())
	return -int64(e)
}

func (c *call) readlinkAt(dirfd, addr, to, size uintptr) int64 {
	if int32(size) <= 0 {
		return -eINVAL
	}
	id, errno := lookUp(dirfd, addr, atNoFollow|atEmptyPath)
	if errno != 0 {
		return errno
	}
	if len(paths[0]) > 0 && paths[0][0] == 0 && vfs.Mode(id)&vfs.S_IFMT != vfs.S_IFLNK {
		return -eNOENT // the descriptor itself
	}
	var n int
	var e vfs.Errno
	if made, _ := vfs.Made(id); made != 0 && vfs.Mode(id)&vfs.S_IFMT == vfs.S_IFLNK {
		n, e = readMadeLink(id)
		n = min(n, int(size))
	} else {
		n, e = vfs.Readlink(id, block[:min(size, uintptr(len(block)))])
	}
	if e != 0 {
		return -int64(e)
	}
	if !copyOut(to, blockAddr(), uintptr(n)) {
		return -eFAULT
	}
	return int64(n)
}

func (c *call) chdir() int64 {
	id, errno := lookUp(here, c.args[0].Pointer(), 0)
	if errno != 0 {
		return errno
	}
	return setCwd(id)
}

func (c *call) fchdir(f *file) int64 {
	if f.kind != node {
		return -eNOTDIR
	}
	return setCwd(f.node)
}

func setCwd(id vfs.ID) int64 {
	percpu.AssertLocked()
	if vfs.Mode(id)&vfs.S_IFMT != vfs.S_IFDIR {
		return -eNOTDIR
	}
	vfs.Retain(id)
	vfs.Release(cwd)
	cwd = id
	if cwdLink != 0 {
		vfs.Lead(cwdLink, id)
	}
	return 0
}

// Chdir sets the working directory at boot. It returns "" or what is wrong.
func Chdir(path []byte) (wrong string) {
	for {
		id, e := vfs.Walk(vfs.Root, path, true)
		switch {
		case e == vfs.EMISSING && Fetch() == 0:
		case e != 0 || setCwd(id) != 0:
			return "there is no such directory"
		default:
			return ""
		}
	}
}

// Cwd returns the working directory. Kernel context.
func Cwd() vfs.ID { return cwd }

func (c *call) getcwd() int64 {
	path, e := vfs.Path(cwd, block[:len(block)-1])
	if e != 0 {
		return -int64(e)
	}
	n := uintptr(len(path))
	if n+1 > c.args[1].Size() {
		return -eRANGE
	}
	if !copyOut(c.args[0].Pointer(), uintptr(unsafe.Pointer(unsafe.SliceData(path))), n) || !outByte(c.args[0].Pointer()+n, 0) {
		return -eFAULT
	}
	return int64(n + 1)
}

// getdents fills the program's buffer with struct linux_dirent64.
func (c *call) getdents(f *file) int64 {
	if f.kind != node || vfs.Mode(f.node)&vfs.S_IFMT != vfs.S_IFDIR {
		return -eNOTDIR
	}
	if vfs.Stat(f.node).Nlink == 0 { // a removed one
		return -eNOENT
	}
	if f.off == 0 && vfs.IsStale(f.node) {
		bringUp(f.node)
	}
	done, room := uintptr(0), c.args[2].Int()
	for {
		name, id, kind, next, ok := vfs.ReadDir(f.node, uint64(f.off))
		if !ok {
			break
		}
		const head = 19
		size := (head + uintptr(len(name)) + 1 + 7) &^ 7
		if int64(done+size) > int64(room) {
			if done == 0 {
				return -eINVAL
			}
			break
		}
		at := c.args[1].Pointer() + done
		if !zeroOut(at, size) || !out64(at, uint64(id)) || !out64(at+8, next) ||
			!outShort(at+16, uint16(size)) || !outByte(at+18, kind) ||
			!copyOut(at+head, uintptr(unsafe.Pointer(unsafe.SliceData(name))), uintptr(len(name))) {
			return -eFAULT
		}
		f.off = int64(next)
		done += size
	}
	vfs.Notify(f.node, vfs.IN_ACCESS)
	return int64(done)
}

func (c *call) open() int64 {
	return c.openAt(here, c.args[0].Pointer(), c.args[1].Flags(), c.args[2].Flags(), 0)
}
func (c *call) rename() int64 {
	return c.renameAt(here, c.args[0].Pointer(), here, c.args[1].Pointer(), 0)
}
func (c *call) mkdir() int64 { return c.mkdirAt(here, c.args[0].Pointer(), c.args[1].Flags()) }
func (c *call) rmdir() int64 { return c.unlinkAt(here, c.args[0].Pointer(), atRemoveDir) }
func (c *call) creat() int64 {
	return c.openAt(here, c.args[0].Pointer(), vfs.O_CREAT|oWronly|vfs.O_TRUNC, c.args[1].Flags(), 0)
}
func (c *call) link() int64    { return c.linkAt(here, c.args[0].Pointer(), here, c.args[1].Pointer(), 0) }
func (c *call) unlink() int64  { return c.unlinkAt(here, c.args[0].Pointer(), 0) }
func (c *call) symlink() int64 { return c.symlinkAt(c.args[0].Pointer(), here, c.args[1].Pointer()) }
func (c *call) readlink() int64 {
	return c.readlinkAt(here, c.args[0].Pointer(), c.args[1].Pointer(), c.args[2].Size())
}
func (c *call) mknod() int64 {
	return c.mknodAt(here, c.args[0].Pointer(), c.args[1].Flags(), c.args[2].Flags())
}
func (c *call) openat() int64 {
	return c.openAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags(), c.args[3].Flags(), 0)
}
func (c *call) mkdirat() int64 {
	return c.mkdirAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags())
}
func (c *call) mknodat() int64 {
	return c.mknodAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags(), c.args[3].Flags())
}
func (c *call) unlinkat() int64 {
	return c.unlinkAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags())
}
func (c *call) renameat() int64 {
	return c.renameAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].FD(), c.args[3].Pointer(), 0)
}
func (c *call) linkat() int64 {
	return c.linkAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].FD(), c.args[3].Pointer(), c.args[4].Flags())
}
func (c *call) symlinkat() int64 {
	return c.symlinkAt(c.args[0].Pointer(), c.args[1].FD(), c.args[2].Pointer())
}
func (c *call) readlinkat() int64 {
	return c.readlinkAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Pointer(), c.args[3].Size())
}
func (c *call) renameat2() int64 {
	return c.renameAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].FD(), c.args[3].Pointer(), c.args[4].Flags())
}
