package qemu

import (
	"encoding/binary"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// TestInetLease: a machine that a neighbour floods with the prefixes of networks still takes the
// address that a server leases to it, though the server is slow.
func TestInetLease(t *testing.T) {
	t.Parallel()
	elf := filepath.Join(t.TempDir(), "inet.elf")
	if out, err := exec.Command(zfCommand(t), "build", "-net", "-o", elf, "./testdata/inet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := newEther(t, "virtio-net-pci")
	vm, out := start(t, Config{Kernel: elf, Extra: e.args, Timeout: limit, Append: "report=off net=on -- lease"}, "")
	e.frame("word to the routers", func(p gopacket.Packet) bool {
		return p.Layer(layers.LayerTypeICMPv6RouterSolicitation) != nil
	})
	e.advertise(12)
	out.For(t, "of version 6: 6\r\n")
	leased := make(chan bool)
	var serving sync.WaitGroup
	defer serving.Wait() // before the end of the wire
	defer close(leased)
	serving.Go(func() {
		var before *layers.DHCPv4
		for {
			select {
			case p := <-e.frames:
				d, _ := p.Layer(layers.LayerTypeDHCPv4).(*layers.DHCPv4)
				if d != nil && kindOf(d) == layers.DHCPMsgTypeDiscover {
					before, d = d, before // an offer comes when the machine has asked once more
				}
				if d != nil {
					e.lease(d, guestIP, time.Hour, false)
				}
			case <-leased:
				return
			}
		}
	})
	out.For(t, "of version 4: 1\r\n")
	if res, err := vm.Wait(); err != nil || res.Program != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// advertise sends the prefixes of that many networks, as a router does.
func (e *ether) advertise(networks byte) {
	e.t.Helper()
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: net.ParseIP("fe80::1"), DstIP: net.ParseIP("ff02::1")}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeRouterAdvertisement, 0)}
	icmp.SetNetworkLayerForChecksum(ip)
	says := &layers.ICMPv6RouterAdvertisement{HopLimit: 64, RouterLifetime: 1800}
	for n := range networks {
		prefix := net.ParseIP("2001:db8::")
		prefix[5] = n
		says.Options = append(says.Options, layers.ICMPv6Option{Type: layers.ICMPv6OptPrefixInfo,
			Data: append([]byte{64, 0xc0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, prefix...)})
	}
	e.send(&layers.Ethernet{SrcMAC: routerMAC, DstMAC: net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, EthernetType: layers.EthernetTypeIPv6}, ip, icmp, says)
}

// TestInetRenew: an address is asked for again in time, one that the server takes back is given up
// at once, and the machine takes the next.
func TestInetRenew(t *testing.T) {
	t.Parallel()
	e := newEther(t, "virtio-net-pci")
	vm, _ := start(t, Config{Kernel: built(t, image.BuildOptions{Package: "./testdata/inet", Inet: true}), Extra: e.args,
		Timeout: 2 * limit, Append: "report=off net=on -- serve"}, "")
	next := net.IP{10, 9, 0, 3}
	renewed, back := 0, false
	e.frame("answer by the next address", func(p gopacket.Packet) bool {
		if d, _ := p.Layer(layers.LayerTypeDHCPv4).(*layers.DHCPv4); d != nil {
			ip := guestIP
			if d.ClientIP.Equal(guestIP) {
				renewed++
			}
			if back = back || renewed == 3; back {
				ip = next
			}
			e.lease(d, ip, 4*time.Second, back && d.ClientIP.Equal(guestIP))
		}
		if !back {
			return false
		}
		// Of the one that is taken back the machine knows nothing when it answers for the next.
		e.arp(layers.ARPRequest, routerIP, next, routerMAC)
		a := arpOf(p)
		return a != nil && a.Operation == layers.ARPReply && net.IP(a.SourceProtAddress).Equal(next)
	})
	ask := func() {
		e.arp(layers.ARPRequest, routerIP, guestIP, routerMAC)
		e.arp(layers.ARPRequest, routerIP, next, net.HardwareAddr{2, 0, 0, 0, 0, 9})
	}
	ask()
	e.frame("answer to the last question", func(p gopacket.Packet) bool {
		// On a busy host the lease may end before the question is read.
		if d, _ := p.Layer(layers.LayerTypeDHCPv4).(*layers.DHCPv4); d != nil {
			e.lease(d, next, 4*time.Second, false)
			ask()
		}
		a := arpOf(p)
		if a == nil || a.Operation != layers.ARPReply {
			return false
		}
		if net.IP(a.SourceProtAddress).Equal(guestIP) {
			t.Error("the machine answers for an address that it has no more")
		}
		return a.DstHwAddress[5] == 9
	})
	vm.Kill()
}

// lease answers a DHCP client, or refuses what it asks for.
func (e *ether) lease(asked *layers.DHCPv4, to net.IP, length time.Duration, refuse bool) {
	answer := map[layers.DHCPMsgType]layers.DHCPMsgType{layers.DHCPMsgTypeDiscover: layers.DHCPMsgTypeOffer,
		layers.DHCPMsgTypeRequest: layers.DHCPMsgTypeAck}
	if refuse {
		answer[layers.DHCPMsgTypeRequest] = layers.DHCPMsgTypeNak
	}
	kind := answer[kindOf(asked)]
	if kind == 0 {
		return
	}
	udp := &layers.UDP{SrcPort: 67, DstPort: 68}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: routerIP, DstIP: net.IPv4bcast}
	udp.SetNetworkLayerForChecksum(ip)
	e.send(&layers.Ethernet{SrcMAC: routerMAC, DstMAC: everyone, EthernetType: layers.EthernetTypeIPv4}, ip, udp,
		&layers.DHCPv4{Operation: layers.DHCPOpReply, HardwareType: layers.LinkTypeEthernet, HardwareLen: 6, Xid: asked.Xid,
			YourClientIP: to, ClientHWAddr: asked.ClientHWAddr, Options: layers.DHCPOptions{
				layers.NewDHCPOption(layers.DHCPOptMessageType, []byte{byte(kind)}),
				layers.NewDHCPOption(layers.DHCPOptServerID, routerIP.To4()),
				layers.NewDHCPOption(layers.DHCPOptLeaseTime, binary.BigEndian.AppendUint32(nil, uint32(length.Seconds()))),
				layers.NewDHCPOption(layers.DHCPOptSubnetMask, []byte{255, 255, 255, 0}),
				layers.NewDHCPOption(layers.DHCPOptRouter, routerIP.To4()),
			}})
}

// kindOf returns what kind of message of DHCP it is; 0: none.
func kindOf(d *layers.DHCPv4) layers.DHCPMsgType {
	for _, o := range d.Options {
		if o.Type == layers.DHCPOptMessageType && len(o.Data) == 1 {
			return layers.DHCPMsgType(o.Data[0])
		}
	}
	return 0
}
