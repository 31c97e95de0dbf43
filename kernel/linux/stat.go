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
		rdev: i.Rdev, size: i.Size, blksize: pageSize, blocks: i.Blocks,
	}
	s.atime, s.atimeNsec = splitTime(i.Atime)
	s.mtime, s.mtimeNsec = splitTime(i.Mtime)
	s.ctime, s.ctimeNsec = splitTime(i.Ctime)
	return copied(copyOut(to, uintptr(unsafe.Pointer(&s)), unsafe.Sizeof(s)))
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

func (c *call) fstat(f *file) int64 {
	i := infoOf(f)
	return outStat(c.args[1].Pointer(), &i)
}

func (c *call) statAt(dirfd, addr, to, flags uintptr) int64 {
	const noAutomount, sync = 0x800, 0x6000
	if flags&^(atNoFollow|atEmptyPath|noAutomount|sync) != 0 {
		return -eINVAL
	}
	if flags&atEmptyPath == 0 {
		id, errno := lookUp(dirfd, addr, flags)
		if errno != 0 {
			return errno
		}
		i := infoOfNode(id, flags)
		return outStat(to, &i)
	}
	dir, path, errno := nameOrNone(0, dirfd, addr)
	if flags&atEmptyPath != 0 && len(path) == 0 && errno != -eFAULT && int32(dirfd) != atFDCWD {
		f := get(dirfd)
		if f == nil {
			return -eBADF
		}
		i := infoOf(f)
		return outStat(to, &i)
	}
	if errno != 0 {
		return errno
	}
	if len(path) == 0 && flags&atEmptyPath != 0 {
		i := vfs.Stat(dir)
		return outStat(to, &i)
	}
	id, e := vfs.Walk(dir, path, flags&atNoFollow == 0)
	if e != 0 {
		return -int64(e)
	}
	i := infoOfNode(id, flags)
	return outStat(to, &i)
}

// outStatfs writes struct statfs: a file system in memory (tmpfs), or one that is made up.
func outStatfs(to uintptr, system uint8) int64 {
	free, kind := vfs.FreeFrames(), uint64(0x01021994) // TMPFS_MAGIC
	switch system {
	case vfs.Proc:
		kind = 0x9fa0 // PROC_SUPER_MAGIC
	case vfs.Sys:
		kind = 0x62656572 // SYSFS_MAGIC
	}
	words := [15]uint64{kind, pageSize, mem.AllFrames(), free, free, 1 << 20, 1 << 19, 0, vfs.NameMax, pageSize}
	return copied(outWords(to, words[:]))
}

func (c *call) statfs() int64 {
	id, errno := lookUp(here, c.args[0].Pointer(), 0)
	if errno != 0 {
		return errno
	}
	return outStatfs(c.args[1].Pointer(), vfs.SystemOf(id))
}

func (c *call) fstatfs(f *file) int64 {
	system := vfs.Tree
	if f.kind == node {
		system = vfs.SystemOf(f.node)
	}
	return outStatfs(c.args[1].Pointer(), system)
}

func (c *call) stat() int64 { return c.statAt(here, c.args[0].Pointer(), c.args[1].Pointer(), 0) }
func (c *call) lstat() int64 {
	return c.statAt(here, c.args[0].Pointer(), c.args[1].Pointer(), atNoFollow)
}
func (c *call) newfstatat() int64 {
	return c.statAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Pointer(), c.args[3].Flags())
}
