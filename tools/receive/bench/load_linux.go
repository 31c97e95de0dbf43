package main

// The load: a corpus of machines, each with a source address of its own on the loopback
// interface, that send their log and a trace now and then.

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/tools/receive/fleet"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	// linesBetween is the number of log lines that a machine sends before a trace.
	linesBetween = 40
	// turn is the number of datagrams that a machine sends before the next one has its
	// turn, and sendBatch that of the messages that go out in one system call.
	turn      = 8
	sendBatch = 32
)

// machine is a sender.
type machine struct {
	addr [4]byte
	boot uint64
	seq  uint32
	t    *fleet.Target
	data [][]byte // what it sends in one round
}

// load sends rounds of a corpus of machines to a receiver. All of them share a socket,
// which is told with each message from which address it is to be sent. Datagrams of the
// same length that follow each other are one message, which the kernel cuts apart
// (UDP_SEGMENT): what is to be measured needs the CPU more than what measures. The
// receiver gets single datagrams, as from a network.
type load struct {
	image    *fleet.Image
	machines []*machine
	pcs      []uintptr
	raw      syscall.RawConn
	to       unix.RawSockaddrInet4

	// The messages of a run: each receiver gets the same.
	msgs  []mmsghdr
	holds []int // datagrams in each
	bytes int   // in all of them
}

type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

// newLoad makes a corpus of n machines that send to a port on the loopback interface.
func newLoad(n, port int) (*load, error) {
	im, err := fleet.Self()
	if err != nil {
		return nil, err
	}
	l := &load{image: im, pcs: fleet.Deep(24)}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4zero, Port: 6665})
	if err != nil {
		return nil, fmt.Errorf("the machines' port: %w", err)
	}
	if l.raw, err = conn.SyscallConn(); err != nil {
		return nil, err
	}
	l.to = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&l.to.Port))[:], uint16(port))
	for i := range n {
		m := &machine{addr: [4]byte{127, 1 + byte(i>>16), byte(i >> 8), byte(i)}, boot: uint64(i) + 1<<40, t: im.Target(tracer.Text)}
		for j := range linesBetween {
			m.data = append(m.data, fleet.Line(i, j))
		}
		l.machines = append(l.machines, m)
	}
	for range rounds {
		l.addRound()
	}
	runtime.GC() // not while it sends
	return l, nil
}

// addRound adds a round to what is sent. To make it takes longer than to send it.
func (l *load) addRound() {
	for _, m := range l.machines {
		m.seq++
		trace := m.t.Trace(tracer.KindFault, fmt.Sprintf("nil pointer dereference, write to %#x", m.seq), l.pcs)
		m.data = append(m.data[:linesBetween], fleet.Datagrams(l.image.Build, m.boot, m.seq, trace)...)
	}
	// Machines take turns, so that their traces come mixed.
	for from, any := 0, true; any; from += turn {
		any = false
		for _, m := range l.machines {
			if from < len(m.data) {
				any = true
				l.addTurn(m, m.data[from:min(from+turn, len(m.data))])
			}
		}
	}
}

// addTurn adds the messages of a machine's turn.
func (l *load) addTurn(m *machine, data [][]byte) {
	for len(data) > 0 {
		n := 1
		for n < len(data) && len(data[n]) == len(data[0]) {
			n++
		}
		iovs := make([]unix.Iovec, n)
		for i, d := range data[:n] {
			iovs[i].Base = &d[0]
			iovs[i].SetLen(len(d))
			l.bytes += len(d)
		}
		control := from(m.addr)
		if n > 1 {
			control = appendControl(control, unix.SOL_UDP, unix.UDP_SEGMENT, binary.NativeEndian.AppendUint16(nil, uint16(len(data[0]))))
		}
		var msg mmsghdr
		msg.hdr.Name = (*byte)(unsafe.Pointer(&l.to))
		msg.hdr.Namelen = unix.SizeofSockaddrInet4
		msg.hdr.Iov = &iovs[0]
		msg.hdr.SetIovlen(n)
		msg.hdr.Control = &control[0]
		msg.hdr.SetControllen(len(control))
		l.msgs, l.holds = append(l.msgs, msg), append(l.holds, n)
		data = data[n:]
	}
}

// from returns a control message that sets a message's source address.
func from(addr [4]byte) []byte {
	info := unix.Inet4Pktinfo{Spec_dst: addr}
	return appendControl(nil, unix.SOL_IP, unix.IP_PKTINFO, (*[unix.SizeofInet4Pktinfo]byte)(unsafe.Pointer(&info))[:])
}

func appendControl(to []byte, level, kind int32, data []byte) []byte {
	h := unix.Cmsghdr{Level: level, Type: kind}
	h.SetLen(unix.CmsgLen(len(data)))
	one := make([]byte, unix.CmsgSpace(len(data)))
	copy(one, (*[unix.SizeofCmsghdr]byte)(unsafe.Pointer(&h))[:])
	copy(one[unix.CmsgLen(0):], data)
	return append(to, one...)
}

// send sends the rounds at a rate in datagrams a second (0: as fast as it goes), and
// returns how many there were.
func (l *load) send(rate int) (sent int, err error) {
	start := time.Now()
	for at := 0; at < len(l.msgs); {
		n, err := l.sendmmsg(l.msgs[at:min(at+sendBatch, len(l.msgs))])
		if err != nil {
			return sent, err
		}
		for _, held := range l.holds[at : at+n] {
			sent += held
		}
		at += n
		if rate > 0 {
			due := time.Duration(float64(sent) / float64(rate) * 1e9)
			if ahead := due - time.Since(start); ahead > 0 {
				time.Sleep(ahead) // what it oversleeps is made up for by the next ones
			}
		}
	}
	return sent, nil
}

// sendmmsg sends messages, and returns how many have been sent.
func (l *load) sendmmsg(msgs []mmsghdr) (n int, err error) {
	var errno syscall.Errno
	err = l.raw.Write(func(fd uintptr) bool {
		for {
			var r uintptr
			r, _, errno = unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&msgs[0])), uintptr(len(msgs)), 0, 0, 0)
			switch errno {
			case 0:
				n = int(r)
				return true
			case unix.EINTR, unix.ECONNREFUSED: // the latter is about a receiver that has ended before
			default:
				return errno != unix.EAGAIN
			}
		}
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("sendmmsg", errno)
	}
	return n, err
}
