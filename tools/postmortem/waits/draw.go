package waits

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The graph as a picture: a box is a goroutine, or several that wait alike, an arrow leads to who
// has to go on first, with what is waited for beside it. The boxes stand below each other, those of
// the findings first, and arrows bow out at their right side: the further the way, the wider.

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
	boxStep  = 100.0
	margin   = 10.0
)

// WriteSVG writes the graph as a picture that needs nothing else.
func (g *Graph) WriteSVG(w io.Writer) error {
	p := g.picture()
	wide, far, label := 0, 0, 0
	for _, x := range p.boxes {
		for _, l := range x.lines {
			wide = max(wide, len([]rune(l)))
		}
	}
	for _, a := range p.arrows {
		far, label = max(far, a.from-a.to, a.to-a.from), max(label, len([]rune(a.text)))
	}
	right := float64(wide)*letter + 3*margin // of the boxes
	width, height := right+bow(far)+float64(label)*letter+4*margin,
		float64(len(p.boxes))*boxStep+2*margin
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" `+
			`font-family="sans-serif" font-size="12" role="img">`+"\n<title>who waits for whom</title>\n",
		width, height, width, height)
	for _, a := range p.arrows {
		color, dash := "#555", ""
		if !a.strong {
			dash = ` stroke-dasharray="5 4"`
		}
		if p.boxes[a.from].bad && p.boxes[a.to].bad {
			color = "#b00"
		}
		// It leaves a box above the middle and comes to one below it.
		from, to := middle(a.from)-8, middle(a.to)+8
		at := right + 2*bow(max(a.from-a.to, a.to-a.from))
		fmt.Fprintf(&b,
			`<path d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" stroke="%s"%s/>`+"\n",
			right, from, at, from, at, to, right, to, color, dash)
		fmt.Fprintf(&b, `<path d="M%.1f %.1f l9 -4 v8 Z" fill="%s"/>`+"\n", right, to, color)
		text(&b, right+0.75*(at-right)+4, (from+to)/2+4, color, a.text)
	}
	for i, x := range p.boxes {
		color, fill, round := "#555", "#fff", 4
		if x.bad {
			color, fill = "#b00", "#fff4f2"
		}
		if x.object {
			round = 20
		}
		high := float64(len(x.lines))*lineStep + 2*margin
		top := middle(i) - high/2
		fmt.Fprintf(&b,
			`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%d" fill="%s" stroke="%s"/>`+"\n",
			margin, top, right-margin, high, round, fill, color)
		for n, l := range x.lines {
			text(&b, 2*margin, top+margin+lineStep*(float64(n)+0.75), "#111", l)
		}
	}
	if p.left > 0 {
		text(&b, margin, height-8, "#111", plural(p.left, "box")+" not drawn")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// middle is the height of a box's middle.
func middle(i int) float64 { return (float64(i)+0.5)*boxStep + margin }

// bow is how far the bend of an arrow is from the boxes that leads n of them further.
func bow(n int) float64 { return 40 + 25*float64(n) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// text writes text, made fit for XML, whatever a name of the core holds.
func text(b *strings.Builder, x, y float64, color, s string) {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
			r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, s)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", x, y, color, escaper.Replace(s))
}
