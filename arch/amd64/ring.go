package amd64

// The ring of a CPU's latest events: what is noted costs each system call, so it is one leaf. The kernel says
// what the words of an event are, and where the ring is (kernel/percpu/ring.go).

// RingSize is the size of a ring in bytes; it begins at a multiple of that. An event takes EventSize of them: the
// time, and three words.
const (
	RingSize  = 4096
	EventSize = 32
)

// NotNoted is what NoteEvent returns where there is no ring. It is the address of no event.
const NotNoted = 1

// NoteEvent writes an event, the time first, behind the latest one of the CPU's ring, and returns its address, which
// is c.LatestEvent from then on. The CPU is the running one. An NMI in between may take the place of the event, or leave one
// out. Kernel and early context, interrupts off.
func NoteEvent(c *CPU, kind, thread, number uint32, a, b uintptr) (at uintptr)
