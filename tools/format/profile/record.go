package profile

import (
	"errors"
	"fmt"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
)

// Kind is the kind of the record.
const Kind = "profile.cpu"

// Record is a profile as the target has sent it.
type Record struct {
	Hz      uint64        // ticks in a second of running time
	Began   time.Time     // when the machine started
	Lasted  time.Duration // since then
	Ran     time.Duration // running time since then
	Ticks   uint64        // that were due
	Samples uint64        // that were taken: one may be of several ticks
	Lost    uint64        // ticks without room for their stack or its count
	Stalled uint64        // ticks that are in no stack: the host had stalled the machine
	Slow    uint64        // samples whose stacks took the walker of traces
	Cost    uint64        // ticks of the time stamp counter in taking samples
	CostHz  uint64        // such ticks in a second
	Stacks  *eventstream.Depot
	Calls   map[uint32]string // names of system calls by number
	Counts  []Count
}

// Count is how many ticks a stack has.
type Count struct {
	ID    uint32
	Ticks uint64
	// behind the first tick in one system call: it took long, or the host stalled the machine
	Late bool
}

// late marks an ID; see package kernel/observe/profile.
const late = 1 << 31

// Overhead returns the part of the running time that taking samples took, 0 to 1.
func (r *Record) Overhead() float64 {
	if r.CostHz == 0 || r.Ran <= 0 {
		return 0
	}
	return float64(r.Cost) / float64(r.CostHz) / r.Ran.Seconds()
}

var errCut = errors.New("the profile's record is damaged: it ends early")

// Read reads a record. It may be any bytes.
func Read(data []byte) (*Record, error) {
	in := &eventstream.Numbers{Data: data}
	number := in.Number
	if version := number(); !in.Bad && version != 2 {
		return nil, fmt.Errorf(
			"the profile's record has version %d; this zf knows 2: use the zf that the image was built with",
			version)
	}
	r := &Record{Hz: number()}
	r.Began = time.Unix(0, int64(number()))
	r.Lasted, r.Ran = time.Duration(number()), time.Duration(number())
	r.Ticks, r.Samples, r.Lost, r.Stalled, r.Slow, r.Cost, r.CostHz = number(), number(), number(),
		number(), number(), number(), number()
	image := in.Bytes()
	if in.Bad {
		return nil, errCut
	}
	if r.Hz == 0 || r.Hz > 1e9 {
		return nil, fmt.Errorf("the profile's record is damaged: %d ticks a second", r.Hz)
	}
	var err error
	if r.Stacks, err = eventstream.Read(image); err != nil {
		return nil, err
	}
	r.Calls = make(map[uint32]string)
	for calls := number(); calls > 0; calls-- {
		n, name := number(), in.Bytes()
		if in.Bad || n > 1<<16 {
			return nil, errCut
		}
		r.Calls[uint32(n)] = string(name)
	}
	if in.Bad {
		return nil, errCut
	}
	for len(in.Data) > 0 {
		id, ticks := number(), number()
		if in.Bad || id > 1<<32-1 || ticks > 1<<32 {
			return nil, errCut
		}
		r.Counts = append(r.Counts, Count{ID: uint32(id) &^ late, Ticks: ticks, Late: id&late != 0})
	}
	return r, nil
}
