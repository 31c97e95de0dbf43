package inet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/linux"
)

const (
	handshakes  = 4096        // that other machines have begun at a time
	acceptLimit = time.Minute // for the program to take a connection, if its backlog is full
	pieceSize   = 64 << 10    // bytes that are moved at a time
)

// setTCP has the stack do what Linux's does.
func (n *network) setTCP() error {
	sack, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true)
	// After a probe of RACK, which is the default, a sender may have no timer, and wait for ever for
	// what is lost (google/gvisor#6113). RFC 6675, which is the other choice, has none.
	recovery := tcpip.TCPRecovery(0)
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &recovery} {
		if err := n.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("TCP: %v", err)
		}
	}
	return nil
}

// serveStreams takes the program's connections to other machines, and theirs to it.
func (n *network) serveStreams() error {
	config := net.ListenConfig{Control: setOption(ipTransparent)}
	l, err := config.Listen(context.Background(), "tcp6", "[::1]:0")
	if err != nil {
		return err
	}
	gate, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	n.gate, n.gateways = gate, append(n.gateways, l)
	*arch.ExitCall() = n.finish
	n.card.begins = n.begins
	n.serve(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				n.workers.do(func() { n.connect(c.(*net.TCPConn)) })
			} else {
				time.Sleep(time.Millisecond) // too many files: some will be closed
			}
		}
	})
	// findAsleep knows our goroutines.
	accept := func(r *tcp.ForwarderRequest) { n.workers.do(func() { n.accept(r) }) }
	from := tcp.NewForwarder(n.Stack, 0, handshakes, accept)
	n.SetTransportProtocolHandler(tcp.ProtocolNumber,
		func(id stack.TransportEndpointID, p *stack.PacketBuffer) bool {
			return addr(id.RemoteAddress).IsUnspecified() || from.HandlePacket(id, p)
		})
	return nil
}

// stream is a connection: the end that the program's socket is connected to, and the stack's.
type stream struct {
	local  io.WriteCloser
	raw    syscall.RawConn
	wire   tcpip.Endpoint
	queue  waiter.Queue
	six    bool        // it is of version 6
	failed tcpip.Error // what out has found; in reads it when out has ended

	sending  sync.Mutex // while bytes are taken from the program, or its options
	optioned bool       // it has options of the program
}

func newStream(c *net.TCPConn) (*stream, error) {
	raw, err := c.SyscallConn()
	return &stream{local: c, raw: raw}, err
}

// result tells the program's end what has come of the connection: 0, or an errno.
func (s *stream) result(e syscall.Errno) {
	s.raw.Control(func(fd uintptr) { ioctl(fd, linux.GatewayResult, uintptr(e)) })
}

// protocolOf returns the protocol of an address.
func protocolOf(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Is4() {
		return ipv4.ProtocolNumber
	}
	return ipv6.ProtocolNumber
}

// place returns a socket's address as the stack has it.
func place(a net.Addr) (netip.Addr, tcpip.FullAddress) {
	p := a.(*net.TCPAddr).AddrPort()
	ip := p.Addr().Unmap().WithZone("")
	return ip, tcpip.FullAddress{NIC: nicID, Addr: address(ip), Port: p.Port()}
}

// connect reaches the machine that a program's socket is to be connected to.
func (n *network) connect(c *net.TCPConn) {
	n.streams.Add(1)
	defer n.streams.Add(-1)
	s, err := newStream(c)
	if err != nil {
		c.Close()
		return
	}
	ip, to := place(c.LocalAddr())
	_, from := place(c.RemoteAddr())
	wire, e := n.NewEndpoint(tcp.ProtocolNumber, protocolOf(ip), &s.queue)
	if e != nil {
		s.result(errno(e))
		c.Close()
		return
	}
	s.wire = wire
	wire.SocketOptions().SetReuseAddress(true)
	defer n.know(s, plain(c.RemoteAddr()), plain(c.LocalAddr()))()
	made := make(chan struct{})
	outDone := make(chan struct{})
	n.sending.Add(1)
	n.workers.do(func() {
		defer close(outDone)
		defer n.sending.Add(-1)
		s.out(made)
	})
	if e = s.dial(from, to); e != nil {
		wire.Abort()
		s.result(errno(e))
		close(made)
		<-outDone
		c.Close()
		return
	}
	close(made) // first: the program may send all it has, and its end, as soon as it knows
	s.result(0)
	s.in(outDone)
	<-outDone
	n.close(s)
}

// notified returns a channel that is told of events of the stack's end, or of its end, until stop
// is called.
func (s *stream) notified(events waiter.EventMask) (ready <-chan struct{}, stop func()) {
	entry, c := waiter.NewChannelEntry(events | waiter.EventErr | waiter.EventHUp)
	s.queue.EventRegister(&entry)
	return c, func() { s.queue.EventUnregister(&entry) }
}

// dial makes the connection.
func (s *stream) dial(from, to tcpip.FullAddress) tcpip.Error {
	ready, stop := s.notified(waiter.WritableEvents)
	defer stop()
	if err := s.wire.Bind(from); err != nil {
		return err
	}
	err := s.wire.Connect(to)
	if _, ok := err.(*tcpip.ErrConnectStarted); ok {
		<-ready
		err = s.wire.LastError()
	}
	return err
}

