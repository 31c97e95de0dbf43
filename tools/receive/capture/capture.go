package capture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/ip4defrag"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

const (
	// MaxPacket is the longest packet in bytes that a file may have. A hostile file can
	// claim any length.
	MaxPacket = 1 << 20
	// fragmentAge is how long fragments wait for others, in the capture's time.
	fragmentAge = 30 * time.Second
	// maxFragments bounds the bytes of IPv4 fragments that wait.
	maxFragments = 32 << 20
)

// Stats count what was in a capture.
type Stats struct {
	Packets   uint64 // all
	Datagrams uint64 // of UDP to the port
	Malformed uint64 // packets that are not what they say
	Short     uint64 // datagrams of which the capture has a part only
	// Cut is set when the file ends within a packet: whoever wrote it was stopped.
	Cut bool
}

// Options say what is read.
type Options struct {
	// Port is the UDP port that datagrams go to, or its datagram.ParityPort; 0: any.
	Port uint16
	// Idle is called before each read of the file, which may wait if it is a pipe.
	Idle func() error
}

// Datagrams calls f for each datagram of a capture, in its order: when it was captured,
// where it came from, and its payload, which f may keep.
func Datagrams(r io.Reader, opt Options, f func(when time.Time, from netip.AddrPort, payload []byte)) (Stats, error) {
	d := &decoder{opt: opt, f: f, four: ip4defrag.NewIPv4Defragmenter()}
	if opt.Idle != nil {
		r = &idleReader{r, opt.Idle}
	}
	src, err := open(r)
	if err != nil {
		return d.stats, err
	}
	for {
		data, info, link, err := src.next()
		switch {
		case err == io.EOF:
			return d.stats, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			d.stats.Cut = true
			return d.stats, nil
		case err != nil:
			return d.stats, fmt.Errorf("capture, packet %d: %w", d.stats.Packets+1, err)
		}
		d.stats.Packets++
		d.packet(data, info, link)
	}
}

// idleReader calls idle before each read.
type idleReader struct {
	r    io.Reader
	idle func() error
}

