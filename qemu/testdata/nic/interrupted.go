package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// The panic path sends although a Send may be what it has interrupted: here each
// instruction of a Send is interrupted by another one, one instruction a Send.

const frameBytes = 60

var (
	outer, inner [frameBytes]byte
	steps        uint32 // instructions of this Send
	strike       uint32 // the one that is interrupted
	innerOK      bool
)

// mark makes a frame that says which one it is: what, and a number.
func mark(frame *[frameBytes]byte, what byte, n uint32) {
	*frame = [frameBytes]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, what}
	binary.BigEndian.PutUint32(frame[15:], n)
}

func addressOf(frame *[frameBytes]byte) uintptr { return uintptr(unsafe.Pointer(frame)) }

// struck runs in kernel context, before each instruction.
func struck(uintptr) bool {
	steps++
	if steps == strike {
		innerOK = nic.Send(addressOf(&inner), frameBytes)
	}
	return false
}

func interrupted() {
	n := uint32(0)
	for {
		n++
		mark(&outer, 'o', n)
		mark(&inner, 'i', n)
		steps, strike, innerOK = 0, n, false
		arch.DisableInterrupts()
		fault.StepTraces(struck)
		ok := nic.Send(addressOf(&outer), frameBytes)
		fault.StepTraces(nil)
		arch.EnableInterrupts()
		if !ok {
			fail("a Send", fmt.Errorf("interrupted at its instruction %d it returned false", n))
		}
		if steps < n || n == 2000 {
			break
		}
		if !innerOK {
			fail("a Send", fmt.Errorf("at instruction %d of another one it returned false", n))
		}
	}
	fmt.Println("interrupted at", n-1, "instructions")
}

// restart brings the card up anew, whether it works or is stuck, and looks whether all is
// as before.
func restart() {
	if len(os.Args) > 2 {
		stick()
	}
	for range 3 {
		arch.DisableInterrupts()
		ok := nic.Restart()
		arch.EnableInterrupts()
		if !ok || !nic.Up() || nic.Address() != mac {
			fail("Restart", fmt.Errorf("%v, up %v, address % x", ok, nic.Up(), nic.Address()))
		}
		resolve()
	}
	echo()
	var zero [frameBytes]byte
	arch.DisableInterrupts()
	unreadable := nic.Send(0, frameBytes)
	wrong := nic.Send(addressOf(&zero), 0) || nic.Send(addressOf(&zero), -1) || nic.Send(addressOf(&zero), nic.MaxFrame+1)
	ok := nic.Send(addressOf(&zero), frameBytes)
	t0 := arch.ReadCounter()
	nic.Send(addressOf(&zero), frameBytes)
	ticks := arch.ReadCounter() - t0
	arch.EnableInterrupts()
	if unreadable || wrong || !ok {
		fail("Send", fmt.Errorf("from address 0: %v, of a wrong length: %v, of a right one: %v", unreadable, wrong, ok))
	}
	fmt.Println("ticks", ticks, "of a Send,", nic.Name())
}

// stick makes the card stand still, and sends.
func stick() {
	cripple()
	var zero [frameBytes]byte
	arch.DisableInterrupts()
	began := time.Now()
	stuck := nic.Send(addressOf(&zero), frameBytes)
	first := time.Since(began)
	began = time.Now()
	stuck = nic.Send(addressOf(&zero), frameBytes) || stuck
	second := time.Since(began)
	arch.EnableInterrupts()
	if stuck {
		fail("a Send", errors.New("it returned true, but the card is stuck"))
	}
	fmt.Println("stuck: a Send returned false after", first, "and the next one after", second)
}

// cripple takes the card the means to go on: on PCI it may no longer reach memory, and
// without it is reset.
func cripple() {
	arch.DisableInterrupts()
	defer arch.EnableInterrupts()
	const command, master, classes, network = 0x04, 1 << 2, 0x08, 2
	found := false
	if arch.HasPCI() {
		var s pci.Scan
		for a, _, ok := s.Next(); ok; a, _, ok = s.Next() {
			if a.Read32(classes)>>24 == network {
				a.Write16(command, uint16(a.Read32(command))&^master)
				found = true
			}
		}
	} else {
		const base, step, magic, device, status = 0xfeb00000, 0x200, 0x74726976, 0x08, 0x70
		for at := arch.Virtual(base); at < arch.Virtual(base+24*step); at += step {
			if arch.Load32(at) == magic && arch.Load32(at+device) == 1 {
				arch.Store32(at+status, 0)
				found = true
			}
		}
	}
	if !found {
		fail("to find the card", nil)
	}
}
