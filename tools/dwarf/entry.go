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
// code there, or if it is in another file. d may be nil. Context: host.
func (d *Data) EntryAt(pc uint64) (e Entry, ok bool) {
	if d == nil {
		return Entry{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.main
	var buf [maxUnits]uint64
	for _, base := range d.unitsAt(pc, buf[:0]) {
		r.Allow()
		u := r.unit(base)
		if u == nil {
			continue
		}
		l := r.load(u, pc)
		if l.split != nil {
			continue
		}
		fn := l.FuncAt(pc)
		if l.LooksDeeper(fn) {
			r.LoadFuncs(l, true)
			fn = l.FuncAt(pc)
		}
		if fn != nil {
			return Entry{Offset: fn.off, Version: int(u.version), Low: u.low, Addrs: u.addrBase}, true
		}
	}
	return Entry{}, false
}
