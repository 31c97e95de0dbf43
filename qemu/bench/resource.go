package main

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
)

// resources measures what the log of resources costs, in guest instructions: an event of
// the kernel's, one of the program's own, and the calls for both when nothing is logged.
func (b *bench) resources() error {
	b.progress("handles.*: instructions (QEMU with -icount) of a logged event under 32 frames: event: one of the kernel's, beyond what the system call " +
		"takes without record=; log: resource.Log of a goroutine, with its system call; off: resource.Log without record=")
	path, err := b.build("./qemu/bench/testdata/handles", "handles.elf")
	if err != nil {
		return err
	}
	off, err := handleCosts(path, "")
	if err != nil {
		return err
	}
	on, err := handleCosts(path, "record=fds,user")
	if err != nil {
		return err
	}
	b.figure("handles.event.instructions", fmt.Sprintf("%.0f", (on["pair"]-off["pair"])/2))
	b.figure("handles.log.instructions", fmt.Sprintf("%.0f", on["log"]-on["nothing"]))
	b.figure("handles.off.instructions", fmt.Sprintf("%.0f", off["log"]-off["nothing"]))
	return nil
}

// handleCosts runs testdata/handles and returns the median of what each thing takes.
func handleCosts(path, options string) (map[string]float64, error) {
	out, err := boot(path, options, qemu.Config{Extra: []string{"-icount", "shift=0,sleep=off"}})
	if err != nil {
		return nil, err
	}
	all := map[string][]float64{}
	for line := range strings.Lines(out) {
		var name string
		var n, ticks float64
		if _, err := fmt.Sscanf(line, "measure %s %g %g", &name, &n, &ticks); err == nil && n > 0 {
			all[name] = append(all[name], ticks/n)
		}
	}
	middle := map[string]float64{}
	for _, name := range []string{"nothing", "pair", "log"} {
		if len(all[name]) == 0 {
			return nil, fmt.Errorf("resources: %s was not measured, in:\n%s", name, out)
		}
		middle[name] = median(all[name])
	}
	return middle, nil
}
