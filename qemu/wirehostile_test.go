package qemu

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// A machine on a wire with a liar (liar_test.go), and a right client, which is gVisor's stack.

var liarSeeds = flag.Int("liar.seeds", 1000, "how many seeds TestInetHostileLong takes")

// saidOnly is what the serial port has at the end. A liar may offer more prefixes of version 6 than
// the machine takes, which it says once.
var saidOnly = regexp.MustCompile(
	`\nserving\r\n(inet: address \S+: no buffer space available; more of them are not told\r\n)?$`)

// attack is what is done to a machine.
type attack struct {
	cpus          int
	first, seeds  int
	frames, flood int // of a seed; connections that are begun
	ports         int // that are scanned, from 1 on and of those that the kernel gives
}

// TestInetHostile: whatever comes by the wire, a server goes on, for a right client too, in bounded
// memory, and nothing else is open.
func TestInetHostile(t *testing.T) {
	t.Parallel()
	attack{cpus: 1, first: 1, seeds: 2, frames: 500, flood: 1000, ports: 128}.run(t)
}

// TestInetHostileLong is that for ten minutes. (It is the last test of the folder's last file, since
// Go begins parallel tests from the last one on: it is not to run when all others are done.)
func TestInetHostileLong(t *testing.T) {
	t.Parallel()
	attack{cpus: 2, first: 100, seeds: *liarSeeds, frames: 2000, flood: 3000, ports: 512}.run(t)
}

func (a attack) run(t *testing.T) {
	h := newHostile(t, "virtio-net-pci", a.cpus)
	before := h.memory()
	for seed := a.first; seed < a.first+a.seeds; seed++ {
		t.Logf("seed %d", seed)
		l := newLiar(h, uint64(seed))
		for n := range a.frames {
			h.ether.conn.WriteTo(l.frame(), h.ether.qemu)
			if n%32 == 0 {
				h.keepUp()
			}
		}
		h.serves()
	}
	h.flood(a.flood)
	h.serves()
	h.bounded(before)
	h.scan(0, a.ports, 7, 80)
	h.scan(firstGiven, firstGiven+a.ports)
	h.serves()
	t.Logf("%d frames from the machine; in use before %+v, after %+v", h.heard, before, h.memory())
	if said := h.out.String(); !saidOnly.MatchString(said) {
		t.Errorf("the serial port has\n%s", said)
	}
}

// hostile is a server's machine, and its network's end of the wire.
type hostile struct {
	*neighbor

	mu    sync.Mutex
	seen  [][]byte              // the last frames of either side
	heard int                   // frames from the machine
	kept  map[uint32]chan bool  // of keepUp, by the asker's address
	opens map[uint16]layers.TCP // the answers to a scan, by port
	asked uint32
}

func newHostile(t *testing.T, model string, cpus int) *hostile {
	t.Helper()
	h := &hostile{kept: map[uint32]chan bool{}, opens: map[uint16]layers.TCP{}}
	h.neighbor = newNeighbor(t, newEther(t, model), 0, h.see, h.take)
	h.serve(Config{CPUs: cpus, MemoryMiB: hostileMiB})
	h.serves()
	return h
}

// hostileMiB is the machine's memory.
const hostileMiB = 96

// see keeps a frame for the liar.
func (h *hostile) see(b []byte) {
	const many = 64
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen[max(0, len(h.seen)-many):], b)
}

// take looks at a frame of the machine's.
func (h *hostile) take(p gopacket.Packet) {
	h.see(p.Data())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard++
	if a := arpOf(p); a != nil && a.Operation == layers.ARPReply && len(a.DstProtAddress) == 4 {
		if c := h.kept[binary.BigEndian.Uint32(a.DstProtAddress)]; c != nil {
			select {
			case c <- true:
			default:
			}
		}
	}
	if s, _ := p.Layer(layers.LayerTypeTCP).(*layers.TCP); s != nil && s.DstPort == scanPort && bytes.Equal(p.NetworkLayer().NetworkFlow().Dst().Raw(), scanner) {
		h.opens[uint16(s.SrcPort)] = *s
	}
}

