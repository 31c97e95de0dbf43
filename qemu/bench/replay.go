package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
)

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// replay measures what a recording costs: the same run with and without, by turns, each in the machine's own
// time, so that both run the same instructions and neither waits. The least time of each counts: the
// host adds to any.
func (b *bench) replay() error {
	b.progress("replay.*: host time of a run that is recorded over that under -icount alone; KiB of QEMU's log")
	image, err := b.build("./qemu/testdata/replayed", "replayed.elf")
	if err != nil {
		return err
	}
	var least [2]time.Duration
	var log counter
	for range runs {
		for i := range least {
			cfg := qemu.Config{Icount: true, VirtualTime: true}
			if i == 1 {
				log = 0
				cfg.Record = &log
			}
			began := time.Now()
			out, err := boot(image, "tty=empty -- work 1", cfg)
			if err == nil && !strings.Contains(out, "work 1 is done") {
				err = fmt.Errorf("the program has not done its work: %.200q", out)
			}
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			if took := time.Since(began); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	b.atMost("replay.record.ratio", float64(least[1])/float64(least[0]), 1.6)
	b.figure("replay.log.kib", int64(log)>>10)
	return nil
}
