package main

// -chaos: threads that change places at random (kernel/thread/chaos.go), in a recording. What
// is random comes from a seed, which is in the command line of the machine that is recorded.

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"
)

const chaosUsage = "with %s: have threads change places at random, so that\n" +
	"rare orders of events are found sooner (options chaos=SEED and, unless\n" +
	"-append has another one, env.GOMAXPROCS=" + chaosProcs

const seedUsage = "begin what is random with number %s"

// chaosProcs is how many goroutines may run at a time in chaos, each on a thread of its own:
// threads change places at any instruction, and the goroutines of one thread at few.
const chaosProcs = "4"

// chaosFlags is what the command line says of chaos.
type chaosFlags struct {
	on   bool
	seed uint64
	said bool // the seed is the user's
}

// flags adds the flags; with is what -chaos is used with, and first says which run the seed is of.
func (c *chaosFlags) flags(fs *flag.FlagSet, with, first string) {
	addFlags(fs, []option{
		{&c.on, "chaos", fmt.Sprintf(chaosUsage, with) + ")"},
		{func(s string) (err error) {
			c.said = true
			if c.seed, err = strconv.ParseUint(s, 10, 62); err != nil {
				return errors.New("want a number")
			}
			return nil
		}, "seed", fmt.Sprintf(seedUsage, "`N` "+first)},
	})
}

// wrongWithout returns what is wrong with the flags where nothing is recorded, if anything is.
func (c *chaosFlags) wrongWithout() error {
	switch {
	case c.on:
		return errors.New(
			"-chaos is for a machine that is recorded, so that it can be looked at: add -record FILE.zfr")
	case c.said:
		return errors.New("-seed is for -record with -chaos")
	}
	return nil
}

// add adds the options of a run with a seed. Without -chaos timers are late all the same.
func (c *chaosFlags) add(m *machine, seed uint64) {
	name := "jitter"
	if c.on {
		name = "chaos"
		if _, own := lastOption(m.append, "env.GOMAXPROCS"); !own {
			m.options = append(m.options, kernelOption("env.GOMAXPROCS", chaosProcs))
		}
	}
	m.options = append(m.options, kernelOption(name, fmt.Sprint(seed)))
	m.qemu.Seed = seed
}

// clockSeed returns a seed that is another one each time.
func clockSeed() uint64 { return uint64(time.Now().UnixNano()) % 1_000_000 }
