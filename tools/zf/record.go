package main

// -record: the machine is recorded, in one file (tools/machine/record). What cannot be in a
// recording is said before anything runs.

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/record"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const recordUsage = "record the whole run in `FILE`, for zf replay: the image, its files, and\n" +
	"all that reaches the machine, such as input and the network; nothing\n" +
	"does with -icount. It has one CPU, its time goes by its instructions,\n" +
	"its text by the serial port. No NMI can be recorded: -timeout and ^\\\n" +
	"bring no trace"

const recordLastUsage = "with -record: keep the last `TIME` of the machine's time alone, or up to\n" +
	"twice as much, such as 30s. For -icount it is the time that the machine\n" +
	"does not sleep. The replay begins with a snapshot"

// leastLast is the shortest time for -record-last: each takes the machine's state, and writes it.
const leastLast = 10 * time.Millisecond

// recordTick: what reaches a machine that sleeps is written down, and reaches it, when it wakes up.
const recordTick = "tick=2"

// recordFlag adds the flag.
func (m *machine) recordFlag(fs *flag.FlagSet) {
	addFlags(fs, []option{
		{&m.record, "record", recordUsage},
		{func(s string) (err error) {
			if m.recordLast, err = time.ParseDuration(s); err != nil || m.recordLast < leastLast {
				return fmt.Errorf("want a time of %v or more, such as 30s", leastLast)
			}
			return nil
		}, "record-last", recordLastUsage},
	})
}

// recordFlagName is the flag by which the user has named the file or its folder.
func (m *machine) recordFlagName() string { return cmp.Or(m.recordBy, "-record") }

// wrongRecord says what does not go with -record, if anything does not.
func (f *runFlags) wrongRecord() error {
	switch {
	case f.record == "" && f.recordLast > 0:
		return errors.New("-record-last is for -record FILE.zfr")
	case f.record == "":
		return f.chaos.wrongWithout()
	case f.recordLast > 0 && f.isISO():
		return errors.New(
			"-record-last does not go with an ISO image: the state of a machine that waits for its disc cannot be taken; boot the image itself")
	case f.recordLast > 0 && f.qemu.Net != "":
		return errors.New(
			"-record-last does not go with -net: the host's part of QEMU's network is in the machine's state, and a replay has none")
	case f.core != "":
		return errors.New(
			"-core does not go with -record; take the core of the recording: zf replay -core " + f.core +
				" " + f.record)
	case f.qemu.Reboots > 0:
		return errors.New(
			"-reboots does not go with -record: QEMU's log has no resets that come from its monitor")
	case f.qemu.UEFI:
		return errors.New(
			"-uefi does not go with -record: the firmware's settings are in no recording; without it the image boots by a BIOS")
	case samePath(f.record, f.target):
		return errors.New("-record " + f.record + " would overwrite " + f.target)
	case f.chaos.on && f.chaosGiven():
		return errors.New("-chaos has a seed of its own: leave chaos= out of -append, and give -seed N")
	case f.chaos.said && !f.chaos.on:
		return errors.New("-seed is for -chaos")
	case f.chaos.on && f.isISO():
		return errors.New(f.target +
			" has its own command line; give -chaos's option to zf iso: -append chaos=SEED")
	}
	return f.machine.wrongRecord("-record", &f.files)
}

// chaosGiven reports whether the user's own kernel options have a seed for chaos.
func (m *machine) chaosGiven() bool {
	_, given := lastOption(m.append, "chaos")
	return given
}

// wrongRecord says what cannot be recorded of a machine, which the flag of that name asks for.
// Folders to mount, which a recording does not have, become files.
func (m *machine) wrongRecord(flag string, files *guestFiles) error {
	port, _ := lastOption(m.append, "record.port")
	switch {
	case m.smp && m.qemu.CPUs > 1:
		return fmt.Errorf(
			"%s records one CPU, not %d: QEMU writes down all that reaches a CPU from outside, and another CPU's writes are not in that; leave out -smp %[2]d", flag, m.qemu.CPUs)
	case strings.HasPrefix(m.qemu.Net, "virtio"):
		return errors.New("-net virtio does not go with " + flag +
			": QEMU serves that card when its main loop comes to it, which is in no log; take -net e1000 or -net e1000e")
	case m.qemu.Net != "" && m.qemu.Icount:
		return errors.New("-icount does not go with -net and " + flag +
			": no frame would reach a recorded machine that does not sleep; leave -icount out")
	case port == "com2":
		return errors.New("record.port=com2 does not go with " + flag +
			": QEMU's log has one serial port")
	}
	for _, s := range m.qemu.Shares {
		if s.Writable {
			return fmt.Errorf(
				"-mount %s:rw does not go with %s: what the host's folder answers is in no recording; without :rw it is copied", s.Dir, flag)
		}
		files.trees = append(files.trees, s.Dir+":"+s.Path)
	}
	m.qemu.Shares = nil
	for _, arg := range m.qemu.Extra {
		for _, not := range []string{"-drive", "-hda", "-cdrom", "-blockdev", "-snapshot", "-icount",
			"-smp", "-loadvm", "-incoming"} {
			if "-"+strings.TrimLeft(arg, "-") == not {
				return fmt.Errorf("-qemu %s does not go with %s: what it brings is in no recording", arg, flag)
			}
		}
	}
	return nil
}

