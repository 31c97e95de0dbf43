package heap

// What is shown: types by bytes, holders by what would be free without them, and of one object
// who points to it, back to a root.

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// Row is the objects of one type. Host.
type Row struct {
	Type        string `json:"type"`
	Known       bool   `json:"known"` // else the type is not certain, and its name says so
	Bytes       uint64 `json:"bytes"`
	Count       uint64 `json:"count"`
	Unreachable bool   `json:"unreachable,omitempty"` // not swept yet
}

// Holder is a root or an object that holds others alone. Host.
type Holder struct {
	Address inspect.Hex `json:"address,omitempty"` // of an object
	Name    string      `json:"name"`
	Bytes   uint64      `json:"bytes"` // its own, 0 for a root
	Holds   uint64      `json:"holds"` // with its own: what would be free without it
	In      string      `json:"in,omitempty"`
}

// Rows returns the types, the most bytes first; the unreachable ones have rows of their own.
// Host.
func (h *Heap) Rows() []Row {
	h.Types()
	type key struct {
		name string
		dead bool
	}
	at := map[key]int{}
	var rows []Row
	h.objects(func(s *span, _ uint64, slot uint32) {
		k := key{h.typeOf(slot), h.number[h.node(slot)] == 0}
		i, ok := at[k]
		if !ok {
			i = len(rows)
			at[k] = i
			rows = append(rows, Row{Type: k.name, Known: k.name[:1] != Unknown, Unreachable: k.dead})
		}
		rows[i].Bytes += s.elem
		rows[i].Count++
	})
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Type, b.Type))
	})
	return rows
}

// Holders returns the n roots and objects that hold the most. Of a list, whose links hold each
// other, the first link stands for all. Host.
func (h *Heap) Holders(n int) (all []Holder) {
	h.Types()
	holds := h.holds()
	numbers := make([]uint32, 0, len(h.order))
	for v := 2; v < len(h.order); v++ {
		numbers = append(numbers, uint32(v))
	}
	slices.SortFunc(numbers, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(holds[b], holds[a]), cmp.Compare(a, b))
	})
	for _, v := range numbers {
		if len(all) == n || holds[v] == 0 {
			break
		}
		x := h.holder(v)
		if up := h.idom[v]; up > 1 {
			in := h.holder(up)
			if in.Address != 0 && in.Name == x.Name {
				continue
			}
			x.In = in.Name
		}
		all = append(all, x)
	}
	return all
}

func (h *Heap) holder(v uint32) Holder {
	node := h.order[v]
	slot, ok := h.slot(node)
	if !ok {
		return Holder{Name: h.roots[node-1].Name, Holds: h.holds()[v]}
	}
	s, _ := h.spanOf(slot)
	return Holder{Address: inspect.Hex(h.address(slot)), Name: h.typeOf(slot), Bytes: s.elem,
		Holds: h.holds()[v]}
}

// Object is one object, and who points to it. Host.
type Object struct {
	Address   inspect.Hex `json:"address"`
	Type      string      `json:"type"`
	Bytes     uint64      `json:"bytes"`
	Reachable bool        `json:"reachable"`
	Holds     uint64      `json:"holds"` // what would be free without it
	// Path leads from a root to the object; Referrers are all that point to it, at most
	// maxReferrers.
	Path      []Holder `json:"path"`
	Referrers []Holder `json:"referrers"`
}

const maxReferrers = 100

// Object returns the object that an address is in. Host.
func (h *Heap) Object(addr uint64) (*Object, error) {
	h.Types()
	slot, _, ok := h.find(addr)
	if !ok {
		return nil, fmt.Errorf("%#x is in no object of the heap", addr)
	}
	s, _ := h.spanOf(slot)
	node := h.node(slot)
	o := &Object{Address: inspect.Hex(h.address(slot)), Type: h.typeOf(slot), Bytes: s.elem}
	name := func(n uint32) Holder {
		if v := h.number[n]; v != 0 {
			return h.holder(v)
		}
		k, _ := h.slot(n)
		ks, _ := h.spanOf(k)
		return Holder{Address: inspect.Hex(h.address(k)), Name: h.typeOf(k) + " (unreachable)",
			Bytes: ks.elem}
	}
	back := map[uint32]uint32{} // node -> the one through which the shortest way comes
	if v := h.number[node]; v != 0 {
		o.Reachable, o.Holds = true, h.holds()[v]
		queue := []uint32{0}
		back[0] = 0
	search:
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			for _, to := range h.edges(n) {
				if _, ok := back[to]; ok {
					continue
				}
				back[to] = n
				if to == node {
					break search
				}
				queue = append(queue, to)
			}
		}
		for n := node; n != 0; n = back[n] {
			o.Path = append(o.Path, name(n))
		}
		slices.Reverse(o.Path)
	}
	for n := uint32(1); int(n) < len(h.from)-1 && len(o.Referrers) < maxReferrers; n++ {
		if slices.Contains(h.edges(n), node) {
			o.Referrers = append(o.Referrers, name(n))
		}
	}
	return o, nil
}

