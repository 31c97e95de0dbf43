package handle

import "github.com/zeroframe/zeroframe/kernel/percpu"

// Mappings. Part of one can be unmapped, or mapped again, and one call can remove the ends of two;
// what is left of a mapping still belongs to whoever made it.

// closeMaps unmaps the bytes from the event's key on.
func closeMaps(ev *event) {
	percpu.AssertLocked()
	if cutMaps(ev) {
		return
	}
	// Nothing of it was mapped. Had it been?
	for i := latest; i != 0; {
		e := entryAt(i)
		if e.kind == Maps && e.key < ev.key+ev.size && ev.key < e.key+e.size {
			doubled(ev, i)
			return
		}
		i = e.prev
	}
	ev.event = Stray
	kinds[Maps].strays++
}

// cutMaps removes the bytes of an event from all open mappings. It reports whether there were any.
// A mapping that is removed as a whole counts as closed.
func cutMaps(ev *event) (any bool) {
	percpu.AssertLocked()
	lo, hi := ev.key, ev.key+ev.size
	s := &kinds[Maps]
	for i := heads[Maps]; i != 0; {
		e := entryAt(i)
		at, end, next := e.key, e.key+e.size, e.next
		if at >= hi || end <= lo {
			i = next
			continue
		}
		any = true
		switch {
		case at >= lo && end <= hi:
			shut(ev, i)
		case at < lo:
			e.size = lo - at
			s.bytes -= end - lo
			if end > hi {
				part(e, hi, end)
			}
		default: // its beginning is removed
			s.bytes -= hi - at
			unhash(i)
			if old := lookUp(Maps, hi, 0); old != 0 {
				forget(old) // what was closed there
				lose(old)
			}
			e.key, e.size = hi, end-hi
			hash(i)
		}
		i = next
	}
	return any
}

// part makes the end of a mapping a mapping of its own.
func part(from *entry, lo, hi uint64) {
	percpu.AssertLocked()
	i := lookUp(Maps, lo, 0)
	if i != 0 {
		unlink(i) // closed: that memory is open in from
	} else {
		if i = take(); i == 0 {
			overflow++
			return
		}
		e := entryAt(i)
		e.kind, e.key, e.owner = Maps, lo, 0
		hash(i)
	}
	e := entryAt(i)
	e.size, e.opened, e.openStack, e.openBy = hi-lo, from.opened, from.openStack, from.openBy
	linkOpen(i)
	kinds[Maps].grow(hi - lo)
}

// lose keeps the place of a removed entry for the next one: it joins the closed ones, under a key
// that nothing has.
func lose(i uint32) {
	e := entryAt(i)
	e.kind, e.key, e.size, e.owner = 0, uint64(i), 0, 0
	hash(i)
	linkClosed(i)
}
