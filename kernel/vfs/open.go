package vfs

import "github.com/zeroframe/zeroframe/kernel/percpu"

// Open returns the node that a path leads to, held (Release it), and makes a regular file if flags
// say so. It honours Linux's O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW, O_PATH and the
// access mode, and ignores other flags. mode is a new file's, with the process's umask applied.
// Errors: those of Walk, EEXIST, EISDIR, EINVAL (O_CREAT with O_DIRECTORY), ELOOP (O_NOFOLLOW and a
// symbolic link), ENXIO (a socket), ENOSPC, EROFS, EMISSING. With O_TMPFILE it makes a file without
// a name, in the directory. Kernel context.
func Open(dir ID, path []byte, flags int, mode uint32, now int64) (ID, Errno) {
	if flags&O_PATH != 0 {
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW
	}
	if flags&(O_TMPFILE&^O_DIRECTORY) != 0 {
		if flags&(O_TMPFILE|O_CREAT) != O_TMPFILE || flags&O_ACCMODE == 0 {
			return 0, EINVAL
		}
		id, e := Walk(dir, path, flags&O_NOFOLLOW == 0)
		switch {
		case e != 0:
			return 0, e
		case !at(id).dir():
			return 0, ENOTDIR
		case Writable(id): // 9P has no such message
			return 0, EOPNOTSUPP
		}
		if e := fixed(id); e != 0 {
			return 0, e
		}
		return Nameless(id, mode, flags&O_EXCL == 0, now)
	}
	look := followSlash
	if flags&O_CREAT != 0 {
		if flags&O_DIRECTORY != 0 {
			return 0, EINVAL
		}
		look = refuseSlash
	}
	if flags&O_NOFOLLOW == 0 && flags&(O_CREAT|O_EXCL) != O_CREAT|O_EXCL {
		look |= followLast
	}
	p, e := walk(dir, path, look)
	if e != 0 {
		return 0, e
	}
	if p.id == 0 {
		if flags&O_CREAT == 0 {
			return 0, ENOENT
		}
		if at(p.dir).nlink != 0 && Writable(p.dir) {
			c := askName(Create, p, now)
			c.Mode, c.Exclusive, c.Opens = mode&hostBits, flags&O_EXCL != 0, flags&O_EXCL != 0
			return 0, EMISSING
		}
		id, e := create(p, S_IFREG|mode&modeBits, now)
		if e != 0 {
			return 0, e
		}
		Retain(id)
		Notify(id, IN_OPEN)
		return id, 0
	}
	return openThere(p, flags, look, now)
}

// openThere is Open for a path that leads to a node; look is what walk was told.
func openThere(p place, flags, look int, now int64) (ID, Errno) {
	n := at(p.id)
	switch {
	case flags&O_CREAT != 0 && flags&O_EXCL != 0:
		return 0, EEXIST
	case flags&O_CREAT != 0 && n.dir():
		return 0, EISDIR
	case (p.slash || flags&O_DIRECTORY != 0) && !n.dir():
		return 0, ENOTDIR
	case flags&O_PATH != 0:
	case n.is(S_IFLNK) && (n.made == 0 || look&followLast == 0):
		return 0, ELOOP
	case n.is(S_IFSOCK):
		return 0, ENXIO
	case n.dir() && (flags&O_ACCMODE != 0 || flags&O_TRUNC != 0):
		return 0, EISDIR
	default:
		if n.shared() {
			if e := openShared(p.id, flags, now); e != 0 {
				return 0, e
			}
		}
		Notify(p.id, IN_OPEN)
		if flags&O_TRUNC != 0 && n.is(S_IFREG) {
			SetSize(p.id, 0, now)
		}
	}
	Retain(p.id)
	return p.id, 0
}

// AddText makes a regular file of text, or a symbolic link to it, as mode says. The text must stay
// in place as long as the tree lives: its bytes are the file's until they are written. An existing
// file with that name stays. Errors: those of Walk, EEXIST, ENOSPC. Kernel context.
func AddText(path []byte, mode uint32, text []byte, now int64) Errno {
	p, e := vacant(Root, path, false)
	if e != 0 {
		return e
	}
	id, e := create(p, mode, now)
	if e == 0 {
		n := at(id)
		n.orig, n.origLen, n.size = address(text), int64(len(text)), int64(len(text))
	}
	return e
}

// Bounds of a walk, as in openat2(2).
const (
	BoundMount   = 0x01 // it stays in its file system: EXDEV
	BoundMagic   = 0x02 // it follows no made-up link: ELOOP
	BoundLink    = 0x04 // it follows no symbolic link: ELOOP
	BoundBeneath = 0x08 // it stays below its directory: EXDEV
	BoundRoot    = 0x10 // its directory is the walk's root
)

// bounds are the bounds of the current walk, from dir. Under the kernel lock.
var bounds struct {
	dir   ID
	flags int
}

// OpenWithin is Open with bounds for the walk. Errors: those of Open, EXDEV, ELOOP. Kernel context.
func OpenWithin(dir ID, path []byte, flags, within int, mode uint32, now int64) (ID, Errno) {
	percpu.AssertLocked()
	bounds.dir, bounds.flags = dir, within
	id, e := Open(dir, path, flags, mode, now)
	bounds.flags = 0
	return id, e
}

// openShared makes sure that a node of a share has everything that an open file may ask for.
func openShared(id ID, flags int, now int64) Errno {
	n := at(id)
	if flags&O_ACCMODE != 0 || flags&O_TRUNC != 0 {
		if e := fixed(id); e != 0 {
			return e
		}
	}
	truncates := flags&O_TRUNC != 0 && n.is(S_IFREG)
	if truncates {
		if e := need(id, LacksInfo); e != 0 {
			return e
		}
	}
	if n.is(S_IFREG) && Writable(id) && (flags&O_ACCMODE != 0 || truncates) {
		if !truncates {
			if e := need(id, LacksInfo|LacksData); e != 0 {
				return e
			}
		}
		c := ask(OpenForWrite, id, now)
		c.Truncate, c.Opens = truncates, true
		return EMISSING
	}
	if truncates {
		n.lacks = 0
		return 0
	}
	return need(id, LacksInfo|LacksData)
}
