package inet

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/linux"
)

// packet is one of TCP, from port 1 to port 2.
type packet struct {
	six           bool
	sequence, ack uint32
	flags         header.TCPFlags
	options       []byte
	data          []byte
}

// bytes returns the packet with Ethernet's header, with a checksum of its own, or (open) that of the
// pseudo-header.
func (p packet) bytes(open bool) []byte {
	from, to := address(netip.MustParseAddr("10.0.2.2")), address(netip.MustParseAddr("10.0.2.15"))
	ip, protocol := header.IPv4MinimumSize, header.IPv4ProtocolNumber
	if p.six {
		from, to = address(netip.MustParseAddr("fec0::2")), address(netip.MustParseAddr("fec0::15"))
		ip, protocol = header.IPv6MinimumSize, header.IPv6ProtocolNumber
	}
	at := header.EthernetMinimumSize + ip
	head := header.TCPMinimumSize + len(p.options)
	b := make([]byte, at+head+len(p.data))
	header.Ethernet(b).Encode(&header.EthernetFields{SrcAddr: "\x52\x55\x0a\x00\x02\x02",
		DstAddr: "\x52\x54\x00\x12\x34\x56", Type: protocol})
	if p.six {
		header.IPv6(b[header.EthernetMinimumSize:]).Encode(&header.IPv6Fields{PayloadLength: uint16(len(b) - at),
			TransportProtocol: header.TCPProtocolNumber, HopLimit: 64, SrcAddr: from, DstAddr: to})
	} else {
		four := header.IPv4(b[header.EthernetMinimumSize:])
		four.Encode(&header.IPv4Fields{TotalLength: uint16(len(four)), ID: 7, TTL: 64,
			Protocol: uint8(header.TCPProtocolNumber), SrcAddr: from, DstAddr: to})
		four.SetChecksum(^four.CalculateChecksum())
	}
	tcp := header.TCP(b[at:])
	tcp.Encode(&header.TCPFields{SrcPort: 1, DstPort: 2, SeqNum: p.sequence, AckNum: p.ack,
		DataOffset: uint8(head), Flags: p.flags, WindowSize: 1000})
	copy(tcp[header.TCPMinimumSize:], p.options)
	copy(tcp[head:], p.data)
	tcp.SetChecksum(header.PseudoHeaderChecksum(header.TCPProtocolNumber, from, to, uint16(len(tcp))))
	if !open {
		tcp.SetChecksum(^checksum.Checksum(tcp, 0))
	}
	return b
}

// check returns what is wrong with a packet's checksums, and its TCP.
func check(t *testing.T, b []byte) (ip int, tcp header.TCP) {
	t.Helper()
	b = b[header.EthernetMinimumSize:]
	var from, to tcpip.Address
	if six := header.IPv6(b); header.IPVersion(b) == header.IPv6Version {
		ip, from, to = header.IPv6MinimumSize, six.SourceAddress(), six.DestinationAddress()
		if int(six.PayloadLength()) != len(b)-ip {
			t.Errorf("length %d in a packet of %d", six.PayloadLength(), len(b))
		}
	} else {
		four := header.IPv4(b)
		ip, from, to = header.IPv4MinimumSize, four.SourceAddress(), four.DestinationAddress()
		if int(four.TotalLength()) != len(b) || !four.IsChecksumValid() {
			t.Errorf("length %d in a packet of %d, checksum valid: %v", four.TotalLength(), len(b),
				four.IsChecksumValid())
		}
	}
	tcp = header.TCP(b[ip:])
	sum := checksum.Checksum(tcp.Payload(), 0)
	if !tcp.IsChecksumValid(from, to, sum, uint16(len(tcp.Payload()))) {
		t.Errorf("a wrong checksum in a packet of %d bytes", len(b))
	}
	return ip, tcp
}

// pattern returns n bytes in which no two parts are alike.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + i>>8*7)
	}
	return b
}

func frameOf(b []byte) (f linux.CardFrame) {
	f.Length = uint32(copy(f.Data[:], b))
	return f
}

