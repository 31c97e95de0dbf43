package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// Channel 0 of the i8254 interval timer ("PIT", Intel 8254 data sheet).

// The PIT's ports and command bytes.
const (
	pitData    = 0x40
	pitCommand = 0x43

	pitLatch    = 0x00 // channel 0: hold the count for reading
	pitOneShot  = 0x30 // channel 0, low byte then high byte, mode 0
	pitRate     = 0x34 // channel 0, low byte then high byte, mode 2
	pitReadBack = 0xe2 // channel 0: status
)

// pitHz is the frequency of the PIT's clock: a third of NTSC's colour carrier.
const pitHz = 1_193_182

// pitRound makes the PIT count 65536 ticks down, again and again. It returns false if there is no
// PIT.
func pitRound() bool {
	amd64.Out8(pitCommand, pitRate)
	amd64.Out8(pitData, 0)
	amd64.Out8(pitData, 0)
	const output, noCount = 1 << 7, 1 << 6
	amd64.Out8(pitCommand, pitReadBack)
	return amd64.In8(pitData)&^(output|noCount) == pitRate
}

// pitCount returns the PIT's remaining count; 0 stands for 65536.
func pitCount() uint16 {
	amd64.Out8(pitCommand, pitLatch)
	lo := amd64.In8(pitData)
	return uint16(lo) | uint16(amd64.In8(pitData))<<8
}

// pitShot makes the PIT raise ISA interrupt 0 once, after count+1 ticks.
func pitShot(count uint16) {
	amd64.Out8(pitCommand, pitOneShot)
	amd64.Out8(pitData, uint8(count))
	amd64.Out8(pitData, uint8(count>>8))
}

// pitStop stops the PIT. A shot that is under way may still come: not all emulators cancel it.
func pitStop() { amd64.Out8(pitCommand, pitOneShot) }