func (i *idleReader) Read(p []byte) (int, error) {
	if err := i.idle(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// source is a capture file of either kind.
type source struct {
	old *pcapgo.Reader
	ng  *pcapgo.NgReader
}

var ngMagic = []byte{0x0a, 0x0d, 0x0d, 0x0a}

func open(r io.Reader) (s *source, err error) {
	defer noPanic(&err)
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(4)
	if err != nil {
		return nil, errors.New("it is no capture: it has less than 4 bytes")
	}
	s = new(source)
	if bytes.Equal(magic, ngMagic) {
		s.ng, err = pcapgo.NewNgReader(&blocks{r: b}, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	} else if s.old, err = pcapgo.NewReader(b); err == nil {
		s.old.SetSnaplen(MaxPacket) // the file's own may be 0, or anything
	}
	if err != nil {
		return nil, fmt.Errorf("it is no capture in the format pcap or pcapng: %w", err)
	}
	return s, nil
}

// next returns the next packet.
func (s *source) next() (data []byte, info gopacket.CaptureInfo, link layers.LinkType, err error) {
	defer noPanic(&err)
	if s.old != nil {
		data, info, err = s.old.ReadPacketData()
		return data, info, s.old.LinkType(), err
	}
	data, info, err = s.ng.ReadPacketData()
	if err != nil {
		return nil, info, 0, err
	}
	link = s.ng.LinkType()
	if i, ierr := s.ng.Interface(info.InterfaceIndex); ierr == nil {
		link = i.LinkType
	}
	return data, info, link, nil
}

// noPanic makes an error of a panic: gopacket trusts some numbers of a file.
func noPanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the file is damaged: %v", r)
	}
}

// blocks passes a pcapng file through as long as its blocks, and the packets in them,
// are of a sensible length: gopacket makes room for what they say.
type blocks struct {
	r      io.Reader
	left   int    // bytes of the block that are to come
	header []byte // the beginning of a block, read and not passed on yet
	known  bool   // the header has been looked at
	big    bool
}

const (
	// ngBigEndian is the byte-order magic of a section header as a little-endian number.
	ngBigEndian = 0x4d3c2b1a
	// Every block has a type, a length, and something of 4 bytes or its length again.
	ngHeader = 12
	// The length of a packet is behind interface and time.
	ngPacketHeader = 24
	ngPacketMin    = 32 // a packet block without a packet

	ngObsolete, ngSimple, ngEnhanced = 2, 3, 6 // the types of packet blocks
)

func (b *blocks) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for b.left == 0 && !b.known {
		if err := b.fill(ngHeader); err != nil {
			return 0, err
		}
		if t := b.word(0); t == ngEnhanced || t == ngObsolete {
			if err := b.fill(ngPacketHeader); err != nil {
				return 0, err
			}
		}
		if err := b.block(); err != nil {
			return 0, err
		}
	}
	if len(b.header) > 0 {
		n := copy(p, b.header)
		b.header = b.header[n:]
		b.take(n)
		return n, nil
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.take(n)
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// take notes that n bytes of the block have been passed on.
func (b *blocks) take(n int) {
	if b.left -= n; b.left == 0 {
		b.known, b.header = false, nil
	}
}

// fill reads the header up to n bytes.
func (b *blocks) fill(n int) error {
	from := len(b.header)
	b.header = append(b.header, make([]byte, n-from)...)
	got, err := io.ReadFull(b.r, b.header[from:])
	b.header = b.header[:from+got]
	if err == io.EOF && from > 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// word returns the number at an offset of the header.
func (b *blocks) word(at int) uint32 {
	if bytes.Equal(b.header[:4], ngMagic) {
		b.big = binary.LittleEndian.Uint32(b.header[8:]) == ngBigEndian
	}
	if b.big {
		return binary.BigEndian.Uint32(b.header[at:])
	}
	return binary.LittleEndian.Uint32(b.header[at:])
}

// block looks at the header of a block.
func (b *blocks) block() error {
	t, n := b.word(0), b.word(4)
	if n < ngHeader || n%4 != 0 || n > MaxPacket+4096 {
		return fmt.Errorf("a block of %d bytes: the file is damaged", n)
	}
	packet := uint32(0)
	switch t {
	case ngEnhanced, ngObsolete:
		if packet = b.word(20); n < ngPacketMin || packet > n-ngPacketMin {
			return fmt.Errorf("a packet of %d bytes in a block of %d: the file is damaged", packet, n)
		}
	case ngSimple:
		packet = b.word(8)
	}
	if packet > MaxPacket {
		return fmt.Errorf("a packet of %d bytes: the file is damaged", packet)
	}
	b.left, b.known = int(n), true
	return nil
}

// decoder takes packets apart.
type decoder struct {
	opt   Options
	f     func(time.Time, netip.AddrPort, []byte)
	stats Stats

	four *ip4defrag.IPv4Defragmenter
	held int // bytes of fragments given to four, some of which it has put together since
	last time.Time
	six  fragments6
}

// Link types by number that gopacket has no name for. It keeps 8 bits of the number.
const (
	linkRawBSD  = 12
	linkRawOBSD = 14
	linkSLL2    = 276 & 0xff
)

// packet takes a packet of the capture.
func (d *decoder) packet(data []byte, info gopacket.CaptureInfo, link layers.LinkType) {
	first := gopacket.Decoder(link)
	switch link {
	case linkRawBSD, linkRawOBSD:
		first = layers.LinkTypeRaw
	case layers.LinkTypeIPv4:
		first = layers.LayerTypeIPv4
	case layers.LinkTypeIPv6:
		first = layers.LayerTypeIPv6
	case linkSLL2:
		if len(data) < 20 {
			d.stats.Malformed++
			return
		}
		first = layers.EthernetType(binary.BigEndian.Uint16(data))
		data = data[20:]
	}
	p := gopacket.NewPacket(data, first, gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	if ip, ok := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4); ok {
		d.ipv4(ip, info.Timestamp)
		return
	}
	ip, ok := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
	if !ok {
		if p.ErrorLayer() != nil {
			d.stats.Malformed++
		}
		return
	}
	from, ok := netip.AddrFromSlice(ip.SrcIP)
	if !ok {
		return
	}
	if frag, ok := p.Layer(layers.LayerTypeIPv6Fragment).(*layers.IPv6Fragment); ok {
		to, _ := netip.AddrFromSlice(ip.DstIP)
		payload, whole := d.six.add(fragmentKey{from, to, frag.Identification}, frag, info.Timestamp)
		if whole && frag.NextHeader == layers.IPProtocolUDP {
			d.udp(payload, from, info.Timestamp)
		}
		return
	}
	if udp, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP); ok {
		d.datagram(udp, from, info.Timestamp)
	}
}

// ipv4 takes an IPv4 packet, which may be a fragment.
func (d *decoder) ipv4(ip *layers.IPv4, when time.Time) {
	from, ok := netip.AddrFromSlice(ip.SrcIP.To4())
	if !ok || ip.Protocol != layers.IPProtocolUDP {
		return
	}
	if ip.Flags&layers.IPv4MoreFragments != 0 || ip.FragOffset != 0 {
		d.held += len(ip.Payload)
		if d.held > maxFragments {
			d.four, d.held = ip4defrag.NewIPv4Defragmenter(), len(ip.Payload)
		}
		if when.Sub(d.last) > fragmentAge || when.Before(d.last) {
			d.four.DiscardOlderThan(when.Add(-fragmentAge))
			d.last = when
		}
	}
	whole, err := d.four.DefragIPv4WithTimestamp(ip, when)
	if err != nil {
		d.stats.Malformed++
		return
	}
	if whole != nil {
		d.udp(whole.Payload, from, when)
	}
}

// udp takes what is behind an IP header.
func (d *decoder) udp(b []byte, from netip.Addr, when time.Time) {
	var udp layers.UDP
	if err := udp.DecodeFromBytes(b, gopacket.NilDecodeFeedback); err != nil {
		d.stats.Malformed++
		return
	}
	d.datagram(&udp, from, when)
}

// udpHeader is the length of UDP's header in bytes.
const udpHeader = 8

func (d *decoder) datagram(udp *layers.UDP, from netip.Addr, when time.Time) {
	if p := uint16(udp.DstPort); d.opt.Port != 0 && p != d.opt.Port && p != datagram.ParityPort(d.opt.Port) {
		return
	}
	if int(udp.Length) > udpHeader+len(udp.Payload) {
		d.stats.Short++
		return
	}
	d.stats.Datagrams++
	d.f(when, netip.AddrPortFrom(from.Unmap(), uint16(udp.SrcPort)), udp.Payload)
}
