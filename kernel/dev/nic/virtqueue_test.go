package nic

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
)

// In these tests a device at the other end of a queue does what the specification demands, or what
// it forbids.

// room returns memory at an address that a queue can have.
func room(t testing.TB, n uintptr) uintptr {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return uintptr(unsafe.Pointer(&b[0]))
}

// bytesAt returns the memory at an address. (Inlined, with sizes that are constant, it
// crashes the compiler of Go 1.26: "disjointTypes: one of arguments is not a pointer".)
//
//go:noinline
func bytesAt(addr uintptr, n int) []byte { return unsafe.Slice((*byte)(arch.Pointer(addr)), n) }

// otherSide is the device of a queue.
type otherSide struct {
	q    *queue
	next uint16 // how many it has taken
}

// chain returns the bytes of the next chain of descriptors, in the parts that the
// descriptors name, and its number; ok is false if there is none.
func (d *otherSide) chain() (parts [][]byte, head uint16, ok bool) {
	q := d.q
	desc, avail, _ := q.Rings()
	if arch.Load16(avail+2) == d.next {
		return nil, 0, false
	}
	head = arch.Load16(avail + 4 + 2*uintptr(d.next%q.Size))
	d.next++
	for i := head; ; {
		b := bytesAt(desc+16*uintptr(i), 16)
		addr := binary.LittleEndian.Uint64(b)
		parts = append(parts, bytesAt(uintptr(addr), int(binary.LittleEndian.Uint32(b[8:]))))
		if binary.LittleEndian.Uint16(b[12:])&virtio.DescNext == 0 {
			return parts, head, true
		}
		i = binary.LittleEndian.Uint16(b[14:])
	}
}

// use gives a chain back.
func (d *otherSide) use(head uint16, n int) {
	_, _, used := d.q.Rings()
	i := arch.Load16(used + 2)
	e := used + 4 + 8*uintptr(i%d.q.Size)
	arch.Store32(e, uint32(head))
	arch.Store32(e+4, uint32(n))
	arch.Store16(used+2, i+1)
}

// receive puts a frame into the next buffer, and reports whether there was one.
func (d *otherSide) receive(frame []byte) bool {
	parts, head, ok := d.chain()
	if !ok {
		return false
	}
	d.use(head, len(parts[0])+copy(parts[1], frame))
	return true
}

func newQueue(t testing.TB, size uint16, header uint32) (*queue, *otherSide) {
	q := new(queue)
	q.place(room(t, memoryBytes(size)), size, header)
	return q, &otherSide{q: q}
}

func frameOf(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i)
	}
	return b
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func TestQueueSends(t *testing.T) {
	for _, size := range []uint16{4, 32, 256, 1024} {
		q, d := newQueue(t, size, headerModern)
		blank := room(t, arch.PageSize)
		q.makeSend(blank)
		// Far enough for the indices to wrap.
		for i := range 70_000 {
			frame := frameOf(1+i%MaxFrame, byte(i))
			ticket, ok := q.put(addressOf(frame), len(frame), sends)
			if !ok || q.done(ticket) {
				t.Fatalf("size %d, frame %d: ok %v, done %v", size, i, ok, q.done(ticket))
			}
			parts, head, ok := d.chain()
			if !ok || len(parts) != 2 || !bytes.Equal(parts[0], make([]byte, headerModern)) {
				t.Fatalf("size %d, frame %d: the device sees %d parts, %v", size, i, len(parts), ok)
			}
			want := frame
			for len(want) < minFrame {
				want = append(want, 0)
			}
			if !bytes.Equal(parts[1], want) {
				t.Fatalf("size %d, frame %d of %d bytes arrives as\n%x; want\n%x", size, i, len(frame), parts[1], want)
			}
			d.use(head, 0)
			if !q.done(ticket) {
				t.Fatalf("size %d, frame %d: used, but not done", size, i)
			}
		}
		if _, _, more := d.chain(); more {
			t.Errorf("size %d: a frame too many", size)
		}
	}
}

// TestQueueFull: a device that takes nothing is given as many frames as there are buffers.
func TestQueueFull(t *testing.T) {
	q, d := newQueue(t, 256, headerModern)
	q.makeSend(room(t, arch.PageSize))
	frame := frameOf(100, 0)
	for i := range slots {
		if _, ok := q.put(addressOf(frame), len(frame), sends); !ok {
			t.Fatalf("no room for frame %d", i)
		}
	}
	if _, ok := q.put(addressOf(frame), len(frame), sends); ok {
		t.Fatal("a frame goes into a buffer that the device has")
	}
	_, head, _ := d.chain()
	d.use(head, 0)
	if _, ok := q.put(addressOf(frame), len(frame), sends); !ok {
		t.Error("no room where the device has taken a frame")
	}
}

