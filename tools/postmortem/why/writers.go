package why

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// howDevice is how a device has written.
const howDevice = "device"

// mostWriters is how many writes Writers tells of.
const mostWriters = 1000

// Resolve returns the address and the size in bytes of a package's variable by its name, such as
// "main.table", or "main.table+16" for the eight bytes there.
func (w *Why) Resolve(name string) (addr, size uint64, err error) {
	var off uint64
	base := name
	if i := strings.LastIndexByte(name, '+'); i > 0 {
		if _, err := fmt.Sscanf(name[i+1:], "%v", &off); err != nil {
			return 0, 0, fmt.Errorf("%s: behind + has to be a number of bytes", name)
		}
		base = name[:i]
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
	at := fmt.Sprintf(" at instruction %d", v.Count)
	switch {
	case v.How == howDevice && v.Count == 0:
		at = ""
	case v.How == howDevice:
		at = " at about" + at[len(" at"):] // a replay that stops there may do so before or behind it
	}
	t := fmt.Sprintf("%#x%s: %s", v.Value, at, where(&v.Hop))
	if v.By != "" {
		t += " (by " + v.By + ")"
	}
	return t
}

// Writers returns who has written to the n bytes (1, 2, 4 or 8) at an address: the last one before
// so many instructions, or with all each one, the latest first. before is 0 for the whole
// recording, if it is not known how long that is: then a device that was the last one is not seen.
// Errors are the replay's; who was seen by then comes with them.
func (w *Why) Writers(ctx context.Context, addr, n, before uint64,
	all bool) (found []Written, err error) {
	w.ctx = ctx
	if n != 1 && n != 2 && n != 4 && n != 8 || addr%n != 0 {
		return nil, fmt.Errorf(
			"%d bytes at %#x cannot be watched: want 1, 2, 4 or 8 at a multiple of that", n, addr)
	}
	w.say("who writes %#x", addr)
	m, err := w.start()
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
	p := bytesAt(addr, n)
	began, _ := m.word(addr)
	hits, end, err := m.writes(p, before, most, w.goid, nil)
	if err == nil && before != forEver {
		last, _, other := w.latestOf(hits, p, w.Begins, began, end, true)
		if other != nil {
			v, err := w.deviceWrote(p, last.count, before, end)
			if found = append(found, v); err != nil || !all {
				return found, err
			}
		}
	}
	if len(hits) > most {
		hits = hits[len(hits)-most:]
	}
	for i := len(hits) - 1; i >= 0; i-- {
		found = append(found, w.written(&hits[i], addr))
	}
	return found, err
}

// written says who has made one of the writes to an address.
func (w *Why) written(h *hit, addr uint64) Written {
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
			w.place(&v.Hop, &c)
			v.Goroutine, v.Own = h.goroutine, true
		case v.By == "" && len(calls) > 0:
			v.By = calls[len(calls)-1].Function
		}
	}
	if v.Function == "" && len(h.stack) > 0 {
		if c := w.file.Lookup(h.at.pc, true); len(c) > 0 {
			w.place(&v.Hop, &c[0])
			v.By = ""
		}
	}
	return v
}

// deviceWrote is the write of a device that has left the value end in a place, between two
// instructions.
func (w *Why) deviceWrote(p place, lo, hi, end uint64) (v Written, err error) {
	d, err := w.byDevice(p, lo, hi)
	v.Hop = w.deviceHop(&d, p)
	v.Value = end
	if d.stored {
		v.Function = cannotTell + "the write was not seen"
	}
	return v, err
}

// deviceHop is a device's write as a step.
func (w *Why) deviceHop(d *deviceWrite, p place) Hop {
	h := Hop{Count: d.count, How: howDevice, Place: p.String(), Function: d.String()}
	if h.Value = d.value; d.count == 0 && w.at != nil {
		h.Value, _ = w.at.word(p.addr)
		h.Value &= p.mask()
	}
	return h
}

// lastWrite returns the last write to a place before an instruction.
func (w *Why) lastWrite(p place, before, sp uint64) (h hit, found bool, err error) {
	size := uint64(1)
	for size < 8 && 2*size <= p.size && p.addr%(2*size) == 0 {
		size *= 2
	}
	p.size = size // what can be watched of it
	starts := []uint64{0}
	if d := int64(p.addr - sp); d > -1<<16 && d < 1<<20 && before > stackWindow {
		starts = []uint64{before - stackWindow, 0}
	}
	for _, start := range starts {
		w.say("who wrote %#x last, before instruction %d", p.addr, before)
		m, f, err := w.followed()
		if err != nil {
			return h, false, err
		}
		var hits []hit
		var began, end uint64
		if err = m.To(start); err == nil {
			began, _ = m.word(p.addr)
			hits, end, err = m.writes(p, before, 1, nil, f)
		}
		m.End()
		w.keep(f)
		if err != nil {
			return h, false, err
		}
		if h, found, err = w.latestOf(hits, p, max(start, w.Begins), began, end, start == 0); found {
			return h, found, err
		}
	}
	return h, false, nil
}

// latestOf returns the last of the writes that were seen to a place, which had the value began
// after start instructions and has the value end now: errDevice if another one than the last write
// has made it that. whole is set if they are those of the whole recording.
func (w *Why) latestOf(hits []hit, p place, start, began, end uint64, whole bool) (hit, bool,
	error) {
	switch n := len(hits); {
	case n > 0 && hits[n-1].value == end:
		return hits[n-1], true, nil
	case n > 0:
		return hits[n-1], true, errDevice
	case whole && w.Begins == 0 && w.loadedAs(p, end):
		return hit{}, false, nil // who loads the image has written it, by the CPU or not
	case began&mask(p.size) != end:
		return hit{count: start}, true, errDevice
	}
	return hit{}, false, nil
}

// errDevice says that a word has changed, and no instruction has written it.
var errDevice = errors.New("written by a device")
