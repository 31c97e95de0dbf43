package main

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"

	"github.com/zeroframe/zeroframe/qemu"
)

// cpusTime is what testdata/cpus says; lockTotal is the last line of the table of kstat=.
var (
	cpusTime  = regexp.MustCompile(`(?m)^(\d+) CPUs, (\d+) us`)
	lockTotal = regexp.MustCompile(`(?m)^all +\d+ +\d+ +(\d+) +\d+ +(\d+) `)
)

// cpus measures how much faster goroutines come to an end on two CPUs than on one, by the
// machine's clock, and what part of all CPUs' time goes into the kernel lock.
func (b *bench) cpus() error {
	b.progress(fmt.Sprintf("cpus.*: 64 goroutines on one CPU and on more, under TCG with a thread for each, by turns; this host has %d", runtime.NumCPU()))
	many := []int{2, 4, 8, 16, 32, 64}
	if b.short {
		many = []int{4}
	}
	for _, m := range []struct {
		name string
		goal float64
	}{{"compute", 1.8}, {"garbage", 1.5}} {
		var ratios []float64
		for range runs {
			one, _, err := b.onCPUs(m.name, 1)
			if err != nil {
				return err
			}
			two, _, err := b.onCPUs(m.name, 2)
			if err != nil {
				return err
			}
			ratios = append(ratios, one/two)
		}
		b.atLeast("cpus."+m.name+".2.speedup", median(ratios), m.goal)
		for _, n := range many {
			us, lock, err := b.onCPUs(m.name, n)
			if err != nil {
				return err
			}
			b.figure(fmt.Sprintf("cpus.%s.%d.held_percent", m.name, n), decimals(100*lock.held/us))
			b.figure(fmt.Sprintf("cpus.%s.%d.waiting_percent", m.name, n), decimals(100*lock.waiting/us/float64(n)))
		}
	}
	return nil
}

// lockTime is how long the kernel lock was held, and waited for, in µs of all CPUs together.
type lockTime struct{ held, waiting float64 }

// onCPUs runs a kind of work on n CPUs, and returns how many µs it took.
func (b *bench) onCPUs(work string, n int) (us float64, lock lockTime, err error) {
	out, err := boot(b.cpusImage, "kstat=on -- "+work, qemu.Config{CPUs: n, MemoryMiB: 1024})
	if err != nil {
		return 0, lock, err
	}
	m, all := cpusTime.FindStringSubmatch(out), lockTotal.FindStringSubmatch(out)
	if m == nil || all == nil && n > 1 || m[1] != strconv.Itoa(n) {
		return 0, lock, fmt.Errorf("cpus.%s on %d CPUs: the program did not say how long it took: %.300q", work, n, out[max(len(out)-300, 0):])
	}
	us, _ = strconv.ParseFloat(m[2], 64)
	if n == 1 {
		return max(us, 1), lock, nil // there is no lock
	}
	lock.held, _ = strconv.ParseFloat(all[1], 64)
	lock.waiting, _ = strconv.ParseFloat(all[2], 64)
	return max(us, 1), lock, nil
}
