package locks

// A value is what a register or a word of the stack holds, as far as the code alone says: an
// expression over what the function began with. Equal expressions have one number, so that "the
// same mutex" is an equality of numbers. 0 is a value of which nothing is known; it equals none,
// not even itself.
type value int32

// kind is the operation of an expression.
type kind uint8

const (
	unknown kind = iota
	konst        // n
	frame        // the address n bytes above where SP stood at the function's entry
	entry        // what register n held at the entry
	add          // a + n
	indexed      // a + b*n
	mem          // the word at the address a
	def          // what the instruction at n left in register b
	phi          // what the place b held when the block at n was entered last
)

type node struct {
	kind kind
	a, b value
	n    int64
}

// values are the expressions of one function.
type values struct {
	nodes []node
	sizes []int32 // of how many nodes each is made
	ids   map[node]value
}

// maxSize bounds an expression: what code computes that is longer is no address of a lock.
const maxSize = 64

func newValues() *values {
	return &values{nodes: make([]node, 1), sizes: make([]int32, 1), ids: make(map[node]value)}
}

func (t *values) intern(n node) value {
	v, ok := t.ids[n]
	if !ok {
		size := int32(1)
		switch n.kind {
		case add, mem:
			size += t.sizes[n.a]
		case indexed:
			size += t.sizes[n.a] + t.sizes[n.b]
		}
		if size > maxSize {
			return 0
		}
		v = value(len(t.nodes))
		t.nodes, t.sizes = append(t.nodes, n), append(t.sizes, size)
		t.ids[n] = v
	}
	return v
}

func (t *values) konst(n int64) value { return t.intern(node{kind: konst, n: n}) }
func (t *values) frame(n int64) value { return t.intern(node{kind: frame, n: n}) }
func (t *values) entry(reg int) value { return t.intern(node{kind: entry, n: int64(reg)}) }

// add returns v + n, folded.
func (t *values) add(v value, n int64) value {
	x := t.nodes[v]
	switch {
	case v == 0:
		return 0
	case x.kind == konst || x.kind == frame:
		return t.intern(node{kind: x.kind, n: x.n + n})
	case x.kind == add:
		n += x.n
		v = x.a
	}
	if n == 0 {
		return v
	}
	return t.intern(node{kind: add, a: v, n: n})
}

// indexed returns a + b*n.
func (t *values) indexed(a, b value, n int64) value {
	switch x := t.nodes[b]; {
	case a == 0 || b == 0:
		return 0
	case x.kind == konst:
		return t.add(a, x.n*n)
	}
	return t.intern(node{kind: indexed, a: a, b: b, n: n})
}

// mem returns the word at v.
func (t *values) mem(v value) value {
	if v == 0 {
		return 0
	}
	return t.intern(node{kind: mem, a: v})
}

// base returns v without what was added to it, and how much that was.
func (t *values) base(v value) (value, int64) {
	if x := t.nodes[v]; x.kind == add {
		return x.a, x.n
	}
	return v, 0
}

// replace returns v with by in the place of each part.
func (t *values) replace(v, part, by value) value {
	if v == part {
		return by
	}
	if !t.contains(v, part) {
		return v
	}
	x := t.nodes[v]
	a := t.replace(x.a, part, by)
	switch x.kind {
	case add:
		return t.add(a, x.n)
	case indexed:
		return t.indexed(a, t.replace(x.b, part, by), x.n)
	}
	return t.mem(a)
}

// contains reports whether the expression v has part in it.
func (t *values) contains(v, part value) bool {
	for {
		if v == part {
			return true
		}
		if v < part { // an expression is younger than its parts
			return false
		}
		x := t.nodes[v]
		switch x.kind {
		case indexed:
			if t.contains(x.b, part) {
				return true
			}
		case add, mem:
		default:
			return false
		}
		v = x.a
	}
}
