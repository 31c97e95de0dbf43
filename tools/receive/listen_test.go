package receive

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// TestListener: whatever the sizes, what is sent arrives in its order and unchanged, also
// what waits in the socket when it ends.
func TestListener(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := new(collector)
	in := NewIntake(Options{}, c)
	conn, err := net.DialUDP("udp", nil, l.Addr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// What is sent to the port for parity comes too. Where it comes between the others is open.
	parity := *l.Addr().(*net.UDPAddr)
	parity.Port = int(datagram.ParityPort(uint16(parity.Port)))
	other, err := net.DialUDP("udp", nil, &parity)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Write([]byte("zf1 - 0000000000000001 1 0 x1 00000000\nx")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	batches := make(chan int64, 1) // datagrams taken, so far
	go func() {
		ended <- l.Serve(ctx, in, func() error {
			select { // the newest count alone
			case <-batches:
			default:
			}
			batches <- int64(in.Stats().Datagrams)
			return nil
		})
	}()
	// The socket's buffer may be small: no more is sent than it holds, at 4 KiB a datagram.
	ahead := int64(max(l.Buffer()>>12, 1))
	var want []string
	sent, taken := int64(0), int64(0)
	from := conn.LocalAddr().String()
	send := func(n int) {
		for sent-taken >= ahead {
			select {
			case taken = <-batches:
			case <-time.After(await.Patience):
				t.Fatalf("%d datagrams sent, %d taken", sent, taken)
			}
		}
		sent++
		line := bytes.Repeat([]byte{byte('a' + len(want)%26)}, n)
		if n < MaxDatagram {
			want = append(want, from+": "+string(line))
			line = append(line, '\n')
		}
		if _, err := conn.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1500 { // more than a read, and more bytes than a batch
		send(1 + i*37%(MaxDatagram-1))
		if i%100 == 0 {
			send(MaxDatagram + 1)
			send(3 * MaxDatagram)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wantLines(t, c, want...)
	if s := in.Stats(); s.TooLong != 30 || s.Damaged != 1 || s.Rejected() != 31 || s.Lost != 0 {
		t.Errorf("%d too long, %d damaged, %d rejected, %d lost; want 30, 1, 31, 0", s.TooLong, s.Damaged, s.Rejected(), s.Lost)
	}
}
