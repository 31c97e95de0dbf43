package heap

// The graph of who points to whom: node 0 is above all, then come the roots, then a node for each
// slot. A node dominates another one if every way from above leads through it: it holds the
// other alone. What a node holds is the sum of what it dominates.
//
// Dominators: Semi-NCA, by Georgiadis, "Linear-time algorithms for dominators and related
// problems" (2005), section 2.3.

// graph is edges by node.
type graph struct {
	from    []uint64 // node -> where its edges begin in to
	to      []uint32 // nodes
	order   []uint32 // what is reachable, by depth-first number, from 1
	number  []uint32 // node -> its number, 0 if it is unreachable
	parent  []uint32 // in the depth-first tree, by number
	idom    []uint32 // by number
	retains []uint64 // bytes, by number
}

// maxEdges bounds the graph.
const maxEdges = 1 << 32

// node is a slot's number in the graph.
func (h *Heap) node(slot uint32) uint32 { return slot + uint32(len(h.roots)) + 1 }

// slot is the reverse; ok is false for a root.
func (h *Heap) slot(node uint32) (slot uint32, ok bool) {
	if n := uint32(len(h.roots)) + 1; node >= n {
		return node - n, true
	}
	return 0, false
}

// link makes the edges, and says what is reachable.
func (h *Heap) link() error {
	n := uint64(h.slots) + uint64(len(h.roots)) + 1
	h.from = make([]uint64, n+1)
	for i := range h.roots {
		h.to = append(h.to, uint32(i)+1)
	}
	for i := range h.roots {
		h.from[i+1] = uint64(len(h.to))
		for _, s := range h.roots[i].slots {
			h.to = append(h.to, h.node(s))
		}
	}
	at := uint64(len(h.roots)) + 1
	h.objects(func(s *span, k uint64, slot uint32) {
		for ; at <= uint64(h.node(slot)); at++ {
			h.from[at] = uint64(len(h.to))
		}
		if len(h.to) > maxEdges {
			return
		}
		h.pointers(s, k, func(_, v uint64) {
			if target, _, ok := h.find(v); ok && target != slot {
				h.to = append(h.to, h.node(target))
			}
		})
	})
	for ; at <= n; at++ {
		h.from[at] = uint64(len(h.to))
	}
	h.search()
	h.dominate()
	h.objects(func(s *span, _ uint64, slot uint32) {
		if h.number[h.node(slot)] != 0 {
			h.ReachableObjects++
			h.ReachableBytes += s.elem
		}
	})
	return nil
}

// edges returns whom a node points to.
func (g *graph) edges(node uint32) []uint32 { return g.to[g.from[node]:g.from[node+1]] }

// search numbers what is reachable, depth first.
func (g *graph) search() {
	n := len(g.from) - 1
	g.number = make([]uint32, n)
	g.order, g.parent = []uint32{0, 0}, []uint32{0, 0}
	g.number[0] = 1
	type at struct {
		node uint32
		next uint64
	}
	stack := []at{{0, g.from[0]}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == g.from[top.node+1] {
			stack = stack[:len(stack)-1]
			continue
		}
		to := g.to[top.next]
		top.next++
		if g.number[to] != 0 {
			continue
		}
		g.number[to] = uint32(len(g.order))
		g.order = append(g.order, to)
		g.parent = append(g.parent, g.number[top.node])
		stack = append(stack, at{to, g.from[to]})
	}
}

// predecessors returns who points to node v, by numbers: preds from count[v] up to count[v+1].
func (g *graph) predecessors() (count []uint64, preds []uint32) {
	n := len(g.order)
	count = make([]uint64, n+1)
	for v := 1; v < n; v++ {
		for _, w := range g.edges(g.order[v]) {
			count[g.number[w]]++
		}
	}
	sum := uint64(0)
	for v := range count {
		sum, count[v] = sum+count[v], sum
	}
	preds = make([]uint32, sum)
	fill := append([]uint64(nil), count...)
	for v := 1; v < n; v++ {
		for _, w := range g.edges(g.order[v]) {
			k := g.number[w]
			preds[fill[k]] = uint32(v)
			fill[k]++
		}
	}
	return count, preds
}

// dominate finds for each reachable node the nearest one that dominates it.
func (g *graph) dominate() {
	n := len(g.order)
	count, preds := g.predecessors()
	semi, label, ancestor := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	for v := range semi {
		semi[v], label[v] = uint32(v), uint32(v)
	}
	var path []uint32
	// least is the label with the least semidominator on the way from v up to the nodes that
	// are not linked yet; the way becomes shorter by it.
	least := func(v uint32) uint32 {
		if ancestor[v] == 0 {
			return v
		}
		path = path[:0]
		for ancestor[ancestor[v]] != 0 {
			path = append(path, v)
			v = ancestor[v]
		}
		for i := len(path) - 1; i >= 0; i-- {
			u := path[i]
			a := ancestor[u]
			if semi[label[a]] < semi[label[u]] {
				label[u] = label[a]
			}
			ancestor[u] = ancestor[a]
			v = u
		}
		return label[v]
	}
	for w := n - 1; w >= 2; w-- {
		for _, p := range preds[count[w]:count[w+1]] {
			s := p // not linked yet: its own
			if ancestor[p] != 0 {
				s = semi[least(p)]
			}
			semi[w] = min(semi[w], s)
		}
		ancestor[w] = g.parent[w]
	}
	g.idom = make([]uint32, n)
	copy(g.idom, g.parent)
	for w := 2; w < n; w++ {
		for g.idom[w] > semi[w] {
			g.idom[w] = g.idom[g.idom[w]]
		}
	}
}

// holds returns how many bytes each reachable node holds alone, by number, its own with them.
func (h *Heap) holds() []uint64 {
	if h.retains != nil {
		return h.retains
	}
	h.retains = make([]uint64, len(h.order))
	for v := len(h.order) - 1; v >= 1; v-- {
		if slot, ok := h.slot(h.order[v]); ok {
			s, _ := h.spanOf(slot)
			h.retains[v] += s.elem
		}
		if v > 1 {
			h.retains[h.idom[v]] += h.retains[v]
		}
	}
	return h.retains
}
