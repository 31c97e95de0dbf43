package receive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
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
type CaptureStats struct {
	Packets   uint64 // all
	Datagrams uint64 // of UDP to the port
	Malformed uint64 // packets that are not what they say
	Short     uint64 // datagrams of which the capture has a part only
	// Cut is set when the file ends within a packet: whoever wrote it was stopped.
	Cut bool
}

// Options say what is read.
type CaptureOptions struct {
	// Port is the UDP port that datagrams go to, or its datagram.ParityPort; 0: any.
	Port uint16
	// Idle is called before each read of the file, which may wait if it is a pipe.
	Idle func() error
}

// Datagrams calls f for each datagram of a capture, in its order: when it was captured,
// where it came from, and its payload, which f may keep.
func Datagrams(r io.Reader, opt CaptureOptions, f func(when time.Time, from netip.AddrPort,
	payload []byte)) (CaptureStats, error) {
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
type packetSource struct {
	old *pcapgo.Reader
	ng  *pcapgo.NgReader
}

var ngMagic = []byte{0x0a, 0x0d, 0x0d, 0x0a}

func open(r io.Reader) (s *packetSource, err error) {
	defer noPanic(&err)
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(4)
	if err != nil {
		return nil, errors.New("it is no capture: it has less than 4 bytes")
	}
	s = new(packetSource)
	if bytes.Equal(magic, ngMagic) {
		s.ng, err = pcapgo.NewNgReader(&blocks{r: b},
			pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	} else if s.old, err = pcapgo.NewReader(b); err == nil {
		s.old.SetSnaplen(MaxPacket) // the file's own may be 0, or anything
	}
	if err != nil {
		return nil, fmt.Errorf("it is no capture in the format pcap or pcapng: %w", err)
	}
	return s, nil
}

// next returns the next packet.
func (s *packetSource) next() (
	data []byte, info gopacket.CaptureInfo, link layers.LinkType, err error) {
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

// blocks passes a pcapng file on block by block, as long as these, and the packets in them, are
// of a sensible length: gopacket makes room for what they say.
type blocks struct {
	r     io.Reader
	order binary.ByteOrder
	block []byte
	rest  []byte // of the block, not passed on yet
}

const (
	// ngBigEndian is the byte-order magic of a section header as a little-endian number.
	ngBigEndian = 0x4d3c2b1a
	// Every block has a type, a length, and something of 4 bytes or its length again.
	ngHeader = 12
	// ngPacketMin is the length of a packet block without a packet.
	ngPacketMin = 32

	ngObsolete, ngSimple, ngEnhanced = 2, 3, 6 // the types of packet blocks
)

func (b *blocks) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// next reads the next block.
func (b *blocks) next() error {
	b.block = append(b.block[:0], make([]byte, ngHeader)...)
	if _, err := io.ReadFull(b.r, b.block); err != nil {
		return err
	}
	if bytes.HasPrefix(b.block, ngMagic) {
		b.order = binary.LittleEndian
		if b.order.Uint32(b.block[8:]) == ngBigEndian {
			b.order = binary.BigEndian
		}
	}
	kind, n, packet := b.order.Uint32(b.block), b.order.Uint32(b.block[4:]), uint32(0)
	if n < ngHeader || n%4 != 0 || n > MaxPacket+4096 {
		return fmt.Errorf("a block of %d bytes: the file is damaged", n)
	}
	b.block = append(b.block, make([]byte, n-ngHeader)...)
	if _, err := io.ReadFull(b.r, b.block[ngHeader:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	switch {
	case kind == ngSimple:
		packet = b.order.Uint32(b.block[8:])
	case kind != ngEnhanced && kind != ngObsolete:
	case n < ngPacketMin || b.order.Uint32(b.block[20:]) > n-ngPacketMin:
		return fmt.Errorf("a packet in a block of %d bytes is longer than it: the file is damaged", n)
	}
	if packet > MaxPacket {
		return fmt.Errorf("a packet of %d bytes: the file is damaged", packet)
	}
	b.rest = b.block
	return nil
}

// decoder takes packets apart.
type decoder struct {
	opt   CaptureOptions
	f     func(time.Time, netip.AddrPort, []byte)
	stats CaptureStats

	four *ip4defrag.IPv4Defragmenter
	held int // bytes of fragments given to four, some of which it has put together since
	last time.Time
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
	udp, isUDP := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	switch ip := p.NetworkLayer().(type) {
	case *layers.IPv4:
		d.ipv4(ip, info.Timestamp)
	case *layers.IPv6:
		// What machines send fits the smallest packet of IPv6, so nobody has to cut it.
		if p.Layer(layers.LayerTypeIPv6Fragment) != nil {
			d.stats.Short++
		} else if isUDP {
			d.datagram(udp, ip.SrcIP, info.Timestamp)
		}
	default:
		if p.ErrorLayer() != nil {
			d.stats.Malformed++
		}
	}
}

// ipv4 takes an IPv4 packet, which may be a fragment.
func (d *decoder) ipv4(ip *layers.IPv4, when time.Time) {
	if ip.Protocol != layers.IPProtocolUDP {
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
	if whole == nil {
		return
	}
	var udp layers.UDP
	if err := udp.DecodeFromBytes(whole.Payload, gopacket.NilDecodeFeedback); err != nil {
		d.stats.Malformed++
		return
	}
	d.datagram(&udp, ip.SrcIP, when)
}

// udpHeader is the length of UDP's header in bytes.
const udpHeader = 8

func (d *decoder) datagram(udp *layers.UDP, packetSource net.IP, when time.Time) {
	if p := uint16(udp.DstPort); d.opt.Port != 0 && p != d.opt.Port &&
		p != datagram.ParityPort(d.opt.Port) {
		return
	}
	if int(udp.Length) > udpHeader+len(udp.Payload) {
		d.stats.Short++
		return
	}
	from, ok := netip.AddrFromSlice(packetSource)
	if !ok {
		return
	}
	d.stats.Datagrams++
	d.f(when, netip.AddrPortFrom(from.Unmap(), uint16(udp.SrcPort)), udp.Payload)
}
