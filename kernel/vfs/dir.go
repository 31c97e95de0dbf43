package vfs

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Directories. An entry is in two structures: its directory's list, in the order of cookies, for
// ReadDir; and one hash table of all entries of the tree, by directory and name, for look-up. The
// table is a linear hash (Litwin, "Linear Hashing: A New Tool for File and Table Addressing",
// 1980): whenever there is one entry too many, one bucket is split in two, so that no single
// operation ever has to move all entries.
//
// A cookie is used once in a directory's life, so a position stays valid when entries are added and
// removed. A name that is changed within the directory keeps its cookie: a reader that renames the
// entries it finds does not meet them again.

// entryID names an entry: twice its index in one of the two slabs, plus 1 for the slab of long
// names. 0 is none.
type entryID int32

// entry is a name in a directory. The name's bytes follow it in memory.
type entry struct {
	dir        ID
	node       ID
	hash       uint32
	chain      entryID // next in the bucket
	prev, next entryID // in the directory
	cookie     uint64
	nameLen    uint8
	name       [0]byte
}

const (
	nameOffset  = unsafe.Offsetof(entry{}.name)
	shortSize   = 96
	longSize    = (nameOffset + NameMax + 7) &^ 7
	shortName   = int(shortSize - nameOffset)
	firstCookie = 2 // 0 is ".", 1 is ".."
)

// Under the kernel lock.
var (
	shortEntries = slab{size: shortSize, perFrame: pageSize / shortSize}
	longEntries  = slab{size: longSize, perFrame: int32(pageSize / longSize)}
)

//go:noinline
func entryAt(e entryID) *entry { return (*entry)(arch.Pointer(entryAddr(e))) }

func entryAddr(e entryID) uintptr {
	percpu.AssertLocked()
	if e&1 != 0 {
		return longEntries.at(int32(e >> 1))
	}
	return shortEntries.at(int32(e >> 1))
}

// nameOf returns the name of an entry; its bytes are in the tree.
func nameOf(e entryID) []byte {
	a := entryAddr(e)
	return bytesAt(a+nameOffset, int((*entry)(arch.Pointer(a)).nameLen))
}

// newEntry makes an entry that is in neither structure, or returns 0 if memory
// has run out.
func newEntry(dir ID, name []byte, id ID) entryID {
	percpu.AssertLocked()
	var e entryID
	if len(name) <= shortName {
		e = entryID(shortEntries.take() << 1)
	} else if i := longEntries.take(); i != 0 {
		e = entryID(i<<1 | 1)
	}
	if e == 0 {
		return 0
	}
	a := entryAddr(e)
	n := (*entry)(arch.Pointer(a))
	n.dir, n.node, n.hash = dir, id, hashOf(dir, name)
	n.nameLen = uint8(len(name))
	move(a+nameOffset, address(name), len(name))
	return e
}

func freeEntry(e entryID) {
	percpu.AssertLocked()
	if e&1 != 0 {
		longEntries.give(int32(e >> 1))
	} else {
		shortEntries.give(int32(e >> 1))
	}
}

// The hash table.
const (
	perBucketFrame  = pageSize / 4
	maxBucketFrames = 4096
)

// Under the kernel lock.
var (
	buckets      [maxBucketFrames]uintptr // frames of entryIDs
	numBuckets   uint32                   // at least perBucketFrame
	numEntries   uint32
	lowerBuckets uint32 // the largest power of two that is not above numBuckets
)

// hashOf is FNV-1a, with its upper bits mixed in: the table uses the lower ones.
func hashOf(dir ID, name []byte) uint32 {
	h := uint32(2166136261)
	for i := 0; i < 32; i += 8 {
		h = (h ^ uint32(dir)>>i&0xff) * 16777619
	}
	for i := range name {
		h = (h ^ uint32(name[i])) * 16777619
	}
	h ^= h >> 15
	h *= 0x2c1b3c6d
	return h ^ h>>13
}

func bucketSlot(i uint32) *entryID {
	return (*entryID)(arch.Pointer(buckets[i/perBucketFrame] + uintptr(i%perBucketFrame)*4))
}

// bucketOf returns the bucket of entries with the given hash.
func bucketOf(hash uint32) *entryID {
	i := hash & (2*lowerBuckets - 1)
	if i >= numBuckets {
		i = hash & (lowerBuckets - 1)
	}
	return bucketSlot(i)
}

// initBuckets makes the first buckets.
func initBuckets() bool {
	if buckets[0] = frame(); buckets[0] == 0 {
		return false
	}
	numBuckets, lowerBuckets = perBucketFrame, perBucketFrame
	return true
}

func hashInsert(e entryID) {
	percpu.AssertLocked()
	n := entryAt(e)
	b := bucketOf(n.hash)
	n.chain = *b
	*b = e
	if numEntries++; numEntries > numBuckets {
		splitBucket()
	}
}

// splitBucket adds a bucket, if there is memory for it; otherwise chains just become longer.
func splitBucket() {
	percpu.AssertLocked()
	i := numBuckets
	if i/perBucketFrame >= maxBucketFrames {
		return
	}
	if f := &buckets[i/perBucketFrame]; *f == 0 {
		if *f = frame(); *f == 0 {
			return
		}
	}
	from := bucketSlot(i - lowerBuckets)
	numBuckets++
	if numBuckets == 2*lowerBuckets {
		lowerBuckets = numBuckets
	}
	chain := *from
	*from = 0
	for chain != 0 {
		n := entryAt(chain)
		next := n.chain
		b := bucketOf(n.hash)
		n.chain = *b
		*b = chain
		chain = next
	}
}

