package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/eventstream"
	"github.com/zeroframe/zeroframe/tools/initrd"
	"github.com/zeroframe/zeroframe/tools/probe"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// probes measures what a breakpoint of zf run -probe costs, by instructions, and how much
// of a program can be probed.
func (b *bench) probes() error {
	b.progress("probe.hit.instructions: a breakpoint at an entry or a return; stacks: with the stack of callers; all: in a program of which all that can be is probed")
	elf, err := b.build("./qemu/testdata/probes", "probes.elf")
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name, pattern, append string
		stacks                bool
	}{
		{"hit", "main.recurse", " -- less", false},
		{"hit.stacks", "main.steps", "depot=1048576 -- less", true},
		{"hit.all", "*", " -- less", false},
	} {
		plan, rep, err := b.probed(elf, m.pattern, m.append, m.stacks)
		if err != nil {
			return err
		}
		b.figure("probe."+m.name+".instructions", fmt.Sprintf("%.0f", float64(rep.Overhead)/float64(rep.Hits)))
		if m.pattern == "*" {
			all := len(plan.Functions)
			for _, f := range plan.Refused {
				if f.Refused != probe.InKernel {
					all++
				}
			}
			b.figure("probe.functions", len(plan.Functions))
			b.figure("probe.functions.percent", fmt.Sprintf("%.1f", 100*float64(len(plan.Functions))/float64(all)))
		}
	}
	return nil
}

// probed boots an image with probes and returns what was counted. A tick of its clock is
// an instruction.
func (b *bench) probed(elf, pattern, cmdline string, stacks bool) (plan *probe.Plan, rep *probe.Report, err error) {
	sym, err := symbol.Open(elf)
	if err != nil {
		return nil, nil, err
	}
	defer sym.Close()
	if plan, err = probe.Choose(sym, []string{pattern}); err != nil {
		return nil, nil, err
	}
	var a initrd.Archive
	a.AddFile("/"+probe.File, 0o444, plan.Table(stacks))
	archive := filepath.Join(b.dir, "probes.initrd")
	if err := a.WriteFile(archive); err != nil {
		return nil, nil, err
	}
	out, err := boot(elf, cmdline, qemu.Config{Icount: true, Initrd: archive})
	if err != nil {
		return nil, nil, err
	}
	s := eventstream.NewText(io.Discard, eventstream.Options{OnRecord: func(rec eventstream.Record) {
		if rec.Kind == probe.Kind {
			rep, err = plan.Read(rec.Data)
		}
	}})
	if _, werr := s.Write([]byte(out)); werr != nil {
		return nil, nil, werr
	}
	s.Close()
	if err == nil && (rep == nil || rep.Hits == 0) {
		err = fmt.Errorf("probes of %s: no counts came", pattern)
	}
	return plan, rep, err
}
