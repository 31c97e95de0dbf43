package heap

// What has the most of a heap, at a cost that does not grow with its objects: nobody asks who
// points to whom, and types flow to so many objects and not to more. Of the objects of one size,
// those are a sample.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// mostClaims is how many things are said of objects for [Most].
const mostClaims = 1 << 18

// Of the largest parts of a heap these are told.
const (
	mostParts = 3
	leastPart = 1 << 20 // bytes
	leastOf   = 20      // and the heap's part
)

// maxSmall is the largest object that has a size class.
const maxSmall = 32 << 10

// size is what the objects of one size have in common.
type size struct {
	bytes  uint64 // of each; of those without a class, the largest class
	noscan bool   // without pointers
}

// objects names them.
func (s size) objects(n, most uint64) string {
	what := "objects"
	if n == 1 {
		what = "object"
	}
	switch {
	case s.bytes > maxSmall && n == 1:
		what += fmt.Sprintf(" of %d KiB", most>>10)
	case s.bytes > maxSmall:
		what += fmt.Sprintf(" of up to %d KiB", most>>10)
	default:
		what += fmt.Sprintf(" of %d bytes", s.bytes)
	}
	if s.noscan {
		what += " without pointers"
	}
	return what
}

// part is a part of a heap: some objects of one type, or of one size.
type part struct {
	bytes, count uint64
	what         string
	most         uint64 // the bytes of the largest
}

// sample is the objects of one size, and what is known of some.
type sample struct {
	part
	looked uint64
	names  map[string]*part
}

// Most says in a line what has the most of the heap of a program. Host.
func Most(p *inspect.Program, image string) (string, error) {
	h, err := open(p, image, p.Target().Memory(), mostClaims)
	if errors.Is(err, errTooLarge) {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	if max(h.Bytes, h.manual) < 1<<20 {
		return "", nil // it is not what has the memory
	}
	var told []string
	for _, p := range h.parts() {
		if len(told) < mostParts && p.bytes >= max(leastPart, h.Bytes/leastOf) {
			told = append(told, fmt.Sprintf("%d MiB in %d %s", p.bytes>>20, p.count, p.what))
		}
	}
	line := fmt.Sprintf("the heap has %d MiB", h.Bytes>>20)
	if h.manual > h.Bytes {
		line += fmt.Sprintf(", stacks and the like %d MiB", h.manual>>20)
	}
	if len(told) > 0 {
		line += ": " + strings.Join(told, ", ")
	}
	return line, nil
}

// parts returns the parts of the heap, the largest first.
func (h *Heap) parts() (all []part) {
	sizes := map[size]*sample{}
	h.Types()
	h.objects(func(s *span, n uint64, slot uint32) {
		key := size{min(s.elem, maxSmall+1), s.noscan}
		g := sizes[key]
		if g == nil {
			g = &sample{names: map[string]*part{}}
			sizes[key] = g
		}
		g.add(s.elem)
		if h.said[slot] == nil {
			return
		}
		g.looked++
		name := h.typeOf(slot)
		if strings.HasPrefix(name, Unknown) {
			return
		}
		if g.names[name] == nil {
			g.names[name] = &part{what: terminal.Clean(name)}
		}
		g.names[name].add(s.elem)
	})
	types := map[string]*part{}
	for key, g := range sizes {
		if g.looked < g.count && len(h.queue) > 0 && key.bytes <= maxHeaderless {
			all = append(all, g.sampled(key))
			continue
		}
		for name, p := range g.names {
			if types[name] == nil {
				types[name] = &part{what: p.what}
			}
			types[name].bytes += p.bytes
			types[name].count += p.count
			g.bytes -= p.bytes
			g.count -= p.count
		}
		g.what = key.objects(g.count, g.most) + " whose type cannot be told"
		all = append(all, g.part)
	}
	for _, p := range types {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.what, b.what))
	})
	return all
}

func (p *part) add(bytes uint64) {
	p.bytes += bytes
	p.count++
	p.most = max(p.most, bytes)
}

// sampled is the part of the objects of one size of which some were looked at.
func (g *sample) sampled(key size) part {
	p := g.part
	p.what = key.objects(p.count, p.most)
	var most part
	for _, n := range g.names {
		if n.count > most.count || n.count == most.count && n.what < most.what {
			most = *n
		}
	}
	if most.count > 0 {
		p.what += fmt.Sprintf(" (%d of the %d looked at are %s)", most.count, g.looked, most.what)
	}
	return p
}
