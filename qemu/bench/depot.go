package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/eventstream"
	"github.com/zeroframe/zeroframe/tools/profile"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/depot"
)

// depot measures the walk of a stack into a depot that has it, in the time of the walk
// alone, which has the same guards. Each begins where the one before it tells.
func (b *bench) depot() error {
	b.progress("depot.d*.ratio: a walk of 32 and 128 frames into a stack depot that knows the stack, compared in full (known) or by its hash (hash), " +
		"in the time of a Capture's walk alone")
	const each = 100
	for _, n := range []int{32, 128} {
		c := newChain(n)
		walked := c.capture(n)
		if walked.Walk(c.first); walked.N != n {
			return fmt.Errorf("depot: %d records of %d", walked.N, n)
		}
		top := walked.Records[n-1].FP
		walk := c.walker(walked)
		memory := make([]uint64, 256<<10/8)
		d := new(depot.Depot)
		if !d.Init(uintptr(unsafe.Pointer(&memory[0])), 256<<10, chainText, chainText+0x1000) {
			return errors.New("depot: no depot")
		}
		p := &packed
		// Others that share its tails, so that it lies in four pieces.
		intern := func(fp uintptr) uint32 {
			d.Begin(p)
			p.Walk(c.stack.Lo, c.stack.Hi, 0, fp)
			id, _ := d.Finish(p, tracer.EndZero)
			return id
		}
		fp := c.first
		for range 3 {
			for range n / 4 {
				fp = *(*uintptr)(c.at(fp))
			}
			intern(fp)
		}
		want := intern(c.first)
		wrong := false
		into := func(times int) {
			fp := c.first
			for range times {
				wrong = intern(fp) != want || wrong
				fp = c.first + p.Last() - top
			}
			sink += fp
		}
		known := faster(into, walk, each)
		if wrong || want == 0 || p.N() != n {
			return fmt.Errorf("depot: a known stack of %d frames was not found", n)
		}
		b.atMost(fmt.Sprintf("depot.d%d.known.ratio", n), known, 1.4)
		if n == 32 { // longer ones are always compared
			d.TrustHash = true
			b.atMost("depot.d32.hash.ratio", faster(into, walk, each), 1.25)
		}
		runtime.KeepAlive(c)
		runtime.KeepAlive(memory)
	}
	return nil
}

// packed is not on a stack, which may move: it has addresses in itself.
var packed tracer.Packed

// at returns the place of a chain's word.
func (c *chain) at(a uintptr) unsafe.Pointer {
	return unsafe.Pointer(&c.words[(a-uintptr(unsafe.Pointer(&c.words[0])))/8])
}

// profiles measures the profiler in the guest, by instructions.
func (b *bench) profiles() error {
	b.progress("depot.space.ratio: bytes of a depot for a frame, over eight, with the stacks at each instruction of what testdata/profiled step does; " +
		"profile.sample.instructions: a sample of 32 frames; profile.overhead.percent: of a busy program at 997 Hz")
	elf, err := b.build("./qemu/testdata/profiled", "profiled.elf")
	if err != nil {
		return err
	}
	var all []*profile.Record
	for _, cmdline := range []string{"profile=on -- step", "profile=997 -- deep 27", "profile=1 -- deep 27", "profile=997 -- alloc 1000"} {
		r, err := profileOf(elf, cmdline)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	steps, on, off, fresh := all[0], all[1], all[2], all[3]
	b.figure("depot.space.stacks", steps.Stacks.Stacks)
	b.figure("depot.space.stack.bytes", fmt.Sprintf("%.1f", float64(steps.Stacks.Used)/float64(steps.Stacks.Stacks)))
	b.atMost("depot.space.ratio", float64(steps.Stacks.Used)/float64(8*steps.Stacks.Frames), 0.11)

	b.atMost("profile.sample.instructions", sampleCost(on), 1000)
	b.figure("profile.sample.new.instructions", fmt.Sprintf("%.0f", sampleCost(fresh)))
	b.figure("profile.overhead.percent", fmt.Sprintf("%.3f", 100*(float64(on.Ran)/float64(off.Ran)-1)))
	b.figure("profile.overhead.new.percent", fmt.Sprintf("%.3f", 100*fresh.Overhead()))
	return nil
}

// sampleCost returns the instructions of a sample.
func sampleCost(r *profile.Record) float64 { return float64(r.Cost) / float64(r.Samples) }

// profileOf boots an image and returns the profile that it sends. A tick of its clock is
// an instruction.
func profileOf(elf, cmdline string) (r *profile.Record, err error) {
	out, err := boot(elf, cmdline, qemu.Config{Icount: true, MemoryMiB: 256})
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	s := eventstream.NewText(&text, eventstream.Options{OnRecord: func(rec eventstream.Record) {
		if rec.Kind == profile.Kind {
			r, err = profile.Read(rec.Data)
		}
	}})
	if _, werr := s.Write([]byte(out)); werr != nil {
		return nil, werr
	}
	s.Close()
	if err == nil && r == nil {
		err = fmt.Errorf("%s: no profile came; the program said %q", cmdline, text.String())
	}
	if err == nil && (r.Samples == 0 || r.CostHz != 1e9) {
		err = fmt.Errorf("%s: %d samples, a clock of %d Hz; want some, and 1 GHz", cmdline, r.Samples, r.CostHz)
	}
	return r, err
}
