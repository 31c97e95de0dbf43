package main

// The machine of a replay, stopped on its way: at breakpoints, and after so many instructions.

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/memory"
	"github.com/zeroframe/zeroframe/tools/profile"
	"github.com/zeroframe/zeroframe/tools/timeline"
	"github.com/zeroframe/zeroframe/tools/unwind"
)

// observer stops a replay where something is to be looked at.
type observer struct {
	p     *playing
	vm    *qemu.VM
	d     *memory.Debugger
	image *inspect.Image
	spots map[uint64][]spot

	// again are calls that will be seen once more: an interrupt came when the machine stood
	// in front of their first instruction.
	again map[entered]bool

	tables  *unwind.Tables
	counts  profile.Counted
	every   uint64
	entry   uint64 // the image's first instruction; 0: it has been run
	next    uint64 // where the next sample is
	taken   uint64 // where the last one was
	samples int
}

// entered is a call that begins.
type entered struct {
	pc        uint64
	goroutine int64
	sp        uint64 // in the kernel: its functions may be interrupted by themselves
}

// forEver is behind each recording's end, in instructions.
const forEver = 1<<63 - 1

// some is how many samples a profile has if nobody says how far they are apart.
const (
	some      = 1000
	leastStep = 1009 // a prime: loops do not fall into step with it
)

// gdbSocket is where the stub listens that an observer uses.
func (p *playing) gdbSocket() string { return filepath.Join(p.rec.tmp, "gdb") }

// observe lets the machine run to where it is to stop, and says what is to be seen on the way.
func (p *playing) observe(vm *qemu.VM) error {
	fail := func(err error) error { return failure{interrupted(p.ctx, err), exitMachine} }
	d, err := memory.DialDebugger(p.ctx, "unix", p.gdbSocket())
	if err != nil {
		return fail(err)
	}
	o := &observer{p: p, vm: vm, d: d, image: p.code, spots: p.spots, again: map[entered]bool{}}
	if p.look.profile != "" {
		if err := o.beginProfile(); err != nil {
			return fail(err)
		}
	}
	for _, a := range slices.Sorted(maps.Keys(o.spots)) {
		if err := d.Break(a); err != nil {
			return fail(err)
		}
	}
	err = o.run()
	if eerr := o.end(); eerr != nil {
		if err == nil {
			return eerr
		}
		p.fail(eerr)
	}
	var parts partsError
	switch {
	case errors.As(err, &parts):
		return p.parted(string(parts))
	case errors.Is(err, memory.ErrEnded), p.ctx.Err() != nil:
		vm.Kill()
		return p.ended(vm)
	case err != nil && !over(vm):
		return fail(err)
	case err != nil:
		return p.ended(vm)
	}
	for a := range o.spots {
		if err := d.Unbreak(a); err != nil {
			return fail(err)
		}
	}
	p.last = p.target
	return p.stopped(vm)
}

// beginProfile decides where samples are taken. What runs before the image, the firmware, is none
// of the profile's.
func (o *observer) beginProfile() error {
	begins := o.p.rec.log.Base.At
	o.tables, o.every = unwind.New(o.p.rec.sym), o.p.look.every
	if o.every == 0 {
		if o.every = leastStep; (o.p.target-begins)/some > leastStep {
			o.every = (o.p.target-begins)/some | 1
		}
	}
	if begins > 0 { // it runs already
		o.taken, o.next = begins, begins+o.every
		return nil
	}
	o.next = forEver
	f, err := elf.Open(o.p.rec.elf)
	if err != nil {
		return err
	}
	defer f.Close()
	o.entry = f.Entry
	return o.d.Break(o.entry)
}

// run runs the machine until it has come to the replay's target.
func (o *observer) run() error {
	armed, at := uint64(forEver), o.p.rec.log.Base.At
	for {
		to := o.p.target
		if to == 0 { // the length is not known
			to = forEver
		}
		if o.every > 0 {
			to = min(to, o.next)
		}
		switch {
		case at >= to:
		case to == at+1 && o.every == 1:
			if err := o.d.Step(o.p.ctx); err != nil {
				return err
			}
		default:
			if armed != to {
				if err := o.vm.StopAt(to); err != nil {
					return err
				}
				armed = to
			}
			if err := o.proceed(); err != nil {
				return err
			}
		}
		n, err := o.vm.Instructions()
		if err != nil {
			return err
		}
		at = n
		if at >= armed {
			armed = forEver
		}
		if at > to {
			return partsError(wrongStop(at, to))
		}
		c, err := o.look(at)
		if err != nil {
			return err
		}
		if o.every > 0 && at == o.next {
			o.sample(c, at)
			o.samples++
			o.next += o.every
		}
		if at == o.p.target && at > 0 {
			return nil
		}
		if all := o.spots[c.Registers["rip"]]; all != nil {
			if err := o.hit(c, at, all); err != nil {
				return err
			}
			if at, err = o.vm.Instructions(); err != nil {
				return err
			}
		}
	}
}

// look returns the CPU where it stands, and begins the profile at the image's first instruction.
func (o *observer) look(at uint64) (c *inspect.CPU, err error) {
	v := &view{read: o.d.Read, pages: map[uint64][]byte{}}
	c = &inspect.CPU{Read: v.Read}
	if c.Registers, err = o.d.Registers(); err != nil || o.entry == 0 || c.Registers["rip"] != o.entry {
		return c, err
	}
	if o.spots[o.entry] == nil {
		err = o.d.Unbreak(o.entry)
	}
	o.entry, o.taken, o.next = 0, at, at+o.every
	return c, err
}

