package qemu

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// frame returns the first frame that is wanted; the others are not looked at.
func (e *ether) frame(what string, wanted func(p gopacket.Packet) bool) gopacket.Packet {
	e.t.Helper()
	for timeout := time.After(limit); ; {
		select {
		case p := <-e.frames:
			if wanted(p) {
				return p
			}
		case <-timeout:
			e.t.Fatalf("no %s came", what)
		}
	}
}

// groupFrames are the layers of a datagram of a neighbour's to an address, below UDP.
func groupFrames(to net.IP, mac net.HardwareAddr) (eth *layers.Ethernet, ip gopacket.NetworkLayer) {
	eth = &layers.Ethernet{SrcMAC: routerMAC, DstMAC: mac, EthernetType: layers.EthernetTypeIPv4}
	if to.To4() != nil {
		return eth, &layers.IPv4{Version: 4, TTL: 1, Protocol: layers.IPProtocolUDP, SrcIP: routerIP, DstIP: to.To4()}
	}
	eth.EthernetType = layers.EthernetTypeIPv6
	return eth, &layers.IPv6{Version: 6, HopLimit: 1, NextHeader: layers.IPProtocolUDP,
		SrcIP: net.ParseIP("fe80::1"), DstIP: to}
}

// TestInetGroups: a program hears what a neighbour sends to its groups, and to all machines, after
// the machine has told the routers of the groups; and what it sends itself goes out so, once.
func TestInetGroups(t *testing.T) {
	t.Parallel()
	elf := filepath.Join(t.TempDir(), "inet.elf")
	if out, err := exec.Command(zfCommand(t), "build", "-net", "-o", elf, "./testdata/inet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := newEther(t, "virtio-net-pci")
	vm, out := start(t, Config{Kernel: elf, Extra: e.args, Timeout: limit,
		Append: "report=off net=on ip=10.9.0.2::10.9.0.1:255.255.255.0 -- groups"}, "")
	for _, tt := range []struct {
		listens, to, mac string
		joined           func(p gopacket.Packet) bool
		from             string
	}{
		{"239.1.2.3:5000", "239.1.2.3", "01:00:5e:01:02:03", func(p gopacket.Packet) bool {
			l, _ := p.Layer(layers.LayerTypeIGMP).(*layers.IGMP)
			return l != nil && len(l.GroupRecords) == 1 && l.GroupRecords[0].MulticastAddress.Equal(net.IP{239, 1, 2, 3})
		}, "10.9.0.1:9"},
		{"[ff02::1234]:5000", "ff02::1234", "33:33:00:00:12:34", func(p gopacket.Packet) bool {
			l, _ := p.Layer(layers.LayerTypeMLDv2MulticastListenerReport).(*layers.MLDv2MulticastListenerReportMessage)
			return l != nil && len(l.MulticastAddressRecords) == 1 &&
				l.MulticastAddressRecords[0].MulticastAddress.Equal(net.ParseIP("ff02::1234"))
		}, "[fe80::1%eth0]:9"},
		{"all", "255.255.255.255", everyone.String(), nil, "10.9.0.1:9"},
	} {
		out.For(t, "listens: "+tt.listens+"\r\n")
		if tt.joined != nil {
			e.frame("report of "+tt.to, tt.joined)
		}
		mac, err := net.ParseMAC(tt.mac)
		if err != nil {
			t.Fatal(err)
		}
		eth, ip := groupFrames(net.ParseIP(tt.to), mac)
		udp := &layers.UDP{SrcPort: 9, DstPort: 5000}
		udp.SetNetworkLayerForChecksum(ip)
		e.send(eth, ip.(gopacket.SerializableLayer), udp, gopacket.Payload("for "+tt.to))
		out.For(t, fmt.Sprintf("heard: %s for %s <nil>\r\n", tt.from, tt.to))
	}
	for _, tt := range []struct{ to, mac, from string }{
		{"239.1.2.3", "01:00:5e:01:02:03", "10.9.0.2"},
		{"ff02::1234", "33:33:00:00:12:34", "fe80::5054:ff:fe12:3456"},
		{"255.255.255.255", everyone.String(), "10.9.0.2"},
		{"10.9.0.255", everyone.String(), "10.9.0.2"},
	} {
		p := e.frame("datagram to "+tt.to, func(p gopacket.Packet) bool {
			u, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
			return u != nil && u.DstPort == 5001
		})
		to := strings.Replace(tt.to, "1234", "1234%eth0", 1)
		if got, want := fmt.Sprint(p.NetworkLayer().NetworkFlow(), p.LinkLayer().LinkFlow().Dst(), " ", string(p.ApplicationLayer().Payload())),
			fmt.Sprintf("%s->%s %s to ", tt.from, tt.to, tt.mac); !strings.HasPrefix(got, want) || !strings.Contains(got, to) {
			t.Errorf("the machine sends %s; want %s%s", got, want, to)
		}
	}
	vm.Wait()
	if got := out.String(); !strings.Contains(got, "heard: 10.9.0.2:") || !strings.Contains(got, " myself <nil>\r\nstream: true\r\n") {
		t.Errorf("the program says\n%s", got)
	}
}
