package receive

import "net/netip"

// The traces of one machine are shown in the order in which they arrived, though they are
// resolved side by side: a result waits for those before it.

// turn is an arrival's place in its machine's order.
type turn struct {
	before *turn   // nil: it is the first of those under way
	next   *result // resolved, and waiting for this one
	shown  bool
}

// order has the latest arrival of each machine of which one is under way. Reporter.mu is
// held while latest is used; the turns' other fields are the reporting goroutine's.
type order struct{ latest map[netip.AddrPort]*turn }

// join gives an arrival its turn. The lock is held.
func (o *order) join(a *Arrival) {
	if o.latest == nil {
		o.latest = make(map[netip.AddrPort]*turn)
	}
	a.turn = &turn{before: o.latest[a.Addr]}
	o.latest[a.Addr] = a.turn
}

// ready appends to list the result, and those that have waited for it, if it is its turn.
func ready(list []*result, res *result) []*result {
	if b := res.a.turn.before; b != nil && !b.shown {
		b.next = res
		return list
	}
	for ; res != nil; res = res.a.turn.next {
		t := res.a.turn
		t.shown, t.before = true, nil
		list = append(list, res)
	}
	return list
}

// leave forgets a machine with nothing under way. The lock is held.
func (o *order) leave(a *Arrival) {
	if o.latest[a.Addr] == a.turn {
		delete(o.latest, a.Addr)
	}
}
