//go:build !lean

package main

// `zf why`: the way back from a death, or from a word of memory, to who wrote it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/postmortem/why"
)

const whyText = `Why takes a recording that zf run -record has made of a machine that died, and
says what the death came from: the value that the instruction used, who wrote it
last, where that one had it from, and so on, until a constant, an input or an
allocation is reached. It replays the recording several times for that.

  zf run -record crash.zfr ./prog     the machine dies
  zf why crash.zfr                    why it died
  zf why -var main.table crash.zfr    who wrote the variable last
  zf why -var main.t+16 -all crash.zfr
                                      everyone who wrote the eight bytes there
  zf why -var 'main.st.m' crash.zfr   a field, an element of an array
  zf why -goroutine 7 -var c.n crash.zfr
                                      c.n of the function that goroutine 7 is
                                      in, in the end; -frame 2 takes another
  zf why -addr 0xc000012340 crash.zfr who wrote the eight bytes there last
  zf why -waits hang.zfr              for what each goroutine waits in the end
  zf why -waits -goroutine 7 hang.zfr who took the lock and has it still, or
                                      set the deadline

The story has the latest step first. "computed it ... also of RBX" says that
the value was made of several; the one is followed that was different in
earlier rounds, or else each, and "one of:" names where they lead. What cannot
be told is said. ^C ends it with what is known by then, and names nobody.

Exit status: 0 the answer is there; 1 there is none, since the machine did not
die or nobody has written the word; 2 wrong usage, or no recording; 3 QEMU
failed; 130 ^C.`

// whyFlags is what the command line says.
type whyFlags struct {
	file, variable string
	addr, size     uint64
	all, json      bool
	waits          bool
	progress       bool
	trust          bool
	goroutine      int64
	frame          int
	clean          func() // takes the progress away
}

// runWhy runs `zf why`.
func runWhy(c *call) error {
	var f whyFlags
	if err := f.parse(c); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE)
	ctx := c.interruptible(syscall.SIGHUP)
	r, err := c.openRecorded(f.file, f.trust)
	if err != nil {
		return err
	}
	launch, err := r.launcher(ctx)
	if err != nil {
		return ofReplay(err)
	}
	if err := r.readSymbols(); err != nil {
		return err
	}
	w, err := why.New(launch, r.elf, r.sym)
	if err != nil {
		return fmt.Errorf("%s: the image in it: %w", f.file, err)
	}
	defer w.Close()
	if w.Begins = r.Base.At; w.Begins > 0 {
		c.say("note: the recording begins at instruction %d; what was done before is not in it", w.Begins)
	}
	f.clean = c.followReplays(w)
	if f.progress {
		w.Progress = func(s string) { c.say("replay %d: %s", w.Replays+1, s) }
	}
	end := &whyEnd{elf: r.elf, tmp: r.tmp, sym: r.sym}
	if r.log.Known {
		end.instructions = r.log.Instructions
	}
	if f.waits {
		return f.answerWaits(ctx, w, end, c)
	}
	return f.answer(ctx, w, end, c)
}

// followReplays shows on a terminal which replay it is at. clean takes that away.
func (c *call) followReplays(w *why.Why) (clean func()) {
	if !isTerminal(c.stderr) {
		return func() {}
	}
	line := &progressLine{w: c.stderr}
	w.Progress = func(s string) { line.set(fmt.Sprintf("%s: replay %d: %s", c.who, w.Replays+1, s)) }
	return func() { line.set("") }
}

