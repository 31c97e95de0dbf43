package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Where the time between the first byte and main goes. An emulator translates each piece of
// code when it first runs, and that takes it many times as long as running it. QEMU's log says
// which pieces it has translated and run, so the time that is not for running is divided by
// the number of pieces.

// stages are the functions with which the stages of a start begin, when they first run. The
// first byte is that of the report.
var stages = []string{batch.Module + "kernel.printReport", batch.Module + "kernel.startProgram",
	"_rt0_amd64_linux", "main.main"}

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

// partOf returns the part of a start that a function works for.
func partOf(function string, stage int) string {
	name, kernel := strings.CutPrefix(function, batch.Module)
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

// starts takes the parts of hello's way from the first byte to main.
func (b *bench) starts() error {
	hello, err := b.image(own + "plain")
	if err != nil {
		return err
	}
	funcs := slices.Collect(hello.Symbols.Functions())
	if len(funcs) == 0 {
		return errors.New("hello has no functions")
	}
	for _, name := range []string{"q35", "microvm"} {
		file := filepath.Join(b.dir, name+".log")
		text := fmt.Sprintf("%#x..%#x", funcs[0].Start, funcs[len(funcs)-1].End)
		_, _, err = b.boot(machine{Config: qemu.Config{Kernel: own + "plain", Machine: name,
			Extra: []string{"-icount", "shift=0,sleep=off",
				"-d", "in_asm,exec,nochain", "-dfilter", text, "-D", file}}})
		if err != nil {
			return err
		}
		log, err := os.Open(file)
		if err != nil {
			return err
		}
		l := startLog{funcs: funcs, blocks: map[uint64]*block{}, parts: map[string]*work{}}
		err = l.read(bufio.NewScanner(log))
		log.Close()
		os.Remove(file)
		if err != nil {
			return fmt.Errorf("QEMU's log (-d in_asm,exec): %w", err)
		}
		all := work{}
		for part, w := range l.parts {
			if part != "kernel" {
				all.blocks += w.blocks
				all.instructions += w.instructions
			}
		}
		l.parts["all"] = &all
		for part, w := range l.parts {
			b.add(part+"."+name+".blocks", w.blocks)
			b.add(part+"."+name+".instructions", w.instructions)
		}
	}
	return nil
}

// work is what the emulator has done for a part: blocks of code translated, instructions run.
type work struct{ blocks, instructions float64 }

// block is a block of code that has run.
type block struct {
	function string
	size     float64 // in instructions
}

// startLog is what is read of QEMU's log.
type startLog struct {
	funcs  []symbol.Function
	blocks map[uint64]*block
	parts  map[string]*work
	stage  int

	size  float64 // of the block that is being translated
	pc    uint64  // of it, where it begins
	fresh bool    // it has not run
}

// read reads the log up to main.
func (l *startLog) read(lines *bufio.Scanner) (err error) {
	for lines.Scan() && l.stage < inMain {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "IN:"):
			l.size, l.fresh = 0, true
		case l.fresh && strings.HasPrefix(line, "0x"): // an instruction
			if l.size++; l.size == 1 {
				addr, _, _ := strings.Cut(line, ":")
				l.pc, err = strconv.ParseUint(addr, 0, 64)
			}
		case strings.HasPrefix(line, "Trace "): // a block runs: [cs/pc/flags/cflags]
			var at uint64
			if f := strings.Split(line, "/"); len(f) > 1 {
				at, err = strconv.ParseUint(f[1], 16, 64)
			}
			l.runs(at)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	if l.stage != inMain {
		err = fmt.Errorf("it has %d of the %d stages", l.stage, len(stages))
	}
	return errors.Join(lines.Err(), err)
}

// runs counts a block that runs.
func (l *startLog) runs(at uint64) {
	isNew := l.fresh && at == l.pc
	l.fresh = false
	if isNew {
		next := sort.Search(len(l.funcs), func(i int) bool { return l.funcs[i].Start > at })
		f := l.funcs[max(next-1, 0)]
		l.blocks[at] = &block{f.Name, l.size}
		if i := slices.Index(stages[l.stage:], f.Name); f.Start == at && i >= 0 {
			l.stage += 1 + i
		}
	}
	k := l.blocks[at]
	if k == nil {
		return
	}
	part := partOf(k.function, l.stage)
	if l.parts[part] == nil {
		l.parts[part] = new(work)
	}
	l.parts[part].instructions += k.size
	if isNew {
		l.parts[part].blocks++
	}
}
