package main

// The machine of a recording runs again. That it does the same is seen in three ways: QEMU itself gives
// up when an event of its log does not come at its instruction; the output is compared byte by byte;
// and the machine is stopped at the last instruction of the recording, which shows that it has come
// there. One that waits for an event that will not come stands still, which is seen by asking.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/record"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
)

// playing is a replay that runs.
type playing struct {
	*replayFlags
	rec      *recorded
	cfg      qemu.Config // without what is seen of it
	log      *record.Log
	sym      *symbol.File
	elf, tmp string
	stdout   *lines
	stderr   io.Writer
	spots    map[uint64][]spot // where something is said
	code     *inspect.Image
	clock    func(instructions uint64) time.Duration // nil: not read yet

	ctx      context.Context
	died     ending
	verifier *record.Verifier
	last     uint64 // instructions, when it was last asked
	target   uint64 // where it is to stop; 0: nowhere
	verdict  string // the last line
	atEnd    bool   // that is the recording's end
}

// While the machine sleeps, QEMU comes to the next event of its log when anything wakes it: what woke it as
// it was recorded is not there, and the next timer may be a minute away. So it is asked how far it is, all
// the time, which wakes it, too.
const (
	askEvery    = 5 * time.Millisecond   // while it runs instructions
	askSleeping = 200 * time.Microsecond // while it does not
)

// A machine that runs no instruction although it was asked more often than its log has such rounds of QEMU's
// main loop, and for so long, waits for what will not come.
const standsStill = 10 * time.Second

func (p *playing) say(format string, a ...any) {
	fmt.Fprintf(p.stderr, "zf replay: "+format+"\n", a...)
}

// run runs the replay and returns the exit status.
func (p *playing) run(ctx context.Context) int {
	p.ctx = ctx
	fail := func(code int, err error) int {
		p.say("%s", interrupted(ctx, withQEMUStep(err)))
		return code
	}
	have, err := qemu.Version(ctx, "")
	if err != nil {
		return fail(exitMachine, err)
	}
	if have != p.rec.QEMU && !p.force {
		return fail(exitUsage, fmt.Errorf("%s was recorded by QEMU %s, and this is %s, whose machine is another; install that one, or try -force", p.file, printable(p.rec.QEMU), printable(have)))
	}
	version := p.log.Version()
	if version == 0 {
		if version, err = qemu.LogVersion(ctx, "", p.tmp); err != nil {
			return fail(exitMachine, err)
		}
		p.log.ReadAs(version)
	}
	if p.log.Known && p.log.Instructions == p.log.Base.At {
		return fail(exitUsage, fmt.Errorf("%s: %w, before the machine's first instruction in it", p.file, record.ErrCut))
	}
	if p.log.Err != nil {
		p.say("note: %v; it is replayed up to there", p.log.Err)
	}
	if p.target, p.atEnd, err = p.until.of(p.rec.Recording, p.log); err != nil {
		return fail(exitUsage, fmt.Errorf("the point %s: %w", p.until.text, err))
	}
	if p.target == 0 && (p.look.goroutines || p.look.trace != "") {
		return fail(exitUsage, errors.New("nobody knows where this recording ends: -goroutines and -trace want -until, with a number of instructions"))
	}
	if p.atEnd && p.target > 0 {
		p.target-- // in the midst of the last one QEMU ends, or the log
	}
	if err := p.log.Write(p.cfg.Replay, version); err != nil {
		return fail(exitUsage, err)
	}
	out, end, err := p.output()
	if err != nil {
		return fail(exitUsage, err)
	}
	p.verifier = p.rec.NewVerifier(out)
	cfg := p.cfg
	cfg.Stdout = p.verifier
	if p.gdb != "" && p.atEnd {
		cfg.GDB = "tcp:" + p.gdb + ",server=on,wait=off"
	}
	if p.look.stops() {
		cfg.GDB = "unix:" + p.gdbSocket() + ",server=on,wait=off"
	}
	vm, err := qemu.Start(ctx, cfg)
	if err != nil {
		return fail(exitMachine, err)
	}
	var code int
	if p.look.stops() {
		code = p.observe(vm)
	} else {
		code = p.play(vm)
	}
	vm.Kill()
	vm.Wait()
	if err := end(); err != nil && code == exitOK {
		return fail(exitUsage, err)
	}
	if p.died.first != nil && p.show {
		dir, _ := os.Getwd() // without it, paths are absolute
		io.WriteString(p.stderr, summary(p.command, p.died.first, dir))
	}
	if p.verdict != "" {
		p.say("%s", p.verdict)
	}
	return code
}

