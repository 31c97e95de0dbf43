package receive

// From a socket to the intake. One goroutine does nothing but to read, many datagrams at
// once, so that the socket's buffer is emptied while the intake works. It packs them into
// batches, which go round between the two: only as many are made as are needed, and their
// largest number is what this process adds to the kernel's buffer.

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

const (
	// readLen is the number of datagrams that are read at once.
	readLen = 256
	// batchLen is the number of datagrams in a batch, batchBytes that of their bytes,
	// and numBatches that of the batches.
	batchLen   = 512
	batchBytes = 64 << 10
	numBatches = 1024
	// WantBuffer is the size in bytes that the socket's buffer should have: a quarter
	// of a second of the fastest sender.
	WantBuffer = 64 << 20
	// tick is the time between calls of Intake.Tick.
	tick = 50 * time.Millisecond
)

// A batch is datagrams that follow each other.
type batch struct {
	n       int
	when    time.Time
	dropped uint64 // by the socket since the batch before
	from    [batchLen]netip.AddrPort
	end     [batchLen]int // of each in data
	used    int
	data    [batchBytes]byte
}

// fill takes what has been read from the i'th datagram on, as far as there is room, and
// returns the number of the next one.
func (b *batch) fill(r *reader, i int) int {
	if b.n == 0 {
		b.when = r.when
	}
	b.dropped += r.dropped
	r.dropped = 0
	for ; i < r.n && b.n < batchLen; i++ {
		from, data := r.datagram(i)
		if b.used+len(data) > batchBytes {
			break
		}
		b.used += copy(b.data[b.used:], data)
		b.from[b.n], b.end[b.n] = from, b.used
		b.n++
	}
	return i
}

// Listener is the socket for text and traces, and the one for parity pieces of traces, at the
// next port (package tracer/datagram).
type Listener struct {
	conns  [2]*net.UDPConn
	buffer int // of each socket, in bytes, as far as it is known
}

// anyPorts is how many ports are tried where any will do: the next one may be in use.
const anyPorts = 100

// Listen opens UDP sockets on an address such as ":6666" and on the port for parity.
func Listen(address string) (*Listener, error) {
	a, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	for range anyPorts {
		var l *Listener
		if l, err = listen(*a); err == nil || a.Port != 0 {
			return l, err
		}
	}
	return nil, err
}

func listen(a net.UDPAddr) (*Listener, error) {
	l := new(Listener)
	for i := range l.conns {
		conn, err := net.ListenUDP("udp", &a)
		if err != nil {
			l.close()
			return nil, err
		}
		l.conns[i] = conn
		if l.buffer, err = enlarge(conn, WantBuffer); err != nil {
			l.close()
			return nil, fmt.Errorf("the socket's buffer: %w", err)
		}
		a.Port = int(datagram.ParityPort(uint16(conn.LocalAddr().(*net.UDPAddr).Port)))
	}
	return l, nil
}

func (l *Listener) close() {
	for _, conn := range l.conns {
		if conn != nil {
			conn.Close()
		}
	}
}

// Addr returns the address that is listened on for text and traces.
func (l *Listener) Addr() net.Addr { return l.conns[0].LocalAddr() }

// Buffer returns the size of each socket's buffer in bytes, 0 if it is not known.
func (l *Listener) Buffer() int { return l.buffer }

// Answer sends a datagram from the socket for text and traces; one that cannot be sent is lost, as
// any may be.
func (l *Listener) Answer(to netip.AddrPort, p []byte) { l.conns[0].WriteToUDPAddrPort(p, to) }

// Serve reads until ctx ends, calls flush whenever nothing waits, and closes the sockets.
// Datagrams that have arrived by then are taken. The error is that of a socket or of
// flush, nil when ctx ended.
func (l *Listener) Serve(ctx context.Context, in *Intake, flush func() error) error {
	defer l.close()
	var readers [len(l.conns)]*reader
	for i, conn := range l.conns {
		rd, err := newReader(conn)
		if err != nil {
			return err
		}
		readers[i] = rd
	}
	stop := func() {
		for _, rd := range readers {
			rd.stop()
		}
	}
	defer context.AfterFunc(ctx, stop)()
	full, empty := make(chan *batch, numBatches), make(chan *batch, numBatches)
	var errs [len(readers)]error
	var reading sync.WaitGroup
	for i, rd := range readers {
		reading.Go(func() {
			if errs[i] = rd.read(full, empty, numBatches/len(readers)); errs[i] != nil {
				stop()
			}
		})
	}
	go func() {
		reading.Wait()
		close(full)
	}()
	err := serve(in, full, empty, flush)
	stop()
	for b := range full { // if flush failed
		b.n, b.used = 0, 0
		empty <- b
	}
	return cmp.Or(err, errs[0], errs[1])
}

// read packs what comes into batches, of which it makes at most most, until it is stopped.
func (rd *reader) read(full chan<- *batch, empty <-chan *batch, most int) error {
	made := 0
	var b *batch
	err := rd.each(func() {
		for i := 0; i < rd.n; {
			if b == nil && made < most && len(empty) == 0 {
				made++
				b = new(batch)
			} else if b == nil {
				b = <-empty
			}
			if i = b.fill(rd, i); i < rd.n {
				full <- b
				b = nil
			}
		}
		// While the intake is behind, more of them find room in this one.
		if b != nil && len(full) == 0 {
			full <- b
			b = nil
		}
	})
	if b != nil {
		full <- b
	}
	return err
}

// serve takes batches until there are no more.
func serve(in *Intake, full <-chan *batch, empty chan<- *batch, flush func() error) error {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		select {
		case b, ok := <-full:
			if !ok {
				return flush()
			}
			in.Lose(b.dropped)
			for i, from := 0, 0; i < b.n; i++ {
				in.Datagram(b.when, b.from[i], b.data[from:b.end[i]])
				from = b.end[i]
			}
			b.n, b.used, b.dropped = 0, 0, 0
			empty <- b
			in.Answer()
			if len(full) > 0 {
				continue
			}
		case now := <-ticks.C:
			in.Tick(now)
		}
		if err := flush(); err != nil {
			return err
		}
	}
}
