package main

// While a machine runs, the user's ^\ reaches it, and one that has halted for good is ended.

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/trace"
)

// quits are the machines that run: each gets an NMI for ^\.
var quits quitting

type quitting struct {
	mu   sync.Mutex
	open []chan<- os.Signal
}

// start starts a machine whose ^\ goes to c. QEMU inherits that ^\ does not end it, which
// for a moment takes it from all of us.
func (q *quitting) start(ctx context.Context, config qemu.Config,
	c chan<- os.Signal) (*qemu.VM, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	signal.Ignore(syscall.SIGQUIT)
	vm, err := qemu.Start(ctx, config)
	q.open = append(q.open, c)
	for _, c := range q.open {
		signal.Notify(c, syscall.SIGQUIT)
	}
	return vm, err
}

// stop ends that ^\ goes to c.
func (q *quitting) stop(c chan<- os.Signal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	signal.Stop(c)
	q.open = slices.DeleteFunc(q.open, func(o chan<- os.Signal) bool { return o == c })
}

// stuck says that a machine halted for good and had to be ended.
type stuck int

const (
	notStuck   stuck = iota
	afterTrace       // as it does with panic=halt, or without a debug-exit device
	untold           // without a trace: the boot code refused the machine
)

// How often attend looks at a machine, and how many times in a row it must be
// halted: twice after a trace, since between an NMI's handler and the next HLT a
// living machine can look the same, and for a second where no trace says it died.
const (
	lookInterval   = 250 * time.Millisecond
	looksAfterDead = 2
	looksUntold    = 5
)

// attend looks after a machine until it ends: it passes on the user's ^\, and ends
// a machine that has halted for good, unless a debugger may want to look at it. It
// reports whether and why it did the latter.
func (m *machine) attend(vm *qemu.VM, filter *trace.Filter, quit <-chan os.Signal) (why stuck) {
	debugged := m.debugged()
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	seen := 0
	for {
		select {
		case <-vm.Done():
			return why
		case <-quit:
			m.askNMI(vm)
		case <-tick.C:
			if debugged || why != notStuck {
				continue
			}
			// Halted with interrupts off, only an NMI could wake it. All CPUs: the
			// one that has died may still send traces or the memory while the
			// others stand still.
			if h, err := vm.Dead(); err != nil || !h {
				seen = 0
				continue
			}
			seen++
			switch dead := filter.Stats().Fatal > 0; {
			case dead && seen >= looksAfterDead:
				why = afterTrace
				vm.End()
			case !dead && seen >= looksUntold:
				why = untold
				vm.End()
			}
		}
	}
}