// answer writes the answer. With an interrupt, who was the last to write by then is perhaps not the
// last, and is not told.
func (f *whyFlags) answer(ctx context.Context, w *why.Why, end *whyEnd, c *call) error {
	var err error
	var found any
	var lines []string
	untold := false
	if f.addr == 0 && f.variable == "" {
		var s *why.Story
		if s, err = w.Death(ctx); s != nil {
			found, lines = s, s.Lines()
			if untold = err == nil && s.Culprit == nil && len(s.Causes) == 0; untold {
				lines = append(lines,
					"cannot be told: nothing that was compared has led to it; -waits says for what goroutines wait, -var who has written a variable")
			}
		}
	} else {
		addr, size, werr := f.word(ctx, w, end, c)
		if werr != nil {
			f.clean()
			return werr
		}
		var all []why.Written
		before := uint64(0)
		if end.instructions > 1 {
			before = end.instructions - 1
		}
		if all, err = w.Writers(ctx, addr, size, before, f.all); len(all) > 0 && (err == nil || f.all) {
			found = all
			for i := range all {
				lines = append(lines, all[i].String())
			}
		} else if err == nil {
			since := ""
			if w.Begins > 0 {
				since = fmt.Sprintf(" since instruction %d, where the recording begins", w.Begins)
			}
			lines = append(lines, fmt.Sprintf("nothing has written the %d bytes at %#x%s", size,
				addr, since))
		}
	}
	f.clean()
	switch {
	case found == nil && err != nil:
	case f.json && found == nil:
		writeJSON(c.stdout, []why.Written{}) // nobody has
	case f.json:
		writeJSON(c.stdout, found)
	default:
		writeWrapped(c.stdout, lines)
	}
	switch {
	case err == nil && found != nil && !untold:
		return nil
	case err == nil:
		return status(exitTrace)
	case errors.Is(err, why.ErrNoDeath):
		return failure{fmt.Errorf(
			"%w; -var and -addr ask for a word, -waits for what goroutines wait for", err), exitTrace}
	}
	return f.failed(ctx, err, found != nil)
}

// writeJSON writes a value, indented.
func writeJSON(w io.Writer, v any) {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.Encode(v)
}

// failed returns the error that says why there is no answer, or only part of one.
func (f *whyFlags) failed(ctx context.Context, err error, part bool) error {
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if part {
		err = fmt.Errorf("%w; that is what was known by then", err)
	}
	return failure{err, exitMachine}
}

// parse reads the command line.
func (f *whyFlags) parse(c *call) error {
	trustFlag(c.FlagSet, &f.trust)
	f.frame = -1
	inputs, err := c.parseMixed([]option{
		{func(s string) (err error) {
			if f.addr, err = strconv.ParseUint(s, 0, 64); err != nil || f.addr == 0 {
				return errors.New("want an address such as 0xc000012340")
			}
			return nil
		}, "addr", "ask who has written the memory at this `ADDRESS`"},
		{func(s string) error {
			if f.variable = s; s == "" {
				return errors.New("want the name of a package's variable, such as main.table")
			}
			return nil
		}, "var", "ask who has written the package's variable `NAME`, such as main.table, or\nthe eight bytes at NAME+16, or a place such as main.st.m, main.row[2] or\nmain.list.next.n: pointers lead where they lead in the end"},
		{&f.size, "size",
			"how many `BYTES` -addr and -var are about: 1, 2, 4 or 8 (default: the\nvariable's size, or 8)"},
		{&f.all, "all", "with -addr and -var: all writers, not only the last one"},
		{&f.waits, "waits",
			"say for what goroutines wait at the end of the recording; with\n-goroutine also who has made that so"},
		{func(s string) (err error) {
			if f.goroutine, err = strconv.ParseInt(s, 10, 64); err != nil || f.goroutine < 1 {
				return errors.New("want a number from 1 on; -waits without it lists the goroutines that wait")
			}
			return nil
		}, "goroutine",
			"with -waits: the goroutine `N` alone; with -var: of a function that it is\nin, in the end"},
		{func(s string) (err error) {
			if f.frame, err = strconv.Atoi(s); err != nil || f.frame < 0 {
				return errors.New("want a number from 0 on, the innermost")
			}
			return nil
		}, "frame", "with -goroutine and -var: in the frame `M`, from 0, the innermost\n(default: the first outside the runtime that has such a variable)"},
		{&f.progress, "progress", "say line by line which replay it is at; a terminal shows it anyway"},
		{&f.json, "json", "write JSON"},
	})
	if err == nil {
		f.file, err = oneRecording(inputs)
	}
	switch {
	case err != nil:
		return err
	case f.addr != 0 && f.variable != "":
		return errors.New("-addr and -var: want one of them")
	case f.addr == 0 && f.variable == "" && (f.all || f.size != 0):
		return errors.New("-all and -size are about -addr and -var")
	case f.waits && (f.addr != 0 || f.variable != ""):
		return errors.New("-waits does not go with -addr and -var")
	case f.goroutine != 0 && !f.waits && f.variable == "":
		return errors.New("-goroutine is about -waits and -var")
	case f.frame >= 0 && (f.goroutine == 0 || f.waits):
		return errors.New("-frame is one of a goroutine: give -goroutine N and -var, too")
	case f.size&(f.size-1) != 0 || f.size > 8:
		return fmt.Errorf("-size %d: want 1, 2, 4 or 8", f.size)
	}
	return nil
}
