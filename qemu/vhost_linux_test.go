package qemu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A network card whose other side is the test, in the machine's memory (QEMU's docs/interop/
// vhost-user.rst). So it can do for the card what a host's kernel does, which QEMU's own networks
// cannot: take packets that are not cut into frames, and give some. It needs no rights.

// vhost is the other side of a card.
type vhost struct {
	t      *testing.T
	conn   *net.UnixConn
	offers uint64
	args   []string // QEMU's
	ram    string   // a file
	take   func(header, packet []byte)

	mu      sync.Mutex
	agreed  uint64
	regions []region
	rings   [2]ring // to the machine, and from it
	mapped  [][]byte
	calls   []int
	kicks   []*os.File
	serving sync.WaitGroup // what reads the kicks
	given   chan struct{}  // has an element after the machine has given buffers
	fence   atomic.Int32   // orders what the machine sees
	lost    atomic.Int32   // packets for which there was no buffer
}

// region is a part of the machine's memory.
type region struct {
	guest, qemu uint64 // addresses that the machine and QEMU have for it
	b           []byte
}

// ring is a virtqueue: the addresses are QEMU's.
type ring struct {
	num               uint32
	desc, used, avail uint64
	next              uint16
	on                bool
	call              int // an event's descriptor: interrupts; -1: none
}

// vnetHeader is the length of the header before each packet.
const vnetHeader = 12

func newVhost(t *testing.T, device string, offers uint64, take func(header, packet []byte)) *vhost {
	t.Helper()
	path := filepath.Join(plainFolder(t), "vhost")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	v := &vhost{t: t, offers: offers, take: take, ram: filepath.Join(t.TempDir(), "ram"),
		given: make(chan struct{}, 1), args: []string{
			"-chardev", "socket,id=vhost,path=" + path, "-netdev", "vhost-user,id=net0,chardev=vhost",
			// (Without KVM, QEMU 7.2 crashes of a vhost-user card's interrupts by message.)
			"-device", device + ",vectors=0,netdev=net0,mac=" + guestMAC.String()}}
	var running sync.WaitGroup
	running.Go(func() {
		if v.conn, err = l.AcceptUnix(); err != nil {
			return
		}
		defer v.conn.Close()
		for v.answer() == nil {
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait() // for QEMU's end
		for _, f := range v.kicks {
			f.Close()
		}
		v.serving.Wait() // they read what is mapped
		for _, b := range v.mapped {
			unix.Munmap(b)
		}
		for _, fd := range v.calls {
			unix.Close(fd)
		}
	})
	return v
}

// answer does what one message of QEMU's asks for.
func (v *vhost) answer() error {
	const (
		getFeatures = 1
		setFeatures = 2
		setMemory   = 5
		setNum      = 8
		setAddress  = 9
		setBase     = 10
		getBase     = 11
		setKick     = 12
		setCall     = 13
		setError    = 14
		getProtocol = 15

		protocol = 1 << 30 // a feature: QEMU 7.2 does not start without it
	)
	b, control := make([]byte, 12+8+8*32), make([]byte, 256)
	n, c, _, _, err := v.conn.ReadMsgUnix(b[:12], control)
	if err != nil || n != 12 {
		return errors.Join(err, net.ErrClosed)
	}
	le := binary.LittleEndian
	request, body := le.Uint32(b), b[12:12+le.Uint32(b[8:])]
	if len(body) > 0 {
		if n, err := v.conn.Read(body); err != nil || n != len(body) {
			return errors.Join(err, net.ErrClosed)
		}
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(control[:c]); err == nil && len(messages) > 0 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r := func() *ring { return &v.rings[body[0]&1] }
	reply := func(body []byte) error {
		_, err := v.conn.Write(append(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, request), 5), uint32(len(body))), body...))
		return err
	}
	switch request {
	case getFeatures:
		return reply(le.AppendUint64(nil, v.offers|protocol))
	case getProtocol:
		return reply(make([]byte, 8))
	case setFeatures:
		v.agreed = le.Uint64(body)
	case setMemory:
		v.regions = nil
		for i, fd := range fds {
			e := body[8+32*i:]
			size, offset := le.Uint64(e[8:]), le.Uint64(e[24:])
			all, err := unix.Mmap(fd, 0, int(size+offset), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return err
			}
			v.mapped = append(v.mapped, all)
			v.regions = append(v.regions, region{le.Uint64(e), le.Uint64(e[16:]), all[offset:]})
			unix.Close(fd)
		}
	case setNum:
		r().num = le.Uint32(body[4:])
	case setAddress:
		r().desc, r().used, r().avail = le.Uint64(body[8:]), le.Uint64(body[16:]), le.Uint64(body[24:])
	case setBase:
		r().next = uint16(le.Uint32(body[4:]))
	case getBase:
		r().on = false
		return reply(le.AppendUint32(le.AppendUint32(nil, uint32(body[0])), uint32(r().next)))
	case setKick:
		r().on = true
		if len(fds) > 0 {
			unix.SetNonblock(fds[0], true)
			f := os.NewFile(uintptr(fds[0]), "kick")
			v.kicks = append(v.kicks, f)
			v.serving.Go(func() { v.kicked(f, body[0]&1) })
		}
	case setError:
		for _, fd := range fds {
			unix.Close(fd)
		}
	case setCall:
		r().call = -1
		if len(fds) > 0 {
			r().call = fds[0]
			v.calls = append(v.calls, fds...)
		}
	}
	return nil
}

