package inet

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/zeroframe/zeroframe/kernel/linux"
)

// Datagrams need no state here: each one goes its way by the addresses that it has.

const (
	maxDatagram = 64 << 10 // bytes
	maxControl  = 128      // bytes of control messages
)

// serveDatagrams sends the program's datagrams to other machines, and gives it theirs.
func (n *network) serveDatagrams() error {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) {
			for _, o := range [][2]int{
				{syscall.IPPROTO_IP, ipTransparent}, {syscall.IPPROTO_IPV6, ipv6OrigDst},
				{syscall.IPPROTO_IPV6, syscall.IPV6_RECVHOPLIMIT},
				{syscall.IPPROTO_IPV6, syscall.IPV6_RECVTCLASS},
			} {
				if err == nil {
					err = syscall.SetsockoptInt(int(fd), o[0], o[1], 1)
				}
			}
		}); e != nil {
			return e
		}
		return err
	}}
	l, err := config.ListenPacket(context.Background(), "udp", "[::1]:0")
	if err != nil {
		return err
	}
	c := l.(*net.UDPConn)
	n.SetTransportProtocolHandler(udp.ProtocolNumber,
		func(id stack.TransportEndpointID, p *stack.PacketBuffer) bool { return give(c, id, p) })
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	n.card.refused = func(from, to netip.AddrPort) { tellRefused(raw, from, to) }
	n.gateways = append(n.gateways, c)
	n.serve(func() { n.takeDatagrams(c, raw) })
	return nil
}

// give gives the program a datagram of another machine, and reports whether a socket is there for
// it.
func give(c *net.UDPConn, id stack.TransportEndpointID, p *stack.PacketBuffer) bool {
	if addr(id.RemoteAddress).IsUnspecified() && id.LocalAddress != header.IPv4Broadcast {
		return true // an answer would come to ourselves; DHCP's clients have no address yet
	}
	data, ok := undamaged(p.TransportHeader().Slice(), p.Data().AsRange().ToSlice(), p.Network(),
		p.NetworkProtocolNumber)
	if !ok {
		return true // it is lost, as any may be
	}
	to := netip.AddrPortFrom(netip.AddrFrom16(addr(id.LocalAddress).As16()), id.LocalPort)
	from := netip.AddrPortFrom(addr(id.RemoteAddress), id.RemotePort)
	_, _, err := c.WriteMsgUDPAddrPort(data, origin(from, p), to)
	return !errors.Is(err, syscall.ECONNREFUSED)
}

// undamaged returns the data of a datagram, of all that its packet has after UDP's header, and
// whether length and checksum are right. (The stack looks at those of its own sockets alone.)
func undamaged(u header.UDP, data []byte, ip header.Network, version tcpip.NetworkProtocolNumber,
) ([]byte, bool) {
	if n := int(u.Length()) - header.UDPMinimumSize; n >= 0 && n < len(data) {
		data = data[:n]
	}
	sum := func() uint16 { return checksum.Checksum(data, 0) }
	length, whole := header.UDPValid(u, sum, uint16(len(data)), version, ip.SourceAddress(),
		ip.DestinationAddress(), false)
	return data, length && whole
}

// origin returns the control messages by which a datagram has another machine's address, and what
// its packet says of hops and of the type of service.
func origin(from netip.AddrPort, p *stack.PacketBuffer) []byte {
	var a [syscall.SizeofSockaddrInet6]byte
	binary.LittleEndian.PutUint16(a[:], syscall.AF_INET6)
	binary.BigEndian.PutUint16(a[2:], from.Port())
	ip := from.Addr().As16()
	copy(a[8:], ip[:])
	tos, _ := p.Network().TOS()
	hops := uint8(0)
	if h := p.NetworkHeader().Slice(); p.NetworkProtocolNumber == header.IPv4ProtocolNumber {
		hops = header.IPv4(h).TTL()
	} else {
		hops = header.IPv6(h).HopLimit()
	}
	b := addControl(nil, ipv6OrigDst, a[:])
	b = addControl(b, syscall.IPV6_TCLASS, []byte{tos, 0, 0, 0})
	return addControl(b, syscall.IPV6_HOPLIMIT, []byte{hops, 0, 0, 0})
}

