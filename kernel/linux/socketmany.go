package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// recvmmsg and sendmmsg: several messages in one call. Each has a struct msghdr, and behind it
// how many bytes have been moved. A call that waits starts over with the number of messages that
// it has moved in the thread's Done; on streams, where Done is of bytes, only the first one waits.

const (
	manySize      = headerSize + 8 // struct mmsghdr
	msgWaitForOne = 0x10000
)

func sysSendmmsg(c *call, f *file, s *socket) int64 { return c.many(f, s, true, never) }

// sysRecvmmsg looks at its time only when a message has come, as on Linux; what is left of it is
// not written back.
func sysRecvmmsg(c *call, f *file, s *socket) int64 {
	until, errno := inDeadline(c.pointer(4))
	if errno != 0 {
		return errno
	}
	return c.many(f, s, false, until)
}

// many sends or receives messages, and returns how many, or the error of the first one.
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
