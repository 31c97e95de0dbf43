package waits

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
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

// IOJSON is what JSON has of an IO; Deadline is in seconds after the wait began.
type IOJSON struct {
	Descriptor *int    `json:"descriptor,omitempty"`
	Operation  string  `json:"operation"`
	Network    string  `json:"network,omitempty"`
	Local      string  `json:"local,omitempty"`
	Peer       string  `json:"peer,omitempty"`
	File       string  `json:"file,omitempty"`
	Deadline   float64 `json:"deadline_s,omitempty"`
	Late       bool    `json:"late,omitempty"`
}

// GateJSON is what JSON has of a CPU that has the kernel lock, or waits for it.
type GateJSON struct {
	CPU       int    `json:"cpu"`
	For       string `json:"for"`
	PC        string `json:"pc,omitempty"`
	Goroutine int64  `json:"goroutine,omitempty"`
}

func (x *Gate) object() GateJSON {
	j := GateJSON{CPU: x.CPU, For: x.For, Goroutine: x.Goroutine}
	if x.PC != 0 {
		j.PC = fmt.Sprintf("%#x", x.PC)
	}
	return j
}

// ObjectJSON is an object that is waited for.
type ObjectJSON struct {
	Kind  Kind   `json:"kind"`
	Addr  string `json:"address,omitempty"`
	Name  string `json:"name,omitempty"`
	State string `json:"state,omitempty"`
	// HeldBy are those who have it; OneOf is set if only one of them has it, and which is not
	// known.
	HeldBy []int64 `json:"held_by,omitempty"`
	OneOf  bool    `json:"one_of,omitempty"`
	// WantedBy is the writer that waits for the lock and goes before.
	WantedBy []int64 `json:"wanted_by,omitempty"`
	// Partners are those who would end the wait later on.
	Partners []PartnerJSON `json:"partners,omitempty"`
}

// PartnerJSON is a goroutine that comes to what would end a wait.
type PartnerJSON struct {
	ID int64  `json:"id"`
	By string `json:"by"` // send, receive, close, Done, Signal
	At string `json:"at,omitempty"`
}

// JSON returns a goroutine's wait, nil if it waits for nothing.
func (x *Goroutine) JSON() *WaitsFor {
	if x.Wait == nil {
		return nil
	}
	w := &WaitsFor{Kind: x.Wait.Kind, Select: x.Wait.Select, Text: x.Wait.words(nil), Objects: []ObjectJSON{}}
	for _, o := range x.Wait.Objects {
		j := ObjectJSON{Kind: o.Kind, Name: o.Name, State: o.State, HeldBy: o.Holders, OneOf: !o.Certain && len(o.Holders) > 0}
		if o.behind {
			j.HeldBy, j.WantedBy = nil, o.Holders
		}
		if o.Addr != 0 {
			j.Addr = fmt.Sprintf("%#x", o.Addr)
		}
		for _, p := range o.Partners {
			j.Partners = append(j.Partners, PartnerJSON{p.ID, p.What, p.At})
		}
		w.Objects = append(w.Objects, j)
	}
	if y := x.Wait.IO; y != nil {
		w.IO = &IOJSON{nil, y.Operation, y.Network, y.Local, y.Peer, y.File, y.Deadline.Seconds(), y.Late}
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

func (x *Goroutine) object() GoroutineJSON {
	return GoroutineJSON{x.ID, x.Function, x.At, x.State, x.JSON()}
}

// FindingJSON is what JSON has of a finding.
type FindingJSON struct {
	Finding    string  `json:"finding"`
	Goroutines []int64 `json:"goroutines"`
}

// ListJSON is a graph as one object.
type ListJSON struct {
	Goroutines []GoroutineJSON `json:"goroutines"`
	Findings   []FindingJSON   `json:"findings"`
}

// Object returns the graph as one object.
func (g *Graph) Object() ListJSON {
	l := ListJSON{Goroutines: []GoroutineJSON{}, Findings: []FindingJSON{}}
	for _, x := range g.Goroutines {
		if !x.System {
			l.Goroutines = append(l.Goroutines, x.object())
		}
	}
	for _, f := range g.Findings {
		l.Findings = append(l.Findings, FindingJSON{f.Text, f.Goroutines})
	}
	return l
}

// WriteJSON writes one object a line: of each goroutine but the runtime's own, then of the kernel
// lock, if that is known, and of each finding.
func (g *Graph) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, x := range g.Goroutines {
		if x.System {
			continue
		}
		if err := enc.Encode(x.object()); err != nil {
			return err
		}
	}
	if g.Kernel != nil {
		k := struct {
			Holder  *GateJSON  `json:"kernel_lock"` // null: nobody
			Waiting []GateJSON `json:"waiting"`
		}{Waiting: []GateJSON{}}
		if h := g.Kernel.Holder; h != nil {
			j := h.object()
			k.Holder = &j
		}
		for i := range g.Kernel.Waiting {
			k.Waiting = append(k.Waiting, g.Kernel.Waiting[i].object())
		}
		if err := enc.Encode(k); err != nil {
			return err
		}
	}
	for _, f := range g.Findings {
		if err := enc.Encode(FindingJSON{f.Text, f.Goroutines}); err != nil {
			return err
		}
	}
	return nil
}

// WriteText writes the findings, a line each, and with all behind them what each goroutine
// waits for, those alike in one line.
func (g *Graph) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	for _, f := range g.Findings {
		b.WriteString(f.Text + "\n")
	}
	if len(g.Findings) == 0 {
		b.WriteString("nothing is known to keep the program from going on\n")
	}
	if g.Note != "" {
		b.WriteString("note: " + g.Note + "\n")
	}
	if all {
		b.WriteString("\n")
		if g.Kernel != nil {
			for _, line := range g.Kernel.lines(g) {
				b.WriteString(line + "\n")
			}
		}
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

// names is how goroutines that do the same are spoken of.
func names(group []*Goroutine) string {
	if len(group) == 1 {
		return group[0].label()
	}
	_, fn, _ := strings.Cut(group[0].label(), " (")
	var ids []string
	for i, x := range group {
		if i == 8 {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, fmt.Sprint(x.ID))
	}
	return fmt.Sprintf("%d goroutines (%s: %s:", len(group), fn, strings.Join(ids, ", "))
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
func (g *Graph) holdersText(x *Goroutine) string {
	if x.Wait == nil {
		return ""
	}
	var s []string
	for _, o := range x.Wait.Objects {
		switch {
		case len(o.Holders) == 0:
		case o.Certain:
			s = append(s, o.holderWords()+" "+g.list(o.Holders))
		default:
			s = append(s, "who holds it is not known: perhaps "+g.list(o.Holders))
		}
		for _, p := range o.Partners {
			if p.ID != x.ID {
				s = append(s, fmt.Sprintf("%s %s at %s", partnerWords[p.What], g.list([]int64{p.ID}), p.At))
			}
		}
	}
	if len(s) == 0 {
		return ""
	}
	return ", " + strings.Join(s, ", ")
}
