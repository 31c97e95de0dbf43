package probe

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
)

// Kind is the kind of the target's record (package kernel/observe/probe has its format).
const Kind = "probes"

const (
	version = 1
	buckets = 160
)

// ErrRecord is returned for a record that cannot be read.
var ErrRecord = errors.New("no record of probes")

// A Report is what a target has counted.
type Report struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	// Hits is the number of breakpoints met, Overhead the time that took.
	Hits     uint64        `json:"hits"`
	Overhead time.Duration `json:"overhead_ns"`
	// LostCallers is the number of calls whose callers are not known.
	LostCallers uint64     `json:"lost_callers,omitempty"`
	Functions   []Counts   `json:"functions"`
	Refused     []Refusal  `json:"refused,omitempty"`
	Inlined     []InlinedN `json:"inlined,omitempty"`
}

// A Refusal is a function that was not probed.
type Refusal struct {
	Function string `json:"function"`
	Reason   string `json:"reason"`
}

// InlinedN is a function that is inlined in so many places, where its calls do not count.
type InlinedN struct {
	Function string `json:"function"`
	Places   int    `json:"places"`
}

// Counts are those of a function. Calls is the sum of Returns, Jumps, Unwound and Open;
// a function that has jumped ended in a call of another one.
type Counts struct {
	Function string `json:"function"`
	Address  Hex    `json:"address"`
	Calls    uint64 `json:"calls"`
	Returns  uint64 `json:"returns"`
	Jumps    uint64 `json:"jumps,omitempty"`
	Unwound  uint64 `json:"unwound,omitempty"` // ended by a panic or runtime.Goexit
	Open     uint64 `json:"open,omitempty"`    // when the machine ended
	// Untimed calls are those for which the target had no room.
	Untimed uint64        `json:"untimed,omitempty"`
	Timed   uint64        `json:"timed"`
	Total   time.Duration `json:"total_ns"`
	Mean    time.Duration `json:"mean_ns"`
	Min     time.Duration `json:"min_ns"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	Max     time.Duration `json:"max_ns"`
	// Histogram has the times in buckets of a quarter of an octave.
	Histogram []Bar    `json:"histogram,omitempty"`
	Callers   []Caller `json:"callers,omitempty"`
}

// A Bar is the number of calls that took at least From and less than the next one's.
type Bar struct {
	From  time.Duration `json:"from_ns"`
	Count uint64        `json:"count"`
}

// A Caller is a stack from which a function was called.
type Caller struct {
	Calls uint64        `json:"calls"`
	Timed uint64        `json:"timed"`
	Total time.Duration `json:"total_ns"`
	// Stack is return addresses, innermost first.
	Stack []Hex    `json:"addresses"`
	Names []string `json:"stack,omitempty"`
}

// Hex is an address.
type Hex uint64

// MarshalText writes it as zf writes addresses.
func (h Hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// UnmarshalText reads it.
func (h *Hex) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 64)
	*h = Hex(v)
	return err
}

// Read reads the record that a target with the plan p has sent.
func (p *Plan) Read(data []byte) (*Report, error) {
	r := &eventstream.Numbers{Data: data}
	if v := r.Number(); r.Bad || v != version {
		return nil, fmt.Errorf("%w of version %d", ErrRecord, version)
	}
	hz := r.Number()
	if hz == 0 {
		return nil, fmt.Errorf("%w: the time stamp counter stands still", ErrRecord)
	}
	span := func(ticks uint64) time.Duration {
		return time.Duration(ticks/hz*1e9 + uint64(float64(ticks%hz)/float64(hz)*1e9+0.5))
	}
	rep := &Report{Version: version, Kind: Kind, Hits: r.Number(), Overhead: span(r.Number()),
		LostCallers: r.Number()}
	index := make(map[uint64]int)
	for range r.Count(12) {
		id := r.Number()
		if id >= uint64(len(p.Functions)) || r.Bad {
			return nil, fmt.Errorf("%w: function %d of %d", ErrRecord, id, len(p.Functions))
		}
		c := Counts{Function: p.Functions[id].Name, Address: Hex(p.Functions[id].Start)}
		for _, f := range []*uint64{&c.Calls, &c.Returns, &c.Jumps, &c.Unwound, &c.Open,
			&c.Untimed, &c.Timed} {
			*f = r.Number()
		}
		c.Total, c.Min, c.Max = span(r.Number()), span(r.Number()), span(r.Number())
		if c.Timed > 0 {
			c.Mean = c.Total / time.Duration(min(c.Timed, 1<<62))
		}
		c.histogram(r, span)
		index[id] = len(rep.Functions)
		rep.Functions = append(rep.Functions, c)
	}
	for range r.Count(5) {
		i, ok := index[r.Number()]
		row := Caller{Calls: r.Number(), Timed: r.Number(), Total: span(r.Number())}
		for range r.Count(1) {
			row.Stack = append(row.Stack, Hex(p.textLo+r.Number()))
		}
		if !ok || r.Bad {
			return nil, fmt.Errorf("%w: callers of nothing", ErrRecord)
		}
		rep.Functions[i].Callers = append(rep.Functions[i].Callers, row)
	}
	if r.Bad || len(r.Data) > 0 {
		return nil, fmt.Errorf("%w: %d bytes are left, or some are missing", ErrRecord, len(r.Data))
	}
	p.addRest(rep)
	return rep, nil
}

// histogram reads the buckets, and takes the quantiles from them: the middle of the
// bucket, within the extremes.
func (c *Counts) histogram(r *eventstream.Numbers, span func(ticks uint64) time.Duration) {
	type bucket struct{ no, count uint64 }
	var all []bucket
	sum := uint64(0)
	for range r.Count(2) {
		b := bucket{r.Number(), r.Number()}
		if b.no >= buckets || len(all) > 0 && b.no <= all[len(all)-1].no {
			r.Bad = true
			return
		}
		all = append(all, b)
		sum += b.count
		c.Histogram = append(c.Histogram, Bar{span(Lowest(b.no)), b.count})
	}
	quantile := func(q float64) time.Duration {
		left := uint64(q * float64(sum))
		for _, b := range all {
			if b.count > left {
				return min(max(span((Lowest(b.no)+Lowest(b.no+1))/2), c.Min), c.Max)
			}
			left -= b.count
		}
		return c.Max
	}
	c.P50, c.P99 = quantile(0.5), quantile(0.99)
}

// Lowest returns the fewest ticks of a bucket of the target's histogram.
func Lowest(bucket uint64) uint64 {
	if bucket < 4 {
		return bucket
	}
	return (4 + bucket%4) << (bucket/4 - 1)
}

// addRest adds what the target does not know.
func (p *Plan) addRest(rep *Report) {
	for i := range p.Refused {
		rep.Refused = append(rep.Refused, Refusal{p.Refused[i].Name, p.Refused[i].Refused})
	}
	for name, n := range p.Inlined {
		rep.Inlined = append(rep.Inlined, InlinedN{name, n})
	}
}
