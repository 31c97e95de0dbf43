package code

// An Image is the code of a program: its executable bytes and where its
// functions are. Nothing of it is believed: the functions may overlap, lie
// outside of the code or be as long as it is, and every walk over instructions
// has a limit.

import (
	"cmp"
	"slices"
	"sort"
)

// Segment is a run of executable bytes.
type Segment struct {
	Addr  uint64
	Bytes []byte
}

// end returns the address behind the segment. No segment of an Image wraps
// around the end of the address space.
func (s *Segment) end() uint64 { return s.Addr + uint64(len(s.Bytes)) }

// Func is a function: Start <= pc < End. The filling behind it may belong to it.
type Func struct {
	Start, End uint64
	Name       string
}

// Holds reports whether the function has the address.
func (f *Func) Holds(addr uint64) bool { return addr-f.Start < f.End-f.Start }

// Image is the code of a program. Its methods may be called from several
// goroutines at once. Context: host.
type Image struct {
	segs  []Segment // sorted, without overlaps
	funcs []Func    // sorted by Start, one for each Start, without overlaps
}

// maxFunc is how many bytes of one function are decoded at most. The longest
// functions of generated code have a few hundred kilobytes.
const maxFunc = 1 << 20

// NewImage returns an Image of these segments and functions. Both may come in any
// order; segments that overlap another one, and functions that are empty or not in
// a segment, are left out. A function ends where the next one starts at the latest.
func NewImage(segs []Segment, funcs []Func) *Image {
	m := &Image{}
	segs = slices.Clone(segs)
	slices.SortStableFunc(segs, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, s := range segs {
		if len(s.Bytes) == 0 || s.end() < s.Addr || len(m.segs) > 0 &&
			s.Addr < m.segs[len(m.segs)-1].end() {
			continue
		}
		m.segs = append(m.segs, s)
	}
	m.setFuncs(slices.Clone(funcs))
	return m
}

// setFuncs takes the functions over.
func (m *Image) setFuncs(funcs []Func) {
	slices.SortStableFunc(funcs, func(a, b Func) int {
		// Of two with the same start the longer one first.
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	m.funcs = funcs[:0]
	for _, f := range funcs {
		s := m.segment(f.Start)
		if s == nil || f.End <= f.Start {
			continue
		}
		f.End = min(f.End, s.end())
		if n := len(m.funcs); n > 0 {
			last := &m.funcs[n-1]
			if last.Start == f.Start {
				continue
			}
			last.End = min(last.End, f.Start)
		}
		m.funcs = append(m.funcs, f)
	}
}

// Funcs returns the functions, sorted. The caller must not change them.
func (m *Image) Funcs() []Func { return m.funcs }

// Func returns the function that has the address, nil if there is none.
func (m *Image) Func(addr uint64) *Func {
	if i := m.index(addr); i >= 0 {
		return &m.funcs[i]
	}
	return nil
}

// index returns the index of the function that has the address, or -1.
func (m *Image) index(addr uint64) int {
	i := sort.Search(len(m.funcs), func(i int) bool { return m.funcs[i].Start > addr }) - 1
	if i >= 0 && m.funcs[i].Holds(addr) {
		return i
	}
	return -1
}

// segment returns the segment that has the address, nil if there is none.
func (m *Image) segment(addr uint64) *Segment {
	i := sort.Search(len(m.segs), func(i int) bool { return m.segs[i].Addr > addr }) - 1
	if i >= 0 && addr-m.segs[i].Addr < uint64(len(m.segs[i].Bytes)) {
		return &m.segs[i]
	}
	return nil
}

// IsText reports whether the address is in the code.
func (m *Image) IsText(addr uint64) bool { return m.segment(addr) != nil }

// bytes returns the code from lo up to hi, as far as it is in one segment.
func (m *Image) bytes(lo, hi uint64) []byte {
	s := m.segment(lo)
	if s == nil || hi <= lo {
		return nil
	}
	return s.Bytes[lo-s.Addr : min(hi, s.end())-s.Addr]
}

// Insts calls yield for each instruction of the function, in the order of their
// addresses, until it returns false. Bytes that are no instruction come one by
// one, as Bad. Of a function longer than a megabyte the rest is left out, and
// whole is false.
func (m *Image) Insts(f *Func, yield func(pc uint64, i Inst) bool) (whole bool) {
	b := m.bytes(f.Start, f.End)
	whole = len(b) <= maxFunc
	b = b[:min(len(b), maxFunc)]
	for n := 0; n < len(b); {
		i := Decode(b[n:])
		if !yield(f.Start+uint64(n), i) {
			return true
		}
		n += i.Len
	}
	return whole
}
