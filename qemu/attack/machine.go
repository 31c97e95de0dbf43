package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// One machine with one case, and what is left of it.

// An end is what is left of a machine, from the best to the worst.
type end int

const (
	survived   end = iota // the program has not died
	hungTraced            // it hung, and an NMI got a whole trace: the kernel is alive
	full                  // a whole trace
	early                 // a trace whose walk ended before the outermost frame
	short                 // less: of the death in the panic path alone, cut, or the last line
	lastWord              // "the panic path itself has failed"
	hung                  // it hung, and an NMI got none
	triple                // a triple fault without a trace
	untraced              // the kernel ended it without a trace
	silent                // as the three before, and not a byte after the case
	wrong                 // a trace with a frame that was not there
	ends
)

func (e end) String() string {
	return [...]string{"survived", "hung, NMI traced", "full", "ended early", "short", "last word",
		"hung", "triple fault",
		"no trace", "silent", "wrong frame"}[e]
}

// result is what became of a case.
type result struct {
	hit
	end     end
	how     string // in a few words
	died    bool   // of the case, not as it was told to
	machine qemu.Result
	batch.Sent
}

// lab boots the machines.
type lab struct {
	*batch.Lab
	append string // to the kernel's command line
}

// cmdline is the machine's command line for a case.
func (l *lab) cmdline(h hit) string {
	how := "store"
	if h.kind == kernelText {
		how = "force"
	}
	return fmt.Sprintf("report=off %s -- %x %x %x %s", l.append, h.addr, h.size, h.value, how)
}

// Time is virtual, and stands still for nobody: a machine that sleeps wakes up at once. The
// date and the random numbers are the same in each run.
var determined = []string{"-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm",
	"-seed", "1"}

// boot runs a machine with a case to its end.
func (l *lab) boot(ctx context.Context, h hit) (*result, error) {
	var out strings.Builder
	vm, err := qemu.Start(ctx, qemu.Config{Machine: "microvm", Kernel: l.Image, Append: l.cmdline(h),
		Extra: determined, Stdout: &out})
	if err != nil {
		return nil, err
	}
	hangs, err := watch(vm)
	if err != nil {
		vm.Kill()
	}
	r := &result{hit: h}
	var end error
	r.machine, end = vm.Wait()
	if ctx.Err() != nil || errors.Is(end, qemu.ErrQEMU) {
		return nil, cmp.Or(ctx.Err(), end)
	}
	if hangs {
		end = qemu.ErrTimeout
	}
	r.Serial = out.String()
	return r, cmp.Or(err, l.judge(r, end))
}

// A machine hangs when it has run so many instructions, or when it halts and nothing has woken
// it in some looks at it, one a period. It gets an NMI, and as much once more for the answer.
const (
	mostInstructions = 200_000_000 // one that dies as told to ends long before
	period           = 500 * time.Millisecond
	halts            = 4
)

// watch waits for the machine's end, and ends one that hangs.
func watch(vm *qemu.VM) (hangs bool, err error) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	last, still, from := uint64(0), 0, uint64(0)
	for {
		select {
		case <-vm.Done():
			return hangs, nil
		case <-tick.C:
		}
		n, err := instructions(vm)
		if err != nil {
			<-vm.Done() // it has ended just now
			return hangs, nil
		}
		if still++; n != last {
			last, still = n, 0
		}
		if n-from < mostInstructions && (still < halts || !halted(vm)) {
			continue
		}
		if hangs {
			return true, vm.End()
		}
		hangs, from, still = true, n, 0
		if err := vm.InjectNMI(); err != nil {
			<-vm.Done()
			return hangs, nil
		}
	}
}

// halted reports whether the processor waits for an interrupt.
func halted(vm *qemu.VM) bool {
	regs, err := vm.Registers()
	return err == nil && strings.Contains(regs, "HLT=1")
}

// instructions returns how many the machine has run.
func instructions(vm *qemu.VM) (uint64, error) {
	var v struct{ Icount uint64 }
	out, err := vm.QMP("query-replay", nil)
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	return v.Icount, err
}

// What the serial port gets when all panic stages have failed, and from the victim before the
// death that it is told to die.
const (
	wordOfFailure = "zeroframe: the panic path itself has failed"
	dies          = "victim: dies\r\n"
	deathChain    = "runtime.sigpanic main.load main.deathC main.deathB main.deathA main.main runtime.main runtime.goexit"
)

