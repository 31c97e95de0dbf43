package inet

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
)

// A lease is asked for before there is an address, so its datagrams pass the stack by: they are
// made and read here.

const (
	dhcpServer = 67 // ports, RFC 2131
	dhcpClient = 68
	// firstTry and longestTry bound how long an answer is waited for, before the next question.
	firstTry   = 500 * time.Millisecond
	longestTry = 30 * time.Second
	// tries is how often one question for a lease is sent; each wait for its answer is twice as long as
	// the one before, and a late answer counts. After the last one there is a pause of leastPause or
	// more, without a timer of the runtime's: in it findAsleep can find the program asleep.
	tries      = 4
	leastPause = 8 * time.Second
	leastLease = 4 * time.Second // a shorter one is asked for again as if it were of this length
)

// lease gets an address from a server, and keeps it for as long as the program runs.
func (n *network) lease() {
	a := nic.Address()
	hardware := net.HardwareAddr(a[:])
	var have netip.Prefix
	var lease *nclient4.Lease
	for wait := firstTry; ; {
		again, limit := 1, wait
		if lease == nil {
			again, limit = tries, firstTry
		}
		c, err := nclient4.NewWithConn(n.card.dhcp.open(), hardware, nclient4.WithTimeout(limit),
			nclient4.WithRetry(again))
		if err == nil {
			ctx := context.Background()
			var got *nclient4.Lease
			if lease != nil {
				got, err = c.Renew(ctx, lease)
			} else {
				got, err = c.Request(ctx, dhcpv4.WithRequestedOptions(dhcpv4.OptionDomainName,
					dhcpv4.OptionDNSDomainSearchList, dhcpv4.OptionHostName))
			}
			c.Close()
			if err == nil && usable(got.ACK.YourIPAddr) {
				lease, wait = got, firstTry
				have = n.use(lease.ACK, have)
				<-n.clock.after(max(lease.ACK.IPAddressLeaseTime(time.Hour), leastLease) / 2)
				continue
			}
		}
		var refused *nclient4.ErrNak
		if lease != nil && (errors.As(err, &refused) ||
			time.Since(lease.CreationTime) > lease.ACK.IPAddressLeaseTime(time.Hour)) {
			n.removeAddress(have)
			lease, have, wait = nil, netip.Prefix{}, firstTry
		}
		pause := wait
		if again == tries && errors.Is(err, nclient4.ErrNoResponse) {
			pause = max(wait, leastPause)
		}
		<-n.clock.after(pause)
		wait = min(2*wait, longestTry)
	}
}

// usable reports whether a machine can have an address: anybody on the network can offer one.
func usable(a net.IP) bool {
	return a.IsGlobalUnicast() || a.IsLinkLocalUnicast()
}

// use takes what a server has given; was is the address until now, if it is valid.
func (n *network) use(ack *dhcpv4.DHCPv4, was netip.Prefix) netip.Prefix {
	ip, _ := netip.AddrFromSlice(ack.YourIPAddr.To4())
	ones, _ := ack.SubnetMask().Size()
	p := netip.PrefixFrom(ip, ones)
	var servers []netip.Addr
	for _, s := range ack.DNS() {
		if a, ok := netip.AddrFromSlice(s.To4()); ok {
			servers = append(servers, a)
		}
	}
	var domains []string
	if s := ack.DomainSearch(); s != nil {
		domains = s.Labels
	} else if d := ack.DomainName(); d != "" {
		domains = []string{d}
	}
	n.nameServers("dhcp", servers, domains)
	if h := ack.HostName(); h != "" {
		syscall.Sethostname([]byte(h))
	}
	if p != was {
		if was.IsValid() {
			n.removeAddress(was)
		}
		var gateway netip.Addr
		if r := ack.Router(); len(r) > 0 {
			gateway, _ = netip.AddrFromSlice(r[0].To4())
		}
		n.routeBy(p, gateway)
		n.addAddress(p, gateway)
	}
	return p
}

// dhcpConn sends and receives the datagrams of DHCP in frames of the card.
type dhcpConn struct {
	card   *card
	in     chan []byte
	closed chan struct{}
}

func newDHCPConn(c *card) *dhcpConn { return &dhcpConn{card: c, in: make(chan []byte, 8)} }

// open makes it ready for a client, which closes it.
func (c *dhcpConn) open() *dhcpConn {
	return &dhcpConn{c.card, c.in, make(chan struct{})}
}

// takes reports whether a frame is for the client; then it is kept.
func (c *dhcpConn) takes(frame []byte) bool {
	const start = header.EthernetMinimumSize
	if len(frame) < start || header.Ethernet(frame).Type() != header.IPv4ProtocolNumber {
		return false
	}
	ip := header.IPv4(frame[start:])
	if !ip.IsValid(len(ip)) || !ip.IsChecksumValid() ||
		ip.TransportProtocol() != header.UDPProtocolNumber || ip.FragmentOffset() != 0 || ip.More() {
		return false
	}
	u := header.UDP(ip.Payload())
	if len(u) < header.UDPMinimumSize || u.SourcePort() != dhcpServer ||
		u.DestinationPort() != dhcpClient {
		return false
	}
	data, ok := undamaged(u, u[header.UDPMinimumSize:], ip, header.IPv4ProtocolNumber)
	if !ok {
		return false
	}
	select {
	case c.in <- bytes.Clone(data):
	default: // nobody asks
	}
	return true
}

func (c *dhcpConn) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case m := <-c.in:
		return copy(b, m), &net.UDPAddr{Port: dhcpServer}, nil
	case <-c.closed:
		return 0, nil, net.ErrClosed
	}
}

// WriteTo sends to all machines of the wire, from no address.
func (c *dhcpConn) WriteTo(b []byte, _ net.Addr) (int, error) {
	const start, up = header.EthernetMinimumSize, header.IPv4MinimumSize
	frame := make([]byte, start+up+header.UDPMinimumSize+len(b))
	a := nic.Address()
	header.Ethernet(frame).Encode(&header.EthernetFields{SrcAddr: tcpip.LinkAddress(a[:]),
		DstAddr: header.EthernetBroadcastAddress, Type: header.IPv4ProtocolNumber})
	size := uint16(header.UDPMinimumSize + len(b))
	ip := header.IPv4(frame[start:])
	ip.Encode(&header.IPv4Fields{TotalLength: up + size, TTL: 64,
		Protocol: uint8(header.UDPProtocolNumber),
		SrcAddr:  header.IPv4Any, DstAddr: header.IPv4Broadcast})
	ip.SetChecksum(^ip.CalculateChecksum())
	u := header.UDP(ip[up:])
	u.Encode(&header.UDPFields{SrcPort: dhcpClient, DstPort: dhcpServer, Length: size})
	copy(u[header.UDPMinimumSize:], b)
	sum := header.PseudoHeaderChecksum(header.UDPProtocolNumber, header.IPv4Any,
		header.IPv4Broadcast, size)
	u.SetChecksum(^u.CalculateChecksum(checksum.Checksum(b, sum)))
	if _, err := c.card.file.Write(frame); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *dhcpConn) Close() error {
	close(c.closed)
	return nil
}

func (c *dhcpConn) LocalAddr() net.Addr              { return &net.UDPAddr{Port: dhcpClient} }
func (c *dhcpConn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *dhcpConn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *dhcpConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
