package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// The system: names, limits, use of resources.

const utsField = 65

// HostName is the name of the machine.
const HostName = "zeroframe"

const (
	release = "6.1.0-zeroframe"
	version = "#1 Zeroframe"
)

// sysUname names the system; the runtime and some packages read the release.
func sysUname(c *call) int64 {
	if !zeroOut(c.pointer(0), 6*utsField) {
		return -eFAULT
	}
	fields := [6]string{"Linux", HostName, release, version, "x86_64", "(none)"}
	for i := range fields {
		s := fields[i]
		if !copyOut(c.pointer(0)+uintptr(i)*utsField, uintptr(unsafe.Pointer(unsafe.StringData(s))),
			uintptr(len(s))) {
			return -eFAULT
		}
	}
	return 0
}

func sysSysinfo(c *call) int64 {
	// struct sysinfo in words: the time up, memory, processes, and the unit of memory.
	words := [14]uint64{0: clock.Now() / 1e9, 4: mem.AllFrames() * pageSize,
		5: mem.FreeFrames() * pageSize, 10: 1, 13: 1}
	return copied(store(c.pointer(0), &words))
}

func sysGetrusage(c *call) int64 {
	if who := c.int(0); who < -1 || who > 1 {
		return -eINVAL
	}
	const rusageThread = 1
	ns := thread.CPUTime()
	if c.int(0) == rusageThread {
		ns = thread.ThreadTime()
	}
	if c.int(0) == -1 {
		ns = 0 // children
	}
	// struct rusage in words: the time, and the most memory in KiB.
	words := [18]uint64{0: ns / 1e9, 1: ns % 1e9 / 1000, 4: mem.MostFrames() * pageSize / 1024}
	return copied(store(c.pointer(1), &words))
}

func sysTimes(c *call) int64 {
	const tick = 1e9 / 100
	if c.args[0] != 0 && !outWords(c.pointer(0), (&[4]uint64{thread.CPUTime() / tick})[:]) {
		return -eFAULT
	}
	return int64(clock.Now() / tick)
}

// sysGetIDs returns the user or group: root.
func sysGetIDs(c *call) int64 {
	for _, a := range [3]uintptr{c.pointer(0), c.pointer(1), c.pointer(2)} {
		if !out32(a, 0) {
			return -eFAULT
		}
	}
	return 0
}

// sysCapget says that the program may do everything (capget(2)).
func sysCapget(c *call) int64 {
	const (
		version1 = 0x19980330
		version2 = 0x20071026
		version3 = 0x20080522
		all      = 1<<41 - 1 // up to CAP_CHECKPOINT_RESTORE
	)
	version, ok1 := in32(c.pointer(0))
	who, ok2 := in32(c.pointer(0) + 4)
	if !ok1 || !ok2 {
		return -eFAULT
	}
	// Effective, permitted and inheritable, the lower halves first.
	words := [6]uint32{all & (1<<32 - 1), all & (1<<32 - 1), 0, all >> 32, all >> 32, 0}
	n := len(words)
	switch version {
	case version1:
		n /= 2
	case version2, version3:
	default:
		if !out32(c.pointer(0), version3) {
			return -eFAULT
		}
		if c.args[1] == 0 { // the call asked for the version only
			return 0
		}
		return -eINVAL
	}
	if int32(who) < 0 {
		return -eINVAL
	}
	if who != 0 && thread.Get(int32(who)) == nil {
		return -eSRCH
	}
	for i, w := range words[:n] {
		if c.args[1] != 0 && !out32(c.pointer(1)+uintptr(i)*4, w) {
			return -eFAULT
		}
	}
	return 0
}

// dumpable is prctl's setting of that name, which has no effect. Under the kernel lock.
var dumpable uint8 = 1

// sysPrctl keeps the few settings of a thread that can be kept.
func sysPrctl(c *call) int64 {
	const (
		getDumpable = 3
		setDumpable = 4
		getKeepCaps = 7
		setKeepCaps = 8
		setName     = 15
		getName     = 16
		nameSize    = 16
	)
	t := thread.Current()
	switch c.op(0) {
	case setName:
		var name [nameSize]byte
		for i := range name[:nameSize-1] {
			if !copyIn(addressOf(&name[i]), c.pointer(1)+uintptr(i), 1) {
				return -eFAULT
			}
			if name[i] == 0 {
				break
			}
		}
		t.Name = name
		return 0
	case getName:
		return copied(copyOut(c.pointer(1), addressOf(&t.Name), nameSize))
	case getKeepCaps:
		return int64(t.KeepCaps)
	case setKeepCaps:
		if c.word(1) > 1 {
			return -eINVAL
		}
		t.KeepCaps = uint8(c.word(1))
		return 0
	case getDumpable:
		return int64(dumpable)
	case setDumpable:
		if c.word(1) > 1 {
			return -eINVAL
		}
		dumpable = uint8(c.word(1))
		return 0
	}
	return -eINVAL
}

// sysWait4 fails, because there are no children.
func sysWait4(c *call) int64 {
	const known = 1 | 2 | 8 | 1<<29 | 1<<30 | 1<<31 // WNOHANG to WCONTINUED, and which threads
	switch {
	case c.flags(2)&^known != 0:
		return -eINVAL
	case c.int(0) == -1<<31:
		return -eSRCH
	}
	return -eCHILD
}

func sysGetcpu(c *call) int64 {
	return copied((c.args[0] == 0 || out32(c.pointer(0), percpu.This().Number)) &&
		(c.args[1] == 0 || out32(c.pointer(1), 0)))
}

func sysGetpid(c *call) int64 { return pid }

// sysZero answers calls that have nothing to do: there is one user, root, and no disk.
func sysZero(c *call) int64 { return 0 }
func sysGetrandom(c *call) int64 {
	const nonblock, random, insecure = 1, 2, 4
	if f := c.flags(2); f&^(nonblock|random|insecure) != 0 || f&(random|insecure) == random|insecure {
		return -eINVAL
	}
	return randomOut(c.pointer(0), min(c.size(1), ioMax))
}