// Summary says how much there is. Host.
func (h *Heap) Summary() string {
	s := fmt.Sprintf(
		"%d bytes in %d objects, of them %d bytes in %d unreachable and not swept yet; the runtime counts %d bytes",
		h.Bytes, h.Objects, h.Bytes-h.ReachableBytes, h.Objects-h.ReachableObjects, h.RuntimeBytes)
	for _, n := range h.Notes {
		s += "\n" + n
	}
	return s
}

// WriteRows shows n types. Host.
func (h *Heap) WriteRows(w io.Writer, n int) error {
	rows := h.Rows()
	fmt.Fprintln(w, h.Summary())
	fmt.Fprintf(w, "\n%12s %6s %10s  %s\n", "bytes", "share", "objects", "type")
	for i, r := range rows {
		if i == n {
			_, err := fmt.Fprintf(w, "%d more types; -n shows more\n", len(rows)-n)
			return err
		}
		name := terminal.Clean(r.Type)
		if r.Unreachable {
			name += " (unreachable)"
		}
		if _, err := fmt.Fprintf(w, "%12d %5.1f%% %10d  %s\n", r.Bytes,
			100*float64(r.Bytes)/float64(max(h.Bytes, 1)), r.Count, name); err != nil {
			return err
		}
	}
	return nil
}

// WriteHolders shows n holders. Host.
func (h *Heap) WriteHolders(w io.Writer, n int) error {
	fmt.Fprintln(w, h.Summary())
	fmt.Fprintf(w, "\n%12s %6s %12s  %s\n", "holds", "share", "own bytes", "what")
	for _, x := range h.Holders(n) {
		if _, err := fmt.Fprintf(w, "%12d %5.1f%% %12d  %s\n", x.Holds,
			100*float64(x.Holds)/float64(max(h.Bytes, 1)), x.Bytes, x.line()); err != nil {
			return err
		}
	}
	return nil
}

func (x Holder) line() string {
	s := terminal.Clean(x.Name)
	if x.Address != 0 {
		s += fmt.Sprintf(" %#x", uint64(x.Address))
	}
	if x.In != "" {
		s += " in " + terminal.Clean(x.In)
	}
	return s
}

// Write shows an object. Host.
func (o *Object) Write(w io.Writer) error {
	fmt.Fprintf(w, "%#x: %s, %d bytes; without it %d bytes would be free\n", uint64(o.Address),
		terminal.Clean(o.Type), o.Bytes, o.Holds)
	if o.Reachable {
		fmt.Fprintln(w, "\nfrom a root:")
	} else {
		fmt.Fprintln(w, "it is unreachable, and not swept yet")
	}
	for _, x := range o.Path {
		fmt.Fprintf(w, "  %s\n", x.line())
	}
	fmt.Fprintf(w, "\npointed to by:\n")
	for _, x := range o.Referrers {
		fmt.Fprintf(w, "  %s\n", x.line())
	}
	var err error
	if len(o.Referrers) == 0 {
		_, err = fmt.Fprintln(w, "  nothing")
	} else if len(o.Referrers) == maxReferrers {
		_, err = fmt.Fprintln(w, "  and perhaps more")
	}
	return err
}

// WriteJSON writes one object a line: first the sums, then the types. Host.
func (h *Heap) WriteJSON(w io.Writer) error {
	all := []any{map[string]any{
		"bytes": h.Bytes, "objects": h.Objects, "reachable_bytes": h.ReachableBytes,
		"reachable_objects": h.ReachableObjects,
		"runtime_bytes":     h.RuntimeBytes, "notes": h.Notes,
	}}
	for _, r := range h.Rows() {
		all = append(all, r)
	}
	return inspect.WriteJSON(w, all)
}
