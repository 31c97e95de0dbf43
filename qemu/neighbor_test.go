package qemu

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The machine as a neighbour: here the test is the network. QEMU hands on each frame as a
// UDP datagram, and takes others.

// ether is the network's end of the wire to one machine.
type ether struct {
	t      *testing.T
	conn   *net.UDPConn
	qemu   *net.UDPAddr
	args   []string
	frames chan gopacket.Packet
}

var (
	routerMAC  = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	guestMAC   = net.HardwareAddr{0x52, 0x54, 0, 0x12, 0x34, 0x56}
	everyone   = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	routerIP   = net.IP{10, 9, 0, 1}
	guestIP    = net.IP{10, 9, 0, 2}
	receiverIP = net.IP{192, 0, 2, 7}
)

func newEther(t *testing.T, model string) *ether {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	e := &ether{t: t, conn: conn, frames: make(chan gopacket.Packet, 10000)}
	if e.qemu, err = net.ResolveUDPAddr("udp4", freePort(t, "udp4")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.conn.Close() })
	largeBuffer(t, e.conn)
	e.args = []string{
		"-netdev", fmt.Sprintf("dgram,id=net0,local.type=inet,local.host=%v,local.port=%d,remote.type=inet,remote.host=127.0.0.1,remote.port=%d",
			e.qemu.IP, e.qemu.Port, e.conn.LocalAddr().(*net.UDPAddr).Port),
		"-device", model + ",netdev=net0,mac=" + guestMAC.String(),
	}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := e.conn.Read(b)
			if err != nil {
				return
			}
			e.frames <- gopacket.NewPacket(b[:n], layers.LayerTypeEthernet, gopacket.Default)
		}
	}()
	return e
}

// send sends a frame to the machine.
func (e *ether) send(l ...gopacket.SerializableLayer) {
	e.t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.conn.WriteTo(b.Bytes(), e.qemu); err != nil {
		e.t.Fatal(err)
	}
}

// await returns the next frame that is wanted; others are looked at and dropped.
func (e *ether) await(what string, wanted func(p gopacket.Packet) bool) gopacket.Packet {
	e.t.Helper()
	timeout := time.After(limit / 2)
	for {
		select {
		case p := <-e.frames:
			checkFrame(e.t, p)
			if wanted(p) {
				return p
			}
		case <-timeout:
			e.t.Fatalf("no %s came", what)
		}
	}
}

// checkFrame holds lengths and checksums of what the machine has sent against gopacket's.
func checkFrame(t *testing.T, p gopacket.Packet) {
	t.Helper()
	if e := p.ErrorLayer(); e != nil {
		t.Fatalf("%x: %v", p.Data(), e.Error())
	}
	var all []gopacket.SerializableLayer
	for _, l := range p.Layers() {
		switch l := l.(type) {
		case *layers.UDP:
			l.SetNetworkLayerForChecksum(p.NetworkLayer())
			all = append(all, l, gopacket.Payload(l.Payload))
		case *layers.TCP:
			l.SetNetworkLayerForChecksum(p.NetworkLayer())
			all = append(all, l, gopacket.Payload(l.Payload))
		case *layers.ICMPv4:
			all = append(all, l, gopacket.Payload(l.Payload))
		case *layers.Ethernet, *layers.ARP, *layers.IPv4:
			all = append(all, l.(gopacket.SerializableLayer))
		}
	}
	if ip, _ := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4); ip != nil && ip.TTL == 0 {
		t.Fatalf("%x: it has no hops to go", p.Data())
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatalf("%x: %v", p.Data(), err)
	}
	want := b.Bytes()
	if udp, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP); udp != nil && udp.Checksum == 0 {
		// A sum of 0 is sent as all ones (RFC 768), which gopacket does not do.
		copy(want[len(want)-len(udp.Payload)-2:], "\xff\xff")
	}
	if !bytes.Equal(want, p.Data()) {
		t.Fatalf("the machine sends\n%x, gopacket\n%x", p.Data(), want)
	}
}

func arpOf(p gopacket.Packet) *layers.ARP {
	a, _ := p.Layer(layers.LayerTypeARP).(*layers.ARP)
	return a
}

