package nic

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Intel's e1000 (8254x Family Software Developer's Manual, 82574 Datasheet), with the old form of
// descriptors, which all cards know. Both rings follow one rule: the descriptors between head and
// tail belong to the card. Storing the tail publishes a frame, so code that is interrupted before
// that needs no repair.

// e1000Kind returns the driver for a PCI function, or none.
func e1000Kind(id uint32) driver {
	if id&0xffff != 0x8086 {
		return none
	}
	switch id >> 16 {
	case 0x100e, // 82540EM: QEMU, VirtualBox
		0x100f, // 82545EM: VMware, VirtualBox
		0x1004, // 82543GC: VirtualBox
		0x1008, // 82544EI
		0x100c, // 82544GC: QEMU
		0x1026, // 82545GM
		0x107c: // 82541PI
		return e1000
	case 0x10d3, // 82574L: QEMU, VMware
		0x10f6: // 82574LA
		return e1000e
	}
	return none
}

// Registers, as offsets in bytes.
const (
	e1000Control      = 0x0000
	e1000Status       = 0x0008
	e1000Memory       = 0x0014 // reads the EEPROM
	e1000Cause        = 0x00c0 // reading clears it
	e1000MaskSet      = 0x00d0
	e1000MaskClear    = 0x00d8
	e1000Receive      = 0x0100
	e1000Transmit     = 0x0400
	e1000Gap          = 0x0410
	e1000ReceiveRing  = 0x2800
	e1000TransmitRing = 0x3800
	e1000TransmitCtl  = 0x3828
	e1000Multicast    = 0x5200 // 128
	e1000AddressLow   = 0x5400
	e1000AddressHigh  = 0x5404
	e1000Bytes        = 128 << 10

	// In a ring's registers.
	ringBase = 0x00 // 8 bytes
	ringSize = 0x08
	ringHead = 0x10
	ringTail = 0x18

	controlAutoSpeed = 1 << 5
	controlLinkUp    = 1 << 6
	controlReset     = 1 << 26
	controlOff       = 1<<3 | 1<<7 | 1<<30 | 1<<31 // link reset, invert signal, VLAN, PHY reset

	receiveOn        = 1 << 1
	receiveBroadcast = 1 << 15
	receiveStripCRC  = 1 << 26

	transmitOn  = 1 << 1
	transmitPad = 1 << 3
	// Collisions: 16 attempts, and 64 bytes of a slot at full duplex.
	transmitCollisions = 0x0f<<4 | 0x40<<12
	// The gap between frames that the manuals ask for on copper.
	transmitGap = 10 | 8<<10 | 6<<20
	// 82574 Datasheet, 10.2.7.10: this bit must be set.
	transmitCtlFixed = 1 << 22

	addressValid = 1 << 31

	causeReceived = 1<<4 | 1<<6 | 1<<7 // few buffers left, none left, a frame was received

	// A descriptor: 8 bytes of address, 2 of length; to send 1 of checksum offset and 1 of
	// command, 1 of status; received 2 of checksum, 1 of status, 1 of errors.
	commandFrame = (1<<0 | 1<<1 | 1<<3) << 24 // end of frame, with its checksum, report it
	descDone     = 1 << 0
	descEnd      = 1 << 1 // end of frame

	descBytes = 16

	// rxSlots is how many buffers a card has for receiving, as many as Linux gives it: QEMU's e1000
	// throws frames away when they are full.
	rxSlots = 256
	// ringsBytes is the room of both rings.
	ringsBytes = 2 * arch.PageSize
	_          = uint(ringsBytes - (slots+rxSlots)*descBytes) // not negative: they have it
)

var (
	regs   uintptr // set once at boot
	txTail uint32  // the next descriptor to send with; under the kernel lock
	rxHead uint32  // the next one to be received; under the kernel lock
)

//go:noinline
func reg(off uintptr) uint32 { return arch.Load32(regs + off) }

//go:noinline
func setReg(off uintptr, v uint32) { arch.Store32(regs+off, v) }

