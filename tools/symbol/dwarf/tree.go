// The entries of one function: the calls that are inlined into it, and where.

package dwarf

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

// A FuncTree is a function and the calls inlined into it.
type FuncTree struct {
	Calls []Call
	Spans []CallSpan // in the order of the file: the last that has a pc counts
	open  []int32
}

// A Call is a function or a call inlined into it; Reader.CallName has its name.
type Call struct {
	Parent             int32 // the call that this one is in, -1 for the function itself
	name, linkage      value
	origin             value
	CallFile, CallLine uint32
	off                uint64 // of its entry
}

// A CallSpan is a piece of text of the Call of that index.
type CallSpan struct {
	elf.Span
	Call int32
}

// LoadTree reads the entries of one function into r.tree.
func (r *Reader) LoadTree(l *Loaded, fn *Function) {
	if r.treeOf == l && r.treeAt == fn.off {
		return
	}
	r.treeOf, r.treeAt = l, fn.off
	u := l.u
	if r.current == u {
		if at := fn.off - u.dies; at < uint64(len(r.info)) {
			r.readTree(&elf.Cursor{B: r.info, At: int(at), Base: u.dies, Big: r.File.Big()}, u)
			return
		}
	}
	end := fn.end
	if end == 0 {
		end = u.end
	}
	for n := min(uint64(4<<10), end-fn.off); ; n *= 4 {
		n = min(n, u.end-fn.off)
		c := r.infoPages.Cursor(fn.off, n)
		c.B = c.B[:min(uint64(len(c.B)), u.end-fn.off)]
		if fn.end != 0 && fn.end <= u.end {
			c = r.infoPages.Cursor(fn.off, fn.end-fn.off)
		}
		if r.readTree(&c, u); !c.Bad || fn.end != 0 || n >= u.end-fn.off {
			return
		}
	}
}

func (r *Reader) readTree(c *elf.Cursor, u *unit) {
	t := &r.Tree
	t.Calls, t.Spans, t.open = t.Calls[:0], t.Spans[:0], t.open[:0]
	abbrevs, in := r.abbrevTable(u), int32(-1)
	var e die
	for {
		off := c.Base + uint64(c.At)
		code := c.ULEB()
		if c.Bad {
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
			if c.Bad || !r.spend(len(a.attrs)) {
				return
			}
			n := Call{off: off, Parent: in, name: e.at[atName], linkage: e.at[atLinkage],
				origin: e.origin(), CallFile: e.at[atCallFile].number(),
				CallLine: e.at[atCallLine].number()}
			if a.tag == tagSubprogram {
				n.Parent = -1
			}
			self = int32(len(t.Calls))
			t.Calls = append(t.Calls, n)
			for _, s := range r.ranges(u, &e) {
				t.Spans = append(t.Spans, CallSpan{s, self})
			}
		} else if !a.descend && skipAll(c, u, a) {
			continue
		} else if r.skipAttrs(c, u, a); c.Bad {
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
func (t *FuncTree) at(pc uint64) (n int32) {
	n = -1
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Low <= pc && pc < s.High {
			n = s.Call
		}
	}
	return n
}
