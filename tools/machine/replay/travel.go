package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// travel is a recorded machine that goes to any instruction, or one that runs.
type travel struct {
	ctx    context.Context
	launch Launch
	// the address of the instruction that counts as the first; 0: it is the one that the replay begins
	// with
	start uint64
	last  uint64 // instructions at the recording's end
	live  bool   // it is no recording: nobody counts its instructions, and it goes forwards alone

	trap uint64 // where the kernel's way into the breakpoint exception begins; 0: unknown

	m     *Machine
	first uint64          // instructions before the first one
	halt  atomic.Bool     // the debugger has sent ^C since it let the machine run
	stops map[string]bool // breakpoints and watchpoints, as in their packets behind Z
	data  string          // the word that a watchpoint has stopped for, as stubs write it; "": none
}

// why a machine has stopped.
type why int

const (
	atStop  why = iota // a breakpoint, a watchpoint, a step
	atBegin            // there is nothing before
	atEnd              // nor behind
	halted             // the debugger has said so
)

// haltEvery is how often it is asked whether a machine is to stop, and how often it is told so
// until it does: it may not run yet.
const haltEvery = 5 * time.Millisecond

// ErrNotThere is wrapped by the error of a recording that ends before the instruction that counts
// as the first.
var ErrNotThere = errors.New("the recorded machine does not come to where a debugger begins")

// proceed lets the machine run until it stops, for the debugger's ^C, too. Errors are those of
// [replay.Machine.Proceed].
func (t *travel) proceed() error {
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(haltEvery):
			}
			if t.halt.Load() {
				t.m.VM.QMP("stop", nil)
			}
		}
	})
	err := t.run()
	close(done)
	telling.Wait()
	return err
}

// run lets the machine run until it stops by itself.
func (t *travel) run() error {
	if t.live {
		return t.m.ended(t.m.Go(t.ctx)) // it needs nobody to wake it
	}
	return t.m.Proceed()
}

// reset begins the replay once more, and goes to the first instruction.
func (t *travel) reset() error {
	t.end()
	m, err := Start(t.ctx, t.launch)
	if err != nil {
		return err
	}
	t.m = m
	if t.start == 0 {
		t.first, err = t.count()
		return err
	}
	if err := t.m.Break(t.start); err != nil {
		return err
	}
	if err := t.stopAt(t.last); err != nil {
		return err
	}
	// a ^C may stop it before, where no debugger can look at it
	for pc, at := uint64(0), uint64(0); pc != t.start; {
		if err = t.run(); err == nil {
			pc, err = t.pc()
		}
		if err == nil {
			at, err = t.count()
		}
		switch {
		case errors.Is(err, memory.ErrEnded), err == nil && t.over(at) && pc != t.start:
			return fmt.Errorf("%w: %#x", ErrNotThere, t.start)
		case err != nil:
			return fmt.Errorf("the machine does not come to %#x: %w", t.start, err)
		}
	}
	if err := t.m.Unbreak(t.start); err != nil {
		return err
	}
	if t.trap != 0 {
		if err := t.m.Break(t.trap); err != nil {
			return err
		}
	}
	t.first, err = t.count()
	return err
}

// arm sets the debugger's stops in a machine that has begun once more.
func (t *travel) arm() error {
	for s := range t.stops {
		if a, err := t.m.Ask("Z" + s); err != nil || a != "OK" {
			return fmt.Errorf("%w: Z%s: %q, %v", memory.ErrStub, s, a, err)
		}
	}
	return nil
}

// end ends the machine.
func (t *travel) end() {
	if t.m != nil {
		t.m.End()
	}
	t.m = nil
}

// count returns how many instructions have been run.
func (t *travel) count() (uint64, error) {
	if t.live {
		return 0, nil
	}
	return t.m.VM.Instructions()
}

// over reports whether a recording is at its end after so many instructions.
func (t *travel) over(at uint64) bool { return !t.live && at >= t.last }

// stopAt has a recording stop after so many instructions.
func (t *travel) stopAt(n uint64) error {
	if t.live {
		return nil
	}
	return t.m.VM.StopAt(n)
}

// forwards lets the machine run until it comes to a stop, or to the recording's end.
func (t *travel) forwards() (why, error) {
	at, err := t.count()
	if err != nil {
		return 0, err
	}
	if t.over(at) {
		return atEnd, nil
	}
	if err := t.stopAt(t.last); err != nil {
		return 0, err
	}
	if err := t.proceed(); errors.Is(err, memory.ErrEnded) {
		return atEnd, nil
	} else if err != nil {
		return 0, err
	}
	if at, err = t.count(); err != nil {
		return 0, err
	}
	if t.over(at) {
		return atEnd, nil
	}
	if t.halt.Load() {
		return halted, nil
	}
	t.data = watched(t.m.Reason())
	return atStop, t.untrap()
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
	if t.over(at) {
		return atEnd, nil
	}
	switch err := t.m.Step(t.ctx); {
	case errors.Is(err, memory.ErrEnded):
		return atEnd, nil
	case err != nil:
		return atStop, err
	}
	return atStop, t.untrap()
}

// to goes to the state after so many instructions, behind that of the start, past all stops; w is
// the answer for there. At a ^C it stays where it is by then.
func (t *travel) to(n uint64, w why) (why, error) {
	if err := t.reset(); err != nil {
		return 0, err
	}
	at := t.first
	if at < n {
		if err := t.m.VM.StopAt(n); err != nil {
			return 0, err
		}
	}
	for at < n && !t.halt.Load() {
		err := t.proceed()
		if err == nil {
			at, err = t.count()
		}
		if err != nil {
			return 0, err
		}
	}
	if at < n {
		w = halted
	}
	return w, t.arm()
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
	return t.to(at-1, atStop)
}

// backwards goes back to the last stop: the recording is replayed up to here to find it, and once
// more to go there. At a ^C it stays where the replay is by then, somewhere between the beginning
// and here.
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
	if err := t.m.VM.StopAt(here); err != nil {
		return 0, err
	}
	found, data, ok := uint64(0), "", false
	for at := t.first; at < here; {
		if t.halt.Load() {
			return halted, nil
		}
		pc, err := t.pc()
		if err != nil {
			return 0, err
		}
		if t.breakpoint(pc) {
			found, data, ok = at, "", true
			err = t.m.Step(t.ctx) // the stub would stop there again
		} else if err = t.proceed(); err == nil && !t.halt.Load() {
			if a := watched(t.m.Reason()); a != "" {
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
		return t.to(t.first, atBegin)
	}
	w, err := t.to(found, atStop)
	if w == atStop && err == nil {
		t.data = data
	}
	return w, err
}

func (t *travel) pc() (uint64, error) {
	regs, err := t.m.Registers()
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

var errEnded = errors.New("the session has ended")
