package dump

// A Sender's window: the items that have been sent and of which the receiver has not said that it has
// them. Each can be made again from its slot, since the memory of a dead machine does not change.
//
// An item is lost when the receiver has a packet that was sent well behind it, as networks change
// the order of few packets only; or when nothing has been heard for a time by which an answer should
// be here. That time follows the answers' own. Times are in nanoseconds.

// A Slot is an item under way.
type Slot struct {
	Kind  byte
	Place Place
	N     uint32 // bytes of data, pages of zeros, or which CPU
	sent  uint32 // number of the packet that it went in last
	at    uint64 // when
	has   bool   // the receiver has it
}

const (
	// reordered is how many packets later ones may overtake.
	reordered = 16
	// firstWait is the wait for an answer before any has come, leastWait and mostWait bound it afterwards.
	firstWait = 200e6
	leastWait = 10e6
	mostWait  = 500e6
	// probes is how many items are sent again at a time when nothing has been heard.
	probes = 8
)

// A Flight is the state of a window. The zero value is to be Reset.
type Flight struct {
	slots [Window]Slot
	times [Window]uint64 // when packets were sent, by their numbers
	Base  uint32         // the first item that the receiver may not have
	Next  uint32         // the item to be sent next for the first time
	Sent  uint32         // number of the latest packet
	acked uint32         // number of the latest packet that the receiver has seen
	look  uint32         // where Lost looks next; at Next: nowhere
	rtt   uint64         // the time from packet to answer, smoothed; 0: not known
	heard uint64         // when an answer last came, or items were sent again for want of one
}

// Reset begins with item 1.
func (f *Flight) Reset(now uint64) {
	f.Base, f.Next, f.look = 1, 1, 1
	f.acked = f.Sent
	f.heard = now
}

// Room reports whether another item may be sent.
func (f *Flight) Room() bool { return f.Next-f.Base < Window }

// Empty reports whether the receiver has all items.
func (f *Flight) Empty() bool { return f.Next == f.Base }

// Add takes the slot of the next item, to be filled in and sent; there must be Room.
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

// Slot returns the slot of an item under way.
func (f *Flight) Slot(item uint32) *Slot { return &f.slots[item%Window] }

// Number gives the packet of an item a number as it is sent.
func (f *Flight) Number(item uint32, now uint64) uint32 {
	f.Sent++
	f.times[f.Sent%Window] = now
	s := f.Slot(item)
	s.sent, s.at = f.Sent, now
	return f.Sent
}

// Answer takes an answer. It returns false if that cannot be true.
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

// wait is how long an answer is waited for.
func (f *Flight) wait() uint64 {
	if f.rtt == 0 {
		return firstWait
	}
	return min(max(4*f.rtt, leastWait), mostWait)
}

// Lost returns an item that is to be sent again, if there is one.
func (f *Flight) Lost(now uint64) (item uint32, ok bool) {
	if f.Empty() {
		return 0, false
	}
	late := now-f.heard > f.wait()
	if late {
		// Each of them that arrives is answered.
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
