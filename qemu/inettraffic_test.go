package qemu

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	gwaiter "gvisor.dev/gvisor/pkg/waiter"

	"github.com/zeroframe/zeroframe/qemu/await"
)

var trafficFor = flag.Duration("traffic.for", 0, "how long TestInetTraffic/long goes on (0: some rounds)")

// TestInetTraffic: by a wire that loses, doubles and delays frames all bytes arrive as they were
// sent, in both directions and whoever has begun, and afterwards the machine's memory is what it was.
func TestInetTraffic(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, model string
		cpus        int
		loss        float64
		rounds      int
	}{
		{"short", "virtio-net-pci", 2, 0.02, 4},
		{"long", "virtio-net-pci", 2, 0.01, 20},
		{"e1000", "e1000", 1, 0.02, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newNeighbor(t, newEther(t, tt.model), tt.loss, func([]byte) {}, func(gopacket.Packet) {})
			p.serve(Config{CPUs: tt.cpus, MemoryMiB: 128})
			p.echoes()
			tr := &traffic{neighbor: p}
			tr.all(1, 0)
			before := p.memory()
			d := time.Duration(0)
			if tt.name == "long" {
				d = *trafficFor
			}
			tr.all(tt.rounds, d)
			await.Poll(t, "what the connections have used is free", func() bool {
				u := p.memory()
				return u.Heap < before.Heap+2<<20 && u.Goroutines < before.Goroutines+20
			})
			after := p.memory()
			if after.Memory > before.Memory+16<<20 {
				t.Errorf("in use are %+v; before it was %+v", after, before)
			}
			if !tr.datagram {
				t.Error("no datagram came back")
			}
			out, lost := p.lines[0].Counts()
			in, gone := p.lines[1].Counts()
			t.Logf("%d rounds, %d bytes there and back; %d frames to the machine (%d lost), %d from it (%d lost); in use before %+v, after %+v",
				tr.rounds, tr.bytes, in, gone, out, lost, before, after)
		})
	}
}

// echoes has the neighbour send back what comes to its port 7.
func (p *neighbor) echoes() {
	p.t.Helper()
	at := tcpip.FullAddress{NIC: nicOfNeighbor, Port: 7}
	l, err := gonet.ListenTCP(p.stack, at, ipv4.ProtocolNumber)
	if err != nil {
		p.t.Fatal(err)
	}
	acceptAll(p.t, l, echo)
}

// traffic is what a neighbour and a machine send each other.
type traffic struct {
	*neighbor
	mu            sync.Mutex
	rounds, bytes int
	datagram      bool
}

// all has each kind of traffic at once, again and again: so many rounds of each, or for a time.
func (tr *traffic) all(rounds int, d time.Duration) {
	end := time.Now().Add(d)
	var all sync.WaitGroup
	for i, kind := range []func(*rand.Rand){tr.stream, tr.stream, tr.small, tr.ask, tr.ask, tr.fetch, tr.fetch, tr.reset, tr.datagrams} {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for n := 0; n < rounds || time.Now().Before(end); n++ {
				kind(r)
				tr.mu.Lock()
				tr.rounds++
				tr.mu.Unlock()
				if tr.t.Failed() {
					return
				}
			}
		})
	}
	all.Wait()
}

// more counts bytes that have gone there and back.
func (tr *traffic) more(n int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.bytes += n
}

// dial connects to the machine's echo.
func (tr *traffic) dial() net.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := gonet.DialContextTCP(ctx, tr.stack, tr.at(7), ipv4.ProtocolNumber)
	if err != nil {
		tr.t.Errorf("dial: %v", err)
		return nil
	}
	c.SetDeadline(time.Now().Add(limit))
	return c
}

// noise makes bytes.
func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b[:n]
}