// output returns what takes what the machine says, traces resolved, and what ends that.
func (p *playing) output() (out io.Writer, end func() error, err error) {
	var serial io.Writer = p.stdout
	if !p.show {
		serial = io.Discard
	}
	opt := trace.Options{
		Symbols: p.sym, Color: wantColor(p.stdout.w), Sanitize: isTerminal(p.stdout.w), Columns: columnsOf(p.stdout.w),
		Log: p.stderr, Idle: trace.DefaultIdle, OnTrace: p.died.take,
	}
	if err := p.view.apply(&opt, opt.Color); err != nil {
		return nil, nil, err
	}
	ends := &lineEnds{w: serial}
	if p.rec.Cooked {
		serial = ends
	}
	if p.rec.Quiet {
		serial = &withoutReport{w: serial}
	}
	filter, err := trace.NewFilter(serial, opt)
	if err != nil {
		return nil, nil, err
	}
	text := p.records.text(filter, p.command, p.stderr)
	return text, func() error { return errors.Join(text.Close(), filter.Close(), ends.flush(), p.records.end()) }, nil
}

// play lets the machine run to where it is to stop, and says what has come of it.
func (p *playing) play(vm *qemu.VM) int {
	if p.gdb != "" && p.atEnd {
		return p.debug(vm)
	}
	if p.target > 0 {
		if err := vm.StopAt(p.target); err != nil {
			p.say("%v", err)
			return exitMachine
		}
	}
	vm.Continue() // or it has ended already
	asked, since := 0, time.Now()
	for {
		pause := askEvery
		if asked > 0 {
			pause = askSleeping
		}
		select {
		case <-vm.Done():
			return p.ended(vm)
		case <-vm.Stopped():
			n, err := vm.Instructions()
			if err != nil || p.target == 0 {
				continue // it has ended, or does so
			}
			p.last = n
			if n != p.target {
				return p.parted(fmt.Sprintf("it has stopped after %d instructions, and should do so after %d", n, p.target))
			}
			return p.stopped(vm)
		case <-time.After(pause):
		}
		switch n, err := vm.Instructions(); {
		case err != nil:
		case n != p.last:
			p.last, asked, since = n, 0, time.Now()
		default:
			if asked++; asked > p.log.Rounds+500 && time.Since(since) > standsStill {
				return p.parted(standing)
			}
		}
	}
}

// point says where a replay is: its instruction, and the machine's time.
func (p *playing) point(instructions uint64) string {
	s := fmt.Sprintf("instruction %d", instructions)
	if p.log.Known && !p.rec.VirtualTime {
		if p.clock == nil {
			p.clock = p.log.Clock()
		}
		s += fmt.Sprintf(" (%v)", p.clock(instructions))
	}
	return s
}

// parted says that the replay has parted from its recording, and where.
func (p *playing) parted(how string) int {
	n := p.verifier.Verified()
	p.verdict = fmt.Sprintf("the replay parts from its recording: %s\nzf replay: up to there %d bytes of its output were the same; last seen at %s", how, n, p.point(p.last))
	if e, ok := p.log.Sent(n); ok {
		p.verdict += fmt.Sprintf("\nzf replay: the recording says the next byte at %s", p.point(e.Instructions))
	}
	return exitParted
}

// stopped is for a machine that stands where it is to stop.
func (p *playing) stopped(vm *qemu.VM) int {
	if p.atEnd {
		return p.finish(vm)
	}
	regs, err := vm.Registers()
	if err != nil {
		p.say("%v", err)
		return exitMachine
	}
	rip, _ := qemu.InstructionPointer(regs)
	halted := ""
	if strings.Contains(regs, "HLT=1") {
		halted = ", halted"
	}
	p.say("stopped at %s, rip %#x%s%s", p.point(p.last), rip, where(p.sym, rip), halted)
	if p.gdb != "" {
		if err := vm.ServeGDB(p.gdb); err != nil {
			p.say("-gdb: %v; another program may have that port: take another one", err)
			return exitMachine
		}
		return p.debug(vm)
	}
	io.WriteString(p.stderr, generalRegisters(regs))
	return p.takeCore(vm)
}

