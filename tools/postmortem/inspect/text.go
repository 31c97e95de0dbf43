package inspect

// Goroutines as text. Many goroutines of a program wait at the same place: they are one group,
// with their numbers in one line.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// View says how goroutines are shown. Host.
type View struct {
	All     bool // every frame, the runtime's too, and no groups
	Columns bool // the columns of a Windows debugger's k
	Numbers bool // before each frame, for [Place]
}

// maxNumbers is how many numbers of a group are in its line.
const maxNumbers = 16

// group is goroutines in the same state at the same place.
type group struct {
	ids   []int64
	first *Goroutine
}

// Write shows goroutines: the program's own first, then the runtime's. Host.
func Write(w io.Writer, all []*Goroutine, v View) error {
	var b strings.Builder
	groups := grouped(all, v.All)
	for _, system := range []bool{false, true} {
		for _, g := range groups {
			if g.first.System == system {
				g.write(&b, v)
			}
		}
	}
	b.WriteString(count(len(all)))
	if len(groups) < len(all) {
		fmt.Fprintf(&b, " in %d groups", len(groups))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// Write shows one goroutine by itself. Host.
func (g *Goroutine) Write(w io.Writer, v View) error {
	var b strings.Builder
	(&group{[]int64{g.ID}, g}).write(&b, v)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes values as JSON, one a line. Host.
func WriteJSON[T any](w io.Writer, all []T) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range all {
		if err := e.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// count is "1 goroutine", "2 goroutines".
func count(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// grouped puts together what is the same; single leaves each by itself.
func grouped(all []*Goroutine, single bool) (groups []*group) {
	at := map[string]*group{}
	for _, g := range all {
		key := g.place()
		if single {
			key = fmt.Sprint(g.ID)
		}
		if at[key] == nil {
			at[key] = &group{first: g}
			groups = append(groups, at[key])
		}
		at[key].ids = append(at[key].ids, g.ID)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return len(b.ids) - len(a.ids) })
	return groups
}

// place is equal for goroutines of one group.
func (g *Goroutine) place() string {
	var b strings.Builder
	fmt.Fprint(&b, g.Status(), g.System, labels(g.Labels), g.Error)
	for i := range g.Frames {
		f := &g.Frames[i]
		fmt.Fprintf(&b, " %x %s:%d %t", f.Address, f.Function, f.Line, f.Inlined)
	}
	if g.By != nil {
		fmt.Fprintf(&b, " by %x %s", g.By.Address, g.By.Function)
	}
	return b.String()
}

// labels is them as text, in the order of their names.
func labels(m map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%q:%q", k, m[k]))
	}
	return strings.Join(all, ", ")
}

func (g *group) write(b *strings.Builder, v View) {
	one := g.first
	if len(g.ids) == 1 {
		fmt.Fprintf(b, "goroutine %d", one.ID)
	} else {
		b.WriteString(count(len(g.ids)))
	}
	fmt.Fprintf(b, " [%s", terminal.Clean(one.Status()))
	if len(g.ids) == 1 && one.Since != 0 {
		fmt.Fprintf(b, ", since %v of the machine's clock",
			time.Duration(one.Since).Round(time.Millisecond))
	}
	b.WriteByte(']')
	if one.System {
		b.WriteString(" of the runtime")
	}
	if l := labels(one.Labels); l != "" {
		b.WriteString(" {" + terminal.Clean(l) + "}")
	}
	b.WriteString(":\n")
	if len(g.ids) > 1 {
		b.WriteString("  numbers")
		for _, id := range g.ids[:min(len(g.ids), maxNumbers)] {
			fmt.Fprintf(b, " %d", id)
		}
		if n := len(g.ids) - maxNumbers; n > 0 {
			fmt.Fprintf(b, " and %d more", n)
		}
		b.WriteByte('\n')
	}
	if v.Columns {
		fmt.Fprintf(b, "%-16s %-16s %s\n", "ChildRBP", "RetAddr", "Call Site")
	}
	shown := 0
	for i := range one.Frames {
		f := &one.Frames[i]
		if v.All || one.System || !hidden(f) {
			f.write(b, i, v)
			shown++
		}
	}
	if shown == 0 && len(one.Frames) > 0 {
		one.Frames[0].write(b, 0, v)
	}
	if one.Error != "" {
		fmt.Fprintf(b, "  the stack cannot be read further: %s\n", terminal.Clean(one.Error))
	}
	if one.By != nil {
		b.WriteString("created by " + terminal.Clean(one.By.Function))
		if one.Parent != 0 && len(g.ids) == 1 {
			fmt.Fprintf(b, " in goroutine %d", one.Parent)
		}
		fmt.Fprintf(b, "\n\t%s:%d\n", terminal.Clean(one.By.File), one.By.Line)
	}
	b.WriteByte('\n')
}

func (f *Frame) write(b *strings.Builder, number int, v View) {
	name := f.Function
	if name == "" {
		name = fmt.Sprintf("%#x", uint64(f.Address))
	}
	name = terminal.Clean(name)
	switch {
	case v.Columns && (f.Inlined || f.FP == 0):
		fmt.Fprintf(b, "%-16s %-16s %s [inlined]\n", noValue, noValue, name)
	case v.Columns:
		fmt.Fprintf(b, "%016x %016x %s+%#x\n", uint64(f.FP), uint64(f.Return), name, f.Offset)
	default:
		if v.Numbers {
			fmt.Fprintf(b, "#%d ", number)
		}
		args := "(...)"
		if f.argued != "" {
			name, args = terminal.Clean(f.argued), ""
		}
		fmt.Fprintf(b, "%s%s", name, args)
		if f.Inlined {
			b.WriteString(" [inlined]")
		}
		fmt.Fprintf(b, "\n\t%s:%d +%#x\n", terminal.Clean(f.File), f.Line, f.Offset)
	}
}

const noValue = "----------------"
