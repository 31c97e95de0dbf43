package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Where the time between the first byte and main goes. An emulator translates each piece of
// code when it first runs, and that takes it many times as long as running it. QEMU's log says
// which pieces it has translated and run, so the time that is not for running is divided by
// the number of pieces.

const ours = "github.com/zeroframe/zeroframe/"

// stages are the functions with which the stages of a start begin, when they first run. The
// first byte is that of the report.
var stages = []string{ours + "kernel.printReport", ours + "kernel.startProgram", "_rt0_amd64_linux", "main.main"}

const (
	beforeFirstByte = iota
	inReport
	beforeRuntime
	inRuntime
	inMain
)

// startParts are what the kernel does between the report and main: functions by how their
// names begin. What is none of these is said by the stage.
var startParts = []struct{ name, begins string }{
	{"copy", "arch/amd64.SaveKept"},
	{"copy", "arch/amd64.Keep"},
	{"paint", "arch/amd64.FillUser"},
	{"paint", "tracer."},
	{"memory", "kernel/mem."},
}

// work is what the emulator has done for a part: blocks of code translated, instructions run.
type work struct{ blocks, instructions int }

// partOf returns the part of a start that a function works for.
func partOf(function string, stage int) string {
	name, kernel := strings.CutPrefix(function, ours)
	switch {
	case stage == beforeFirstByte:
		return "kernel"
	case stage == inReport:
		return "report"
	case !kernel:
		return "runtime"
	}
	for _, p := range startParts {
		if strings.HasPrefix(name, p.begins) {
			return p.name
		}
	}
	if stage == beforeRuntime {
		return "program"
	}
	return "calls"
}

// starts gives the parts of hello's way from the first byte to main.
func (b *bench) starts() error {
	b.progress("start.*: hello from the first byte to main.main; ms: the least of each time, divided by the instructions that run for each part and the blocks of code that QEMU translates for it, counted with -icount; " +
		"main.warm.ms: the same instructions, translated before, by the time of those of cost.loop")
	warm, err := b.warmInstruction()
	if err != nil {
		return err
	}
	for _, m := range []string{"q35", "microvm"} {
		times, err := b.quickest(m)
		if err != nil {
			return err
		}
		parts, err := b.translated(m)
		if err != nil {
			return err
		}
		name := "start." + m
		b.figure(name+".first_byte.ms", fmt.Sprintf("%.0f", times.first))
		b.figure(name+".kernel.blocks", parts["kernel"].blocks)
		b.figure(name+".kernel.instructions", parts["kernel"].instructions)
		delete(parts, "kernel")
		if after := math.Round(times.main - times.first); m == "q35" {
			b.atMost(name+".main.after_first_byte.ms", after, 30)
		} else {
			b.figure(name+".main.after_first_byte.ms", after)
		}
		var all work
		for _, w := range parts {
			all.blocks += w.blocks
			all.instructions += w.instructions
		}
		b.figure(name+".main.blocks", all.blocks)
		b.figure(name+".main.instructions", all.instructions)
		running := func(w work) float64 { return float64(w.instructions) * warm / 1e6 } // ms
		b.figure(name+".main.warm.ms", fmt.Sprintf("%.1f", running(all)))
		later := work{all.blocks - parts["report"].blocks, all.instructions - parts["report"].instructions}
		perBlock := (times.main - times.report - running(later)) / float64(later.blocks)
		for _, part := range []string{"report", "program", "memory", "copy", "paint", "calls", "runtime"} {
			took := times.report - times.first
			if part != "report" {
				took = running(parts[part]) + perBlock*float64(parts[part].blocks)
			}
			b.figure(name+"."+part+".ms", fmt.Sprintf("%.1f", took))
			b.figure(name+"."+part+".blocks", parts[part].blocks)
			b.figure(name+"."+part+".instructions", parts[part].instructions)
		}
	}
	return nil
}

// warmInstruction returns the time in ns of an instruction that is translated, on a host that
// does nothing else meanwhile: the quickest sample.
func (b *bench) warmInstruction() (float64, error) {
	exact, err := b.guestCosts(qemu.Config{Extra: []string{"-icount", "shift=0,sleep=off"}})
	if err != nil {
		return 0, err
	}
	guest, err := b.guestCosts(qemu.Config{})
	if err != nil {
		return 0, err
	}
	return guest.part("loop", 0, func(c cost) float64 { return c.ns }) / exact.middle("loop", func(c cost) float64 { return c.ticks }), nil
}

