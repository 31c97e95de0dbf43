package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/image"
)

// chaosRuns is after how many runs a race that has not been seen is given up, unless -runs says it.
const chaosRuns = 40

// races are the tests of qemu/testdata/racy.
var races = []string{"LostUpdate", "CheckThenAct", "LazyInit", "UnlockNotify", "Swap"}

// chaos measures how many runs it takes until each of five races is seen: with four threads for
// goroutines and chaos=; in the machine as it is, where only timers are late; and with the threads alone.
func (b *bench) chaos() error {
	b.progress(fmt.Sprintf("chaos.*: runs until a race is seen, %d at most: with chaos=, without (plain), and with GOMAXPROCS=4 alone (threads)", b.runs))
	path := filepath.Join(b.dir, "racy.elf")
	if _, err := image.Build(context.Background(), image.BuildOptions{Package: "./qemu/testdata/racy", Test: true, Output: path, Stderr: os.Stderr}); err != nil {
		return err
	}
	for _, way := range []struct{ name, options string }{
		{"chaos", "env.GOMAXPROCS=4 chaos="},
		{"plain", "jitter="},
		{"threads", "env.GOMAXPROCS=4 jitter="},
	} {
		seen := make(map[string]int)
		for run := 1; run <= b.runs && len(seen) < len(races); run++ {
			var wanted []string
			for _, r := range races {
				if seen[r] == 0 {
					wanted = append(wanted, "^Test"+r+"$")
				}
			}
			cfg := qemu.Config{Icount: true, VirtualTime: true, Seed: uint64(run), MemoryMiB: 512, Timeout: 10 * time.Minute}
			line := fmt.Sprintf("report=off tty=empty %s%d -- -test.run=%s", way.options, run, strings.Join(wanted, "|"))
			out, res, err := outcome(path, line, cfg)
			if err == nil && res.Outcome != qemu.Exited {
				err = fmt.Errorf("it ended so: %v: %.500q", res.Outcome, out)
			}
			if err != nil {
				return fmt.Errorf("chaos: %w", err)
			}
			for _, r := range races {
				if strings.Contains(out, "--- FAIL: Test"+r+" ") {
					seen[r] = run
					b.progress(fmt.Sprintf("chaos: %s, %s: seen in run %d", way.name, r, run))
				}
			}
			if run%10 == 0 {
				b.progress(fmt.Sprintf("chaos: %s: %d runs", way.name, run))
			}
		}
		for _, r := range races {
			n := fmt.Sprint(seen[r])
			if seen[r] == 0 {
				n = fmt.Sprintf(">%d", b.runs)
			}
			b.figure(fmt.Sprintf("chaos.%s.%s.runs", strings.ToLower(r), way.name), n)
		}
	}
	return nil
}
