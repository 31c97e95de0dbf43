// The entries of one function: the calls that are inlined into it, and where.

package symbol

// A funcTree is a function and the calls inlined into it.
type funcTree struct {
	calls []call
	spans []callSpan // in the order of the file: the last that has a pc counts
	open  []int32
}

type call struct {
	parent             int32 // the call that this one is in, -1 for the function itself
	inlined            bool
	name, linkage      value
	origin             value
	callFile, callLine uint32
}

type callSpan struct {
	span
	call int32
}

// loadTree reads the entries of one function into r.tree.
func (r *dwarfReader) loadTree(l *loadedUnit, fn *function) {
	if r.treeOf == l && r.treeAt == fn.off {
		return
	}
	r.treeOf, r.treeAt = l, fn.off
	u := l.u
	if r.current == u {
		if at := fn.off - u.dies; at < uint64(len(r.info)) {
			r.readTree(&cursor{b: r.info, at: int(at), base: u.dies, big: r.file.big()}, u)
			return
		}
	}
	end := fn.end
	if end == 0 {
		end = u.end
	}
	for n := min(uint64(4<<10), end-fn.off); ; n *= 4 {
		n = min(n, u.end-fn.off)
		c := r.infoPages.cursor(fn.off, n)
		c.b = c.b[:min(uint64(len(c.b)), u.end-fn.off)]
		if fn.end != 0 && fn.end <= u.end {
			c = r.infoPages.cursor(fn.off, fn.end-fn.off)
		}
		if r.readTree(&c, u); !c.bad || fn.end != 0 || n >= u.end-fn.off {
			return
		}
	}
}

func (r *dwarfReader) readTree(c *cursor, u *unit) {
	t := &r.tree
	t.calls, t.spans, t.open = t.calls[:0], t.spans[:0], t.open[:0]
	abbrevs := r.abbrevTable(u)
	var e die
	in := int32(-1)
	for {
		code := c.uleb()
		if c.bad {
			return
		}
		if code == 0 {
			if len(t.open) == 0 {
				return
			}
			in = t.open[len(t.open)-1]
			if t.open = t.open[:len(t.open)-1]; len(t.open) == 0 {
				return
			}
			continue
		}
		a := abbrevs.get(code)
		if a == nil || !r.spend(1) {
			return
		}
		self := in
		if a.tag == tagInlinedSubroutine || a.tag == tagSubprogram {
			e = die{}
			r.readAttrs(c, u, a, &e)
			if c.bad || !r.spend(len(a.attrs)) {
				return
			}
			n := call{parent: in, inlined: a.tag == tagInlinedSubroutine, name: e.name, linkage: e.linkage, origin: e.origin}
			if n.origin.kind == valueNone {
				n.origin = e.specification
			}
			if !n.inlined {
				n.parent = -1
			}
			n.callFile, n.callLine = uint32(e.callFile.n), uint32(e.callLine.n)
			self = int32(len(t.calls))
			t.calls = append(t.calls, n)
			for _, s := range r.ranges(u, &e) {
				t.spans = append(t.spans, callSpan{s, self})
			}
		} else if !a.descend && c.skipAll(u, a) {
			continue
		} else if c.skipAttrs(u, a); c.bad {
			return
		}
		switch {
		case a.children:
			t.open = append(t.open, in)
			in = self
		case len(t.open) == 0:
			return // a function with nothing in it
		}
	}
}

// at returns the innermost call at pc, or -1.
func (t *funcTree) at(pc uint64) (n int32) {
	n = -1
	for i := range t.spans {
		if s := &t.spans[i]; s.low <= pc && pc < s.high {
			n = s.call
		}
	}
	return n
}
