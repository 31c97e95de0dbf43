package heap

// As a profile, the heap is stacks of holders: a root, then the types on the way along the
// dominators. So a flame graph shows under each root what would be free without it.

import (
	"strings"

	"github.com/google/pprof/profile"
)

// maxProfileDepth is how many types are on a way; what is deeper counts for the last.
const maxProfileDepth = 64

// Profile returns the heap as a profile with the values objects and bytes. Objects of the same
// type in a row, such as the links of a list, are one frame. Host.
func (h *Heap) Profile() *profile.Profile {
	h.Types()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "objects", Unit: "count"},
			{Type: "space", Unit: "bytes"}},
		DefaultSampleType: "space",
		PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 1,
	}
	locations := map[string]*profile.Location{}
	location := func(name string) *profile.Location {
		l := locations[name]
		if l == nil {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
			p.Function = append(p.Function, f)
			l = &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f}}}
			p.Location = append(p.Location, l)
			locations[name] = l
		}
		return l
	}
	// A place in the tree is a number; its parent has a lower one.
	type place struct {
		parent int
		name   string
	}
	places, at, depth := []place{{}}, map[place]int{}, []int{0}
	step := func(parent int, name string) int {
		if depth[parent] >= maxProfileDepth || parent > 0 && places[parent].name == name {
			return parent
		}
		k := place{parent, name}
		n, ok := at[k]
		if !ok {
			n = len(places)
			places, depth, at[k] = append(places, k), append(depth, depth[parent]+1), n
		}
		return n
	}
	sums := map[int]*[2]int64{}
	add := func(n int, bytes uint64) {
		if sums[n] == nil {
			sums[n] = new([2]int64)
		}
		sums[n][0]++
		sums[n][1] += int64(bytes)
	}
	in := make([]int, len(h.order)) // number -> place
	for v := 2; v < len(h.order); v++ {
		node := h.order[v]
		up := in[h.idom[v]]
		if slot, ok := h.slot(node); ok {
			s, _ := h.spanOf(slot)
			if h.idom[v] == 1 {
				up = step(0, "[several roots]")
			}
			in[v] = step(up, frameName(h.typeOf(slot)))
			add(in[v], s.elem)
		} else {
			in[v] = step(0, h.roots[node-1].Name)
		}
	}
	dead := step(0, "[unreachable]")
	h.objects(func(s *span, _ uint64, slot uint32) {
		if h.number[h.node(slot)] == 0 {
			add(step(dead, frameName(h.typeOf(slot))), s.elem)
		}
	})
	for n := range places {
		sum := sums[n]
		if sum == nil {
			continue
		}
		s := &profile.Sample{Value: []int64{sum[0], sum[1]}}
		for k := n; k != 0; k = places[k].parent {
			s.Location = append(s.Location, location(places[k].name))
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// frameName puts what is not certain in brackets, as a flame graph has what is no function.
func frameName(name string) string {
	if strings.HasPrefix(name, Unknown) {
		return "[" + name + "]"
	}
	return name
}
