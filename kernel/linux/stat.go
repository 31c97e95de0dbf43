package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// What files are: the stat family.

// statBuf is struct stat of amd64 (Linux: arch/x86/include/uapi/asm/stat.h).
type statBuf struct {
	dev, ino, nlink  uint64
	mode, uid, gid   uint32
	_                uint32
	rdev             uint64
	size             int64
	blksize, blocks  int64
	atime, atimeNsec int64
	mtime, mtimeNsec int64
	ctime, ctimeNsec int64
	_                [3]int64
}

func outStat(to uintptr, i *vfs.Info) int64 {
	s := statBuf{
		dev: deviceOf(i.System, i.Share), ino: i.Ino, nlink: uint64(i.Nlink), mode: i.Mode, uid: i.UID, gid: i.GID,
		rdev: i.Rdev, size: sizeOf(i), blksize: pageSize, blocks: i.Blocks,
	}
	s.atime, s.atimeNsec = splitTime(i.Atime)
	s.mtime, s.mtimeNsec = splitTime(i.Mtime)
	s.ctime, s.ctimeNsec = splitTime(i.Ctime)
	return copied(copyOut(to, uintptr(unsafe.Pointer(&s)), unsafe.Sizeof(s)))
}

// sizeOf is the size that a node tells: none in /proc, as on Linux, where files are made as they
// are read.
func sizeOf(i *vfs.Info) int64 {
	if i.System == vfs.Proc {
		return 0
	}
	return i.Size
}

// splitTime parts nanoseconds, which may be negative, into seconds and the rest.
func splitTime(ns int64) (sec, nsec int64) {
	sec, nsec = ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return sec, nsec
}

// infoOf tells of an open file of any kind.
func infoOf(f *file) (i vfs.Info) {
	switch f.kind {
	case node, device:
		return vfs.Stat(f.node)
	case terminal:
		i.Mode, i.Rdev = vfs.S_IFCHR|0o620, devTTY
	case pipeRead, pipeWrite, pipeFIFO:
		if pipes[f.obj].fifo != 0 {
			return vfs.Stat(f.node)
		}
		i.Mode = vfs.S_IFIFO | 0o600
	case socketFile:
		i.Mode = vfs.S_IFSOCK | 0o777
	default:
		i.Mode = 0o600
	}
	i.Nlink = 1
	i.Ino = 1<<32 + uint64(index(f))
	if f.kind == pipeRead || f.kind == pipeWrite {
		i.Ino = 2<<32 + uint64(f.obj)
	}
	return i
}

// statxBuf is struct statx (Linux: include/uapi/linux/stat.h).
type statxBuf struct {
	mask, blksize        uint32
	attributes           uint64
	nlink, uid, gid      uint32
	mode, _              uint16
	ino, size, blocks    uint64
	attributesMask       uint64
	atime, btime         statxTime
	ctime, mtime         statxTime
	rdevMajor, rdevMinor uint32
	devMajor, devMinor   uint32
	_                    [14]uint64
}

type statxTime struct {
	sec  int64
	nsec uint32
	_    uint32
}

const _ = -(unsafe.Sizeof(statxBuf{}) ^ 256)

func statxTimeOf(ns int64) statxTime {
	sec, nsec := splitTime(ns)
	return statxTime{sec: sec, nsec: uint32(nsec)}
}

