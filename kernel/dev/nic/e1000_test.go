package nic

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
)

// An e1000 whose registers are plain memory; a goroutine acts as the card.

// fakeE1000 makes the driver believe in a card. It answers until the test ends, if it works.
func fakeE1000(t testing.TB, works bool) {
	t.Helper()
	if memory == 0 {
		memory = room(t, ringsBytes+(slots+rxSlots)*bufferSize)
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
			if v := reg(e1000Memory); v&1 != 0 && eeprom.done != 0 {
				n := v &^ (1 | eeprom.done) >> eeprom.shift
				word := uint32(0xffff)
				if n < uint32(len(eeprom.words)) {
					word = uint32(eeprom.words[n])
				}
				setReg(e1000Memory, word<<16|n<<eeprom.shift|eeprom.done)
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

// eeprom holds the contents of the card's EEPROM, and the layout of the register that reads it; it
// answers if done is not 0.
var eeprom struct {
	done, shift uint32
	words       []uint16
}

// TestE1000Stored: a card whose registers hold no address gets that of its EEPROM, with both
// layouts of the register; an impossible address counts as none.
func TestE1000Stored(t *testing.T) {
	mine, other := []uint16{0x5452, 0x1200, 0x5634, 0xffff}, [6]byte{0x52, 0x54, 0, 0x12, 0x34, 0x56}
	for _, tt := range []struct {
		name        string
		done, shift uint32
		words       []uint16
		want        [6]byte
	}{
		{"82540", 1 << 4, 8, mine, other},
		{"82574", 1 << 1, 2, mine, other},
		{"last byte only", 1 << 4, 8, []uint16{0, 0, 0x0100}, [6]byte{0, 0, 0, 0, 0, 1}},
		{"empty", 1 << 4, 8, nil, [6]byte{}},
		{"empty, 82574", 1 << 1, 2, nil, [6]byte{}},
		{"zeros", 1 << 1, 2, []uint16{0, 0, 0}, [6]byte{}},
		{"a group's", 1 << 4, 8, []uint16{0x5453, 0x1200, 0x5634}, [6]byte{}},
		{"both bits", 1<<4 | 1<<1, 8, mine, [6]byte{}},
		{"no answer", 0, 8, mine, [6]byte{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eeprom.done, eeprom.shift, eeprom.words = tt.done, tt.shift, tt.words
			t.Cleanup(func() { eeprom.done = 0 })
			fakeE1000(t, true)
			setReg(e1000AddressLow, 0)
			setReg(e1000AddressHigh, 0)
			if tt.done&(tt.done-1) != 0 || tt.done == 0 {
				setReg(e1000Memory, tt.done)
				resetPatience = 100_000
			}
			if got := start(); got != (tt.want != [6]byte{}) || got && Address() != tt.want {
				t.Fatalf("it starts: %v, address % x; want % x", got, Address(), tt.want)
			}
			if low, high := reg(e1000AddressLow), reg(e1000AddressHigh); Up() && tt.want == other && (low != 0x12005452 || high != addressValid|0x5634) {
				t.Errorf("its registers have %#x, %#x", low, high)
			}
		})
	}
}

// impatience makes the driver wait as long as a working card needs, and briefly for another.
func impatience(t testing.TB, works bool) {
	saved, savedReset, savedLoad := patience, resetPatience, loadPatience
	t.Cleanup(func() { patience, resetPatience, loadPatience = saved, savedReset, savedLoad })
	loadPatience = 1000
	patience, resetPatience = 100_000, 100_000
	if works {
		patience, resetPatience = 1<<40, 1<<40
	}
}

// sent has the frames that the card sent.
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
		frame := frameOf(1+i*19%MaxFrame, byte(i))
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
	for i := range uint32(2 * rxSlots) {
		frame := frameOf(60+int(i)*10%MaxFrame, byte(i))
		if got := Receive(buf, bufferSize); got != 0 {
			t.Fatalf("a frame of %d bytes before it has come", got)
		}
		slot := i % rxSlots
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

// TestE1000Returns: the card gets its buffers back when half of them are free, or no frame is left.
func TestE1000Returns(t *testing.T) {
	fakeE1000(t, true)
	start()
	const come = rxSlots - 1 // all that the card has
	for i := range uint32(come) {
		arch.Store16(rxDesc(i)+8, minFrame)
		arch.Store16(rxDesc(i)+12, descDone|descEnd)
	}
	buf := room(t, bufferSize)
	for i := range uint32(come) {
		want := uint32(rxSlots - 1)
		if Receive(buf, bufferSize); i >= rxSlots/2-1 {
			want = rxSlots/2 - 1
		}
		if i == come-1 {
			want = i
		}
		if got := reg(e1000ReceiveRing + ringTail); got != want {
			t.Fatalf("after frame %d the card has the buffers before %d, want %d", i, got, want)
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
		for i := range uint32(rxSlots) {
			arch.Store64(rxDesc(i)+8, uintptr(desc))
		}
		for range 2 * rxSlots {
			if got := Receive(buf, bufferSize); got < 0 || got > bufferSize {
				t.Fatalf("a frame of %d bytes", got)
			}
		}
		if bytesAt(buf+bufferSize, 1)[0] != 0 {
			t.Fatal("written behind the buffer")
		}
	})
}
