package qemu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	received "github.com/zeroframe/zeroframe/tools/receive"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// The console by network, received by an ordinary UDP socket on the host: what arrives is
// what the serial port has, traces byte for byte, log lines line for line.

// receiver takes datagrams on loopback, where QEMU's user network passes on what the
// guest sends to its gateway.
type receiver struct {
	conns [2]*net.UDPConn // for text and traces, and for parity
	port  int

	mu   sync.Mutex
	got  [][]byte         // final when last are closed
	last [2]chan struct{} // closed when lastDatagram has come
}

// lastDatagram is sent by the test itself.
var lastDatagram = []byte("the last datagram\x00")

func receive(t *testing.T) *receiver {
	t.Helper()
	r := new(receiver)
	for r.conns[1] == nil { // until the port behind the first one is free
		for i := range r.conns {
			to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
			if i > 0 {
				to.Port = int(datagram.ParityPort(uint16(r.port)))
			}
			conn, err := net.ListenUDP("udp4", to)
			if err != nil && i > 0 {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			largeBuffer(t, conn)
			r.conns[i] = conn
			if i == 0 {
				r.port = conn.LocalAddr().(*net.UDPAddr).Port
			}
		}
	}
	for i, conn := range r.conns {
		r.last[i] = make(chan struct{})
		go func() {
			b := make([]byte, 2000)
			for {
				n, err := conn.Read(b)
				if err != nil {
					return
				}
				if bytes.Equal(b[:n], lastDatagram) {
					close(r.last[i])
					return
				}
				p, why := datagram.Parse(b[:n])
				if parity := why == datagram.None && p.Parity; parity != (i == 1) {
					t.Errorf("parity is %v at socket %d: %.80q", parity, i, b[:n])
				}
				r.mu.Lock()
				r.got = append(r.got, bytes.Clone(b[:n]))
				r.mu.Unlock()
			}
		}()
	}
	return r
}

// largeBuffer gives a socket room for all that comes while nobody reads it, as the host is
// busy. Root may have more of it than others.
func largeBuffer(t *testing.T, conn *net.UDPConn) {
	t.Helper()
	const room = 16 << 20
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room) })
	if err != nil {
		conn.SetReadBuffer(room)
	}
}

// option is the kernel's option to send here.
func (r *receiver) option() string {
	return fmt.Sprintf("netconsole=@10.0.2.15/,%d@10.0.2.2/", r.port)
}

