package receive

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

var when = time.Date(2026, 11, 21, 18, 0, 0, 123456000, time.UTC)

// packet serializes layers.
func packet(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, all...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ethernet(t layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: t}
}

func ipv4() *layers.IPv4 {
	return &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, 7}, DstIP: net.IP{10, 0, 0, 1}}
}

func ipv6() *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: net.ParseIP("fd00::7"), DstIP: net.ParseIP("fd00::1")}
}

func udp() *layers.UDP { return &layers.UDP{SrcPort: 6665, DstPort: 6666} }

// pcap writes a capture file.
func pcap(t testing.TB, link layers.LinkType, packets ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	if err := w.WriteFileHeader(65536, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: when, CaptureLength: len(p), Length: len(p)}, p); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// pcapng writes the other kind.
func pcapng(t testing.TB, link layers.LinkType, packets ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriter(&b, link)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: when, CaptureLength: len(p), Length: len(p)}, p); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	return b.Bytes()
}

// read returns what is in a capture, a line each.
func read(t testing.TB, file []byte, port uint16) (all []string, s CaptureStats) {
	t.Helper()
	s, err := Datagrams(bytes.NewReader(file), CaptureOptions{Port: port}, func(at time.Time, from netip.AddrPort, payload []byte) {
		if !at.Equal(when) {
			t.Errorf("captured at %v, want %v", at, when)
		}
		all = append(all, fmt.Sprintf("%s %s", from, payload))
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, s
}

// cooked is the header of Linux's cooked captures: version 1 (16 bytes) or 2 (20).
func cooked(version int, of layers.EthernetType) []byte {
	if version == 1 {
		return append(make([]byte, 14), byte(of>>8), byte(of))
	}
	return append([]byte{byte(of >> 8), byte(of)}, make([]byte, 18)...)
}

func TestLinks(t *testing.T) {
	four := packet(t, ipv4(), udp(), gopacket.Payload("hello"))
	six := packet(t, ipv6(), udp(), gopacket.Payload("hello"))
	vlan := func(next layers.EthernetType, id uint16) *layers.Dot1Q {
		return &layers.Dot1Q{VLANIdentifier: id, Type: next}
	}
	const from4, from6 = "10.0.0.7:6665 hello", "[fd00::7]:6665 hello"
	for name, c := range map[string]struct {
		link layers.LinkType
		data []byte
		want string
	}{
		"Ethernet":      {layers.LinkTypeEthernet, packet(t, ethernet(layers.EthernetTypeIPv4), gopacket.Payload(four)), from4},
		"Ethernet, 6":   {layers.LinkTypeEthernet, packet(t, ethernet(layers.EthernetTypeIPv6), gopacket.Payload(six)), from6},
		"padded":        {layers.LinkTypeEthernet, append(packet(t, ethernet(layers.EthernetTypeIPv4), gopacket.Payload(four)), make([]byte, 30)...), from4},
		"VLAN":          {layers.LinkTypeEthernet, packet(t, ethernet(layers.EthernetTypeDot1Q), vlan(layers.EthernetTypeIPv4, 7), gopacket.Payload(four)), from4},
		"VLAN in VLAN":  {layers.LinkTypeEthernet, packet(t, ethernet(layers.EthernetTypeQinQ), vlan(layers.EthernetTypeDot1Q, 7), vlan(layers.EthernetTypeIPv6, 8), gopacket.Payload(six)), from6},
		"raw":           {layers.LinkTypeRaw, four, from4},
		"raw, 6":        {layers.LinkTypeRaw, six, from6},
		"raw, BSD":      {linkRawBSD, four, from4},
		"raw IPv4":      {layers.LinkTypeIPv4, four, from4},
		"raw IPv6":      {layers.LinkTypeIPv6, six, from6},
		"cooked":        {layers.LinkTypeLinuxSLL, append(cooked(1, layers.EthernetTypeIPv4), four...), from4},
		"cooked, 2":     {linkSLL2, append(cooked(2, layers.EthernetTypeIPv6), six...), from6},
		"loopback, BSD": {layers.LinkTypeNull, append([]byte{2, 0, 0, 0}, four...), from4},
	} {
		for kind, file := range map[string][]byte{"pcap": pcap(t, c.link, c.data), "pcapng": pcapng(t, c.link, c.data)} {
			if got, s := read(t, file, 6666); len(got) != 1 || got[0] != c.want {
				t.Errorf("%s, %s: %q, want %q; %+v", name, kind, got, c.want, s)
			}
		}
	}
}

func TestPortAndOthers(t *testing.T) {
	to53 := udp()
	to53.DstPort = 53
	file := pcap(t, layers.LinkTypeEthernet,
		packet(t, ethernet(layers.EthernetTypeIPv4), ipv4(), to53, gopacket.Payload("query")),
		packet(t, ethernet(layers.EthernetTypeIPv4), ipv4(), udp(), gopacket.Payload("line")),
		packet(t, ethernet(layers.EthernetTypeARP), gopacket.Payload(make([]byte, 28))),
		[]byte{1, 2, 3})
	if got, s := read(t, file, 6666); len(got) != 1 || got[0] != "10.0.0.7:6665 line" || s.Packets != 4 || s.Malformed != 1 {
		t.Errorf("%q, %+v", got, s)
	}
	if got, _ := read(t, file, 0); len(got) != 2 {
		t.Errorf("any port: %q", got)
	}
	// Big-endian, microseconds, as a machine of that kind writes them.
	var be bytes.Buffer
	binary.Write(&be, binary.BigEndian, []uint32{0xa1b2c3d4, 2<<16 | 4, 0, 0, 0, 1})
	p := packet(t, ethernet(layers.EthernetTypeIPv4), ipv4(), udp(), gopacket.Payload("big"))
	binary.Write(&be, binary.BigEndian, []uint32{uint32(when.Unix()), uint32(when.Nanosecond() / 1000), uint32(len(p)), uint32(len(p))})
	be.Write(p)
	if got, _ := read(t, be.Bytes(), 6666); len(got) != 1 || got[0] != "10.0.0.7:6665 big" {
		t.Errorf("big-endian: %q", got)
	}
	// Compressed, and cut: what there is counts.
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(file)
	w.Close()
	if got, _ := read(t, gz.Bytes(), 6666); len(got) != 1 {
		t.Errorf("gzip: %q", got)
	}
	if got, s := read(t, file[:len(file)-60], 6666); len(got) != 1 || !s.Cut {
		t.Errorf("cut: %q, %+v", got, s)
	}
}

// fragments4 cuts an IPv4 packet into fragments.
func fragments4(t testing.TB, size int, payload string) (all [][]byte) {
	whole := packet(t, udp(), gopacket.Payload(payload))
	for at := 0; at < len(whole); at += size {
		ip := ipv4()
		ip.Id = 7
		ip.FragOffset = uint16(at / 8)
		end := min(at+size, len(whole))
		if end < len(whole) {
			ip.Flags = layers.IPv4MoreFragments
		}
		all = append(all, packet(t, ethernet(layers.EthernetTypeIPv4), ip, gopacket.Payload(whole[at:end])))
	}
	return all
}

func fragments6Of(t testing.TB, size int, payload string) (all [][]byte) {
	whole := packet(t, udp(), gopacket.Payload(payload))
	for at := 0; at < len(whole); at += size {
		ip := ipv6()
		ip.NextHeader = layers.IPProtocolIPv6Fragment
		end := min(at+size, len(whole))
		header := []byte{byte(layers.IPProtocolUDP), 0, byte(at >> 8), byte(at), 0, 0, 0, 9}
		if end < len(whole) {
			header[3] |= 1
		}
		all = append(all, packet(t, ethernet(layers.EthernetTypeIPv6), ip, gopacket.Payload(append(header, whole[at:end]...))))
	}
	return all
}

func TestFragments(t *testing.T) {
	payload := strings.Repeat("0123456789abcdef", 200)
	p := fragments4(t, 1480, payload)
	if len(p) != 3 {
		t.Fatalf("%d fragments", len(p))
	}
	for order, parts := range map[string][][]byte{"in order": p, "reversed": {p[2], p[1], p[0]}, "one twice": {p[1], p[0], p[0], p[2]}} {
		if got, s := read(t, pcap(t, layers.LinkTypeEthernet, parts...), 6666); len(got) != 1 || got[0] != "10.0.0.7:6665 "+payload {
			t.Errorf("%s: %d datagrams, %+v", order, len(got), s)
		}
	}
	if got, _ := read(t, pcap(t, layers.LinkTypeEthernet, p[0], p[2]), 6666); len(got) != 0 {
		t.Errorf("a datagram without its middle: %q", got)
	}
	// Those of IPv6, which no machine sends, are no datagrams, and are counted.
	if got, s := read(t, pcap(t, layers.LinkTypeEthernet, fragments6Of(t, 1440, payload)...), 6666); len(got) != 0 || s.Short != 3 {
		t.Errorf("fragments of IPv6: %q, %+v", got, s)
	}
}

func TestShortCapture(t *testing.T) {
	p := packet(t, ethernet(layers.EthernetTypeIPv4), ipv4(), udp(), gopacket.Payload(strings.Repeat("x", 100)))
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	w.WriteFileHeader(64, layers.LinkTypeEthernet)
	w.WritePacket(gopacket.CaptureInfo{Timestamp: when, CaptureLength: 64, Length: len(p)}, p[:64])
	if got, s := read(t, b.Bytes(), 6666); len(got) != 0 || s.Short != 1 {
		t.Errorf("%q, %+v; want one that is short", got, s)
	}
}

// A file that lies about lengths neither takes memory nor panics.
func TestHostileFiles(t *testing.T) {
	le := binary.LittleEndian
	huge := pcap(t, layers.LinkTypeEthernet, make([]byte, 60))
	le.PutUint32(huge[16:], 0xffffffff) // snap length
	le.PutUint32(huge[24+8:], 0xfffffff0)
	le.PutUint32(huge[24+12:], 0xfffffff0)
	ng := pcapng(t, layers.LinkTypeEthernet, make([]byte, 60))
	ngBlock := bytes.Clone(ng)
	last := len(ngBlock) - (32 + 60)
	le.PutUint32(ngBlock[last+4:], 0x7ffffff0)
	ngLength := bytes.Clone(ng)
	le.PutUint32(ngLength[last+20:], 0x7ffffff0)
	for name, file := range map[string][]byte{
		"a huge packet": huge, "a huge block": ngBlock, "a packet larger than its block": ngLength,
		"empty": {}, "three bytes": {1, 2, 3}, "no capture": []byte("hello, world, this is no capture at all"),
		"a header alone": huge[:20],
	} {
		var m runtimeMem
		m.before()
		_, err := Datagrams(bytes.NewReader(file), CaptureOptions{}, func(time.Time, netip.AddrPort, []byte) {})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if n := m.grown(); n > 8<<20 {
			t.Errorf("%s: took %d bytes", name, n)
		}
	}
}

func FuzzCapture(f *testing.F) {
	four := packet(f, ethernet(layers.EthernetTypeIPv4), ipv4(), udp(), gopacket.Payload("hello"))
	f.Add(pcap(f, layers.LinkTypeEthernet, four))
	f.Add(pcapng(f, layers.LinkTypeEthernet, four))
	f.Add(pcap(f, layers.LinkTypeEthernet, fragments4(f, 64, strings.Repeat("x", 300))...))
	f.Add(pcap(f, layers.LinkTypeEthernet, fragments6Of(f, 64, strings.Repeat("x", 300))...))
	f.Add(pcap(f, linkSLL2, append(cooked(2, layers.EthernetTypeIPv4), four[14:]...)))
	f.Fuzz(func(t *testing.T, file []byte) {
		total := 0
		Datagrams(bytes.NewReader(file), CaptureOptions{}, func(_ time.Time, _ netip.AddrPort, payload []byte) { total += len(payload) })
		if total > 40*len(file) && len(file) < 1<<16 && !bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
			t.Errorf("%d bytes of datagrams from a file of %d", total, len(file))
		}
	})
}