// keepUp returns when the machine has taken all frames that were sent: who asks for its hardware
// address is answered.
func (h *hostile) keepUp() {
	h.t.Helper()
	h.asked++
	ip := net.IP{10, 9, 0, byte(100 + h.asked%100)}
	done, number := make(chan bool, 1), binary.BigEndian.Uint32(ip)
	h.mu.Lock()
	h.kept[number] = done
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.kept, number)
		h.mu.Unlock()
	}()
	await.Poll(h.t, "the machine answers who asks for it", func() bool {
		h.ether.arp(layers.ARPRequest, ip, guestIP, net.HardwareAddr{2, 0, 0, 0, 1, ip[3]})
		select {
		case <-done:
			return true
		case <-time.After(time.Second):
			return false
		}
	})
}

// serves has the right client ask each server.
func (h *hostile) serves() {
	h.t.Helper()
	if got := h.get("/"); got != "hello from here" {
		h.t.Fatalf("the server says %q", got)
	}
	await.Poll(h.t, "an echo of a datagram", h.answers)
}

func (h *hostile) bounded(before use) {
	h.t.Helper()
	h.asker.CloseIdleConnections() // the liar may have put bytes into the connection
	u := h.memory()
	if u.Heap > before.Heap+16<<20 || u.Memory > before.Memory+40<<20 || u.Goroutines > before.Goroutines+1500 {
		h.t.Errorf("in use are %+v; before the attack it was %+v", u, before)
	}
}

// flood begins connections that it does not go on with.
func (h *hostile) flood(n int) {
	for i := range n {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.IP{192, 0, byte(i >> 8), byte(i)}, DstIP: guestIP}
		s := &layers.TCP{SrcPort: layers.TCPPort(1024 + i), DstPort: 80, Seq: uint32(i), SYN: true, Window: 1000}
		s.SetNetworkLayerForChecksum(ip)
		h.ether.send(&layers.Ethernet{SrcMAC: routerMAC, DstMAC: guestMAC, EthernetType: layers.EthernetTypeIPv4}, ip, s)
		if i%32 == 0 {
			h.keepUp()
		}
	}
}

// The scanner's address and port.
var scanner = net.IP{10, 9, 0, 77}

const scanPort = 4242

// firstGiven is the first port that the kernel gives to sockets without one.
const firstGiven = 32768

// scan asks for connections to ports: those of the program are open alone.
func (h *hostile) scan(from, to int, want ...int) {
	h.t.Helper()
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 77}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: scanner, DstIP: guestIP}
	var open []int
	const at = 32 // at a time
	for first := from; first < to; first += at {
		await.Poll(h.t, fmt.Sprintf("an answer of each of the ports from %d", first), func() bool {
			all := true
			h.ether.arp(layers.ARPRequest, scanner, guestIP, mac) // the machine forgets it after a while
			for port := first; port < first+at; port++ {
				h.mu.Lock()
				_, known := h.opens[uint16(port)]
				h.mu.Unlock()
				if known || port == 0 {
					continue
				}
				all = false
				s := &layers.TCP{SrcPort: scanPort, DstPort: layers.TCPPort(port), Seq: 1, SYN: true, Window: 1000}
				s.SetNetworkLayerForChecksum(ip)
				h.ether.send(&layers.Ethernet{SrcMAC: mac, DstMAC: guestMAC, EthernetType: layers.EthernetTypeIPv4}, ip, s)
			}
			if !all {
				h.keepUp()
			}
			return all
		})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, port := range slices.Sorted(maps.Keys(h.opens)) {
		if s := h.opens[port]; !s.RST && int(port) >= from {
			open = append(open, int(port))
		}
	}
	if !slices.Equal(open, want) {
		h.t.Errorf("the ports %v are open; want %v", open, want)
	}
}
