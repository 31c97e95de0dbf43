package vfs

import "github.com/zeroframe/zeroframe/kernel/percpu"

// Extended attributes: the entries of a nameless directory that a node has, if it has attributes.
// Each is a regular file whose bytes are the value.

// Attribute returns the file with the value of an attribute, or 0. Kernel context.
func Attribute(id ID, name []byte) ID {
	dir := at(id).attributes
	if dir == 0 {
		return 0
	}
	e := find(dir, name)
	if e == 0 {
		return 0
	}
	return entryAt(e).node
}

// SetAttribute sets the value of an attribute: a file that Nameless made and that belongs to the
// attribute from then on. Errors: ENOSPC. Kernel context.
func SetAttribute(id ID, name []byte, value ID, now int64) Errno {
	n := at(id)
	if n.attributes == 0 {
		if n.attributes = newNode(0, S_IFDIR, now); n.attributes == 0 {
			return ENOSPC
		}
	}
	e := newEntry(n.attributes, name, value)
	if e == 0 {
		return ENOSPC
	}
	if old := find(n.attributes, name); old != 0 {
		was := entryAt(old).node
		replace(old, e)
		freeValue(was)
	} else {
		add(e)
	}
	attributesChanged(id, now)
	return 0
}

// RemoveAttribute removes an attribute, which must exist. Kernel context.
func RemoveAttribute(id ID, name []byte, now int64) {
	e := find(at(id).attributes, name)
	value := entryAt(e).node
	remove(e)
	freeValue(value)
	attributesChanged(id, now)
}

// NextAttribute returns the name of an attribute of a node; cookie is 0 for the first, then the
// returned next. Kernel context.
func NextAttribute(id ID, cookie uint64) (name []byte, next uint64, ok bool) {
	dir := at(id).attributes
	if dir == 0 {
		return nil, 0, false
	}
	e := seek(at(dir), max(cookie, firstCookie))
	if e == 0 {
		return nil, 0, false
	}
	return nameOf(e), entryAt(e).cookie + 1, true
}

func attributesChanged(id ID, now int64) {
	at(id).ctime = now
	Notify(id, IN_ATTRIB)
}

// freeAttributes frees the attributes of a node that is being freed.
func freeAttributes(n *node) {
	if n.attributes == 0 {
		return
	}
	for d := at(n.attributes); d.first != 0; {
		value := entryAt(d.first).node
		remove(d.first)
		freeValue(value)
	}
	nodes.give(int32(n.attributes))
}

func freeValue(value ID) {
	percpu.AssertLocked()
	cut(at(value), 0)
	nodes.give(int32(value))
}
