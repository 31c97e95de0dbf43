package port

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
)

// In these tests the device is plain memory, and a goroutine takes the bytes that it is given.
// qemu's TestLastLines has a real one.

// pages returns memory at an address that a queue can have.
func pages(t *testing.T, n uintptr) uintptr {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return uintptr(unsafe.Pointer(&b[0]))
}

//go:noinline
func bytesAt(addr uintptr, n int) []byte { return unsafe.Slice((*byte)(arch.Pointer(addr)), n) }

// fake makes the driver believe in a device of that version, with queues of max descriptors. It
// returns where its registers are.
func fake(t *testing.T, version, features, max uint32) (registers uintptr) {
	t.Helper()
	registers = pages(t, arch.PageSize)
	device.FromMemory(registers, version)
	arch.Store32(registers+virtio.MMIOFeatures, features)
	arch.Store32(registers+virtio.MMIOQueueMax, max)
	t.Cleanup(func() {
		device, queue, used, stalled = virtio.Device{}, virtio.Queue{}, 0, false
		incoming, control, empty, interrupts, next, received = virtio.Queue{}, virtio.Queue{}, 0, false, 0, 0
	})
	return registers
}

// bringUp does what start does, with the test's memory.
func bringUp(t *testing.T) {
	t.Helper()
	if size, in, controls := offered(); size > 0 {
		more := uintptr(0)
		if in > 0 {
			more = pages(t, inboxFor(in, controls))
		}
		begin(pages(t, roomFor(size)), more, size, in, controls)
	}
}

// take returns the bytes that the device has been given since its last call, and gives the
// buffers back.
func take() (got []byte) {
	desc, avail, back := queue.Rings()
	for queue.UsedIndex() != queue.Index() {
		n := queue.UsedIndex()
		i := arch.Load16(avail + 4 + 2*uintptr(n%queue.Size))
		d := bytesAt(desc+16*uintptr(i), 16)
		got = append(got, bytesAt(uintptr(binary.LittleEndian.Uint64(d)), int(binary.LittleEndian.Uint32(d[8:])))...)
		arch.Store16(back+2, n+1)
	}
	return got
}

// TestSend: all bytes sent arrive whole and in order, whatever their number, by the time Flush
// returns.
func TestSend(t *testing.T) {
	for _, version := range []uint32{1, 2} {
		for _, max := range []uint32{1, 4, 256} {
			for _, ports := range []bool{false, true} {
				t.Run(fmt.Sprint(version, max, ports), func(t *testing.T) {
					features, wantQueue := uint32(1), uint16(queueOnly) // its other half is version 1
					if ports {
						features, wantQueue = 1|1<<featurePorts, queueOfPort1
					}
					fake(t, version, features, max)
					if bringUp(t); Buffers() != int(min(max, slots)) || send != wantQueue {
						t.Fatalf("%d buffers, queue %d", Buffers(), send)
					}
					var got []byte
					done, gone := make(chan bool), make(chan bool)
					go func() {
						defer close(gone)
						for {
							select {
							case <-done:
								return
							default:
								got = append(got, take()...)
								runtime.Gosched()
							}
						}
					}()
					var want []byte
					for i := range 300 {
						p := bytes.Repeat([]byte{byte(i)}, i*i%(3*slotBytes))
						want = append(want, p...)
						// On a busy machine the goroutine may not run for longer than Send waits.
						for n := Send(p); n < len(p); n = Send(p) {
							if !stalled {
								t.Errorf("%d of %d bytes are taken by a device that takes them", n, len(p))
							}
							p = p[n:]
							runtime.Gosched()
						}
					}
					for Flush(); stalled; Flush() {
						runtime.Gosched()
					}
					if queue.UsedIndex() != queue.Index() {
						t.Error("Flush returns early")
					}
					close(done)
					<-gone
					if !bytes.Equal(got, want) {
						t.Errorf("%d bytes arrive, or others; want %d", len(got), len(want))
					}
				})
			}
		}
	}
}

// TestDead: a device that does not answer, or has no queue for us, is not used.
func TestDead(t *testing.T) {
	for name, change := range map[string]func(registers uintptr){
		"zeros":        func(r uintptr) { copy(bytesAt(r, virtio.MMIOBytes), make([]byte, virtio.MMIOBytes)) },
		"no version 1": func(r uintptr) { arch.Store32(r+virtio.MMIOFeatures, 1<<featurePorts) },
		"no queue":     func(r uintptr) { arch.Store32(r+virtio.MMIOQueueMax, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			change(fake(t, 2, 1, 256))
			bringUp(t)
			if n := Send([]byte("text")); Buffers() != 0 || n != 0 {
				t.Errorf("%d buffers, %d bytes are taken", Buffers(), n)
			}
			Flush()
		})
	}
}

// TestStuck: Send reports the bytes that a stuck device does not take, and from then on waits only
// briefly for the device; when it works again, so does Send.
func TestStuck(t *testing.T) {
	fake(t, 2, 1, 256)
	bringUp(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), slots*slotBytes/16)
	more := []byte("more")
	if n := Send(append(text, more...)); n != len(text) || !stalled {
		t.Errorf("%d bytes are taken, stalled %v; want %d", n, stalled, len(text))
	}
	if n := Send(more); n != 0 {
		t.Errorf("%d bytes are taken by a full device", n)
	}
	if got := take(); !bytes.Equal(got, text) {
		t.Errorf("%d bytes have arrived, or others; want %d", len(got), len(text))
	}
	if n := Send(more); n != len(more) || stalled {
		t.Errorf("%d bytes are taken, stalled %v", n, stalled)
	}
	if got := take(); !bytes.Equal(got, more) {
		t.Errorf("%q arrives", got)
	}
}
