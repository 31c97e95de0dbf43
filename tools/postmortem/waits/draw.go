package waits

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The graph as a picture: a box is a goroutine, or several that wait alike; an arrow leads to what
// it waits for, and on to who has to go on first. Those of the findings come first.

// maxBoxes bounds how many boxes are drawn; those of the findings come first.
const maxBoxes = 60

type box struct {
	lines  []string
	bad    bool // of a finding
	object bool // what nobody serves
}

type arrow struct {
	from, to int
	text     string
	strong   bool
}

type picture struct {
	boxes  []*box
	arrows []arrow
	left   int // boxes that are not drawn
}

// picture chooses what is drawn.
func (g *Graph) picture() *picture {
	p := &picture{}
	bad, aimed, of := make(map[int64]bool), make(map[int64]bool), make(map[int64]int)
	for _, f := range g.Findings {
		for _, id := range f.Goroutines {
			bad[id] = true
		}
	}
	for _, x := range g.Goroutines {
		for _, e := range g.edges(x) {
			aimed[e.to.ID], aimed[x.ID] = true, true
		}
	}
	var named, others [][]*Goroutine
	for _, group := range g.alike() {
		if !slices.ContainsFunc(group, func(x *Goroutine) bool { return bad[x.ID] }) {
			others = append(others, group)
			continue
		}
		for _, x := range group { // in a ring each has a box of its own
			named = append(named, []*Goroutine{x})
		}
	}
	for _, group := range named {
		p.add(group, bad[group[0].ID], of)
	}
	for _, group := range others {
		if aimed[group[0].ID] {
			p.add(group, false, of)
		}
	}
	for _, x := range g.Goroutines {
		if from, ok := of[x.ID]; ok {
			p.lead(g, x, from, of, bad[x.ID])
		}
	}
	return p
}

// add draws a box of goroutines, and notes its number.
func (p *picture) add(group []*Goroutine, bad bool, of map[int64]int) {
	if len(p.boxes) >= maxBoxes {
		p.left++
		return
	}
	x := group[0]
	title := fmt.Sprintf("goroutine %d", x.ID)
	if len(group) > 1 {
		title = plural(len(group), "goroutine")
	}
	b := &box{lines: []string{title, x.name()}, bad: bad}
	if _, line, ok := strings.Cut(x.At, " "); ok {
		b.lines = append(b.lines, line)
	}
	for _, y := range group {
		of[y.ID] = len(p.boxes)
	}
	p.boxes = append(p.boxes, b)
}

// lead draws the arrows from a goroutine's box, and what one waits for who waits for nobody.
func (p *picture) lead(g *Graph, x *Goroutine, from int, of map[int64]int, bad bool) {
	edges := g.edges(x)
	for _, e := range edges {
		to, ok := of[e.to.ID]
		if ok && !slices.ContainsFunc(p.arrows, func(a arrow) bool {
			return a.from == from &&
				a.to == to
		}) {
			p.arrows = append(p.arrows, arrow{from, to, e.object.short(), e.strong})
		}
	}
	if len(edges) == 0 && x.Wait != nil && bad {
		p.arrows = append(p.arrows, arrow{from, len(p.boxes), "", true})
		p.boxes = append(p.boxes, &box{object: true, bad: true, lines: []string{x.Wait.short()}})
	}
}

