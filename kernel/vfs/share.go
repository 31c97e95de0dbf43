package vfs

import (
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Folders of the host. Their files are nodes like others, but their contents are fetched on demand:
// a directory's entries, a file's attributes, its bytes. Until then a node lacks them, and an
// operation that needs them returns EMISSING: the caller fetches what Lacking returns (package
// share), and then starts over.
//
// A share is read-only; or private: changes stay in the tree, the host does not see them, and a
// changed file is the tree's own from then on; or writable: then the host makes the changes
// (host.go).

// EMISSING never leaves the kernel: what Lacking returns must be fetched first.
const EMISSING Errno = 600

// What a node of a share lacks, as bits.
const (
	LacksInfo = 1 << iota // mode, size, times; a symbolic link's target
	LacksData             // a directory's entries, a file's bytes
)

// MaxShares is the largest number of shares.
const MaxShares = 8

// mounts are the shares, by their number less 1; node 0 is none. Set once at boot.
var mounts [MaxShares]struct {
	node ID
	mode ShareMode
}

// lacking is what the last EMISSING was for. Under the kernel lock.
var lacking struct {
	id   ID
	what uint8
}

// Lacking returns the node for which EMISSING was last returned, and what it lacks. Kernel
// context.
func Lacking() (id ID, what uint8) { return lacking.id, lacking.what }

// need returns EMISSING if the node lacks any of what, and records that for Lacking.
func need(id ID, what uint8) Errno {
	percpu.AssertLocked()
	n := at(id)
	if n.lacks&what == 0 || making {
		return 0
	}
	lacking.id, lacking.what, asked.Kind = id, n.lacks&(what|LacksInfo), NoChange
	return EMISSING
}

// Mount makes the directory at path, and missing ones above it, and begins share number 1 to
// MaxShares there: its entries are added to the existing ones. Errors: those of Mkdir, EBUSY (a
// share is in another, or the number is taken), EINVAL. Early context.
func Mount(share int, path []byte, mode ShareMode, now int64) Errno {
	if share < 1 || share > MaxShares || len(path) == 0 || path[0] != '/' {
		return EINVAL
	}
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			if _, e := Mkdir(Root, path[:i], 0o755, now); e != 0 && e != EEXIST {
				return e
			}
		}
	}
	id, e := Walk(Root, path, true)
	if e != 0 {
		return e
	}
	n := at(id)
	switch {
	case !n.dir():
		return ENOTDIR
	case n.share != 0 || mounts[share-1].node != 0:
		return EBUSY
	}
	n.share, n.lacks = uint8(share), LacksInfo|LacksData
	mounts[share-1].node, mounts[share-1].mode = id, mode
	return 0
}

// MountOf returns the node at which a share begins, 0 if there is none with that number. Kernel
// context.
func MountOf(share int) (id ID, readOnly bool) {
	return mounts[share-1].node, mounts[share-1].mode == ShareReadOnly
}

// ShareOf returns the number of the node's share; 0 if it is the tree's own. Kernel context.
func ShareOf(id ID) int {
	if !parts.Shares {
		return 0
	}
	return int(at(id).share)
}

// shared reports whether the node belongs to a share.
func (n *node) shared() bool { return parts.Shares && n.share != 0 }

// isMount reports whether a share begins at the node.
func isMount(id ID) bool {
	s := at(id).share
	return parts.Shares && s != 0 && mounts[s-1].node == id
}

// fixed returns EROFS if nothing in a directory, or of a file, may be changed, and EPERM if it is
// made up.
//
//go:noinline
func fixed(id ID) Errno {
	if at(id).made != 0 && !making {
		return EPERM
	}
	if s := at(id).share; parts.Shares && s != 0 && mounts[s-1].mode == ShareReadOnly {
		return EROFS
	}
	return 0
}

// ReadOnly reports whether nothing in a directory or file of a share may be changed. Kernel
// context.
func ReadOnly(id ID) bool { return fixed(id) == EROFS }

// SharePath writes the path of a share's node, from the start of the share, into the end of buf and
// returns that part of it, without a leading slash. Errors: ENOENT (it has no name), ERANGE. Kernel
// context.
func SharePath(id ID, buf []byte) ([]byte, Errno) {
	path, e := pathFrom(mounts[at(id).share-1].node, id, buf)
	if len(path) > 0 {
		path = path[1:]
	}
	return path, e
}