// TestSplitJoin: what is split is right frame by frame, and the same when it is joined.
func TestSplitJoin(t *testing.T) {
	for _, six := range []bool{false, true} {
		for _, size := range []int{536, 1000, 1400, 1 << 16} {
			for _, n := range []int{0, 1, 535, 536, 537, 5000, 33000} {
				file, err := os.Create(filepath.Join(t.TempDir(), "card"))
				if err != nil {
					t.Fatal(err)
				}
				p := packet{six, 1<<32 - 700, 5, header.TCPFlagAck | header.TCPFlagPsh, []byte{1, 1, 1, 0}, pattern(n)}
				ip := header.IPv4MinimumSize
				if six {
					ip = header.IPv6MinimumSize
				}
				o, to := new(out), direct{fd: file.Fd()}
				o.split(to, p.bytes(true), ip, size)
				o.send(to)
				file.Close()
				sent, err := os.ReadFile(file.Name())
				if err != nil {
					t.Fatal(err)
				}
				head := header.EthernetMinimumSize + ip + header.TCPMinimumSize + len(p.options)
				each := min(size, longest-head)
				var frames []linux.CardFrame
				for len(sent) > 0 {
					length := min(len(sent), head+each)
					_, tcp := check(t, sent[:length])
					if last := length == len(sent); last != (tcp.Flags()&header.TCPFlagPsh != 0) {
						t.Errorf("the last frame: %v; flags %v", last, tcp.Flags())
					}
					frames = append(frames, frameOf(sent[:length]))
					sent = sent[length:]
				}
				if want := max(1, (n+each-1)/each); len(frames) != want {
					t.Errorf("%d bytes by %d make %d frames; want %d", n, each, len(frames), want)
				}
				got, joined := join(frames)
				want := p.bytes(false)
				id := header.EthernetMinimumSize + 4 // counts the frames, and is part of IP's checksum
				if !six {
					_, tcp := check(t, joined.AsSlice())
					copy(want[id:], joined.AsSlice()[id:id+8])
					if n > 0 && tcp.Flags() != p.flags {
						t.Errorf("flags %v", tcp.Flags())
					}
				}
				if got != len(frames) || !bytes.Equal(joined.AsSlice(), want) {
					t.Errorf("version 6: %v, %d bytes by %d: %d of %d frames are joined, as\n%x; want\n%x", six, n,
						each, got, len(frames), joined.AsSlice(), want)
				}
			}
		}
	}
}

// TestJoin: which frames go with the first, and what it is then.
func TestJoin(t *testing.T) {
	const ack = header.TCPFlagAck
	data := func(sequence uint32, n int) packet { return packet{sequence: sequence, flags: ack, data: pattern(n)} }
	acks := func(n uint32) packet { return packet{ack: n, flags: ack} }
	changed := func(p packet, f func(*packet)) packet { f(&p); return p }
	for name, tt := range map[string]struct {
		frames    []packet
		n, length int // with TCP's header
	}{
		"one":             {[]packet{data(0, 10)}, 1, 30},
		"two":             {[]packet{data(0, 10), data(10, 4)}, 2, 34},
		"a gap":           {[]packet{data(0, 10), data(11, 4)}, 1, 30},
		"the same again":  {[]packet{data(0, 10), data(0, 10)}, 1, 30},
		"odd":             {[]packet{data(0, 10), data(10, 5), data(15, 4)}, 2, 35},
		"later ack":       {[]packet{data(0, 10), changed(data(10, 4), func(p *packet) { p.ack = 9 })}, 2, 34},
		"earlier ack":     {[]packet{changed(data(0, 10), func(p *packet) { p.ack = 9 }), data(10, 4)}, 1, 30},
		"end":             {[]packet{data(0, 10), changed(data(10, 4), func(p *packet) { p.flags |= header.TCPFlagFin })}, 1, 30},
		"options":         {[]packet{data(0, 10), changed(data(10, 4), func(p *packet) { p.options = make([]byte, 4) })}, 1, 30},
		"another version": {[]packet{data(0, 10), changed(data(10, 4), func(p *packet) { p.six = true })}, 1, 30},
		"acks":            {[]packet{acks(1), acks(2), acks(9)}, 3, 20},
		"an ack twice":    {[]packet{acks(1), acks(2), acks(2)}, 2, 20},
		"ack, data":       {[]packet{acks(1), data(0, 10)}, 1, 20},
		"data, ack":       {[]packet{data(0, 10), changed(acks(1), func(p *packet) { p.sequence = 10 })}, 1, 30},
		"the longest":     {[]packet{data(0, 1400), data(1400, 1400)}, 2, 2820},
		"begin":           {[]packet{{flags: header.TCPFlagSyn}}, 0, 0},
	} {
		frames := make([]linux.CardFrame, len(tt.frames))
		for i, p := range tt.frames {
			frames[i] = frameOf(p.bytes(false))
			frames[i].Length = max(frames[i].Length, 60)
		}
		n, p := join(frames)
		if n != tt.n {
			t.Errorf("%s: %d frames; want %d", name, n, tt.n)
		}
		if n == 0 || n != tt.n {
			continue
		}
		_, tcp := check(t, p.AsSlice())
		if len(tcp) != tt.length || tcp.SequenceNumber() != tt.frames[0].sequence ||
			tcp.AckNumber() != tt.frames[n-1].ack {
			t.Errorf("%s: %d bytes from %d, acknowledges %d; want %d", name, len(tcp), tcp.SequenceNumber(),
				tcp.AckNumber(), tt.length)
		}
	}
}

