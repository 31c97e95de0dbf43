package handle

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tracer"
)

// The snapshot as one JSON object. Addresses and keys are strings, as in traces.

type jsonPlace struct {
	TimeNS int64  `json:"time_ns"`
	Thread uint64 `json:"thread,omitempty"`
	Stack  uint32 `json:"stack"`
}

type jsonKind struct {
	Name    string `json:"name"`
	Open    uint64 `json:"open"`
	Most    uint64 `json:"most"`
	Opens   uint64 `json:"opened"`
	Closes  uint64 `json:"closed"`
	Doubles uint64 `json:"doubles"`
	Strays  uint64 `json:"strays"`
	Bytes   uint64 `json:"bytes,omitempty"`
	Peak    uint64 `json:"most_bytes,omitempty"`
}

type jsonHandle struct {
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Size  uint64 `json:"size,omitempty"`
	Owner uint64 `json:"waiter,omitempty"`
	jsonPlace
}

type jsonDouble struct {
	Kind   string    `json:"kind"`
	Key    string    `json:"key"`
	Size   uint64    `json:"size,omitempty"`
	Opened jsonPlace `json:"opened"`
	First  jsonPlace `json:"first"`
	Second jsonPlace `json:"second"`
}

type jsonEvent struct {
	Event string `json:"event"`
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Size  uint64 `json:"size,omitempty"`
	jsonPlace
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
	Kinds    []jsonKind           `json:"kinds"`
	Open     []jsonHandle         `json:"open"`
	Doubles  []jsonDouble         `json:"doubles"`
	Log      []jsonEvent          `json:"log"`
	Stacks   map[uint32]jsonStack `json:"stacks"`
}

func placeJSON(p Place) jsonPlace { return jsonPlace{p.Time.Nanoseconds(), p.Thread, p.Stack} }

// JSON writes the snapshot as one JSON object on a line.
func (s *Snapshot) JSON(w io.Writer) error {
	j := jsonSnapshot{
		Version: 1, Reason: s.Reason, BuildID: s.BuildID, TimeNS: s.Now.Nanoseconds(),
		Boot: s.Boot.UTC().Format("2006-01-02T15:04:05.999999999Z"), Events: s.Events, Overflow: s.Overflow,
		Kinds: []jsonKind{}, Open: []jsonHandle{}, Doubles: []jsonDouble{}, Log: []jsonEvent{}, Stacks: map[uint32]jsonStack{},
	}
	for _, k := range s.Kinds {
		n := jsonKind{Name: k.Name, Open: k.Open, Most: k.Most, Opens: k.Opens, Closes: k.Closes, Doubles: k.Doubles, Strays: k.Strays}
		if HasBytes(k.ID) {
			n.Bytes, n.Peak = k.Bytes, k.MostBytes
		}
		j.Kinds = append(j.Kinds, n)
	}
	for _, h := range s.Open {
		j.Open = append(j.Open, jsonHandle{s.Kind(h.Kind).Name, KeyName(h.Kind, h.Key), h.Size, h.Owner, placeJSON(h.Place)})
	}
	for _, d := range s.Doubles {
		j.Doubles = append(j.Doubles, jsonDouble{s.Kind(d.Kind).Name, KeyName(d.Kind, d.Key), d.Size, placeJSON(d.Opened), placeJSON(d.First), placeJSON(d.Second)})
	}
	for _, e := range s.Log {
		j.Log = append(j.Log, jsonEvent{e.What.String(), s.Kind(e.Kind).Name, KeyName(e.Kind, e.Key), e.Size, placeJSON(e.Place)})
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
