package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Calls on a descriptor that neither read nor write: its offset, the file's size, and what Linux
// would do with a disk.

func sysLseek(c *call, f *file) int64 {
	const data, hole = 3, 4
	switch {
	case c.op(2) > hole:
		return -eINVAL
	case f.is(still):
		return 0
	}
	if f.kind != node {
		return -eSPIPE
	}
	off := c.int64(1)
	if c.op(2) > 1 && f.isFolder() {
		return -eINVAL
	}
	size := vfs.Size(f.node)
	switch c.op(2) {
	case 0:
	case 1:
		off += f.off
	case 2:
		off += size
	case data, hole:
		var ok bool
		if off, ok = vfs.NextData(f.node, off, c.op(2) == hole); !ok {
			return -eNXIO
		}
	}
	if off < 0 {
		return -eINVAL
	}
	f.off = off
	return off
}

func sysFtruncate(c *call, f *file) int64 {
	if f.kind != node || f.flags&oAccess == 0 || c.int64(1) < 0 {
		return -eINVAL
	}
	return setSize(f.node, c.int64(1))
}

// setSize sets the length of a file, if that is allowed.
func setSize(id vfs.ID, size int64) int64 {
	if e := grow(vfs.Size(id), size); e != 0 {
		return e
	}
	return -int64(vfs.SetSize(id, size, clock.Wall()))
}

// sysFallocate makes a file longer, whose pages are allocated when they are written, or makes a
// hole in it. A file in memory supports nothing else.
func sysFallocate(c *call, f *file) int64 {
	const keepSize, punchHole = 1, 2
	off, n, mode := c.int64(2), c.int64(3), c.uint(1)
	switch {
	case off < 0 || n <= 0:
		return -eINVAL
	case mode&^(keepSize|punchHole) != 0 || mode == punchHole:
		return -eOPNOTSUPP
	case f.flags&oAccess == 0:
		return -eBADF
	case f.isPipe():
		return -eSPIPE
	case f.kind != node:
		return -eNODEV
	case vfs.Writable(f.node): // 9P has no such message
		return -eOPNOTSUPP
	case off+n < 0 || off+n > vfs.SizeMax:
		return -eFBIG
	}
	if mode&punchHole != 0 {
		return -int64(vfs.Punch(f.node, off, off+n, clock.Wall()))
	}
	size := vfs.Size(f.node)
	if e := grow(size, off+n); e != 0 {
		return e
	}
	switch {
	case vfs.Lacks(f.node, off, off+n) > vfs.FreeFrames():
		return -eNOSPC
	case mode&keepSize != 0:
		vfs.Touch(f.node, clock.Wall())
		return 0
	}
	return -int64(vfs.SetSize(f.node, max(off+n, size), clock.Wall()))
}

// sysFsync and the like have nothing to write here: there is no disk, but the host may have one.
func sysFsync(c *call, f *file) int64 {
	if f.kind != node {
		return -eINVAL
	}
	if f.isRegular() && vfs.Writable(f.node) {
		return -int64(vfs.AskSync(f.node))
	}
	return 0
}

// sysSyncRange is fsync for part of a file.
func sysSyncRange(c *call, f *file) int64 {
	const all = 1 | 2 | 4
	off, n := c.int64(1), c.int64(2)
	switch {
	case c.flags(3)&^all != 0 || off < 0 || n < 0 || off+n < 0:
		return -eINVAL
	case f.kind != node:
		return -eSPIPE
	}
	return 0
}

// sysReadahead reads nothing ahead: files are in memory, and a shared file is fetched when it is
// opened or read.
func sysReadahead(c *call, f *file) int64 {
	switch {
	case f.flags&oAccess == oWronly:
		return -eBADF
	case !f.isRegular():
		return -eINVAL
	}
	return 0
}

// sysFadvise checks the advice, which would only affect speed.
func sysFadvise(c *call, f *file) int64 {
	const noReuse = 5
	switch {
	case f.isPipe():
		return -eSPIPE
	case c.int64(2) < 0 || c.op(3) > noReuse:
		return -eINVAL
	}
	return 0
}

func sysZeroOf(c *call, _ *file) int64 { return 0 }