// asks reports whether a frame is an ARP request for an address.
func asks(ip net.IP) func(gopacket.Packet) bool {
	return func(p gopacket.Packet) bool {
		a := arpOf(p)
		return a != nil && a.Operation == layers.ARPRequest && bytes.Equal(a.DstProtAddress, ip)
	}
}

// logs reports whether a frame carries a log line to the receiver.
func logs(line string) func(gopacket.Packet) bool {
	return func(p gopacket.Packet) bool {
		udp, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		return udp != nil && udp.DstPort == 6666 && string(udp.Payload) == line+"\n"
	}
}

func (e *ether) arp(operation uint16, from, to net.IP, hardware net.HardwareAddr) {
	e.t.Helper()
	dst := everyone
	if operation == layers.ARPReply {
		dst = guestMAC
	}
	e.send(&layers.Ethernet{SrcMAC: hardware, DstMAC: dst, EthernetType: layers.EthernetTypeARP},
		&layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
			Operation: operation, SourceHwAddress: hardware, SourceProtAddress: from, DstHwAddress: guestMAC, DstProtAddress: to})
}

// netlog returns the program that says what it is told.
func netlog(t *testing.T, net bool) string {
	t.Helper()
	return built(t, image.BuildOptions{Package: "./testdata/netlog", Net: net})
}

func TestNeighbor(t *testing.T) {
	t.Parallel()
	path := netlog(t, true)
	for _, tt := range []struct{ machine, model string }{
		{"q35", "e1000"}, {"pc", "virtio-net-pci"}, {"q35", "e1000e"}, {"microvm", "virtio-net-device"},
	} {
		t.Run(tt.machine+"/"+tt.model, func(t *testing.T) {
			t.Parallel()
			e := newEther(t, tt.model)
			keys, say := io.Pipe()
			out := new(log)
			vm, err := Start(t.Context(), Config{
				Kernel: path, Machine: tt.machine, Extra: e.args, Timeout: limit, Stdin: keys, Stdout: out,
				Append: fmt.Sprintf("tty=raw echo=on ip=%v::%v:255.255.255.0 netconsole=@/,@%v/", guestIP, routerIP, receiverIP),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				vm.Kill()
				vm.Wait()
				if t.Failed() {
					t.Logf("serial port:\n%s", out)
				}
			}()

			// As long as it does not know better, it addresses all.
			first := e.await("line of the program", logs("netlog is there"))
			if eth := first.Layer(layers.LayerTypeEthernet).(*layers.Ethernet); !bytes.Equal(eth.DstMAC, everyone) {
				t.Errorf("the first line goes to %v; want %v", eth.DstMAC, everyone)
			}
			// It has said where it is and asks for the router, not for the receiver behind it.
			request := arpOf(e.await("request for the router", asks(routerIP)))
			if !bytes.Equal(request.SourceHwAddress, guestMAC) || !bytes.Equal(request.SourceProtAddress, guestIP) {
				t.Errorf("the request is from %v, %v", request.SourceHwAddress, request.SourceProtAddress)
			}
			e.arp(layers.ARPReply, routerIP, guestIP, routerMAC)
			i := 0
			await.Poll(t, "the router's address is learned", func() bool {
				line := fmt.Sprintf("line %d", i)
				i++
				fmt.Fprintf(say, "out %s\n", line)
				p := e.await(line, logs(line))
				if ip := p.NetworkLayer().(*layers.IPv4); !ip.DstIP.Equal(receiverIP) || !ip.SrcIP.Equal(guestIP) {
					t.Fatalf("from %v to %v", ip.SrcIP, ip.DstIP)
				}
				return bytes.Equal(p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC, routerMAC)
			})

			// Another machine asks for it, and pings it.
			other := net.HardwareAddr{2, 0, 0, 0, 0, 9}
			otherIP := net.IP{10, 9, 0, 9}
			e.arp(layers.ARPRequest, otherIP, guestIP, other)
			reply := arpOf(e.await("ARP reply", func(p gopacket.Packet) bool { a := arpOf(p); return a != nil && a.Operation == layers.ARPReply }))
			if !bytes.Equal(reply.SourceHwAddress, guestMAC) || !bytes.Equal(reply.SourceProtAddress, guestIP) || !bytes.Equal(reply.DstHwAddress, other) {
				t.Errorf("answered by %+v", reply)
			}
			eth := &layers.Ethernet{SrcMAC: other, DstMAC: guestMAC, EthernetType: layers.EthernetTypeIPv4}
			ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: otherIP, DstIP: guestIP}
			for seq := uint16(1); seq <= 20; seq++ {
				payload := bytes.Repeat([]byte{byte(seq)}, 70*int(seq))
				e.send(eth, ip, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 42, Seq: seq}, gopacket.Payload(payload))
				p := e.await("echo reply", func(p gopacket.Packet) bool { return p.Layer(layers.LayerTypeICMPv4) != nil })
				icmp := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
				if icmp.TypeCode.Type() != layers.ICMPv4TypeEchoReply || icmp.Id != 42 || icmp.Seq != seq || !bytes.Equal(icmp.Payload, payload) {
					t.Fatalf("ping %d is answered by %+v", seq, icmp)
				}
			}
			ip.Protocol = layers.IPProtocolUDP
			udp := &layers.UDP{SrcPort: 5000, DstPort: 7}
			udp.SetNetworkLayerForChecksum(ip)
			e.send(eth, ip, udp, gopacket.Payload("to port 7"))
			e.await("echo", func(p gopacket.Packet) bool {
				u, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
				return u != nil && u.SrcPort == 7 && u.DstPort == 5000 && string(u.Payload) == "to port 7"
			})

			fmt.Fprint(say, "end\n")
			if res, err := vm.Wait(); err != nil || res.Outcome != Exited || res.Program != 3 {
				t.Errorf("the machine: %v, status %d, %v; want status 3", res.Outcome, res.Program, err)
			}
			if strings.Contains(out.String(), "netup:") {
				t.Error("netup complains")
			}
		})
	}
}

