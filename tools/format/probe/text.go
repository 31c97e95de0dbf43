package probe

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Sort puts the functions in the order of their total times, and their callers, the
// refusals and the inlined ones in theirs.
func (rep *Report) Sort() {
	slices.SortStableFunc(rep.Functions, func(a, b Counts) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(a.Function, b.Function))
	})
	for i := range rep.Functions {
		slices.SortStableFunc(rep.Functions[i].Callers, func(a, b Caller) int {
			return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Total, a.Total))
		})
	}
	slices.SortFunc(rep.Inlined, func(a, b InlinedN) int {
		return cmp.Or(cmp.Compare(b.Places, a.Places), cmp.Compare(a.Function, b.Function))
	})
}

// Name names the callers' frames.
func (rep *Report) Name(sym *symbol.File) {
	for i := range rep.Functions {
		for k := range rep.Functions[i].Callers {
			c := &rep.Functions[i].Callers[k]
			for _, a := range c.Stack {
				frames := sym.Lookup(uint64(a), true)
				if len(frames) == 0 {
					c.Names = append(c.Names, fmt.Sprintf("%#x", uint64(a)))
				}
				for _, f := range frames {
					c.Names = append(c.Names, f.Function)
				}
			}
		}
	}
}

const (
	width      = 80
	maxCallers = 8  // of a function in the table
	maxListed  = 10 // of a list behind the table
)

// Text writes the table: at most so many functions, 0 for all. Call Sort first.
func (rep *Report) Text(w io.Writer, most int) error {
	var b strings.Builder
	if len(rep.Functions) == 0 {
		b.WriteString("no probed function was called\n")
	} else {
		b.WriteString("    calls    total     mean      p50      p99      max  function\n")
	}
	for i := range rep.Functions {
		if most > 0 && i == most {
			fmt.Fprintf(&b, "and %d more\n", len(rep.Functions)-i)
			break
		}
		c := &rep.Functions[i]
		fmt.Fprintf(&b, "%9d %8s %8s %8s %8s %8s  %s\n", c.Calls, timed(c.Timed, c.Total),
			timed(c.Timed, c.Mean), timed(c.Timed, c.P50), timed(c.Timed, c.P99), timed(c.Timed, c.Max),
			shorten(c.Function, width-56))
		var notes []string
		for _, n := range []struct {
			n    uint64
			what string
		}{
			{c.Jumps, "ended in a jump"}, {c.Unwound, "ended by a panic or Goexit"},
			{c.Open, "had not ended"}, {c.Untimed, "not timed: no room"},
		} {
			if n.n > 0 {
				notes = append(notes, fmt.Sprintf("%d %s", n.n, n.what))
			}
		}
		if len(notes) > 0 {
			fmt.Fprintf(&b, "%9s (%s)\n", "", strings.Join(notes, ", "))
		}
		for k, from := range c.Callers {
			if k == maxCallers {
				fmt.Fprintf(&b, "%9s and from %d more stacks\n", "", len(c.Callers)-k)
				break
			}
			line := fmt.Sprintf("%9d %8s  from ", from.Calls, timed(from.Timed, from.Total))
			b.WriteString(line)
			b.WriteString(wrap(from.Names, len(line), width))
		}
	}
	fmt.Fprintf(&b, "%d breakpoints took %s", rep.Hits, duration(rep.Overhead))
	if rep.Hits > 0 {
		fmt.Fprintf(&b, ", %s each", duration(rep.Overhead/time.Duration(rep.Hits)))
	}
	b.WriteString("\n")
	if rep.LostCallers > 0 {
		fmt.Fprintf(&b, "callers not kept, as there was no room: %d; a larger depot= helps\n",
			rep.LostCallers)
	}
	rep.rest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// rest says what was not probed.
func (rep *Report) rest(b *strings.Builder) {
	if n := len(rep.Refused); n > 0 {
		reasons := make(map[string][]string)
		for _, r := range rep.Refused {
			// The same reason at other places is the same reason.
			reason, _, _ := strings.Cut(r.Reason, " at +")
			reasons[reason] = append(reasons[reason], shorten(r.Function, 40))
		}
		fmt.Fprintf(b, "not probed: %d\n", n)
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			list(b, "  "+reason+":", reasons[reason])
		}
	}
	if len(rep.Inlined) > 0 {
		var names []string
		for _, in := range rep.Inlined {
			names = append(names, fmt.Sprintf("%s in %d", shorten(in.Function, 40), in.Places))
		}
		list(b, "inlined, so not counted there (use //go:noinline or -gcflags=-l):", names)
	}
}

// list writes names behind a beginning, as many as maxListed.
func list(b *strings.Builder, begin string, names []string) {
	more := ""
	if n := len(names); n > maxListed {
		names, more = names[:maxListed], fmt.Sprintf(" and %d more", n-maxListed)
	}
	at := len(begin)
	b.WriteString(begin)
	for i, n := range names {
		if i < len(names)-1 {
			n += ","
		} else {
			n += more
		}
		if at+1+len(n) > width {
			b.WriteString("\n  ")
			at = 2
		}
		b.WriteString(" ")
		at++
		b.WriteString(n)
		at += len(n)
	}
	b.WriteString("\n")
}

// wrap joins a stack's names, innermost first, into lines.
func wrap(names []string, at, width int) string {
	var b strings.Builder
	indent := at
	for i, n := range names {
		n = shorten(n, width-indent-2)
		if i > 0 {
			if at+3+len(n) > width {
				b.WriteString("\n" + strings.Repeat(" ", indent-2) + "< ")
				at = indent
			} else {
				b.WriteString(" < ")
				at += 3
			}
		}
		b.WriteString(n)
		at += len(n)
	}
	b.WriteString("\n")
	return b.String()
}

// timed is duration, or a dash if no call was timed.
func timed(n uint64, d time.Duration) string {
	if n == 0 {
		return "-"
	}
	return duration(d)
}

// duration writes a time with three digits and its unit.
func duration(d time.Duration) string {
	v, units := float64(d), []string{"ns", "us", "ms", "s"}
	for len(units) > 1 && v >= 999.5 {
		v, units = v/1000, units[1:]
	}
	switch {
	case units[0] == "ns", v >= 99.95:
		return fmt.Sprintf("%.0f%s", v, units[0])
	case v >= 9.995:
		return fmt.Sprintf("%.1f%s", v, units[0])
	}
	return fmt.Sprintf("%.2f%s", v, units[0])
}

// shorten makes a function's name fit: without the folders of its import path, then cut.
func shorten(name string, room int) string {
	if len(name) <= room {
		return name
	}
	end := strings.IndexAny(name, "[(")
	if end < 0 {
		end = len(name)
	}
	if i := strings.LastIndexByte(name[:end], '/'); i >= 0 {
		name = name[i+1:]
	}
	if len(name) > room {
		name = name[:max(room-3, 1)] + "..."
	}
	return name
}