// takeCore makes the core, if there is to be one, and shows what is wanted of another.
func (p *playing) takeCore(vm *qemu.VM) int {
	if err := p.lookAt(vm); err != nil {
		p.say("%v", err)
		return exitUsage
	}
	if p.core == "" {
		return exitOK
	}
	c := &fullCore{command: p.command, path: p.core, elf: p.coreELF, sym: p.sym, force: p.force, zstd: filepath.Ext(p.core) == zstdSuffix, stderr: p.stderr}
	if err := c.ofVM(vm); err != nil {
		return failing(p.command, p.stderr)("-core: %v", err)
	}
	return exitOK
}

// debug waits while gdb has the machine.
func (p *playing) debug(vm *qemu.VM) int {
	p.say("the machine waits for gdb: target remote %s", p.gdb)
	for over := false; !over; {
		select {
		case <-vm.Done():
			over = true
		case <-time.After(askEvery):
			vm.Instructions() // it wakes it, see askEvery
		}
	}
	if err := p.verifier.Parted(); err != nil {
		return p.parted(strings.TrimPrefix(err.Error(), record.ErrParted.Error()+" "))
	}
	return exitOK
}

// finish is for a machine that stands at the end of its recording.
func (p *playing) finish(vm *qemu.VM) int {
	if code := p.takeCore(vm); code != exitOK {
		return code
	}
	if !p.rec.Ended() {
		return p.short()
	}
	vm.Continue()
	p.target = 0
	return p.play(vm)
}

// ended is for a machine that has come to its end.
func (p *playing) ended(vm *qemu.VM) int {
	res, err := vm.Wait()
	n, all := p.verifier.Verified(), int64(len(p.rec.Serial))
	switch parted := p.verifier.Parted(); {
	case parted != nil:
		return p.parted(strings.TrimPrefix(parted.Error(), record.ErrParted.Error()+" "))
	case p.ctx.Err() != nil:
		p.say("interrupted")
		return exitMachine
	case !p.rec.Ended() && errors.Is(err, qemu.ErrQEMU):
		return p.parted(err.Error())
	case !p.rec.Ended():
		return p.short()
	case res.Status != p.rec.End.Status && err != nil:
		return p.parted(err.Error())
	case res.Status != p.rec.End.Status:
		return p.parted(fmt.Sprintf("it has ended with QEMU's status %d, and the recording with %d", res.Status, p.rec.End.Status))
	case n < all:
		return p.parted(fmt.Sprintf("it has ended after %d bytes of output, and the recording has %d", n, all))
	case p.target > 0:
		return p.parted(fmt.Sprintf("it has ended before instruction %d", p.target))
	}
	how := "it ended in a trace"
	switch end := p.rec.End; {
	case end.Error != "":
		how = "it ended so: " + printable(end.Error)
	case end.Outcome == qemu.Exited.String():
		how = fmt.Sprintf("the program exited with status %d", end.Program)
	}
	return p.same(how)
}

// short is for a replay that has come to where its recording is cut or damaged.
func (p *playing) short() int {
	code := p.same(fmt.Sprintf("there it ends: %v", p.rec.Broken))
	if errors.Is(p.rec.Broken, record.ErrDamaged) {
		code = exitUsage
	}
	return code
}

// same says that the replay has done the same as the recording, up to where that has ended so.
func (p *playing) same(how string) int {
	ran := ""
	if p.log.Known {
		ran = fmt.Sprintf(", %d instructions", p.log.Instructions)
		if !p.rec.VirtualTime {
			ran += fmt.Sprintf(" in %v", p.log.Time)
		}
	}
	if b := &p.log.Base; b.At > 0 {
		ran = fmt.Sprintf(", %d instructions from instruction %d on", p.log.Instructions-b.At, b.At)
		if !p.rec.VirtualTime {
			ran += fmt.Sprintf(", %v from %v on", p.log.Time-b.Time(), b.Time())
		}
	}
	p.verdict = fmt.Sprintf("the same as recorded: %d bytes of output%s; %s", p.verifier.Verified(), ran, how)
	return exitOK
}
