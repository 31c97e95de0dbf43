package port

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
)

// bring puts bytes into the device's next buffer, as the device does, and says that there are n. It
// returns false if there is no buffer.
func bring(t *testing.T, p []byte, n uint32) bool {
	t.Helper()
	desc, avail, used := incoming.Rings()
	turn := incoming.UsedIndex()
	if turn == incoming.Index() {
		return false
	}
	i := arch.Load16(avail + 4 + 2*uintptr(turn%incoming.Size))
	d := bytesAt(desc+16*uintptr(i), 16)
	if size, flags := binary.LittleEndian.Uint32(d[8:]), binary.LittleEndian.Uint16(d[12:]); size != slotBytes || flags != virtio.DescWrite {
		t.Fatalf("descriptor %d has %d bytes, flags %#x", i, size, flags)
	}
	copy(bytesAt(uintptr(binary.LittleEndian.Uint64(d)), slotBytes), p)
	e := used + 4 + 8*uintptr(turn%incoming.Size)
	arch.Store32(e, uint32(i))
	arch.Store32(e+4, n)
	arch.Store16(used+2, turn+1)
	return true
}

// TestReceive: bytes from the device are received whole and in order, however many buffers it has,
// and it waits when all are full.
func TestReceive(t *testing.T) {
	for _, max := range []uint32{1, 4, 256} {
		for _, ports := range []bool{false, true} {
			t.Run(fmt.Sprint(max, ports), func(t *testing.T) {
				features, wantQueue := uint32(1), uint16(receiveOnly)
				if ports {
					features, wantQueue = 1|1<<featurePorts, receiveOfPort1
				}
				fake(t, 2, features, max)
				if bringUp(t); empty != uint16(min(max, receiveSlots)) || receive != wantQueue || Listens() {
					t.Fatalf("%d buffers, queue %d, listens %v", empty, receive, Listens())
				}
				if ports {
					desc, _, _ := control.Rings()
					message := bytesAt(uintptr(binary.LittleEndian.Uint64(bytesAt(desc, 8))), messageBytes)
					if want := []byte{1, 0, 0, 0, openPort, 0, 1, 0}; control.Index() != 1 || !bytes.Equal(message, want) {
						t.Errorf("%d messages, %v; want %v", control.Index(), message, want)
					}
				} else if control.Size != 0 {
					t.Error("a device of one port has a control queue")
				}
				random := rand.New(rand.NewPCG(uint64(max), 1))
				var want, got []byte
				for range 2000 {
					p := make([]byte, random.IntN(40))
					if random.IntN(50) == 0 {
						p = make([]byte, slotBytes)
					}
					for i := range p {
						p[i] = byte(random.Uint32())
					}
					if bring(t, p, uint32(len(p))) {
						want = append(want, p...)
					} else if len(got) == len(want) && empty == 1 {
						t.Fatal("a buffer has not gone back")
					}
					for range random.IntN(60) {
						if b, ok := Receive(); ok {
							got = append(got, b)
						}
					}
				}
				for {
					b, ok := Receive()
					if !ok {
						break
					}
					got = append(got, b)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%d bytes are received, or others; want %d", len(got), len(want))
				}
				for n := range empty {
					if !bring(t, []byte("x"), 1) {
						t.Fatalf("the device has %d buffers; want %d", n, empty)
					}
				}
				if bring(t, nil, 0) {
					t.Error("the device has more buffers than there are")
				}
			})
		}
	}
}

// TestReceiveLies: a device that reports impossible things does no harm.
func TestReceiveLies(t *testing.T) {
	fake(t, 2, 1, 4)
	bringUp(t)
	if !bring(t, bytes.Repeat([]byte("y"), slotBytes), 1<<32-1) {
		t.Fatal("the device has no buffer")
	}
	for i := range slotBytes {
		if b, ok := Receive(); !ok || b != 'y' {
			t.Fatalf("byte %d is %q, %v", i, b, ok)
		}
	}
	if b, ok := Receive(); ok {
		t.Errorf("byte %q behind the buffer", b)
	}
	_, _, used := incoming.Rings()
	arch.Store32(used+4+8*uintptr(incoming.UsedIndex()%incoming.Size), 1<<31+3) // no such descriptor
	arch.Store16(used+2, incoming.UsedIndex()+1000)
	for range 100_000 {
		Receive()
	}
}

// TestReceiveNothing: without a device nothing comes.
func TestReceiveNothing(t *testing.T) {
	if b, ok := Receive(); ok || Listens() {
		t.Errorf("Receive() = %q, %v; Listens() = %v", b, ok, Listens())
	}
}
