package vfs

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Watching files and directories (inotify(7)): a watch belongs to a node, in the node's list, and
// to a group, which has a queue of events. An event of a node goes to its watches and, with its
// name, to the watches of its directory.

// Events, as Linux numbers them (include/uapi/linux/inotify.h).
const (
	IN_ACCESS        = 0x1
	IN_MODIFY        = 0x2
	IN_ATTRIB        = 0x4
	IN_CLOSE_WRITE   = 0x8
	IN_CLOSE_NOWRITE = 0x10
	IN_OPEN          = 0x20
	IN_MOVED_FROM    = 0x40
	IN_MOVED_TO      = 0x80
	IN_CREATE        = 0x100
	IN_DELETE        = 0x200
	IN_DELETE_SELF   = 0x400
	IN_MOVE_SELF     = 0x800
	IN_ALL_EVENTS    = 0xfff
	IN_Q_OVERFLOW    = 0x4000
	IN_IGNORED       = 0x8000
	IN_MASK_CREATE   = 0x10000000
	IN_MASK_ADD      = 0x20000000
	IN_ISDIR         = 0x40000000
	IN_ONESHOT       = 0x80000000
)

const (
	// MaxGroups is the largest number of groups.
	MaxGroups = 64
	// maxQueued is the largest number of events in a queue
	// (/proc/sys/fs/inotify/max_queued_events).
	maxQueued = 16384
)

// watch is in the list of its node. It lives in a frame.
type watch struct {
	next  int32
	node  ID
	wd    int32
	group int32
	mask  uint32
	_     uint32
}

// event is an unread event. Its name's bytes follow it in memory.
type event struct {
	next         int32
	wd           int32
	mask, cookie uint32
	nameLen      uint8
	name         [0]byte
}

const (
	eventName  = unsafe.Offsetof(event{}.name)
	shortEvent = 48
	longEvent  = (eventName + NameMax + 7) &^ 7
)

// Under the kernel lock. An event's number is twice its index in one of the two slabs, plus 1 for
// the second.
var (
	watches = slab{size: unsafe.Sizeof(watch{}),
		perFrame: int32(pageSize / unsafe.Sizeof(watch{}))}
	shortEvents = slab{size: shortEvent, perFrame: pageSize / shortEvent}
	longEvents  = slab{size: longEvent, perFrame: int32(pageSize / longEvent)}

	groups [MaxGroups]struct {
		head, tail int32
		queued     int
		wd         int32 // the last one given out
		used       bool
	}
	moves uint32 // the last cookie
)

// Told has a bit for each group that got an event since the bit was last cleared. Under the kernel
// lock.
var Told uint64

func watchAt(i int32) *watch {
	percpu.AssertLocked()
	return (*watch)(arch.Pointer(watches.at(i)))
}

func eventAddr(i int32) uintptr {
	percpu.AssertLocked()
	if i&1 != 0 {
		return longEvents.at(i >> 1)
	}
	return shortEvents.at(i >> 1)
}

func eventAt(i int32) *event { return (*event)(arch.Pointer(eventAddr(i))) }

func giveEvent(i int32) {
	percpu.AssertLocked()
	if i&1 != 0 {
		longEvents.give(i >> 1)
	} else {
		shortEvents.give(i >> 1)
	}
}

// NewGroup returns the number of a group without watches. ok is false if there are too many.
// Kernel context.
func NewGroup() (group int, ok bool) {
	percpu.AssertLocked()
	for g := range groups {
		if !groups[g].used {
			groups[g].used, groups[g].wd = true, 0
			return g, true
		}
	}
	return 0, false
}

// EndGroup ends a group, its watches and its events. Kernel context.
func EndGroup(group int) {
	percpu.AssertLocked()
	for i := int32(1); i < watches.fresh; i++ {
		if w := watchAt(i); w.node != 0 && w.group == int32(group) {
			unlist(i)
		}
	}
	for groups[group].head != 0 {
		TakeEvent(group)
	}
	groups[group].used = false
}

// unlist ends a watch.
func unlist(i int32) {
	percpu.AssertLocked()
	w := watchAt(i)
	at := &at(w.node).watches
	for *at != i {
		at = &watchAt(*at).next
	}
	*at = w.next
	w.node = 0
	watches.give(i)
}

// Watch makes a group get the events in mask of a node, and returns the number of the watch. If the
// group already watches the node, that watch gets the mask, or with IN_MASK_ADD the missing bits.
// Errors: EEXIST (IN_MASK_CREATE), ENOSPC. Kernel context.
func Watch(group int, id ID, mask uint32) (wd int32, e Errno) {
	percpu.AssertLocked()
	const kept = IN_ALL_EVENTS | IN_ONESHOT
	for i := at(id).watches; i != 0; i = watchAt(i).next {
		w := watchAt(i)
		if w.group != int32(group) {
			continue
		}
		if mask&IN_MASK_CREATE != 0 {
			return 0, EEXIST
		}
		if mask&IN_MASK_ADD == 0 {
			w.mask = 0
		}
		w.mask |= mask & kept
		return w.wd, 0
	}
	i := watches.take()
	if i == 0 {
		return 0, ENOSPC
	}
	w, n := watchAt(i), at(id)
	groups[group].wd++
	w.next, w.node, w.group, w.wd, w.mask = n.watches, id, int32(group), groups[group].wd, mask&kept
	n.watches = i
	return w.wd, 0
}

