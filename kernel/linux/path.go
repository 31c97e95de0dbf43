package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Calls with names of files. A name is looked up from the working directory, or from the directory
// of a descriptor.

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

// name reads a call's path argument into buffer i, and finds the directory where it starts. An
// empty path is an error.
func name(i int, dirfd, addr uintptr) (dir vfs.ID, path []byte, errno int64) {
	dir, path, errno = nameOrNone(i, dirfd, addr)
	if errno != -eFAULT && len(path) == 0 {
		errno = -eNOENT
	}
	return dir, path, errno
}

// name is name for the folder and the path that are arguments k and k+1 of a call.
func (c *call) name(i, k int) (dir vfs.ID, path []byte, errno int64) {
	return name(i, c.fd(k), c.pointer(k+1))
}

// nameOrNone is name for a path that may be empty.
func nameOrNone(i int, dirfd, addr uintptr) (dir vfs.ID, path []byte, errno int64) {
	path, errno = inString(i, addr)
	if errno == 0 {
		dir, errno = base(dirfd, path)
	}
	return dir, path, errno
}

// lookUp returns the node of a call's path argument. With atEmptyPath, an empty path means the
// descriptor itself.
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

// lookUp is lookUp for a call's first two arguments.
func (c *call) lookUp(flags uintptr) (id vfs.ID, errno int64) {
	return lookUp(c.fd(0), c.pointer(1), flags)
}

// lookUpKnown is lookUp for a call that accepts no other flags.
func (c *call) lookUpKnown(flags uintptr) (id vfs.ID, errno int64) {
	if flags&^(atNoFollow|atEmptyPath) != 0 {
		return 0, -eINVAL
	}
	return c.lookUp(flags)
}

// keptFlags are the flags that fcntl returns for an open file.
const keptFlags = oAccess | oAppend | oNonblock | oPath | vfs.O_DIRECTORY | vfs.O_NOFOLLOW |
	vfs.O_TMPFILE&^vfs.O_DIRECTORY | oNoATime | oSync | oAsync

// openAt opens a file; within is 0, or the bounds of the walk (vfs.OpenWithin).
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
	} else if id, e = vfs.OpenWithin(dir, path, int(flags), within, uint32(mode)&^umask,
		clock.Wall()); e != 0 {
		if e == vfs.ENOENT && numOwn > 0 && ascii.Same(path, rootFile) {
			noRoots.say()
		}
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
		if errno := f.openDevice(vfs.Stat(id).Rdev); errno != 0 {
			vfs.Release(id)
			return errno
		}
	case m == vfs.S_IFIFO:
		return c.openFIFO(f, flags)
	}
	fd := open(f, flags)
	if fd < 0 && f.kind != node {
		f.end()
	} else if fd < 0 {
		vfs.Release(id)
	}
	return fd
}

func sysOpenat(c *call) int64 {
	return c.openAt(c.fd(0), c.pointer(1), c.flags(2), c.flags(3), 0)
}

// sysOpenat2 is openat with bounds for the walk; it refuses flags that it does not know.
func sysOpenat2(c *call) int64 {
	const (
		cached    = 0x20
		allBounds = vfs.BoundMount | vfs.BoundMagic | vfs.BoundLink | vfs.BoundBeneath |
			vfs.BoundRoot | cached
		tmpfile = vfs.O_TMPFILE &^ vfs.O_DIRECTORY
		known   = oAccess | vfs.O_CREAT | vfs.O_EXCL | 0x100 | vfs.O_TRUNC | oAppend |
			oNonblock | oSync | oAsync | oDirect |
			oLarge | vfs.O_DIRECTORY | vfs.O_NOFOLLOW | oNoATime | oCloexec | oPath | tmpfile
		pathFlags = vfs.O_DIRECTORY | vfs.O_NOFOLLOW | oPath | oCloexec
		howSize   = 24
	)
	at, size := c.pointer(2), c.size(3)
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
	case flags&^known != 0, within&^allBounds != 0, within&vfs.BoundBeneath != 0 &&
		within&vfs.BoundRoot != 0:
		return -eINVAL
	case creates && mode&^0o7777 != 0, !creates && mode != 0, flags&oPath != 0 &&
		flags&^pathFlags != 0:
		return -eINVAL
	case within&cached != 0 && flags&(vfs.O_CREAT|vfs.O_TRUNC|tmpfile) != 0:
		return -eAGAIN
	}
	return c.openAt(c.fd(0), c.pointer(1), uintptr(flags), uintptr(mode), int(within))
}

