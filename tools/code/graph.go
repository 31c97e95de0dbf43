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
	// Cycle is not 0 when the function can call itself, directly or through
	// others: functions of the same cycle have the same number.
	Cycle int
	// Unknown is how many of its bytes are no instruction that is known here.
	// Cut is set when it is too long to be decoded whole.
	Unknown int
	Cut     bool
}

// Graph is the call graph of an Image.
type Graph struct {
	// Nodes are the functions, in the order of their addresses.
	Nodes []Node
	// Cycles is the number of cycles, which are counted from 1.
	Cycles int
}

// Graph decodes all functions and returns their call graph. Context: host.
func (m *Image) Graph() *Graph {
	g := &Graph{Nodes: make([]Node, len(m.funcs))}
	for i := range m.funcs {
		m.node(&g.Nodes[i], i)
	}
	g.cycles()
	return g
}

// node fills a node.
func (m *Image) node(n *Node, index int) {
	n.Func = m.funcs[index]
	table := false // see TailCalls
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

// cycles numbers the cycles: the strongly connected components that have an edge
// (Tarjan 1972), without recursion, since the depth of a hostile graph is that of
// its size.
func (g *Graph) cycles() {
	type visit struct{ node, edge int }
	order := make([]int, len(g.Nodes)) // 0: not seen, else when it was
	low := make([]int, len(g.Nodes))
	on := make([]bool, len(g.Nodes))
	var stack []int
	var path []visit
	count := 0
	enter := func(n int) {
		count++
		order[n], low[n], on[n] = count, count, true
		stack = append(stack, n)
		path = append(path, visit{n, 0})
	}
	for root := range g.Nodes {
		if order[root] == 0 {
			enter(root)
		}
		for len(path) > 0 {
			v := &path[len(path)-1]
			n := v.node
			if v.edge < len(g.Nodes[n].Calls)+len(g.Nodes[n].Tails) {
				to := g.Nodes[n].edge(v.edge)
				v.edge++
				switch {
				case to < 0:
				case order[to] == 0:
					enter(to)
				case on[to]:
					low[n] = min(low[n], order[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1].node
				low[up] = min(low[up], low[n])
			}
			if low[n] == order[n] {
				stack = g.component(stack, n, on)
			}
		}
	}
}

// edge returns where the i'th edge of the node leads.
func (n *Node) edge(i int) int {
	if i < len(n.Calls) {
		return n.Calls[i].Func
	}
	return n.Tails[i-len(n.Calls)].Func
}

// component takes the component that ends with node n from the stack.
func (g *Graph) component(stack []int, n int, on []bool) []int {
	k := len(stack) - 1
	for stack[k] != n {
		k--
	}
	members := stack[k:]
	cycle := len(members) > 1
	for i := 0; i < len(g.Nodes[n].Calls) && !cycle; i++ {
		cycle = g.Nodes[n].Calls[i].Func == n
	}
	if cycle {
		g.Cycles++
	}
	for _, i := range members {
		on[i] = false
		if cycle {
			g.Nodes[i].Cycle = g.Cycles
		}
	}
	return stack[:k]
}
