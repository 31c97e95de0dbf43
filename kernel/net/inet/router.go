package inet

import (
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// router is told what IPv6's routers say (RFC 4861, RFC 8106), by the stack.
type router network

func (r *router) OnOffLinkRouteUpdated(_ tcpip.NICID, to tcpip.Subnet, by tcpip.Address,
	_ header.NDPRoutePreference) {
	n := (*network)(r)
	n.setRoutes(func(o tcpip.Route) bool { return o.Destination == to && o.Gateway == by },
		tcpip.Route{Destination: to, Gateway: by, NIC: nicID})
}

func (r *router) OnOffLinkRouteInvalidated(_ tcpip.NICID, to tcpip.Subnet, by tcpip.Address) {
	(*network)(r).setRoutes(func(o tcpip.Route) bool { return o.Destination == to && o.Gateway == by })
}

func (r *router) OnOnLinkPrefixDiscovered(_ tcpip.NICID, to tcpip.Subnet) {
	(*network)(r).setRoutes(func(o tcpip.Route) bool { return o.Destination == to },
		tcpip.Route{Destination: to, NIC: nicID})
}

func (r *router) OnOnLinkPrefixInvalidated(_ tcpip.NICID, to tcpip.Subnet) {
	(*network)(r).setRoutes(func(o tcpip.Route) bool { return o.Destination == to })
}

// OnAutoGenAddress has the kernel told when the address may be used.
func (r *router) OnAutoGenAddress(_ tcpip.NICID,
	a tcpip.AddressWithPrefix) stack.AddressDispatcher {
	return &ownAddress{(*network)(r), netip.PrefixFrom(addr(a.Address), a.PrefixLen)}
}

// ownAddress is an address of the machine's that a router's prefix has led to.
type ownAddress struct {
	n      *network
	prefix netip.Prefix
}

func (a *ownAddress) OnChanged(_ stack.AddressLifetimes, state stack.AddressAssignmentState) {
	if state == stack.AddressAssigned {
		// The stack holds its locks.
		go a.n.guard(func() { a.n.tell(a.prefix, netip.Addr{}, true) })
	}
}

func (a *ownAddress) OnRemoved(stack.AddressRemovalReason) {
	go a.n.guard(func() { a.n.tell(a.prefix, netip.Addr{}, false) })
}

func (r *router) OnRecursiveDNSServerOption(_ tcpip.NICID, all []tcpip.Address,
	life time.Duration) {
	var servers []netip.Addr
	for _, a := range all {
		if b := addr(a); !b.IsLinkLocalUnicast() && life > 0 {
			servers = append(servers, b)
		}
	}
	n := (*network)(r)
	go n.guard(func() { n.nameServers("router", servers, nil) })
}

func (r *router) OnDNSSearchListOption(tcpip.NICID, []string, time.Duration)                    {}
func (r *router) OnAutoGenAddressDeprecated(tcpip.NICID, tcpip.AddressWithPrefix)               {}
func (r *router) OnAutoGenAddressInvalidated(tcpip.NICID, tcpip.AddressWithPrefix)              {}
func (r *router) OnDHCPv6Configuration(tcpip.NICID, ipv6.DHCPv6ConfigurationFromNDPRA)          {}
func (r *router) OnDuplicateAddressDetectionResult(tcpip.NICID, tcpip.Address, stack.DADResult) {}
