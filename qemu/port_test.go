package qemu

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// The ports that freePort gives out are below those that systems choose by themselves.
const (
	firstPort = 20000
	manyPorts = 10000
)

// lastPort is the number of the latest one.
var lastPort atomic.Int32

// freePort returns an address of this host for a server that is started later, in the network
// "tcp4" or "udp4". Nobody else takes it in between, as might happen to a port that the system
// has chosen and that is free again: all of 127/8 is this host, and this process has an address
// of its own there.
func freePort(t *testing.T, network string) string {
	t.Helper()
	pid := os.Getpid() // of 22 bits
	for {
		port := firstPort + lastPort.Add(1)
		if port > firstPort+manyPorts {
			t.Fatalf("no port from %d to %d is free", firstPort, firstPort+manyPorts)
		}
		address := fmt.Sprintf("127.%d.%d.%d:%d", 64|pid>>16&63, pid>>8&255, pid&255, port)
		// Who listens on all addresses has it, too.
		if network == "udp4" {
			if c, err := net.ListenPacket(network, address); err == nil {
				c.Close()
				return address
			}
		} else if ln, err := net.Listen(network, address); err == nil {
			ln.Close()
			return address
		}
	}
}

// freeReceiver returns a port of 127.0.0.1 for a receiver of datagrams, which is started later, maybe
// twice. The one behind it, for parity, is free as well.
func freeReceiver(t *testing.T) string {
	t.Helper()
	for {
		port := netip.MustParseAddrPort(freePort(t, "udp4")).Port()
		free := true
		for _, p := range []uint16{port, datagram.ParityPort(port)} {
			c, err := net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", p))
			if free = free && err == nil; err == nil {
				c.Close()
			}
		}
		if free {
			return fmt.Sprint(port)
		}
	}
}

// TestFreePort: no port is given out twice, or while somebody has it.
func TestFreePort(t *testing.T) {
	t.Parallel()
	seen := map[int32]bool{firstPort + lastPort.Load() + 1: true}
	for port := range seen {
		// Where that fails somebody else has it.
		if all, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", port)); err == nil {
			defer all.Close()
		}
	}
	for _, network := range []string{"tcp4", "udp4", "tcp4", "udp4"} {
		address := netip.MustParseAddrPort(freePort(t, network))
		if port := int32(address.Port()); seen[port] || !address.Addr().IsLoopback() {
			t.Errorf("%v is given out; not free were %v", address, seen)
		}
		seen[int32(address.Port())] = true
	}
}
