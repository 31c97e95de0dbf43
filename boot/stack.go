package boot

import "github.com/zeroframe/zeroframe/arch/amd64"

// The direct map, for the entry code: its start, and the offsets in bytes of its entries in the
// PML4 and in the PDPT.
const (
	directMap  = amd64.DirectMap
	directTop  = amd64.DirectMap >> 39 & 511 * 8
	directNext = amd64.DirectMap >> 30 & 511 * 8
)

// The boot stack. It is painted and used before any Go code runs, so the entry code sets its
// bounds; the kernel takes them into its table of stacks and unmaps the page below.

// StackSize is the size of the boot stack in bytes.
const StackSize = 32 << 10

// Signature is the paint of the boot stack, written by the entry code. It equals the tracer's
// constant of that name; the kernel checks that at compile time.
const Signature uintptr = 0x57ac_feed_57ac_d00d

// StackLo and StackHi bound the boot stack: StackLo <= address < StackHi. The
// page below StackLo belongs to nothing.
var StackLo, StackHi uintptr

// magic and info are what the loader left in EAX and EBX.
var magic, info uintptr

func entry()

// start calls the kernel's first Go function (start_amd64.s).
func start()

// Entry is the address of the image's entry. The variable also keeps the linker from dropping the
// entry code.
var Entry = entry