// TestQueueInterrupted: a Send that was cut off anywhere leaves a queue on which the next Send
// works.
func TestQueueInterrupted(t *testing.T) {
	cut := frameOf(200, 1)
	for name, before := range map[string]func(q *queue){
		"while copying":   func(q *queue) { fill(q.buffer(q.Index()%q.slots), addressOf(cut), len(cut)/2) },
		"before the ring": func(q *queue) { fill(q.buffer(q.Index()%q.slots), addressOf(cut), len(cut)) },
		"before the index": func(q *queue) {
			_, avail, _ := q.Rings()
			arch.Store16(avail+4+2*uintptr(q.Index()%q.Size), 2*(q.Index()%q.slots))
		},
		"before the device has": func(q *queue) { q.put(addressOf(cut), len(cut), sends) },
	} {
		q, d := newQueue(t, 32, headerModern)
		q.makeSend(room(t, arch.PageSize))
		for i := range 40 {
			before(q)
			frame := frameOf(60+i, byte(i))
			ticket, ok := q.put(addressOf(frame), len(frame), sends)
			if !ok {
				t.Fatalf("%s: no room for frame %d", name, i)
			}
			var last []byte
			for {
				parts, head, ok := d.chain()
				if !ok {
					break
				}
				last = append([]byte(nil), parts[1]...)
				d.use(head, 0)
			}
			if !bytes.Equal(last, frame) || !q.done(ticket) {
				t.Fatalf("%s: frame %d arrives as %x, done %v; want %x", name, i, last, q.done(ticket), frame)
			}
		}
	}
}

// TestQueueDisturbed: a Send that another one interrupted hands nothing over.
func TestQueueDisturbed(t *testing.T) {
	q, d := newQueue(t, 32, headerModern)
	q.makeSend(room(t, arch.PageSize))
	frame := frameOf(100, 0)
	if _, ok := q.put(addressOf(frame), len(frame), sends-1); ok {
		t.Error("put = ok")
	}
	if _, _, more := d.chain(); more {
		t.Error("the device has been given something")
	}
}

func TestQueueReceives(t *testing.T) {
	for _, tt := range []struct {
		size   uint16
		header uint32
	}{{4, headerLegacy}, {32, headerModern}, {256, headerLegacy}} {
		q, d := newQueue(t, tt.size, tt.header)
		q.makeReceive()
		buf := room(t, bufferSize)
		for i := range 70_000 {
			frame := frameOf(60+i%(MaxFrame-60), byte(i))
			if q.readable() {
				t.Fatalf("size %d, frame %d: there is one before it has come", tt.size, i)
			}
			if !d.receive(frame) {
				t.Fatalf("size %d: the device has no buffer for frame %d", tt.size, i)
			}
			if !q.readable() {
				t.Fatalf("size %d, frame %d has come, and is not there", tt.size, i)
			}
			limit := bufferSize
			if i%7 == 0 {
				limit = 50
			}
			want := frame[:min(len(frame), limit)]
			if got, _ := q.take(buf, limit, false); got != len(want) || !bytes.Equal(bytesAt(buf, got), want) {
				t.Fatalf("size %d, frame %d of %d bytes: %d are read, or others", tt.size, i, len(frame), got)
			}
		}
	}
}

// TestQueueBuffers: a device may fill all buffers before one is read, but no more.
func TestQueueBuffers(t *testing.T) {
	q, d := newQueue(t, 256, headerModern)
	q.makeReceive()
	n := 0
	for d.receive(frameOf(100, byte(n))) {
		n++
	}
	if n != slots {
		t.Fatalf("%d buffers; want %d", n, slots)
	}
	buf := room(t, bufferSize)
	for i := range n {
		if got, _ := q.take(buf, bufferSize, false); got != 100 || bytesAt(buf, 1)[0] != byte(i) {
			t.Errorf("frame %d: %d bytes, the first %d", i, got, bytesAt(buf, 1)[0])
		}
	}
}

// FuzzQueue has a device that writes anything that it may write: the driver never leaves the
// queue's memory nor loops endlessly.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 100, 0, 0, 0}, uint16(1), uint8(0))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, uint16(0xffff), uint8(1))
	f.Add([]byte{0, 0, 0, 0, 0, 8, 0, 0, 2, 0, 0, 0, 0, 8, 0, 0}, uint16(2), uint8(14))
	f.Add([]byte{2, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 0, 8, 0, 0}, uint16(2), uint8(2))
	sizes := []uint16{4, 8, 32, 256}
	memories := [4]uintptr{}
	for i, size := range sizes {
		memories[i] = room(f, memoryBytes(size))
	}
	buf, frame := room(f, bufferSize+4096), frameOf(1000, 7)
	f.Fuzz(func(t *testing.T, used []byte, index uint16, which uint8) {
		size := sizes[which%4]
		var q queue
		q.place(memories[which%4], size, headerModern)
		q.makeReceive()
		q.merged = which&4 > 0
		_, avail, ring := q.Rings()
		copy(bytesAt(ring+4, 8*int(size)), used)
		arch.Store16(ring+2, index)
		for range 100 {
			if !q.readable() {
				break
			}
			if got, _ := q.take(buf, bufferSize, which&8 > 0); got < -1 || got > bufferSize {
				t.Fatalf("a frame of %d bytes", got)
			}
		}
		if next := bytesAt(buf+bufferSize, 1)[0]; next != 0 {
			t.Fatal("written behind the buffer")
		}
		for i := range int(size) {
			if desc := arch.Load16(avail + 4 + 2*uintptr(i)); desc%2 != 0 || desc >= 2*q.slots {
				t.Fatalf("the device is given descriptor %d", desc)
			}
		}
		q.makeSend(memories[which%4])
		arch.Store16(ring+2, index)
		if ticket, ok := q.put(addressOf(frame), len(frame), sends); ok {
			q.done(ticket)
		}
	})
}