// The layout of a card's memory: both rings, then the buffers.
func txDesc(i uint32) uintptr   { return memory + uintptr(i)*descBytes }
func rxDesc(i uint32) uintptr   { return txDesc(slots + i) }
func txBuffer(i uint32) uintptr { return memory + ringsBytes + uintptr(i)*bufferSize }
func rxBuffer(i uint32) uintptr { return txBuffer(slots + i) }

func isE1000(id uint32) bool { return e1000Kind(id) != none }

func findE1000(id uint32) bool {
	base, isPorts, ok := header.Bar(0)
	if !ok || isPorts {
		return false
	}
	regs, card = mem.MapDevice(base, e1000Bytes), e1000Kind(id)
	return regs != 0
}

// startE1000 resets the card and sets up both rings. A card without an address in its registers,
// such as Bochs', gets the one in its EEPROM.
func startE1000() bool {
	low, high := reg(e1000AddressLow), reg(e1000AddressHigh)
	setReg(e1000MaskClear, ^uint32(0))
	setReg(e1000Receive, 0)
	setReg(e1000Transmit, 0)
	setReg(e1000Control, reg(e1000Control)|controlReset)
	// That takes a microsecond, in which the card must not be accessed. Then it reads its address
	// from its memory, though not all emulators do that.
	for range 1000 {
		arch.Pause()
	}
	for i := 0; reg(e1000Control)&controlReset != 0; i++ {
		if i == resetPatience {
			return false
		}
	}
	for i := 0; reg(e1000AddressHigh)&addressValid == 0 && i < loadPatience; i++ {
	}
	setReg(e1000MaskClear, ^uint32(0))
	reg(e1000Cause)
	if reg(e1000AddressHigh)&addressValid != 0 {
		low, high = reg(e1000AddressLow), reg(e1000AddressHigh)
	} else {
		if high&addressValid == 0 {
			var ok bool
			if low, high, ok = storedAddress(); !ok {
				return false
			}
		}
		setReg(e1000AddressLow, low)
		setReg(e1000AddressHigh, high)
	}
	address = [6]byte{byte(low), byte(low >> 8), byte(low >> 16), byte(low >> 24), byte(high),
		byte(high >> 8)}
	if !wanted(address) || memory == 0 && !allocate(ringsBytes+(slots+rxSlots)*bufferSize) {
		return false
	}
	setReg(e1000Control, reg(e1000Control)&^controlOff|controlLinkUp|controlAutoSpeed)
	for i := range uintptr(128) {
		setReg(e1000Multicast+4*i, 0)
	}
	startReceive()
	startTransmit()
	if interrupts {
		setReg(e1000MaskSet, causeReceived)
	}
	return reg(e1000Status) != ^uint32(0)
}

// storedAddress returns the values of the address registers from the card's EEPROM: its first three
// words of 16 bits. ok is false if no card can have that address.
func storedAddress() (low, high uint32, ok bool) {
	// The register has two layouts, and both take the request for word 0 in the same way: the bit
	// that says that it is there tells the layout.
	const (
		done, shift         = 1 << 4, 8 // 82540
		doneLate, shiftLate = 1 << 1, 2 // 82541, 82574
		group               = 1 << 0    // in the first byte
	)
	_, bit := storedWord(0, done|doneLate)
	var word [3]uint32
	for i := range word {
		n := uint32(i) << shift
		if bit == doneLate {
			n = uint32(i) << shiftLate
		}
		if word[i], bit = storedWord(n, bit); bit == 0 {
			return 0, 0, false
		}
	}
	low, high = word[0]|word[1]<<16, word[2]
	return low, high | addressValid, low&group == 0 && low|high != 0
}

// storedWord reads a word of the EEPROM, by its number in the register's form, and returns which of
// the bits done says that it is there, 0 if none does, or more than one.
func storedWord(number, done uint32) (word, bit uint32) {
	const start = 1 << 0
	setReg(e1000Memory, number|start)
	for i := 0; i < resetPatience; i++ {
		v := reg(e1000Memory)
		if bit = v & done; bit != 0 {
			if bit&(bit-1) != 0 {
				bit = 0 // nothing answers
			}
			return v >> 16, bit
		}
	}
	return 0, 0
}

