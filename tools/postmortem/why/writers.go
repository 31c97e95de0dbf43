package why

import (
	"context"
	"fmt"
)

// mostWriters is how many writes Writers tells of.
const mostWriters = 1000

// Resolve returns the address and the size in bytes of a package's variable by its name, such as
// "main.table", or "main.table+16" for the eight bytes there.
func (w *Why) Resolve(name string) (addr, size uint64, err error) {
	var off uint64
	base := name
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '+' {
			if _, err := fmt.Sscanf(name[i+1:], "%v", &off); err != nil {
				return 0, 0, fmt.Errorf("%s: behind + has to be a number of bytes", name)
			}
			base = name[:i]
			break
		}
	}
	for _, v := range w.vars {
		if v.name == base {
			if off >= v.size {
				return 0, 0, fmt.Errorf("%s has %d bytes", base, v.size)
			}
			if base != name {
				return v.addr + off, min(8, v.size-off), nil
			}
			return v.addr, v.size, nil
		}
	}
	return 0, 0, fmt.Errorf("the image has no variable %s; zf print lists them", base)
}

// Variables are the names that Resolve knows.
func (w *Why) Variables() (names []string) {
	for _, v := range w.vars {
		names = append(names, v.name)
	}
	return names
}

// A Written is a write to memory, with what the value was made of.
type Written struct {
	Hop
	Stack []string `json:"stack"` // the functions, the innermost first
}

// String says it in a line.
func (v *Written) String() string {
	t := fmt.Sprintf("%#x at instruction %d: %s", v.Value, v.Count, where(&v.Hop))
	if v.By != "" {
		t += " (by " + v.By + ")"
	}
	return t
}

// Writers returns who has written to the n bytes (1, 2, 4 or 8) at an address: the last one before
// so many instructions, or with all each one, the latest first. before is 0 for the whole
// recording. Errors are the replay's; who was seen by then comes with them.
func (w *Why) Writers(ctx context.Context, addr, n, before uint64,
	all bool) (found []Written, err error) {
	if n != 1 && n != 2 && n != 4 && n != 8 || addr%n != 0 {
		return nil, fmt.Errorf(
			"%d bytes at %#x cannot be watched: want 1, 2, 4 or 8 at a multiple of that", n, addr)
	}
	w.say("who writes %#x", addr)
	m, err := w.start(ctx)
	if err != nil {
		return nil, err
	}
	if w.at != nil {
		w.at.End()
	}
	w.at = m
	if before == 0 {
		before = forEver
	}
	most := 1
	if all {
		most = mostWriters
	}
	hits, _, err := m.writes(place{kind: inMemory, addr: addr, size: n}, before, most, w.goid, nil)
	if len(hits) > most {
		hits = hits[len(hits)-most:]
	}
	for i := len(hits) - 1; i >= 0; i-- {
		h := &hits[i]
		v := Written{Hop: Hop{Count: h.count - 1, PC: h.at.pc, How: "copied",
			Place: fmt.Sprintf("%#x", addr), Value: h.value}}
		for _, pc := range h.stack {
			calls := w.file.Lookup(pc, true) // the CPU stands behind the instruction
			for _, c := range calls {
				v.Stack = append(v.Stack, c.Function)
			}
			c, ok := w.ownCall(calls)
			switch {
			case v.Function != "":
			case ok:
				v.Function, v.File, v.Line, v.Source, v.Goroutine, v.Own = c.Function, c.File, c.Line,
					w.source(c.File, c.Line), h.goroutine, true
			case v.By == "" && len(calls) > 0:
				v.By = calls[len(calls)-1].Function
			}
		}
		if v.Function == "" && len(h.stack) > 0 {
			if c := w.file.Lookup(h.at.pc, true); len(c) > 0 {
				v.Function, v.File, v.Line, v.Source, v.By = c[0].Function, c[0].File, c[0].Line,
					w.source(c[0].File, c[0].Line), ""
			}
		}
		found = append(found, v)
	}
	return found, err
}
