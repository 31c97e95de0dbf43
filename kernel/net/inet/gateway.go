package inet

import (
	"net/netip"
	"syscall"
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// Options of the kernel's gateways (gateway.go of package kernel/linux).
const (
	ipTransparent = 19 // IP_TRANSPARENT
	ipFreeBind    = 15 // IP_FREEBIND
	ipv6OrigDst   = 74 // IPV6_ORIGDSTADDR, as a control message too
)

func ioctl(fd, op, argument uintptr) (uintptr, error) {
	r, _, e := syscall.Syscall(syscall.SYS_IOCTL, fd, op, argument)
	if e != 0 {
		return 0, e
	}
	return r, nil
}

// setAddress tells the kernel that the machine has an address, or no longer, and its router, which
// may be none.
func setAddress(p netip.Prefix, router netip.Addr, there bool) error {
	b := [24]byte{16: byte(p.Bits())}
	if router.Is4() {
		copy(b[20:], router.AsSlice())
	}
	a := p.Addr().As16()
	copy(b[:], a[:])
	if there {
		b[17] = 1
	}
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, ipFreeBind, 1); err != nil {
		return err
	}
	_, err = ioctl(uintptr(fd), linux.GatewayAddress, uintptr(unsafe.Pointer(&b)))
	return err
}

// setOption is for net.ListenConfig and net.Dialer: it sets an option of IP.
func setOption(option int) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, option, 1)
		}); e != nil {
			return e
		}
		return err
	}
}
