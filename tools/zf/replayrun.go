//go:build !lean

package main

// The machine of a recording runs again. That it does the same is seen in three ways: QEMU
// itself gives up when an event of its log does not come at its instruction; the output is
// compared byte by byte; and the machine is stopped at the last instruction of the recording,
// which shows that it has come there. One that waits for an event that will not come stands
// still, which is seen by asking.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/machine/record"
)

// playing is a replay that runs.
type playing struct {
	*replayFlags
	rec   *recorded
	cfg   qemu.Config                             // without what is seen of it
	out   *lines                                  // standard output
	clock func(instructions uint64) time.Duration // nil: not read yet

	ctx      context.Context
	verifier *record.Verifier
	last     uint64 // instructions, when it was last asked
	target   uint64 // where it is to stop; 0: nowhere
	verdict  string // the last line
	atEnd    bool   // that is the recording's end
}

// While the machine sleeps, QEMU comes to the next event of its log when anything wakes it:
// what woke it as it was recorded is not there, and the next timer may be a minute away. So it
// is asked how far it is, all the time, which wakes it, too.
const (
	askEvery    = 5 * time.Millisecond   // while it runs instructions
	askSleeping = 200 * time.Microsecond // while it does not
)

// A machine that runs no instruction although it was asked more often than its log has such
// rounds of QEMU's main loop, and for so long, waits for what will not come.
const standsStill = 10 * time.Second

// run runs the replay.
func (p *playing) run() error {
	ofMachine := func(err error) error { return failure{err, exitMachine} }
	err := p.rec.checkQEMU(p.ctx)
	switch {
	case errors.Is(err, errOtherQEMU) && !p.force:
		return fmt.Errorf("%s: %w, or try -force", p.file, err)
	case err != nil && !errors.Is(err, errOtherQEMU):
		return ofMachine(err)
	}
	if err := p.rec.writeLog(p.ctx, p.cfg.Replay); err != nil {
		return ofMachine(err)
	}
	if err := p.aim(); err != nil {
		return err
	}
	var to io.Writer = p.out
	if !p.show {
		to = io.Discard
	}
	out, err := p.newScreen(to, p.stdout, p.rec.sym, p.rec.Cooked, p.rec.Quiet, nil,
		trace.Options{})
	if err != nil {
		return err
	}
	p.verifier = p.rec.NewVerifier(out.text)
	cfg := p.cfg
	cfg.Stdout = p.verifier
	if p.gdb != "" && p.atEnd {
		cfg.GDB = "tcp:" + p.gdb + ",server=on,wait=off"
	}
	play := p.play
	if len(p.look.asked) > 0 {
		cfg.GDB, play = "unix:"+p.gdbSocket()+",server=on,wait=off", p.observe
	}
	vm, err := qemu.Start(p.ctx, cfg)
	if err != nil {
		return ofMachine(err)
	}
	err = play(vm)
	var parts partsError
	if errors.As(err, &parts) {
		p.verdict, err = p.parted(parts), status(exitParted)
	}
	vm.Kill()
	vm.Wait()
	if cerr := errors.Join(out.close(), p.records.end()); err == nil {
		err = cerr
	}
	if p.show {
		out.died.say(&p.streams)
	}
	if p.verdict != "" {
		p.say("%s", p.verdict)
	}
	return err
}

// aim decides where the machine is to stop.
func (p *playing) aim() (err error) {
	if p.rec.log.Known && p.rec.log.Instructions == p.rec.log.Base.At {
		return fmt.Errorf("%s: %w, before the machine's first instruction in it", p.file, record.ErrCut)
	}
	if p.rec.log.Err != nil {
		p.say("note: %v; it is replayed up to there", p.rec.log.Err)
	}
	if p.target, p.atEnd, err = p.until.of(p.rec.Recording, p.rec.log); err != nil {
		return fmt.Errorf("the point %s: %w", p.until.text, err)
	}
	if p.atEnd && p.target > 0 {
		p.target-- // in the midst of the last one QEMU ends, or the log
	}
	return nil
}