// recording is one that is being made; nil: none is.
type recording struct {
	w    recordWriter
	ring *record.Ring // which w is, of -record-last; nil: it is of the whole run
	path string
	busy sync.WaitGroup
	err  error // of taking the machine's state
}

// recordWriter is what a recording is written to.
type recordWriter interface {
	Log() io.Writer
	Serial() io.Writer
	Close(how *record.End) error
}

// startRecord begins the recording of the machine, if there is to be one, whose Config is complete
// but for that. Without an image's symbols it has no build ID.
func (m *machine) startRecord(ctx context.Context, sym *symbol.File,
	cooked bool) (*recording, error) {
	if m.record == "" {
		return nil, nil
	}
	q := &m.qemu
	// a disc has its own command line
	if _, given := lastOption(q.Append, "tick"); !given && q.CDROM == "" {
		q.Append = strings.TrimSpace(recordTick + " " + q.Append)
	}
	version, err := qemu.Version(ctx, q.Program)
	if err != nil {
		return nil, err
	}
	meta := record.Meta{
		QEMU:    version,
		Command: m.who, Name: m.name, BuildID: sym.BuildID(), Date: time.Now().UTC(),
		Append: q.Append, Machine: q.Machine, CPU: q.CPU, MemoryMiB: q.MemoryMiB,
		VirtualTime: q.Icount && q.VirtualTime, Seed: q.Seed, Net: q.Net, Extra: q.Extra,
		Cooked: cooked, Quiet: m.quiet,
	}
	if m.recordLast > 0 && !meta.VirtualTime {
		meta.Clock = meta.Date.Truncate(time.Second)
	}
	files := map[string]string{record.Image: q.Kernel, record.Initrd: q.Initrd, record.Disc: q.CDROM}
	r := &recording{path: m.record}
	if m.recordLast > 0 {
		if err := knownLog(ctx, q.Program); err != nil {
			return nil, err
		}
		q.Snapshots, q.Date = true, meta.Clock
		r.ring, err = record.NewRing(m.record, meta, files, m.recordLast)
		r.w = r.ring
	} else {
		r.w, err = record.Create(m.record, meta, files)
	}
	if err != nil {
		return nil, err
	}
	replay := qemu.Config{Replay: "-", Machine: q.Machine, CPU: q.CPU, MemoryMiB: q.MemoryMiB,
		Net: q.Net, Append: q.Append, Extra: q.Extra}
	for _, doubt := range replay.Doubts() {
		m.say("note: to replay it takes -trust-qemu-args, since %s", printable(doubt))
	}
	q.Record, q.Stdout = r.w.Log(), io.MultiWriter(r.w.Serial(), q.Stdout)
	return r, nil
}

// knownLog returns an error for a QEMU whose log is not understood, so that nobody knows when a
// state belongs to it.
func knownLog(ctx context.Context, program string) error {
	dir, err := os.MkdirTemp("", "zf-log-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	switch version, err := qemu.LogVersion(ctx, program, dir); {
	case err != nil:
		return err
	case version != record.KnownVersion:
		return fmt.Errorf(
			"-record-last: this QEMU's log is of the format %#x, and zf reads %#x, that of QEMU 7.2; record the whole run", version, record.KnownVersion)
	}
	return nil
}

// keepLast takes the machine's state every so often, until the machine ends.
func (r *recording) keepLast(vm *qemu.VM) {
	if r == nil || r.ring == nil {
		return
	}
	const look = 20 * time.Millisecond
	r.busy.Go(func() {
		for {
			select {
			case <-vm.Done():
				return
			case <-time.After(look):
			}
			if !r.ring.Due() {
				continue
			}
			switch err := r.ring.Take(vm.Snapshot); {
			case err == nil, errors.Is(err, qemu.ErrNotNow):
			case endsWith(vm, err):
				return
			default:
				r.err = err
				return
			}
		}
	})
}

// endLimit is how long a machine may take to end whose monitor answers no more.
const endLimit = 10 * time.Second

// endsWith reports whether an error comes from a machine that is ending.
func endsWith(vm *qemu.VM, err error) bool {
	if !errors.Is(err, qemu.ErrMonitor) {
		return false
	}
	select {
	case <-vm.Done():
		return true
	case <-time.After(endLimit):
		return false
	}
}

// remove takes away what there is of the recording of a machine that has not started.
func (r *recording) remove() {
	if r != nil {
		r.w.Close(nil)
		os.Remove(r.path)
	}
}

// end ends the recording of a machine that has ended so.
func (r *recording) end(res qemu.Result, err error) error {
	if r == nil {
		return nil
	}
	end := record.End{Status: res.Status, Outcome: res.Outcome.String(), Program: res.Program}
	if err != nil {
		end.Error = err.Error()
	}
	r.busy.Wait()
	return errors.Join(r.w.Close(&end), r.err)
}

// begins says what the recording of the last of a run has; "": it is none.
func (r *recording) begins() string {
	if r == nil || r.ring == nil {
		return ""
	}
	from, last := r.ring.Has()
	if from.At == 0 {
		return r.path + " has the whole run"
	}
	return fmt.Sprintf("%s has the last %v of the run, from instruction %d on", r.path,
		last.Round(time.Millisecond), from.At)
}

// askNMI asks a machine with an NMI where it is, if it can be asked.
func (m *machine) askNMI(vm *qemu.VM) {
	if m.record != "" {
		m.say("an NMI is in no recording; ^C, twice, ends the machine, and zf replay -until end shows where it was\r")
		return
	}
	vm.InjectNMI()
}
