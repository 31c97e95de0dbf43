package inet

import (
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"gvisor.dev/gvisor/pkg/tcpip"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// wireOptions are the options that a connection's packets show, as the program has set them:
// wireOptions of package kernel/linux, in its order.
type wireOptions struct {
	noDelay, keepAlive        uint32
	idle, interval, count     uint32 // s, s and a number, of keep-alive
	userTimeout               uint32 // ms
	sendBuffer, receiveBuffer uint32
	typeOfService, timeToLive uint32
	trafficClass, hopLimit    uint32 // of version 6
}

// Buffers of a socket whose program has said nothing of them: the stack's own sizes are right.
const (
	initialSend    = 16384
	initialReceive = 131072
)

// know has the options of the program's socket set on the connection, now and when they change,
// until forget is called. local is the address of the program's socket.
func (n *network) know(s *stream, local, remote netip.AddrPort) (forget func()) {
	key := [2]netip.AddrPort{local, remote}
	s.six = local.Addr().Is6()
	n.ends.Store(key, s)
	s.setOptions()
	return func() { n.ends.CompareAndDelete(key, s) }
}

// plain returns an address as datagrams have it.
func plain(a net.Addr) netip.AddrPort {
	p := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
}

// setOptions sets the options on the connection that the program's socket has. What the program
// sends then goes with them.
func (s *stream) setOptions() {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.raw.Control(s.takeOptions)
}

// takeOptions is setOptions while nothing is taken from the program.
func (s *stream) takeOptions(fd uintptr) {
	var o wireOptions
	told, err := ioctl(fd, linux.GatewayOptions, uintptr(unsafe.Pointer(&o)))
	if err == syscall.ECONNRESET { // the program has reset the connection
		s.wire.Abort()
	}
	if err != nil || told == 0 && s.optioned {
		return
	}
	s.optioned = true
	if s.six {
		o.typeOfService = o.trafficClass
	}
	to := s.wire.SocketOptions()
	to.SetDelayOption(o.noDelay == 0)
	to.SetKeepAlive(o.keepAlive != 0)
	idle := tcpip.KeepaliveIdleOption(time.Duration(o.idle) * time.Second)
	interval := tcpip.KeepaliveIntervalOption(time.Duration(o.interval) * time.Second)
	user := tcpip.TCPUserTimeoutOption(time.Duration(o.userTimeout) * time.Millisecond)
	for _, v := range []tcpip.SettableSocketOption{&idle, &interval, &user} {
		s.wire.SetSockOpt(v)
	}
	s.wire.SetSockOptInt(tcpip.KeepaliveCountOption, int(o.count))
	s.wire.SetSockOptInt(tcpip.IPv4TOSOption, int(o.typeOfService))
	s.wire.SetSockOptInt(tcpip.IPv4TTLOption, int(o.timeToLive))
	s.wire.SetSockOptInt(tcpip.IPv6HopLimitOption, int(o.hopLimit))
	if o.sendBuffer != initialSend {
		to.SetSendBufferSize(int64(o.sendBuffer), true)
	}
	if o.receiveBuffer != initialReceive {
		to.SetReceiveBufferSize(int64(o.receiveBuffer), true)
	}
}
