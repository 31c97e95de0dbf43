package vfs

// Names iterates over every name of the tree, in no order, and without a stack of directories: it
// reads the table of all entries. The zero value is before the first. The tree must not change
// meanwhile.
type Names struct {
	bucket uint32
	next   entryID
}

// Next returns a name, the directory that has it and the node that it names; false after
// the last. Kernel context.
func (n *Names) Next() (dir, node ID, name []byte, ok bool) {
	for n.next == 0 {
		if n.bucket == numBuckets {
			return 0, 0, nil, false
		}
		n.next = *bucketSlot(n.bucket)
		n.bucket++
	}
	e := entryAt(n.next)
	name = nameOf(n.next)
	n.next = e.chain
	return e.dir, e.node, name, true
}
