package qemu

// A machine is watched for the two ways of ending that need a hand: it resets, and
// stands still until its registers have been read; or it runs too long, and is
// asked with an NMI where it is before it is killed.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How long a guest may take is counted without the time that one of QEMU's threads, or ours, was
// ready to run and the host ran others, and that in which nobody took what the guest had sent: on a
// busy host it stands still for seconds, and its answer is to come whole there, too.
const (
	// nmiQuiet is how long the guest must have been silent after an answer to
	// an NMI for the answer to be complete.
	nmiQuiet = 750 * time.Millisecond
	// nmiFirst is how long its first byte may take, nmiAll the whole answer.
	nmiFirst = 3 * time.Second
	nmiAll   = 10 * time.Second
	// nmiLimit ends the wait in any case, by the host's clock.
	nmiLimit = 2 * time.Minute
)

// event takes an event from the monitor's reader.
func (vm *VM) event(msg qmpMessage) {
	switch msg.Event {
	case "RESET":
		select {
		case vm.resets <- struct{}{}:
		default:
		}
	case "SHUTDOWN":
		if strings.HasSuffix(msg.Data.Reason, "-reset") && vm.cfg.Reboots > 0 {
			go func() {
				if !vm.reboot() {
					vm.stopped(msg.Data.Reason)
				}
			}()
			return
		}
		vm.stopped(msg.Data.Reason)
	case "STOP":
		select {
		case vm.stops <- struct{}{}:
		default:
		}
		go vm.checkStopped()
	}
}

// stopped is called when the machine stands still for good. The reason is kept at once: QEMU may
// end by itself, and then it is read when the monitor's reader has come to its end.
func (vm *VM) stopped(reason string) {
	// Only the first SHUTDOWN tells why; quitting makes another.
	if vm.reason.CompareAndSwap(nil, &reason) {
		go vm.quit(reason)
	}
}

// quit ends a QEMU whose machine has stopped, after a look at its registers.
func (vm *VM) quit(reason string) {
	if strings.HasPrefix(reason, "guest-") {
		vm.takeRegisters()
		vm.died()
	}
	if _, err := vm.QMP("quit", nil); err != nil {
		vm.Kill()
	}
}

// takeRegisters keeps the registers for the Result, once.
func (vm *VM) takeRegisters() {
	if regs, err := vm.Registers(); err == nil {
		select {
		case vm.registers <- regs:
		default:
		}
	}
}

// watch waits for the end or the timeout, whichever comes first.
func (vm *VM) watch() {
	if vm.cfg.Timeout <= 0 {
		return
	}
	timer := time.NewTimer(vm.cfg.Timeout)
	defer timer.Stop()
	select {
	case <-vm.done:
		return
	case <-timer.C:
	}
	vm.timedOut.Store(true)
	if err := vm.InjectNMI(); err == nil {
		vm.awaitAnswer()
	}
	vm.died()
	vm.End()
}

// awaitAnswer waits until the guest has said what it has to say to an NMI.
func (vm *VM) awaitAnswer() {
	w := newWaiting(time.Now(), vm.lastByte.Load(), vm.denied())
	tick := time.NewTicker(nmiQuiet / 5)
	defer tick.Stop()
	for {
		select {
		case <-vm.done:
			return
		case <-tick.C:
		}
		if w.over(time.Now(), vm.lastByte.Load(), vm.denied(), vm.passing.Load() > 0) {
			return
		}
	}
}

// waiting is how long a guest has been waited for.
type waiting struct {
	began, before time.Time
	last          int64 // when the guest sent its last byte
	answered      bool
	ran, quiet    time.Duration
	// By thread: in sum it was denied, and that is not taken off yet.
	waits, owed map[string]time.Duration
}

func newWaiting(now time.Time, last int64, waits map[string]time.Duration) *waiting {
	return &waiting{began: now, before: now, last: last, waits: waits,
		owed: map[string]time.Duration{}}
}

// over takes what is so now, and reports whether the guest is waited for no longer. Passing says
// that what it has sent is not taken yet.
func (w *waiting) over(now time.Time, last int64, waits map[string]time.Duration,
	passing bool) bool {
	step, off := now.Sub(w.before), time.Duration(0)
	// Of the thread that waited longest: more CPUs that are busy than the host has wait, in sum, all
	// the time.
	for thread, sum := range waits {
		w.owed[thread] += sum - w.waits[thread]
		mine := min(w.owed[thread], step)
		w.owed[thread] -= mine
		off = max(off, mine)
	}
	if passing {
		off = step
	}
	w.before, w.waits = now, waits
	w.ran, w.quiet = w.ran+step-off, w.quiet+step-off
	if last != w.last {
		w.last, w.quiet, w.answered = last, 0, true
	}
	return w.ran > nmiAll || now.Sub(w.began) > nmiLimit ||
		!w.answered && w.ran > nmiFirst || w.answered && w.quiet > nmiQuiet
}

// denied returns how long each of QEMU's threads, and of ours, which read what the guest sends, has
// been ready to run and the host has run others: the second number of /proc/PID/task/TID/schedstat
// (Linux, Documentation/scheduler/sched-stats.rst). It is empty where the host does not say.
func (vm *VM) denied() map[string]time.Duration {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", vm.monitor.pid.Load()))
	ours, _ := filepath.Glob("/proc/self/task/*/schedstat")
	names = append(names, ours...)
	all := map[string]time.Duration{}
	for _, name := range names {
		text, _ := os.ReadFile(name)
		var ran, waited int64
		if n, _ := fmt.Sscan(string(text), &ran, &waited); n == 2 {
			all[name] = time.Duration(waited)
		}
	}
	return all
}

// Registers returns the monitor's dump of the processor's registers. Errors wrap
// [ErrMonitor].
func (vm *VM) Registers() (string, error) { return vm.monitorCommand("info registers") }

// monitorCommand runs a command of the monitor for people.
func (vm *VM) monitorCommand(line string) (string, error) { return vm.monitor.command(line) }

// Dead reports whether all processors have halted with interrupts off, which only
// an NMI or a reset ends. Errors wrap [ErrMonitor].
func (vm *VM) Dead() (bool, error) {
	text, err := vm.monitorCommand("info registers -a")
	if err != nil {
		return false, err
	}
	all := strings.Split(text, "CPU#")[1:]
	for _, regs := range all {
		if !halted(regs) {
			return false, nil
		}
	}
	return len(all) > 0, nil
}

// Halted reports whether the processor, the first one, has halted with interrupts off, which only
// an NMI or a reset ends. Errors wrap [ErrMonitor].
func (vm *VM) Halted() (bool, error) {
	regs, err := vm.Registers()
	return err == nil && halted(regs), err
}

// halted says so of a processor's registers.
func halted(regs string) bool {
	const interruptFlag = 1 << 9
	flags, ok := hex(regs, "FL=") // EFL= or RFL=
	return ok && flags&interruptFlag == 0 && strings.Contains(regs, "HLT=1")
}

// InstructionPointer finds the instruction pointer in a register dump; its name
// depends on the mode the processor is in.
func InstructionPointer(regs string) (uint64, bool) {
	if rip, ok := hex(regs, "RIP="); ok {
		return rip, true
	}
	return hex(regs, "EIP=")
}
