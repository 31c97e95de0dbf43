package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// What the system is: names, limits, use of resources.

const utsField = 65

// uname: the runtime and some packages look at the release.
func (c *call) uname() int64 {
	if !zeroOut(c.a, 6*utsField) {
		return -eFAULT
	}
	fields := [6]string{"Linux", "zeroframe", "6.1.0-zeroframe", "#1 Zeroframe", "x86_64", "(none)"}
	for i := range fields {
		s := fields[i]
		if !copyOut(c.a+uintptr(i)*utsField, uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(len(s))) {
			return -eFAULT
		}
	}
	return 0
}

func (c *call) sysinfo() int64 {
	if !zeroOut(c.a, 112) {
		return -eFAULT
	}
	out64(c.a, clock.Now()/1e9)
	out64(c.a+32, mm.AllFrames()*pageSize)
	out64(c.a+40, mm.FreeFrames()*pageSize)
	outShort(c.a+80, 1)
	out32(c.a+104, 1)
	return 0
}

// limits are soft and hard limits by number (getrlimit(2)).
func limit(resource uintptr) (soft, hard uint64) {
	const unlimited = ^uint64(0)
	switch resource {
	case 3: // stack
		return 8 << 20, unlimited
	case 4: // core
		return 0, unlimited
	case 6: // processes
		return sched.MaxThreads, sched.MaxThreads
	case 7: // files
		return maxFDs, maxFDs
	}
	return unlimited, unlimited
}

func outLimit(to, resource uintptr) int64 {
	if resource > 15 {
		return -eINVAL
	}
	soft, hard := limit(resource)
	if to != 0 && (!out64(to, soft) || !out64(to+8, hard)) {
		return -eFAULT
	}
	return 0
}

// setLimit takes any limit that could be set, and changes nothing.
func setLimit(from, resource uintptr) int64 {
	if resource > 15 {
		return -eINVAL
	}
	soft, ok1 := in64(from)
	hard, ok2 := in64(from + 8)
	if !ok1 || !ok2 {
		return -eFAULT
	}
	if soft > hard {
		return -eINVAL
	}
	return 0
}

func (c *call) prlimit() int64 {
	if c.a != 0 && c.a != pid {
		return -eSRCH
	}
	if e := outLimit(c.d, c.b); e != 0 {
		return e
	}
	if c.c != 0 {
		return setLimit(c.c, c.b)
	}
	return 0
}

func (c *call) getrusage() int64 {
	if !zeroOut(c.b, 144) {
		return -eFAULT
	}
	const thread = 1
	ns := sched.CPUTime()
	if c.a == thread {
		ns = sched.ThreadTime()
	}
	if int32(c.a) == -1 {
		ns = 0 // children
	}
	out64(c.b, ns/1e9)
	out64(c.b+8, ns%1e9/1000)
	out64(c.b+32, (mm.MostFrames())*pageSize/1024)
	return 0
}

func (c *call) times() int64 {
	const tick = 1e9 / 100
	if c.a != 0 && !outWords(c.a, (&[4]uint64{sched.CPUTime() / tick})[:]) {
		return -eFAULT
	}
	return int64(clock.Now() / tick)
}

// getID answers for users and groups: root.
func (c *call) getIDs() int64 {
	for _, a := range [3]uintptr{c.a, c.b, c.c} {
		if !out32(a, 0) {
			return -eFAULT
		}
	}
	return 0
}

// capget: the program may do everything (capget(2)).
func (c *call) capget() int64 {
	const (
		version1 = 0x19980330
		version2 = 0x20071026
		version3 = 0x20080522
		all      = 1<<41 - 1 // up to CAP_CHECKPOINT_RESTORE
	)
	version, ok1 := in32(c.a)
	who, ok2 := in32(c.a + 4)
	if !ok1 || !ok2 {
		return -eFAULT
	}
	words := [6]uint32{all & (1<<32 - 1), all & (1<<32 - 1), 0, all >> 32, all >> 32, 0} // effective, permitted, inheritable
	n := len(words)
	switch version {
	case version1:
		n /= 2
	case version2, version3:
	default:
		if !out32(c.a, version3) {
			return -eFAULT
		}
		if c.b == 0 { // the question was for the version
			return 0
		}
		return -eINVAL
	}
	if int32(who) < 0 {
		return -eINVAL
	}
	if who != 0 && sched.Get(int32(who)) == nil {
		return -eSRCH
	}
	for i, w := range words[:n] {
		if c.b != 0 && !out32(c.b+uintptr(i)*4, w) {
			return -eFAULT
		}
	}
	return 0
}

// prctl: the few settings of a thread that can be kept.
func (c *call) prctl() int64 {
	const (
		getDumpable = 3
		setDumpable = 4
		getKeepCaps = 7
		setKeepCaps = 8
		setName     = 15
		getName     = 16
		nameSize    = 16
	)
	t := sched.Current()
	switch c.a {
	case setName:
		var name [nameSize]byte
		for i := range name[:nameSize-1] {
			if !copyIn(uintptr(unsafe.Pointer(&name[i])), c.b+uintptr(i), 1) {
				return -eFAULT
			}
			if name[i] == 0 {
				break
			}
		}
		t.Name = name
		return 0
	case getName:
		if !copyOut(c.b, uintptr(unsafe.Pointer(&t.Name)), nameSize) {
			return -eFAULT
		}
		return 0
	case getKeepCaps:
		return int64(t.KeepCaps)
	case setKeepCaps:
		if c.b > 1 {
			return -eINVAL
		}
		t.KeepCaps = uint8(c.b)
		return 0
	case getDumpable:
		return 1
	case setDumpable:
		return 0
	}
	return -eINVAL
}

func (c *call) getcpu() int64 {
	if c.a != 0 && !out32(c.a, 0) || c.b != 0 && !out32(c.b, 0) {
		return -eFAULT
	}
	return 0
}
