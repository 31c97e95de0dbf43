package profile

import (
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// Resolver is what names addresses: a *symbol.File, for one.
type Resolver interface {
	Lookup(addr uint64, ret bool) []lookup.Call
	// Code returns the code, or nil if it is not known.
	Code() *code.Image
	BuildID() string
	Name() string
}

// inferredMark is behind the name of a function that is on no stack: it is proven by the
// code to have made a tail call.
const inferredMark = " (inferred)"

// builder makes a profile.
type builder struct {
	sym   Resolver
	calls map[uint32]string
	p     *profile.Profile

	mapping   *profile.Mapping
	functions map[fileName]*profile.Function
	locations map[place]*profile.Location
	resolved  map[place][]lookup.Call
}

type fileName struct{ name, file string }

// place is what a location is of: an address, or what has none.
type place struct {
	addr uint64
	name string
}

// Pprof returns the record in pprof's format, with functions, lines and inlined calls.
// Of the frames' addresses, those of calls are in the call, as pprof has it. Callers that
// the stack does not show, but the code proves, are marked "(inferred)". Samples whose ticks
// came late in a system call have the label "late".
func (r *Record) Pprof(sym Resolver) (*profile.Profile, error) {
	b := builder{
		sym: sym, calls: r.Calls, functions: make(map[fileName]*profile.Function),
		locations: make(map[place]*profile.Location), resolved: make(map[place][]lookup.Call),
	}
	period := int64(1e9 / r.Hz)
	b.begin(&profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"},
			{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        period,
		TimeNanos:     r.Began.UnixNano(),
		DurationNanos: int64(r.Lasted),
	})
	if r.Lost > 0 {
		b.p.Comments = append(b.p.Comments,
			fmt.Sprintf(
				"%d of %d ticks were lost: no room for their stacks; depot=BYTES on the kernel command line makes more", r.Lost, r.Ticks))
	}
	if r.Stalled > 0 {
		b.p.Comments = append(b.p.Comments, r.StalledNote())
	}
	for _, c := range r.Counts {
		frames, end := r.Stacks.Stack(c.ID)
		if end == 0 {
			return nil, fmt.Errorf("the profile's record is damaged: there is no stack %d", c.ID)
		}
		s := &profile.Sample{Value: []int64{int64(c.Ticks), int64(c.Ticks) * period},
			Location: b.stack(frames), Label: map[string][]string{}}
		if !end.Complete() {
			s.Label["truncated"] = []string{endName(end)}
		}
		if c.Late {
			s.Label["late"] = []string{"call"}
		}
		b.p.Sample = append(b.p.Sample, s)
	}
	if err := b.p.CheckValid(); err != nil {
		return nil, err
	}
	return b.p, nil
}

// begin begins a profile of the program.
func (b *builder) begin(p *profile.Profile) {
	b.p = p
	b.mapping = &profile.Mapping{
		ID: 1, Limit: 1 << 47, File: b.sym.Name(), BuildID: b.sym.BuildID(),
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	b.p.Mapping = []*profile.Mapping{b.mapping}
}

// StalledNote says how many ticks are in no stack.
func (r *Record) StalledNote() string {
	return fmt.Sprintf(
		"%d of %d ticks are in no stack: the host had stalled the machine while the program ran",
		r.Stalled, r.Ticks)
}

// endName names the reason for which a stack is not whole.
func endName(e tracer.End) string {
	if s := e.String(); s != "" && s != "?" {
		return s
	}
	return "interrupt"
}

// stack returns the locations of a stack, innermost first.
func (b *builder) stack(frames []eventstream.Frame) []*profile.Location {
	var out []*profile.Location
	for i, f := range frames {
		switch {
		case f.Kind == tracer.Trap && f.Vector == tracer.VectorSyscall:
			out = append(out, b.named("[kernel] "+b.callName(f.Number)))
		case f.Kind == tracer.Trap:
			out = append(out, b.named("[trap] "+tracer.VectorName(f.Vector)))
		case f.Addr == 0:
			out = append(out, b.named("[no code]"))
		default:
			if i > 0 && f.Kind == tracer.RA {
				for _, name := range b.tailCallers(frames[i-1], f) {
					out = append(out, b.named(name+inferredMark))
				}
			}
			out = append(out, b.address(f))
		}
	}
	return out
}

func (b *builder) callName(number uint32) string {
	if name := b.calls[number]; name != "" {
		return name
	}
	return fmt.Sprintf("system call %d", number)
}

// lookUp is the resolver's, with a memory.
func (b *builder) lookUp(addr uint64, ret bool) []lookup.Call {
	at := place{addr: addr}
	if ret {
		at.name = "ra"
	}
	calls, ok := b.resolved[at]
	if !ok {
		calls = b.sym.Lookup(addr, ret)
		b.resolved[at] = calls
	}
	return calls
}

// address returns the location of a frame.
func (b *builder) address(f eventstream.Frame) *profile.Location {
	at := place{addr: f.Addr}
	if f.Kind != tracer.PC {
		at.addr-- // in the call
	}
	if l := b.locations[at]; l != nil {
		return l
	}
	l := b.add(at)
	l.Mapping, l.Address = b.mapping, at.addr
	for _, c := range b.lookUp(f.Addr, f.Kind != tracer.PC) {
		name := c.Function
		if name == "" {
			name = fmt.Sprintf("%#x", f.Addr)
		}
		l.Line = append(l.Line, profile.Line{Function: b.function(name, c.File), Line: int64(c.Line)})
	}
	if len(l.Line) == 0 {
		l.Line = []profile.Line{{Function: b.function(fmt.Sprintf("%#x", f.Addr), "")}}
	}
	return l
}

// named returns the location of what is no address.
func (b *builder) named(name string) *profile.Location {
	at := place{name: name}
	if l := b.locations[at]; l != nil {
		return l
	}
	l := b.add(at)
	l.Line = []profile.Line{{Function: b.function(name, "")}}
	return l
}

func (b *builder) add(at place) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1)}
	b.p.Location = append(b.p.Location, l)
	b.locations[at] = l
	return l
}

func (b *builder) function(name, file string) *profile.Function {
	at := fileName{name, file}
	if f := b.functions[at]; f != nil {
		return f
	}
	f := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name,
		Filename: file}
	b.p.Function = append(b.p.Function, f)
	b.functions[at] = f
	return f
}
