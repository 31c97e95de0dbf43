package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// recvmmsg and sendmmsg: several messages in one call. Each has a struct msghdr, followed by the
// number of bytes moved. A call that waits starts over, with the number of messages it has moved in
// the thread's Done; on streams, where Done counts bytes, only the first message waits.

const (
	manySize      = headerSize + 8 // struct mmsghdr
	msgWaitForOne = 0x10000
)

func sysSendmmsg(c *call, f *file, s *socket) int64 { return c.many(f, s, true, never) }

// sysRecvmmsg checks its time limit only when a message has arrived, as on Linux; the time left is
// not written back.
func sysRecvmmsg(c *call, f *file, s *socket) int64 {
	until, errno := inDeadline(c.pointer(4))
	if errno != 0 {
		return errno
	}
	return c.many(f, s, false, until)
}

// many sends or receives messages, and returns the number of messages, or the error of the first
// one.
func (c *call) many(f *file, s *socket, send bool, until uint64) int64 {
	t := thread.Current()
	at, count, flags := c.pointer(1), min(uintptr(c.uint(2)), maxParts), c.flags(3)
	i := uintptr(0)
	if s.kind != sockStream {
		i = t.Done
	}
	for i < count {
		header := at + i*manySize
		n := int64(0)
		if send {
			n = c.sendMessage(f, s, header, flags)
		} else {
			n = c.receiveMessage(f, s, header, flags)
		}
		if n >= 0 && !out32(header+headerSize, uint32(n)) {
			n = -eFAULT
		}
		if n < 0 {
			if i == 0 {
				return n
			}
			if !send && n != -eAGAIN {
				s.err = int32(-n) // for the next call
			}
			break
		}
		i++
		if s.kind == sockStream || flags&msgWaitForOne != 0 && !send {
			flags |= msgDontWait
		} else {
			t.Done = i
		}
		if until <= clock.Now() {
			break
		}
	}
	return int64(i)
}