// TestLogLines: what a program says, long lines and half ones, in both formats.
func TestLogLines(t *testing.T) {
	t.Parallel()
	path := netlog(t, false)
	for _, tt := range []struct {
		net      string
		extended bool
	}{{"virtio", false}, {"e1000", true}} {
		t.Run(fmt.Sprintf("%s/extended=%v", tt.net, tt.extended), func(t *testing.T) {
			t.Parallel()
			r := receive(t)
			option := r.option()
			if tt.extended {
				option = strings.Replace(option, "=", "=+", 1)
			}
			vm, out := start(t, Config{Kernel: path, Net: tt.net, Append: "tty=pipe " + option},
				"out to standard output\nerr to standard error\nmany \nend\n")
			if res, err := vm.Wait(); err != nil || res.Outcome != Exited || res.Program != 3 {
				t.Fatalf("the machine: %v, status %d, %v; want status 3", res.Outcome, res.Program, err)
			}
			_, want := saidOf(out.String(), "zeroframe ")
			var got strings.Builder
			for i, b := range r.all(t) {
				if !tt.extended {
					got.Write(b)
					continue
				}
				var level, number, usec uint64
				var flag rune
				header, text, ok := strings.Cut(string(b), ";")
				if n, err := fmt.Sscanf(header, "%d,%d,%d,%c", &level, &number, &usec, &flag); !ok || n != 4 || err != nil || level != 6 || number != uint64(i) {
					t.Fatalf("datagram %d is %q", i, b)
				}
				switch flag {
				case 'c':
					text = strings.TrimSuffix(text, "\n")
				case '-':
				default:
					t.Fatalf("datagram %d is %q", i, b)
				}
				got.WriteString(text)
			}
			if tt.extended {
				want = strings.NewReplacer("\t", `\x09`, "\r", `\x0d`, "ü", `\xc3\xbc`).Replace(want)
			}
			if got.String() != want {
				t.Errorf("arrived:\n%q\nthe serial port has:\n%q", got.String(), want)
			}
			if strings.Count(want, "of many") != 300 || !strings.HasSuffix(want, "no end") {
				t.Errorf("the program did not say all it should: %q", want)
			}
		})
	}
}