func (c *call) statx() int64 {
	const (
		reserved = 1 << 31
		basic    = 0x7ff
		birth    = 0x800
		sync     = 0x6000
	)
	flags := c.args[2].Flags()
	if flags&sync == sync || c.args[3].Flags()&reserved != 0 {
		return -eINVAL
	}
	i, errno := infoAt(c.args[0].FD(), c.args[1].Pointer(), flags)
	if errno != 0 {
		return errno
	}
	s := statxBuf{
		mask: basic, blksize: pageSize, nlink: i.Nlink, uid: i.UID, gid: i.GID, mode: uint16(i.Mode),
		ino: i.Ino, size: uint64(sizeOf(&i)), blocks: uint64(i.Blocks), devMinor: uint32(deviceOf(i.System, i.Share)),
		rdevMajor: uint32(i.Rdev>>8) & 0xfff, rdevMinor: uint32(i.Rdev&0xff | i.Rdev>>12&^0xff),
	}
	if c.args[3].Flags()&birth != 0 && i.Btime != 0 {
		s.mask |= birth
		s.btime = statxTimeOf(i.Btime)
	}
	s.atime, s.ctime, s.mtime = statxTimeOf(i.Atime), statxTimeOf(i.Ctime), statxTimeOf(i.Mtime)
	return copied(copyOut(c.args[4].Pointer(), uintptr(unsafe.Pointer(&s)), unsafe.Sizeof(s)))
}

func (c *call) fstat(f *file) int64 {
	i := infoOf(f)
	return outStat(c.args[1].Pointer(), &i)
}

// infoAt tells of what a call names: with atEmptyPath an empty path is the descriptor itself.
func infoAt(dirfd, addr, flags uintptr) (i vfs.Info, errno int64) {
	const noAutomount, sync = 0x800, 0x6000
	if flags&^(atNoFollow|atEmptyPath|noAutomount|sync) != 0 {
		return i, -eINVAL
	}
	if flags&atEmptyPath != 0 {
		none := addr == 0
		if !none {
			path, errno := inString(0, addr)
			none = errno == 0 && len(path) == 0
		}
		switch f := get(dirfd); {
		case !none:
		case int32(dirfd) == atFDCWD:
			return vfs.Stat(cwd), 0
		case f == nil:
			return i, -eBADF
		default:
			return infoOf(f), 0
		}
	}
	id, errno := lookUp(dirfd, addr, flags)
	if errno != 0 {
		return i, errno
	}
	return infoOfNode(id, flags), 0
}

func (c *call) statAt(dirfd, addr, to, flags uintptr) int64 {
	i, errno := infoAt(dirfd, addr, flags)
	if errno != 0 {
		return errno
	}
	return outStat(to, &i)
}

// outStatfs writes struct statfs: a file system in memory (tmpfs), one that is made up, or, of the
// files of the host, a share.
func outStatfs(to uintptr, system uint8, share int) int64 {
	free, kind := vfs.FreeFrames(), uint64(0x01021994) // TMPFS_MAGIC
	switch {
	case system == vfs.Proc:
		kind = 0x9fa0 // PROC_SUPER_MAGIC
	case system == vfs.Sys:
		kind = 0x62656572 // SYSFS_MAGIC
	case share != 0:
		kind = 0x01021997 // V9FS_MAGIC
	}
	words := [15]uint64{kind, pageSize, mem.AllFrames(), free, free, 1 << 20, 1 << 19, 0, vfs.NameMax, pageSize}
	return copied(outWords(to, words[:]))
}

func (c *call) statfs() int64 {
	id, errno := lookUp(here, c.args[0].Pointer(), 0)
	if errno != 0 {
		return errno
	}
	return outStatfs(c.args[1].Pointer(), vfs.SystemOf(id), vfs.ShareOf(id))
}

func (c *call) fstatfs(f *file) int64 {
	if f.kind == node {
		return outStatfs(c.args[1].Pointer(), vfs.SystemOf(f.node), vfs.ShareOf(f.node))
	}
	return outStatfs(c.args[1].Pointer(), vfs.Tree, 0)
}

func (c *call) stat() int64 { return c.statAt(here, c.args[0].Pointer(), c.args[1].Pointer(), 0) }
func (c *call) lstat() int64 {
	return c.statAt(here, c.args[0].Pointer(), c.args[1].Pointer(), atNoFollow)
}
func (c *call) newfstatat() int64 {
	return c.statAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Pointer(), c.args[3].Flags())
}
