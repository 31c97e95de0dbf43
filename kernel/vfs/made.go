package vfs

import "github.com/zeroframe/zeroframe/kernel/percpu"

// What the kernel makes up: the trees of /proc and /sys. Their nodes are like others, but are made
// when somebody looks into their directory; their maker (package linux) identifies each by a number
// of its own. The bytes of such a file are made when it is read. Such a link leads to a node, or
// nowhere. A directory that needs an update lacks its entries until somebody looks into it, as a
// directory of the host does (share.go).

// The file systems, as in Info and SystemOf.
const (
	Tree uint8 = iota // in memory
	Proc
	Sys
)

// making is set while made-up nodes are being made: then nothing of them is fixed or lacking. Under
// the kernel lock.
var making bool

// BeginMaking allows changes to the entries of made-up directories, until EndMaking. Kernel
// context.
func BeginMaking() {
	percpu.AssertLocked()
	making = true
}

// EndMaking undoes BeginMaking. Kernel context.
func EndMaking() {
	percpu.AssertLocked()
	making = false
}

// Begin makes a directory the root of a made-up file system, with the number made. Existing entries
// stay. Kernel context.
func Begin(id ID, system uint8, made uint16) {
	n := at(id)
	n.system, n.made, n.lacks = system, made, LacksData
}

// Make makes a node of mode at path, with the number made, which is not 0, and a second number of
// for the maker's use. Errors: those of Mkdir. While making. Kernel context.
func Make(path []byte, mode uint32, made uint16, of int32, now int64) (ID, Errno) {
	p, e := vacant(Root, path, true)
	if e != 0 {
		return 0, e
	}
	id, e := create(p, mode, now)
	if e == 0 {
		n := at(id)
		n.made, n.of = made, of
	}
	return id, e
}

// Snapshot makes a regular file without a name, held (Release it), for made-up bytes. It returns 0
// if memory has run out. Kernel context.
func Snapshot(now int64) ID {
	id := newNode(0, S_IFREG|0o400, now)
	if id != 0 {
		at(id).nlink, at(id).opens = 0, 1
	}
	return id
}

// Made returns the numbers that the node was made with; 0 if it is not made up. Kernel context.
func Made(id ID) (made uint16, of int32) { return at(id).made, at(id).of }

// SystemOf returns the file system of the node. Kernel context.
func SystemOf(id ID) uint8 { return at(id).system }

// Stale marks a made-up directory for an update when somebody next looks into it. Kernel context.
func Stale(id ID) { at(id).lacks |= LacksData }

// IsStale reports whether the directory's entries may be out of date. Kernel context.
func IsStale(id ID) bool { return at(id).lacks&LacksData != 0 }

// Lead makes a made-up link lead to a node, or with 0 nowhere: following it then returns the link
// itself. Kernel context.
func Lead(id, to ID) { at(id).leads = to }

// Unmake removes an entry of a made-up directory and, if that is a directory, its entries, which
// must not be directories. While making. Kernel context.
func Unmake(dir ID, name []byte, now int64) {
	e := find(dir, name)
	if e == 0 {
		return
	}
	id := entryAt(e).node
	for d := at(id); d.dir() && d.first != 0; {
		in := entryAt(d.first).node
		remove(d.first)
		unname(in, now)
	}
	remove(e)
	unname(id, now)
}