// Unwatch ends a watch of a group, which gets an event for that. Errors: EINVAL (there is none with
// that number). Kernel context.
func Unwatch(group int, wd int32) Errno {
	percpu.AssertLocked()
	for i := int32(1); i < watches.fresh; i++ {
		if w := watchAt(i); w.node != 0 && w.group == int32(group) && w.wd == wd {
			unlist(i)
			queue(int32(group), wd, IN_IGNORED, 0, nil)
			return 0
		}
	}
	return EINVAL
}

// Notify sends an event of a node to its watches and to those of its directory. Kernel context.
func Notify(id ID, mask uint32) {
	if watches.used == 0 {
		return
	}
	mask |= isDir(id)
	if e := at(id).name; e != 0 {
		tell(entryAt(e).dir, mask, 0, nameOf(e))
	}
	tell(id, mask, 0, nil)
}

// isDir returns the bit of an event for a directory, if the node is one.
func isDir(id ID) uint32 {
	if at(id).dir() {
		return IN_ISDIR
	}
	return 0
}

// tell sends an event to the watches of a node, about the node itself, or about the entry name in
// it.
func tell(id ID, mask, cookie uint32, name []byte) {
	if watches.used == 0 {
		return
	}
	for i := at(id).watches; i != 0; {
		w := watchAt(i)
		next := w.next
		if w.mask&mask&IN_ALL_EVENTS != 0 {
			queue(w.group, w.wd, mask, cookie, name)
			if w.mask&IN_ONESHOT != 0 {
				unlist(i)
				queue(w.group, w.wd, IN_IGNORED, 0, nil)
			}
		}
		i = next
	}
}

// tellMoved sends the events of a node that has another name now.
func tellMoved(id, from ID, old []byte, to ID, new []byte) {
	percpu.AssertLocked()
	if watches.used == 0 {
		return
	}
	moves++
	tell(from, IN_MOVED_FROM|isDir(id), moves, old)
	tell(to, IN_MOVED_TO|isDir(id), moves, new)
}

// tellGone ends the watches of a node that no longer exists.
func tellGone(id ID) {
	for i := at(id).watches; i != 0; i = at(id).watches {
		w := watchAt(i)
		group, wd, mask := w.group, w.wd, w.mask
		unlist(i)
		if mask&IN_DELETE_SELF != 0 {
			queue(group, wd, IN_DELETE_SELF, 0, nil)
		}
		queue(group, wd, IN_IGNORED, 0, nil)
	}
}

// queue appends an event to the queue of a group, unless it equals the last one. If there is no
// room, the last event says that some are missing.
func queue(group, wd int32, mask, cookie uint32, name []byte) {
	percpu.AssertLocked()
	g := &groups[group]
	if g.tail != 0 {
		a := eventAddr(g.tail)
		l := (*event)(arch.Pointer(a))
		if l.wd == wd && l.mask == mask && l.cookie == cookie &&
			ascii.Equal(bytesAt(a+eventName, int(l.nameLen)), name) || l.mask == IN_Q_OVERFLOW {
			return
		}
	}
	if g.queued == maxQueued {
		wd, mask, cookie, name = -1, IN_Q_OVERFLOW, 0, nil
	}
	i := int32(0)
	if len(name) <= shortEvent-int(eventName) {
		i = shortEvents.take() << 1
	} else if i = longEvents.take(); i != 0 {
		i = i<<1 | 1
	}
	if i == 0 {
		return
	}
	a := eventAddr(i)
	e := (*event)(arch.Pointer(a))
	e.wd, e.mask, e.cookie, e.nameLen = wd, mask, cookie, uint8(len(name))
	move(a+eventName, address(name), len(name))
	if g.tail != 0 {
		eventAt(g.tail).next = i
	} else {
		g.head = i
	}
	g.tail = i
	g.queued++
	Told |= 1 << uint(group)
}

// Event returns the first event of a group: its watch, its mask, and the name, which lies in the
// queue and is valid until TakeEvent. ok is false if there is none. Kernel context.
func Event(group int) (wd int32, mask, cookie uint32, name []byte, ok bool) {
	percpu.AssertLocked()
	i := groups[group].head
	if i == 0 {
		return 0, 0, 0, nil, false
	}
	a := eventAddr(i)
	e := (*event)(arch.Pointer(a))
	return e.wd, e.mask, e.cookie, bytesAt(a+eventName, int(e.nameLen)), true
}

// TakeEvent removes the first event of a group. Kernel context.
func TakeEvent(group int) {
	percpu.AssertLocked()
	g := &groups[group]
	i := g.head
	if g.head = eventAt(i).next; g.head == 0 {
		g.tail = 0
	}
	g.queued--
	giveEvent(i)
}

// EventBytes returns the size in bytes of a group's events as a reader gets them. Kernel context.
func EventBytes(group int) (n int) {
	for i := groups[group].head; i != 0; i = eventAt(i).next {
		n += EventSize(int(eventAt(i).nameLen))
	}
	return n
}

// EventSize returns the size of an event with a name of name bytes as a reader gets it: struct
// inotify_event, and the name, padded with zeros.
func EventSize(name int) int {
	const head = 16
	if name == 0 {
		return head
	}
	return head + (name+1+head-1)&^(head-1)
}
