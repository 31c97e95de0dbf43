package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Node is a function called in one way: a node of the tree of all stacks, whose root is
// outermost.
type Node struct {
	Name     string
	Inlined  bool    // some of its calls were inlined
	Self     int64   // of samples that end here
	Total    int64   // with those of the calls
	Children []*Node // by name

	index map[string]*Node
}

// maxDepth is the largest number of functions in a stack that the tree has; what is
// further in counts for the last of them.
const maxDepth = 1000

// Tree returns the tree of a profile's stacks. value is the index of the sample value to
// count, or -1 for the last, which is that of time in the profiles of programs.
func Tree(p *profile.Profile, value int) (*Node, error) {
	if value < 0 {
		value = len(p.SampleType) - 1
	}
	if value < 0 || value >= len(p.SampleType) {
		return nil, fmt.Errorf("the profile has no value %d; it has %d", value, len(p.SampleType))
	}
	root := &Node{Name: "all"}
	for _, s := range p.Sample {
		v := s.Value[value]
		if v <= 0 {
			continue
		}
		n := root
		n.Total += v
		depth := 0
		for i := len(s.Location) - 1; i >= 0; i-- {
			lines := s.Location[i].Line
			for k := len(lines) - 1; k >= 0; k-- {
				if depth++; depth > maxDepth {
					break
				}
				n = n.child(lineName(lines[k]))
				n.Inlined = n.Inlined || k < len(lines)-1
				n.Total += v
			}
			if len(lines) == 0 {
				n = n.child(fmt.Sprintf("%#x", s.Location[i].Address))
				n.Total += v
			}
		}
		n.Self += v
	}
	root.sort()
	return root, nil
}

func lineName(l profile.Line) string {
	if l.Function == nil || l.Function.Name == "" {
		return "?"
	}
	return l.Function.Name
}

func (n *Node) child(name string) *Node {
	c := n.index[name]
	if c == nil {
		c = &Node{Name: name}
		if n.index == nil {
			n.index = make(map[string]*Node)
		}
		n.index[name] = c
		n.Children = append(n.Children, c)
	}
	return c
}

func (n *Node) sort() {
	slices.SortFunc(n.Children, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range n.Children {
		c.sort()
	}
}

// Folded writes a line for each stack: the names from the outermost on with semicolons
// between, a blank and the number of samples, as the scripts for flame graphs read it.
func Folded(w io.Writer, p *profile.Profile) error {
	if len(p.SampleType) == 0 {
		return errors.New("the profile has no values")
	}
	root, err := Tree(p, 0)
	if err != nil {
		return err
	}
	return folded(w, root, nil)
}

func folded(w io.Writer, n *Node, path []string) error {
	for _, c := range n.Children {
		path := append(path, foldedName(c.Name))
		if c.Self > 0 {
			if _, err := fmt.Fprintf(w, "%s %d\n", strings.Join(path, ";"), c.Self); err != nil {
				return err
			}
		}
		if err := folded(w, c, path); err != nil {
			return err
		}
	}
	return nil
}

// foldedName replaces what means something else in a line.
func foldedName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case r < ' ' || r == 0x7f:
			return '?'
		}
		return r
	}, s)
}
