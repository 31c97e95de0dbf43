package share

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// How long, in ns, a device may take for something before it is given up; how often it is
// looked at until a caller turns to something else; and when it is looked at again, if it can
// interrupt or not.
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
	names          int  // of the walk that is under way
	last           bool // it is the last one of its way
	since          uint64
	failed         vfs.ID // the latest node that was fetched, and the error
	failure        int64  // of that, or of the latest change
	writing        vfs.ID // the file that is open on the host for writing, held; 0: none
	told           bool   // a change has ended, which nobody has been told: see Told
	value          uintptr
}

// Under the kernel lock.
var (
	shares [vfs.MaxShares]share
	count  int
	ended  bool       // something that was fetched has come, or failed
	header pci.Header // of the function that is looked at
)

// Init finds the devices and starts them, vfs.MaxShares at most. Early context, once, when the
// page tables are up and before mem.Release.
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

// started counts the device that has been found, if it starts.
func started() {
	if shares[count].start() {
		count++
	}
}

// Count returns how many devices work. Any context.
func Count() int { return count }

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

// Fetch has brought what a node of a share lacks, or begins to. done is false if it is still
// to come: then Poll goes on, and Ended says when to ask again. again is set by who has waited
// since: the error may be that of what was fetched meanwhile. errno is Linux's, 0 or more. Early and
// kernel context.
func Fetch(id vfs.ID, what uint8, again bool, now uint64) (done bool, errno int64) {
	percpu.AssertLocked()
	i := vfs.ShareOf(id) - 1
	if i < 0 || i >= count {
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
			s.queue.Silence(!s.interrupts) // and one more look, for what has come just before
		case n > looks:
			return false, 0
		}
	}
}

// Ended reports whether something has ended since it was last asked: then who waits may ask
// again. Kernel context.
func Ended() bool {
	percpu.AssertLocked()
	e := ended
	ended = false
	return e
}

// Wait returns in how many ns to Poll for what is still to come, ok is false if there is nothing.
// A device that can interrupt with [arch.InterruptShare] does so before. Kernel context.
func Wait() (ns uint64, ok bool) {
	percpu.AssertLocked()
	ns = pollSeldom
	for i := range shares[:count] {
		if s := &shares[i]; s.step != idle || s.idleOpen() {
			if ok = true; !s.interrupts {
				ns = pollAlways
			}
		}
	}
	return ns, ok
}

// Poll goes on with what is being fetched. Kernel context.
func Poll(now uint64) {
	percpu.AssertLocked()
	for i := range shares[:count] {
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

// giveUp is for a device that answers no more.
func (s *share) giveUp() {
	s.dead, s.errno = true, eIO
	s.end()
}
