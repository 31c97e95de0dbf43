package inet

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
)

// addressTable is what is known of the network.
type addressTable struct {
	mu      sync.Mutex
	routes  []tcpip.Route
	servers map[string][]string // name servers, by who has told them
	known   sync.Once           // there is an address of version 4
	refused sync.Once           // the kernel has no room for one
}

// configure gives the machine its address: that of the option ip=, or a server's.
func (n *network) configure() {
	c := netconsole.Options()
	if c.Source.IsZero() {
		go n.guard(n.lease)
		return
	}
	p := netip.PrefixFrom(netip.AddrFrom4(c.Source), bits(c.Mask))
	var gateway netip.Addr
	if !c.Gateway.IsZero() {
		gateway = netip.AddrFrom4(c.Gateway)
	}
	n.routeBy(p, gateway)
	n.addAddress(p, gateway)
}

// bits returns the number of ones of a netmask, 24 for none.
func bits(mask netconsole.Address) (n int) {
	if mask.IsZero() {
		return 24
	}
	for _, b := range mask {
		for ; b != 0; b <<= 1 {
			n++
		}
	}
	return n
}

func address(a netip.Addr) tcpip.Address { return tcpip.AddrFromSlice(a.AsSlice()) }

func addr(a tcpip.Address) netip.Addr {
	b, _ := netip.AddrFromSlice(a.AsSlice())
	return b
}

// addAddress gives the machine an address of version 4, with the size of its network, and a router,
// which may be none.
func (n *network) addAddress(p netip.Prefix, router netip.Addr) {
	n.AddProtocolAddress(nicID, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: address(p.Addr()), PrefixLen: p.Bits()},
	}, stack.AddressProperties{})
	n.tell(p, router, true)
}

// removeAddress takes it away.
func (n *network) removeAddress(p netip.Prefix) {
	n.RemoveAddress(nicID, address(p.Addr()))
	n.tell(p, netip.Addr{}, false)
}

// tell tells the kernel of an address. The first one of version 4 lets main begin: one of version 6
// often comes before it, and most programs talk by version 4.
func (n *network) tell(p netip.Prefix, router netip.Addr, there bool) {
	if err := setAddress(p, router, there); err != nil {
		n.addresses.refused.Do(func() {
			fmt.Fprintf(os.Stderr, "inet: address %v: %v; more of them are not told\n", p, err)
		})
		return
	}
	if there && p.Addr().Is4() {
		n.addresses.known.Do(func() { close(n.addressed) })
	}
}

// routeBy sets the routes of version 4: to the neighbours of p, and by the gateway to all others.
func (n *network) routeBy(p netip.Prefix, gateway netip.Addr) {
	p = p.Masked()
	subnet := tcpip.AddressWithPrefix{Address: address(p.Addr()), PrefixLen: p.Bits()}.Subnet()
	routes := []tcpip.Route{{Destination: subnet, NIC: nicID}}
	if gateway.IsValid() {
		routes = append(routes, tcpip.Route{Destination: header.IPv4EmptySubnet,
			Gateway: address(gateway), NIC: nicID})
	}
	n.setRoutes(func(r tcpip.Route) bool {
		return r.Destination.ID().Len() == header.IPv4AddressSize
	}, routes...)
}

// setRoutes adds routes, in place of those for which old is true.
func (n *network) setRoutes(old func(tcpip.Route) bool, routes ...tcpip.Route) {
	t := &n.addresses
	t.mu.Lock()
	defer t.mu.Unlock()
	t.routes = append(slices.DeleteFunc(t.routes, old), routes...)
	slices.SortStableFunc(t.routes, func(a, b tcpip.Route) int {
		return b.Destination.Prefix() - a.Destination.Prefix()
	})
	n.SetRouteTable(slices.Clone(t.routes))
}

// resolvConf is where a program looks for name servers.
const resolvConf = "/etc/resolv.conf"

// nameServers writes down name servers, and the domains to look in, of one who has told them.
func (n *network) nameServers(by string, servers []netip.Addr, domains []string) {
	t := &n.addresses
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, s := range servers {
		lines = append(lines, "nameserver "+s.String())
	}
	if len(domains) > 0 {
		lines = append(lines, "search "+strings.Join(domains, " "))
	}
	if t.servers == nil {
		t.servers = make(map[string][]string)
	}
	t.servers[by] = lines
	all := slices.Concat(t.servers["dhcp"], t.servers["router"])
	os.WriteFile(resolvConf, []byte(strings.Join(all, "\n")+"\n"), 0o644)
}
