package stack

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// The check of the limits while the machine runs. A page that is still all paint is not read: its
// dirty bit tells. So the check looks at the bits of each stack's pages beyond the limit, and reads
// half of the limit's own page, of one stack at a time.

// A Policy says what happens when a stack is found over its limit (option stack.limit).
type Policy uint8

// The policies.
const (
	PanicOver  Policy = iota // the machine ends with a trace
	ReportOver               // one trace for each stack; everything goes on
	IgnoreOver               // nothing: the limits are not checked
)

// policies are their words. Never written.
var policies = [...]string{PanicOver: "panic", ReportOver: "report", IgnoreOver: "off"}

// OverLimit is the policy. Set once at boot.
var OverLimit Policy

// watches are the watches of the stacks' pages. Set once at boot.
var watches [Count]mem.Watch

// Under the kernel lock.
var (
	turn     int           // the half to read next: stack turn/2, nearer to the limit or the other
	reported [Count]bool   // stacks that were found over their limit
	nearer   uint64        // when the nearer half was read, in nanoseconds since boot
	within   [Count]uint64 // when the whole stack was last within its limit, in the same unit
)

// FirstOver returns a stack that is over its limit and was not returned before, measured, and when
// it was last known not to be; or nil. That time and now are in nanoseconds since boot. Every 2 *
// [Count] calls check each stack completely. A call takes some 1,500 instructions. Kernel context.
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

// FirstTime reports whether stack i, which is over its limit, has not been reported yet. Early and
// kernel context.
func FirstTime(i int) bool {
	percpu.AssertLocked()
	was := reported[i]
	reported[i] = true
	return !was && OverLimit != IgnoreOver
}
