package rewind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/memory"
)

// A Launch starts the recorded machine once more, in front of its first instruction, and says where its gdb
// stub listens (network and address). Each start replays the same run.
type Launch func(ctx context.Context) (vm *qemu.VM, network, address string, err error)

// travel is a recorded machine that goes to any instruction.
type travel struct {
	ctx    context.Context
	launch Launch
	start  uint64 // the address of the instruction that counts as the first
	last   uint64 // instructions at the recording's end

	vm    *qemu.VM
	now   atomic.Pointer[qemu.VM] // vm, for who stops it
	d     *memory.Debugger
	first uint64          // instructions before the first one
	stops map[string]bool // breakpoints and watchpoints, as in their packets behind Z
	data  string          // the word that a watchpoint has stopped for, as stubs write it; "": none
}

// why a machine has stopped.
type why int

const (
	atStop  why = iota // a breakpoint, a watchpoint, a step
	atBegin            // there is nothing before
	atEnd              // nor behind
)

// reset begins the replay once more, and goes to the first instruction.
func (t *travel) reset() error {
	t.end()
	vm, network, address, err := t.launch(t.ctx)
	if err != nil {
		return err
	}
	t.vm = vm
	t.now.Store(vm)
	if t.d, err = memory.DialDebugger(t.ctx, network, address); err != nil {
		return err
	}
	if err := t.d.Break(t.start); err != nil {
		return err
	}
	if err := t.proceed(); err != nil {
		return fmt.Errorf("the machine does not come to %#x: %w", t.start, err)
	}
	if err := t.d.Unbreak(t.start); err != nil {
		return err
	}
	t.first, err = t.count()
	return err
}

// arm sets the debugger's stops in a machine that has begun once more.
func (t *travel) arm() error {
	for s := range t.stops {
		if a, err := t.d.Ask("Z" + s); err != nil || a != "OK" {
			return fmt.Errorf("%w: Z%s: %q, %v", memory.ErrStub, s, a, err)
		}
	}
	return nil
}

// end ends the machine.
func (t *travel) end() {
	t.now.Store(nil)
	if t.vm != nil {
		t.vm.Kill()
		t.vm.Wait()
	}
	t.vm = nil
}

// count returns how many instructions have been run.
func (t *travel) count() (uint64, error) {
	b, err := t.vm.QMP("query-replay", nil)
	if err != nil {
		return 0, err
	}
	var r struct{ Icount uint64 }
	if err := json.Unmarshal(b, &r); err != nil {
		return 0, fmt.Errorf("%w: query-replay: %v", qemu.ErrMonitor, err)
	}
	return r.Icount, nil
}

// wakeEvery is how often QEMU is asked something while it replays: one whose machine sleeps goes on only when its
// main loop is woken.
const wakeEvery = 5 * time.Millisecond

// proceed lets the machine run until it stops.
func (t *travel) proceed() error {
	done := make(chan error, 1)
	go func() { done <- t.d.Go(t.ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(wakeEvery):
			t.vm.QMP("query-status", nil)
		}
	}
}

// until has the machine stop after so many instructions, too.
func (t *travel) until(n uint64) error {
	_, err := t.vm.QMP("replay-break", map[string]uint64{"icount": n})
	return err
}

// forwards lets the machine run until it comes to a stop, or to the recording's end.
func (t *travel) forwards() (why, error) {
	at, err := t.count()
	if err != nil {
		return 0, err
	}
	if at >= t.last {
		return atEnd, nil
	}
	if err := t.until(t.last); err != nil {
		return 0, err
	}
	if err := t.proceed(); err != nil {
		return 0, err
	}
	if at, err = t.count(); err != nil {
		return 0, err
	}
	if at >= t.last {
		return atEnd, nil
	}
	t.data = watched(t.d.Reason())
	return atStop, nil
}

// watched returns the address in the packet of a watchpoint, "" in another one.
func watched(reason string) string {
	_, rest, _ := strings.Cut(reason, "watch:")
	addr, _, _ := strings.Cut(rest, ";")
	return addr
}

// step runs one instruction.
func (t *travel) step() (why, error) {
	at, err := t.count()
	if err != nil {
		return 0, err
	}
	if at >= t.last {
		return atEnd, nil
	}
	return atStop, t.d.Step(t.ctx)
}

// to goes to the state after so many instructions, behind that of the start, past all stops.
func (t *travel) to(n uint64) error {
	if err := t.reset(); err != nil {
		return err
	}
	at := t.first
	if at < n {
		if err := t.until(n); err != nil {
			return err
		}
	}
	for at < n {
		err := t.proceed()
		if err != nil {
			return err
		}
		if at, err = t.count(); err != nil {
			return err
		}
	}
	return t.arm()
}

// back goes one instruction back.
func (t *travel) back() (why, error) {
	at, err := t.count()
	if err != nil {
		return 0, err
	}
	if at <= t.first {
		return atBegin, nil
	}
	return atStop, t.to(at - 1)
}

// backwards goes back to the last stop: the recording is replayed up to here to find it, and once more to go there.
func (t *travel) backwards() (why, error) {
	here, err := t.count()
	if err != nil {
		return 0, err
	}
	if here <= t.first {
		return atBegin, nil
	}
	if err := t.reset(); err != nil {
		return 0, err
	}
	if err := t.arm(); err != nil {
		return 0, err
	}
	if t.first >= here {
		return atBegin, nil
	}
	if err := t.until(here); err != nil {
		return 0, err
	}
	found, data, ok := uint64(0), "", false
	for at := t.first; at < here; {
		pc, err := t.pc()
		if err != nil {
			return 0, err
		}
		if t.breakpoint(pc) {
			found, data, ok = at, "", true
			err = t.d.Step(t.ctx) // the stub would stop there again
		} else if err = t.proceed(); err == nil {
			if a := watched(t.d.Reason()); a != "" {
				if at, err = t.count(); err == nil && at < here {
					found, data, ok = at-1, a, true // in front of the write
				}
			}
		}
		if err != nil {
			return 0, err
		}
		if at, err = t.count(); err != nil {
			return 0, err
		}
	}
	if !ok {
		return atBegin, t.to(t.first)
	}
	if err := t.to(found); err != nil {
		return 0, err
	}
	t.data = data
	return atStop, nil
}

func (t *travel) pc() (uint64, error) {
	regs, err := t.d.Registers()
	return regs["rip"], err
}

// breakpoint reports whether there is one at an address.
func (t *travel) breakpoint(pc uint64) bool {
	for _, kind := range []string{"0,", "1,"} {
		for s := range t.stops {
			if rest, ok := strings.CutPrefix(s, kind); ok {
				addr, _, _ := strings.Cut(rest, ",")
				if v, err := strconv.ParseUint(addr, 16, 64); err == nil && v == pc {
					return true
				}
			}
		}
	}
	return false
}

var errEnded = errors.New("the debugger has ended the session")