// startTimes is when something has come by, in ms from the start of QEMU.
type startTimes struct{ first, report, main float64 }

// quickest boots hello some times and returns the least of each time: what else the host does
// makes a time longer, never shorter.
func (b *bench) quickest(machine string) (best startTimes, err error) {
	best = startTimes{math.Inf(1), math.Inf(1), math.Inf(1)}
	for range 3 * runs {
		main := &clock{begin: time.Now(), mark: []byte("\nhello\r\n")}
		// The last line of the report is the last stack's.
		report := &clock{begin: main.begin, mark: []byte("\nkernel "), next: main}
		if _, err := boot(b.plain, "", qemu.Config{Stdout: report, Machine: machine}); err != nil {
			return best, err
		}
		if report.marked == 0 || main.marked == 0 {
			return best, fmt.Errorf("starts: %s: the machine did not send its report and hello", machine)
		}
		best = startTimes{min(best.first, ms(report.first)), min(best.report, ms(report.marked)), min(best.main, ms(main.marked))}
	}
	return best, nil
}

// translated returns what QEMU does for each part of hello's start.
func (b *bench) translated(machine string) (map[string]work, error) {
	symbols, err := symbol.Open(b.plain)
	if err != nil {
		return nil, err
	}
	defer symbols.Close()
	funcs := slices.Collect(symbols.Functions())
	if len(funcs) == 0 {
		return nil, errors.New("starts: hello has no functions")
	}
	file := filepath.Join(b.dir, "blocks.log")
	defer os.Remove(file)
	lo, hi := funcs[0].Start, funcs[len(funcs)-1].End
	_, err = boot(b.plain, "", qemu.Config{Machine: machine, Extra: []string{"-icount", "shift=0,sleep=off",
		"-d", "in_asm,exec,nochain", "-dfilter", fmt.Sprintf("%#x..%#x", lo, hi), "-D", file}})
	if err != nil {
		return nil, err
	}
	log, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	parts := make(map[string]work)
	type block struct {
		function string
		size     int // in instructions
	}
	blocks := make(map[uint64]*block)
	var size int   // of the block that is being translated
	var pc uint64  // of it, where it begins
	var fresh bool // it has not run
	stage := 0
	lines := bufio.NewScanner(log)
	for lines.Scan() && stage < inMain {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "IN:"):
			size, fresh = 0, true
		case fresh && strings.HasPrefix(line, "0x"): // an instruction
			if size++; size == 1 {
				addr, _, _ := strings.Cut(line, ":")
				if pc, err = strconv.ParseUint(addr, 0, 64); err != nil {
					return nil, fmt.Errorf("starts: QEMU's log has %q", line)
				}
			}
		case strings.HasPrefix(line, "Trace "): // a block runs: [cs/pc/flags/cflags]
			f := strings.Split(line, "/")
			if len(f) < 4 {
				return nil, fmt.Errorf("starts: QEMU's log has %q", line)
			}
			at, err := strconv.ParseUint(f[1], 16, 64)
			if err != nil {
				return nil, fmt.Errorf("starts: QEMU's log has %q", line)
			}
			isNew := fresh && at == pc
			fresh = false
			if isNew {
				i := sort.Search(len(funcs), func(i int) bool { return funcs[i].Start > at }) - 1
				blocks[at] = &block{funcs[max(i, 0)].Name, size}
				if funcs[max(i, 0)].Start == at && slices.Contains(stages[stage:], blocks[at].function) {
					stage = 1 + slices.Index(stages, blocks[at].function)
				}
			}
			if k := blocks[at]; k != nil {
				part := partOf(k.function, stage)
				w := parts[part]
				w.instructions += k.size
				if isNew {
					w.blocks++
				}
				parts[part] = w
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if stage != inMain {
		return nil, fmt.Errorf("starts: QEMU's log (-d in_asm,exec) shows %d of the %d stages", stage, len(stages))
	}
	return parts, nil
}
