package vfs

import "github.com/zeroframe/zeroframe/kernel/percpu"

// What the kernel makes up: the trees of /proc and /sys. Their nodes are nodes like others, made
// when somebody looks into their directory; who makes them (package linux) says by a number of its
// own what each is. The bytes of such a file are made when it is read. Such a link leads to a node,
// or nowhere. A directory whose entries are to be brought up to date lacks them until it is looked
// into, as one of the host's does (share.go).

// The file systems, as Info and SystemOf tell them.
const (
	Tree uint8 = iota // what is in memory
	Proc
	Sys
)

// making is set while what is made up is made: then nothing in it is fixed, nor lacking. Under the
// kernel lock.
var making bool

// BeginMaking lets the entries of directories that are made up be made and removed, up to EndMaking.
// Kernel context.
func BeginMaking() {
	percpu.AssertLocked()
	making = true
}

// EndMaking undoes BeginMaking. Kernel context.
func EndMaking() {
	percpu.AssertLocked()
	making = false
}

// Begin makes a directory the root of a file system that is made up, with the number made. What is
// in it already stays. Kernel context.
func Begin(id ID, system uint8, made uint16) {
	n := at(id)
	n.system, n.made, n.lacks = system, made, LacksData
}

// Make makes a node of mode at path, with the number made, which is not 0, and whatever its maker
// wants to know with that, of. Errors: those of Mkdir. While making. Kernel context.
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

// Snapshot makes a regular file without a name, held (Release it), for bytes that are made up. It
// returns 0 if memory has run out. Kernel context.
func Snapshot(now int64) ID {
	id := newNode(0, S_IFREG|0o400, now)
	if id != 0 {
		at(id).nlink, at(id).opens = 0, 1
	}
	return id
}

// Made returns the numbers that the node was made with; 0 if it is not made up. Kernel context.
func Made(id ID) (made uint16, of int32) { return at(id).made, at(id).of }

// SystemOf returns the file system that the node is of. Kernel context.
func SystemOf(id ID) uint8 { return at(id).system }

// Stale has a directory that is made up brought up to date when it is looked into next. Kernel
// context.
func Stale(id ID) { at(id).lacks |= LacksData }

// IsStale reports whether the directory's entries may be out of date. Kernel context.
func IsStale(id ID) bool { return at(id).lacks&LacksData != 0 }

// Lead has a link that is made up lead to a node, 0 for nowhere: then whoever follows it gets the
// link. Kernel context.
func Lead(id, to ID) { at(id).leads = to }

// Unmake removes an entry of a directory that is made up and, if that is a directory, the entries
// in it, which are no directories. While making. Kernel context.
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
