package handle

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tracer"
)

// The heap profile of Go's runtime. The kernel reads it where the runtime keeps it, so it
// is there after a death too; here it becomes what runtime/pprof writes.

// HeapKind is the kind of the record that a heap profile is: see kernel/observe/handle/heap.go.
const HeapKind = "heap"

const heapMagic = "zfheap2\n"

// Heap is a heap profile as the runtime keeps it.
type Heap struct {
	BuildID string
	Now     time.Duration // since boot
	Boot    time.Time
	Rate    int64 // bytes between two samples, in the mean: runtime.MemProfileRate
	Sites   []HeapSite
}

// HeapSite is a stack that has allocated objects of one size in bytes.
type HeapSite struct {
	Size int64
	// Settled is as of the end of the last garbage collection whose work was done, Since is
	// what has come from then to Now: what of that was garbage, nobody knew.
	Settled, Since HeapCount
	Stack          []uint64 // return addresses, innermost first
}

// HeapCount is how many objects were allocated and freed.
type HeapCount struct{ Allocs, Frees int64 }

// ReadHeap reads a record of the kind HeapKind. It may be any bytes.
func ReadHeap(data []byte) (*Heap, error) {
	if !bytes.HasPrefix(data, []byte(heapMagic)) {
		return nil, errors.New("this is no heap profile of the kernel's")
	}
	r := &reader{Numbers: eventstream.Numbers{Data: data[len(heapMagic):]}}
	h := &Heap{BuildID: hex.EncodeToString(r.Bytes())}
	h.Now, h.Boot, h.Rate = r.ns(), time.Unix(0, int64(r.Number())), int64(r.Number())
	for r.Number() == 1 {
		var s HeapSite
		for _, p := range []*int64{&s.Size, &s.Settled.Allocs, &s.Settled.Frees, &s.Since.Allocs,
			&s.Since.Frees} {
			*p = int64(r.Number())
		}
		for range r.Count(1) {
			s.Stack = append(s.Stack, r.Number())
		}
		h.Sites = append(h.Sites, s)
	}
	if r.Bad || len(r.Data) > 0 {
		return nil, errors.New(
			"the heap profile is damaged: it ends in the middle, or has bytes behind its end")
	}
	return h, nil
}

// Collected reports whether a garbage collection's work was done by then.
func (h *Heap) Collected() bool {
	for i := range h.Sites {
		if h.Sites[i].Settled != (HeapCount{}) {
			return true
		}
	}
	return false
}

// AsOf says as of when the profile is, and what the garbage collector did not know yet.
func (h *Heap) AsOf() string {
	at := fmt.Sprintf("as of %.6f s after the boot, at the end of all that was allocated",
		h.Now.Seconds())
	if !h.Collected() {
		return at + "; no garbage collection was done by then, so garbage is in use here"
	}
	objects, size := int64(0), int64(0)
	for _, s := range h.Sites {
		n, b := scale(s.Since.Allocs, s.Since.Allocs*s.Size, h.Rate)
		objects, size = objects+n, size+b
	}
	return fmt.Sprintf(
		"%s; %d objects of %d bytes in all have come since the last garbage collection, garbage among them: label %s=%s", at, objects, size, sinceKey, sinceGC)
}

// The label of samples that have come since the last garbage collection.
const sinceKey, sinceGC = "allocated", "since-gc"

