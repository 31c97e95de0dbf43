package vfs

import "github.com/zeroframe/zeroframe/kernel/percpu"

// Making and removing names. The order of the checks is Linux's, because it decides which error a
// program sees.

// create makes a node of the given mode at a place that has none.
func create(p place, mode uint32, now int64) (ID, Errno) {
	if at(p.dir).nlink == 0 {
		return 0, ENOENT // the directory was removed
	}
	if at(p.dir).made != 0 && !making {
		return 0, ENOENT // as in Linux's /proc
	}
	if e := fixed(p.dir); e != 0 {
		return 0, e
	}
	if Writable(p.dir) {
		return 0, askCreate(p, mode, now)
	}
	id, e := insert(p, mode, now)
	if e == 0 && !making {
		tell(p.dir, IN_CREATE|isDir(id), 0, p.name)
	}
	return id, e
}

// insert is create for a directory that may be changed.
func insert(p place, mode uint32, now int64) (ID, Errno) {
	percpu.AssertLocked()
	d := at(p.dir)
	id := newNode(p.dir, mode, now)
	if id == 0 {
		return 0, ENOSPC
	}
	e := newEntry(p.dir, p.name, id)
	if e == 0 {
		nodes.give(int32(id))
		return 0, ENOSPC
	}
	add(e)
	if mode&S_IFMT == S_IFDIR {
		d.nlink++
	}
	d.mtime, d.ctime = now, now
	return id, 0
}

// vacant walks to the place of a new name. A slash after the name is for directories only.
func vacant(dir ID, path []byte, forDir bool) (place, Errno) {
	p, e := walk(dir, path, 0)
	switch {
	case e != 0:
		return p, e
	case p.id != 0 || p.last != lastName:
		return p, EEXIST
	case p.slash && !forDir:
		return p, ENOENT
	}
	return p, 0
}

// Mkdir makes a directory; mode has the process's umask applied. Errors: those
// of Walk, EEXIST, ENOSPC. Kernel context.
func Mkdir(dir ID, path []byte, mode uint32, now int64) (ID, Errno) {
	p, e := vacant(dir, path, true)
	if e != 0 {
		return 0, e
	}
	return create(p, S_IFDIR|mode&dirBits, now)
}

// Mknod makes a node of the kind in mode (a regular file if there is none), with a device's number
// for a device. Errors: those of Walk, EEXIST, EPERM (a directory), EINVAL (no such kind), ENOSPC.
// Kernel context.
func Mknod(dir ID, path []byte, mode uint32, rdev uint64, now int64) (ID, Errno) {
	switch mode & S_IFMT {
	case 0:
		mode |= S_IFREG
	case S_IFREG, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK:
	case S_IFDIR:
		return 0, EPERM
	default:
		return 0, EINVAL
	}
	p, e := vacant(dir, path, false)
	if e != 0 {
		return 0, e
	}
	id, e := create(p, mode, now)
	if e == 0 && (mode&S_IFMT == S_IFCHR || mode&S_IFMT == S_IFBLK) {
		at(id).rdev = uint32(rdev)
	}
	return id, e
}

// Symlink makes a symbolic link to target. Errors: those of Walk, EEXIST, ENOENT
// (the target is empty), ENAMETOOLONG (it is longer than PathMax), ENOSPC.
// Kernel context.
func Symlink(target []byte, dir ID, path []byte, now int64) (ID, Errno) {
	if len(target) == 0 {
		return 0, ENOENT
	}
	if len(target) > PathMax {
		return 0, ENAMETOOLONG
	}
	p, e := vacant(dir, path, false)
	if e != 0 {
		return 0, e
	}
	if at(p.dir).nlink != 0 && Writable(p.dir) {
		c := askName(MakeLink, p, now)
		c.From, c.N = address(target), len(target)
		return 0, EMISSING
	}
	f := frame()
	if f == 0 {
		return 0, ENOSPC
	}
	id, e := create(p, S_IFLNK|0o777, now)
	if e != 0 {
		freeFrame(f)
		return 0, e
	}
	at(id).setTarget(f, target)
	return id, 0
}

// Link gives a file another name. If follow is true and oldPath is a symbolic link, its target gets
// the name. Errors: those of Walk, EEXIST, EPERM (a directory), ENOSPC. Kernel context.
func Link(oldDir ID, oldPath []byte, newDir ID, newPath []byte, follow bool, now int64) Errno {
	id, e := Walk(oldDir, oldPath, follow)
	if e != 0 {
		return e
	}
	return LinkNode(id, newDir, newPath, now)
}

