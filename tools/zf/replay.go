//go:build !lean

package main

// `zf replay`: a recording, looked at again. replayrun.go runs the machine.

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/record"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// exitParted is the exit status of a replay that parts from its recording.
const exitParted = 4

const replayText = `Replay has a machine do again what zf run -record has recorded: the same
instructions, the same bytes on the serial port. It needs nothing but the file:
image, files, input and network are in it.

What the machine says is compared with what was recorded all along, and so is
how many instructions it runs. Where it parts from the recording, it is ended,
and the exit status is 4.

  zf replay crash.zfr                         all of it
  zf replay -info crash.zfr                   what is in it
  zf replay -until end-1ms -core c.core crash.zfr
                                              the memory a millisecond before
  zf replay -gdb 1234 -image i.elf crash.zfr  then gdb i.elf, and in it
                                              target remote :1234

  zf replay -probe 'main.handle args' -print-on main.f 'c.id' crash.zfr
                                              calls and values on the way
  zf replay -until death-1ms -core c.core crash.zfr
                                              then zf goroutines -e c.elf c.core

-until stops the machine at a POINT: a time since its start, such as 1.5s, or a
number of instructions, such as 120000000; end-10ms and end-5000 count from the
end, death-1ms from where it began to say that it dies. It says where the
machine is there.

-probe and -print-on stop the machine on its way. It does not notice, and is
verified all the same. -q leaves what is observed alone.

A recording that was cut short, since zf run was killed, is replayed as far as
it goes, and that is said. It wants the QEMU of the recording; -force tries
another one, which as a rule parts soon.

A recording from somebody else can do no more than be a machine: what it asks of
QEMU beyond that is refused, by zf why, zf report and zf dlv, too. -info shows
it, and -trust-qemu-args hands it over.

Exit status: 0 the machine did the same, however that has ended; 2 wrong usage,
no recording, or a damaged one; 3 QEMU failed; 4 it has parted from the
recording.`

// replayFlags is what the command line of `zf replay` says.
type replayFlags struct {
	machine
	file    string
	until   point
	gdb     string
	image   string
	imageBy string // the flag that has said so
	info    bool
	show    bool // what the machine says
	look    observing
	back    bool // gdb may go backwards
	trust   bool // QEMU gets whatever the file says
}

// A point is where a replay stops.
type point struct {
	text         string // as the user has said it; "": none
	fromEnd      bool   // or from the death
	death        bool
	isTime       bool
	time         time.Duration
	instructions uint64
}

// parsePoint reads a point.
func parsePoint(s string) (point, error) {
	p := point{text: s}
	rest, fromEnd := strings.CutPrefix(s, "end")
	if !fromEnd {
		rest, p.death = strings.CutPrefix(s, "death")
	}
	if p.fromEnd = fromEnd || p.death; p.fromEnd {
		if rest == "" {
			return p, nil
		}
		var minus bool
		if rest, minus = strings.CutPrefix(rest, "-"); !minus {
			return p, errWantPoint
		}
	}
	if n, err := strconv.ParseUint(rest, 10, 64); err == nil {
		p.instructions = n
		return p, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return p, errWantPoint
	}
	p.time, p.isTime = d, true
	return p, nil
}

var errWantPoint = errors.New(
	"want a time such as 1.5s, a number of instructions, or end-10ms, end-5000, death-1ms")

// of returns the number of instructions that the point is at in a recording, and whether that
// is its end.
func (p point) of(r *record.Recording, l *record.Log) (at uint64, end bool, err error) {
	virtual := r.VirtualTime
	if p.text == "" {
		return l.Instructions, true, nil
	}
	if !l.Known && (p.isTime || p.fromEnd) {
		return 0, false, errors.New(
			"this QEMU's log is of a format that zf cannot read: give -until a number of instructions")
	}
	at = p.instructions
	last, lastTime := l.Instructions, l.Time
	if p.death {
		if last, err = deathAt(r, l); err != nil {
			return 0, false, err
		}
		lastTime = l.TimeAt(last)
	}
	switch {
	case p.isTime && virtual:
		return 0, false,
			errors.New("with -icount sleeping takes no time, and the recording does not say when it was: give a number of instructions")
	case p.fromEnd && p.isTime && p.time >= lastTime-l.Base.Time():
		return 0, false, fmt.Errorf("there are only %v before it", lastTime-l.Base.Time())
	case p.fromEnd && !p.isTime && at >= last-l.Base.At:
		return 0, false, fmt.Errorf("there are only %d instructions before it", last-l.Base.At)
	case p.isTime:
		t := p.time
		if p.fromEnd {
			t = lastTime - t
		}
		var ok bool
		if at, ok = l.At(t); !ok {
			return 0, false, fmt.Errorf("the recording ends at %v", l.Time)
		}
	case p.death:
		at = last - at
	case p.fromEnd:
		at = last - max(at, 1) // in the midst of the last one it ends
	}
	if l.Known && at > l.Instructions {
		return 0, false, fmt.Errorf("the recording ends after %d instructions", l.Instructions)
	}
	switch b := &l.Base; {
	case at <= b.At && b.At > 0:
		return 0, false, errors.New("the recording begins " + beginsAt(r, l) + "; give a later point")
	case at == 0:
		return 0, false,
			errors.New("that is the beginning, where the machine has run nothing; give a later point")
	}
	return at, false, nil
}

