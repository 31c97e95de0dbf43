package dump

// A Sender's window: the items that have been sent and that the receiver has not acknowledged. Each
// can be made again from its slot, because the memory of a dead machine does not change.
//
// An item is lost when the receiver has a packet that was sent well after it, since networks
// reorder few packets only; or when no answer came within the expected time, which follows the
// round-trip times. Times are in nanoseconds.

// A Slot is an item under way.
type Slot struct {
	Kind  byte
	Place Place
	N     uint32 // bytes of data, pages of zeros, or which CPU
	sent  uint32 // number of its latest packet
	at    uint64 // when that was sent
	has   bool   // the receiver has it
}

const (
	// reordered is the number of later packets that may overtake one.
	reordered = 16
	// firstWait is how long to wait for the first answer; leastWait and mostWait bound later waits.
	firstWait = 200e6
	leastWait = 10e6
	mostWait  = 500e6
	// probes is the number of items that are sent again at a time when no answer comes.
	probes = 8
)

// A Flight is the state of a window. Call Reset before use.
type Flight struct {
	slots [Window]Slot
	times [Window]uint64 // when packets were sent, by their numbers
	Base  uint32         // the first item that the receiver may not have
	Next  uint32         // the item to be sent next for the first time
	Sent  uint32         // number of the latest packet
	acked uint32         // number of the latest packet that the receiver has acknowledged
	look  uint32         // where Lost looks next; at Next: nowhere
	rtt   uint64         // the time from packet to answer, smoothed; 0: not known
	heard uint64         // when an answer last came, or when items were sent again for lack of one
}

// Reset starts at item 1.
func (f *Flight) Reset(now uint64) {
	f.Base, f.Next, f.look = 1, 1, 1
	f.acked = f.Sent
	f.heard = now
}

// Room reports whether another item may be sent.
func (f *Flight) Room() bool { return f.Next-f.Base < Window }

// Empty reports whether the receiver has all items.
func (f *Flight) Empty() bool { return f.Next == f.Base }

// Add returns the slot of the next item, to be filled in and sent; call it only if there is Room.
func (f *Flight) Add() (item uint32, s *Slot) {
	item = f.Next
	if f.look == f.Next {
		f.look++
	}
	f.Next++
	s = f.Slot(item)
	s.has = false
	return item, s
}

// Slot returns the slot of an item that is under way.
func (f *Flight) Slot(item uint32) *Slot { return &f.slots[item%Window] }

// Number gives an item that is being sent the number of its packet.
func (f *Flight) Number(item uint32, now uint64) uint32 {
	f.Sent++
	f.times[f.Sent%Window] = now
	s := f.Slot(item)
	s.sent, s.at = f.Sent, now
	return f.Sent
}

// Answer processes an answer. It returns false if the answer is impossible.
func (f *Flight) Answer(a *Answer, now uint64) bool {
	if a.Next-f.Base > f.Next-f.Base {
		return int32(a.Next-f.Base) < 0 // an old one
	}
	f.heard = now
	if int32(a.Latest-f.acked) > 0 && int32(a.Latest-f.Sent) <= 0 {
		f.acked = a.Latest
		if f.Sent-a.Latest < Window {
			t := now - f.times[a.Latest%Window]
			if f.rtt == 0 {
				f.rtt = t
			}
			f.rtt = (7*f.rtt + t) / 8
		}
	}
	f.Base = a.Next
	for i := f.Base; i != f.Next; i++ {
		if s := f.Slot(i); !s.has && a.Has(i) {
			s.has = true
		}
	}
	for f.Base != f.Next && f.Slot(f.Base).has {
		f.Base++
	}
	f.look = f.Base
	return true
}

// wait is how long to wait for an answer.
func (f *Flight) wait() uint64 {
	if f.rtt == 0 {
		return firstWait
	}
	return min(max(4*f.rtt, leastWait), mostWait)
}

// Lost returns an item that must be sent again, if there is one.
func (f *Flight) Lost(now uint64) (item uint32, ok bool) {
	if f.Empty() {
		return 0, false
	}
	late := now-f.heard > f.wait()
	if late {
		// The receiver answers each of them that arrives.
		f.heard, f.look = now, f.Base
		n := 0
		for i := f.Base; i != f.Next && n < probes; i++ {
			if s := f.Slot(i); !s.has {
				s.sent = f.acked - reordered - 1
				n++
			}
		}
	}
	for ; f.look != f.Next; f.look++ {
		if s := f.Slot(f.look); !s.has && int32(f.acked-s.sent) > reordered {
			return f.look, true
		}
	}
	return 0, false
}