func hashRemove(e entryID) {
	percpu.AssertLocked()
	n := entryAt(e)
	b := bucketOf(n.hash)
	for *b != e {
		b = &entryAt(*b).chain
	}
	*b = n.chain
	numEntries--
}

// find returns the entry with the given name, or 0.
func find(dir ID, name []byte) entryID {
	h := hashOf(dir, name)
	for e := *bucketOf(h); e != 0; {
		n := entryAt(e)
		if n.hash == h && n.dir == dir && ascii.Equal(nameOf(e), name) {
			return e
		}
		e = n.chain
	}
	return 0
}

// add puts a new entry at the end of its directory and into the table.
func add(e entryID) {
	n := entryAt(e)
	d := at(n.dir)
	n.cookie = d.cookie
	d.cookie++
	d.count++
	n.prev = d.last
	if d.last != 0 {
		entryAt(d.last).next = e
	} else {
		d.first = e
	}
	d.last = e
	at(n.node).name = e
	hashInsert(e)
}

// replace puts a new entry in the place of another one of the same directory, which it removes and
// frees.
func replace(old, e entryID) {
	hashRemove(old)
	o, n := entryAt(old), entryAt(e)
	d := at(o.dir)
	n.cookie, n.prev, n.next = o.cookie, o.prev, o.next
	if n.prev != 0 {
		entryAt(n.prev).next = e
	} else {
		d.first = e
	}
	if n.next != 0 {
		entryAt(n.next).prev = e
	} else {
		d.last = e
	}
	if d.cursor == old {
		d.cursor = e
	}
	at(n.node).name = e
	freeEntry(old)
	hashInsert(e)
}

// remove takes an entry out of both structures and frees it.
func remove(e entryID) {
	hashRemove(e)
	n := entryAt(e)
	d := at(n.dir)
	if n.prev != 0 {
		entryAt(n.prev).next = n.next
	} else {
		d.first = n.next
	}
	if n.next != 0 {
		entryAt(n.next).prev = n.prev
	} else {
		d.last = n.prev
	}
	if d.cursor == e {
		if d.cursor = n.next; d.cursor == 0 {
			d.cursor = n.prev
		}
	}
	d.count--
	if named := at(n.node); named.name == e {
		named.name = 0
	}
	freeEntry(e)
}

// seek returns the first entry of a directory whose cookie is not below the given one, or 0. It
// searches from its last position, so reading in order, or stepping back a little, costs the same
// in a large directory as in a small one.
func seek(d *node, cookie uint64) entryID {
	e := d.first
	if e == 0 || entryAt(e).cookie >= cookie {
		return e
	}
	if cookie >= d.cookie {
		return 0
	}
	if d.cursor != 0 {
		e = d.cursor
	}
	for e != 0 && entryAt(e).cookie < cookie {
		e = entryAt(e).next
	}
	if e == 0 {
		return 0
	}
	// The first entry's cookie is below, so this ends.
	for p := entryAt(e).prev; entryAt(p).cookie >= cookie; p = entryAt(e).prev {
		e = p
	}
	return e
}

var dots = [2]byte{'.', '.'} // never written

// ReadDir returns the entry of a directory at a position: its name (in the tree, valid until the
// next change), node and kind (as in Linux's d_type: the mode's upper four bits), and the position
// after it. The first position is 0; "." and ".." come first. A position stays valid while entries
// are made and removed: no other entry is missed or met twice. ok is false at the end, in a removed
// directory, and for a node that is no directory. Kernel context.
func ReadDir(id ID, cookie uint64) (name []byte, node ID, kind uint8, next uint64, ok bool) {
	d := at(id)
	if !d.dir() || d.nlink == 0 {
		return nil, 0, 0, cookie, false
	}
	switch cookie {
	case 0:
		return dots[:1], id, S_IFDIR >> 12, 1, true
	case 1:
		return dots[:2], d.parent, S_IFDIR >> 12, firstCookie, true
	}
	e := seek(d, cookie)
	if e == 0 {
		return nil, 0, 0, cookie, false
	}
	d.cursor = e
	n := entryAt(e)
	return nameOf(e), n.node, uint8(at(n.node).mode >> 12), n.cookie + 1, true
}

// Path writes a node's path from the root into the end of buf and returns that part of it. For a
// file with several names it is the newest. Errors: ENOENT (the name, or a directory above it, was
// removed), ERANGE (buf is too small). Kernel context.
func Path(id ID, buf []byte) ([]byte, Errno) {
	path, e := pathFrom(Root, id, buf)
	if e == 0 && len(path) == 0 {
		if len(buf) == 0 {
			return nil, ERANGE
		}
		path = buf[len(buf)-1:]
		path[0] = '/'
	}
	return path, e
}

// pathFrom is Path from the directory start on; for start itself the path is empty.
func pathFrom(start, id ID, buf []byte) ([]byte, Errno) {
	i := len(buf)
	for id != start {
		e := at(id).name
		if e == 0 {
			return nil, ENOENT
		}
		name := nameOf(e)
		if i < len(name)+1 {
			return nil, ERANGE
		}
		i -= len(name)
		move(address(buf[i:]), address(name), len(name))
		i--
		buf[i] = '/'
		id = entryAt(e).dir
	}
	return buf[i:], 0
}
