package inet

import (
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
)

// How often the next hop of netconsole= is asked for: until it answers, and then.
const (
	askEvery     = time.Second
	refreshEvery = time.Minute
)

// findHop keeps the hardware address up to date that netconsole= sends to, as package netup does.
func (n *network) findHop() {
	c := netconsole.Options()
	if !c.On || c.Fixed || c.ToMany(c.Destination) {
		return
	}
	hop, own := address(netip.AddrFrom4(c.NextHop(c.Destination))), address(netip.AddrFrom4(c.Source))
	found := make(chan netconsole.Hardware, 1)
	for {
		n.GetLinkAddress(nicID, hop, own, ipv4.ProtocolNumber, func(r stack.LinkResolutionResult) {
			if r.Err == nil && len(r.LinkAddress) == len(netconsole.Hardware{}) {
				select {
				case found <- netconsole.Hardware([]byte(r.LinkAddress)):
				default: // the one before has not been taken yet, and will do
				}
			}
		})
		select {
		case h := <-found:
			netconsole.SetHardware(h)
			<-n.clock.after(refreshEvery)
		case <-n.clock.after(askEvery):
		}
	}
}
