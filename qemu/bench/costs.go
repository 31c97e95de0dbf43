package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
)

// A cost is what one program has measured in one run: samples by name.
type costs map[string][]cost

// cost is a sample of one thing, for one time of doing it.
type cost struct{ ticks, ns float64 }

// costRuns is how often the costs that are times are measured, the kernel and Linux by
// turns; each run has many samples.
var costRuns = 5 // -short: 1

// costs measures the program testdata/costs thrice: where a tick is an instruction,
// on the emulator at its own speed, and as a process of Linux with one processor.
//
// The emulator translates, so a nanosecond there is not one of Linux. The two are
// compared by how many rounds of the same sort each could have done in the time.
// That is a rough measure: an emulator is slower at some instructions than at others,
// so a ratio between a half and two says that they are alike.
func (b *bench) costs() error {
	b.progress("cost.*: testdata/costs, one file. instructions: in QEMU with -icount; guest.ns: in QEMU with TCG at its own speed; " +
		"linux.ns: on Linux with GOMAXPROCS=1; ratio: guest over Linux, each in units of cost.loop on the same machine (that of cost.loop itself: in ns)")
	// With sleep=off, time that nobody uses takes no time: without, the host's own
	// lateness would be added to the timer's.
	exact, err := b.guestCosts(qemu.Config{Extra: []string{"-icount", "shift=0,sleep=off"}})
	if err != nil {
		return err
	}
	guest, linux := costs{}, costs{}
	for range costRuns {
		g, err := b.guestCosts(qemu.Config{})
		if err != nil {
			return err
		}
		guest.add(g)
		cmd := exec.Command(b.cost)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("costs: on Linux: %w", err)
		}
		l, err := parseCosts(string(out))
		if err != nil {
			return fmt.Errorf("costs: on Linux: %w", err)
		}
		linux.add(l)
	}

	b.figure("boot.main.instructions", fmt.Sprintf("%.0f", exact["main"][0].ticks))
	b.figure("boot.main.kernel.instructions", fmt.Sprintf("%.0f", exact["main"][0].ns))
	ns := func(c cost) float64 { return c.ns }
	ticks := func(c cost) float64 { return c.ticks }
	for _, name := range []string{"loop", "syscall", "clock", "gosched", "channel", "thread", "touch"} {
		b.figure("cost."+name+".instructions", fmt.Sprintf("%.0f", exact.middle(name, ticks)))
		b.figure("cost."+name+".guest.ns", fmt.Sprintf("%.0f", guest.middle(name, ns)))
		b.figure("cost."+name+".linux.ns", fmt.Sprintf("%.0f", linux.middle(name, ns)))
		slower := guest.middle(name, ns) / linux.middle(name, ns)
		if name != "loop" {
			slower /= guest.middle("loop", ns) / linux.middle("loop", ns)
		}
		b.figure("cost."+name+".ratio", fmt.Sprintf("%.2f", slower))
	}

	b.progress("events.instructions: what getpgrp, which the kernel notes with its result, takes more than getpid, which it does not: the same function answers both")
	b.atMost("events.instructions", exact.middle("noted", ticks)-exact.middle("syscall", ticks), 60)

	b.progress("timer.*: how much longer than 1 ms a sleep of 1 ms takes, median and 90th percentile, by the sleeper's own clock, in the same runs as cost.*")
	const asked = 1e6
	b.figure("timer.late.instructions", fmt.Sprintf("%.0f", exact.middle("timer", ns)-asked))
	for _, m := range []struct {
		name string
		c    costs
	}{{"guest", guest}, {"linux", linux}} {
		b.figure("timer.late."+m.name+".us", fmt.Sprintf("%.0f", (m.c.middle("timer", ns)-asked)/1e3))
		b.figure("timer.late.p90."+m.name+".us", fmt.Sprintf("%.0f", (m.c.part("timer", 0.9, ns)-asked)/1e3))
	}
	return nil
}

func (b *bench) guestCosts(cfg qemu.Config) (costs, error) {
	out, err := boot(b.cost, "", cfg)
	if err != nil {
		return nil, err
	}
	c, err := parseCosts(out)
	if err != nil {
		err = fmt.Errorf("costs: %w, in:\n%s", err, out)
	}
	return c, err
}

// parseCosts reads what testdata/costs prints.
func parseCosts(out string) (costs, error) {
	all := costs{}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "measure ") {
			continue
		}
		var name string
		var n, ticks, ns float64
		if _, err := fmt.Sscanf(line, "measure %s %g %g %g", &name, &n, &ticks, &ns); err != nil || n <= 0 {
			return nil, fmt.Errorf("not a measurement: %q", line)
		}
		all[name] = append(all[name], cost{ticks / n, ns / n})
	}
	for _, name := range []string{"main", "loop", "syscall", "noted", "clock", "gosched", "channel", "thread", "touch", "timer"} {
		if len(all[name]) == 0 {
			return nil, fmt.Errorf("%s was not measured", name)
		}
	}
	return all, nil
}

// add adds the samples of another run.
func (c costs) add(d costs) {
	for name, samples := range d {
		c[name] = append(c[name], samples...)
	}
}

// middle is the median of a name's samples.
func (c costs) middle(name string, of func(cost) float64) float64 { return c.part(name, 0.5, of) }

// part is the value below which that part of a name's samples lies.
func (c costs) part(name string, part float64, of func(cost) float64) float64 {
	var v []float64
	for _, s := range c[name] {
		v = append(v, of(s))
	}
	slices.Sort(v)
	return v[int(part*float64(len(v)-1)+0.5)]
}