// Profile returns the profile as runtime/pprof makes it, with names, and with what was
// allocated since the last garbage collection: those samples have a label, and without
// them the profile is the one that the runtime would have given. file is the image's name.
func (h *Heap) Profile(names Resolver, file string) *profile.Profile {
	mapping := &profile.Mapping{
		ID: 1, File: file, BuildID: h.BuildID,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	p := &profile.Profile{
		Mapping: []*profile.Mapping{mapping},
		SampleType: []*profile.ValueType{
			{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
		},
		DefaultSampleType: "inuse_space",
		PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:            h.Rate,
		TimeNanos:         h.Boot.Add(h.Now).UnixNano(),
		Comments:          []string{h.AsOf()},
	}
	var addrs []uint64
	locations := map[uint64]*profile.Location{}
	for _, s := range h.Sites {
		for _, a := range s.Stack {
			if locations[a] == nil {
				locations[a] = &profile.Location{ID: uint64(len(addrs)) + 1, Address: a, Mapping: mapping}
				addrs = append(addrs, a)
				p.Location = append(p.Location, locations[a])
			}
		}
	}
	functions := map[[2]string]*profile.Function{}
	for i, frames := range names.LookupAll(addrs, true) {
		for _, f := range frames {
			key := [2]string{f.Function, f.File}
			if functions[key] == nil {
				functions[key] = &profile.Function{ID: uint64(len(functions)) + 1, Name: f.Function,
					SystemName: f.Function, Filename: f.File}
				p.Function = append(p.Function, functions[key])
			}
			l := p.Location[i]
			l.Line = append(l.Line, profile.Line{Function: functions[key], Line: int64(f.Line)})
		}
	}
	collected := h.Collected()
	for _, s := range h.Sites {
		var stack []*profile.Location
		for _, a := range s.Stack {
			stack = append(stack, locations[a])
		}
		for len(stack) > 1 && allocator(stack[0]) {
			stack = stack[1:]
		}
		for i, c := range []HeapCount{s.Settled, s.Since} {
			if c != (HeapCount{}) {
				p.Sample = append(p.Sample, c.sample(s.Size, h.Rate, stack, i == 1 && collected))
			}
		}
	}
	return p
}

// sample returns the sample of objects of a size, with a label if they are those since a garbage
// collection.
func (c *HeapCount) sample(size, rate int64, stack []*profile.Location,
	since bool) *profile.Sample {
	ao, ab := scale(c.Allocs, c.Allocs*size, rate)
	io, ib := scale(c.Allocs-c.Frees, (c.Allocs-c.Frees)*size, rate)
	s := &profile.Sample{Value: []int64{ao, ab, io, ib},
		NumLabel: map[string][]int64{"bytes": {size}}, Location: stack}
	if since {
		s.Label = map[string][]string{sinceKey: {sinceGC}}
	}
	return s
}

// allocator reports whether a location is within the runtime alone. runtime/pprof leaves
// those out in front.
func allocator(l *profile.Location) bool {
	for _, line := range l.Line {
		if !strings.HasPrefix(line.Function.Name, "runtime.") {
			return false
		}
	}
	return len(l.Line) > 0
}

// scale makes of the samples what they stand for, as runtime/pprof does: an object of a
// size is sampled with the probability 1 - exp(-size/rate).
func scale(count, size, rate int64) (int64, int64) {
	if count == 0 || size == 0 {
		return 0, 0
	}
	if rate <= 1 {
		return count, size
	}
	by := 1 / (1 - math.Exp(-float64(size)/float64(count)/float64(rate)))
	return int64(float64(count) * by), int64(float64(size) * by)
}

// IsHeap reports whether a file is a profile in pprof's format, compressed as usual.
func IsHeap(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// maxHeap bounds an uncompressed profile, in bytes.
const maxHeap = 512 << 20

// HeapUses reads a heap profile in pprof's format: what each stack has in use.
func HeapUses(data []byte) ([]Use, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxHeap))
	if err != nil {
		return nil, err
	}
	return heapUses(plain)
}

// heapUses is HeapUses for a profile that is not compressed.
func heapUses(plain []byte) ([]Use, error) {
	p, err := profile.ParseUncompressed(plain)
	if err == nil {
		err = p.CheckValid() // each location that a sample has is there
	}
	if err != nil {
		return nil, err
	}
	objects, space := -1, -1
	for i, t := range p.SampleType {
		switch t.Type {
		case "inuse_objects":
			objects = i
		case "inuse_space":
			space = i
		}
	}
	if objects < 0 || space < 0 {
		return nil, errors.New("the profile is none of the heap: it has no inuse_objects and inuse_space")
	}
	var all uses
	for _, s := range p.Sample {
		if objects >= len(s.Value) || space >= len(s.Value) {
			return nil, fmt.Errorf("the profile has a sample of %d values", len(s.Value))
		}
		u := Use{Kind: "object", Whole: true}
		for _, l := range s.Location {
			f := Frame{Kind: tracer.RA, Addr: l.Address}
			for i, line := range l.Line {
				if line.Function == nil {
					continue
				}
				f.Calls = append(f.Calls, Call{printable(line.Function.Name), printable(line.Function.Filename),
					int(line.Line), i < len(l.Line)-1})
			}
			u.Frames = append(u.Frames, f)
		}
		sum := all.like(&u)
		sum.Count += s.Value[objects]
		sum.Bytes += s.Value[space]
	}
	return all.all, nil
}
