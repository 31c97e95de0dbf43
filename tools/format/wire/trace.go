package wire

// A Trace is what a target said, as far as it arrived. It is built up record
// by record, in the order of the wire, and every list in it has a limit: the
// sender may be broken or hostile, and its traces are read for hours. What is
// beyond a limit is dropped and the trace counts as damaged.

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// Limits of what is kept of one trace. A whole trace of the target is well
// below them.
const (
	// MaxLine is the longest trace line in bytes, its ending included. A
	// longer one is no trace line and passes through.
	MaxLine = 64 << 10
	// MaxFrames is the largest number of frames that a trace keeps.
	MaxFrames = 4096
	// MaxWords is the largest number of 8-byte words of memory.
	MaxWords = 16384
	// MaxStacks is the largest number of rows of the stack table.
	MaxStacks = tracer.MaxStacks
	// MaxReason is the longest reason in bytes.
	MaxReason = 4096
	// MaxName is the longest name (a stack, a build ID, a kind) in bytes.
	MaxName = 128
)

// Trace is one trace. Addresses are virtual addresses of the target.
type Trace struct {
	// Format is empty for Zeroframe's own traces. For those of others (group.go) it
	// says whose: FormatLinux and so on. These have a Kind that is the format, a
	// Reason if a line said why, Frames, and the Thread, Goroutine and Registers where
	// the format tells; the addresses are those in the ELF file.
	Format string
	// Seq counts the traces since boot, from 1; 0 if it is not known.
	Seq uint64
	// Previous is set for a trace that a boot before this one has left in RAM: how
	// many deaths that RAM has seen by then, from 1.
	Previous uint64
	// Kind and Context are the words of the wire ("panic", "early"); empty
	// when the begin line was lost.
	Kind, Context string
	// Thread is the number of the thread that the trace is about, Goroutine that
	// of the goroutine that it ran, or 0.
	Thread, Goroutine uint64
	// CPU is the number of the CPU that the trace is of, from 0; HasCPU is not set if it does not
	// say, as on a machine with one. Of is the number of the trace of another CPU's death, during
	// which this one was stopped or has died, too; else 0.
	CPU, Of uint64
	HasCPU  bool
	// BuildID is the GNU build ID of the image that wrote the trace, in
	// lower-case hexadecimal; empty when it has none or it is not known. A trace
	// that does not say has the latest ID that the stream gave before it.
	BuildID string
	// Reason says in words why there is a trace.
	Reason string
	// Watched names the variable at the address that a trace of a watched place is of, "" if it is
	// none, or has none. The host finds it.
	Watched string
	// Cause is the CPU exception behind the trace, nil if there is none.
	Cause *Cause
	// Registers are the values by name (tracer.AMD64.Registers).
	Registers map[string]uint64
	// Frames are the frames, innermost first, with those that the host added.
	Frames []Frame
	// End is the reason for which the walk stopped, in the word of the wire;
	// empty when the trace was cut before. EndValue is the offending value. When
	// the host has completed the trace (unwind.go), End is how that ended and
	// WalkEnd why the walk stopped; else WalkEnd is empty.
	End      string
	EndValue uint64
	WalkEnd  string
	// Stacks is the table of stacks with their high-water marks.
	Stacks []Stack
	// Events are what its CPU did last, the oldest first.
	Events []Event
	// Branches are those that it took last, the oldest first.
	Branches []Branch
	// Last is set for the single line that is left when the panic path has
	// failed twice. It has no CRC.
	Last bool
	// Damaged is set when the trace is not what was sent, or not all of it.
	// Damage says why, in words; it is empty otherwise.
	Damaged bool
	Damage  string
	// Repeat is set for a trace that came as one line, in the compact form, since all
	// that it says was said by the trace before. RepeatOf is the number of that, or 0
	// if it did not arrive; then the trace is damaged and empty.
	// Of the registers, words and stacks it has only what cannot have changed.
	Repeat   bool
	RepeatOf uint64
	// Cut is set when the trace has no end line. A cut trace is Damaged too.
	Cut bool

	// Words are the words of memory that the trace carries, by their addresses.
	Words map[uint64]uint64
	// Missing is what it builds on and did not arrive, in words.
	Missing string
	// PartBuild is set if BuildID is only the beginning of the ID, NoBuild if no build
	// ID is known, neither from it nor from the stream, NoBegin if its begin line did
	// not arrive.
	PartBuild, NoBuild, NoBegin bool

	leftOut uint64 // frames that are left out before the one to come
}

