package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Extended attributes: files and directories in memory have the attributes of users, user.*. The
// others are refused as Linux refuses them without privileges.

const (
	maxXattrName  = 255
	maxXattrBytes = 64 << 10 // of a value, and of a list

	byDescriptor = 1 << 31 // in addition to the flags of lookUp
)

// xattrName reads the name of an attribute, the call's second argument, into buffer 1.
func (c *call) xattrName() (name []byte, errno int64) {
	name, errno = inString(1, c.pointer(1))
	if errno != -eFAULT && (len(name) == 0 || len(name) > maxXattrName) {
		errno = -eRANGE
	}
	return name, errno
}

// xattrNode returns the call's node, or 0 if it has none, such as a socket.
func (c *call) xattrNode(how uintptr) (id vfs.ID, errno int64) {
	if how != byDescriptor {
		return lookUp(here, c.pointer(0), how)
	}
	f := usable(c.fd(0))
	if f == nil {
		return 0, -eBADF
	}
	return nodeOf(f), 0
}

// hasXattrs reports whether a node's file system keeps attributes.
func hasXattrs(id vfs.ID) bool {
	return id != 0 && vfs.ShareOf(id) == 0 && vfs.SystemOf(id) == vfs.Tree
}

// mayXattr returns why the attribute of that name is not accessible, 0 if it is.
func mayXattr(id vfs.ID, name []byte, write bool) int64 {
	refused := int64(-eNODATA)
	if write {
		refused = -ePERM
	}
	kind := uint32(0)
	if id != 0 {
		kind = vfs.Mode(id) & vfs.S_IFMT
	}
	user, security := ascii.HasPrefix(name, "user."), ascii.HasPrefix(name, "security.")
	switch {
	case write && id != 0 && vfs.ReadOnly(id):
		return -int64(vfs.EROFS)
	case ascii.HasPrefix(name, "trusted."), user && kind != vfs.S_IFREG &&
		kind != vfs.S_IFDIR, security && write:
		return refused
	case !user && !security || !hasXattrs(id):
		return -eOPNOTSUPP
	case name[len(name)-1] == '.' && (len(name) == len("user.") || security &&
		len(name) == len("security.")):
		return -eINVAL
	}
	return 0
}

func sysSetxattr(c *call) int64 {
	how := c.word(5)
	const create, replace = 1, 2
	from, n, flags := c.pointer(2), c.size(3), c.flags(4)
	if flags&^(create|replace) != 0 {
		return -eINVAL
	}
	name, errno := c.xattrName()
	if errno != 0 {
		return errno
	}
	if n > maxXattrBytes {
		return -e2BIG
	}
	value, e := vfs.Nameless(0, 0, false, clock.Wall())
	if e != 0 {
		return -int64(e)
	}
	if errno = inFile(value, from, n); errno == 0 {
		errno = c.setXattrTo(how, name, value, flags&create != 0, flags&replace != 0)
	}
	if errno != 0 {
		vfs.Release(value)
	}
	return errno
}

// inFile copies n bytes of the program into an empty file.
func inFile(id vfs.ID, from, n uintptr) int64 {
	for off := uintptr(0); off < n; {
		addr, room, e := vfs.PageForWrite(id, int64(off))
		if e != 0 {
			return -int64(e)
		}
		part := min(n-off, uintptr(room))
		if !copyIn(addr, from+off, part) {
			return -eFAULT
		}
		vfs.Wrote(id, int64(off), int64(off+part), clock.Wall())
		off += part
	}
	return 0
}

func (c *call) setXattrTo(how uintptr, name []byte, value vfs.ID, create, replace bool) int64 {
	id, errno := c.xattrNode(how)
	if errno == 0 {
		errno = mayXattr(id, name, true)
	}
	if errno != 0 {
		return errno
	}
	switch there := vfs.Attribute(id, name) != 0; {
	case create && there:
		return -eEXIST
	case replace && !there:
		return -eNODATA
	}
	return -int64(vfs.SetAttribute(id, name, value, clock.Wall()))
}

// findXattr returns the node and the attribute that the call names, and the file with its value.
func (c *call) findXattr(how uintptr, write bool) (id, value vfs.ID, name []byte, errno int64) {
	name, errno = c.xattrName()
	if errno == 0 {
		id, errno = c.xattrNode(how)
	}
	if errno == 0 {
		errno = mayXattr(id, name, write)
	}
	if errno == 0 {
		if value = vfs.Attribute(id, name); value == 0 {
			errno = -eNODATA
		}
	}
	return id, value, name, errno
}

func sysGetxattr(c *call) int64 {
	_, value, _, errno := c.findXattr(c.word(5), false)
	if errno != 0 {
		return errno
	}
	n, room := vfs.Size(value), c.size(3)
	switch {
	case room == 0:
		return n
	case uintptr(n) > room:
		return -eRANGE
	}
	return readNode(value, c.pointer(2), uintptr(n), 0)
}

func sysRemovexattr(c *call) int64 {
	id, _, name, errno := c.findXattr(c.word(5), true)
	if errno == 0 {
		vfs.RemoveAttribute(id, name, clock.Wall())
	}
	return errno
}

func sysListxattr(c *call) int64 {
	how := c.word(5)
	id, errno := c.xattrNode(how)
	switch {
	case errno != 0:
		return errno
	case id != 0 && vfs.ShareOf(id) != 0:
		return -eOPNOTSUPP
	case id == 0:
		return 0
	}
	to, room := c.pointer(1), c.size(2)
	all := uintptr(0)
	for name, next, ok := vfs.NextAttribute(id, 0); ok; name, next, ok = vfs.NextAttribute(id, next) {
		all += uintptr(len(name)) + 1
	}
	switch {
	case room == 0:
		return int64(all)
	case all > min(room, maxXattrBytes) && room >= maxXattrBytes:
		return -e2BIG
	case all > room:
		return -eRANGE
	}
	for name, next, ok := vfs.NextAttribute(id, 0); ok; name, next, ok = vfs.NextAttribute(id, next) {
		n := uintptr(len(name))
		if !copyOut(to, uintptr(unsafe.Pointer(unsafe.SliceData(name))), n) || !outByte(to+n, 0) {
			return -eFAULT
		}
		to += n + 1
	}
	return int64(all)
}