// hit says what is to be said at a spot, and steps over its instruction: the stub would stop
// there again.
func (o *observer) hit(c *inspect.CPU, at uint64, all []spot) error {
	pc := c.Registers["rip"]
	if f, ok := o.p.rec.sym.GoFunc(pc); ok {
		c.Depth, _ = f.SPDelta(pc)
	}
	this := entered{pc: pc, goroutine: o.image.Goroutine(c)}
	if this.goroutine == 0 {
		this.sp = c.Registers["rsp"]
	}
	if o.again[this] {
		delete(o.again, this)
	} else {
		who := "kernel"
		if this.goroutine != 0 {
			who = fmt.Sprintf("goroutine %d", this.goroutine)
		}
		for i := range all {
			all[i].of.times++
			if err := o.p.out.say(fmt.Sprintf("%s, %s: %s", o.p.point(at), who, all[i].sayAt(o.image, c))); err != nil {
				return err
			}
		}
	}
	if err := o.d.Step(o.p.ctx); err != nil {
		return err
	}
	// A step that has run no instruction has delivered an interrupt.
	n, err := o.vm.Instructions()
	if err != nil {
		return err
	}
	if n == at {
		o.again[this] = true
	}
	return nil
}

// mostFrames is of a sample's stack.
const mostFrames = 256

// sample takes a sample of where the machine is.
func (o *observer) sample(c *inspect.CPU, at uint64) {
	if !o.p.rec.sym.IsText(c.Registers["rip"]) {
		o.counts.Add(nil, at-o.taken, true)
		o.taken = at
		return
	}
	var regs unwind.Regs
	for name, v := range c.Registers {
		if r, ok := unwind.RegNamed(name); ok {
			regs.Set(r, v)
		}
	}
	word := func(addr uint64) (v uint64, ok bool) {
		var b [8]byte
		if c.Read(b[:], addr) != nil {
			return 0, false
		}
		for i := len(b) - 1; i >= 0; i-- {
			v = v<<8 | uint64(b[i])
		}
		return v, true
	}
	t := o.tables.Unwind(&regs, false, word, mostFrames)
	var stack []uint64
	for i := range t.Frames {
		a := t.Frames[i].PC
		if i > 0 && t.Frames[i].Exact {
			a++ // an instruction itself, where a return address is expected
		}
		stack = append(stack, a)
	}
	o.counts.Add(stack, at-o.taken, t.End == unwind.EndTop || t.End == unwind.EndZero)
	o.taken = at
}

// proceed lets the machine run until it stops.
func (o *observer) proceed() error {
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = o.d.Go(o.p.ctx)
	}()
	if _, stands := o.p.await(o.vm, nil, done); stands != nil {
		o.vm.Kill()
		<-done
		return stands
	}
	return err
}

// end says what has not come, and writes what has been collected.
func (o *observer) end() error {
	for _, a := range o.p.look.asked {
		if a.times == 0 && o.p.ctx.Err() == nil {
			o.p.say("%s", a.never())
		}
	}
	if o.every == 0 {
		return nil
	}
	if o.entry != 0 && o.p.ctx.Err() != nil {
		return nil
	}
	if o.entry != 0 {
		return errors.New("-profile: the machine has not come to the image's first instruction")
	}
	prof, err := o.counts.Pprof(o.every, o.p.rec.sym)
	if err != nil {
		return fmt.Errorf("-profile: %w", err)
	}
	prof.Mapping[0].File = o.p.rec.Name
	if err := writeTo(o.p.look.profile, o.p.out, prof.Write); err != nil {
		return fmt.Errorf("-profile: %w", err)
	}
	if o.p.look.profile == standardOutput {
		return nil
	}
	o.p.say("wrote %s: %s, each of %d instructions; look at it with: zf profile %[1]s", o.p.look.profile, count(o.samples, "sample"), o.every)
	return nil
}

// lookAt shows what is wanted of the machine where it stands.
func (p *playing) lookAt(vm *qemu.VM) error {
	if !p.look.goroutines && p.look.trace == "" {
		return nil
	}
	path := filepath.Join(p.rec.tmp, "at.core")
	c := &fullCore{streams: streams{stderr: io.Discard}, path: path, elf: p.rec.elf, sym: p.rec.sym, force: p.force}
	if err := c.ofVM(vm); err != nil {
		return err
	}
	defer os.Remove(path)
	d := dead{elf: p.rec.elf, path: path, force: p.force}
	if p.look.goroutines {
		g := goroutinesFlags{dead: d}
		all, graph, err := g.read(p.ctx, &p.streams)
		if err != nil {
			return fmt.Errorf("-goroutines: %w", err)
		}
		if err := g.show(p.out, all, graph); err != nil {
			return err
		}
	}
	if p.look.trace != "" {
		all, err := d.timelines(p.ctx, &p.streams)
		if err == nil {
			err = writeTo(p.look.trace, p.out, func(w io.Writer) error { return timeline.WritePerfetto(w, all) })
		}
		if err != nil {
			return fmt.Errorf("-trace: %w", err)
		}
		if p.look.trace == standardOutput {
			return nil
		}
		p.say("wrote %s; open it at https://ui.perfetto.dev", p.look.trace)
	}
	return nil
}

// over reports whether a machine has ended.
func over(vm *qemu.VM) bool {
	select {
	case <-vm.Done():
		return true
	default:
		return false
	}
}
