package waits

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// WaitsFor is what JSON has of a goroutine's wait: the field waits_for of a goroutine.
type WaitsFor struct {
	Kind Kind `json:"kind"`
	// Select is set if any of the objects ends the wait.
	Select bool `json:"select,omitempty"`
	// Text is the wait in words.
	Text    string       `json:"text"`
	Objects []ObjectJSON `json:"objects"`
	IO      *IOJSON      `json:"io,omitempty"`
}

// IOJSON is what JSON has of an IO.
type IOJSON struct {
	Descriptor *int `json:"descriptor,omitempty"`
	*IO
}

// ObjectJSON is an object that is waited for.
type ObjectJSON struct {
	Kind  Kind        `json:"kind"`
	Addr  inspect.Hex `json:"address,omitempty"`
	Name  string      `json:"name,omitempty"`
	State string      `json:"state,omitempty"`
	// HeldBy are those who have it; OneOf is set if only one of them has it, and which is not
	// known.
	HeldBy []int64 `json:"held_by,omitempty"`
	OneOf  bool    `json:"one_of,omitempty"`
	// WantedBy is the writer that waits for the lock and goes before.
	WantedBy []int64 `json:"wanted_by,omitempty"`
	// Partners are those who would end the wait later on.
	Partners []Partner `json:"partners,omitempty"`
}

// JSON returns a goroutine's wait, nil if it waits for nothing.
func (x *Goroutine) JSON() *WaitsFor {
	if x.Wait == nil {
		return nil
	}
	w := &WaitsFor{Kind: x.Wait.Kind, Select: x.Wait.Select, Text: x.Wait.words(nil),
		Objects: []ObjectJSON{}}
	for _, o := range x.Wait.Objects {
		j := ObjectJSON{Kind: o.Kind, Addr: inspect.Hex(o.Addr), Name: o.Name, State: o.State,
			HeldBy: o.Holders,
			OneOf:  !o.Certain && len(o.Holders) > 0, Partners: o.Partners}
		if o.behind {
			j.HeldBy, j.WantedBy = nil, o.Holders
		}
		w.Objects = append(w.Objects, j)
	}
	if y := x.Wait.IO; y != nil {
		w.IO = &IOJSON{IO: y}
		if y.Descriptor >= 0 {
			w.IO.Descriptor = &y.Descriptor
		}
	}
	return w
}

// WaitsFor returns the wait of a goroutine, by its number; nil if it waits for nothing.
func (g *Graph) WaitsFor(id int64) *WaitsFor {
	if x := g.byID[id]; x != nil && !x.System {
		return x.JSON()
	}
	return nil
}

// GoroutineJSON is what JSON has of a goroutine.
type GoroutineJSON struct {
	ID       int64     `json:"id"`
	Function string    `json:"function"`
	At       string    `json:"at,omitempty"`
	State    string    `json:"state"`
	WaitsFor *WaitsFor `json:"waits_for,omitempty"`
}

// ListJSON is a graph as one object.
type ListJSON struct {
	Goroutines []GoroutineJSON `json:"goroutines"`
	Findings   []Finding       `json:"findings"`
}

// Object returns the graph as one object, without the runtime's own goroutines.
func (g *Graph) Object() ListJSON {
	l := ListJSON{Goroutines: []GoroutineJSON{}, Findings: append([]Finding{}, g.Findings...)}
	for _, x := range g.Goroutines {
		if !x.System {
			l.Goroutines = append(l.Goroutines, GoroutineJSON{x.ID, x.Function, x.At, x.State, x.JSON()})
		}
	}
	return l
}

// WriteJSON writes one object a line: of each goroutine but the runtime's own, then of the kernel
// lock, if that is known, and of each finding.
func (g *Graph) WriteJSON(w io.Writer) error {
	var all []any
	l := g.Object()
	for _, x := range l.Goroutines {
		all = append(all, x)
	}
	if g.Kernel != nil {
		all = append(all, g.Kernel)
	}
	for _, f := range l.Findings {
		all = append(all, f)
	}
	return inspect.WriteJSON(w, all)
}

// WriteText writes the findings, a line each, and with all after them what each goroutine
// waits for, those alike in one line.
func (g *Graph) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	for _, f := range g.Findings {
		b.WriteString(f.Text + "\n")
	}
	if len(g.Findings) == 0 {
		b.WriteString("nothing is known to keep the program from going on" + g.more(all) + "\n")
	}
	if g.Note != "" {
		b.WriteString("note: " + g.Note + "\n")
	}
	if all {
		b.WriteString("\n")
		g.Kernel.write(&b, g)
		for _, group := range g.alike() {
			x := group[0]
			text := "runs"
			switch {
			case x.Wait != nil:
				text = x.Wait.words(nil)
			case x.State == "runnable":
				text = "is runnable"
			}
			fmt.Fprintf(&b, "%s %s%s\n", names(group), text, g.holdersText(x))
			if x.At != "" {
				fmt.Fprintf(&b, "    at %s\n", x.At)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// more names the flags of zf waits that say more where nothing is certain.
func (g *Graph) more(all bool) string {
	s := ""
	if !all {
		s = "; -all lists what each goroutine waits for"
	}
	if !g.hang && (g.alarms || slices.ContainsFunc(g.Goroutines, func(x *Goroutine) bool {
		return !x.System && x.Wait != nil && (g.outside(x) || x.timed())
	})) {
		s += "; -hang takes it that no input, timer or system call brings anything"
	}
	return s
}

// names is how goroutines that do the same are spoken of.
func names(group []*Goroutine) string {
	if len(group) == 1 {
		return group[0].label()
	}
	var ids []string
	for _, x := range group[:min(len(group), 8)] {
		ids = append(ids, fmt.Sprint(x.ID))
	}
	if len(group) > 8 {
		ids = append(ids, "...")
	}
	return fmt.Sprintf("%d goroutines (%s): %s:", len(group), group[0].name(), strings.Join(ids, ", "))
}

// alike puts those together that wait for the same at the same place.
func (g *Graph) alike() (groups [][]*Goroutine) {
	at := make(map[string]int)
	for _, x := range g.Goroutines {
		if x.System {
			continue
		}
		key := x.At + x.State
		if x.Wait != nil {
			key += x.Wait.words(nil) + g.holdersText(x)
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

// holdersText says who has what x waits for.
func (g *Graph) holdersText(x *Goroutine) (text string) {
	if x.Wait == nil {
		return ""
	}
	for _, o := range x.Wait.Objects {
		switch {
		case len(o.Holders) == 0:
		case o.Certain:
			text += ", " + o.holderWords() + " " + g.list(o.Holders)
		default:
			text += ", who holds it is not known: perhaps " + g.list(o.Holders)
		}
		for _, p := range o.Partners {
			if p.ID != x.ID {
				text += fmt.Sprintf(", %s %s at %s", partnerWords[p.What], g.list([]int64{p.ID}), p.At)
			}
		}
	}
	return text
}