// judge says what is left of a machine, by what zf makes of its serial port.
func (l *lab) judge(r *result, err error) error {
	all, terr := l.Traces(r.Serial, nil)
	if terr != nil {
		return terr
	}
	res := r.machine
	r.died = !strings.Contains(r.Serial, dies)
	timedOut := errors.Is(err, qemu.ErrTimeout)
	var first, nmi *wire.Trace
	for _, t := range all {
		if bad := l.wrongFrame(r, t); bad != "" {
			r.end, r.how = wrong, fmt.Sprintf("trace %d: %s", t.Seq, bad)
			return nil
		}
		switch {
		case t.Fatal() && first == nil:
			first = t
		case t.Asked():
			nmi = t
		}
	}
	switch {
	case first != nil:
		r.end, r.how = quality(first), first.Reason
		for _, t := range all { // a later stage may be whole
			if q := quality(t); t.Fatal() && q < r.end && !strings.HasPrefix(t.Reason, inPanicPath) {
				r.end, r.how = q, t.Reason
			}
		}
		if r.end == full && err != nil {
			r.how += fmt.Sprintf("; then %v", err)
		}
	case strings.Contains(r.Serial, wordOfFailure):
		r.end, r.how = lastWord, fmt.Sprint(res.Outcome)
	case timedOut && nmi != nil && nmi.Complete():
		r.end, r.how = hungTraced, culprit(nmi)
	case timedOut:
		r.end, r.how = hung, l.place(res)
	case errors.Is(err, qemu.ErrReset):
		r.end, r.how = triple, l.place(res)
	case err == nil && res.Outcome == qemu.Exited && res.Program == 0:
		r.end, r.how = survived, "status 0"
	default:
		r.end, r.how = untraced, fmt.Sprintf("%v, status %d, %v", res.Outcome, res.Program, err)
	}
	if r.end >= hung && r.Serial == "" {
		r.how, r.end = fmt.Sprintf("%v, %s", r.end, r.how), silent
	}
	return nil
}

const inPanicPath = "in the panic path: "

// quality says how good a trace is: full, early or short.
func quality(t *wire.Trace) end {
	switch {
	case t.Complete() && !strings.HasPrefix(t.Reason, inPanicPath):
		return full
	case t.Last || t.Cut || t.Damaged || strings.HasPrefix(t.Reason, inPanicPath):
		return short
	}
	return early
}

// wrongFrame returns what is wrong with the frames of a trace, or "". A return address has to be
// after a call, and a direct one of the function whose frame it is; and of the death that
// the victim was told to die, all frames are known.
func (l *lab) wrongFrame(r *result, t *wire.Trace) string {
	for i := 1; i < len(t.Frames); i++ {
		f, callee := &t.Frames[i], &t.Frames[i-1]
		if f.Kind != tracer.RA || f.Repeat+f.Elided > 0 {
			continue
		}
		if len(f.Calls) == 0 {
			return fmt.Sprintf("frame %d, %#x, is in no function", i, f.Address)
		}
		site, ok := l.Symbols.Code().CallBefore(f.Address)
		if !ok {
			// the runtime makes up returns to a function's second byte
			if f.Calls[len(f.Calls)-1].Offset > 1 {
				return fmt.Sprintf("frame %d, %#x, is after no call", i, f.Address)
			}
			continue
		}
		if site.Indirect || callee.Kind == tracer.Trap || len(callee.Calls) == 0 {
			continue
		}
		target := l.Symbols.Lookup(site.Target, false)
		got, want := callee.Calls[len(callee.Calls)-1].Function, target[len(target)-1].Function
		if got != want && !jumps[want+" "+got] {
			return fmt.Sprintf("frame %d calls %s, and frame %d is in %s", i, want, i-1, got)
		}
	}
	if r.died || r.kind == kernelText || !t.Fatal() || quality(t) != full {
		return ""
	}
	if got := strings.Join(batch.Functions(t), " "); got != deathChain && t.Reason == nilRead &&
		!strings.HasSuffix(got, " "+deathChain) {
		return "the chain is " + got
	}
	return ""
}

// nilRead is the reason of the death that the victim is told to die.
const nilRead = "panic: runtime error: invalid memory address or nil pointer dereference"

// jumps are functions that go on in another one by a jump: "FROM TO".
var jumps = map[string]bool{"runtime.morestack_noctxt runtime.morestack": true}

// culprit is the function that a trace's summary names.
func culprit(t *wire.Trace) string {
	if i, k, ok := t.Culprit(); ok {
		return "in " + strings.TrimPrefix(t.Frames[i].Calls[k].Function, batch.Module)
	}
	return "in no known function"
}

// place says where a machine's processor was in the end.
func (l *lab) place(res qemu.Result) string {
	if frames := l.Symbols.Lookup(res.RIP, false); len(frames) > 0 {
		c := &frames[len(frames)-1]
		return fmt.Sprintf("at %s+%#x", strings.TrimPrefix(c.Function, batch.Module), c.Offset)
	}
	return fmt.Sprintf("at %#x", res.RIP)
}
