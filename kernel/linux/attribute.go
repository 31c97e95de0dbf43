package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// A file's attributes, by its name or by a descriptor: rights, owner, size and times.

// sysFaccessat2: everyone may do everything, except execute a file that nobody may execute.
func sysFaccessat2(c *call) int64 {
	const (
		exec     = 1
		writing  = 2
		allModes = 7
		allFlags = 0x200 | atNoFollow | atEmptyPath // AT_EACCESS
	)
	mode, flags := c.flags(2), c.flags(3)
	if mode&^allModes != 0 || flags&^allFlags != 0 {
		return -eINVAL
	}
	id, errno := c.lookUp(flags)
	if errno != 0 {
		return errno
	}
	if mode&writing != 0 && vfs.ReadOnly(id) {
		return -30 // EROFS
	}
	if m := vfs.Mode(id); mode&exec != 0 && m&vfs.S_IFMT != vfs.S_IFDIR && m&0o111 == 0 {
		return -13 // EACCES
	}
	return 0
}

func sysFchmodat2(c *call) int64 {
	id, errno := c.lookUpKnown(c.flags(3))
	if errno != 0 {
		return errno
	}
	return -int64(vfs.Chmod(id, c.uint(2), clock.Wall()))
}

func sysFchownat(c *call) int64 {
	id, errno := c.lookUpKnown(c.flags(4))
	if errno != 0 {
		return errno
	}
	return -int64(vfs.Chown(id, c.uint(2), c.uint(3), clock.Wall()))
}

// notNode returns the error for a file that is not in the tree and has no attributes to change.
func notNode(f *file) int64 {
	if !f.is(named) && !f.isNamedPipe() {
		return -eOPNOTSUPP
	}
	return 0
}

func sysFchmod(c *call, f *file) int64 {
	if errno := notNode(f); errno != 0 {
		return errno
	}
	return -int64(vfs.Chmod(f.node, c.uint(1), clock.Wall()))
}

func sysFchown(c *call, f *file) int64 {
	if errno := notNode(f); errno != 0 {
		return errno
	}
	return -int64(vfs.Chown(f.node, c.uint(1), c.uint(2), clock.Wall()))
}

func sysTruncate(c *call) int64 {
	id, errno := lookUp(here, c.pointer(0), 0)
	if errno != 0 {
		return errno
	}
	if c.int64(1) < 0 {
		return -eINVAL
	}
	if vfs.Mode(id)&vfs.S_IFMT == vfs.S_IFREG && vfs.Size(id) == c.int64(1) {
		vfs.Notify(id, vfs.IN_MODIFY)
		return 0 // its times stay unchanged, too
	}
	return setSize(id, c.int64(1))
}

func sysUtimensat(c *call) int64 {
	now, wrong, times := clock.Wall(), false, c.pointer(2)
	set := [2]int64{now, now}
	for i := range set {
		if times == 0 {
			break
		}
		const isNow, omit = 1<<30 - 1, 1<<30 - 2
		sec, nsec, ok := inPair(times + uintptr(i)*timespecSize)
		switch {
		case !ok:
			return -eFAULT
		case nsec == omit:
			set[i] = vfs.OmitTime
		case nsec == isNow:
		case nsec >= 1e9:
			wrong = true
		default:
			set[i] = int64(sec)*1e9 + int64(nsec)
		}
	}
	if set[0] == vfs.OmitTime && set[1] == vfs.OmitTime {
		return 0 // Linux checks nothing else then
	}
	return c.setTimes(c.flags(3), set, now, wrong)
}

// sysOldTimes is utimensat for the older calls: two times in seconds, or with a fourth argument,
// each with a count of units of that many nanoseconds.
func sysOldTimes(c *call) int64 {
	now, times, unit := clock.Wall(), c.pointer(2), c.int64(3)
	set := [2]int64{now, now}
	for i := range set {
		if times == 0 {
			break
		}
		sec, ok := in64(times)
		part := uint64(0)
		if times += 8; unit != 0 && ok {
			part, ok = in64(times)
			times += 8
		}
		switch {
		case !ok:
			return -eFAULT
		case part >= 1e6:
			return -eINVAL
		}
		set[i] = int64(sec)*1e9 + int64(part)*unit
	}
	return c.setTimes(0, set, now, false)
}

// setTimes sets the times of the call's file; a NULL path means the descriptor itself. wrong says
// that the times are invalid.
func (c *call) setTimes(flags uintptr, set [2]int64, now int64, wrong bool) int64 {
	var id vfs.ID
	if c.pointer(1) == 0 && c.int(0) != atFDCWD {
		f := usable(c.fd(0))
		switch {
		case flags != 0:
			return -eINVAL
		case f == nil:
			return -eBADF
		}
		if errno := notNode(f); errno != 0 {
			return errno
		}
		id = f.node
	} else {
		var errno int64
		if id, errno = c.lookUpKnown(flags); errno != 0 {
			return errno
		}
	}
	if wrong {
		return -eINVAL
	}
	return -int64(vfs.Utimes(id, set[0], set[1], now))
}

func sysUmask(c *call) int64 {
	percpu.AssertLocked()
	old := umask
	umask = c.uint(0) & 0o777
	return int64(old)
}
