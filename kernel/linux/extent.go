package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Calls on a descriptor that neither read nor write: where it is, how large its file is, and what Linux would have on
// a disk.

func (c *call) lseek(f *file) int64 {
	const data, hole = 3, 4
	switch {
	case c.args[2].Op() > hole:
		return -eINVAL
	case f.kind == device && f.terminal() == nil || f.kind == counter || f.kind == epoll || f.kind == timerFile || f.kind == signalFile:
		return 0
	}
	if f.kind != node {
		return -eSPIPE
	}
	off := c.args[1].Int64()
	if c.args[2].Op() > 1 && vfs.Mode(f.node)&vfs.S_IFMT == vfs.S_IFDIR {
		return -eINVAL
	}
	size := vfs.Size(f.node)
	switch c.args[2].Op() {
	case 0:
	case 1:
		off += f.off
	case 2:
		off += size
	case data, hole:
		var ok bool
		if off, ok = vfs.NextData(f.node, off, c.args[2].Op() == hole); !ok {
			return -eNXIO
		}
	}
	if off < 0 {
		return -eINVAL
	}
	f.off = off
	return off
}

func (c *call) ftruncate(f *file) int64 {
	if f.kind != node || f.flags&oAccess == 0 || c.args[1].Int64() < 0 {
		return -eINVAL
	}
	return setSize(f.node, c.args[1].Int64())
}

// setSize makes a file so long, if that is allowed.
func setSize(id vfs.ID, size int64) int64 {
	have, seals := vfs.Size(id), vfs.Seals(id)
	if e := grow(have, size); e != 0 {
		return e
	}
	if size < have && seals&sealShrink != 0 || size > have && seals&sealGrow != 0 {
		return -ePERM
	}
	return -int64(vfs.SetSize(id, size, clock.Wall()))
}

// fallocate makes a file longer, of which pages come when they are written, or makes a hole in it.
// More is not to be done with a file in memory.
func (c *call) fallocate(f *file) int64 {
	const keepSize, punchHole = 1, 2
	off, n, mode := c.args[2].Int64(), c.args[3].Int64(), c.args[1].Uint()
	switch {
	case off < 0 || n <= 0:
		return -eINVAL
	case mode&^(keepSize|punchHole) != 0 || mode == punchHole:
		return -eOPNOTSUPP
	case f.flags&oAccess == 0:
		return -eBADF
	case f.kind == pipeWrite || f.kind == pipeFIFO:
		return -eSPIPE
	case f.kind != node:
		return -eNODEV
	case vfs.Writable(f.node): // 9P has no such message
		return -eOPNOTSUPP
	case off+n < 0 || off+n > vfs.SizeMax:
		return -eFBIG
	}
	size, seals := vfs.Size(f.node), vfs.Seals(f.node)
	if mode&punchHole != 0 {
		if seals&(sealWrite|sealFutureWrite) != 0 {
			return -ePERM
		}
		return -int64(vfs.Punch(f.node, off, off+n, clock.Wall()))
	}
	if e := grow(size, off+n); e != 0 {
		return e
	}
	switch {
	case seals&sealGrow != 0 && off+n > size:
		return -ePERM
	case vfs.Lacks(f.node, off, off+n) > vfs.FreeFrames():
		return -eNOSPC
	case mode&keepSize != 0:
		vfs.Touch(f.node, clock.Wall())
		return 0
	}
	return -int64(vfs.SetSize(f.node, max(off+n, size), clock.Wall()))
}

// fsync and its like have nothing to write here: there is no disk, but the host may have one.
func (c *call) fsync(f *file) int64 {
	if f.kind != node {
		return -eINVAL
	}
	if vfs.Mode(f.node)&vfs.S_IFMT == vfs.S_IFREG && vfs.Writable(f.node) {
		return -int64(vfs.AskSync(f.node))
	}
	return 0
}

// syncRange is fsync for a part of a file.
func (c *call) syncRange(f *file) int64 {
	const all = 1 | 2 | 4
	off, n := c.args[1].Int64(), c.args[2].Int64()
	switch {
	case c.args[3].Flags()&^all != 0 || off < 0 || n < 0 || off+n < 0:
		return -eINVAL
	case f.kind != node:
		return -eSPIPE
	}
	return 0
}

// readahead reads nothing ahead: files are in memory, and one of a share comes when it is opened
// or read.
func (c *call) readahead(f *file) int64 {
	switch {
	case f.flags&oAccess == oWronly:
		return -eBADF
	case !f.isRegular():
		return -eINVAL
	}
	return 0
}

// fadvise checks the advice, which would be about speed.
func (c *call) fadvise(f *file) int64 {
	const noReuse = 5
	switch {
	case f.isPipe():
		return -eSPIPE
	case c.args[2].Int64() < 0 || c.args[3].Op() > noReuse:
		return -eINVAL
	}
	return 0
}

func (c *call) zeroOf(_ *file) int64 { return 0 }
