package stack

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// The check of the limits while the machine runs. A page that is still all paint is not
// read: its dirty bit tells. So of each stack the pages beyond the limit are looked at by
// their bits, and of one stack, half of the page that the limit lies in is read.

// A Policy is what follows when a stack is found over its limit (option stack.limit).
type Policy uint8

// The policies.
const (
	PanicOver  Policy = iota // the machine ends with a trace
	ReportOver               // a trace, once a stack; all goes on
	IgnoreOver               // nothing: the limits are not checked
)

// policies are their words. Never written.
var policies = [...]string{PanicOver: "panic", ReportOver: "report", IgnoreOver: "off"}

// OverLimit is the policy. Set once at boot.
var OverLimit Policy

// watches are the stacks' pages. Set once at boot.
var watches [Count]mem.Watch

// Under the kernel lock.
var (
	turn     int           // what is read: stack turn/2, the half nearer to the limit or the other
	reported [Count]bool   // stacks that were found over their limit
	nearer   uint64        // when the nearer half was read, in nanoseconds since boot
	within   [Count]uint64 // when all of a stack was last within its limit, likewise
)

// FirstOver returns a stack that is over its limit and was not returned before, measured, and
// when it was last known not to be, or nil. That and now are in nanoseconds since boot.
// In 2 * [Count] calls each stack is looked through. It takes some 1,500 instructions.
// Kernel context.
func FirstOver(now uint64) (s *tracer.Stack, since uint64) {
	percpu.AssertLocked()
	if !watched || OverLimit == IgnoreOver {
		return nil, 0
	}
	if turn++; turn == 2*Count {
		turn = 0
	}
	for i := range Count {
		at := (Table[i].Hi - Table[i].Limit) &^ 7
		page := at &^ (arch.PageSize - 1)
		lo, seen := watches[i].NextDirty(page), now
		if lo == page {
			half := page + (at-page)/2&^7
			switch {
			case i != turn/2:
				continue
			case turn%2 == 0:
				lo, nearer, seen = half, now, within[i] // the other half is not known yet
			default:
				at, seen = half, nearer
			}
		}
		if tracer.HighWater(lo, at) == 0 {
			within[i] = seen
		} else if Measure(&Table[i]); FirstTime(i) {
			return &Table[i], within[i]
		}
	}
	return nil, 0
}

// FirstTime reports whether stack i, which is over its limit, is to be told of: it has not
// been yet. Early and kernel context.
func FirstTime(i int) bool {
	percpu.AssertLocked()
	was := reported[i]
	reported[i] = true
	return !was && OverLimit != IgnoreOver
}
