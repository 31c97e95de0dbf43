package lossy_test

import (
	"net"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/lossy"
)

// TestRelay: all datagrams are lost, or come once or twice, in both directions; without loss each
// comes once.
func TestRelay(t *testing.T) {
	for _, loss := range []float64{0, 0.3} {
		receiver, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer receiver.Close()
		_, port, _ := net.SplitHostPort(receiver.LocalAddr().String())
		r, err := lossy.Start(port, loss, 7)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		machine, err := net.Dial("udp4", "127.0.0.1:"+r.Port())
		if err != nil {
			t.Fatal(err)
		}
		defer machine.Close()
		// One after the other: each goes to the receiver, which answers each at once. Before a
		// datagram is sent, the relay has seen all of those before.
		came := make(chan byte, 4096)
		go func() {
			b := make([]byte, 16)
			for {
				n, from, err := receiver.ReadFromUDP(b)
				if err != nil {
					close(came)
					return
				}
				came <- b[0]
				receiver.WriteToUDP(b[:n], from)
			}
		}()
		seen := make(chan byte, 4096)
		r.See(func(b []byte) { seen <- b[0] })
		const all = 200
		for i := range all {
			if _, err := machine.Write([]byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			for <-seen != byte(i) { // or the answer to one before
			}
		}
		if loss == 0 {
			for i := range all {
				if got := <-came; got != byte(i) {
					t.Fatalf("datagram %d comes where %d should", got, i)
				}
			}
			b := make([]byte, 16)
			for i := range all {
				if _, err := machine.Read(b); err != nil || b[0] != byte(i) {
					t.Fatalf("answer %d is to %d, %v", i, b[0], err)
				}
			}
		}
		passed, lost := r.Counts()
		if passed < all || loss == 0 && lost != 0 || loss > 0 && (lost < passed/5 || lost > passed/2) {
			t.Errorf("of %d datagrams %d are lost; want a share of %g", passed, lost, loss)
		}
	}
}