// stream sends many bytes in pieces of all sizes, and half-closes.
func (tr *traffic) stream(r *rand.Rand) {
	c := tr.dial()
	if c == nil {
		return
	}
	defer c.Close()
	sent := noise(r, 1+r.IntN(1<<20))
	var pieces []int
	for left := len(sent); left > 0; left -= pieces[len(pieces)-1] {
		pieces = append(pieces, min(left, 1+r.IntN(1<<r.IntN(17))))
	}
	go func() {
		at := 0
		for _, n := range pieces {
			c.Write(sent[at : at+n])
			at += n
		}
		c.(*gonet.TCPConn).CloseWrite()
	}()
	if back, err := io.ReadAll(c); err != nil || !bytes.Equal(back, sent) {
		tr.t.Errorf("of %d bytes %d came back, %v; the same: %v", len(sent), len(back), err, bytes.HasPrefix(sent, back))
	}
	tr.more(len(sent))
}

// small sends one byte after the other, each when the one before is back.
func (tr *traffic) small(r *rand.Rand) {
	c := tr.dial()
	if c == nil {
		return
	}
	defer c.Close()
	b := []byte{0}
	for range 100 {
		want := byte(r.Uint32())
		c.Write([]byte{want})
		if _, err := c.Read(b); err != nil || b[0] != want {
			tr.t.Errorf("%d came back for %d, %v", b[0], want, err)
			return
		}
	}
	tr.more(100)
}

// ask has a connection for each request.
func (tr *traffic) ask(*rand.Rand) {
	r, err := tr.client.Get("http://machine/")
	if err != nil {
		tr.t.Errorf("ask: %v", err)
		return
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); r.StatusCode != http.StatusOK || string(b) != "hello from here" || err != nil {
		tr.t.Errorf("the server says %q, %v", b, err)
	}
}

// fetch has the machine connect to the neighbour.
func (tr *traffic) fetch(r *rand.Rand) {
	n := 1 + r.IntN(1<<19)
	tr.asked(fmt.Sprintf("http://machine/fetch?at=%v:7&n=%d", routerIP, n), "same: true <nil>")
	tr.more(n)
}

// reset has the machine do so, and break it off.
func (tr *traffic) reset(r *rand.Rand) {
	tr.asked(fmt.Sprintf("http://machine/fetch?at=%v:7&n=%d&reset=1", routerIP, 1+r.IntN(1<<16)), "reset")
}

func (tr *traffic) asked(url, want string) {
	r, err := tr.client.Get(url)
	if err != nil {
		tr.t.Errorf("%s: %v", url, err)
		return
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); string(b) != want || err != nil {
		tr.t.Errorf("%s: %q, %v", url, b, err)
	}
}

// datagrams sends some of all sizes: each that comes back is as it was sent.
func (tr *traffic) datagrams(r *rand.Rand) {
	var wq gwaiter.Queue
	e, err := tr.stack.NewEndpoint(udp.ProtocolNumber, ipv4.ProtocolNumber, &wq)
	if err != nil {
		tr.t.Errorf("datagrams: %v", err)
		return
	}
	// gVisor gives all fragments the same number, if it may discover the path's size.
	e.SetSockOptInt(tcpip.MTUDiscoverOption, int(tcpip.PMTUDiscoveryDont))
	c := gonet.NewUDPConn(&wq, e)
	defer c.Close()
	if err := e.Connect(tr.at(7)); err != nil {
		tr.t.Errorf("datagrams: %v", err)
		return
	}
	sent := map[string]bool{}
	for range 32 {
		b := noise(r, 8+r.IntN(5000)) // and so in fragments, some of them
		sent[string(b)] = true
		c.Write(b)
	}
	c.SetReadDeadline(time.Now().Add(time.Second))
	b := make([]byte, 1<<16)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if !sent[string(b[:n])] {
			tr.t.Errorf("a datagram of %d bytes comes that was not sent", n)
		}
		tr.mu.Lock()
		tr.datagram = true
		tr.mu.Unlock()
		tr.more(n)
	}
}
