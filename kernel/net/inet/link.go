package inet

import (
	"fmt"
	"net/netip"
	"os"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
)

const (
	device  = "/dev/nic0" // each read and write is one frame
	longest = 1514        // bytes of the longest, with its header
)

// card is the network card.
type card struct {
	file *os.File
	in   *channel.Endpoint // what comes in goes through it
	link stack.LinkEndpoint
	dhcp *dhcpConn

	refused func(from, to netip.AddrPort) // is told of a datagram that nobody takes
}

func openCard() (*card, error) {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	a := nic.Address()
	c := &card{file: f, in: channel.New(0, longest, tcpip.LinkAddress(a[:]))}
	c.link = ethernet.New(direct{c.in, f})
	c.dhcp = newDHCPConn(c)
	return c, nil
}

// receive gives the stack the frames that come in.
func (c *card) receive() {
	frame := make([]byte, nic.MaxFrame)
	for {
		n, err := c.file.Read(frame)
		if err != nil {
			fmt.Fprintf(os.Stderr, "inet: %v; the machine has no network any more\n", err)
			return
		}
		if c.dhcp.takes(frame[:n]) {
			continue
		}
		if from, to, ok := refusedDatagram(frame[:n]); ok {
			c.refused(from, to)
		}
		p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame[:n])})
		c.in.InjectInbound(0, p)
		p.DecRef()
	}
}

// direct writes the stack's frames to the card as they come: a queue would need a goroutine that
// wakes for each. A frame that the card does not take is lost, as any may be.
type direct struct {
	*channel.Endpoint
	file *os.File
}

func (d direct) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	for _, p := range list.AsSlice() {
		v := p.ToView()
		d.file.Write(v.AsSlice())
		v.Release()
	}
	return list.Len(), nil
}