// addControl adds a control message of IPv6.
func addControl(b []byte, kind uint32, data []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(syscall.CmsgLen(len(data))))
	b = binary.LittleEndian.AppendUint32(b, syscall.IPPROTO_IPV6)
	b = append(binary.LittleEndian.AppendUint32(b, kind), data...)
	return append(b, make([]byte, syscall.CmsgSpace(len(data))-syscall.CmsgLen(len(data)))...)
}

// takeDatagrams sends what the program sends.
func (n *network) takeDatagrams(c *net.UDPConn, raw syscall.RawConn) {
	b, control := make([]byte, maxDatagram), make([]byte, maxControl)
	for {
		size, more, _, from, err := c.ReadMsgUDPAddrPort(b, control)
		if err != nil {
			return
		}
		n.serveDatagram(raw, from, b[:size], control[:more])
		n.datagrams.Add(linux.DatagramHeader + uint64(size))
	}
}

// serveDatagram sends what the program sends, or does what the kernel asks for by a datagram
// without data that has no hops to go.
func (n *network) serveDatagram(raw syscall.RawConn, from netip.AddrPort, data, control []byte) {
	d, ok := parse(control)
	d.from = netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port())
	asks := len(data) == 0 && d.ttl == 0
	switch {
	case asks && d.to.Addr().IsMulticast():
		n.join(raw, d.to.Addr())
	case asks:
		// The connection may have ended meanwhile.
		if s, known := n.ends.Load([2]netip.AddrPort{d.from, d.to}); known {
			s.(*stream).setOptions()
		}
	case ok:
		n.sendDatagram(d, data)
	}
}

// join joins a group if a socket of the program is in it, or else leaves it.
func (n *network) join(c syscall.RawConn, group netip.Addr) {
	a, there := group.As16(), uintptr(0)
	c.Control(func(fd uintptr) {
		there, _ = ioctl(fd, linux.GatewayMember, uintptr(unsafe.Pointer(&a)))
	})
	if there != 0 == n.groups[group] {
		return
	}
	n.groups[group] = there != 0
	if there != 0 {
		n.JoinGroup(protocolOf(group), nicID, address(group))
	} else {
		n.LeaveGroup(protocolOf(group), nicID, address(group))
	}
}

// datagram says where a datagram goes.
type datagram struct {
	from, to netip.AddrPort
	ttl, tos uint8
}

// parse reads the control messages of a datagram that the program has sent.
func parse(control []byte) (d datagram, ok bool) {
	all, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return d, false
	}
	for _, m := range all {
		switch m.Header.Type {
		case ipv6OrigDst:
			if len(m.Data) < syscall.SizeofSockaddrInet6 {
				return d, false
			}
			a := netip.AddrFrom16([16]byte(m.Data[8:24])).Unmap()
			d.to, ok = netip.AddrPortFrom(a, binary.BigEndian.Uint16(m.Data[2:])), true
		case syscall.IPV6_HOPLIMIT:
			d.ttl = m.Data[0]
		case syscall.IPV6_TCLASS:
			d.tos = m.Data[0]
		}
	}
	return d, ok
}

// sendDatagram sends a datagram. One that cannot be sent is lost, as any may be.
func (n *network) sendDatagram(d datagram, data []byte) {
	local, remote := address(d.from.Addr()), address(d.to.Addr())
	route, err := n.FindRoute(nicID, local, remote, protocolOf(d.to.Addr()), false)
	if err != nil {
		return
	}
	defer route.Release()
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{
		ReserveHeaderBytes: header.UDPMinimumSize + int(route.MaxHeaderLength()),
		Payload:            buffer.MakeWithData(data),
	})
	defer p.DecRef()
	p.TransportProtocolNumber = udp.ProtocolNumber
	size := uint16(header.UDPMinimumSize + len(data))
	u := header.UDP(p.TransportHeader().Push(header.UDPMinimumSize))
	u.Encode(&header.UDPFields{SrcPort: d.from.Port(), DstPort: d.to.Port(), Length: size})
	sum := checksum.Checksum(data,
		header.PseudoHeaderChecksum(udp.ProtocolNumber, local, remote, size))
	if v := ^u.CalculateChecksum(sum); v != 0 {
		u.SetChecksum(v)
	} else {
		u.SetChecksum(0xffff) // 0 stands for none, RFC 768
	}
	how := stack.NetworkHeaderParams{Protocol: udp.ProtocolNumber, TTL: d.ttl, TOS: d.tos}
	route.WritePacket(how, p)
}
