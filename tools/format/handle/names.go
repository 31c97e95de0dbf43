package handle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// Names. A snapshot has addresses alone; who has the image at hand looks them up once, and
// keeps the answers behind the snapshot, so that the file needs no image any more.

// Frame is a frame of a stack.
type Frame struct {
	Kind   tracer.Kind
	Addr   uint64
	Vector uint32 // of a trap
	Number uint32 // of a system call, if that is the trap's vector
	Calls  []Call // with names: inlined ones first; empty if none are known
}

// Call is a call that an address is in.
type Call struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Inlined  bool   `json:"inlined,omitempty"`
}

// Resolver is a *symbol.File.
type Resolver interface {
	LookupAll(addrs []uint64, ret bool) [][]lookup.Call
}

// Stack returns the frames of a stack, innermost first, and whether all of it is there.
func (s *Snapshot) Stack(id uint32) (frames []Frame, complete bool) {
	stack, end := s.Stacks.Stack(id)
	for _, f := range stack {
		calls := s.names[lookup.Question{Addr: f.Addr, Ret: f.Kind != tracer.PC}]
		if len(calls) > 0 && inLog(calls) && (len(frames) == 0 || len(frames) == 1 &&
			frames[0].Kind == tracer.Trap) {
			continue // what has happened is told otherwise
		}
		frames = append(frames, Frame{f.Kind, f.Addr, f.Vector, f.Number, calls})
	}
	return frames, end.Complete()
}

// logFunctions are what those functions begin with that log: the log's own, and the system
// call by which a goroutine reaches it.
var logFunctions = []string{
	"github.com/zeroframe/zeroframe/kernel/observe/handle.",
	"github.com/zeroframe/zeroframe/kernel.HandleKind.",
	"github.com/zeroframe/zeroframe/arch.Syscall",
	"github.com/zeroframe/zeroframe/arch/amd64.Syscall",
}

// inLog reports whether all the calls are the log's own.
func inLog(calls []Call) bool {
	for _, c := range calls {
		if !slices.ContainsFunc(logFunctions, func(p string) bool {
			return strings.HasPrefix(c.Function, p)
		}) {
			return false
		}
	}
	return true
}

// Named reports whether the snapshot has names.
func (s *Snapshot) Named() bool { return s.names != nil }

// Resolve looks up the names of all that the snapshot's stacks have.
func (s *Snapshot) Resolve(r Resolver) {
	wanted := map[lookup.Question]bool{}
	for id := range s.stackIDs() {
		stack, _ := s.Stacks.Stack(id)
		for _, f := range stack {
			if f.Addr != 0 && f.Kind != tracer.Trap {
				wanted[lookup.Question{Addr: f.Addr, Ret: f.Kind != tracer.PC}] = true
			}
		}
	}
	s.names = map[lookup.Question][]Call{}
	for _, ret := range []bool{false, true} {
		var addrs []uint64
		for l := range wanted {
			if l.Ret == ret {
				addrs = append(addrs, l.Addr)
			}
		}
		for i, frames := range r.LookupAll(addrs, ret) {
			var calls []Call
			for _, f := range frames {
				calls = append(calls, Call{f.Function, f.File, f.Line, f.Inlined})
			}
			s.names[lookup.Question{Addr: addrs[i], Ret: ret}] = calls
		}
	}
}

// stackIDs are those of all stacks that the snapshot names.
func (s *Snapshot) stackIDs() map[uint32]bool {
	ids := map[uint32]bool{}
	for _, h := range s.Open {
		ids[h.Stack] = true
	}
	for _, d := range s.Doubles {
		ids[d.Opened.Stack], ids[d.First.Stack], ids[d.Second.Stack] = true, true, true
	}
	for _, e := range s.Log {
		ids[e.Stack] = true
	}
	delete(ids, 0)
	return ids
}

const namesMagic = "zfnames1\n"

// fileName is an entry of the names in a file.
type fileName struct {
	Addr  uint64 `json:"addr"`
	Exact bool   `json:"exact,omitempty"`
	Calls []Call `json:"calls"`
}

// WithNames returns the data of the record that the snapshot was read from, with its names
// behind it.
func (s *Snapshot) WithNames(data []byte) ([]byte, error) {
	var all []fileName
	for l, calls := range s.names {
		all = append(all, fileName{l.Addr, !l.Ret, calls})
	}
	names, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return append(append(bytes.Clone(data), namesMagic...), names...), nil
}

func (s *Snapshot) readNames(data []byte) error {
	names, ok := bytes.CutPrefix(data, []byte(namesMagic))
	var all []fileName
	if !ok {
		return fmt.Errorf("the snapshot is damaged: %d bytes behind its end", len(data))
	}
	if err := json.Unmarshal(names, &all); err != nil {
		return fmt.Errorf("the names behind the snapshot: %w", err)
	}
	s.names = map[lookup.Question][]Call{}
	for _, n := range all {
		for i := range n.Calls {
			n.Calls[i].Function, n.Calls[i].File = printable(n.Calls[i].Function),
				strings.ToValidUTF8(n.Calls[i].File, "?")
		}
		s.names[lookup.Question{Addr: n.Addr, Ret: !n.Exact}] = n.Calls
	}
	return nil
}
