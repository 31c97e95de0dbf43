package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// What a file has beside its bytes, by its name or by a descriptor: rights, owner, size and times.

// accessAt: everyone may do everything, but execute what nobody may.
func (c *call) accessAt(dirfd, addr, mode, flags uintptr) int64 {
	const (
		exec     = 1
		writing  = 2
		allModes = 7
		allFlags = 0x200 | atNoFollow | atEmptyPath // AT_EACCESS
	)
	if mode&^allModes != 0 || flags&^allFlags != 0 {
		return -eINVAL
	}
	id, errno := lookUp(dirfd, addr, flags)
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

func (c *call) chmodAt(dirfd, addr, mode, flags uintptr) int64 {
	if flags&^(atNoFollow|atEmptyPath) != 0 {
		return -eINVAL
	}
	id, errno := lookUp(dirfd, addr, flags)
	if errno != 0 {
		return errno
	}
	return -int64(vfs.Chmod(id, uint32(mode), clock.Wall()))
}

func (c *call) chownAt(dirfd, addr, uid, gid, flags uintptr) int64 {
	if flags&^(atNoFollow|atEmptyPath) != 0 {
		return -eINVAL
	}
	id, errno := lookUp(dirfd, addr, flags)
	if errno != 0 {
		return errno
	}
	return -int64(vfs.Chown(id, uint32(uid), uint32(gid), clock.Wall()))
}

// notNode returns the error for what is no file of the tree and has no attributes to change.
func notNode(f *file) int64 {
	if f.kind != node && f.kind != device && !f.isNamedPipe() {
		return -eOPNOTSUPP
	}
	return 0
}

func (c *call) fchmod(f *file) int64 {
	if errno := notNode(f); errno != 0 {
		return errno
	}
	return -int64(vfs.Chmod(f.node, c.args[1].Uint(), clock.Wall()))
}

func (c *call) fchown(f *file) int64 {
	if errno := notNode(f); errno != 0 {
		return errno
	}
	return -int64(vfs.Chown(f.node, c.args[1].Uint(), c.args[2].Uint(), clock.Wall()))
}

func (c *call) truncate() int64 {
	id, errno := lookUp(here, c.args[0].Pointer(), 0)
	if errno != 0 {
		return errno
	}
	if c.args[1].Int64() < 0 {
		return -eINVAL
	}
	if vfs.Mode(id)&vfs.S_IFMT == vfs.S_IFREG && vfs.Size(id) == c.args[1].Int64() {
		vfs.Notify(id, vfs.IN_MODIFY)
		return 0 // its times stay, too
	}
	return setSize(id, c.args[1].Int64())
}

func (c *call) utimesAt(dirfd, addr, times, flags uintptr) int64 {
	now, wrong := clock.Wall(), false
	set := [2]int64{now, now}
	for i := range set {
		if times == 0 {
			break
		}
		const isNow, omit = 1<<30 - 1, 1<<30 - 2
		sec, ok1 := in64(times + uintptr(i)*16)
		nsec, ok2 := in64(times + uintptr(i)*16 + 8)
		switch {
		case !ok1 || !ok2:
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
		return 0 // Linux looks at nothing else then
	}
	return setTimes(dirfd, addr, flags, set, now, wrong)
}

// oldTimes is utimesAt for the calls before it: two times of seconds, or with unit of that many
// nanoseconds besides.
func (c *call) oldTimes(dirfd, addr, times uintptr, unit int64) int64 {
	now := clock.Wall()
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
	return setTimes(dirfd, addr, 0, set, now, false)
}

// setTimes sets the times of what a call names; a NULL path is the descriptor itself. wrong is set
// if the times are.
func setTimes(dirfd, addr, flags uintptr, set [2]int64, now int64, wrong bool) int64 {
	var id vfs.ID
	if addr == 0 && int32(dirfd) != atFDCWD {
		f := get(dirfd)
		switch {
		case flags != 0:
			return -eINVAL
		case f == nil || f.flags&oPath != 0:
			return -eBADF
		}
		if errno := notNode(f); errno != 0 {
			return errno
		}
		id = f.node
	} else {
		if flags&^(atNoFollow|atEmptyPath) != 0 {
			return -eINVAL
		}
		var errno int64
		if id, errno = lookUp(dirfd, addr, flags); errno != 0 {
			return errno
		}
	}
	if wrong {
		return -eINVAL
	}
	return -int64(vfs.Utimes(id, set[0], set[1], now))
}

func (c *call) access() int64 { return c.accessAt(here, c.args[0].Pointer(), c.args[1].Flags(), 0) }

func (c *call) chmod() int64 { return c.chmodAt(here, c.args[0].Pointer(), c.args[1].Flags(), 0) }

func (c *call) chown() int64 {
	return c.chownAt(here, c.args[0].Pointer(), c.args[1].Flags(), c.args[2].Flags(), 0)
}

func (c *call) lchown() int64 {
	return c.chownAt(here, c.args[0].Pointer(), c.args[1].Flags(), c.args[2].Flags(), atNoFollow)
}

func (c *call) umask() int64 {
	percpu.AssertLocked()
	old := umask
	umask = c.args[0].Uint() & 0o777
	return int64(old)
}

func (c *call) fchownat() int64 {
	return c.chownAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags(), c.args[3].Flags(), c.args[4].Flags())
}

func (c *call) fchmodat() int64 {
	return c.chmodAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags(), 0)
}

func (c *call) faccessat() int64 {
	return c.accessAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags(), 0)
}

func (c *call) utime() int64 { return c.oldTimes(here, c.args[0].Pointer(), c.args[1].Pointer(), 0) }

func (c *call) utimes() int64 {
	return c.oldTimes(here, c.args[0].Pointer(), c.args[1].Pointer(), 1000)
}

func (c *call) futimesat() int64 {
	return c.oldTimes(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Pointer(), 1000)
}

func (c *call) utimensat() int64 {
	return c.utimesAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Pointer(), c.args[3].Flags())
}

func (c *call) faccessat2() int64 {
	return c.accessAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags(), c.args[3].Flags())
}

func (c *call) fchmodat2() int64 {
	return c.chmodAt(c.args[0].FD(), c.args[1].Pointer(), c.args[2].Flags(), c.args[3].Flags())
}
