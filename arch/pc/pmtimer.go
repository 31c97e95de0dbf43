package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The power management timer of ACPI (ACPI Specification 6.5, 4.8.3.3): a counter that each chip
// set with ACPI has, at one frequency. Early context.

const (
	pmHz   = 3_579_545 // three times the PIT's
	pmMask = 1<<24 - 1 // more bits are optional, and some timers claim them without having them
)

// pmPort is the port of its count, 0: none. Set once at boot.
var pmPort uint16

// readFADT takes the timer's port from ACPI's fixed description table (5.2.9).
func readFADT(b []byte) {
	const (
		block, length = 76, 91 // the port, and its size in bytes
		flags         = 112
		extended      = 208 // an address with its space: memory or ports
		ports         = 1
		reduced       = 1 << 20 // none of the fixed hardware exists
	)
	if len(b) < flags+4 || le32(b[flags:])&reduced != 0 {
		return
	}
	port := uint64(0)
	if b[length] == 4 {
		port = uint64(le32(b[block:]))
	}
	if len(b) >= extended+12 && b[extended] == ports && le64(b[extended+4:]) != 0 {
		port = le64(b[extended+4:])
	}
	if port <= 0xfffc {
		pmPort = uint16(port)
	}
}

// pmCount returns the timer's count.
func pmCount() uint32 { return amd64.In32(pmPort) & pmMask }
