package code

// The call graph, as far as the instructions tell it.

// Site is a place in a function from where control goes to another one.
type Site struct {
	// At is the address of the instruction, Target where it goes.
	At, Target uint64
	// Func is the index in Graph.Nodes of the function at Target, or -1 when it
	// is in none.
	Func int
}

// Node is a function of a Graph.
type Node struct {
	Func
	// Calls are its direct calls, Tails its direct jumps, conditional or not, to
	// what is outside of it.
	Calls, Tails []Site
	// Indirect are the addresses of its calls of what a register or memory
	// says, IndirectTails those of jumps that are not known to be a switch's.
	Indirect, IndirectTails []uint64
	// Unknown is how many of its bytes are no instruction that is known here.
	// Cut is set when it is too long to be decoded whole.
	Unknown int
	Cut     bool
}

// Graph is the call graph of an Image.
type Graph struct {
	// Nodes are the functions, in the order of their addresses.
	Nodes []Node
}

// Graph decodes all functions and returns their call graph. Context: host.
func (m *Image) Graph() *Graph {
	g := &Graph{Nodes: make([]Node, len(m.funcs))}
	for i := range m.funcs {
		m.node(&g.Nodes[i], i)
	}
	return g
}

// node fills a node.
func (m *Image) node(n *Node, index int) {
	n.Func = m.funcs[index]
	table := false // the instruction before is one of those that read a table
	whole := m.Insts(&n.Func, func(pc uint64, i Inst) bool {
		switch i.Op {
		case Bad:
			n.Unknown++
		case Call:
			if i.Rel != 0 { // a call of what follows reads the pc
				n.Calls = append(n.Calls, m.site(pc, &i))
			}
		case Jump, Branch:
			if !n.Holds(i.Target(pc)) {
				n.Tails = append(n.Tails, m.site(pc, &i))
			}
		case CallIndirect:
			n.Indirect = append(n.Indirect, pc)
		case JumpIndirect:
			if !table {
				n.IndirectTails = append(n.IndirectTails, pc)
			}
		}
		table = i.addsTable()
		return true
	})
	n.Cut = !whole
}

func (m *Image) site(pc uint64, i *Inst) Site {
	target := i.Target(pc)
	return Site{At: pc, Target: target, Func: m.index(target)}
}
