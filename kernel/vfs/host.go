package vfs

import (
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// The host makes changes in a writable share first. An operation that would change such a node
// returns EMISSING, with the change in Asked; package share lets the host make it, and Changed then
// makes the same change here. So the tree never differs from the host, whoever else changes
// something meanwhile, and the caller gets the host's error.
//
// The bytes of its files are cached here like those of other shares; writes go through to the host.

// ChangeKind says what is to be changed.
type ChangeKind uint8

// The kinds, and the fields of a Change that each has.
const (
	NoChange      ChangeKind = iota
	OpenForWrite             // Node, Truncate
	Create                   // a regular file: Dir, Name, Mode, Exclusive, Opens
	MakeDir                  // Dir, Name, Mode
	MakeLink                 // a symbolic link to the target at From, N bytes: Dir, Name
	HardLink                 // another name of a file: Node, Dir, Name
	Remove                   // a name: Dir, Name, Directory
	Move                     // a name: Dir, Name, ToDir, ToName
	SetAttributes            // Node, those that Which says
	WriteBytes               // N bytes: Node, Offset
	Sync                     // a file's bytes: Node
)

// The bits of Which, as in 9P2000.L's Tsetattr.
const (
	ChangeMode  = 1 << 0
	ChangeUID   = 1 << 1
	ChangeGID   = 1 << 2
	ChangeSize  = 1 << 3
	ChangeAtime = 1<<4 | 1<<7 // to a given time
	ChangeMtime = 1<<5 | 1<<8
)

// Change is a change for the host to make. It contains no pointers.
type Change struct {
	Kind                     ChangeKind
	Share                    int
	Node, Dir, ToDir         ID
	Truncate, Exclusive      bool
	Opens                    bool // the caller wants to open the file
	Directory                bool
	Which                    uint32
	Mode, UID, GID           uint32
	Size, Atime, Mtime       int64
	Offset                   int64
	N                        int
	From                     uintptr // for MakeLink: in the kernel's memory
	now                      int64
	name, toName             [NameMax]byte
	nameLength, toNameLength uint8
}

// Name returns the name that is changed.
func (c *Change) Name() []byte { return c.name[:c.nameLength] }

// ToName returns the new name.
func (c *Change) ToName() []byte { return c.toName[:c.toNameLength] }

// asked is the change that the last EMISSING was for, or NoChange if it was for something else.
// Under the kernel lock.
var asked Change

// Asked returns the change for which EMISSING was last returned; its kind is NoChange if EMISSING
// was for what Lacking returns. Kernel context.
func Asked() *Change {
	percpu.AssertLocked()
	return &asked
}

// ShareMode says what a program may do in a share.
type ShareMode uint8

// The modes.
const (
	ShareReadOnly ShareMode = iota
	SharePrivate            // change it here
	ShareWritable           // change it on the host
)

// Writable reports whether a node belongs to the host, and is changed there. Kernel context.
func Writable(id ID) bool {
	s := at(id).share
	return parts.Shares && s != 0 && mounts[s-1].mode == ShareWritable
}

// ask begins a request to the host about a node, in a directory or for a file.
func ask(kind ChangeKind, id ID, now int64) *Change {
	percpu.AssertLocked()
	asked.Kind, asked.Share, asked.now = kind, int(at(id).share), now
	asked.Node, asked.Dir, asked.ToDir = 0, 0, 0
	asked.Truncate, asked.Exclusive, asked.Opens, asked.Directory = false, false, false, false
	asked.Which, asked.N, asked.nameLength, asked.toNameLength = 0, 0, 0, 0
	if at(id).dir() && kind != SetAttributes {
		asked.Dir = id
	} else {
		asked.Node = id
	}
	return &asked
}

// askName is ask for a name in a directory.
func askName(kind ChangeKind, p place, now int64) *Change {
	c := ask(kind, p.dir, now)
	move(address(c.name[:]), address(p.name), len(p.name))
	c.nameLength = uint8(len(p.name))
	return c
}

// askAttributes is ask for attributes of a node.
func askAttributes(id ID, which uint32, now int64) (*Change, Errno) {
	if e := need(id, LacksInfo); e != 0 {
		return nil, e
	}
	c := ask(SetAttributes, id, now)
	c.Which = which
	return c, EMISSING
}

// askCreate asks for a new name in a directory of a writable share. The host makes no devices,
// pipes and sockets for the tree.
func askCreate(p place, mode uint32, now int64) Errno {
	kind := Create
	switch mode & S_IFMT {
	case S_IFREG:
	case S_IFDIR:
		kind = MakeDir
	default:
		return EPERM
	}
	c := askName(kind, p, now)
	c.Mode, c.Exclusive = mode&hostBits, true
	return EMISSING
}

// askMove asks for a rename from or to a name of a writable share. Errors: EXDEV (both must be in
// the same share), EINVAL (as in Linux, flags are not supported).
func askMove(from, to place, flags int, now int64) Errno {
	share := at(from.dir).share
	switch {
	case flags != 0:
		return EINVAL
	case at(to.dir).share != share, at(from.id).share != share, to.id != 0 && at(to.id).share != share:
		return EXDEV
	}
	c := askName(Move, from, now)
	c.ToDir = to.dir
	move(address(c.toName[:]), address(to.name), len(to.name))
	c.toNameLength = uint8(len(to.name))
	return EMISSING
}

// AskWrite asks to write n bytes at off of a file of a writable share, and makes room for them
// here. Errors: EMISSING, those of PageForWrite. Kernel context.
func AskWrite(id ID, off int64, n int, now int64) Errno {
	for at := off; at < off+int64(n); {
		_, room, e := PageForWrite(id, at)
		if e == ENOSPC && Reclaim() > 0 {
			continue
		}
		if e != 0 {
			return e
		}
		at += int64(room)
	}
	c := ask(WriteBytes, id, now)
	c.Offset, c.N = off, n
	return EMISSING
}

// AskSync asks for the bytes of a file of a writable share to be on the host's disk. Kernel
// context.
func AskSync(id ID) Errno {
	ask(Sync, id, 0)
	return EMISSING
}

// Hold holds the nodes of a change, and Unhold releases them. Kernel context.
func (c *Change) Hold() {
	for _, id := range [...]ID{c.Node, c.Dir, c.ToDir} {
		if id != 0 {
			Retain(id)
		}
	}
}

// Unhold releases what Hold holds. Kernel context.
func (c *Change) Unhold() {
	for _, id := range [...]ID{c.Node, c.Dir, c.ToDir} {
		if id != 0 {
			Release(id)
		}
	}
}

// First and Second return the nodes that the host must find for a change; 0: none. Kernel context.
func (c *Change) First() ID {
	if c.Node != 0 {
		return c.Node
	}
	return c.Dir
}

// Second: see First.
func (c *Change) Second() ID {
	if c.Kind == HardLink {
		return c.Dir
	}
	return c.ToDir
}

// Changed makes the change that the host has made; for WriteBytes, the first n bytes, which are at
// from. For Create and OpenForWrite it returns the node. Kernel context.
func Changed(c *Change, from uintptr, n int) ID {
	for _, dir := range [...]ID{c.Dir, c.ToDir} {
		if dir != 0 {
			at(dir).lacks |= LacksInfo // its times
		}
	}
	switch c.Kind {
	case OpenForWrite:
		if c.Truncate {
			resize(c.Node, 0, c.now)
			at(c.Node).lacks |= LacksInfo
		}
		return c.Node
	case Create:
		return c.made(S_IFREG | c.Mode)
	case MakeDir:
		if id := c.made(S_IFDIR | c.Mode); id != 0 {
			at(id).lacks &= LacksInfo // it is empty
		}
	case MakeLink:
		c.made(S_IFLNK | 0o777)
	case HardLink:
		c.addLink()
	case Remove:
		c.removeName()
	case Move:
		c.moveName()
	case SetAttributes:
		c.setAttributes()
	case WriteBytes:
		for off := c.Offset; n > 0; {
			to, room, e := PageForWrite(c.Node, off)
			if e != 0 {
				break // there was room
			}
			room = min(room, n)
			move(to, from, room)
			from, off, n = from+uintptr(room), off+int64(room), n-room
			Wrote(c.Node, off-int64(room), off, c.now)
		}
		at(c.Node).lacks |= LacksInfo // its time on the host
		Notify(c.Node, IN_MODIFY)
	}
	return 0
}

// addLink adds a name of a file that has another one.
func (c *Change) addLink() {
	if find(c.Dir, c.Name()) == 0 {
		if e := newEntry(c.Dir, c.Name(), c.Node); e != 0 {
			add(e)
			at(c.Node).nlink++
			tell(c.Node, IN_ATTRIB, 0, nil)
			tell(c.Dir, IN_CREATE, 0, c.Name())
		} else {
			at(c.Dir).lacks |= LacksData
		}
	}
}

// removeName takes a name out of its directory.
func (c *Change) removeName() {
	if e := find(c.Dir, c.Name()); e != 0 {
		id := entryAt(e).node
		kind := isDir(id)
		Retain(id)
		remove(e)
		if kind == 0 {
			tell(id, IN_ATTRIB, 0, nil)
		}
		unname(id, c.now)
		renew(id)
		Release(id)
		tell(c.Dir, IN_DELETE|kind, 0, c.Name())
	}
}

// made makes the node of a new name. Nothing is known of it, unless it is a new regular file. If
// there is no memory for it, its directory must be read again.
func (c *Change) made(mode uint32) ID {
	if e := find(c.Dir, c.Name()); e != 0 {
		return entryAt(e).node
	}
	id, e := insert(place{dir: c.Dir, name: c.Name()}, mode, c.now)
	if e != 0 {
		at(c.Dir).lacks |= LacksData
		return 0
	}
	n := at(id)
	n.share, n.lacks = at(c.Dir).share, LacksInfo|LacksData
	if c.Kind == Create && c.Exclusive {
		n.lacks = LacksInfo
	}
	tell(c.Dir, IN_CREATE|isDir(id), 0, c.Name())
	return id
}

// moveName gives a node of the share another name.
func (c *Change) moveName() {
	from, to := place{dir: c.Dir, name: c.Name()}, place{dir: c.ToDir, name: c.ToName()}
	if from.entry = find(from.dir, from.name); from.entry == 0 {
		return
	}
	from.id = entryAt(from.entry).node
	if to.entry = find(to.dir, to.name); to.entry != 0 {
		to.id = entryAt(to.entry).node
		if to.id == from.id {
			return
		}
		Retain(to.id)
	}
	if relocate(from, to, false, c.now) != 0 {
		at(c.ToDir).lacks |= LacksData // no memory: the old name stays until the next reading
	}
	if to.id != 0 {
		renew(to.id)
		Release(to.id)
	}
}

// setAttributes sets the attributes that the host has set; the results are read from the host
// afterwards.
func (c *Change) setAttributes() {
	n := at(c.Node)
	if c.Which&ChangeMode != 0 {
		n.mode = n.mode&^modeBits | c.Mode&modeBits
	}
	if c.Which&ChangeUID != 0 {
		n.uid = c.UID
	}
	if c.Which&ChangeGID != 0 {
		n.gid = c.GID
	}
	if c.Which&ChangeSize != 0 {
		resize(c.Node, c.Size, c.now)
	} else {
		Notify(c.Node, IN_ATTRIB)
	}
	n.lacks |= LacksInfo
}

// renew updates a node of a share that has lost a name. If it was the last, the node becomes the
// tree's own, with everything that an open file may ask for; otherwise it is reached by another
// name.
func renew(id ID) {
	n := at(id)
	switch {
	case n.nlink == 0:
		n.share, n.lacks = 0, 0
	case n.name == 0:
		for e, i := entryID(0), uint32(0); i < numBuckets; i++ {
			for e = *bucketSlot(i); e != 0; e = entryAt(e).chain {
				if entryAt(e).node == id {
					n.name = e
					return
				}
			}
		}
	}
}

// Refused says that the host has not made a change: its directories are read again. Kernel context.
func Refused(c *Change) {
	for _, dir := range [...]ID{c.Dir, c.ToDir} {
		if dir != 0 && at(dir).shared() {
			at(dir).lacks |= LacksInfo | LacksData
		}
	}
}

// Opens returns how often a node is held. Kernel context.
func Opens(id ID) int { return int(at(id).opens) }
