package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Signals that a descriptor reads (signalfd(2)): blocked signals of the reading thread and of the
// program. An open file of that kind is only a set of signals.

const maxSignalSets = 64

// signalSets are the sets of the open files: bit n-1 for signal n, and inUse. Under the kernel
// lock.
var signalSets [maxSignalSets]uint64

// inUse is in the set of every open file, because signal 9 cannot be blocked.
const inUse = 1 << (sigKILL - 1)

// readable returns the signals that thread t could read from the file.
func (f *file) readable(t *thread.Thread) uint64 {
	return pendingFor(t) & signalSets[f.obj] &^ inUse
}

// signalInfo is struct signalfd_siginfo; fields that are not named are 0 here.
type signalInfo struct {
	signo   uint32
	_, code int32
	pid, _  uint32
	_       [3]uint32
	_       [12]uint64
}

const _ = -(unsafe.Sizeof(signalInfo{}) ^ 128)

// sysSignalfd4 makes a descriptor, or changes its set.
func sysSignalfd4(c *call) int64 {
	flags := c.flags(3)
	if c.size(2) != sigsetSize {
		return -eINVAL
	}
	set, ok := in64(c.pointer(1))
	switch {
	case !ok:
		return -eFAULT
	case flags&^(oNonblock|oCloexec) != 0:
		return -eINVAL
	}
	set = set&^unblockable | inUse
	if c.int(0) != -1 {
		f := get(c.fd(0))
		switch {
		case f == nil || f.flags&oPath != 0:
			return -eBADF
		case f.kind != signalFile:
			return -eINVAL
		}
		signalSets[f.obj] = set
		changed(int(index(f)))
		return int64(c.int(0))
	}
	for i := range signalSets {
		if signalSets[i] == 0 {
			fd := open(file{kind: signalFile, flags: flags&oNonblock | oRdwr, obj: int32(i)}, flags)
			if fd >= 0 {
				signalSets[i] = set
			}
			return fd
		}
	}
	return -eNFILE
}

// pendingFor returns the signals that thread t could read: its own, and those for the program,
// whichever thread has them.
func pendingFor(t *thread.Thread) (set uint64) {
	for tid := int32(1); tid <= thread.MaxTID(); tid++ {
		if o := thread.Get(tid); o != nil {
			set |= o.Pending & o.Shared
		}
	}
	return set | t.Pending
}

// signalWaits notifies the files that can read a blocked signal.
func signalWaits(bit uint64) {
	percpu.AssertLocked()
	for i := range files {
		if f := &files[i]; f.kind == signalFile && signalSets[f.obj]&bit != 0 {
			changed(i)
		}
	}
}

func readSignals(c *call, f *file, to, n uintptr) int64 {
	const size = unsafe.Sizeof(signalInfo{})
	if n < size {
		return -eINVAL
	}
	t := thread.Current()
	done := uintptr(0)
	for ; done+size <= n; done += size {
		sig := 1
		set := f.readable(t)
		if set == 0 {
			break
		}
		for set&1 == 0 {
			set >>= 1
			sig++
		}
		from, bit := t, uint64(1)<<(sig-1)
		for tid := int32(1); from.Pending&bit == 0; tid++ {
			if o := thread.Get(tid); o != nil && o.Pending&o.Shared&bit != 0 {
				from = o
			}
		}
		code, sender := takePending(from, sig)
		info := signalInfo{signo: uint32(sig), code: code, pid: uint32(sender)}
		if !copyOut(to+done, addressOf(&info), size) {
			if done == 0 {
				return -eFAULT
			}
			break
		}
	}
	switch {
	case done > 0:
		return int64(done)
	case f.flags&oNonblock != 0:
		return -eAGAIN
	}
	c.wait(f)
	return 0
}
