package vfs

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// ID names a node of the tree: a file of any kind. 0 is none. It is valid as
// long as the node has a name or is held (Retain); then it may be used again.
type ID int32

// Root is the root directory.
const Root ID = 1

// node is a file of any kind. It lives in a frame.
type node struct {
	mode     uint32
	uid, gid uint32
	rdev     uint32
	nlink    int32 // names; for a directory 2 plus its subdirectories, 0 if removed
	opens    int32 // calls of Retain minus calls of Release
	height   int32 // levels of tables above the frames of data

	name entryID // its entry, the newest that still exists if it has several; 0: none

	// For a directory.
	parent      ID
	first, last entryID // its entries, in the order of their cookies
	cursor      entryID // the last position of ReadDir
	count       int32
	cookie      uint64 // of the next entry

	size                int64
	atime, mtime, ctime int64
	btime               int64 // when it was made

	// The bytes of a file or a symbolic link's target.
	data    uintptr // a frame of data, or of tables if height > 0; 0 none
	orig    uintptr // bytes of the archive that are used where there is no frame
	origLen int64
	frames  int64 // frames of data
	mapped  bool  // programs can write, or could, after the end, in its last page
	share   uint8 // the number of its share (share.go); 0: none
	lacks   uint8 // what is not known of it yet
	system  uint8 // its file system

	// For a made-up node (made.go): its number, and the target of a link; 0: nowhere.
	made  uint16
	of    int32
	leads ID

	attributes ID // the directory of extended attributes (attr.go); 0: none

	watches int32 // the first of its watches (watch.go)
	unnamed bool  // it was made without a name, and may get one

	// While an archive is loaded: the archive's number for this file.
	arcIno   uint32
	arcDev   uint32
	arcChain ID
}

// Under the kernel lock.
var nodes = slab{
	size:     unsafe.Sizeof(node{}),
	perFrame: int32(pageSize / unsafe.Sizeof(node{})),
}

//go:noinline
func at(id ID) *node {
	percpu.AssertLocked()
	return (*node)(arch.Pointer(nodes.at(int32(id))))
}

func (n *node) is(kind uint32) bool { return n.mode&S_IFMT == kind }
func (n *node) dir() bool           { return n.mode&S_IFMT == S_IFDIR }

// Info is the result of Stat.
type Info struct {
	Ino                 uint64
	Mode                uint32 // kind and permissions
	Nlink               uint32
	UID, GID            uint32
	System              uint8  // the file system
	Share               int    // the number of the share; 0: none
	Rdev                uint64 // the device's number, as Dev makes it
	Size                int64  // bytes; 4096 for a directory
	Blocks              int64  // units of 512 bytes in frames; bytes still in the archive do not count
	Atime, Mtime, Ctime int64  // ns since the epoch
	Btime               int64  // when it was made, likewise
}

// Stat returns the attributes of a node. Kernel context.
func Stat(id ID) Info {
	n := at(id)
	s := Info{
		Ino:    uint64(id),
		System: n.system, Share: int(n.share),
		Mode:  n.mode,
		Nlink: uint32(n.nlink),
		UID:   n.uid, GID: n.gid,
		Rdev:   uint64(n.rdev),
		Size:   n.size,
		Blocks: n.frames * (pageSize / 512),
		Atime:  n.atime, Mtime: n.mtime, Ctime: n.ctime, Btime: n.btime,
	}
	switch {
	case n.dir():
		s.Size = pageSize
	case n.is(S_IFLNK):
		s.Blocks = 0
	}
	return s
}

// Mode returns a node's kind and permissions. Kernel context.
func Mode(id ID) uint32 { return at(id).mode }

// Size returns a file's size in bytes. Kernel context.
func Size(id ID) int64 { return at(id).size }

// Dev returns the number of a device, in the form that Linux shows to programs.
func Dev(major, minor uint32) uint64 {
	return uint64(minor&0xff | major&0xfff<<8 | minor&^0xff<<12)
}

// Chmod sets a node's permissions and its set-user-ID, set-group-ID and sticky
// bits. Kernel context.
func Chmod(id ID, mode uint32, now int64) Errno {
	n := at(id)
	if n.is(S_IFLNK) {
		return EOPNOTSUPP
	}
	if Writable(id) {
		c, e := askAttributes(id, ChangeMode, now)
		if c != nil {
			c.Mode = mode & hostBits
		}
		return e
	}
	if e := changing(id); e != 0 {
		return e
	}
	n.mode = n.mode&^modeBits | mode&modeBits
	n.ctime = now
	Notify(id, IN_ATTRIB)
	return 0
}