// Cause is a CPU exception.
type Cause struct {
	// Vector is its number and ErrorCode what the CPU pushed, or 0.
	Vector, ErrorCode uint64
	// PC is the instruction that trapped; 0 in the compact form, which leaves
	// it to the registers.
	PC uint64
	// Address is the address that faulted, for a page fault (HasAddress).
	Address    uint64
	HasAddress bool
}

// Frame is one frame of a trace.
type Frame struct {
	// Kind says how the address was found.
	Kind tracer.Kind
	// Address is in the function; for a tracer.Trap it is the interrupted one.
	Address uint64
	// FP is the frame pointer, SP the stack pointer (tracer.PC only).
	FP, SP uint64
	// Vector and ErrorCode belong to a tracer.Trap.
	Vector, ErrorCode uint64
	// Stack is the name of the stack that the frame is on, or empty.
	Stack string
	// Repeat is how many more frames like this one follow it, folded: each with the same
	// address, on the same stack. Elided is how many frames are left out before it.
	Repeat, Elided uint64
	// LastFP is the frame pointer of the last of them, or 0 if it is not known.
	LastFP uint64
	// Repaired is set for a caller that the host found by the pc tables.
	Repaired bool
	// Source says how the host found a frame that the walk has missed, by
	// unwinding the words of the stack: SourceCFI, SourcePrologue or SourceScan;
	// empty for any other frame.
	Source string
	// Quoted is set for a frame of a foreign trace that is in none of the ELF files:
	// what Calls has is what the trace itself said. Its Address is 0 if that did not
	// say one. Module is Linux's module that it is in.
	Quoted bool
	Module string
	// Note says how sure a frame of a foreign trace is, in words.
	Note string
	// CFA is RSP in the caller, behind its call, where the host knows it; else 0.
	CFA uint64
	// Calls are the functions at Address, innermost first: inlined calls, then
	// the function itself. Empty when the address is not resolved.
	Calls []lookup.Call
	// Arguments are those of each of Calls; nil if nothing is known of them.
	Arguments [][]lookup.Argument

	// Bare is set if FP and SP are not known.
	Bare bool
}

// Sources of frames that the host has put in (Frame.Source).
const (
	// SourceCFI: the tables: call frame information, or Go's pc tables.
	SourceCFI = "cfi"
	// SourcePrologue: the instructions of a function without a table.
	SourcePrologue = "prologue"
	// SourceScan: a word that is an address behind a call.
	SourceScan = "scan"
)

// Stack is a row of the table of stacks. Sizes are in bytes.
type Stack struct {
	Name   string
	Lo, Hi uint64
	// Used is the high-water mark: at least so much has been used.
	Size, Used, Limit uint64
	// Level is the grade that the target gave, in the word of the wire.
	Level string
}

// Complete reports whether the walk reached the outermost frame and all of it
// arrived. The ends "zero" and "goexit" say the first; of a damaged trace, frames
// may be missing whatever its end.
func (t *Trace) Complete() bool { return CompleteEnd(t.End) && !t.Damaged }

// CompleteEnd reports whether the end, in the word of the wire, is that of a walk
// that reached the outermost frame.
func CompleteEnd(end string) bool {
	return end == tracer.EndZero.String() || end == tracer.EndGoexit.String()
}

// Fatal reports whether the trace ended the kernel. A trace that is damaged
// counts as fatal, since its kind may be what was damaged: a failure must never
// look like a success. But a repetition is never one of a trace that ended the kernel, and what a
// foreign trace ended is not known. A trace of a boot before did not end this one.
func (t *Trace) Fatal() bool {
	if t.Repeat || t.Previous > 0 || t.Format != "" {
		return false
	}
	return t.Damaged || !t.Asked()
}

// Asked reports whether the trace has a kind that is asked for, after which the kernel
// goes on.
func (t *Trace) Asked() bool {
	return t.Kind == tracer.KindNMI.String() || t.Kind == tracer.KindTrace.String()
}

// CutDamage is the Damage of a trace that is intact as far as it goes.
const CutDamage = "it was cut"

