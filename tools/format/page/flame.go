package page

// The flame graph, in a form that takes the width of the page: each call is a picture in
// the picture, whose place and width are percents, so that text is cut at its edge and
// nothing is drawn anew when the window changes. Colours come from the page's style.

import (
	"bytes"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/format/profile"
)

// flameView is a profile.
type flameView struct {
	Title  string
	Boxes  []boxView
	Height int // in pixels
	Top    []string
	Empty  bool
	Culled bool // narrow calls are left out
}

// boxView is a call. X and Width are percents.
type boxView struct {
	Name, Title string
	X, Width    string
	Y           int
	Class       string // of its colour
	Label       bool   // it is wide enough for text
}

const (
	rowHeight = 18
	topRows   = 15
)

// flame makes the picture of a profile.
func flame(p *pprof.Profile) (*flameView, error) {
	root, err := profile.Tree(p, -1)
	if err != nil {
		return nil, err
	}
	v := &flameView{Empty: root.Total == 0}
	if v.Empty {
		v.Title = "a profile without samples"
		return v, nil
	}
	var table bytes.Buffer
	if err := profile.Top(&table, p, topRows); err != nil {
		return nil, err
	}
	v.Title, _, _ = strings.Cut(table.String(), "\n")
	for line := range strings.Lines(table.String()) {
		v.Top = append(v.Top, name(strings.TrimRight(line, "\n")))
	}
	v.Title = name(v.Title)

	least := root.Total / 1500 // so narrow that it would not be seen
	calls, depth := layout(root, least)
	v.Culled = least > 0
	for len(calls) > maxBoxes {
		least = 2*least + 1
		calls, depth = layout(root, least)
	}
	v.Height = (depth + 1) * rowHeight
	for _, c := range calls {
		share := 100 * float64(c.n.Total) / float64(root.Total)
		b := boxView{
			Name:  name(c.n.Name),
			X:     decimal(100 * float64(c.at) / float64(root.Total)),
			Width: decimal(share),
			Y:     v.Height - (c.depth+1)*rowHeight,
			Class: class(c.n.Name),
			Label: share >= 1.5,
		}
		b.Title = b.Name + ", " + strconv.FormatFloat(share, 'f', 1, 64) + " %"
		if c.n.Inlined {
			b.Title += ", inlined"
		}
		v.Boxes = append(v.Boxes, b)
	}
	return v, nil
}

// call is a node with its place.
type call struct {
	n     *profile.Node
	at    int64
	depth int
}

// layout returns the calls that are wide enough, outer ones first, and the depth of the
// deepest.
func layout(root *profile.Node, least int64) (all []call, depth int) {
	all = []call{{n: root}}
	for i := 0; i < len(all) && len(all) <= maxBoxes; i++ {
		at := all[i].at
		for _, c := range all[i].n.Children {
			if c.Total > least {
				all = append(all, call{c, at, all[i].depth + 1})
				depth = max(depth, all[i].depth+1)
			}
			at += c.Total
		}
	}
	return all, depth
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) + "%" }

// class is a colour: of the program, of the runtime, of what is no function; packages
// differ in their shades.
func class(function string) string {
	runtime, shade := profile.Shade(function)
	switch {
	case strings.HasPrefix(function, "["), function == "all":
		return "n"
	case runtime:
		return "r" + strconv.Itoa(shade%4)
	}
	return "p" + strconv.Itoa(shade%4)
}
