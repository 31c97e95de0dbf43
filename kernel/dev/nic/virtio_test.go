package nic

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
)

// A memory-mapped virtio-net whose registers are plain memory; a goroutine acts as the device.

// mmio is the address of the last fakeVirtio's registers.
var mmio uintptr

// fakeVirtio makes the driver believe in a device of that version with queues of max
// descriptors. It answers until the test ends, if it works.
func fakeVirtio(t testing.TB, version, max uint32, works bool) {
	t.Helper()
	mmio = room(t, arch.PageSize)
	device.FromMemory(mmio, version)
	card, stalled = virtioMMIO, false
	memory = room(t, 2*memoryBytes(wantQueue)+arch.PageSize)
	rx.place(memory, wantQueue, headerModern)
	tx.place(memory+memoryBytes(wantQueue), wantQueue, headerModern)
	done, gone := make(chan bool), make(chan bool)
	impatience(t, works)
	t.Cleanup(func() {
		close(done)
		<-gone
		card, memory, stalled, device = none, 0, false, virtio.Device{}
		rx, tx, address, agreed, stack = queue{}, queue{}, [6]byte{}, 0, false
	})
	arch.Store32(mmio+virtio.MMIOFeatures, 1<<0|1<<featureMAC)
	arch.Store32(mmio+virtio.MMIOQueueMax, max)
	copy(bytesAt(mmio+virtio.MMIOConfig, macBytes), []byte{2, 3, 4, 5, 6, 7})
	if !works {
		close(gone)
		return
	}
	go func() {
		defer close(gone)
		d := otherSide{q: &tx}
		for {
			select {
			case <-done:
				return
			default:
			}
			if !device.Works() {
				d.next = 0
			} else if parts, head, ok := d.chain(); ok {
				sent <- append([]byte(nil), parts[1]...)
				d.use(head, 0)
			}
			runtime.Gosched()
		}
	}()
}

func TestVirtio(t *testing.T) {
	for _, version := range []uint32{1, 2} {
		t.Run(string(rune('0'+version)), func(t *testing.T) { testVirtio(t, version) })
	}
}

func testVirtio(t *testing.T, version uint32) {
	fakeVirtio(t, version, 256, true)
	if !start() {
		t.Fatal("the device does not start")
	}
	if want := [6]byte{2, 3, 4, 5, 6, 7}; Address() != want || !Up() {
		t.Errorf("address % x, up %v", Address(), Up())
	}
	buf := room(t, bufferSize)
	in := otherSide{q: &rx}
	for i := range 100 {
		frame := frameOf(60+i*14, byte(i))
		if !Send(addressOf(frame), len(frame)) {
			t.Fatalf("frame %d is not sent", i)
		}
		if got := <-sent; !bytes.Equal(got, frame) {
			t.Fatalf("frame %d is sent as %x", i, got)
		}
		in.receive(frame)
		if got := Receive(buf, bufferSize); got != len(frame) || !bytes.Equal(bytesAt(buf, got), frame) {
			t.Fatalf("frame %d of %d bytes: %d are read, or others", i, len(frame), got)
		}
	}
}

// TestVirtioDead: a device that does not answer, or lies about its queues, ends every wait.
func TestVirtioDead(t *testing.T) {
	frame := frameOf(100, 0)
	for name, change := range map[string]func(){
		"zeros":           func() { copy(bytesAt(mmio, virtio.MMIOBytes), make([]byte, virtio.MMIOBytes)) },
		"ones":            func() { copy(bytesAt(mmio, virtio.MMIOBytes), bytes.Repeat([]byte{0xff}, virtio.MMIOBytes)) },
		"no version 1":    func() { arch.Store32(mmio+virtio.MMIOFeatures, 1<<featureMAC) },
		"tiny queues":     func() { arch.Store32(mmio+virtio.MMIOQueueMax, 2) },
		"smaller than it": func() { arch.Store32(mmio+virtio.MMIOQueueMax, wantQueue/2) },
	} {
		t.Run(name, func(t *testing.T) {
			fakeVirtio(t, 2, 256, false)
			change()
			if name != "ones" && start() {
				t.Error("it starts")
			}
			for range 3 {
				if Send(addressOf(frame), len(frame)) {
					t.Error("it sends")
				}
			}
		})
	}
}

// TestVirtioStuck: the driver waits long once for a device that takes nothing, and then briefly,
// also when it holds all buffers. Restart takes the buffers back.
func TestVirtioStuck(t *testing.T) {
	frame := frameOf(100, 0)
	fakeVirtio(t, 2, 256, false)
	if !start() {
		t.Fatal("the device does not start")
	}
	for i := range 2 * slots {
		if Send(addressOf(frame), len(frame)) {
			t.Fatal("it sends")
		}
		if i == 0 && (!stalled || polls() != stalledPatience) {
			t.Error("it is waited for as long again")
		}
	}
	if !Restart() || stalled {
		t.Error("Restart fails")
	}
	frame[0] = 77
	Send(addressOf(frame), len(frame))
	d := otherSide{q: &tx}
	if parts, _, ok := d.chain(); !ok || !bytes.Equal(parts[1], frame) {
		t.Error("the first frame after Restart is another one")
	}
}

// TestVirtioNotTold: a Send behind frames that fill the queue, of which the device has not been told,
// tells it.
func TestVirtioNotTold(t *testing.T) {
	frame := frameOf(100, 0)
	fakeVirtio(t, 2, 256, false)
	if !start() {
		t.Fatal("the device does not start")
	}
	for tx.fits(len(frame)) {
		tx.put(addressOf(frame), len(frame), sends)
	}
	const notify, untold = 0x50, 77 // the register, by the specification
	arch.Store32(mmio+notify, untold)
	Send(addressOf(frame), len(frame))
	if got := arch.Load32(mmio + notify); got != queueSend {
		t.Errorf("the device is told of queue %d; want %d", got, queueSend)
	}
}

// TestNoCard: without a card, nothing happens.
func TestNoCard(t *testing.T) {
	frame := frameOf(100, 0)
	if Up() || Send(addressOf(frame), 100) || Receive(addressOf(frame), 100) != 0 || Readable() || Restart() || Name() != "" || Interrupts() {
		t.Error("a card that is not there does something")
	}
}
