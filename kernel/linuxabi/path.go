package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/fs"
	"github.com/zeroframe/zeroframe/kernel/nic"
	"github.com/zeroframe/zeroframe/kernel/recordport"
	"github.com/zeroframe/zeroframe/kernel/sched"
	"github.com/zeroframe/zeroframe/kernel/tty"
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
func base(dirfd uintptr, path []byte) (dir fs.ID, errno int64) {
	if len(path) > 0 && path[0] == '/' {
		return fs.Root, 0
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

// name reads a call's path argument into buffer i, and finds where it starts from.
func name(i int, dirfd, addr uintptr) (dir fs.ID, path []byte, errno int64) {
	path, errno = inString(i, addr)
	if errno == 0 {
		dir, errno = base(dirfd, path)
	}
	return dir, path, errno
}

// lookUp returns the node that a call's path argument leads to. With atEmptyPath an
// empty path is the descriptor itself.
func lookUp(dirfd, addr, flags uintptr) (id fs.ID, errno int64) {
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return 0, errno
	}
	if len(path) == 0 && flags&atEmptyPath != 0 {
		return dir, 0
	}
	id, e := fs.Walk(dir, path, flags&atNoFollow == 0)
	return id, -int64(e)
}

func (c *call) openat(dirfd, addr, flags, mode uintptr) int64 {
	if t := sched.Current(); t.Opening != 0 {
		fd := int64(t.Opening) - 1
		t.Opening = 0
		if c.again && get(uintptr(fd)) != nil {
			return fd
		}
	}
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	id, e := fs.Open(dir, path, int(flags), uint32(mode)&^umask, clock.Wall())
	if e != 0 {
		return -int64(e)
	}
	f := file{kind: node, node: id, flags: flags & (oAccess | oAppend | oNonblock | oPath)}
	switch m := fs.Mode(id) & fs.S_IFMT; {
	case flags&oPath != 0:
	case m == fs.S_IFCHR:
		f.kind, f.rdev = device, fs.Stat(id).Rdev
		if f.rdev == devTTY && !tty.IsTerminal() {
			fs.Release(id)
			return -eNXIO
		}
	case m == fs.S_IFIFO:
		return c.openFIFO(f, flags)
	}
	if f.kind == device && f.rdev == DevNIC && !nic.Up() {
		fs.Release(id)
		return -eNXIO
	}
	if f.kind == device && f.rdev == DevRecord && !openRecord(&f) {
		fs.Release(id)
		return -eBUSY
	}
	fd := open(f, flags)
	if fd < 0 {
		fs.Release(id)
		if f.kind == device && f.rdev == DevRecord {
			recordport.Close(int(f.obj))
		}
	} else if f.kind == device && f.rdev == DevNIC {
		cardOpened()
	}
	return fd
}

func (c *call) mkdirat(dirfd, addr, mode uintptr) int64 {
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	_, e := fs.Mkdir(dir, path, uint32(mode)&^umask, clock.Wall())
	return -int64(e)
}

func (c *call) mknodat(dirfd, addr, mode, dev uintptr) int64 {
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	_, e := fs.Mknod(dir, path, uint32(mode)&^umask, uint64(dev), clock.Wall())
	return -int64(e)
}

func (c *call) unlinkat(dirfd, addr, flags uintptr) int64 {
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	if flags&atRemoveDir != 0 {
		return -int64(fs.Rmdir(dir, path, clock.Wall()))
	}
	return -int64(fs.Unlink(dir, path, clock.Wall()))
}

func (c *call) renameat(oldfd, oldAddr, newfd, newAddr, flags uintptr) int64 {
	oldDir, oldPath, errno := name(0, oldfd, oldAddr)
	if errno != 0 {
		return errno
	}
	newDir, newPath, errno := name(1, newfd, newAddr)
	if errno != 0 {
		return errno
	}
	return -int64(fs.Rename(oldDir, oldPath, newDir, newPath, int(flags), clock.Wall()))
}

func (c *call) linkat(oldfd, oldAddr, newfd, newAddr, flags uintptr) int64 {
	newDir, newPath, errno := name(1, newfd, newAddr)
	if errno != 0 {
		return errno
	}
	oldDir, oldPath, errno := name(0, oldfd, oldAddr)
	if errno != 0 {
		return errno
	}
	if len(oldPath) == 0 && flags&atEmptyPath != 0 {
		return -int64(fs.LinkNode(oldDir, newDir, newPath, clock.Wall()))
	}
	return -int64(fs.Link(oldDir, oldPath, newDir, newPath, flags&atSymlinkFollow != 0, clock.Wall()))
}

func (c *call) symlinkat(targetAddr, dirfd, addr uintptr) int64 {
	target, errno := inString(1, targetAddr)
	if errno != 0 {
		return errno
	}
	dir, path, errno := name(0, dirfd, addr)
	if errno != 0 {
		return errno
	}
	_, e := fs.Symlink(target, dir, path, clock.Wall())
	return -int64(e)
}

func (c *call) readlinkat(dirfd, addr, to, size uintptr) int64 {
	if int64(size) <= 0 {
		return -eINVAL
	}
	id, errno := lookUp(dirfd, addr, atNoFollow|atEmptyPath)
	if errno != 0 {
		return errno
	}
	n, e := fs.Readlink(id, block[:min(size, uintptr(len(block)))])
	if e != 0 {
		return -int64(e)
	}
	if !copyOut(to, blockAddr(), uintptr(n)) {
		return -eFAULT
	}
	return int64(n)
}

// faccessat: everyone may do everything, but execute what nobody may.
func (c *call) faccessat(dirfd, addr, mode, flags uintptr) int64 {
	const (
		exec     = 1
		allModes = 7
		allFlags = 0x200 | atNoFollow | atEmptyPath // AT_EACCESS
	)
	if mode&^allModes != 0 || flags&^allFlags != 0 {
		return -eINVAL
	}
	id, errno := lookUp(dirfd, addr, flags)
	if errno != 0 {
		return errno
	}
	if m := fs.Mode(id); mode&exec != 0 && m&fs.S_IFMT == fs.S_IFREG && m&0o111 == 0 {
		return -13 // EACCES
	}
	return 0
}

func (c *call) fchmodat(dirfd, addr, mode, flags uintptr) int64 {
	id, errno := lookUp(dirfd, addr, flags)
	if errno != 0 {
		return errno
	}
	return -int64(fs.Chmod(id, uint32(mode), clock.Wall()))
}

func (c *call) fchownat(dirfd, addr, uid, gid, flags uintptr) int64 {
	id, errno := lookUp(dirfd, addr, flags)
	if errno != 0 {
		return errno
	}
	return -int64(fs.Chown(id, uint32(uid), uint32(gid), clock.Wall()))
}

func (c *call) fchmod() int64 {
	f := get(c.a)
	if f == nil {
		return -eBADF
	}
	if f.kind != node && f.kind != device {
		return 0
	}
	return -int64(fs.Chmod(f.node, uint32(c.b), clock.Wall()))
}

func (c *call) fchown() int64 {
	f := get(c.a)
	if f == nil {
		return -eBADF
	}
	if f.kind != node && f.kind != device {
		return 0
	}
	return -int64(fs.Chown(f.node, uint32(c.b), uint32(c.c), clock.Wall()))
}

func (c *call) truncate() int64 {
	id, errno := lookUp(here, c.a, 0)
	if errno != 0 {
		return errno
	}
	if int64(c.b) < 0 {
		return -eINVAL
	}
	return -int64(fs.SetSize(id, int64(c.b), clock.Wall()))
}

// utimensat: a NULL path is the descriptor itself.
func (c *call) utimensat(dirfd, addr, times, flags uintptr) int64 {
	var id fs.ID
	if addr == 0 {
		if int32(dirfd) == atFDCWD {
			return -eFAULT
		}
		f := get(dirfd)
		if f == nil {
			return -eBADF
		}
		if f.kind != node && f.kind != device {
			return -eINVAL
		}
		id = f.node
	} else {
		var errno int64
		if id, errno = lookUp(dirfd, addr, flags); errno != 0 {
			return errno
		}
	}
	now := clock.Wall()
	set := [2]int64{now, now}
	for i := range set {
		if times == 0 {
			break
		}
		const isNow, omit = 1<<30 - 1, 1<<30 - 2
		sec, ok1 := in64(times + uintptr(i)*16)
		nsec, ok2 := in64(times + uintptr(i)*16 + 8)
		switch {
		case !ok1 || !ok2:
			return -eFAULT
		case nsec == omit:
			set[i] = fs.OmitTime
		case nsec == isNow:
		case nsec >= 1e9:
			return -eINVAL
		default:
			set[i] = int64(sec)*1e9 + int64(nsec)
		}
	}
	return -int64(fs.Utimes(id, set[0], set[1], now))
}

func (c *call) chdir() int64 {
	id, errno := lookUp(here, c.a, 0)
	if errno != 0 {
		return errno
	}
	return setCwd(id)
}

func (c *call) fchdir() int64 {
	f := get(c.a)
	if f == nil {
		return -eBADF
	}
	if f.kind != node {
		return -eNOTDIR
	}
	return setCwd(f.node)
}

func setCwd(id fs.ID) int64 {
	if fs.Mode(id)&fs.S_IFMT != fs.S_IFDIR {
		return -eNOTDIR
	}
	fs.Retain(id)
	fs.Release(cwd)
	cwd = id
	return 0
}

// Chdir sets the working directory at boot. It returns "" or what is wrong.
func Chdir(path []byte) (wrong string) {
	id, e := fs.Walk(fs.Root, path, true)
	if e != 0 || setCwd(id) != 0 {
		return "there is no such directory"
	}
	return ""
}

func (c *call) getcwd() int64 {
	path, e := fs.Path(cwd, block[:len(block)-1])
	if e != 0 {
		return -int64(e)
	}
	n := uintptr(len(path))
	if n+1 > c.b {
		return -34 // ERANGE
	}
	if !copyOut(c.a, uintptr(unsafe.Pointer(unsafe.SliceData(path))), n) || !outByte(c.a+n, 0) {
		return -eFAULT
	}
	return int64(n + 1)
}

// getdents64 fills the program's buffer with struct linux_dirent64.
func (c *call) getdents() int64 {
	f := get(c.a)
	if f == nil {
		return -eBADF
	}
	if f.kind != node || fs.Mode(f.node)&fs.S_IFMT != fs.S_IFDIR {
		return -eNOTDIR
	}
	if fs.Stat(f.node).Nlink == 0 { // a removed one
		return -eNOENT
	}
	done, room := uintptr(0), int32(c.c)
	for {
		name, id, kind, next, ok := fs.ReadDir(f.node, uint64(f.off))
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
		at := c.b + done
		if !zeroOut(at, size) || !out64(at, uint64(id)) || !out64(at+8, next) ||
			!outShort(at+16, uint16(size)) || !outByte(at+18, kind) ||
			!copyOut(at+head, uintptr(unsafe.Pointer(unsafe.SliceData(name))), uintptr(len(name))) {
			return -eFAULT
		}
		f.off = int64(next)
		done += size
	}
	return int64(done)
}
