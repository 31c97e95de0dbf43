package heap

// A type that was said of an object is certain if the object is just what the allocator makes
// for it: the type's size, rounded up to a size class, is the object's, and its pointers lie
// where the collector's bitmap has them. A pointer to the first field of a larger struct does
// not pass, unless there is no difference. What a header says is certain in any case. If more
// than one type passes, or none does, the name says so: it begins with a question mark.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// Unknown is what the name of an object begins with whose type is not certain. Host.
const Unknown = "?"

// tinySize is the size of a block in which the runtime puts small values without pointers
// together.
const tinySize = 16

// typeOf returns the name of an object's type. Host.
func (h *Heap) typeOf(slot uint32) string {
	s, n := h.spanOf(slot)
	claims := h.said[slot]
	r, start := h.header(s, n)
	if r != nil {
		for _, c := range claims {
			if c.known && c.off == start {
				if h.fits(s, start+r.size) {
					return typeName(c.t)
				}
				return "[]" + typeName(c.t)
			}
		}
	}
	var names []string
	text, tiny, begins := false, false, ""
	largest := uint64(0)
	for _, c := range claims {
		name := c.name
		if c.t != nil {
			name = typeName(c.t)
			if c.count > 1 {
				name = "[]" + name
			}
		}
		if s.noscan && s.elem == tinySize && (c.off != 0 || c.size < tinySize) {
			tiny = true
		}
		if c.off != start {
			continue
		}
		switch {
		case strings.HasPrefix(c.name, "func "), strings.HasPrefix(name, "hchan<"):
			// The code's address, or the runtime's channel, whose buffer may lie behind it.
		case c.t == nil:
			text = text || h.fits(s, c.size) || s.noscan
			continue
		case !h.fits(s, start+c.size) || !h.agrees(s, n, &c):
			if c.size > largest {
				largest, begins = c.size, name
			}
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case tiny:
		return "tiny block"
	case len(names) == 1:
		return names[0]
	case len(names) > 1:
		slices.Sort(names)
		return Unknown + " " + strings.Join(names[:min(len(names), 3)], " or ")
	case text:
		return "string data"
	}
	return s.nameless(begins)
}

// nameless is the name of an object whose type is not known; begins is that of its first bytes, if
// it is.
func (s *span) nameless(begins string) string {
	what := "with pointers"
	if s.noscan {
		what = "without pointers"
	}
	name := fmt.Sprintf("%s %d bytes %s", Unknown, s.elem, what)
	if begins != "" {
		name += ", beginning with " + begins
	}
	return name
}

// fits reports whether the allocator makes an object of the span's size for a value of n bytes.
func (h *Heap) fits(s *span, n uint64) bool {
	if n > s.elem || n == 0 {
		return false
	}
	if !s.small {
		return (n+pageSize-1)/pageSize*pageSize == s.elem
	}
	i, ok := slices.BinarySearch(h.classes, n)
	if !ok && i == len(h.classes) {
		return false
	}
	return h.classes[i] == s.elem
}

// agrees reports whether the pointers of a claim's type are the collector's.
func (h *Heap) agrees(s *span, n uint64, c *claim) bool {
	if s.noscan {
		return !hasPointers(c.t, 0)
	}
	if s.elem > maxHeaderless || s.content == nil {
		return hasPointers(c.t, 0)
	}
	var want [maxHeaderless / 8]bool
	size := uint64(c.t.Size())
	for k := range c.count {
		pointerWords(c.t, c.off+k*size, 0, func(off uint64) {
			if off/8 < uint64(len(want)) {
				want[off/8] = true
			}
		})
	}
	is := h.isPointer(s, n)
	for w := range s.elem / 8 {
		if want[w] != is(w) {
			return false
		}
	}
	return true
}

// hasPointers reports whether the collector looks at a value of the type.
func hasPointers(t godwarf.Type, depth int) (has bool) {
	pointerWords(t, 0, depth, func(uint64) { has = true })
	return has
}

// pointerWords calls f with the offset of each pointer of a type, as the compiler's bitmap has
// them: the first word of an interface is none, nor is a pointer to what is not in the heap.
func pointerWords(t godwarf.Type, off uint64, depth int, f func(off uint64)) {
	if t == nil || depth > maxDepth {
		return
	}
	switch u := t.(type) {
	case *godwarf.InterfaceType:
		f(off + 8)
		return
	case *godwarf.ChanType, *godwarf.MapType, *godwarf.FuncType:
		f(off)
		return
	case *godwarf.TypedefType:
		pointerWords(u.Type, off, depth+1, f)
		return
	}
	switch u := inspect.Plain(t).(type) {
	case *godwarf.PtrType:
		if !notInHeap(u.Type, 0) {
			f(off)
		}
	case *godwarf.StringType, *godwarf.SliceType, *godwarf.FuncType:
		f(off)
	case *godwarf.ArrayType:
		if u.Count <= 0 || u.Type == nil || !hasPointers(u.Type, depth+1) {
			return
		}
		for k := range min(uint64(u.Count), 1<<16) {
			pointerWords(u.Type, off+k*uint64(u.Type.Size()), depth+1, f)
		}
	case *godwarf.StructType:
		for _, m := range u.Field {
			pointerWords(m.Type, off+uint64(m.ByteOffset), depth+1, f)
		}
	}
}

// notInHeap reports whether a type is marked by sys.NotInHeap, so that pointers to it are none
// for the collector.
func notInHeap(t godwarf.Type, depth int) bool {
	if t == nil || depth > maxDepth {
		return false
	}
	if strings.HasSuffix(typeName(t), "/sys.NotInHeap") || strings.HasSuffix(typeName(t), "/sys.nih") {
		return true
	}
	switch u := inspect.Plain(t).(type) {
	case *godwarf.StructType:
		for _, m := range u.Field {
			if _, pointer := inspect.Plain(m.Type).(*godwarf.PtrType); !pointer &&
				notInHeap(m.Type, depth+1) {
				return true
			}
		}
	case *godwarf.ArrayType:
		return notInHeap(u.Type, depth+1)
	}
	return false
}
