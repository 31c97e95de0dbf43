package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The ways in which a machine ends: QEMU's debug-exit device, and a reset. Any context.

// exitPort is the debug-exit device's port. It reads as 0; a port that nothing answers on
// reads as 0xff.
const exitPort = 0xf4

// Exit ends QEMU, with status value*2+1, if the debug-exit device is there; otherwise it
// returns.
func Exit(value uint32) {
	if amd64.In8(exitPort) == 0 {
		amd64.Out32(exitPort, value)
	}
}

// LastWord writes to the console's UART that the panic path itself has failed, and then does what
// Exit does, unless value is 0. It calls nothing, and needs only the memory of its own code and
// text.
func LastWord(value uint32) {
	port := uint16(exitPort)
	if value == 0 {
		port = 0
	}
	lastWord(port, value)
}

// lastWord writes the value to the port if the port reads as 0; port 0 stands for none.
func lastWord(port uint16, value uint32)

// Restart resets the machine: by the chip set's reset control register, then by the keyboard
// controller, then by a triple fault, which works on every CPU.
func Restart() {
	const resetControl = 0xcf9 // Intel ICH/PCH: bit 1 hard, bit 2 now
	amd64.Out8(resetControl, 0x02)
	amd64.Out8(resetControl, 0x06)
	amd64.Out8(keyStatus, 0xfe)
	amd64.TripleFault()
}
