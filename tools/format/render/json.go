package render

// A trace as JSON: one object, one line. The names and their meaning are an
// interface to other programs; a field may be added, none may change.
//
// The kind of a trace whose begin line was lost is not known. It is "trace" then,
// the word that claims the least, and damaged is true.
//
// Of a frame with inlined calls, the function itself, which is the last, has repeat: all of
// them come so often. The first has elided.
//
// The last trace of a list of all goroutines has waits: who waits for whom (tools/postmortem/waits,
// ListJSON).
//
// A foreign trace (tools/format/foreign/group.go) is an object with the same fields. Its kind is
// the format: linux, go, tinygo, markup, esp-idf, zephyr, gdb, windbg, or address for what only a
// word marks. Its reason is the line that said why, its thread Linux's process, its registers what
// Linux printed; complete is false and end empty, since none of these formats says where a trace
// ends, and build_id and stacks are empty. Of its frames kind is pc (exact), ra (a return address)
// or scan (a word of the stack, Linux's "?"), address the one in the ELF file. A frame of none of
// the ELF files has quoted true and what the trace itself said of it, without an address if that
// had none.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

type jsonTrace struct {
	Version      int     `json:"version"`
	Kind         string  `json:"kind"`
	Reason       string  `json:"reason"`
	Watched      string  `json:"watched,omitempty"`
	Context      string  `json:"context"`
	Vector       *uint64 `json:"vector,omitempty"`
	ErrorCode    *uint64 `json:"error_code,omitempty"`
	FaultAddress string  `json:"fault_address,omitempty"`
	BuildID      string  `json:"build_id"`
	Thread       uint64  `json:"thread"`
	Goroutine    uint64  `json:"goroutine,omitempty"` // none: left out
	CPU          *uint64 `json:"cpu,omitempty"`       // on a machine with several
	// number of the trace of the death that this one, of another CPU, belongs to
	Of        uint64            `json:"of,omitempty"`
	Registers map[string]string `json:"registers"`
	Complete  bool              `json:"complete"`
	End       string            `json:"end"`
	// of the target's walk, if the host went further
	WalkEnd string `json:"walk_end,omitempty"`
	Damaged bool   `json:"damaged"`
	// number of the trace that it is once more
	RepeatOf uint64 `json:"repeat_of,omitempty"`
	// of a boot before: which death of that RAM it was
	Previous uint64 `json:"previous,omitempty"`
	// which of the frames, from 0, a summary names; not known: left out
	Culprit *int        `json:"culprit,omitempty"`
	Frames  []jsonFrame `json:"frames"`
	Stacks  []jsonStack `json:"stacks"`
	// what the CPU did last, the oldest first
	Events []jsonEvent `json:"events,omitempty"`
	// those that it took last, where it records them, the oldest first
	Branches []jsonBranch `json:"branches,omitempty"`
}

type jsonFrame struct {
	Kind      string  `json:"kind"`
	Address   string  `json:"address,omitempty"` // only a quoted frame may have none
	FP        string  `json:"fp,omitempty"`      // not of a trap, nor of what the host infers
	SP        string  `json:"sp,omitempty"`      // of a pc
	Stack     string  `json:"stack,omitempty"`
	Vector    *uint64 `json:"vector,omitempty"` // of a trap
	ErrorCode *uint64 `json:"error_code,omitempty"`
	Function  string  `json:"function,omitempty"`
	Offset    *uint64 `json:"offset,omitempty"` // in the physical function; not of an inferred one
	File      string  `json:"file,omitempty"`
	Line      int     `json:"line,omitempty"`
	Inlined   bool    `json:"inlined"`
	Repeat    uint64  `json:"repeat,omitempty"`   // how many more of the same frames follow, folded
	Elided    uint64  `json:"elided,omitempty"`   // frames left out before this one
	Repaired  bool    `json:"repaired,omitempty"` // added by the host
	Source    string  `json:"source,omitempty"`   // likewise, by unwinding: cfi, prologue, scan
	Module    string  `json:"module,omitempty"`   // of Linux
	Quoted    bool    `json:"quoted,omitempty"`   // in no ELF file: the trace's own words
	Note      string  `json:"note,omitempty"`     // of a foreign trace: how sure it is

	// what the function was called with, if anything is known of it
	Args []jsonArgument `json:"args,omitempty"`
}

