package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/share"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Calls that first need something from the host's files (package share), or something that the
// kernel makes up (proc.go): it is fetched or made, and the call is made again.

// errMissing is the result of a call that has changed nothing, and needs what vfs.Lacking says.
const errMissing = -int64(vfs.EMISSING)

// fetch fetches what a call lacks, or lets the host make the call's change, and makes the call
// again. A call that must wait for that starts over later.
func (c *call) fetch(number uintptr) int64 {
	for r := errMissing; ; {
		if r != errMissing {
			return r
		}
		if parts.Shares && vfs.Asked().Kind != vfs.NoChange {
			r = c.change(number)
			continue
		}
		id, what := vfs.Lacking()
		if made, _ := vfs.Made(id); made != 0 {
			bringUp(id)
			r = c.do(percpu.This(), number)
			c.again = false
			continue
		}
		done, errno := share.Fetch(id, what, c.again, clock.Now())
		wakeSharers()
		switch ready, _ := share.Ready(vfs.ShareOf(id)); {
		case done && errno != 0:
			return -errno
		case done:
			r = c.do(percpu.This(), number)
		case ready:
			continue // another call's request has just ended
		default:
			thread.Nudge()
			thread.Block(c.f, thread.ForShare, uintptr(id), never, 0)
		}
		c.again = false
	}
}

// change lets the host make the change in vfs.Asked, and goes on with the call.
func (c *call) change(number uintptr) int64 {
	ask, t := vfs.Asked(), thread.Current()
	for {
		ready, dead := share.Ready(ask.Share)
		if dead {
			return c.failed(number, -eIO)
		}
		if ready {
			break
		}
		share.Go(ask.Share)
		wakeSharers()
		if ready, _ = share.Ready(ask.Share); !ready {
			thread.Nudge()
			thread.Block(c.f, thread.ForShare, 0, never, 0)
		}
	}
	if to, _ := share.Room(ask.Share); ask.Kind == vfs.WriteBytes {
		if !copyIn(to, ask.From, uintptr(ask.N)) {
			return c.failed(number, -eFAULT)
		}
	} else if ask.Kind == vfs.MakeLink {
		bytesOut(to, ask.From, ask.N)
	}
	share.Begin(ask, t.TID, clock.Now())
	share.Go(ask.Share)
	wakeSharers()
	if !t.Told {
		thread.Nudge()
		thread.Block(c.f, thread.ForShare, 0, never, 0)
	}
	return c.told(number)
}

// bytesOut copies n bytes within the kernel's memory.
func bytesOut(to, from uintptr, n int) {
	for i := range uintptr(n) {
		*(*byte)(arch.Pointer(to + i)) = *(*byte)(arch.Pointer(from + i))
	}
}

// told goes on with a call whose change has been made.
func (c *call) told(number uintptr) int64 {
	t := thread.Current()
	t.Told = false
	if t.TellErrno != 0 {
		return c.failed(number, -t.TellErrno)
	}
	c.again = false
	switch t.TellKind {
	case tellEnd:
		return 0
	case tellWritten:
		t.Done += t.TellValue
	case tellOpen:
		c.host = vfs.ID(t.TellValue)
	}
	return c.do(percpu.This(), number)
}

// How a call goes on after its change.
const (
	tellEnd     = iota // the call is done
	tellWritten        // that many bytes were written; there may be more
	tellOpen           // the node is open
	tellAgain          // the file to open exists now
)

// tellOf says how the call goes on after a change.
func tellOf(c *vfs.Change) uint8 {
	switch {
	case c.Kind == vfs.WriteBytes:
		return tellWritten
	case c.Opens:
		return tellOpen
	case c.Kind == vfs.Create && !c.Exclusive:
		return tellAgain
	}
	return tellEnd
}

// failed ends a call with an error, or with what it has done before.
func (c *call) failed(number uintptr, errno int64) int64 {
	if thread.Current().Done == 0 {
		return errno
	}
	c.ends, c.again = true, false
	return c.do(percpu.This(), number)
}

// writeHost writes n bytes of the program's memory into a file of the host: it asks for what has
// not been done, up to what one message holds.
func (c *call) writeHost(id vfs.ID, from, n uintptr, off int64) int64 {
	done := c.doneHere(n)
	if done == n || c.ends {
		return int64(done)
	}
	_, room := share.Room(vfs.ShareOf(id))
	part := min(n-done, uintptr(room))
	e := vfs.AskWrite(id, off+int64(done), int(part), clock.Wall())
	switch {
	case e == vfs.EMISSING:
	case thread.Current().Done > 0:
		return int64(done)
	default:
		return -int64(e)
	}
	vfs.Asked().From = from + done
	return errMissing
}

// doneHere returns how much of a part of n bytes the call has already done.
func (c *call) doneHere(n uintptr) uintptr {
	done := thread.Current().Done
	return min(done-min(done, c.before), n)
}

// tellSharers passes on the results of changes.
func tellSharers() {
	if !parts.Shares {
		return
	}
	for {
		owner, change, errno, value, ok := share.Told()
		if !ok {
			return
		}
		if t := thread.Get(owner); t != nil {
			t.Told, t.TellKind, t.TellErrno, t.TellValue = true, tellOf(change), errno, value
		}
	}
}

// wakeSharers wakes the threads that wait for what has arrived.
func wakeSharers() {
	tellSharers()
	for share.Ended() {
		for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
			if t.WaitsFor(thread.ForShare) {
				thread.Retry(t)
			}
		}
	}
}

// pollShares looks for replies of the host, and returns when to call it next.
func pollShares(now uint64) (next uint64) {
	ns, ok := share.Wait()
	if !parts.Shares || !ok {
		return never
	}
	Shared()
	return now + ns
}

// Shared wakes the threads whose files have arrived from the host. It is called in the devices'
// interrupt. Kernel context.
func Shared() {
	share.Poll(clock.Now())
	wakeSharers()
}

// Fetch fetches what vfs.Lacking says, and waits for it: for callers that cannot start over. It
// returns an errno, 0 or negative. Early context.
func Fetch() int64 {
	for {
		id, what := vfs.Lacking()
		if made, _ := vfs.Made(id); made != 0 {
			bringUp(id)
			return 0
		}
		if done, errno := share.Fetch(id, what, false, clock.Now()); done {
			return -errno
		}
		share.Poll(clock.Now())
	}
}