// TestJoinDamaged: damage to any bit of a frame is damage to the packet, or keeps the frame out.
func TestJoinDamaged(t *testing.T) {
	first := packet{flags: header.TCPFlagAck, data: pattern(10)}.bytes(false)
	second := packet{sequence: 10, flags: header.TCPFlagAck, data: pattern(6)}.bytes(false)
	for bit := 8 * header.EthernetMinimumSize; bit < 8*len(second); bit++ {
		b := bytes.Clone(second)
		b[bit/8] ^= 1 << (bit % 8)
		n, p := join([]linux.CardFrame{frameOf(first), frameOf(b)})
		if n == 1 {
			continue
		}
		ip := p.AsSlice()[header.EthernetMinimumSize:]
		four, tcp := header.IPv4(ip), header.TCP(ip[header.IPv4MinimumSize:])
		if tcp.IsChecksumValid(four.SourceAddress(), four.DestinationAddress(),
			checksum.Checksum(tcp.Payload(), 0), uint16(len(tcp.Payload()))) {
			t.Errorf("bit %d of the second frame is wrong, and the packet right", bit)
		}
	}
}

// batchOf returns frames as the card gives them: long ones go on in the memory of the next.
func batchOf(checked bool, all ...[]byte) []linux.CardFrame {
	batch, n := make([]linux.CardFrame, 100), 0
	for _, b := range all {
		f := &batch[n]
		f.Length, f.Checked = uint32(len(b)), checked
		copy(f.Bytes(), b)
		n += f.Span()
	}
	return batch[:n]
}

// TestJoinWhole: long packets go with frames, and are right to the stack though their checksums are not,
// if the card says so.
func TestJoinWhole(t *testing.T) {
	const ack = header.TCPFlagAck
	for _, six := range []bool{false, true} {
		for _, checked := range []bool{false, true} {
			first := packet{six: six, flags: ack, data: pattern(30_000)}
			second := packet{six: six, sequence: 30_000, flags: ack, data: pattern(20_001)}
			third := packet{six: six, sequence: 50_001, flags: ack, data: pattern(100)}
			batch := batchOf(checked, first.bytes(checked), second.bytes(checked), third.bytes(checked))
			n, p := join(batch)
			tcp := header.TCP(p.AsSlice()[len(p.AsSlice())-50_000-1-header.TCPMinimumSize:])
			if n != batch[0].Span()+batch[batch[0].Span()].Span() ||
				!bytes.Equal(tcp.Payload(), append(pattern(30_000), pattern(20_001)...)) {
				t.Errorf("checked %v: %d of %d, %d bytes", checked, n, len(batch), p.Size())
			}
			if !checked {
				check(t, p.AsSlice())
			}
			if n, _ := join(batch[n:]); n != 1 {
				t.Errorf("checked %v: the last one makes %d", checked, n)
			}
		}
		a, b := packet{six: six, flags: ack, data: pattern(10)}, packet{six: six, sequence: 10, flags: ack, data: pattern(10)}
		batch := append(batchOf(true, a.bytes(false)), batchOf(false, b.bytes(false))...)
		if n, _ := join(batch); n != 1 {
			t.Error("a frame that was checked is joined to one that was not")
		}
	}
}

// TestSpan: a packet of the longest kind fits into a batch, and ends in the last frame that it takes.
func TestSpan(t *testing.T) {
	for length, want := range map[uint32]int{60: 1, nic.MaxFrame: 1, nic.MaxFrame + 10: 2, 2 * nic.MaxFrame: 2, nic.MaxWhole: 43} {
		if got := (linux.CardHead{Length: length}).Span(); got != want || got >= len(linux.CardBatch{}) {
			t.Errorf("%d bytes take %d; want %d", length, got, want)
		}
	}
}

// TestCut: the header is the one that the specification has.
func TestCut(t *testing.T) {
	for six, want := range map[bool][]byte{
		false: {1, 1, 66, 0, 0xa8, 5, 34, 0, 16, 0, 0, 0},
		true:  {1, 4, 66, 0, 0xa8, 5, 34, 0, 16, 0, 0, 0},
	} {
		if got := cut(six, 34, 66, 1448); !bytes.Equal(got, want) {
			t.Errorf("version 6 %v: % x; want % x", six, got, want)
		}
	}
}

// FuzzJoin: nothing that comes is trusted.
func FuzzJoin(f *testing.F) {
	for _, six := range []bool{false, true} {
		p := packet{six: six, flags: header.TCPFlagAck, data: pattern(10)}
		f.Add(p.bytes(false), p.bytes(false))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if n, p := join([]linux.CardFrame{frameOf(a), frameOf(b)}); n > 0 && p.Size() > len(a)+len(b) {
			t.Errorf("%d bytes of %d", p.Size(), len(a)+len(b))
		}
	})
}
