//go:build !linux

package receive

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// reader reads one datagram at a time.
type reader struct {
	conn     *net.UDPConn
	stopping atomic.Bool
	buf      [MaxDatagram + 1]byte

	n       int // 1
	len     int
	from    netip.AddrPort
	when    time.Time
	dropped uint64 // not known
}

func newReader(conn *net.UDPConn) (*reader, error) { return &reader{conn: conn, n: 1}, nil }

// stop ends each. It may be called from any goroutine.
func (r *reader) stop() {
	r.stopping.Store(true)
	r.conn.SetReadDeadline(time.Now())
}

// each reads, and calls f for what each read has brought. It returns nil when it was
// stopped.
func (r *reader) each(f func()) error {
	for {
		n, from, err := r.conn.ReadFromUDPAddrPort(r.buf[:])
		if r.stopping.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		r.len, r.when = n, time.Now()
		r.from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		f()
	}
}

// datagram returns the datagram that has been read, and who sent it.
func (r *reader) datagram(int) (netip.AddrPort, []byte) { return r.from, r.buf[:r.len] }

// enlarge asks for a buffer of that many bytes. What came of it is not known.
func enlarge(conn *net.UDPConn, want int) (int, error) {
	for ; want > 64<<10; want /= 2 {
		if conn.SetReadBuffer(want) == nil {
			return 0, nil
		}
	}
	return 0, nil
}

// allocated is how many bytes of the disk a file takes, at most.
func allocated(fi os.FileInfo) int64 { return fi.Size() }
