// What has been learned of compressed debug information by unfolding it all, for who asks
// next: it spares them that.

package dwarf

import (
	"slices"

	"github.com/zeroframe/zeroframe/tools/elf"
)

// An Outline is where the unfolding of debug sections can begin, and which unit has which
// addresses.
type Outline struct {
	Sections []OutlineSection
	Units    []uint64       // offsets of all units' headers, rising
	Ranges   []OutlineRange // what the units have, in no order
}

// An OutlineSection is a section of an outline: its place among the names of debug sections, and
// its points. Window returns the window of the i'th of them.
type OutlineSection struct {
	Number int
	Points []elf.Point
	Window func(i int) ([]byte, error)
}

// An OutlineRange is a piece of text that belongs to the unit at offset Base.
type OutlineRange struct {
	elf.Span
	Base uint64
}

// Outline returns the outline of d. It is nil if .debug_info was not compressed by zlib, or came
// by an outline itself.
func (d *Data) Outline() *Outline {
	if d.info.Points() == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readRanges()
	o := &Outline{Units: d.allUnits()}
	for i, s := range d.sections() {
		c := *s.to
		if points := c.Points(); points != nil {
			o.Sections = append(o.Sections, OutlineSection{i, points, func(i int) ([]byte, error) { return c.Window(points[i]), nil }})
		}
	}
	for _, r := range d.index.ranges {
		o.Ranges = append(o.Ranges, OutlineRange{r.Span, r.base})
	}
	return o
}

// ByOutline reports whether d is read by an outline.
func (d *Data) ByOutline() bool { return d.byOutline }

// use takes over what the outline says of units, if .debug_info is read by it.
func (d *Data) use(o *Outline) {
	if d.byOutline = d.info.Folded(); !d.byOutline {
		return
	}
	d.basesOnce.Do(func() {
		d.unitBases = slices.DeleteFunc(o.Units, func(at uint64) bool { return at >= d.info.Size })
	})
	d.index.ranges, d.index.read = make([]unitRange, 0, len(o.Ranges)), true
	for _, r := range o.Ranges {
		if r.Base < d.info.Size && r.Low < r.High {
			d.index.ranges = append(d.index.ranges, unitRange{r.Span, r.Base})
		}
	}
	if d.zero != nil {
		d.zero.settle(d.index.ranges)
	}
}

// contents is DebugContents by the outline, as far as it has the section with this number.
func (o *Outline) contents(f *elf.File, number int, name string) (*elf.Contents, error) {
	if o != nil {
		for _, s := range o.Sections {
			if s.Number == number {
				if c := f.FoldedContents(name, s.Points, s.Window); c != nil {
					return c, nil
				}
			}
		}
	}
	return f.DebugContents(name)
}

// Unfolded returns how many bytes of compressed debug sections were unfolded.
func (d *Data) Unfolded() (n int) {
	for _, s := range d.sections() {
		n += (*s.to).Unfolded()
	}
	return n
}
