// Package lossy is a bad network: it passes datagrams on between machines and a receiver, and
// loses, doubles and delays some of them.
//
//	lossy.go  all of it
//
// It imports nothing of Zeroframe. Context: the host, in tests and measurements.
package lossy

import (
	"bytes"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// A Line passes packets on in one direction. Of all of them the share loss is lost; a third of that
// comes twice, and another third late, after up to eight later ones. Its methods may be called from
// several goroutines.
type Line struct {
	mu           sync.Mutex
	rand         *rand.Rand
	loss         float64
	held         []held
	lost, passed int
}

// held is a packet that is late: so many others come first.
type held struct {
	b     []byte
	after int
	send  func([]byte)
}

// NewLine returns a line. With the same seed and packets it loses the same ones.
func NewLine(loss float64, seed uint64) *Line {
	return &Line{rand: rand.New(rand.NewPCG(seed, 1)), loss: loss}
}

// Counts returns how many packets have come, and how many of them are lost.
func (l *Line) Counts() (passed, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed, l.lost
}

// Pass sends a packet on, or does not, and those before it that are late enough. send may be called
// after Pass has returned, by another call of it.
func (l *Line) Pass(b []byte, send func([]byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passed++
	switch x := l.rand.Float64(); {
	case x < l.loss:
		l.lost++
	case x < l.loss+l.loss/3:
		l.held = append(l.held, held{bytes.Clone(b), 1 + l.rand.IntN(8), send})
		return
	case x < l.loss+2*l.loss/3:
		send(b)
		send(b)
	default:
		send(b)
	}
	left := l.held[:0]
	for _, h := range l.held {
		if h.after--; h.after == 0 {
			h.send(h.b)
		} else {
			left = append(left, h)
		}
	}
	l.held = left
}

// A Relay passes datagrams on, from 127.0.0.1 to a receiver and back, by a [Line] for each way.
type Relay struct {
	// Conn takes what the machines send.
	Conn *net.UDPConn

	out, back *Line

	mu  sync.Mutex
	to  map[string]*net.UDPConn // by the machine's address
	see func([]byte)
}

// Start starts a relay to a port of 127.0.0.1. With the same seed and datagrams it loses the same
// ones.
func Start(port string, loss float64, seed uint64) (*Relay, error) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	r := &Relay{Conn: conn, out: NewLine(loss, seed), back: NewLine(loss, ^seed),
		to: map[string]*net.UDPConn{}}
	go r.run(port)
	return r, nil
}

// Port is where the machines send to.
func (r *Relay) Port() string { return strconv.Itoa(r.Conn.LocalAddr().(*net.UDPAddr).Port) }

// See has f look at each datagram from now on, before it is lost or not. f is called by one
// goroutine at a time.
func (r *Relay) See(f func(b []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.see = f
}

// Counts returns how many datagrams have come, and how many of them are lost.
func (r *Relay) Counts() (passed, lost int) {
	passed, lost = r.out.Counts()
	n, k := r.back.Counts()
	return passed + n, lost + k
}

// Close ends it.
func (r *Relay) Close() error {
	err := r.Conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.to {
		c.Close()
	}
	return err
}

// run passes on what comes from the machines, until Close.
func (r *Relay) run(port string) {
	b := make([]byte, 1<<16)
	for {
		n, from, err := r.Conn.ReadFromUDP(b)
		if err != nil {
			return
		}
		r.mu.Lock()
		back := r.to[from.String()]
		if back == nil {
			c, err := net.Dial("udp4", "127.0.0.1:"+port)
			if err != nil {
				r.mu.Unlock()
				return
			}
			back = c.(*net.UDPConn)
			r.to[from.String()] = back
			go r.answers(back, from)
		}
		r.pass(r.out, b[:n], func(b []byte) { back.Write(b) })
		r.mu.Unlock()
	}
}

// answers passes on what comes back for a machine.
func (r *Relay) answers(from *net.UDPConn, to *net.UDPAddr) {
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.pass(r.back, b[:n], func(b []byte) { r.Conn.WriteToUDP(b, to) })
		r.mu.Unlock()
	}
}

// pass passes a datagram on in one direction, perhaps. The caller has the lock.
func (r *Relay) pass(line *Line, b []byte, send func([]byte)) {
	if r.see != nil {
		r.see(b)
	}
	line.Pass(b, send)
}