// LinkNode is Link for a node that the caller has. A node that has lost its last name gets no new
// one: ENOENT; one that Nameless made may get its first. Kernel context.
func LinkNode(id ID, dir ID, path []byte, now int64) Errno {
	p, e := vacant(dir, path, false)
	if e != 0 {
		return e
	}
	n, d := at(id), at(p.dir)
	switch {
	case d.nlink == 0:
		return ENOENT
	case n.dir():
		return EPERM
	case n.nlink == 0 && !n.unnamed:
		return ENOENT
	}
	if e := fixed(p.dir); e != 0 {
		return e
	}
	if Writable(p.dir) || Writable(id) {
		if d.share != n.share {
			return EXDEV
		}
		askName(HardLink, p, now).Node = id
		return EMISSING
	}
	if e := changing(id); e != 0 {
		return e
	}
	en := newEntry(p.dir, p.name, id)
	if en == 0 {
		return ENOSPC
	}
	add(en)
	n.nlink++
	n.unnamed = false
	n.ctime = now
	d.mtime, d.ctime = now, now
	tell(id, IN_ATTRIB, 0, nil)
	tell(p.dir, IN_CREATE, 0, p.name)
	return 0
}

// Unlink removes a name of anything but a directory. The node lives until it has
// no other name and nobody holds it. Errors: those of Walk, EISDIR. Kernel
// context.
func Unlink(dir ID, path []byte, now int64) Errno {
	p, e := walk(dir, path, 0)
	switch {
	case e != 0:
		return e
	case p.last != lastName:
		return EISDIR
	case p.id == 0:
		return ENOENT
	case at(p.id).dir():
		return EISDIR
	case p.slash:
		return ENOTDIR
	}
	if e := fixed(p.dir); e != 0 {
		return e
	}
	return removeName(p, now)
}

// Rmdir removes an empty directory. Errors: those of Walk, ENOTDIR, ENOTEMPTY,
// EBUSY (the root), EINVAL (the path ends in "."). Kernel context.
func Rmdir(dir ID, path []byte, now int64) Errno {
	p, e := walk(dir, path, 0)
	switch {
	case e != 0:
		return e
	case p.last == lastRoot:
		return EBUSY
	case p.last == lastDot:
		return EINVAL
	case p.last == lastDotDot:
		return ENOTEMPTY
	case p.id == 0:
		return ENOENT
	case !at(p.id).dir():
		return ENOTDIR
	}
	if e := emptyDir(p.dir, p.id); e != 0 {
		return e
	}
	return removeName(p, now)
}

// removeName removes a name that may be removed.
func removeName(p place, now int64) Errno {
	kind := isDir(p.id)
	if Writable(p.dir) && at(p.id).shared() {
		askName(Remove, p, now).Directory = kind != 0
		return EMISSING
	}
	remove(p.entry)
	touched(p.dir, now)
	if kind == 0 {
		tell(p.id, IN_ATTRIB, 0, nil)
	}
	unname(p.id, now)
	tell(p.dir, IN_DELETE|kind, 0, p.name)
	return 0
}

// emptyDir returns 0 if the directory id, whose name is in dir, can be removed.
func emptyDir(dir, id ID) Errno {
	if e := need(id, LacksData); e != 0 {
		return e
	}
	if at(id).count != 0 {
		return ENOTEMPTY
	}
	if isMount(id) {
		return EBUSY
	}
	return fixed(dir)
}

// touched sets the times of a directory whose entries have changed.
func touched(dir ID, now int64) {
	d := at(dir)
	d.mtime, d.ctime = now, now
}

// unname decrements the number of names of a node after one entry was removed.
func unname(id ID, now int64) {
	n := at(id)
	n.ctime = now
	if n.dir() {
		at(n.parent).nlink--
		at(n.parent).opens++ // until the node is freed: see drop
		n.nlink = 0
	} else {
		n.nlink--
	}
	drop(id)
}