// WriteDOT writes the graph for Graphviz.
func (g *Graph) WriteDOT(w io.Writer) error {
	p := g.picture()
	var b strings.Builder
	b.WriteString(
		"digraph waits {\n\tnode [shape=box, fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\"];\n")
	for i, x := range p.boxes {
		fmt.Fprintf(&b, "\tn%d [label=%q", i, strings.Join(x.lines, "\n"))
		if x.object {
			b.WriteString(", shape=ellipse")
		}
		if x.bad {
			b.WriteString(", color=red")
		}
		b.WriteString("];\n")
	}
	for _, a := range p.arrows {
		style := ""
		if !a.strong {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "\tn%d -> n%d [label=%q%s];\n", a.from, a.to, a.text, style)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// The measures of the picture, in pixels. Letters are taken to be as wide as in the common fonts.
const (
	letter   = 7.2
	lineStep = 16.0
	space    = 18.0 // between boxes that stand below each other
	margin   = 10.0
	lane     = 110.0 // between the columns, for the arrows
)

// A placed box is one of the picture's, or something that is waited for.
type placed struct {
	box
	top, high float64
}

func (b *placed) middle() float64 { return b.top + b.high/2 }

// A line leads from a goroutine on the left to what it waits for on the right, or back to who has
// to go on first.
type line struct {
	left, right  *placed
	back, strong bool
}

// drawing has the goroutines in the left column, and what is waited for in the right one. So no
// arrow, which all lie between the columns, crosses a box or a text.
type drawing struct {
	columns [2][]*placed
	lines   []line
}

// drawn lays a picture out.
func (p *picture) drawn() *drawing {
	d := new(drawing)
	at := make([]*placed, len(p.boxes))
	objects := make(map[string]*placed)
	object := func(text string, bad bool) *placed {
		o := objects[text]
		if o == nil {
			o = &placed{box: box{lines: []string{text}, object: true}}
			objects[text] = o
			d.columns[1] = append(d.columns[1], o)
		}
		o.bad = o.bad || bad
		return o
	}
	for i, x := range p.boxes {
		if at[i] = (&placed{box: *x}); !x.object {
			d.columns[0] = append(d.columns[0], at[i])
		}
	}
	add := func(l line) {
		if !slices.Contains(d.lines, l) {
			d.lines = append(d.lines, l)
		}
	}
	for _, a := range p.arrows {
		from, to := at[a.from], at[a.to]
		if to.object {
			add(line{from, object(to.lines[0], to.bad), false, true})
			continue
		}
		o := object(a.text, from.bad && to.bad)
		add(line{from, o, false, true})
		add(line{to, o, true, a.strong})
	}
	stack(d.columns[0])
	for _, o := range d.columns[1] { // beside those that it has to do with
		sum, n := 0.0, 0.0
		for _, l := range d.lines {
			if l.right == o {
				sum, n = sum+l.left.middle(), n+1
			}
		}
		o.top = sum / max(n, 1)
	}
	slices.SortStableFunc(d.columns[1], func(a, b *placed) int { return cmp.Compare(a.top, b.top) })
	stack(d.columns[1])
	return d
}

// stack places boxes below each other, no higher than their tops are.
func stack(boxes []*placed) {
	y := margin
	for _, b := range boxes {
		b.high = float64(len(b.lines))*lineStep + 2*margin
		b.top = max(y, b.top-b.high/2)
		y = b.top + b.high + space
	}
}

// style has the colours, for a light and a dark background. A picture that is a page by itself gets
// as wide as the window; one within a page is scrolled.
const style = `<style>
svg:root{max-width:100%;height:auto;background:#fff}
.w-back{fill:#fff}.w-box{fill:#fff;stroke:#555}.w-bad{fill:#fff4f2;stroke:#b00}.w-text{fill:#111}
.w-line{fill:none;stroke:#555}.w-badline{fill:none;stroke:#b00}.w-head{fill:#555}.w-badhead{fill:#b00}
@media (prefers-color-scheme:dark){
svg:root{background:#181818}
.w-back{fill:#181818}.w-box{fill:#222;stroke:#aaa}.w-bad{fill:#3a1a1a;stroke:#f77}.w-text{fill:#eee}
.w-line{stroke:#aaa}.w-badline{stroke:#f77}.w-head{fill:#aaa}.w-badhead{fill:#f77}}
</style>
`

// WriteSVG writes the graph as a picture that needs nothing else.
func (g *Graph) WriteSVG(w io.Writer) error {
	p := g.picture()
	d := p.drawn()
	const said = "left to right: waits for; back: who has to go on first (dashed: one of them)"
	var wide [2]float64
	bottom := margin
	for i, column := range d.columns {
		for _, x := range column {
			for _, l := range x.lines {
				wide[i] = max(wide[i], float64(len([]rune(l)))*letter+2*margin)
			}
			bottom = max(bottom, x.top+x.high+space)
		}
	}
	right := [2]float64{margin, margin + wide[0] + lane}
	width := max(right[1]+wide[1], float64(len(said))*letter*0.9) + margin
	height := bottom + lineStep
	if p.left > 0 {
		height += lineStep
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" `+
			`font-family="sans-serif" font-size="12" role="img">`+
			"\n<title>who waits for whom</title>\n%s"+
			`<rect width="100%%" height="100%%" class="w-back"/>`+"\n", width, height, width, height, style)
	for _, l := range d.lines {
		l.draw(&b, right[0]+wide[0], right[1])
	}
	for i, column := range d.columns {
		for _, x := range column {
			x.draw(&b, right[i], wide[i])
		}
	}
	text(&b, margin, bottom+8, said)
	if p.left > 0 {
		text(&b, margin, bottom+8+lineStep, plural(p.left, "box")+" not drawn")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// draw draws a box at x.
func (b *placed) draw(to *strings.Builder, x, wide float64) {
	class, round := "w-box", 4
	if b.bad {
		class = "w-bad"
	}
	if b.object {
		round = 18
	}
	fmt.Fprintf(to, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%d" class="%s"/>`+"\n",
		x, b.top, wide, b.high, round, class)
	for n, l := range b.lines {
		text(to, x+margin, b.top+margin+lineStep*(float64(n)+0.75), l)
	}
}

// draw draws a line between the columns, which end and begin at left and right, with the point of
// its arrow.
func (l line) draw(b *strings.Builder, left, right float64) {
	class, dash := "w-", ""
	if l.left.bad && l.right.bad {
		class = "w-bad"
	}
	if !l.strong {
		dash = ` stroke-dasharray="5 4"`
	}
	from, to, y1, y2, point := left, right-8, l.left.middle()-7, l.right.middle()-5, 8.0
	if l.back {
		from, to, y1, y2, point = right, left+8, l.right.middle()+5, l.left.middle()+7, -8
	}
	half := (from + to) / 2
	fmt.Fprintf(b, `<path d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" class="%sline"%s/>`+"\n",
		from, y1, half, y1, half, y2, to, y2, class, dash)
	fmt.Fprintf(b, `<path d="M%.1f %.1f v-4 l%.1f 4 l%.1f 4 Z" class="%shead"/>`+"\n",
		to, y2, point, -point, class)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// text writes text, made fit for XML, whatever a name of the core holds.
func text(b *strings.Builder, x, y float64, s string) {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
			r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, s)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" class="w-text">%s</text>`+"\n", x, y, escaper.Replace(s))
}
