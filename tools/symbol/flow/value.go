package flow

// A Value is the number of an expression. 0 is a value of which nothing is known: it equals none,
// not even itself.
type Value int32

// Kind is the operation of an expression.
type Kind uint8

// The operations. CFA is the stack pointer in the caller, before its call has pushed anything.
const (
	Unknown Kind = iota
	Const        // N
	Frame        // the address CFA + N
	Entry        // what register N held at the function's entry
	Add          // A + N
	Indexed      // A + B*N
	Mem          // the word at the address A
	Def          // what the instruction at N has left in the place B
	Phi          // what the place B held when the block at N was entered last
)

// A Node is an expression.
type Node struct {
	Kind Kind
	A, B Value
	N    int64
}

// Values are the expressions of one function.
type Values struct {
	nodes []Node
	sizes []int32 // of how many nodes each is made
	ids   map[Node]Value
}

// maxSize bounds an expression: what code computes that is longer is no address of interest.
const maxSize = 64

func newValues() *Values {
	return &Values{nodes: make([]Node, 1), sizes: make([]int32, 1), ids: make(map[Node]Value)}
}

// Node returns the expression with a number.
func (t *Values) Node(v Value) Node { return t.nodes[v] }

func (t *Values) intern(n Node) Value {
	v, ok := t.ids[n]
	if !ok {
		size := 1 + t.sizes[n.A]
		if n.Kind == Indexed {
			size += t.sizes[n.B]
		}
		if size > maxSize {
			return 0
		}
		v = Value(len(t.nodes))
		t.nodes, t.sizes = append(t.nodes, n), append(t.sizes, size)
		t.ids[n] = v
	}
	return v
}

// Const returns the constant n.
func (t *Values) Const(n int64) Value { return t.intern(Node{Kind: Const, N: n}) }

// Frame returns the address CFA + n.
func (t *Values) Frame(n int64) Value { return t.intern(Node{Kind: Frame, N: n}) }

// Entry returns what a register held at the entry.
func (t *Values) Entry(reg int) Value { return t.intern(Node{Kind: Entry, N: int64(reg)}) }

// Add returns v + n.
func (t *Values) Add(v Value, n int64) Value {
	x := t.nodes[v]
	switch {
	case v == 0:
		return 0
	case x.Kind == Const || x.Kind == Frame:
		return t.intern(Node{Kind: x.Kind, N: x.N + n})
	case x.Kind == Add:
		n += x.N
		v = x.A
	}
	if n == 0 {
		return v
	}
	return t.intern(Node{Kind: Add, A: v, N: n})
}

// Indexed returns a + b*n.
func (t *Values) Indexed(a, b Value, n int64) Value {
	switch x := t.nodes[b]; {
	case a == 0 || b == 0:
		return 0
	case x.Kind == Const:
		return t.Add(a, x.N*n)
	}
	return t.intern(Node{Kind: Indexed, A: a, B: b, N: n})
}

// Mem returns the word at v.
func (t *Values) Mem(v Value) Value {
	if v == 0 {
		return 0
	}
	return t.intern(Node{Kind: Mem, A: v})
}

// Base returns v without what is added to it, and how much that is.
func (t *Values) Base(v Value) (Value, int64) {
	if x := t.nodes[v]; x.Kind == Add {
		return x.A, x.N
	}
	return v, 0
}

// Replace returns v with by in the place of each part.
func (t *Values) Replace(v, part, by Value) Value {
	if v == part {
		return by
	}
	if !t.Contains(v, part) {
		return v
	}
	x := t.nodes[v]
	a := t.Replace(x.A, part, by)
	switch x.Kind {
	case Add:
		return t.Add(a, x.N)
	case Indexed:
		return t.Indexed(a, t.Replace(x.B, part, by), x.N)
	}
	return t.Mem(a)
}

// Contains reports whether the expression v has part in it.
func (t *Values) Contains(v, part Value) bool {
	for v > part { // an expression is younger than its parts
		x := t.nodes[v]
		switch x.Kind {
		case Indexed:
			if t.Contains(x.B, part) {
				return true
			}
		case Add, Mem:
		default:
			return false
		}
		v = x.A
	}
	return v == part
}

// Fixed reports whether the code says each part of an expression.
func (t *Values) Fixed(v Value) bool {
	x := t.nodes[v]
	switch x.Kind {
	case Unknown, Def, Phi:
		return false
	case Add, Mem:
		return t.Fixed(x.A)
	case Indexed:
		return t.Fixed(x.A) && t.Fixed(x.B)
	}
	return true
}
