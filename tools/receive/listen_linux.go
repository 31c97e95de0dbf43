package receive

import (
	"cmp"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmsghdr is the kernel's struct mmsghdr, which x/sys has not.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

const (
	// gatherFor is how long more is waited for behind a read that was not full: to take
	// datagrams one by one costs ten times as much as to take a hundred.
	gatherFor = 500 * time.Microsecond
	// awake is how often a read that waits looks whether it is to end.
	awake = 100 * time.Millisecond
	// maxDrain is how often something is read behind the end, until what the socket's
	// buffer holds has come: a flood must not go on for ever.
	maxDrain = 1024
	// urgent is the nice value of the thread that reads, if this process may set it.
	// Whatever else the machine does can wait; a full socket does not.
	urgent = -10
)

// controlLen is room for the drop counter.
const controlLen = 64

// reader reads with recvmmsg: one system call for up to readLen datagrams. It has a
// thread of its own, which the kernel wakes when something comes; by way of the Go
// runtime's poller it would wait for its turn among those that resolve traces. Its memory
// is made once.
type reader struct {
	raw      syscall.RawConn
	stopping atomic.Bool

	msgs    [readLen]mmsghdr
	iovs    [readLen]unix.Iovec
	names   [readLen]unix.RawSockaddrInet6
	control [readLen][controlLen]byte
	data    [readLen][MaxDatagram + 1]byte // one more, which tells those that are too long
	counted uint32                         // drops, as the socket counts since it was made
	drained int                            // reads behind the end

	// What the latest read has brought.
	n       int
	when    time.Time
	dropped uint64 // by the socket since the read before
}

func newReader(conn *net.UDPConn) (*reader, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	r := &reader{raw: raw}
	for i := range r.msgs {
		r.iovs[i].Base = &r.data[i][0]
		r.iovs[i].SetLen(len(r.data[i]))
		h := &r.msgs[i].hdr
		h.Iov = &r.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&r.names[i]))
		h.Control = &r.control[i][0]
	}
	return r, nil
}

// stop ends each, soon. It may be called from any goroutine.
func (r *reader) stop() { r.stopping.Store(true) }

// each reads, and calls f for what each read has brought, now and then nothing. It returns nil when
// it was stopped and what had come by then has been read.
func (r *reader) each(f func()) error {
	runtime.LockOSThread() // for good: the thread has another priority now
	unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), urgent)
	var err error
	cerr := r.raw.Control(func(fd uintptr) {
		timeout := unix.NsecToTimeval(awake.Nanoseconds())
		if err = unix.SetNonblock(int(fd), false); err == nil {
			err = unix.SetsockoptTimeval(int(fd), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
		}
		gather := unix.NsecToTimespec(gatherFor.Nanoseconds())
		for err == nil {
			stopping := r.stopping.Load()
			if err = r.recvmmsg(fd, stopping); err != nil {
				return
			}
			f()
			switch {
			case stopping:
				if r.drained++; r.n == 0 || r.drained == maxDrain {
					return
				}
			case r.n > 0 && r.n < readLen:
				unix.Nanosleep(&gather, nil)
			}
		}
	})
	return cmp.Or(err, cerr)
}

// recvmmsg reads what there is, and unless it is the last time waits for it up to awake.
func (r *reader) recvmmsg(fd uintptr, last bool) error {
	for i := range r.msgs { // the kernel changes these
		h := &r.msgs[i].hdr
		h.Namelen = unix.SizeofSockaddrInet6
		h.SetControllen(controlLen)
	}
	flags := uintptr(unix.MSG_WAITFORONE)
	if last {
		flags = unix.MSG_DONTWAIT
	}
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.msgs)),
		readLen, flags, 0, 0)
	r.when = time.Now()
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR, unix.ECONNREFUSED:
		// the latter is about a datagram that somebody sent from here
		r.n = 0
		return nil
	default:
		return os.NewSyscallError("recvmmsg", errno)
	}
	r.n = int(n)
	for i := range r.n {
		if n := int(r.msgs[i].hdr.Controllen); n > 0 {
			if counted, ok := dropCount(r.control[i][:min(n, controlLen)]); ok {
				r.dropped += uint64(counted - r.counted)
				r.counted = counted
			}
		}
	}
	return nil
}

// datagram returns a datagram that has been read, and who sent it.
func (r *reader) datagram(i int) (from netip.AddrPort, data []byte) {
	return addrPort(&r.names[i]), r.data[i][:r.msgs[i].len]
}

// addrPort returns the address that the kernel wrote, an IPv4 one as such.
func addrPort(sa *unix.RawSockaddrInet6) netip.AddrPort {
	port := func(p uint16) uint16 { return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&p))[:]) }
	if sa.Family == unix.AF_INET {
		sa4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom4(sa4.Addr), port(sa4.Port))
	}
	return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), port(sa.Port))
}

// dropCount reads the socket's counter of datagrams that it had no room for.
func dropCount(control []byte) (uint32, bool) {
	const header = unix.SizeofCmsghdr
	if len(control) < header+4 {
		return 0, false
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SO_RXQ_OVFL {
		return 0, false
	}
	return *(*uint32)(unsafe.Pointer(&control[header])), true
}

// enlarge asks for a buffer of that many bytes and for the drop counter, and returns
// the size that the socket has got. Root may go beyond the system's limit.
func enlarge(conn *net.UDPConn, want int) (size int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		s := int(fd)
		if unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, want) != nil {
			err = unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF, want)
		}
		if err == nil {
			err = unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
		}
		if err == nil {
			size, err = unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF)
			size /= 2 // the kernel says twice what was asked for, for its own needs
		}
	})
	return size, cmp.Or(err, cerr)
}

// allocated is how many bytes of the disk a file takes.
func allocated(fi os.FileInfo) int64 {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return fi.Size()
}