// goDeath is how Go's runtime begins to say that a program dies.
var goDeath = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:panic: |fatal error: )`) })

// traceBegin is the first line of a trace.
var traceBegin = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`zf1 begin \d+ (\w+)`) })

// deathAt returns how many instructions had been run when a recorded machine began to say that
// it dies: with the first byte of Go's panic, or without one of the trace.
func deathAt(r *record.Recording, l *record.Log) (uint64, error) {
	at := -1
	for _, m := range traceBegin().FindAllSubmatchIndex(r.Serial, -1) {
		if kind := string(r.Serial[m[2]:m[3]]); kind != "nmi" && kind != "trace" {
			at = m[0]
			break
		}
	}
	if at < 0 {
		return 0, errors.New(
			"the recording has no death, of a trace in text that is; count from end, as in end-1ms")
	}
	if said := goDeath().FindAllIndex(r.Serial[:at], -1); said != nil {
		at = said[len(said)-1][0]
	}
	e, ok := l.Sent(int64(at))
	if !ok {
		return 0, fmt.Errorf("the log has no byte %d of the output", at)
	}
	return e.Instructions, nil
}

// beginsAt says where a recording of the last of a run begins.
func beginsAt(r *record.Recording, l *record.Log) string {
	s := fmt.Sprintf("at instruction %d", l.Base.At)
	if !r.VirtualTime {
		s += fmt.Sprintf(" (%v)", l.Base.Time())
	}
	return s
}

// runReplay runs `zf replay`.
func runReplay(c *call) error {
	f := replayFlags{machine: machine{streams: c.streams, records: new(records)}}
	if err := f.parse(c); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE)
	ctx := c.interruptible(syscall.SIGHUP)
	r, err := c.openRecorded(f.file, f.trust)
	if err != nil {
		return err
	}
	if f.image != "" {
		_, err := os.Lstat(f.image)
		there := err == nil
		if err := copyFile(f.image, r.elf); err != nil {
			return fmt.Errorf("%s: %w", f.imageBy, err)
		}
		if f.imageBy == "-core" && !there {
			c.atEnd(func() {
				if _, err := os.Lstat(f.core); err != nil {
					os.Remove(f.image) // it is of no core
				}
			})
		}
	}
	if f.info {
		io.WriteString(c.stdout, recordingInfo(r))
		return nil
	}
	cfg, err := r.config(filepath.Join(r.tmp, "replay.log"))
	if err != nil {
		return err
	}
	if err := r.readSymbols(); err != nil {
		return err
	}
	if f.back {
		return f.serveBackwards(ctx, r)
	}
	p := &playing{replayFlags: &f, rec: r, cfg: cfg, out: &lines{w: c.stdout}, ctx: ctx}
	if len(f.look.asked) > 0 {
		if f.look.image, err = inspect.OpenImage(r.elf); err != nil {
			return fmt.Errorf("%s: the image in it: %w", f.file, err)
		}
		defer f.look.image.Close()
		if err := f.look.find(r.sym, p.say); err != nil {
			return err
		}
	}
	return p.run()
}

// recordingInfo says what is in a recording.
func recordingInfo(r *recorded) string {
	l := r.log
	var b strings.Builder
	row := func(name, format string, a ...any) {
		fmt.Fprintf(&b, "%-13s %s\n", name,
			fmt.Sprintf(format, a...))
	}
	row("image", "%s, build ID %s", printable(r.Name), printable(r.BuildID))
	row("recorded", "%s by %s", r.Date.Format(time.RFC3339), printable(r.Command))
	row("machine", "%s, processor %s, %d MiB, QEMU %s", printable(r.Machine), printable(r.CPU),
		r.MemoryMiB, printable(r.QEMU))
	row("command line", "%s", printable(r.Append))
	if r.Net != "" {
		row("network", "%s, %s", printable(r.Net), count(l.Frames, "frame"))
	}
	if len(r.Extra) > 0 {
		row("QEMU gets", "%.200q", r.Extra)
	}
	for _, doubt := range r.doubts() {
		row("not trusted", "%s", printable(doubt))
	}
	if l.Known {
		time := fmt.Sprintf(" in %v", l.Time)
		if r.VirtualTime {
			time = ""
		}
		if !r.Whole() {
			row("begins", "%s, with a snapshot (-record-last)", beginsAt(r.Recording, l))
			if !r.VirtualTime {
				time = fmt.Sprintf(" in %v", l.Time-l.Base.Time())
			}
		}
		row("ran", "%d instructions%s", l.Instructions-l.Base.At, time)
		row("input", "%d bytes", l.Inputs)
	}
	row("output", "%d bytes", len(r.Serial))
	switch {
	case r.Broken != nil:
		row("ended", "not known: %v", r.Broken)
	case r.End.Error != "":
		row("ended", "%s", printable(r.End.Error))
	case r.End.Outcome == qemu.Exited.String():
		row("ended", "the program exited with status %d", r.End.Program)
	default:
		row("ended", "in a trace")
	}
	return b.String()
}

// parse reads the command line.
func (f *replayFlags) parse(c *call) error {
	until := func(s string) (err error) {
		if f.until.text != "" {
			return fmt.Errorf("there is one already, %s", f.until.text)
		}
		f.until, err = parsePoint(s)
		return err
	}
	var quiet bool
	trustFlag(c.FlagSet, &f.trust)
	f.look.flags(c.FlagSet)
	f.view.flags(c.FlagSet)
	f.records.flags(c.FlagSet)
	c.given = twoArguments(c.given)
	inputs, err := c.parseMixed([]option{
		{until, "until", "stop at `POINT` and say where the machine is"},
		{until, "at", "the same as -until `POINT`"},
		{func(s string) error {
			if _, err := strconv.ParseUint(s, 10, 16); err == nil {
				s = "127.0.0.1:" + s
			}
			f.gdb = s
			if _, _, err := net.SplitHostPort(s); err != nil {
				return errors.New("want an address such as 127.0.0.1:1234")
			}
			return nil
		}, "gdb", "wait for gdb at `ADDR`, such as 127.0.0.1:1234 or a port alone, before\nthe first instruction or, with -until, there"},
		{&f.back, "reverse",
			"let gdb at -gdb go backwards, too; the machine stands in front of the Go\nruntime's first instruction then"},
		{&f.core, "core",
			"write all of the machine's memory at the end, or at -until, to `FILE`, as\na core for Delve and gdb"},
		{&f.image, "image", "write the image of the recording to `FILE`, for a debugger"},
		{&f.info, "info", "say what is in the recording, and run nothing"},
		{&quiet, "q", "do not show what the machine says, only verify it"},
		{&f.force, "force", "replay it by another QEMU than that of the recording, too"},
	})
	if err == nil {
		f.file, err = oneRecording(inputs)
	}
	if err != nil {
		return err
	}
	return f.check(quiet)
}

// check returns what is wrong with the command line, if anything is, and decides what it leaves
// open.
func (f *replayFlags) check(quiet bool) error {
	f.show = !quiet
	switch {
	case f.gdb != "" && f.core != "":
		return errors.New("-core does not go with -gdb: gdb has the machine then")
	case f.gdb != "" && len(f.look.asked) > 0:
		return errors.New("-probe and -print-on do not go with -gdb: gdb has the machine then")
	case f.back && (f.gdb == "" || f.until.text != ""):
		return errors.New("-reverse wants -gdb ADDR, and goes without -until: run to there in gdb")
	case f.back && f.force:
		return errors.New(
			"-reverse does not go with -force: each step back is a replay, which has to be the same")
	case f.core == "-" || f.image == "-":
		return errors.New("-core and -image want a file, not -: a debugger reads it at many places")
	case samePath(f.core, f.file), samePath(f.image, f.file):
		return fmt.Errorf("%s would be overwritten", f.file)
	}
	f.coreELF, f.imageBy = f.image, "-image"
	if f.core != "" && f.image == "" {
		f.image = f.core + ".elf"
		f.coreELF, f.imageBy = f.image, "-core"
	}
	return nil
}

// oneRecording returns the recording that a command is about.
func oneRecording(inputs []string) (string, error) {
	switch len(inputs) {
	case 0:
		return "", errors.New("want a recording, which zf run -record FILE.zfr makes")
	case 1:
		return inputs[0], nil
	}
	return "", fmt.Errorf("one recording at a time, not %d", len(inputs))
}