func sysMkdirat(c *call) int64 {
	dir, path, errno := c.name(0, 0)
	if errno != 0 {
		return errno
	}
	_, e := vfs.Mkdir(dir, path, c.uint(2)&^umask, clock.Wall())
	return -int64(e)
}

func sysMknodat(c *call) int64 {
	dir, path, errno := c.name(0, 0)
	if errno != 0 {
		return errno
	}
	_, e := vfs.Mknod(dir, path, c.uint(2)&^umask, uint64(c.flags(3)), clock.Wall())
	return -int64(e)
}

func sysUnlinkat(c *call) int64 {
	flags := c.flags(2)
	if flags&^atRemoveDir != 0 {
		return -eINVAL
	}
	dir, path, errno := c.name(0, 0)
	if errno != 0 {
		return errno
	}
	if flags&atRemoveDir != 0 {
		return -int64(vfs.Rmdir(dir, path, clock.Wall()))
	}
	return -int64(vfs.Unlink(dir, path, clock.Wall()))
}

func sysRenameat2(c *call) int64 {
	oldDir, oldPath, errno := c.name(0, 0)
	if errno != 0 {
		return errno
	}
	newDir, newPath, errno := c.name(1, 2)
	if errno != 0 {
		return errno
	}
	return -int64(vfs.Rename(oldDir, oldPath, newDir, newPath, int(c.flags(4)), clock.Wall()))
}

func sysLinkat(c *call) int64 {
	flags := c.flags(4)
	if flags&^(atSymlinkFollow|atEmptyPath) != 0 {
		return -eINVAL
	}
	oldDir, oldPath, errno := nameOrNone(0, c.fd(0), c.pointer(1))
	if errno == 0 && len(oldPath) == 0 && flags&atEmptyPath == 0 {
		errno = -eNOENT
	}
	if errno != 0 {
		return errno
	}
	newDir, newPath, errno := c.name(1, 2)
	if errno != 0 {
		return errno
	}
	if len(oldPath) == 0 {
		return -int64(vfs.LinkNode(oldDir, newDir, newPath, clock.Wall()))
	}
	return -int64(vfs.Link(oldDir, oldPath, newDir, newPath, flags&atSymlinkFollow != 0, clock.Wall()))
}

func sysSymlinkat(c *call) int64 {
	target, errno := inString(1, c.pointer(0))
	if errno != 0 {
		return errno
	}
	dir, path, errno := c.name(0, 1)
	if errno != 0 {
		return errno
	}
	_, e := vfs.Symlink(target, dir, path, clock.Wall())
	return -int64(e)
}

func sysReadlinkat(c *call) int64 {
	size := c.size(3)
	if int32(size) <= 0 {
		return -eINVAL
	}
	id, errno := c.lookUp(atNoFollow | atEmptyPath)
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
	if !copyOut(c.pointer(2), blockAddr(), uintptr(n)) {
		return -eFAULT
	}
	return int64(n)
}

func sysChdir(c *call) int64 {
	id, errno := lookUp(here, c.pointer(0), 0)
	if errno != 0 {
		return errno
	}
	return setCwd(id)
}

func sysFchdir(c *call, f *file) int64 {
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

// Chdir sets the working directory at boot. It returns "", or what is wrong.
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

func sysGetcwd(c *call) int64 {
	path, e := vfs.Path(cwd, block[:len(block)-1])
	if e != 0 {
		return -int64(e)
	}
	n := uintptr(len(path))
	if n+1 > c.size(1) {
		return -eRANGE
	}
	if !copyOut(c.pointer(0), uintptr(unsafe.Pointer(unsafe.SliceData(path))), n) ||
		!outByte(c.pointer(0)+n, 0) {
		return -eFAULT
	}
	return int64(n + 1)
}

// sysGetdents fills the program's buffer with struct linux_dirent64.
func sysGetdents(c *call, f *file) int64 {
	if !f.isFolder() {
		return -eNOTDIR
	}
	if vfs.Stat(f.node).Nlink == 0 { // a removed directory
		return -eNOENT
	}
	if f.off == 0 && vfs.IsStale(f.node) {
		bringUp(f.node)
	}
	done, room := uintptr(0), c.int(2)
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
		at := c.pointer(1) + done
		if !zeroOut(at, size) || !out64(at, uint64(id)) || !out64(at+8, next) ||
			!outShort(at+16, uint16(size)) || !outByte(at+18, kind) ||
			!outBytes(at+head, name) {
			return -eFAULT
		}
		f.off = int64(next)
		done += size
	}
	vfs.Notify(f.node, vfs.IN_ACCESS)
	return int64(done)
}