// all returns what has come when the machine has ended: QEMU had sent it before that, and
// only the goroutine above may be behind. It ends with what is sent here.
func (r *receiver) all(t *testing.T) [][]byte {
	t.Helper()
	for i := range r.conns {
		conn, err := net.Dial("udp4", r.conns[i].LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		await.Poll(t, "what is sent on this host arrives", func() bool {
			conn.Write(lastDatagram) // again, should there have been no room
			select {
			case <-r.last[i]:
				return true
			default:
				return false
			}
		})
	}
	return r.got
}

// arrived is what a receiver makes of datagrams.
type arrived struct {
	lines  string // the log lines
	traces string // all of them, one after the other
	parts  [][]datagram.Part
}

// sort takes the datagrams apart, and reports what must not be.
func (r *receiver) sort(t *testing.T, buildID string) (a arrived) {
	t.Helper()
	boot := uint64(0)
	for _, b := range r.all(t) {
		if len(b) > datagram.MaxPayload {
			t.Errorf("a datagram has %d bytes", len(b))
		}
		p, why := datagram.Parse(b)
		if why == datagram.Foreign {
			a.lines += string(b)
			continue
		}
		if why != datagram.None {
			t.Fatalf("a datagram is %v: %q", why, b)
		}
		if boot == 0 {
			boot = p.Boot
		}
		if p.Boot != boot || boot == 0 || string(p.Build) != buildID {
			t.Fatalf("a datagram of boot %x of build %s; want %x of %s", p.Boot, p.Build, boot, buildID)
		}
		for len(a.parts) < int(p.Seq) {
			a.parts = append(a.parts, nil)
		}
		a.parts[p.Seq-1] = append(a.parts[p.Seq-1], p)
	}
	for i, parts := range a.parts {
		var tr received.Trace
		for _, p := range parts {
			if _, err := tr.Add(p); err != nil {
				t.Fatalf("trace %d: %v", i+1, err)
			}
		}
		b, cut := tr.Bytes()
		if b == nil || cut {
			t.Fatalf("trace %d did not arrive whole: %d parts, %d bytes", i+1, len(parts), len(b))
		}
		a.traces += string(b)
	}
	return a
}

// saidOf parts what the serial port has into traces and, from the first line that was sent,
// log lines.
func saidOf(serial, first string) (traces, lines string) {
	sent := false
	for line := range strings.Lines(serial) {
		switch {
		case strings.HasPrefix(line, "zf1") || strings.HasPrefix(line, "{{{"):
			traces += line
		case sent || strings.HasPrefix(line, first):
			sent = true
			lines += strings.ReplaceAll(line, "\r\n", "\n")
		}
	}
	return traces, lines
}

// loseSome drops three of ten parts of each trace, many times.
func loseSome(t *testing.T, a arrived, runs uint64) {
	t.Helper()
	for seed := range runs {
		r := rand.New(rand.NewPCG(seed, 30))
		all := ""
		for i, parts := range a.parts {
			var tr received.Trace
			for _, at := range r.Perm(len(parts)) {
				if r.IntN(10) < 3 {
					continue
				}
				if _, err := tr.Add(parts[at]); err != nil {
					t.Fatal(err)
				}
			}
			b, _ := tr.Bytes()
			if b == nil {
				t.Fatalf("seed %d: trace %d of %d parts did not arrive", seed, i+1, len(parts))
			}
			all += string(b)
		}
		if all != a.traces {
			t.Fatalf("seed %d: other traces", seed)
		}
	}
}

func TestNetconsole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		machine, net string
		options      string
		traces       int // that arrive
		outcome      Outcome
	}{
		{"pc", "virtio", "crash=early.nil-write", 1, Traced},
		{"pc", "virtio-legacy", "crash=early.overflow", 1, Traced},
		{"pc", "e1000", "crash=early.double-fault", 1, Traced},
		{"q35", "virtio-modern", "crash=early.nested crash.stage=1", 1, Traced},
		{"q35", "e1000", "crash=early.nil-read trace=markup", 1, Traced},
		{"q35", "e1000e", "crash=go.nil-map", 1, Traced},
		{"q35", "e1000", "crash=early.nested crash.stage=2 trace=compact", 1, Traced},
		{"q35", "virtio", "crash=early.nested crash.stage=3", 1, Traced},
		{"q35", "virtio", "crash=go.closed trace=compact", 1, Traced},
		{"q35", "virtio", "crash=early.int3", 1, Exited},
		{"q35", "e1000", "crash=early.repeat trace=compact crash.depth=40", 0, Exited},
		{"q35", "virtio", "crash=go.overflow trace.stack=8192", 1, Traced},
		{"q35", "virtio", "crash=early.network", 0, Traced},
		{"microvm", "virtio", "crash=early.kernel-panic", 1, Traced},
		{"microvm", "virtio", "crash=go.wild", 1, Traced},
	} {
		t.Run(tt.machine+"/"+tt.net+"/"+tt.options, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			r := receive(t)
			res, serial, err := boot(t, Config{Kernel: path, Machine: tt.machine, Net: tt.net}, tt.options+" "+r.option())
			if err != nil || res.Outcome != tt.outcome {
				t.Fatalf("the machine: %v, %v; want %v", res.Outcome, err, tt.outcome)
			}
			a := r.sort(t, symbols.BuildID())
			serial, last := strings.CutSuffix(serial, lastWord)
			if want := strings.Contains(tt.options, "crash.stage=3"); last != want {
				t.Errorf("the serial port has the last word: %v; want %v", last, want)
			}
			traces, lines := saidOf(serial, "zeroframe ")
			if a.lines != lines {
				t.Errorf("log lines arrived:\n%s\nthe serial port has:\n%s", a.lines, lines)
			}
			if strings.Contains(tt.options, "early.network") {
				// The fault in the sending is told on the console, and nothing sent.
				if !strings.Contains(traces, "zf1 begin 2") || len(a.parts) != 0 {
					t.Errorf("%d traces arrived; want none, and two on the serial port", len(a.parts))
				}
				return
			}
			if a.traces != traces || traces == "" {
				t.Errorf("traces arrived:\n%s\nthe serial port has:\n%s", a.traces, traces)
			}
			if n := len(a.parts); tt.traces != 0 && n != tt.traces {
				t.Errorf("%d traces arrived; want %d", n, tt.traces)
			}
			bytes, packets := 0, 0
			for _, parts := range a.parts {
				packets += len(parts)
				for _, p := range parts {
					bytes += len(p.Chunk)
				}
			}
			t.Logf("%d traces of %d bytes in %d datagrams, %d bytes", len(a.parts), len(traces), packets, bytes)
			loseSome(t, a, 500)
		})
	}
}