// kicked does what there is to do whenever the machine has changed a ring.
func (v *vhost) kicked(f *os.File, ring byte) {
	for b := make([]byte, 8); ; {
		if _, err := f.Read(b); err != nil {
			return
		}
		if ring == 0 {
			select {
			case v.given <- struct{}{}:
			default:
			}
			continue
		}
		for v.receive() {
		}
	}
}

// at returns n bytes of the machine's memory, at an address of its own, or of QEMU's.
func (v *vhost) at(a uint64, n int, own bool) []byte {
	for _, r := range v.regions {
		begin := r.qemu
		if own {
			begin = r.guest
		}
		if a >= begin && a-begin+uint64(n) <= uint64(len(r.b)) {
			return r.b[a-begin:][:n]
		}
	}
	v.t.Errorf("no memory at %#x for %d bytes", a, n)
	return make([]byte, n)
}

// word is a counter that both sides read and write.
func (v *vhost) word(a uint64) uint16 { return binary.LittleEndian.Uint16(v.at(a, 2, false)) }

// chain returns the parts of the next chain of a ring, and its number; ok is false if there is none.
func (v *vhost) chain(r *ring) (parts [][]byte, head uint16, ok bool) {
	if !r.on || r.next == v.word(r.avail+2) {
		return nil, 0, false
	}
	head = v.word(r.avail + 4 + 2*uint64(uint32(r.next)%r.num))
	r.next++
	v.fence.Add(1)
	for i := head; ; {
		d := v.at(r.desc+16*uint64(i), 16, false)
		le := binary.LittleEndian
		parts = append(parts, v.at(le.Uint64(d), int(le.Uint32(d[8:])), true))
		if le.Uint16(d[12:])&1 == 0 {
			return parts, head, true
		}
		i = le.Uint16(d[14:])
	}
}

// use gives chains back, all at once, and interrupts.
func (v *vhost) use(r *ring, heads []uint16, lengths []int) {
	le := binary.LittleEndian
	index := v.at(r.used+2, 2, false)
	for i, head := range heads {
		e := v.at(r.used+4+8*uint64(uint32(le.Uint16(index)+uint16(i))%r.num), 8, false)
		le.PutUint32(e, uint32(head))
		le.PutUint32(e[4:], uint32(lengths[i]))
	}
	v.fence.Add(1)
	le.PutUint16(index, le.Uint16(index)+uint16(len(heads)))
	v.fence.Add(1)
	if v.word(r.avail)&1 == 0 {
		unix.Write(r.call, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// receive takes a packet of the machine's, and reports whether there was one.
func (v *vhost) receive() bool {
	v.mu.Lock()
	r := &v.rings[1]
	parts, head, ok := v.chain(r)
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	if ok {
		v.use(r, []uint16{head}, []int{0})
	}
	n := v.headerLength()
	v.mu.Unlock()
	if ok {
		v.take(append(all[:n:n], 0, 0)[:vnetHeader], all[n:])
	}
	return ok
}

// headerLength is the length of the header before each packet in the queues: an older device's lacks
// the last field if packets are in one buffer.
func (v *vhost) headerLength() int {
	if v.agreed&(version1|offersMerge) == 0 {
		return vnetHeader - 2
	}
	return vnetHeader
}

// send gives the machine a packet, in as many buffers as it needs. The header's last field is their
// number, unless it says another one. What finds no buffers in a second is lost; after some of that
// nothing waits any more.
func (v *vhost) send(header, packet []byte) {
	ctx, stop := context.WithTimeout(v.t.Context(), time.Second)
	defer stop()
	for !v.give(header, packet) {
		if v.lost.Load() > 5 {
			return
		}
		select {
		case <-v.given:
		case <-ctx.Done():
			v.lost.Add(1)
			return
		}
	}
}

// give is send, if there are buffers.
func (v *vhost) give(header, packet []byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.rings[0]
	begin, length := r.next, v.headerLength()
	all := append(header[:length:length], packet...)
	var heads []uint16
	var lengths []int
	var first []byte
	for len(all) > 0 {
		parts, head, ok := v.chain(r)
		if !ok {
			r.next = begin
			return false
		}
		n := 0
		for _, p := range parts {
			k := copy(p, all)
			all, n = all[k:], n+k
		}
		if first == nil {
			first = parts[0]
		}
		heads, lengths = append(heads, head), append(lengths, n)
	}
	if length == vnetHeader && first[10]|first[11] == 0 {
		binary.LittleEndian.PutUint16(first[10:], uint16(len(heads)))
	}
	v.use(r, heads, lengths)
	return true
}

// String says what the two sides agree on.
func (v *vhost) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return fmt.Sprintf("%#x of %#x", v.agreed, v.offers)
}
