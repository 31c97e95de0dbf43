package fault

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// LongWait is called for a CPU that waits for the kernel lock, with an interrupt of the timer
// within a second: then it is called again.
func LongWait(r *percpu.Record) {
	clock.Arm(&r.Shot, min(r.Event, clock.Now()+lookEvery))
}

// lookEvery is how often a CPU that waits looks for what it waits for, in nanoseconds.
const lookEvery = 1e9
