package why

// A call of the runtime's memmove or memclr counts as one instruction, the first one of the
// function: whatever its loops do with which registers, in which direction, the bytes in the end
// are those that were in the source before. So a copy of any length is one step, and what is known
// at its start is where each byte comes from.

// copyStart returns the first instruction of memmove or memclr for an address in it, else 0.
func (w *Why) copyStart(pc uint64) uint64 {
	for _, start := range []uint64{w.memmove, w.memclr} {
		if start != 0 && pc >= start && pc-start < 1<<12 {
			if s, ok := w.file.FuncStart(pc); ok && s == start {
				return start
			}
		}
	}
	return 0
}

// copyEntry finds the first instruction of the copying or clearing that path[i] is in, -1 if the
// path begins behind it. Neither function moves the stack pointer.
func (w *Why) copyEntry(path []entry, i int) int {
	start, sp := w.copyStart(path[i].pc), path[i].gpr[rsp]
	for ; i >= 0; i-- {
		if path[i].pc == start && path[i].gpr[rsp] == sp {
			return i
		}
	}
	return -1
}

// copyTarget is what the copying or clearing that begins at e writes.
func (w *Why) copyTarget(e *entry) place {
	n := e.gpr[rcx]
	if e.pc == w.memclr {
		n = e.gpr[rbx]
	}
	return bytesAt(e.gpr[rax], n)
}

// unit is the def of a place by a call of memmove or memclr, when path[i] is its first instruction.
func (w *Why) unit(path []entry, i int, p place) (d def, ok bool) {
	e := &path[i]
	if p.kind != inMemory || e.pc != w.memmove && e.pc != w.memclr {
		return d, false
	}
	to := w.copyTarget(e)
	lo, hi := max(p.addr, to.addr), min(p.addr+p.size, to.addr+to.size)
	if lo >= hi {
		return d, false
	}
	d = def{index: i, effect: effect{to: to, how: constant},
		rest: bytesAt(lo, hi-lo)}
	if e.pc == w.memmove {
		d.effect.how, d.source = copied, bytesAt(e.gpr[rbx]+lo-to.addr, hi-lo)
	}
	return d, true
}

// copyReach is how many instructions back the beginning of a copy is looked for: a byte takes one
// at most, where the string instructions are used.
var copyReach = []uint64{20_000, 2_000_000, forEver}

// copyCall is for a place that path[i] has written in the midst of a copy whose beginning is not in
// the path. It returns the path to that, and the def there; ok is false if it is not found.
func (w *Why) copyCall(path []entry, i int, p place) (_ []entry, d def, ok bool, err error) {
	e := path[i]
	start := w.copyStart(e.pc)
	for _, reach := range copyReach {
		from := e.count - min(reach, e.count)
		w.say("where the copy at instruction %d began", e.count)
		last, err := w.lastCall(from, e.count, []uint64{start},
			func(_ *machine, c *entry) bool {
				return c.gpr[rsp] == e.gpr[rsp] && c.gpr[14] == e.gpr[14] && w.copyTarget(c).overlaps(p)
			})
		if err != nil {
			return nil, d, false, err
		}
		if last == 0 {
			continue
		}
		if path, err = w.pathTo(last+1, windows[0]); err != nil {
			return nil, d, false, err
		}
		for k := len(path) - 1; k >= 0; k-- {
			if d, ok = w.unit(path, k, p); ok && path[k].gpr[rsp] == e.gpr[rsp] {
				return path, d, true, nil
			}
		}
	}
	return path, d, false, nil
}
