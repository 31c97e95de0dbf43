package share

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Times in ns: how long a device may take before it is given up; how long its answer is awaited
// before the caller does something else; and how often it is polled, if it can interrupt or not.
const (
	deadline   = 60_000_000_000
	looks      = 100
	pollSeldom = 100_000_000
	pollAlways = 200_000
)

// share is a folder of the host.
type share struct {
	device
	job
	attached, dead bool
	names          int  // of the current walk
	last           bool // it is the last message of the walk
	since          uint64
	failed         vfs.ID // the latest node that was fetched, and the error
	failure        int64  // of that, or of the latest change
	writing        vfs.ID // the file that is open on the host for writing, held; 0: none
	told           bool   // a change has ended and was not reported yet: see Told
	value          uintptr
}

// Under the kernel lock.
var (
	shares [vfs.MaxShares]share
	count  int
	ended  bool       // a fetch has succeeded or failed
	header pci.Header // of the function that is being examined
)

// Init finds the devices and starts them, vfs.MaxShares at most. Early context, once, when the page
// tables are set up and before mem.Release.
func Init() {
	if arch.HasPCI() {
		s := pci.Scan{}
		for a, id, ok := s.Next(); ok; a, id, ok = s.Next() {
			if !virtio.IsPCI(id, virtio.Type9P) {
				continue
			}
			a.Read(&header)
			a.Enable()
			if count == len(shares) || !shares[count].FindPCI(&header, 2) {
				continue
			}
			shares[count].interrupts = !shares[count].Legacy() && route(a)
			started()
		}
	}
	for p := (virtio.Places{}); count < len(shares) && p.Next(&shares[count].Device, virtio.Type9P); {
		started()
	}
}

// started counts the device that was found, if it starts.
func started() {
	if shares[count].start() {
		count++
	}
}

// Count returns the number of devices that work. Any context.
func Count() int {
	if !parts.Shares {
		return 0
	}
	return count
}

// route makes the function at a interrupt with a message, if it can.
func route(a pci.Address) bool {
	entry, ok := header.MSIXTable()
	if !ok || !arch.LocalInterrupts() {
		return false
	}
	if entry = mem.MapDevice(entry, pci.MSIXBytes); entry == 0 {
		return false
	}
	a.RouteMSIX(&header, entry, arch.InterruptShare)
	return true
}

// Find returns the number of the share whose device has that tag; 0 if there is none. Early and
// kernel context.
func Find(tag []byte) int {
	percpu.AssertLocked()
	for i := range shares[:count] {
		s := &shares[i]
		if ascii.Equal(s.tag[:s.tagLength], tag) {
			return i + 1
		}
	}
	return 0
}

// Fetch fetches what a node of a share lacks. done is false if it is still under way: then Poll
// continues it, and Ended says when to call Fetch again. again is set by a caller that has waited
// since, because the error may belong to another fetch meanwhile. errno is Linux's, 0 or more.
// Early and kernel context.
func Fetch(id vfs.ID, what uint8, again bool, now uint64) (done bool, errno int64) {
	percpu.AssertLocked()
	i := vfs.ShareOf(id) - 1
	if !parts.Shares || i < 0 || i >= count {
		return true, eIO
	}
	s := &shares[i]
	if s.dead {
		return true, eIO
	}
	if s.step == idle && again && s.failed == id && s.failure != 0 {
		return true, s.failure
	}
	mine := s.step != idle && s.node == id
	for n := 0; ; n++ {
		switch {
		case s.step == idle && mine:
			return true, s.failure
		case s.step == idle && s.told:
			return false, 0
		case s.step == idle:
			s.begin(id, what, now)
			mine = true
		case s.answered():
			s.next(s.take())
			n = 0
		case s.broken():
			s.giveUp()
			return true, eIO
		case n == looks:
			s.queue.Silence(!s.interrupts) // and one more check, for an answer that arrived just before
		case n > looks:
			return false, 0
		}
	}
}

// Ended reports whether something has ended since the last call: then waiters may try again. Kernel
// context.
func Ended() bool {
	percpu.AssertLocked()
	e := ended
	ended = false
	return e
}

// Wait returns in how many ns to call Poll for what is still under way; ok is false if there is
// nothing. A device that can interrupt with [arch.InterruptShare] does so earlier. Kernel context.
func Wait() (ns uint64, ok bool) {
	percpu.AssertLocked()
	ns = pollSeldom
	for i := range Count() {
		if s := &shares[i]; s.step != idle || s.idleOpen() {
			if ok = true; !s.interrupts {
				ns = pollAlways
			}
		}
	}
	return ns, ok
}

// Poll continues what is under way. Kernel context.
func Poll(now uint64) {
	percpu.AssertLocked()
	for i := range Count() {
		s := &shares[i]
		if s.idleOpen() {
			s.startClosing(now)
		}
		for s.step != idle && s.answered() {
			s.next(s.take())
			s.since = now
		}
		if s.step != idle && now-s.since > deadline {
			s.giveUp()
		}
	}
}

// giveUp handles a device that no longer answers.
func (s *share) giveUp() {
	s.dead, s.errno = true, eIO
	s.end()
}