// TestNetconsoleComplaints: what is wrong with the options is said at boot, with what to
// do about it, and the machine goes on.
func TestNetconsoleComplaints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		net, options, says string
	}{
		{"virtio", "netconsole=eth0", "netconsole=eth0 is ignored: want a port"},
		{"virtio", "netconsole=@/,@10.0.2.2/", "this machine's address is missing: there is no DHCP here"},
		{"virtio", "ip=dhcp", "ip=dhcp is ignored: want ip=CLIENT::GATEWAY:NETMASK"},
		{"", "netconsole=@10.0.2.15/,@10.0.2.2/", "is ignored: there is no network card with a driver"},
		{"e1000", "netconsole=@10.0.2.15/,@10.0.2.2/", "netlog  10.0.2.15:6665 to 10.0.2.2:6666, broadcast\r\n        (give its hardware address"},
		{"e1000", "ip=10.0.2.15::10.0.2.2 netconsole=@/,@192.0.2.1/", "netlog  10.0.2.15:6665 to 192.0.2.1:6666 by 10.0.2.2, broadcast"},
		{"e1000", "netconsole=@10.0.2.15/,@10.0.2.2/52:55:0a:00:02:02", "netlog  10.0.2.15:6665 to 10.0.2.2:6666 at 52:55:0a:00:02:02\r\n        this boot is "},
	} {
		t.Run(tt.net+"/"+tt.options, func(t *testing.T) {
			t.Parallel()
			res, serial, err := boot(t, Config{Net: tt.net}, "crash=early.int3 "+tt.options)
			if err != nil || res.Outcome != Exited {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Exited)
			}
			if !strings.Contains(serial, tt.says) {
				t.Errorf("the serial port has\n%s\nwant %q", serial, tt.says)
			}
		})
	}
}

// TestPreviousByNetwork: the trace of the boot before leaves by network as a trace does: under
// the number that it had then, so that nobody counts it twice, or, if it had not been sent,
// under one of this boot.
func TestPreviousByNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind string
		sent bool // when it died
	}{{"early.nil-write", true}, {"early.network", false}} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			r := receive(t)
			res, serial, err := boot(t, Config{Kernel: path, Net: "virtio", Reboots: 1},
				"crash="+tt.kind+" panic=reset crash.then=none "+r.option())
			if err != nil || res.Outcome != Exited || res.Program != 0 {
				t.Fatalf("the machine: %v, status %d, %v; want status 0 of a second boot", res.Outcome, res.Program, err)
			}
			var whole []string
			var parts []datagram.Part
			open := received.Trace{}
			for _, b := range r.all(t) {
				p, why := datagram.Parse(b)
				if why != datagram.None {
					continue
				}
				if n := len(parts); n > 0 && string(p.Build) != string(parts[n-1].Build) {
					open = received.Trace{}
				}
				parts = append(parts, p)
				if _, err := open.Add(p); err != nil {
					t.Fatal(err)
				}
				// (Some pieces are more than it takes.)
				if b, _ := open.Bytes(); b != nil && !slices.Contains(whole, string(b)) {
					whole = append(whole, string(b))
				}
			}
			want := 1
			if tt.sent {
				want = 2
			}
			if len(whole) != want || !strings.HasPrefix(whole[len(whole)-1], "zf1 previous 1\r\n") {
				t.Fatalf("%d traces arrived: %q; want %d, the last one of the boot before", len(whole), whole, want)
			}
			first, last := parts[0], parts[len(parts)-1]
			if string(last.Build) != "" || last.Seq != 1 || tt.sent && (last.Boot != first.Boot || string(first.Build) != symbols.BuildID()) {
				t.Errorf("trace %d of boot %x of build %q came after %d of boot %x", last.Seq, last.Boot, last.Build, first.Seq, first.Boot)
			}
			if !strings.Contains(serial, whole[len(whole)-1]) {
				t.Errorf("the serial port has\n%s\nand not what arrived:\n%s", serial, whole[len(whole)-1])
			}
		})
	}
}
