package amd64

// The ring of a CPU's latest events. Each system call records events, so the code that does it is
// one leaf. The kernel decides what the words of an event mean, and where the ring is
// (kernel/percpu/ring.go).

// RingSize is the size of a ring in bytes, and its alignment. An event takes EventSize bytes: the
// time, and three words.
const (
	RingSize  = 4096
	EventSize = 32
)

// NotNoted is what NoteEvent returns if there is no ring. It is the address of no event.
const NotNoted = 1

// NoteEvent writes an event, the time first, after the latest one of the CPU's ring, and returns
// its address, which is c.LatestEvent from then on. c must be the running CPU's. An NMI in between
// may overwrite the event, or leave one out. Kernel and early context, interrupts off.
func NoteEvent(c *CPU, kind, thread, number uint32, a, b uintptr) (at uintptr)
