// Where a function's entry is, for those who read more of it than names and lines.

package dwarf

// An Entry is the place of a function's entry, and what of its unit its attributes need.
type Entry struct {
	// Offset counts from the start of .debug_info.
	Offset uint64
	// Version is that of DWARF in the unit.
	Version int
	// Low is the base of the unit's addresses, Addrs where its part of .debug_addr begins.
	Low, Addrs uint64
}

// EntryAt returns the entry of the physical function at pc. It reports false if none has
// code there. d may be nil. Context: host.
func (d *Data) EntryAt(pc uint64) (e Entry, ok bool) {
	if d == nil {
		return Entry{}, false
	}
	d.eachAt(pc, func(r *Reader, l *Loaded) bool {
		if fn := r.funcAt(l, pc); fn != nil {
			e, ok = Entry{Offset: fn.off, Version: int(l.u.version), Low: l.u.low, Addrs: l.u.addrBase}, true
		}
		return ok
	})
	return e, ok
}