// Chown sets a node's owner and group; ^uint32(0) leaves one unchanged. For files it clears the
// set-user-ID and set-group-ID bits, as Linux does. Kernel context.
func Chown(id ID, uid, gid uint32, now int64) Errno {
	n := at(id)
	if Writable(id) {
		return chownShared(id, uid, gid, now)
	}
	if e := changing(id); e != 0 {
		return e
	}
	if uid != ^uint32(0) {
		n.uid = uid
	}
	if gid != ^uint32(0) {
		n.gid = gid
	}
	if !n.dir() && !n.is(S_IFLNK) {
		n.mode &^= S_ISUID
		if n.mode&0o010 != 0 {
			n.mode &^= S_ISGID
		}
	}
	n.ctime = now
	Notify(id, IN_ATTRIB)
	return 0
}

// chownShared is Chown for a node of a writable share. The host is not asked if the program would
// see no change.
func chownShared(id ID, uid, gid uint32, now int64) Errno {
	n, which := at(id), uint32(0)
	if uid != ^uint32(0) && uid != n.uid {
		which |= ChangeUID
	}
	if gid != ^uint32(0) && gid != n.gid {
		which |= ChangeGID
	}
	if which == 0 {
		return 0
	}
	c, e := askAttributes(id, which, now)
	if c != nil {
		c.UID, c.GID = uid, gid
	}
	return e
}

// OmitTime as a time leaves the time unchanged.
const OmitTime = -1 << 63

// Utimes sets a node's times of access and modification. Kernel context.
func Utimes(id ID, atime, mtime, now int64) Errno {
	n := at(id)
	if Writable(id) {
		which := uint32(0)
		if atime != OmitTime {
			which |= ChangeAtime
		}
		if mtime != OmitTime {
			which |= ChangeMtime
		}
		c, e := askAttributes(id, which, now)
		if c != nil {
			c.Atime, c.Mtime = atime, mtime
		}
		return e
	}
	if e := changing(id); e != 0 {
		return e
	}
	if atime != OmitTime {
		n.atime = atime
	}
	if mtime != OmitTime {
		n.mtime = mtime
	}
	n.ctime = now
	switch {
	case atime == OmitTime:
		Notify(id, IN_MODIFY)
	case mtime == OmitTime:
		Notify(id, IN_ACCESS)
	default:
		Notify(id, IN_ATTRIB)
	}
	return 0
}

// Retain holds a node: it lives on without a name until Release. Every open file, working directory
// and mapping holds its node. Kernel context.
func Retain(id ID) { at(id).opens++ }

// RetainMapped is Retain for a file whose pages will be mapped (mem.MapFile). Kernel context.
func RetainMapped(id ID) {
	Retain(id)
	at(id).mapped = true
}

// Release undoes Retain or Open. The last Release frees a node without a name. Kernel context.
func Release(id ID) {
	n := at(id)
	if n.opens > 0 {
		n.opens--
	}
	drop(id)
}

// drop frees a node that has neither a name nor a holder. A removed directory holds its parent, so
// that ".." stays valid; the parent may be freed next.
func drop(id ID) {
	percpu.AssertLocked()
	for {
		n := at(id)
		if n.opens > 0 || n.nlink > 0 {
			return
		}
		tellGone(id)
		cut(n, 0)
		freeAttributes(n)
		parent := ID(0)
		if n.dir() {
			parent = n.parent
		}
		nodes.give(int32(id))
		if parent == 0 {
			return
		}
		at(parent).opens--
		id = parent
	}
}

// Nameless makes a regular file without a name, held (Release it). With named it may get a name by
// LinkNode. It gets the group that directory dir prescribes; dir may be 0. Errors: ENOSPC. Kernel
// context.
func Nameless(dir ID, mode uint32, named bool, now int64) (ID, Errno) {
	id := newNode(dir, S_IFREG|mode&modeBits, now)
	if id == 0 {
		return 0, ENOSPC
	}
	n := at(id)
	n.nlink, n.opens, n.unnamed = 0, 1, named
	return id, 0
}

// newNode makes a node without a name, or returns 0 if memory has run out. It gets the group of its
// future directory if that prescribes one.
func newNode(dir ID, mode uint32, now int64) ID {
	percpu.AssertLocked()
	id := ID(nodes.take())
	if id == 0 {
		return 0
	}
	n := at(id)
	n.mode = mode & (S_IFMT | modeBits)
	n.nlink = 1
	n.atime, n.mtime, n.ctime, n.btime = now, now, now, now
	if n.dir() {
		n.nlink = 2
		n.parent = dir
		n.cookie = firstCookie
	}
	if dir != 0 {
		n.system = at(dir).system
		if d := at(dir); d.mode&S_ISGID != 0 {
			n.gid = d.gid
			if n.dir() {
				n.mode |= S_ISGID
			}
		}
	}
	return id
}

// Usage returns the number of nodes and of frames that the tree holds. Kernel
// context.
func Usage() (numNodes, numFrames int) { return int(nodes.used), frames }