// accept takes a connection that another machine wants to make.
func (n *network) accept(r *tcp.ForwarderRequest) {
	id := r.ID()
	to := netip.AddrPortFrom(addr(id.LocalAddress), id.LocalPort)
	from := netip.AddrPortFrom(addr(id.RemoteAddress), id.RemotePort)
	switch listens(n.gate, to) {
	case 0:
		r.Complete(true)
		return
	case full:
		r.Complete(false) // the other machine tries again
		return
	}
	s := new(stream)
	made := n.opens(id)
	wire, e := r.CreateEndpoint(&s.queue)
	made()
	if e != nil {
		r.Complete(true)
		return
	}
	r.Complete(false)
	s.wire = wire
	c, raw, err := dial(from, to)
	if err != nil {
		wire.Abort()
		return
	}
	n.streams.Add(1)
	defer n.streams.Add(-1)
	s.local, s.raw = c, raw
	defer n.know(s, to, from)()
	done := make(chan struct{})
	n.sending.Add(1)
	n.workers.do(func() {
		defer close(done)
		defer n.sending.Add(-1)
		s.out(nil)
	})
	s.in(done)
	<-done
	n.close(s)
}

const full = 2 // as an answer of listens: the listener's backlog has no room

// listens returns 0 if the program has no listener for an address, or else 1 or full.
func listens(gate syscall.RawConn, to netip.AddrPort) (answer uintptr) {
	var b [20]byte
	a := to.Addr().As16()
	copy(b[:], a[:])
	b[16], b[17] = byte(to.Port()>>8), byte(to.Port())
	gate.Control(func(fd uintptr) {
		answer, _ = ioctl(fd, linux.GatewayListens, uintptr(unsafe.Pointer(&b)))
	})
	return answer
}

// pieces holds buffers; the variable itself is never written. A connection has one while something
// is there for it: of those that are idle there may be many.
var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// in moves what comes from the other machine to the program, until its end. outDone is closed when
// out has ended.
func (s *stream) in(outDone <-chan struct{}) {
	ready, stop := s.notified(waiter.ReadableEvents)
	defer stop()
	for {
		switch err := s.inAll().(type) {
		case nil:
			s.wire.Abort() // the program has closed its socket
			return
		case *tcpip.ErrWouldBlock:
			<-ready
		case *tcpip.ErrClosedForReceive:
			if s.wire.State() == uint32(tcp.StateError) { // the stack says why once: out knows
				<-outDone
				s.result(errno(s.failed))
				return
			}
			s.raw.Control(func(fd uintptr) { syscall.Shutdown(int(fd), syscall.SHUT_WR) })
			s.refused(ready, outDone)
			return
		default:
			s.result(errno(err))
			return
		}
	}
}

// inAll moves what has come. The error says why that is all; nil: the program takes nothing more.
func (s *stream) inAll() tcpip.Error {
	b := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(b)
	for {
		w := tcpip.SliceWriter(b[:])
		r, e := s.wire.Read(&w, tcpip.ReadOptions{})
		if e != nil {
			return e
		}
		if _, err := s.local.Write(b[:r.Count]); err != nil {
			return nil
		}
	}
}

// refused waits until out has ended, or the other machine, which sends nothing more, has refused
// what the program sends.
func (s *stream) refused(ready, outDone <-chan struct{}) {
	for !s.reset() {
		select {
		case <-ready:
		case <-outDone:
			return
		}
	}
	s.result(syscall.EPIPE)
}

// reset reports whether the other machine, which sends nothing more, has reset the connection. (The
// stack closes a connection then as if it had ended, but it has an error.)
func (s *stream) reset() bool {
	switch tcp.EndpointState(s.wire.State()) {
	case tcp.StateError:
		return true
	case tcp.StateClose:
		return s.wire.LastError() != nil
	}
	return false
}

// out moves what the program sends to the other machine, until its end. Until the channel made is
// closed, the connection is not made, and the end is that of the attempt.
func (s *stream) out(made <-chan struct{}) {
	ready, stop := s.notified(waiter.WritableEvents)
	defer stop()
	for {
		b, n, err := s.received()
		sent := n == 0 || s.write(b[:n], ready)
		if b != nil {
			pieces.Put(b)
		}
		switch {
		case !sent:
			return
		case err != nil:
			s.wire.Abort() // the program has reset the connection
			return
		case n > 0:
			continue
		}
		select {
		case <-made:
		default:
			if made != nil {
				s.wire.Abort()
				return
			}
		}
		s.wire.Shutdown(tcpip.ShutdownWrite)
		s.closed()
		s.wire.Close()
		return
	}
}

// received waits for what the program sends, and returns it in a buffer, or 0 bytes for its end.
func (s *stream) received() (b *[pieceSize]byte, n int, err error) {
	e := s.raw.Read(func(fd uintptr) bool {
		b = pieces.Get().(*[pieceSize]byte)
		s.sending.Lock()
		defer s.sending.Unlock()
		for {
			n, err = syscall.Read(int(fd), b[:])
			if err == syscall.Errno(linux.GatewayChanged) {
				s.takeOptions(fd)
			} else if err != syscall.EINTR {
				break
			}
		}
		if err == syscall.EAGAIN {
			pieces.Put(b)
			return false
		}
		return true
	})
	if e != nil { // closed, before anything came
		return nil, 0, e
	}
	return b, max(n, 0), err
}

// write sends bytes, and reports whether it has sent them all.
func (s *stream) write(b []byte, ready <-chan struct{}) bool {
	for len(b) > 0 {
		n, err := s.wire.Write(bytes.NewReader(b), tcpip.WriteOptions{})
		b = b[n:]
		switch err.(type) {
		case nil:
		case *tcpip.ErrWouldBlock:
			<-ready
		default:
			s.failed = err
			return false
		}
	}
	return true
}

// closed waits until the program has closed its socket, which may still receive.
func (s *stream) closed() {
	s.raw.Read(func(fd uintptr) bool {
		v, err := ioctl(fd, linux.GatewayClosed, 0)
		return v == 1 || err != nil
	})
}

// close ends both ends of a connection.
func (n *network) close(s *stream) {
	s.local.Close()
	s.wire.Close()
	n.ended.add(s.wire.(*tcp.Endpoint))
}
