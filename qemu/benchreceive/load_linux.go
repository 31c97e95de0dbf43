package main

// The load: a corpus of machines, each with a source address of its own on the loopback
// interface, that send their log and a trace now and then.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	// rounds is how often the machines send: for seconds, so that no buffer can hold what
	// is not read.
	rounds = 3
	// linesBetween is the number of log lines that a machine sends before a trace.
	linesBetween = 40
	// turn is the number of datagrams that a machine sends before the next one has its
	// turn, and sendBatch that of the messages that go out in one system call.
	turn      = 8
	sendBatch = 32
)

// load is the messages of a run: each receiver gets the same. All machines share a socket, which
// is told with each message from which address it is to be sent. Datagrams of the same length
// that follow each other are one message, which the kernel cuts apart (UDP_SEGMENT): what is to
// be measured needs the CPU more than what measures. The receiver gets single datagrams, as from
// a network.
type load struct {
	conn  *ipv4.PacketConn
	to    net.Addr
	msgs  []ipv4.Message
	holds []int // datagrams in each
	bytes int   // in all of them
}

// newLoad makes a corpus of n machines that send to a port on the loopback interface.
func newLoad(n, port int) (*load, error) {
	im, err := fleet.Self()
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4zero, Port: 6665})
	if err != nil {
		return nil, fmt.Errorf("the machines' port: %w", err)
	}
	l := &load{conn: ipv4.NewPacketConn(conn), to: &net.UDPAddr{IP: net.IPv4(127, 0, 0,
		1), Port: port}}
	pcs, target, data := fleet.Deep(24), im.Target(tracer.Text), make([][][]byte, n)
	for range rounds {
		for i := range data {
			data[i] = nil
			for j := range linesBetween {
				data[i] = append(data[i], fleet.Line(i, j))
			}
			seq := target.Next()
			trace := target.Trace(tracer.KindFault,
				fmt.Sprintf("nil pointer dereference, write to %#x", seq), pcs)
			data[i] = append(data[i], fleet.Datagrams(im.Build, uint64(i)+1<<40, seq, trace)...)
		}
		// Machines take turns, so that their traces come mixed.
		for from := 0; from < len(data[0]); from += turn {
			for i, d := range data {
				l.add([4]byte{127, 1 + byte(i>>16), byte(i >> 8), byte(i)},
					d[min(from, len(d)):min(from+turn, len(d))])
			}
		}
	}
	runtime.GC() // not while it sends
	return l, nil
}

// add adds the messages of a machine's turn.
func (l *load) add(from [4]byte, data [][]byte) {
	for len(data) > 0 {
		n, size := 1, len(data[0])
		for n < len(data) && len(data[n]) == size {
			n++
		}
		control := (&ipv4.ControlMessage{Src: from[:]}).Marshal()
		if n > 1 {
			segment := make([]byte, unix.CmsgSpace(2))
			h := (*unix.Cmsghdr)(unsafe.Pointer(&segment[0]))
			h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
			h.SetLen(unix.CmsgLen(2))
			binary.NativeEndian.PutUint16(segment[unix.CmsgLen(0):], uint16(size))
			control = append(control, segment...)
		}
		l.msgs = append(l.msgs, ipv4.Message{Buffers: data[:n:n], OOB: control, Addr: l.to})
		l.holds, l.bytes, data = append(l.holds, n), l.bytes+n*size, data[n:]
	}
}

// send sends the rounds at a rate in datagrams a second (0: as fast as it goes), and
// returns how many there were.
func (l *load) send(rate int) (sent int, err error) {
	start := time.Now()
	for at := 0; at < len(l.msgs); {
		n, err := l.conn.WriteBatch(l.msgs[at:min(at+sendBatch, len(l.msgs))], 0)
		// which is about a receiver that has ended before
		if err != nil && !errors.Is(err, unix.ECONNREFUSED) {
			return sent, err
		}
		for _, held := range l.holds[at : at+n] {
			sent += held
		}
		at += n
		if rate > 0 {
			// What it oversleeps is made up for by the next ones.
			time.Sleep(time.Duration(float64(sent)/float64(rate)*1e9) - time.Since(start))
		}
	}
	return sent, nil
}
