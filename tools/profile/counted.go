package profile

import (
	"github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/depot"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// Counted collects samples that were taken by counting instructions, from outside of the machine.
type Counted struct {
	stacks map[string]*stackCount
	order  []*stackCount
}

type stackCount struct {
	frames       []depot.Frame
	samples      int64
	instructions int64
	whole        bool
}

// Add adds a sample: the addresses of a stack, innermost first, of which all but the first are return addresses, and
// for how many instructions it stands. whole says that the stack ends where it began. A stack without addresses is of
// what is not in the image, such as firmware.
func (c *Counted) Add(stack []uint64, instructions uint64, whole bool) {
	key := make([]byte, 0, 8*len(stack)+1)
	for _, a := range stack {
		for i := range 8 {
			key = append(key, byte(a>>(8*i)))
		}
	}
	if whole {
		key = append(key, 1)
	}
	n := c.stacks[string(key)]
	if n == nil {
		n = &stackCount{whole: whole}
		for i, a := range stack {
			f := depot.Frame{Kind: tracer.RA, Addr: a}
			if i == 0 {
				f.Kind = tracer.PC
			}
			n.frames = append(n.frames, f)
		}
		if c.stacks == nil {
			c.stacks = map[string]*stackCount{}
		}
		c.stacks[string(key)] = n
		c.order = append(c.order, n)
	}
	n.samples++
	n.instructions += int64(instructions)
}

// Pprof returns the samples in pprof's format, as [Record.Pprof] does; every is the number of instructions from one
// sample to the next.
func (c *Counted) Pprof(every uint64, sym Resolver) (*profile.Profile, error) {
	b := builder{
		sym: sym, functions: make(map[fileName]*profile.Function),
		locations: make(map[place]*profile.Location), resolved: make(map[place][]lookup.Call),
	}
	b.begin(&profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "instructions", Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "instructions", Unit: "count"},
		Period:     int64(every),
	})
	for _, n := range c.order {
		s := &profile.Sample{Value: []int64{n.samples, n.instructions}, Location: b.stack(n.frames), Label: map[string][]string{}}
		if len(n.frames) == 0 {
			s.Location = []*profile.Location{b.named("[outside of the image]")}
		}
		if !n.whole {
			s.Label["truncated"] = []string{"stack"}
		}
		b.p.Sample = append(b.p.Sample, s)
	}
	if err := b.p.CheckValid(); err != nil {
		return nil, err
	}
	return b.p, nil
}
