package vfs

import "github.com/zeroframe/zeroframe/kernel/percpu"

// Resolving a path to a node, as in Linux (path_resolution(7), fs/namei.c).

// How a walk treats the last component of its path.
const (
	followLast  = 1 << iota // a symbolic link: go on with its target
	followSlash             // a symbolic link with a slash after it: the same
	refuseSlash             // a name with a slash after it: EISDIR (open with O_CREAT)
	longLast                // a name that is too long: report it in the place, no error (rename)
)

// Kinds of the last component of a path.
const (
	lastName = iota
	lastRoot // none: the path is "/"
	lastDot
	lastDotDot
)

// place is where a walk has ended.
type place struct {
	dir   ID // the directory that the last component is looked up in
	name  []byte
	last  int
	long  bool    // the name is too long (longLast)
	slash bool    // a slash follows the last component
	entry entryID // of the name; 0 if it does not exist or is no name
	id    ID      // the node; 0 if it does not exist
}

// rest holds what remains to be walked after each symbolic link that the walk is in, except the
// outermost (rest[0] is unused): that remainder can be the caller's memory, so it stays in a local
// variable. The others are parts of links' targets, in frames or in the archive. Under the kernel
// lock.
var rest [LinkMax + 1]struct {
	addr uintptr
	n    int
}

// walk resolves a path; flags say how it treats the last component, which may not exist. Errors:
// ENOENT (the path is empty or something on the way does not exist), ENOTDIR, ENAMETOOLONG, ELOOP,
// EISDIR (refuseSlash).
func walk(dir ID, path []byte, flags int) (p place, e Errno) {
	percpu.AssertLocked()
	if len(path) == 0 {
		return p, ENOENT
	}
	if len(path) > PathMax {
		return p, ENAMETOOLONG
	}
	if path[0] == '/' {
		if dir, e = rootOfWalk(); e != 0 {
			return p, e
		}
	}
	var outer []byte
	depth, links := 0, 0
	for {
		i := slashes(path, 0)
		if i == len(path) { // only slashes: the root
			if depth == 0 {
				p.dir, p.id, p.last, p.slash = dir, dir, lastRoot, true
				return p, 0
			}
			depth--
			path = popped(outer, depth)
			continue
		}
		j := i
		for j < len(path) && path[j] != '/' {
			j++
		}
		name := path[i:j]
		k := slashes(path, j)
		tail := path[k:]
		final := len(tail) == 0 && depth == 0
		if final && k > j {
			p.slash = true
		}

		d := at(dir)
		if !d.dir() {
			return p, ENOTDIR
		}
		p.dir, p.name, p.last, p.entry = dir, name, lastName, 0
		switch {
		case len(name) == 1 && name[0] == '.':
			p.last, p.id = lastDot, dir
		case len(name) == 2 && name[0] == '.' && name[1] == '.':
			p.last, p.id = lastDotDot, d.parent
			if bounds.flags&(BoundBeneath|BoundRoot) != 0 && dir == bounds.dir {
				if bounds.flags&BoundBeneath != 0 {
					return p, EXDEV
				}
				p.id = dir
			}
		case final && p.slash && flags&refuseSlash != 0:
			return p, EISDIR
		case d.nlink == 0: // a removed directory has no names, not even names that are too long
			p.id = 0
		case len(name) > NameMax:
			if p.long = final && flags&longLast != 0; !p.long {
				return p, ENAMETOOLONG
			}
			p.id = 0
		default:
			if e := need(dir, LacksData); e != 0 {
				return p, e
			}
			p.id = 0
			if p.entry = find(dir, name); p.entry != 0 {
				p.id = entryAt(p.entry).node
			}
		}
		if p.id == 0 {
			if final {
				return p, 0
			}
			return p, ENOENT
		}

		n := at(p.id)
		if bounds.flags&BoundMount != 0 && (isMount(p.id) || p.last == lastDotDot && isMount(dir)) {
			return p, EXDEV
		}
		if n.is(S_IFLNK) && (!final || flags&followLast != 0 || flags&followSlash != 0 && p.slash) {
			if links++; links > LinkMax || bounds.flags&BoundLink != 0 {
				return p, ELOOP
			}
			if e := need(p.id, LacksInfo); e != 0 {
				return p, e
			}
			if n.made == 0 {
				if len(tail) != 0 {
					if depth == 0 {
						outer = tail
					} else {
						rest[depth].addr, rest[depth].n = address(tail), len(tail)
					}
					depth++
				}
				path = target(n)
				if path[0] == '/' {
					if dir, e = rootOfWalk(); e != 0 {
						return p, e
					}
				}
				continue
			}
			if n.leads != 0 {
				switch {
				case bounds.flags&(BoundMagic|BoundLink) != 0:
					return p, ELOOP
				case bounds.flags&(BoundBeneath|BoundRoot) != 0:
					return p, EXDEV
				}
				p.id = n.leads
			}
		}
		if final {
			return p, 0
		}
		dir = p.id
		if path = tail; len(tail) == 0 {
			depth--
			path = popped(outer, depth)
		}
	}
}

// rootOfWalk returns the directory that a leading slash stands for.
func rootOfWalk() (ID, Errno) {
	switch {
	case bounds.flags&BoundBeneath != 0:
		return 0, EXDEV
	case bounds.flags&BoundRoot != 0:
		return bounds.dir, 0
	}
	return Root, 0
}

// popped returns what is left of the path at a depth.
func popped(outer []byte, depth int) []byte {
	if depth == 0 {
		return outer
	}
	return bytesAt(rest[depth].addr, rest[depth].n)
}

// slashes returns the first index from i on where path has no slash.
func slashes(path []byte, i int) int {
	for i < len(path) && path[i] == '/' {
		i++
	}
	return i
}

// target returns a symbolic link's target, which is never empty.
func target(n *node) []byte {
	if n.data != 0 {
		return bytesAt(n.data, int(n.size))
	}
	return bytesAt(n.orig, int(n.size))
}

// setTarget sets the target of a symbolic link, in a frame.
func (n *node) setTarget(to uintptr, target []byte) {
	move(to, address(target), len(target))
	n.data, n.frames, n.size = to, 1, int64(len(target))
}

// Walk returns the node that a path leads to, from dir on if the path does not begin with a slash.
// If follow is false, a symbolic link at the end is returned itself. Errors: ENOENT, ENOTDIR,
// ENAMETOOLONG, ELOOP, EMISSING. Kernel context.
func Walk(dir ID, path []byte, follow bool) (ID, Errno) {
	flags := followSlash
	if follow {
		flags |= followLast
	}
	p, e := walk(dir, path, flags)
	if e != 0 {
		return 0, e
	}
	if p.id == 0 {
		return 0, ENOENT
	}
	if p.slash && !at(p.id).dir() {
		return 0, ENOTDIR
	}
	if e := need(p.id, LacksInfo); e != 0 {
		return 0, e
	}
	return p.id, 0
}

// Readlink copies a symbolic link's target into buf, cut to its length, and
// returns the number of bytes. Errors: EINVAL (not a symbolic link). Kernel
// context.
func Readlink(id ID, buf []byte) (int, Errno) {
	n := at(id)
	if !n.is(S_IFLNK) {
		return 0, EINVAL
	}
	t := target(n)
	m := min(len(t), len(buf))
	move(address(buf), address(t), m)
	return m, 0
}
