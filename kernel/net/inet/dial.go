package inet

import (
	"net/netip"
	"os"
	"syscall"
	"time"
)

// dial connects to a listener of the program's, with the address of another machine. (A net.Dialer
// has a context, a timer and a goroutine for what is mostly done at once.)
func dial(from, to netip.AddrPort) (c *os.File, raw syscall.RawConn, err error) {
	family, source := sockaddr(from)
	_, target := sockaddr(to)
	const kind = syscall.SOCK_STREAM | syscall.SOCK_NONBLOCK | syscall.SOCK_CLOEXEC
	fd, err := syscall.Socket(family, kind, 0)
	if err != nil {
		return nil, nil, err
	}
	c = os.NewFile(uintptr(fd), "connection")
	raw, err = c.SyscallConn()
	if err == nil {
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, ipFreeBind, 1)
	}
	if err == nil {
		err = syscall.Bind(fd, source)
	}
	if err == nil {
		err = syscall.Connect(fd, target)
	}
	if err == syscall.EINPROGRESS { // the program's backlog is full
		c.SetWriteDeadline(time.Now().Add(acceptLimit))
		e := raw.Write(func(fd uintptr) bool {
			err = syscall.Connect(int(fd), target)
			return err != syscall.EALREADY && err != syscall.EINPROGRESS
		})
		if c.SetWriteDeadline(time.Time{}); err == syscall.EISCONN || e != nil {
			err = e
		}
	}
	if err != nil {
		c.Close()
	}
	return c, raw, err
}

// sockaddr returns an address as system calls have it.
func sockaddr(p netip.AddrPort) (family int, a syscall.Sockaddr) {
	if p.Addr().Is4() {
		return syscall.AF_INET, &syscall.SockaddrInet4{Addr: p.Addr().As4(), Port: int(p.Port())}
	}
	return syscall.AF_INET6, &syscall.SockaddrInet6{Addr: p.Addr().As16(), Port: int(p.Port())}
}