// play lets the machine run to where it is to stop, and says what has come of it.
func (p *playing) play(vm *qemu.VM) error {
	if p.gdb != "" && p.atEnd {
		return p.debug(vm)
	}
	if p.target > 0 {
		if err := vm.StopAt(p.target); err != nil {
			return failure{err, exitMachine}
		}
	}
	vm.Continue() // or it has ended already
	for {
		stopped, err := p.await(vm, vm.Stopped(), vm.Done())
		if err != nil {
			return err
		}
		if !stopped {
			return p.ended(vm)
		}
		n, err := vm.Instructions()
		if err != nil || p.target == 0 {
			continue // it has ended, or does so
		}
		p.last = n
		if n != p.target {
			return partsError(wrongStop(n, p.target))
		}
		return p.stopped(vm)
	}
}

// wrongStop says that a machine has stopped at another instruction than it should.
func wrongStop(at, target uint64) string {
	return fmt.Sprintf("it has stopped after %d instructions, and should do so after %d", at, target)
}

// await asks a machine how far it is, which wakes it, until it stops or is done. It returns
// errStands if it stands still and waits for what will not come.
func (p *playing) await(vm *qemu.VM, stops, done <-chan struct{}) (stopped bool, err error) {
	asked, since := 0, time.Now()
	for {
		pause := askEvery
		if asked > 0 {
			pause = askSleeping
		}
		select {
		case <-done:
			return false, nil
		case <-stops:
			return true, nil
		case <-time.After(pause):
		}
		switch n, err := vm.Instructions(); {
		case err != nil:
		case n != p.last:
			p.last, asked, since = n, 0, time.Now()
		default:
			if asked++; asked > p.rec.log.Rounds+500 && time.Since(since) > standsStill {
				return false, partsError("it waits for what is not in the recording there")
			}
		}
	}
}

// point says where a replay is: its instruction, and the machine's time.
func (p *playing) point(instructions uint64) string {
	s := fmt.Sprintf("instruction %d", instructions)
	if p.rec.log.Known && !p.rec.VirtualTime {
		if p.clock == nil {
			p.clock = p.rec.log.Clock()
		}
		s += fmt.Sprintf(" (%v)", p.clock(instructions))
	}
	return s
}

// partsError is of a replay that is not its recording: it says how.
type partsError string

func (e partsError) Error() string { return "the replay parts from its recording: " + string(e) }

// parted says that the replay has parted from its recording, and where.
func (p *playing) parted(err partsError) string {
	n := p.verifier.Verified()
	s := fmt.Sprintf(
		"%v\nzf replay: up to there %d bytes of its output were the same; last seen at %s", err, n,
		p.point(p.last))
	if e, ok := p.rec.log.Sent(n); ok {
		s += "\nzf replay: the recording says the next byte at " + p.point(e.Instructions)
	}
	return s
}

// stopped is for a machine that stands where it is to stop.
func (p *playing) stopped(vm *qemu.VM) error {
	if p.atEnd {
		return p.finish(vm)
	}
	regs, err := vm.Registers()
	if err != nil {
		return failure{err, exitMachine}
	}
	rip, _ := qemu.InstructionPointer(regs)
	halted := ""
	if strings.Contains(regs, "HLT=1") {
		halted = ", halted"
	}
	p.say("stopped at %s, rip %#x%s%s", p.point(p.last), rip, where(p.rec.sym, rip), halted)
	if p.gdb != "" {
		if err := vm.ServeGDB(p.gdb); err != nil {
			return failure{fmt.Errorf("-gdb: %w; another program may have that port: take another one",
				err), exitMachine}
		}
		return p.debug(vm)
	}
	io.WriteString(p.stderr, generalRegisters(regs))
	return p.takeCore(vm)
}

