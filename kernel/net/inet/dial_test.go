package inet

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
)

// TestDial: a listener gets a connection from the address that is asked for; without one it is an
// error.
func TestDial(t *testing.T) {
	for network, own := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		l, err := net.Listen(network, own)
		if err != nil {
			t.Fatal(err)
		}
		to := l.Addr().(*net.TCPAddr).AddrPort()
		from := netip.AddrPortFrom(to.Addr(), 0)
		if to.Addr().Is4() {
			from = netip.MustParseAddrPort("127.0.0.2:0")
		}
		c, _, err := dial(from, to)
		if err != nil {
			t.Fatalf("%s: %v", network, err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := accepted.RemoteAddr().(*net.TCPAddr).AddrPort().Addr(); got != from.Addr() {
			t.Errorf("%s: connected from %v; want %v", network, got, from.Addr())
		}
		c.Write([]byte("hello"))
		c.Close()
		b := make([]byte, 9)
		if n, err := accepted.Read(b); string(b[:n]) != "hello" {
			t.Errorf("%s: %q, %v", network, b[:n], err)
		}
		accepted.Close()
		l.Close()
		if _, _, err := dial(from, to); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v without a listener", network, err)
		}
	}
}
