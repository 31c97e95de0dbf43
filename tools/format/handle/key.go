package handle

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Key is what zf handles -key names.
type Key struct {
	Kind, Key uint64
}

// ParseKey reads "fd:7", "page:0x1234000", "timer:real", a kind that the snapshot knows and
// one of its keys.
func (s *Snapshot) ParseKey(text string) (Key, error) {
	name, rest, _ := strings.Cut(text, ":")
	for _, k := range s.Kinds {
		if k.Name != name && plural(k.Name) != name {
			continue
		}
		for key := uint64(0); k.ID == kindTimers && key < 3; key++ {
			if KeyName(kindTimers, key) == rest {
				return Key{k.ID, key}, nil
			}
		}
		key, err := strconv.ParseUint(rest, 0, 64)
		if err != nil {
			return Key{}, fmt.Errorf("%q: want a number behind the colon, such as %s:7 or %s:0x1000",
				text, name, name)
		}
		return Key{k.ID, key}, nil
	}
	var names []string
	for _, k := range s.Kinds {
		names = append(names, k.Name)
	}
	return Key{}, fmt.Errorf("%q: want KIND:KEY, with a KIND of %s", text, strings.Join(names, ", "))
}

// holds reports whether a thing of that size at a key is about what k names: a mapping also
// by an address within.
func (k Key) holds(kind, key, size uint64) bool {
	switch {
	case kind != k.Kind:
		return false
	case kind == kindMaps || kind == kindPages:
		return k.Key >= key && (k.Key-key < size || k.Key == key)
	}
	return key == k.Key
}

// About writes what is known of one key: whether it is open, and the last events of it that
// the ring has, at most n of them; 0: all.
func (s *Snapshot) About(w io.Writer, k Key, n int, o Options) error {
	p := &printer{w: w, o: o}
	s.head(p)
	name := s.Kind(k.Kind).Name + " " + KeyName(k.Kind, k.Key)
	p.line("")
	open := false
	for _, h := range s.Open {
		if !k.holds(h.Kind, h.Key, h.Size) {
			continue
		}
		open = true
		p.line("%s: open since %s%s: %s", name, Seconds(h.Time), byThread(h.Place), s.Describe(h))
		p.stack(s, h.Stack)
	}
	if !open {
		p.line("%s is not open", name)
	}
	events := s.EventsOf(k)
	for _, d := range s.Doubles {
		// Its stacks are kept when the ring has lost the events.
		if k.holds(d.Kind, d.Key, d.Size) && (len(events) == 0 || events[0].Time > d.Opened.Time) {
			s.double(p, d)
		}
	}
	p.line("")
	switch {
	case len(events) == 0 && s.Events > uint64(len(s.Log)):
		p.line("The ring has no events of it any more.")
	case len(events) == 0:
		p.line("There were no events of it.")
	}
	if n > 0 && len(events) > n {
		p.line("%d events, the last %d of them:", len(events), n)
		events = events[len(events)-n:]
	} else if len(events) > 0 {
		p.line("%d events, the latest last:", len(events))
	}
	for _, e := range events {
		p.line("")
		what := e.What.String()
		if e.Key != k.Key || HasBytes(e.Kind) && e.Kind != kindPages {
			what += fmt.Sprintf(" of %s (%s)", KeyName(e.Kind, e.Key), SizeOf(e.Size))
		}
		p.line("%s %s%s", Seconds(e.Time), what, byThread(e.Place))
		p.stack(s, e.Stack)
	}
	return p.err
}

// EventsOf returns the events in the log of one key, the oldest first.
func (s *Snapshot) EventsOf(k Key) (events []Event) {
	for _, e := range s.Log {
		if k.holds(e.Kind, e.Key, e.Size) {
			events = append(events, e)
		}
	}
	return events
}
