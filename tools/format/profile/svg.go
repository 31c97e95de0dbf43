package profile

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// The flame graph: one SVG file that needs nothing else. A browser that runs its script makes it
// as wide as its window, zooms and searches; any other program that shows SVG shows the whole.

// script is what makes it answer.
//
//go:embed flame.js
var script string

//go:embed flame.css
var style string

// Sizes in pixels. Text is cut to what fits, by the width of a fixed-width character.
const (
	svgWidth  = 1200
	svgRow    = 18
	svgTop    = 64
	svgMargin = 10
	svgBottom = 34
	svgChar   = 7.2
	svgLeast  = 0.3 // width of the narrowest call that is drawn
)

// SVG writes the profile's flame graph: the outermost functions at the bottom, the calls
// above, each as wide as its time.
func SVG(w io.Writer, p *profile.Profile, title string) error {
	root, err := Tree(p, -1)
	if err != nil {
		return err
	}
	scale := 0.0
	if root.Total > 0 {
		scale = (svgWidth - 2*svgMargin) / float64(root.Total)
	}
	depth := deepest(root, scale)
	height := svgTop + (depth+1)*svgRow + svgBottom
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="monospace" font-size="12">
<style>%s</style>
<rect class="ground" width="100%%" height="100%%" fill="#fffdf7" stroke="none"/>
`, svgWidth, height, style)
	const right, middle = svgWidth - svgMargin, svgWidth / 2
	for _, t := range []struct {
		attributes string
		x, y       int
		text       string
	}{
		{`id="title" text-anchor="middle" font-size="17"`, middle, 24, title},
		{`id="sum" text-anchor="middle" fill="#555"`, middle, 46,
			fmt.Sprintf("%s in %d samples", amount(p, root.Total), samples(p))},
		{`id="reset" class="b off"`, svgMargin, 24, "reset zoom"},
		{`id="search" class="b" text-anchor="end"`, right, 24, "search"},
		{`id="found" text-anchor="end"`, right, 60, " "},
		{`id="info"`, svgMargin, height - 12, " "},
	} {
		fmt.Fprintf(b, "<text %s x=\"%d\" y=\"%d\">%s</text>\n", t.attributes, t.x, t.y, escape(t.text))
	}
	s := flame{w: b, p: p, scale: scale, total: root.Total, base: float64(svgTop + depth*svgRow)}
	fmt.Fprintf(b,
		`<g id="frames" data-total="%d" data-left="%d" data-width="%d" data-char="%g">`+"\n", root.Total,
		svgMargin, svgWidth-2*svgMargin, svgChar)
	s.draw(root, 0, 0)
	fmt.Fprintf(b, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", script)
	return b.Flush()
}

// deepest returns the depth of the deepest call that is wide enough to be drawn.
func deepest(n *Node, scale float64) (depth int) {
	for _, c := range n.Children {
		if float64(c.Total)*scale >= svgLeast {
			depth = max(depth, 1+deepest(c, scale))
		}
	}
	return depth
}

type flame struct {
	w     io.Writer
	p     *profile.Profile
	scale float64
	total int64
	base  float64 // y of the outermost row
}

// draw draws a node that begins at a value, and what is above it.
func (s *flame) draw(n *Node, at int64, depth int) {
	width := float64(n.Total) * s.scale
	if width < svgLeast && depth > 0 {
		return
	}
	x, y := svgMargin+float64(at)*s.scale, s.base-float64(depth*svgRow)
	name := foldedName(n.Name)
	what := ""
	if n.Inlined {
		what = ", inlined"
	}
	fmt.Fprintf(s.w,
		`<g class="f" data-at="%d" data-n="%d" data-d="%d"><title>%s (%s, %s%s)</title><rect x="%.1f" y="%.0f" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%.0f">%s</text></g>`+"\n",
		at, n.Total, depth, escape(name), amount(s.p, n.Total), percent(n.Total, s.total), what,
		x, y, width, svgRow-1, color(n.Name), x+3, y+13, escape(fit(name, width)))
	for _, c := range n.Children {
		s.draw(c, at, depth+1)
		at += c.Total
	}
}

// fit cuts a name to a width.
func fit(name string, width float64) string {
	room := int((width - 6) / svgChar)
	r := []rune(name)
	switch {
	case room < 3:
		return ""
	case len(r) > room:
		return string(r[:room-2]) + ".."
	}
	return name
}

// color is warm for the program, cool for the runtime, grey for what is no function.
func color(name string) string {
	runtime, v := Shade(name)
	switch {
	case strings.HasPrefix(name, "["):
		return "#c8c8c8"
	case runtime:
		return fmt.Sprintf("hsl(%d,55%%,%d%%)", 170+v%50, 72+v/64%8)
	}
	return fmt.Sprintf("hsl(%d,80%%,%d%%)", 10+v%45, 62+v/64%10)
}

// Shade reports whether a function is one of the runtime, and returns a number that is the same for
// all of a package.
func Shade(function string) (runtime bool, shade int) {
	h := fnv.New32a()
	pkg := cmp.Or(lookup.Package(function), function)
	io.WriteString(h, pkg)
	return lookup.OfRuntime(pkg), int(h.Sum32() >> 8)
}

// escape makes a text of XML. What may not stand there at all is replaced.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(strings.ToValidUTF8(s, "?")))
	return b.String()
}
