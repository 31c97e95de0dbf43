package main

// -accel and -icount: by what the machine's instructions run. Nobody has to know what his
// host can do: the default is the best that works, and tcg works everywhere.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
)

const accelUsage = "run the machine by QEMU's accelerator `NAME`: tcg, kvm, hvf, whpx or\n" +
	"auto: the host's own if it runs a tiny kernel, which is tried once and\n" +
	"remembered, else tcg (default: that of $" + qemu.AccelVariable + ", else auto)"

const icountUsage = "let the machine's time go by its instructions, one tick each, not by\n" +
	"the host's clock: a program does and measures the same in each run, on a\n" +
	"busy host too, unless it gets input, which comes when it comes. Sleeping\n" +
	"takes no time, the date begins on 2026-01-01, and random numbers are no\n" +
	"secrets; with -accel tcg, and slower"

// accelFlags adds the flags.
func (m *machine) accelFlags(fs *flag.FlagSet) {
	addFlags(fs, []option{
		{func(s string) error {
			if !slices.Contains(qemu.Accels, s) {
				return errors.New("want one of " + strings.Join(qemu.Accels, ", "))
			}
			m.accel = s
			return nil
		}, "accel", accelUsage},
		{&m.qemu.Icount, "icount", icountUsage},
	})
}

// wrongAccel returns what is wrong with the flags, if anything is.
func (m *machine) wrongAccel() error {
	counts := ""
	switch {
	case m.accel == "" || m.accel == "auto" || m.accel == "tcg":
	case m.qemu.Icount:
		counts = "-icount"
	case m.record != "":
		counts = "-record"
	}
	if counts == "" {
		return nil
	}
	return fmt.Errorf("%s counts instructions, which only tcg does; leave out -accel %s",
		counts, m.accel)
}

// chooseAccel decides on the accelerator. The error says what to do.
func (m *machine) chooseAccel(ctx context.Context) error {
	name, why := m.accel, "as -accel has it"
	if env := os.Getenv(qemu.AccelVariable); name == "" && env != "" {
		if !slices.Contains(qemu.Accels, env) {
			return fmt.Errorf("$%s is %s; it must be one of %s", qemu.AccelVariable, env,
				strings.Join(qemu.Accels, ", "))
		}
		name, why = env, "as $"+qemu.AccelVariable+" has it"
	}
	if name == "" {
		name = "auto"
	}
	switch {
	case m.record != "" && !m.qemu.Icount:
		name, why = "tcg", "since it alone records"
	case m.qemu.Icount:
		m.qemu.VirtualTime = true
		name, why = "tcg", "since it alone counts instructions for -icount"
	case name == "auto":
		chosen, err := qemu.ChooseAccel(ctx, m.qemu.Program, false)
		if err != nil {
			return err
		}
		m.accel, name, why = "auto", chosen.Name, chosen.Why
	}
	m.qemu.Accel = name
	if m.verbose && !m.quiet {
		m.say("accelerator %s: %s", name, why)
	}
	return nil
}

// byAccel is what is said of an accelerator beside the machine.
func (m *machine) byAccel() string {
	if m.qemu.Accel == "tcg" {
		return ""
	}
	return ", " + m.qemu.Accel
}

// accelFailed adds the next step to the error of an accelerator that has given the machine up.
// One that was chosen for the user is not chosen again.
func (m *machine) accelFailed(err error) error {
	switch {
	case !errors.Is(err, qemu.ErrAccel) || m.qemu.Accel == "tcg":
		return err
	case m.accel == "auto":
		qemu.ForgetAccel(m.qemu.Program, err)
		return fmt.Errorf("%w; run it again: from now on zf takes tcg", err)
	}
	return fmt.Errorf("%w; -accel tcg does without it", err)
}
