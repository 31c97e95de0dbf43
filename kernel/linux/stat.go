package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Attributes of files: the stat family.

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
		dev: deviceOf(i.System, i.Share), ino: i.Ino, nlink: uint64(i.Nlink), mode: i.Mode, uid: i.UID,
		gid:  i.GID,
		rdev: i.Rdev, size: sizeOf(i), blksize: pageSize, blocks: i.Blocks,
	}
	s.atime, s.atimeNsec = splitTime(i.Atime)
	s.mtime, s.mtimeNsec = splitTime(i.Mtime)
	s.ctime, s.ctimeNsec = splitTime(i.Ctime)
	return copied(store(to, &s))
}

// sizeOf is the size that stat returns: 0 in /proc, as on Linux, because these files are made when
// they are read.
func sizeOf(i *vfs.Info) int64 {
	if i.System == vfs.Proc {
		return 0
	}
	return i.Size
}

// splitTime splits nanoseconds, which may be negative, into seconds and the rest.
func splitTime(ns int64) (sec, nsec int64) {
	sec, nsec = ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return sec, nsec
}

// infoOf returns the attributes of an open file of any kind.
func infoOf(f *file) (i vfs.Info) {
	k := &kinds[f.kind]
	if k.traits&named != 0 || k.traits&piped != 0 && pipes[f.obj].fifo != 0 {
		return vfs.Stat(f.node)
	}
	i.Mode, i.Nlink = k.mode, 1
	i.Ino = 1<<32 + uint64(index(f))
	if f.kind == terminal { // there is one, which three files have open
		i.Rdev, i.Ino = devTTY, 1<<32
	}
	if f.kind == pipeRead || f.kind == pipeWrite {
		i.Ino = 2<<32 + uint64(f.obj)
	}
	return i
}

// statxBuf is struct statx (Linux: include/uapi/linux/stat.h).
type statxBuf struct {
	mask, blksize        uint32
	_                    uint64 // attributes
	nlink, uid, gid      uint32
	mode, _              uint16
	ino, size, blocks    uint64
	_                    uint64 // supported attributes
	atime, btime         statxTime
	ctime, mtime         statxTime
	rdevMajor, rdevMinor uint32
	_, devMinor          uint32
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

func sysStatx(c *call) int64 {
	const (
		reserved = 1 << 31
		basic    = 0x7ff
		birth    = 0x800
		sync     = 0x6000
	)
	flags := c.flags(2)
	if flags&sync == sync || c.flags(3)&reserved != 0 {
		return -eINVAL
	}
	i, errno := c.infoAt(flags)
	if errno != 0 {
		return errno
	}
	s := statxBuf{
		mask: basic, blksize: pageSize, nlink: i.Nlink, uid: i.UID, gid: i.GID, mode: uint16(i.Mode),
		ino: i.Ino, size: uint64(sizeOf(&i)), blocks: uint64(i.Blocks),
		devMinor:  uint32(deviceOf(i.System, i.Share)),
		rdevMajor: uint32(i.Rdev>>8) & 0xfff, rdevMinor: uint32(i.Rdev&0xff | i.Rdev>>12&^0xff),
	}
	if c.flags(3)&birth != 0 && i.Btime != 0 {
		s.mask |= birth
		s.btime = statxTimeOf(i.Btime)
	}
	s.atime, s.ctime, s.mtime = statxTimeOf(i.Atime), statxTimeOf(i.Ctime), statxTimeOf(i.Mtime)
	return copied(store(c.pointer(4), &s))
}

func sysFstat(c *call, f *file) int64 {
	i := infoOf(f)
	return outStat(c.pointer(1), &i)
}

// infoAt returns the attributes of the call's file: with atEmptyPath, an empty path means the
// descriptor itself.
func (c *call) infoAt(flags uintptr) (i vfs.Info, errno int64) {
	const noAutomount, sync = 0x800, 0x6000
	if flags&^(atNoFollow|atEmptyPath|noAutomount|sync) != 0 {
		return i, -eINVAL
	}
	if flags&atEmptyPath != 0 {
		none := c.pointer(1) == 0
		if !none {
			path, errno := inString(0, c.pointer(1))
			none = errno == 0 && len(path) == 0
		}
		switch f := get(c.fd(0)); {
		case !none:
		case c.int(0) == atFDCWD:
			return vfs.Stat(cwd), 0
		case f == nil:
			return i, -eBADF
		default:
			return infoOf(f), 0
		}
	}
	id, errno := c.lookUp(flags)
	if errno != 0 {
		return i, errno
	}
	return infoOfNode(id, flags), 0
}

func sysNewfstatat(c *call) int64 {
	i, errno := c.infoAt(c.flags(3))
	if errno != 0 {
		return errno
	}
	return outStat(c.pointer(2), &i)
}

// outStatfs writes struct statfs: for a file system in memory (tmpfs), a made-up one, or a share of
// the host's files.
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
	words := [15]uint64{kind, pageSize, mem.AllFrames(), free, free, 1 << 20, 1 << 19, 0,
		vfs.NameMax, pageSize}
	return copied(outWords(to, words[:]))
}

func sysStatfs(c *call) int64 {
	id, errno := lookUp(here, c.pointer(0), 0)
	if errno != 0 {
		return errno
	}
	return outStatfs(c.pointer(1), vfs.SystemOf(id), vfs.ShareOf(id))
}

func sysFstatfs(c *call, f *file) int64 {
	if f.kind == node {
		return outStatfs(c.pointer(1), vfs.SystemOf(f.node), vfs.ShareOf(f.node))
	}
	return outStatfs(c.pointer(1), vfs.Tree, 0)
}
