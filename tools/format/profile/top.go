package profile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// Top writes a table of the functions in which the most time was spent, at most n of them,
// on lines of 80 columns: in the function itself, and with all that it calls.
func Top(w io.Writer, p *profile.Profile, n int) error {
	root, err := Tree(p, -1)
	if err != nil {
		return err
	}
	type row struct {
		name       string
		flat, with int64
	}
	rows := map[string]*row{}
	var visit func(n *Node, on map[string]bool)
	visit = func(n *Node, on map[string]bool) {
		for _, c := range n.Children {
			r := rows[c.Name]
			if r == nil {
				r = &row{name: c.Name}
				rows[c.Name] = r
			}
			r.flat += c.Self
			if on[c.Name] { // a recursion counts once
				visit(c, on)
				continue
			}
			r.with += c.Total
			on[c.Name] = true
			visit(c, on)
			delete(on, c.Name)
		}
	}
	visit(root, map[string]bool{})
	list := make([]*row, 0, len(rows))
	for _, r := range rows {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.flat, a.flat), cmp.Compare(b.with, a.with),
			cmp.Compare(a.name, b.name))
	})
	fmt.Fprintf(w, "%s of running time in %d samples\n", amount(p, root.Total), samples(p))
	fmt.Fprintf(w, "%10s %6s %10s %6s  function\n", "flat", "", "with calls", "")
	for i, r := range list {
		if i == n {
			fmt.Fprintf(w, "%36s  and %d more\n", "", len(list)-n)
			break
		}
		name := r.name
		if r := []rune(name); len(r) > 42 {
			name = "..." + string(r[len(r)-39:])
		}
		if _, err := fmt.Fprintf(w, "%10s %6s %10s %6s  %s\n", amount(p, r.flat),
			percent(r.flat, root.Total),
			amount(p, r.with), percent(r.with, root.Total), foldedName(name)); err != nil {
			return err
		}
	}
	return nil
}

// samples returns the number of samples, by the value that counts them.
func samples(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return n
}

// amount writes a value as the profile's unit has it.
func amount(p *profile.Profile, v int64) string {
	switch t := p.SampleType[len(p.SampleType)-1]; t.Unit {
	case "nanoseconds":
		return time.Duration(v).Round(100 * time.Microsecond).String()
	case "bytes":
		return fmt.Sprintf("%d KiB", (v+1023)>>10)
	}
	return fmt.Sprint(v)
}

func percent(v, of int64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(v)/float64(of))
}
