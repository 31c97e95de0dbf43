package qemu

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

var slowClients = flag.Int("slow.clients", 2000, "how many clients TestInetSlow/many has")

// TestInetSlow: a server goes on while many clients keep connections open and never end their
// requests, and the next as many use no more memory than they did.
func TestInetSlow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		clients, memory int // memory in MiB
	}{
		{"some", 300, 96},
		{"many", *slowClients, 1024},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newNeighbor(t, newEther(t, "virtio-net-pci"), 0, func([]byte) {}, func(gopacket.Packet) {})
			p.serve(Config{CPUs: 2, MemoryMiB: tt.memory})
			p.get("/")
			before := p.memory()
			first := p.slow(tt.clients, before, before.Heap+tt.clients*4<<10+1<<20)
			// The runtime keeps what it knows a goroutine by, for another one.
			p.slow(tt.clients, before, first.Heap+1<<20)
		})
	}
}

// slow has clients keep connections open and go, and returns what the machine uses then, which is
// to be less than heap.
func (p *neighbor) slow(clients int, before use, heap int) (after use) {
	p.t.Helper()
	all := p.beginSlow(clients)
	for i, c := range all { // a little more of a header's line
		if _, err := c.Write([]byte("x")); err != nil {
			p.t.Fatalf("client %d: %v", i, err)
		}
	}
	await.Poll(p.t, "each client has a goroutine of the server's", func() bool {
		return p.memory().Goroutines >= before.Goroutines+clients
	})
	open := p.memory()
	if got := p.get("/"); got != "hello from here" {
		p.t.Errorf("the server says %q", got)
	}
	for _, c := range all {
		c.Close()
	}
	await.Poll(p.t, "what the clients have used is free", func() bool {
		after = p.memory()
		return after.Goroutines < before.Goroutines+20 && after.Heap < heap
	})
	p.t.Logf("in use before %+v, with %d clients %+v (%d bytes each), after %+v", before, clients, open,
		(open.Memory-before.Memory)/clients, after)
	return after
}

// beginSlow has clients begin requests that they do not end.
func (p *neighbor) beginSlow(n int) []net.Conn {
	p.t.Helper()
	all := make([]net.Conn, n)
	var wg sync.WaitGroup
	next := make(chan int)
	for range 32 {
		wg.Go(func() {
			for i := range next {
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				c, err := gonet.DialContextTCP(ctx, p.stack, p.at(80), ipv4.ProtocolNumber)
				cancel()
				if err != nil {
					p.t.Errorf("client %d: %v", i, err)
					continue
				}
				all[i] = c
				fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: machine\r\nX-Slow: ")
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	if p.t.Failed() {
		p.t.FailNow()
	}
	return all
}

// TestInetSlowExit: what a program has sent arrives though the program exits at once, and the other
// machine takes longer to read it than is waited for one that does not answer.
func TestInetSlowExit(t *testing.T) {
	t.Parallel()
	p := newNeighbor(t, newEther(t, "virtio-net-pci"), 0, func([]byte) {}, func(gopacket.Packet) {})
	const room = 32 << 10
	least := tcpip.TCPReceiveBufferSizeRangeOption{Min: room, Default: room, Max: room}
	p.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &least)
	at := tcpip.FullAddress{NIC: nicOfNeighbor, Port: 7}
	l, err := gonet.ListenTCP(p.stack, at, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p.vm, p.out = start(t, Config{Kernel: built(t, image.BuildOptions{Package: "./testdata/inet", Inet: true}),
		Extra: p.ether.args,
		Append: fmt.Sprintf("report=off net=on ip=%v::%v:255.255.255.0 -- leave exit %[2]v:7 %[2]v:9", guestIP,
			routerIP)}, "")
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(patience))
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	got, b := 0, make([]byte, room)
	for err == nil {
		<-pause.C
		var n int
		n, err = c.Read(b)
		got += n
	}
	if got != 1e6 || err != io.EOF {
		t.Errorf("%d bytes have come, and then %v; want 1e6", got, err)
	}
	if res, err := p.vm.Wait(); err != nil || res.Program != 3 {
		t.Errorf("%+v, %v; want status 3", res, err)
	}
}
