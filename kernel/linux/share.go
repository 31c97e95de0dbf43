package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/share"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// Calls that need something of the host's files first (package share), or of what the kernel makes
// up (proc.go): it is fetched or made, and the call is made again.

// errMissing is what a call returns that has changed nothing, and needs what vfs.Lacking tells.
const errMissing = -int64(vfs.EMISSING)

// fetch brings what a call lacks, and makes it again. A call that has to wait for it starts over
// later.
func (c *call) fetch(number uintptr) int64 {
	for {
		id, what := vfs.Lacking()
		if made, _ := vfs.Made(id); made != 0 {
			bringUp(id)
		} else {
			done, errno := share.Fetch(id, what, c.again, clock.Now())
			wakeSharers()
			if !done {
				thread.Nudge()
				thread.Block(c.f, thread.ForShare, uintptr(id), never, 0)
			}
			if errno != 0 {
				return -errno
			}
		}
		if r := c.do(number); r != errMissing {
			return r
		}
		c.again = false
	}
}

// wakeSharers lets those go on who wait for what has come.
func wakeSharers() {
	for share.Ended() {
		for tid := int32(1); tid <= thread.MaxTID(); tid++ {
			if t := thread.Get(tid); t != nil && t.State == thread.Waiting && t.Why == thread.ForShare {
				thread.Retry(t)
			}
		}
	}
}

// pollShares looks for what is to come, and returns when to look again.
func pollShares(now uint64) (next uint64) {
	ns, ok := share.Wait()
	if !ok {
		return never
	}
	Shared()
	return now + ns
}

// Shared lets those go on whose files of the host have come: for the devices' interrupt. Kernel
// context.
func Shared() {
	share.Poll(clock.Now())
	wakeSharers()
}

// Fetch brings what Lacking tells, and waits for it: for who cannot be made to start over. It
// returns an errno, 0 or less. Early context.
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
