package waits

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// The graph as a picture: a box is a goroutine, or several that wait alike, an arrow leads to who
// has to go on first, with what is waited for beside it. Rings lie on circles below, those who
// wait for them in rows above. What nobody serves is an ellipse.

// maxBoxes bounds how many boxes are drawn; those of the findings come first.
const maxBoxes = 60

type box struct {
	lines  []string
	bad    bool // of a finding
	object bool
	ring   int // of which ring, from 1 on
	row    int
	x, y   float64 // its middle
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
	rings  [][]int
}

// picture chooses what is drawn.
func (g *Graph) picture() *picture {
	p := &picture{}
	bad := make(map[int64]bool)
	for _, f := range g.Findings {
		for _, id := range f.Goroutines {
			bad[id] = true
		}
	}
	of := make(map[int64]int)
	groups := g.alike()
	isBad := func(group []*Goroutine) bool {
		return slices.ContainsFunc(group, func(x *Goroutine) bool { return bad[x.ID] })
	}
	slices.SortStableFunc(groups, func(a, b []*Goroutine) int {
		switch x, y := isBad(a), isBad(b); {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return 0
	})
	aimed := make(map[int64]bool)
	for _, x := range g.Goroutines {
		for _, e := range g.edges(x) {
			aimed[e.to.ID], aimed[x.ID] = true, true
		}
	}
	add := func(group []*Goroutine) {
		if len(p.boxes) >= maxBoxes {
			p.left++
			return
		}
		x := group[0]
		title := fmt.Sprintf("goroutine %d", x.ID)
		if len(group) > 1 {
			title = plural(len(group), "goroutine")
		}
		_, fn, _ := strings.Cut(x.label(), " (")
		b := &box{lines: []string{title, strings.TrimSuffix(fn, ")")}, bad: isBad(group)}
		if _, line, ok := strings.Cut(x.At, " "); ok {
			b.lines = append(b.lines, line)
		}
		for _, y := range group {
			of[y.ID] = len(p.boxes)
		}
		p.boxes = append(p.boxes, b)
	}
	for _, group := range groups {
		// In a ring each has a box of its own.
		if isBad(group) {
			for _, x := range group {
				add([]*Goroutine{x})
			}
		} else if aimed[group[0].ID] {
			add(group)
		}
	}
	for _, x := range g.Goroutines {
		from, ok := of[x.ID]
		if !ok {
			continue
		}
		edges := g.edges(x)
		for _, e := range edges {
			to, ok := of[e.to.ID]
			if ok && !slices.ContainsFunc(p.arrows, func(a arrow) bool { return a.from == from && a.to == to }) {
				p.arrows = append(p.arrows, arrow{from, to, e.object.short(), e.strong})
			}
		}
		if len(edges) == 0 && x.Wait != nil && bad[x.ID] {
			b := &box{object: true, bad: true, lines: []string{x.Wait.short()}}
			p.arrows = append(p.arrows, arrow{from, len(p.boxes), "", true})
			p.boxes = append(p.boxes, b)
		}
	}
	for _, f := range g.Findings {
		if len(f.Goroutines) < 2 {
			continue
		}
		var ring []int
		for _, id := range f.Goroutines {
			if i, ok := of[id]; ok && p.boxes[i].ring == 0 {
				p.boxes[i].ring = len(p.rings) + 1
				ring = append(ring, i)
			}
		}
		p.rings = append(p.rings, ring)
	}
	return p
}

// short names an object for a picture.
func (o *Object) short() string {
	name := o.Name
	if i := strings.Index(name, " of "); i > 0 {
		name = name[:i]
	}
	if name == "" {
		name = fmt.Sprintf("%#x", o.Addr)
	}
	return fmt.Sprintf("%s %s", o.Kind.word(), name)
}

func (k Kind) word() string {
	switch k {
	case RLock, WLock:
		return "RWMutex"
	case WaitGroup:
		return "WaitGroup"
	case Once:
		return "Once"
	case Cond:
		return "Cond"
	case Receive, Send:
		return "channel"
	}
	return string(k)
}

func (w *Wait) short() string {
	switch {
	case w.place || len(w.Objects) == 0 || w.Kind == NilChan:
		return strings.TrimPrefix(w.words(nil), "waits ")
	case w.Select:
		return "select of " + plural(len(w.Objects), "channel")
	}
	s := w.Objects[0].short()
	if st := w.Objects[0].State; st != "" {
		s += ", " + st
	}
	return s
}

// WriteDOT writes the graph for Graphviz.
func (g *Graph) WriteDOT(w io.Writer) error {
	p := g.picture()
	var b strings.Builder
	b.WriteString("digraph waits {\n\tnode [shape=box, fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\"];\n")
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
	letter    = 7.2
	lineStep  = 16.0
	rowStep   = 130.0
	boxMargin = 10.0
	gap       = 60.0
)

func (x *box) width() float64 {
	n := 0
	for _, l := range x.lines {
		n = max(n, len([]rune(l)))
	}
	return float64(n)*letter + 2*boxMargin
}

func (x *box) height() float64 { return float64(len(x.lines))*lineStep + 2*boxMargin }

// place gives each box its place: rings on circles in a row at the bottom with what stands alone,
// the others above those to whom their arrows lead.
func (p *picture) place() (width, height float64) {
	// The row of a box is one above the highest that it leads to.
	for i, x := range p.boxes {
		x.row = -1
		leads := slices.ContainsFunc(p.arrows, func(a arrow) bool { return a.from == i && a.to != i })
		if x.ring > 0 || !leads {
			x.row = 0
		}
	}
	for range p.boxes {
		for _, a := range p.arrows {
			if from, to := p.boxes[a.from], p.boxes[a.to]; from.ring == 0 && to.row >= 0 && a.from != a.to && from.row <= to.row && from.row < len(p.boxes) {
				from.row = to.row + 1
			}
		}
	}
	rows := 0
	for _, x := range p.boxes {
		x.row = max(x.row, 0)
		rows = max(rows, x.row)
	}
	// The lowest row, with the circles.
	at, deep, label := gap/2, 0.0, 0.0
	for _, a := range p.arrows {
		label = max(label, a.width())
	}
	for _, ring := range p.rings {
		wide := 0.0
		for _, i := range ring {
			wide = max(wide, p.boxes[i].width())
		}
		k := float64(len(ring))
		if k == 0 {
			continue
		}
		rx := max((wide+label+gap)/2, k*(wide+label)/6)
		ry := max(70, k*38)
		for n, i := range ring {
			angle := 2*math.Pi*float64(n)/k - math.Pi
			p.boxes[i].x = at + rx + wide/2 + rx*math.Cos(angle)
			p.boxes[i].y = ry*math.Sin(angle) + ry
		}
		at += 2*rx + wide + gap
		deep = max(deep, 2*ry)
	}
	for _, x := range p.boxes {
		if x.row == 0 && x.ring == 0 {
			x.x, x.y = at+x.width()/2, deep/2
			at += x.width() + gap
		}
	}
	width = at
	for row := 1; row <= rows; row++ {
		var line []int
		for i, x := range p.boxes {
			if x.row != row || x.ring > 0 {
				continue
			}
			sum, n := 0.0, 0.0
			for _, a := range p.arrows {
				if a.from == i && a.to != i && p.boxes[a.to].row < row {
					sum, n = sum+p.boxes[a.to].x, n+1
				}
			}
			if n > 0 {
				x.x = sum / n
			}
			line = append(line, i)
		}
		slices.SortStableFunc(line, func(a, b int) int {
			switch d := p.boxes[a].x - p.boxes[b].x; {
			case d < 0:
				return -1
			case d > 0:
				return 1
			}
			return 0
		})
		edge := gap / 2
		for _, i := range line {
			x := p.boxes[i]
			x.x = max(x.x, edge+x.width()/2)
			x.y = -float64(row) * rowStep
			edge = x.x + x.width()/2 + gap
		}
		width = max(width, edge)
	}
	for _, x := range p.boxes {
		x.y += float64(rows)*rowStep + 50
	}
	return width + label, float64(rows)*rowStep + deep + 110
}

// WriteSVG writes the graph as a picture that needs nothing else.
func (g *Graph) WriteSVG(w io.Writer) error {
	p := g.picture()
	width, height := p.place()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12" role="img">`+"\n", width, height, width, height)
	b.WriteString("<title>who waits for whom</title>\n")
	var texts strings.Builder // over all else
	for _, a := range p.arrows {
		p.arrow(&b, &texts, a)
	}
	for _, x := range p.boxes {
		color, fill := "#555", "#fff"
		if x.bad {
			color, fill = "#b00", "#fff4f2"
		}
		wide, high := x.width(), x.height()
		round := 4.0
		if x.object {
			round = high / 2
		}
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" fill="%s" stroke="%s"/>`+"\n", x.x-wide/2, x.y-high/2, wide, high, round, fill, color)
		for i, l := range x.lines {
			weight := ""
			if i == 0 && !x.object {
				weight = ` font-weight="bold"`
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#111"%s>%s</text>`+"\n", x.x, x.y-high/2+boxMargin+lineStep*(float64(i)+0.75), weight, escape(l))
		}
	}
	b.WriteString(texts.String())
	if p.left > 0 {
		fmt.Fprintf(&b, `<text x="10" y="%.0f" fill="#111">%s not drawn</text>`+"\n", height-8, plural(p.left, "box"))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// escape makes a name of the core fit for XML, whatever it holds.
func escape(s string) string {
	return escaper.Replace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, s))
}

// border is where the line from the middle of x towards (tx, ty) leaves the box.
func (x *box) border(tx, ty float64) (float64, float64) {
	dx, dy := tx-x.x, ty-x.y
	if dx == 0 && dy == 0 {
		return x.x, x.y
	}
	scale := math.Inf(1)
	if dx != 0 {
		scale = min(scale, (x.width()/2+2)/math.Abs(dx))
	}
	if dy != 0 {
		scale = min(scale, (x.height()/2+2)/math.Abs(dy))
	}
	return x.x + dx*scale, x.y + dy*scale
}

// width is how wide the text is, about.
func (a *arrow) width() float64 { return float64(len([]rune(a.text)))*6.6 + 6 }

func (p *picture) arrow(b, texts *strings.Builder, a arrow) {
	from, to := p.boxes[a.from], p.boxes[a.to]
	dash := ""
	if !a.strong {
		dash = ` stroke-dasharray="5 4"`
	}
	color := "#555"
	if from.bad && to.bad {
		color = "#b00"
	}
	if from == to { // a loop at the right side
		x, y := from.x+from.width()/2, from.y
		fmt.Fprintf(b, `<path d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" stroke="%s"%s/>`+"\n", x, y-10, x+60, y-40, x+60, y+40, x+2, y+10, color, dash)
		head(b, x+20, y+20, x+2, y+10, color)
		fmt.Fprintf(texts, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", x+50, y+4, color, escape(a.text))
		return
	}
	// It bends to the right of its way, so that two that lead to each other lie apart.
	mx, my := (from.x+to.x)/2, (from.y+to.y)/2
	dx, dy := to.x-from.x, to.y-from.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	bend := min(40, length/5)
	cx, cy := mx-dy/length*bend, my+dx/length*bend
	x1, y1 := from.border(cx, cy)
	x2, y2 := to.border(cx, cy)
	fmt.Fprintf(b, `<path d="M%.1f %.1f Q%.1f %.1f %.1f %.1f" fill="none" stroke="%s"%s/>`+"\n", x1, y1, cx, cy, x2, y2, color, dash)
	head(b, cx, cy, x2, y2, color)
	if a.text != "" {
		// Beside the middle of the bend, on white.
		tx, ty := (x1+2*cx+x2)/4, (y1+2*cy+y2)/4
		wide := a.width()
		fmt.Fprintf(texts, `<rect x="%.1f" y="%.1f" width="%.1f" height="16" fill="#fff" fill-opacity="0.85"/>`, tx-wide/2, ty-8, wide)
		fmt.Fprintf(texts, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="%s">%s</text>`+"\n", tx, ty+4, color, escape(a.text))
	}
}

// head draws the point of an arrow at (x, y), which comes from (fx, fy).
func head(b *strings.Builder, fx, fy, x, y float64, color string) {
	angle := math.Atan2(y-fy, x-fx)
	const long, wide = 9, 0.4
	fmt.Fprintf(b, `<path d="M%.1f %.1f L%.1f %.1f L%.1f %.1f Z" fill="%s"/>`+"\n", x, y,
		x-long*math.Cos(angle-wide), y-long*math.Sin(angle-wide), x-long*math.Cos(angle+wide), y-long*math.Sin(angle+wide), color)
}