// setRing gives the card a ring of n descriptors at address base.
func setRing(ring, base uintptr, n uint32) {
	base = arch.Physical(base)
	setReg(ring+ringBase, uint32(base))
	setReg(ring+ringBase+4, uint32(uint64(base)>>32))
	setReg(ring+ringSize, n*descBytes)
	setReg(ring+ringHead, 0)
	setReg(ring+ringTail, 0)
}

func startReceive() {
	for i := range uint32(rxSlots) {
		arch.Store64(rxDesc(i), arch.Physical(rxBuffer(i)))
		arch.Store64(rxDesc(i)+8, 0)
	}
	rxHead = 0
	setRing(e1000ReceiveRing, rxDesc(0), rxSlots)
	setReg(e1000Receive, receiveOn|receiveBroadcast|receiveStripCRC) // buffers of 2048 bytes: 0
	setReg(e1000ReceiveRing+ringTail, rxSlots-1)
}

func startTransmit() {
	for i := range uint32(slots) {
		arch.Store64(txDesc(i), arch.Physical(txBuffer(i)))
		arch.Store64(txDesc(i)+8, 0)
	}
	txTail = 0
	setRing(e1000TransmitRing, txDesc(0), slots)
	if card == e1000e {
		setReg(e1000TransmitCtl, reg(e1000TransmitCtl)|transmitCtlFixed)
	}
	setReg(e1000Gap, transmitGap)
	setReg(e1000Transmit, transmitOn|transmitPad|transmitCollisions)
}

// sendE1000 hands a frame over and waits until the card has read it.
//
// If another Send interrupts it within a few instructions of the tail's store, the card gets an old
// tail when this one goes on, and sends the ring's contents once more.
func sendE1000(frame uintptr, n int, mine uint32) bool {
	slot := txTail
	if (slot-reg(e1000TransmitRing+ringHead))%slots == slots-1 {
		return false // the ring is full
	}
	length, ok := fill(txBuffer(slot), frame, n)
	if !ok || disturbed(mine) {
		return false
	}
	d := txDesc(slot)
	arch.Store32(d+12, 0)
	arch.Store32(d+8, uint32(length)|commandFrame)
	txTail = (slot + 1) % slots
	setReg(e1000TransmitRing+ringTail, txTail)
	for i := polls(); i > 0 && !disturbed(mine); i-- {
		if arch.Load8(d+12)&descDone != 0 {
			stalled = false
			return true
		}
		// Reading a register takes a known time, and lets an emulator work.
		if reg(e1000Status) == ^uint32(0) {
			break
		}
	}
	stalled = !disturbed(mine)
	return false
}

// seenE1000 reads the causes of the interrupt, which clears them.
func seenE1000() { reg(e1000Cause) }

func readableE1000() bool { return arch.Load8(rxDesc(rxHead)+12)&descDone != 0 }

// receiveE1000 copies the next received frame to buf, n bytes at most, and returns the frame's
// length; 0 if it is damaged, or longer than a buffer. The card gets buffers back when no frame is
// left, or half of them are free.
func receiveE1000(buf uintptr, n int, _ bool) (int, bool) {
	percpu.AssertLocked()
	d := rxDesc(rxHead)
	got, state := arch.Load16(d+8), arch.Load16(d+12)
	length := 0
	if errors := state >> 8; state&descEnd != 0 && errors == 0 && got <= bufferSize {
		length = copyOut(buf, n, rxBuffer(rxHead), int(got))
	}
	arch.Store64(d+8, 0)
	last := rxHead
	rxHead = (rxHead + 1) % rxSlots
	// QEMU's e1000 gives its frames that wait to what it gets here, and throws the rest away.
	if rxHead%(rxSlots/2) == 0 || !readableE1000() {
		setReg(e1000ReceiveRing+ringTail, last)
	}
	return length, false
}
