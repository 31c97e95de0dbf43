package nic

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
)

// An e1000 whose registers are plain memory, and a goroutine that does what a card does.

// fakeE1000 makes the driver believe in a card. It answers until the test ends, if it works.
func fakeE1000(t testing.TB, works bool) {
	t.Helper()
	if memory == 0 {
		memory = room(t, arch.PageSize+2*slots*bufferSize)
	}
	regs, card, stalled = room(t, e1000Bytes), e1000, false
	done, gone := make(chan bool), make(chan bool)
	impatience(t, works)
	t.Cleanup(func() {
		close(done)
		<-gone
		card, regs, memory, stalled = none, 0, 0, false
	})
	if !works {
		close(gone)
		return
	}
	setReg(e1000AddressLow, 0x12005452)
	setReg(e1000AddressHigh, addressValid|0x5634)
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			default:
			}
			if c := reg(e1000Control); c&controlReset != 0 {
				setReg(e1000TransmitRing+ringTail, 0)
				setReg(e1000TransmitRing+ringHead, 0)
				setReg(e1000Control, c&^controlReset)
			}
			if head := reg(e1000TransmitRing + ringHead); head != reg(e1000TransmitRing+ringTail) {
				d := txDesc(head)
				sent <- append([]byte(nil), bytesAt(txBuffer(head), int(arch.Load16(d+8)))...)
				arch.Store32(d+12, descDone)
				setReg(e1000TransmitRing+ringHead, (head+1)%slots)
			}
			runtime.Gosched()
		}
	}()
}

// impatience makes the driver wait as long as it takes for a card that works, and not long for
// another.
func impatience(t testing.TB, works bool) {
	saved, savedReset := patience, resetPatience
	t.Cleanup(func() { patience, resetPatience = saved, savedReset })
	patience, resetPatience = 100_000, 100_000
	if works {
		patience, resetPatience = 1<<40, 1<<40
	}
}

// sent has the frames that the card has sent.
var sent = make(chan []byte, 1)

func TestE1000(t *testing.T) {
	fakeE1000(t, true)
	if !start() {
		t.Fatal("the card does not start")
	}
	if want := [6]byte{0x52, 0x54, 0, 0x12, 0x34, 0x56}; Address() != want || Name() != "e1000" || !Up() {
		t.Errorf("address % x, name %q, up %v", Address(), Name(), Up())
	}
	for i := range 5 * slots {
		frame := frameOf(1+i*19, byte(i))
		if !Send(addressOf(frame), len(frame)) {
			t.Fatalf("frame %d is not sent", i)
		}
		if got := <-sent; len(got) < minFrame || !bytes.Equal(got[:len(frame)], frame) || len(bytes.Trim(got[len(frame):], "\x00")) > 0 {
			t.Fatalf("frame %d is sent as %x", i, got)
		}
		if i == 40 && !Restart() {
			t.Fatal("the card does not start again")
		}
	}
	if frame := frameOf(100, 0); Send(addressOf(frame), 0) || Send(addressOf(frame), -1) || Send(addressOf(frame), MaxFrame+1) {
		t.Error("a frame of an impossible length is sent")
	}
}

func TestE1000Receives(t *testing.T) {
	fakeE1000(t, true)
	start()
	buf := room(t, bufferSize)
	for i := range uint32(5 * slots) {
		frame := frameOf(60+int(i)*10, byte(i))
		if got := Receive(buf, bufferSize); got != 0 {
			t.Fatalf("a frame of %d bytes before it has come", got)
		}
		slot := i % slots
		if reg(e1000ReceiveRing+ringTail) == slot {
			t.Fatalf("the card has no buffer for frame %d", i)
		}
		copy(bytesAt(rxBuffer(slot), bufferSize), frame)
		arch.Store16(rxDesc(slot)+8, uint16(len(frame)))
		arch.Store16(rxDesc(slot)+12, descDone|descEnd)
		if got := Receive(buf, bufferSize); got != len(frame) || !bytes.Equal(bytesAt(buf, got), frame) {
			t.Fatalf("frame %d of %d bytes: %d are read, or others", i, len(frame), got)
		}
	}
}

// TestE1000Dead: a card that does not answer ends every wait.
func TestE1000Dead(t *testing.T) {
	frame := frameOf(100, 0)
	for name, v := range map[string]uint32{"zeros": 0, "ones": ^uint32(0)} {
		t.Run(name, func(t *testing.T) {
			fakeE1000(t, false)
			for p := regs; p < regs+e1000Bytes; p += 4 {
				arch.Store32(p, v)
			}
			if start() {
				t.Error("it starts")
			}
			for range 3 {
				if Send(addressOf(frame), len(frame)) {
					t.Error("it sends")
				}
			}
			Receive(addressOf(frame), len(frame))
		})
	}
}

// FuzzE1000Receive has a card that writes anything into its descriptors.
func FuzzE1000Receive(f *testing.F) {
	f.Add(uint64(descDone|descEnd)<<32 | 60)
	f.Add(^uint64(0))
	f.Add(uint64(descDone)<<32 | 0xffff)
	f.Add(uint64(descDone|descEnd)<<32 | bufferSize + 1)
	fakeE1000(f, false)
	start()
	buf := room(f, bufferSize+4096)
	f.Fuzz(func(t *testing.T, desc uint64) {
		for i := range uint32(slots) {
			arch.Store64(rxDesc(i)+8, uintptr(desc))
		}
		for range 2 * slots {
			if got := Receive(buf, bufferSize); got < 0 || got > bufferSize {
				t.Fatalf("a frame of %d bytes", got)
			}
		}
		if bytesAt(buf+bufferSize, 1)[0] != 0 {
			t.Fatal("written behind the buffer")
		}
	})
}