// AddShared adds an entry of a kind (the mode's upper four bits) to a directory of a share, as the
// host reported it. Existing entries stay; a directory that both have gets the host's entries, too.
// Entries that cannot be a name, or of another kind, are left out. Errors: ENOSPC. Kernel context.
func AddShared(dir ID, name []byte, kind uint32) Errno {
	if len(name) == 0 || len(name) > NameMax || string(name) == "." || string(name) == ".." ||
		at(dir).nlink == 0 {
		return 0
	}
	if e := find(dir, name); e != 0 {
		if n := at(entryAt(e).node); n.share == 0 && n.dir() && kind == S_IFDIR {
			n.share, n.lacks = at(dir).share, LacksData
		}
		return 0
	}
	for i := range name {
		if name[i] == '/' || name[i] == 0 {
			return 0
		}
	}
	switch kind {
	case S_IFREG, S_IFDIR, S_IFLNK:
	default:
		return 0 // a device or a socket of the host does not exist here
	}
	d := at(dir)
	mtime, ctime := d.mtime, d.ctime
	id, e := insert(place{dir: dir, name: name}, kind|0o755, mtime)
	d.mtime, d.ctime = mtime, ctime
	if e == 0 {
		n := at(id)
		n.share, n.lacks = d.share, LacksInfo|LacksData
	}
	return e
}

// SetShared sets the attributes of a shared file, as the host reported them: all but its kind, and
// but the size if its bytes are here. Kernel context.
func SetShared(id ID, mode uint32, size, atime, mtime int64) {
	n := at(id)
	if n.lacks&LacksInfo == 0 {
		return
	}
	n.mode = n.mode&S_IFMT | mode&modeBits
	n.atime, n.mtime, n.ctime = atime, mtime, mtime
	if n.is(S_IFREG) && n.lacks&LacksData != 0 {
		if n.size = min(max(size, 0), SizeMax); size == 0 && Writable(id) {
			n.lacks &^= LacksData // a file on a disk, not one of /proc
		}
	}
	if !n.is(S_IFLNK) {
		n.lacks &^= LacksInfo
	}
}

// SetTarget sets the target of a shared symbolic link. Errors: ENOSPC, EINVAL (it is empty or too
// long, or the node is no link). Kernel context.
func SetTarget(id ID, target []byte) Errno {
	n := at(id)
	if !n.is(S_IFLNK) || n.lacks == 0 || len(target) == 0 || len(target) > PathMax {
		return EINVAL
	}
	f := frame()
	if f == 0 {
		return ENOSPC
	}
	n.setTarget(f, target)
	n.lacks = 0
	return 0
}

// FillShared stores some of the n bytes at address from in a shared file that lacks its data, at
// offset off, and returns how many. Errors: those of PageForWrite. Kernel context.
func FillShared(id ID, off int64, from uintptr, n int) (int, Errno) {
	if at(id).lacks&LacksData == 0 {
		return 0, EINVAL
	}
	to, room, e := PageForWrite(id, off)
	n = min(n, room)
	if e == 0 {
		move(to, from, n)
	}
	return n, e
}

// Filled says that the data of a shared file or directory is complete; a file has size bytes.
// Kernel context.
func Filled(id ID, size int64) {
	n := at(id)
	if n.lacks&LacksData == 0 {
		return
	}
	n.lacks &^= LacksData
	if n.is(S_IFREG) {
		n.size = size
	}
}

// Unfill frees a file's data, which it then lacks. Kernel context.
func Unfill(id ID) {
	if n := at(id); n.is(S_IFREG) && n.share != 0 {
		cut(n, 0)
		n.lacks |= LacksData
	}
}

// changing prepares a change of a node itself: a shared file must be complete for that, and becomes
// the tree's own. Errors: EROFS, EMISSING.
func changing(id ID) Errno {
	n := at(id)
	if !n.shared() {
		return 0
	}
	if e := fixed(id); e != 0 {
		return e
	}
	if n.dir() {
		return need(id, LacksInfo)
	}
	if e := need(id, LacksInfo|LacksData); e != 0 {
		return e
	}
	n.own()
	return 0
}

// own makes a changed file the tree's own.
func (n *node) own() {
	if n.shared() && mounts[n.share-1].mode != ShareWritable && !n.dir() && n.lacks == 0 {
		n.share = 0
	}
}

// Reclaim frees the memory of shared files that nobody has open, because their data can be fetched
// again. It returns the number of frames. Kernel context.
func Reclaim() (freed int) {
	before := frames
	for i := int32(1); i < nodes.fresh; i++ {
		n := at(ID(i))
		if n.shared() && n.is(S_IFREG) && n.lacks&LacksData == 0 && n.opens == 0 && n.nlink > 0 &&
			n.data != 0 {
			Unfill(ID(i))
		}
	}
	return before - frames
}