// takeCore makes the core, if there is to be one.
func (p *playing) takeCore(vm *qemu.VM) error {
	if p.core == "" {
		return nil
	}
	c := &fullCore{streams: p.streams, path: p.core, elf: p.coreELF, sym: p.rec.sym, force: p.force}
	if err := c.ofVM(vm); err != nil {
		return fmt.Errorf("-core: %w", err)
	}
	return nil
}

// debug waits while gdb has the machine.
func (p *playing) debug(vm *qemu.VM) error {
	p.say("the machine waits for gdb: target remote %s", p.gdb)
	for over := false; !over; {
		select {
		case <-vm.Done():
			over = true
		case <-time.After(askEvery):
			vm.Instructions() // it wakes it, see askEvery
		}
	}
	return p.outputParted()
}

// outputParted returns how the output parts from the recording's, if it does.
func (p *playing) outputParted() error {
	if err := p.verifier.Parted(); err != nil {
		return partsError(strings.TrimPrefix(err.Error(), record.ErrParted.Error()+" "))
	}
	return nil
}

// finish is for a machine that stands at the end of its recording.
func (p *playing) finish(vm *qemu.VM) error {
	if err := p.takeCore(vm); err != nil {
		return err
	}
	if !p.rec.Ended() {
		return p.short()
	}
	vm.Continue()
	p.target = 0
	return p.play(vm)
}

// ended is for a machine that has come to its end.
func (p *playing) ended(vm *qemu.VM) error {
	res, err := vm.Wait()
	n, all := p.verifier.Verified(), int64(len(p.rec.Serial))-p.rec.log.Late
	switch parted := p.outputParted(); {
	case parted != nil:
		return parted
	case p.ctx.Err() != nil:
		return errInterrupted
	case !p.rec.Ended() && errors.Is(err, qemu.ErrQEMU):
		return partsError(err.Error())
	case !p.rec.Ended():
		return p.short()
	case res.Status != p.rec.End.Status && err != nil:
		return partsError(err.Error())
	case res.Status != p.rec.End.Status:
		return partsError(fmt.Sprintf("it has ended with QEMU's status %d, and the recording with %d",
			res.Status, p.rec.End.Status))
	case n < all:
		return partsError(
			fmt.Sprintf("it has ended after %d bytes of output, and the recording has %d", n, all))
	case p.target > 0:
		return partsError(fmt.Sprintf("it has ended before instruction %d", p.target))
	}
	how := "it ended in a trace"
	switch end := p.rec.End; {
	case end.Error != "":
		how = "it ended so: " + printable(end.Error)
	case end.Outcome == qemu.Exited.String():
		how = fmt.Sprintf("the program exited with status %d", end.Program)
	}
	p.same(how)
	return nil
}

// short is for a replay that has come to where its recording is cut or damaged, or was ended.
func (p *playing) short() error {
	how := "there it was ended"
	switch {
	case p.rec.Broken != nil:
		how = fmt.Sprintf("there it ends: %v", p.rec.Broken)
	case p.rec.End != nil && p.rec.End.Error != "":
		how += ": " + printable(p.rec.End.Error)
	}
	p.same(how)
	if errors.Is(p.rec.Broken, record.ErrDamaged) {
		return status(exitUsage)
	}
	return nil
}

// same says that the replay has done the same as the recording, up to where that has ended so.
func (p *playing) same(how string) {
	ran := ""
	if p.rec.log.Known {
		ran = fmt.Sprintf(", %d instructions", p.rec.log.Instructions)
		if !p.rec.VirtualTime {
			ran += fmt.Sprintf(" in %v", p.rec.log.Time)
		}
	}
	if b := &p.rec.log.Base; b.At > 0 {
		ran = fmt.Sprintf(", %d instructions from instruction %d on", p.rec.log.Instructions-b.At, b.At)
		if !p.rec.VirtualTime {
			ran += fmt.Sprintf(", %v from %v on", p.rec.log.Time-b.Time(), b.Time())
		}
	}
	p.verdict = fmt.Sprintf("the same as recorded: %d bytes of output%s; %s",
		p.verifier.Verified(), ran, how)
}
