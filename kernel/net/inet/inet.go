package inet

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for linkname

	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/option"
)

// linked tells the kernel that this package is there. Never written.
//
//go:linkname linked github.com/zeroframe/zeroframe/kernel/linux.stackLinked
var linked = true

// nicID is the card's number in the stack.
const nicID tcpip.NICID = 1

// patience is how long main waits for an address of version 4, and for the time that ntp= asks for.
const patience = 5 * time.Second

// network is the machine's network.
type network struct {
	*stack.Stack
	card      *card
	clock     *clock
	streams   atomic.Int32  // connections that the program's sockets have
	sending   atomic.Int32  // those to which the program may still send
	datagrams atomic.Uint64 // bytes that the gateway has had of the program, and that were sent
	// The *stream of a connection, by the program's address and the other's.
	ends      sync.Map
	addressed chan struct{}       // closed when there is an address of version 4
	groups    map[netip.Addr]bool // that the program is in; of takeDatagrams
	addresses addressTable
	opening   opening
	ended     ended
	workers   workers
	failure
}

func init() {
	if word, ok := option.Word("net"); !nic.Up() || ok && word != 0 {
		return // e.g. under another kernel, or without net=on
	}
	n, err := start()
	if err != nil {
		fmt.Fprintf(os.Stderr, "inet: %v; the program has no network\n", err)
		return
	}
	select {
	case <-n.addressed:
	case <-time.After(patience):
		fmt.Fprintf(os.Stderr, "inet: no address of version 4 yet: no DHCP server has answered for %v; ip=ADDRESS::GATEWAY:NETMASK on the kernel command line gives one\n", patience)
	}
	if server, ok := option.Value("ntp"); ok {
		told := make(chan struct{})
		go n.guard(func() { n.keepTime(string(server), told) })
		select {
		case <-told:
		case <-time.After(patience):
		}
	}
}

// start makes the stack, and the goroutines that serve it.
func start() (*network, error) {
	card, err := openCard()
	if err != nil {
		return nil, err
	}
	log.SetLevel(log.Warning) // the stack's: what others send is not the program's to read
	neighbors := ipv6.DefaultNDPConfigurations()
	neighbors.AutoGenTempGlobalAddresses = false // a server wants one that stays
	n := &network{card: card, addressed: make(chan struct{}), groups: make(map[netip.Addr]bool)}
	n.workers = workers{failure: &n.failure, next: make(chan func())}
	if n.clock, err = newClock(&n.failure); err != nil {
		return nil, fmt.Errorf("clock: %w", err)
	}
	n.Stack = stack.New(stack.Options{
		Clock:       n.clock,
		HandleLocal: true, // so that no other machine has an address of ours
		NetworkProtocols: []stack.NetworkProtocolFactory{arp.NewProtocol,
			ipv4.NewProtocolWithOptions(ipv4.Options{IGMP: ipv4.IGMPOptions{Enabled: true}}),
			ipv6.NewProtocolWithOptions(ipv6.Options{AutoGenLinkLocal: true, NDPDisp: (*router)(n),
				NDPConfigs: neighbors, MLD: ipv6.MLDOptions{Enabled: true}})},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol,
			icmp.NewProtocol4, icmp.NewProtocol6},
	})
	if err := n.setTCP(); err != nil {
		return nil, err
	}
	if err := n.CreateNIC(nicID, card.link); err != nil {
		return nil, fmt.Errorf("card: %v", err)
	}
	if err := n.serveStreams(); err != nil {
		return nil, fmt.Errorf("connections: %w", err)
	}
	if err := n.serveDatagrams(); err != nil {
		return nil, fmt.Errorf("datagrams: %w", err)
	}
	n.serve(n.receive)
	n.configure()
	go n.guard(n.findHop)
	go n.guard(n.findAsleep)
	return n, nil
}