// Rename gives a node another name, in the same or another directory. A node that had that name is
// removed if that is allowed: a directory replaces only an empty directory, and anything else
// anything but a directory. If both names belong to one node, nothing changes. flags are
// RENAME_NOREPLACE (EEXIST if the new name exists) or RENAME_EXCHANGE (the two names swap their
// nodes). Errors: those of Walk, EINVAL (a directory into itself, or flags), EBUSY (a path ends in
// "." or is the root), EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, ENOSPC, EXDEV, EROFS, EMISSING. Kernel
// context.
func Rename(oldDir ID, oldPath []byte, newDir ID, newPath []byte, flags int, now int64) Errno {
	if flags&^(RENAME_NOREPLACE|RENAME_EXCHANGE) != 0 || flags == RENAME_NOREPLACE|RENAME_EXCHANGE {
		return EINVAL
	}
	// Neither walk changes the tree, so the first one's entry is valid after the second.
	from, e := walk(oldDir, oldPath, longLast)
	if e != 0 {
		return e
	}
	to, e := walk(newDir, newPath, longLast)
	if e != 0 {
		return e
	}
	exchange := flags == RENAME_EXCHANGE
	switch {
	case from.last != lastName:
		return EBUSY
	case to.last != lastName:
		if flags == RENAME_NOREPLACE {
			return EEXIST
		}
		return EBUSY
	case from.long:
		return ENAMETOOLONG
	case from.id == 0:
		return ENOENT
	case at(to.dir).nlink == 0:
		return ENOENT
	case to.long:
		return ENAMETOOLONG
	case to.id != 0 && flags == RENAME_NOREPLACE:
		return EEXIST
	case to.id == 0 && exchange:
		return ENOENT
	case exchange && to.slash && !at(to.id).dir():
		return ENOTDIR
	}
	n := at(from.id)
	switch {
	case !n.dir() && (from.slash || to.slash && !exchange):
		return ENOTDIR
	case n.dir() && above(from.id, to.dir):
		return EINVAL
	case to.id != 0 && at(to.id).dir() && above(to.id, from.dir):
		if exchange {
			return EINVAL
		}
		return ENOTEMPTY
	case from.id == to.id:
		return 0
	}
	if to.id != 0 && !exchange {
		t := at(to.id)
		switch {
		case n.dir() && !t.dir():
			return ENOTDIR
		case !n.dir() && t.dir():
			return EISDIR
		case t.dir():
			if e := emptyDir(to.dir, to.id); e != 0 {
				return e
			}
		}
	}
	if Writable(from.dir) || Writable(to.dir) {
		return askMove(from, to, flags, now)
	}
	if e := movable(from.dir, to.dir, from.id); e != 0 {
		return e
	}
	if exchange {
		if e := movable(to.dir, from.dir, to.id); e != 0 {
			return e
		}
	}
	return relocate(from, to, exchange, now)
}

// relocate moves a node to another name, which already has a node if to has one, or swaps two
// names. Errors: ENOSPC.
func relocate(from, to place, exchange bool, now int64) Errno {
	n := at(from.id)
	switch {
	case exchange:
		entryAt(from.entry).node, entryAt(to.entry).node = to.id, from.id
		moved(to.id, to.dir, from.dir, from.entry)
		moved(from.id, from.dir, to.dir, to.entry)
		at(to.id).ctime = now
	case to.id != 0:
		if t := at(to.id); t.name == to.entry {
			t.name = 0
		}
		entryAt(to.entry).node = from.id
		remove(from.entry)
		moved(from.id, from.dir, to.dir, to.entry)
	default:
		en := newEntry(to.dir, to.name, from.id)
		if en == 0 {
			return ENOSPC
		}
		if from.dir == to.dir {
			replace(from.entry, en)
		} else {
			remove(from.entry)
			add(en)
		}
		moved(from.id, from.dir, to.dir, en)
	}
	n.ctime = now
	touched(from.dir, now)
	touched(to.dir, now)
	tellMoved(from.id, from.dir, from.name, to.dir, to.name)
	if to.id != 0 && !exchange {
		tell(to.id, IN_ATTRIB|isDir(to.id), 0, nil)
	}
	tell(from.id, IN_MOVE_SELF, 0, nil)
	switch {
	case exchange:
		tellMoved(to.id, to.dir, to.name, from.dir, from.name)
		tell(to.id, IN_MOVE_SELF, 0, nil)
	case to.id != 0:
		unname(to.id, now)
	}
	return 0
}

// movable returns 0 if the node can get another name. A directory of a share cannot, as in Linux's
// overlay: the host knows its contents by its path.
func movable(from, to, id ID) Errno {
	if e := fixed(from); e != 0 {
		return e
	}
	if e := fixed(to); e != 0 {
		return e
	}
	n := at(id)
	if !n.shared() {
		return 0
	}
	if n.dir() {
		return EXDEV
	}
	return changing(id)
}

// moved updates a node that has another entry now.
func moved(id, from, to ID, e entryID) {
	n := at(id)
	n.name = e
	if !n.dir() {
		return
	}
	n.parent = to
	at(from).nlink--
	at(to).nlink++
}

// above reports whether directory id is dir or above it.
func above(id, dir ID) bool {
	for dir != id {
		if dir == Root {
			return false
		}
		dir = at(dir).parent
	}
	return true
}
