package inet

import (
	"cmp"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/linux"
)

const (
	device  = "/dev/nic0"
	longest = 1514 // bytes of the longest frame, with its header
)

// card is the network card.
type card struct {
	file *os.File
	raw  syscall.RawConn
	in   *channel.Endpoint // what comes in goes through it
	link stack.LinkEndpoint
	dhcp *dhcpConn

	refused func(from, to netip.AddrPort)   // is told of a datagram that nobody takes
	begins  func(stack.TransportEndpointID) // is told of a connection that another machine begins
	mute    atomic.Bool                     // no connection is reset
	checked atomic.Bool                     // the card has found what the stack is being given right
}

func openCard() (*card, error) {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	a := nic.Address()
	c := &card{file: f, raw: raw, in: channel.New(0, longest, tcpip.LinkAddress(a[:]))}
	c.in.SupportedGSOKind = stack.HostGSOSupported // split does it
	// The descriptor is never closed.
	raw.Control(func(fd uintptr) { c.link = ethernet.New(direct{c, c.in, fd}) })
	c.dhcp = newDHCPConn(c)
	return c, nil
}

// receive gives the stack the frames that come in. It goes on after the end of the network, so that
// the card does not keep them.
func (n *network) receive() {
	batch := new(linux.CardBatch)
	var count uintptr
	var err error
	take := func(fd uintptr) bool {
		count, err = ioctl(fd, linux.CardFrames, uintptr(unsafe.Pointer(batch)))
		return count > 0 || err != nil
	}
	for {
		if e := n.card.raw.Read(take); e != nil || err != nil {
			n.lose(cmp.Or(err, e))
			return
		}
		if n.over.Load() {
			continue
		}
		n.guard(func() {
			for frames := batch[:count]; len(frames) > 0; {
				n.card.checked.Store(frames[0].Checked)
				frames = frames[n.card.inject(frames):]
			}
		})
	}
}

// inject gives the stack the first of the frames, and as many as go with it. It returns their
// number.
func (c *card) inject(frames []linux.CardFrame) int {
	n, data := join(frames)
	if n == 0 {
		n = frames[0].Span()
		frame := frames[0].Bytes()
		if c.dhcp.takes(frame) {
			return n
		}
		if from, to, ok := refusedDatagram(frame); ok {
			c.refused(from, to)
		}
		if id, ok := beginning(frame); ok {
			c.begins(id)
		}
		raiseMTU(frame)
		data = buffer.NewViewWithData(frame)
	}
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(data)})
	c.in.InjectInbound(0, p)
	p.DecRef()
	return n
}

// direct writes the stack's frames to the card as they come: a queue would need a goroutine that
// wakes for each. A frame that the card does not take is lost, as any may be.
type direct struct {
	*card
	*channel.Endpoint
	fd uintptr // of the card
}

// Capabilities tells the stack, which asks with each packet that comes, whether it must look at the
// packet's checksums.
func (d direct) Capabilities() stack.LinkEndpointCapabilities {
	if d.checked.Load() {
		return stack.CapabilityRXChecksumOffload
	}
	return 0
}

func (d direct) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	o := outs.Get().(*out)
	defer outs.Put(o)
	for _, p := range list.AsSlice() {
		if d.mute.Load() && isReset(p) {
			continue
		}
		if p.GSOOptions.NeedsCsum && p.Size() > longest && o.whole(d, p) {
			continue
		}
		v := p.ToView()
		if p.GSOOptions.NeedsCsum {
			o.split(d, v.AsSlice(), int(p.GSOOptions.L3HdrLen), int(p.GSOOptions.MSS))
		} else {
			copy(o.frame(d, min(v.Size(), longest)), v.AsSlice())
		}
		v.Release()
	}
	o.send(d)
	return list.Len(), nil
}

// isReset reports whether a packet ends a connection (RST).
func isReset(p *stack.PacketBuffer) bool {
	s := header.TCP(p.TransportHeader().Slice())
	return p.TransportProtocolNumber == header.TCPProtocolNumber &&
		len(s) >= header.TCPMinimumSize && s.Flags()&header.TCPFlagRst != 0
}