// Blame says which calls a summary names.
func (t *Trace) Blame() lookup.Blame {
	var o lookup.Owners
	return o.Blame(len(t.Frames), func(i int) []lookup.Call { return t.Frames[i].Calls },
		t.Fatal() && t.Context == tracer.ContextKernel.String() && t.Kind != tracer.KindOOM.String())
}

// Culprit returns the first of these calls as the index of its frame and that of the call in it.
// It is not ok, and both are 0, if there is none to name, as before the names are known.
func (t *Trace) Culprit() (frame, call int, ok bool) {
	b := t.Blame()
	if !b.Told() {
		return 0, 0, false
	}
	return b.First.Frame, b.First.Call, true
}

// MarkDamaged marks the trace as damaged. The first cause is kept.
func (t *Trace) MarkDamaged(why string) {
	if !t.Damaged {
		t.Damaged, t.Damage = true, why
	}
}

// added appends v to what the trace has of that kind, unless there are too many.
func added[T any](t *Trace, to []T, v T, most int, what string) []T {
	if len(to) >= most {
		t.MarkDamaged("it has too many " + what)
		return to
	}
	return append(to, v)
}

// add puts what the record says into the trace and returns the index of the
// frame that it added, or -1.
func (t *Trace) add(r *Record) int {
	switch r.Op {
	case OpBegin:
		t.Seq, t.Kind, t.Context = r.Seq, r.Kind, r.Context
		t.Thread, t.Goroutine = r.Thread, r.Goroutine
		t.CPU, t.Of, t.HasCPU = r.CPU, r.Of, r.HasCPU
		t.BuildID, t.PartBuild, t.NoBuild = r.BuildID, r.PartBuild, !r.HasBuild
	case OpReason:
		t.Reason = r.Text
		if len(t.Reason) > MaxReason {
			t.Reason = t.Reason[:MaxReason]
			t.MarkDamaged("its reason is too long")
		}
	case OpCause:
		c := r.Cause
		t.Cause = &c
	case OpMem:
		t.addWords(r)
	case OpFrame:
		if len(t.Frames) >= MaxFrames {
			t.MarkDamaged("it has too many frames")
			break
		}
		if t.Frames == nil {
			t.Frames = make([]Frame, 0, 32)
		}
		t.Frames = append(t.Frames, r.Frame)
		n := len(t.Frames) - 1
		t.Frames[n].Elided, t.leftOut = t.leftOut, 0
		return n
	case OpFold:
		t.addFold(r)
	case OpLeftOut:
		t.leftOut = r.Count
	case OpStop:
		t.End, t.EndValue = r.End, r.Value
	case OpReg:
		for _, reg := range r.Regs {
			if t.Registers == nil {
				t.Registers = make(map[string]uint64)
			}
			t.Registers[reg.Name] = reg.Value
		}
	case OpStack:
		t.Stacks = added(t, t.Stacks, r.Stack, MaxStacks, "stacks")
	case OpEvent:
		t.Events = added(t, t.Events, r.Event, MaxEvents, "events")
	case OpBranch:
		t.Branches = added(t, t.Branches, r.Branch, MaxBranches, "branches")
	}
	return -1
}

// addWords keeps the words of a memory dump by their addresses.
func (t *Trace) addWords(r *Record) {
	if t.Words == nil {
		t.Words = make(map[uint64]uint64)
	}
	for i, w := range r.Words {
		if len(t.Words) >= MaxWords {
			t.MarkDamaged("its memory dump is too long")
			return
		}
		t.Words[r.Address+uint64(i)*8] = w
	}
}

// RegisterNames returns the names of the registers that the trace has, in the order of the
// machine; those that it does not know come last.
func (t *Trace) RegisterNames() []string {
	order := func(name string) int {
		if i := slices.Index(tracer.AMD64.Registers, name); i >= 0 {
			return i
		}
		return len(tracer.AMD64.Registers)
	}
	return slices.SortedFunc(maps.Keys(t.Registers), func(a, b string) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), strings.Compare(a, b))
	})
}

// Word returns the 8 bytes of the target's memory at the address, if the trace
// has them.
func (t *Trace) Word(address uint64) (uint64, bool) {
	w, ok := t.Words[address]
	return w, ok
}
