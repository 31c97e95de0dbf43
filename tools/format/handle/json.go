package handle

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tracer"
)

// The snapshot as one JSON object. Addresses and keys are strings, as in traces.

// jsonThing is a Handle, a Double or an Event.
type jsonThing struct {
	Event string `json:"event,omitempty"`
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Size  uint64 `json:"size,omitempty"`
	Owner uint64 `json:"waiter,omitempty"`
	*Place
	*Double
}

type jsonFrame struct {
	Kind    string  `json:"kind"`
	Address string  `json:"address,omitempty"`
	Vector  *uint32 `json:"vector,omitempty"`
	Syscall *uint32 `json:"syscall,omitempty"`
	Calls   []Call  `json:"calls,omitempty"`
}

type jsonStack struct {
	Complete bool        `json:"complete"`
	Frames   []jsonFrame `json:"frames"`
}

type jsonSnapshot struct {
	Version  int                  `json:"version"`
	Reason   string               `json:"reason"`
	BuildID  string               `json:"build_id"`
	TimeNS   int64                `json:"time_ns"`
	Boot     string               `json:"boot"`
	Events   uint64               `json:"events"`
	Overflow uint64               `json:"overflow"`
	Kinds    []Stats              `json:"kinds"`
	Open     []jsonThing          `json:"open"`
	Doubles  []jsonThing          `json:"doubles"`
	Log      []jsonThing          `json:"log"`
	Stacks   map[uint32]jsonStack `json:"stacks"`
}

// JSON writes the snapshot as one JSON object on a line.
func (s *Snapshot) JSON(w io.Writer) error {
	j := jsonSnapshot{
		Version: 1, Reason: s.Reason, BuildID: s.BuildID, TimeNS: s.Now.Nanoseconds(),
		Boot: s.Boot.UTC().Format("2006-01-02T15:04:05.999999999Z"), Events: s.Events,
		Overflow: s.Overflow,
		Kinds:    []Stats{}, Open: []jsonThing{}, Doubles: []jsonThing{}, Log: []jsonThing{},
		Stacks: map[uint32]jsonStack{},
	}
	for _, k := range s.Kinds {
		if !HasBytes(k.ID) {
			k.Bytes, k.MostBytes = 0, 0
		}
		j.Kinds = append(j.Kinds, k)
	}
	thing := func(event string, kind, key, size, owner uint64, at *Place, double *Double) jsonThing {
		return jsonThing{event, s.Kind(kind).Name, KeyName(kind, key), size, owner, at, double}
	}
	for _, h := range s.Open {
		j.Open = append(j.Open, thing("", h.Kind, h.Key, h.Size, h.Owner, &h.Place, nil))
	}
	for _, d := range s.Doubles {
		j.Doubles = append(j.Doubles, thing("", d.Kind, d.Key, d.Size, 0, nil, &d))
	}
	for _, e := range s.Log {
		j.Log = append(j.Log, thing(e.What.String(), e.Kind, e.Key, e.Size, 0, &e.Place, nil))
	}
	for id := range s.stackIDs() {
		frames, complete := s.Stack(id)
		j.Stacks[id] = jsonStack{complete, framesJSON(frames)}
	}
	return json.NewEncoder(w).Encode(j)
}

func framesJSON(frames []Frame) []jsonFrame {
	all := []jsonFrame{}
	for _, f := range frames {
		n := jsonFrame{Kind: f.Kind.String(), Calls: f.Calls}
		if f.Kind == tracer.Trap {
			n.Vector = &f.Vector
			if f.Vector == tracer.VectorSyscall {
				n.Syscall = &f.Number
			}
		} else {
			n.Address = fmt.Sprintf("%#x", f.Addr)
		}
		all = append(all, n)
	}
	return all
}
