package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Files without a name, and the seals that limit what can be done with them (memfd_create(2)).

const (
	sealSeal        = 0x01 // no more seals can be added
	sealShrink      = 0x02
	sealGrow        = 0x04
	sealWrite       = 0x08
	sealFutureWrite = 0x10 // like sealWrite, except for existing mappings
	sealExec        = 0x20 // the right to execute it cannot change
	allSeals        = 0x3f
)

func sysMemfdCreate(c *call) int64 {
	const (
		closeOnExec  = 0x01
		allowSealing = 0x02
		huge         = 0x04
		noExecSeal   = 0x08
		exec         = 0x10
		hugeSizes    = 0x3f << 26
		nameMax      = 249
	)
	flags := c.flags(1)
	known := uintptr(closeOnExec | allowSealing | noExecSeal | exec)
	if flags&huge != 0 {
		known |= huge | hugeSizes
	}
	if flags&^known != 0 || flags&(noExecSeal|exec) == noExecSeal|exec {
		return -eINVAL
	}
	switch name, errno := inString(0, c.pointer(0)); {
	case errno == -eFAULT:
		return errno
	case errno != 0 || len(name) > nameMax:
		return -eINVAL
	case flags&huge != 0:
		return -eNOSYS // as on a Linux without CONFIG_HUGETLBFS
	}
	mode, seals := uint32(0o777), uint8(sealSeal)
	if flags&noExecSeal != 0 {
		mode, seals = 0o666, sealExec
	} else if flags&allowSealing != 0 {
		seals = 0
	}
	id, e := vfs.Nameless(0, mode, false, clock.Wall())
	if e != 0 {
		return -int64(e)
	}
	vfs.SetSeals(id, seals)
	if flags&closeOnExec != 0 {
		flags = oCloexec
	}
	fd := open(file{kind: node, node: id, flags: oRdwr}, flags)
	if fd < 0 {
		vfs.Release(id)
	}
	return fd
}

// seal is fcntl's F_ADD_SEALS, or F_GET_SEALS.
func (c *call) seal(f *file, add bool) int64 {
	more := c.flags(2)
	switch {
	case add && f.flags&oAccess == 0:
		return -ePERM
	case add && more&^allSeals != 0, !f.isRegular():
		return -eINVAL
	}
	seals := vfs.Seals(f.node)
	switch {
	case !add:
		return int64(seals)
	case seals&sealSeal != 0:
		return -ePERM
	}
	if more&sealExec != 0 && vfs.Mode(f.node)&0o111 != 0 {
		more |= sealShrink | sealGrow | sealWrite | sealFutureWrite
	}
	if more&sealWrite != 0 && seals&sealWrite == 0 && mem.MayWrite(int32(f.node)) {
		return -eBUSY
	}
	vfs.SetSeals(f.node, seals|uint8(more))
	return 0
}