type jsonArgument struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Value *string `json:"value"` // as Go's source has it; null: not known
}

type jsonStack struct {
	Name       string `json:"name"`
	Size       uint64 `json:"size"`
	Used       uint64 `json:"used"`
	Overflowed bool   `json:"overflowed"`
}

// JSON returns the trace as one JSON object and a line feed. Addresses are
// hexadecimal strings, sizes bytes. Each inlined call is a frame of its own,
// innermost first. Bytes of a name or a reason that are not UTF-8 become
// U+FFFD; control characters are escaped, so that the line can be shown.
func JSON(t *wire.Trace) []byte {
	j := jsonTrace{
		Version: 1, Kind: kindOf(t), Reason: t.Reason, Watched: t.Watched, Context: t.Context,
		BuildID: t.BuildID, Thread: t.Thread, Goroutine: t.Goroutine, Of: t.Of,
		Registers: make(map[string]string, len(t.Registers)),
		Complete:  t.Complete(), End: t.End, WalkEnd: t.WalkEnd, Damaged: t.Damaged,
		RepeatOf: t.RepeatOf, Previous: t.Previous, Frames: []jsonFrame{}, Stacks: []jsonStack{},
	}
	if c := t.Cause; c != nil {
		j.Vector, j.ErrorCode = &c.Vector, &c.ErrorCode
		if c.HasAddress {
			j.FaultAddress = hexString(c.Address)
		}
	}
	if t.HasCPU {
		j.CPU = &t.CPU
	}
	for name, v := range t.Registers {
		j.Registers[name] = hexString(v)
	}
	frame, call, ok := t.Culprit()
	for i := range t.Frames {
		if ok && i == frame {
			at := len(j.Frames) + call
			j.Culprit = &at
		}
		j.Frames = appendFrames(j.Frames, &t.Frames[i])
	}
	for _, s := range t.Stacks {
		j.Stacks = append(j.Stacks, jsonStack{s.Name, s.Size, s.Used,
			s.Level == tracer.LevelOverflowed.String()})
	}
	for i := range t.Events {
		j.Events = append(j.Events, eventJSON(&t.Events[i]))
	}
	for i := range t.Branches {
		j.Branches = append(j.Branches, branchJSON(&t.Branches[i]))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(&j); err != nil {
		// Strings, numbers and truth values only: it cannot fail.
		panic(err)
	}
	return terminal.EscapeControls(b.Bytes())
}

// kindOf returns a trace's kind, or the one that claims the least.
func kindOf(t *wire.Trace) string { return cmp.Or(t.Kind, tracer.KindTrace.String()) }

// appendFrames appends a frame with its inlined calls.
func appendFrames(to []jsonFrame, f *wire.Frame) []jsonFrame {
	j := jsonFrame{
		Kind:     f.Kind.String(),
		Address:  hexString(f.Address),
		Stack:    f.Stack,
		Repaired: f.Repaired,
		Source:   f.Source,
		Module:   f.Module,
		Quoted:   f.Quoted,
		Note:     f.Note,
		Elided:   f.Elided,
	}
	if f.Quoted && f.Address == 0 {
		j.Address = ""
	}
	switch {
	case f.Bare:
	case f.Kind == tracer.Trap:
		j.Vector, j.ErrorCode = &f.Vector, &f.ErrorCode
	case f.Kind == tracer.PC:
		j.SP = hexString(f.SP)
		fallthrough
	default:
		if f.Kind != tracer.Inferred && f.Source == "" || f.FP != 0 { // else the host knows none
			j.FP = hexString(f.FP)
		}
	}
	if len(f.Calls) == 0 {
		j.Repeat = f.Repeat
		return append(to, j)
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		j.Function, j.File, j.Line = c.Function, c.File, c.Line
		if j.Inlined = c.Inlined; f.Kind != tracer.Inferred {
			j.Offset = &c.Offset
		}
		if i == len(f.Calls)-1 {
			j.Repeat = f.Repeat
		}
		j.Args = nil
		if f.Arguments != nil {
			for _, a := range f.Arguments[i] {
				arg := jsonArgument{Name: a.Name, Type: a.Type}
				if a.Known {
					arg.Value = &a.Value
				}
				j.Args = append(j.Args, arg)
			}
		}
		to = append(to, j)
		j.Elided = 0
	}
	return to
}

func hexString(v uint64) string { return fmt.Sprintf("%#x", v) }
