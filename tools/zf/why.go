package main

// `zf why`: the way back from a death, or from a word of memory, to who wrote it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/why"
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
failed.`

// whyFlags is what the command line says.
type whyFlags struct {
	file, variable string
	addr, size     uint64
	all, json      bool
	waits          bool
	progress       bool
	trust          bool
	goroutine      int64
}

// runWhy runs `zf why`.
func runWhy(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	var f whyFlags
	if code, ok := f.parse(args, stderr); !ok {
		return code
	}
	fail := failing("zf why", stderr)
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	r, err := openRecorded(f.file, f.trust)
	if err != nil {
		return fail("%v", err)
	}
	defer r.close()
	launch, err := r.launcher(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "zf why: %v\n", withQEMUStep(err))
		return exitOfReplay(err)
	}
	if err := r.readSymbols(); err != nil {
		return fail("%v", err)
	}
	w, err := why.New(launch, r.elf, r.sym)
	if err != nil {
		return fail("%s: the image in it: %v", f.file, err)
	}
	defer w.Close()
	if w.Begins = r.Base.At; w.Begins > 0 {
		fmt.Fprintf(stderr, "zf why: note: the recording begins at instruction %d; what was done before is not in it\n", w.Begins)
	}
	clean := func() {}
	switch {
	case f.progress:
		w.Progress = func(s string) { fmt.Fprintf(stderr, "zf why: replay %d: %s\n", w.Replays+1, s) }
	case isTerminal(stderr):
		clean = func() { io.WriteString(stderr, "\r\x1b[K") }
		w.Progress = func(s string) {
			fmt.Fprintf(stderr, "\r\x1b[Kzf why: replay %d: %.60s", w.Replays+1, s)
		}
	}
	if f.waits {
		end := &whyEnd{elf: r.elf, tmp: r.tmp, sym: r.sym}
		if log, err := r.Log(); err == nil && log.Known {
			end.instructions = log.Instructions
		}
		return f.answerWaits(ctx, w, end, stdout, stderr, clean)
	}
	return f.answer(ctx, w, stdout, stderr, clean)
}

// answer writes the answer; clean takes the progress away.
func (f *whyFlags) answer(ctx context.Context, w *why.Why, stdout, stderr io.Writer, clean func()) int {
	var err error
	var found any
	var lines []string
	untold := false
	if f.addr == 0 && f.variable == "" {
		var s *why.Story
		if s, err = w.Death(ctx); s != nil {
			found, lines = s, s.Lines()
			if untold = err == nil && s.Culprit == nil && len(s.Causes) == 0; untold {
				lines = append(lines, "cannot be told: nothing that was compared has led to it; -waits says for what goroutines wait, -var who has written a variable")
			}
		}
	} else {
		addr, size := f.addr, f.size
		if f.variable != "" {
			var n uint64
			if addr, n, err = w.Resolve(f.variable); err != nil {
				fmt.Fprintf(stderr, "zf why: %v\n", err)
				return exitUsage
			}
			if size == 0 && n <= 8 && n&(n-1) == 0 {
				size = n
			}
		}
		if size == 0 {
			size = 8
		}
		if addr%size != 0 {
			fmt.Fprintf(stderr, "zf why: %d bytes at %#x are not at a multiple of their size; ask for less of them by -size\n", size, addr)
			return exitUsage
		}
		var all []why.Written
		// Who was the last by an interrupt is perhaps not the last.
		if all, err = w.Writers(ctx, addr, size, 0, f.all); len(all) > 0 && (err == nil || f.all) {
			found = all
			for i := range all {
				lines = append(lines, all[i].String())
			}
		} else if err == nil {
			since := ""
			if w.Begins > 0 {
				since = fmt.Sprintf(" since instruction %d, where the recording begins", w.Begins)
			}
			lines = append(lines, fmt.Sprintf("nothing has written the %d bytes at %#x%s", size, addr, since))
		}
	}
	clean()
	if found != nil || err == nil {
		if f.json {
			e := json.NewEncoder(stdout)
			e.SetIndent("", "  ")
			if found != nil {
				e.Encode(found)
			} else {
				e.Encode([]why.Written{}) // nobody has
			}
		} else {
			for _, line := range lines { // with names out of the image
				fmt.Fprintln(stdout, printable(line))
			}
		}
	}
	switch {
	case err == nil && found != nil && !untold:
		return exitOK
	case err == nil:
		return exitTrace
	case errors.Is(err, why.ErrNoDeath):
		fmt.Fprintf(stderr, "zf why: %v; -var and -addr ask for a word, -waits for what goroutines wait for\n", err)
		return exitTrace
	}
	return f.failed(ctx, err, found != nil, stderr)
}

// failed says why there is no answer, or only part of one.
func (f *whyFlags) failed(ctx context.Context, err error, part bool, stderr io.Writer) int {
	text := interrupted(ctx, withQEMUStep(err))
	if part {
		text = fmt.Sprintf("%v; that is what was known by then", text)
	}
	fmt.Fprintf(stderr, "zf why: %s\n", text)
	return exitMachine
}

// parse reads the command line.
func (f *whyFlags) parse(args []string, stderr io.Writer) (code int, ok bool) {
	fs := newFlags("why", "[flags] FILE.zfr", whyText, stderr)
	fs.Func("addr", "ask who has written the memory at this `ADDRESS`", func(s string) (err error) {
		if f.addr, err = strconv.ParseUint(s, 0, 64); err != nil || f.addr == 0 {
			return errors.New("want an address such as 0xc000012340")
		}
		return nil
	})
	fs.Func("var", "ask who has written the package's variable `NAME`, such as main.table, or\nthe eight bytes at NAME+16", func(s string) error {
		if f.variable = s; s == "" {
			return errors.New("want the name of a package's variable, such as main.table")
		}
		return nil
	})
	fs.Uint64Var(&f.size, "size", 0, "how many `BYTES` -addr and -var are about: 1, 2, 4 or 8 (default: the\nvariable's size, or 8)")
	fs.BoolVar(&f.all, "all", false, "with -addr and -var: all writers, not only the last one")
	fs.BoolVar(&f.waits, "waits", false, "say for what goroutines wait at the end of the recording; with\n-goroutine also who has made that so")
	fs.Func("goroutine", "with -waits: the goroutine `N` alone", func(s string) (err error) {
		if f.goroutine, err = strconv.ParseInt(s, 10, 64); err != nil || f.goroutine < 1 {
			return errors.New("want a number from 1 on; -waits without it lists the goroutines that wait")
		}
		return nil
	})
	fs.BoolVar(&f.progress, "progress", false, "say line by line which replay it is at; a terminal shows it anyway")
	trustFlag(fs, &f.trust)
	fs.BoolVar(&f.json, "json", false, "write JSON")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return code, false
	}
	wrong := ""
	switch {
	case len(inputs) == 0:
		wrong = "want a recording, which zf run -record FILE.zfr makes"
	case len(inputs) > 1:
		wrong = fmt.Sprintf("one recording at a time, not %d", len(inputs))
	case f.addr != 0 && f.variable != "":
		wrong = "-addr and -var: want one of them"
	case f.addr == 0 && f.variable == "" && (f.all || f.size != 0):
		wrong = "-all and -size are about -addr and -var"
	case f.waits && (f.addr != 0 || f.variable != ""):
		wrong = "-waits does not go with -addr and -var"
	case f.goroutine != 0 && !f.waits:
		wrong = "-goroutine is about -waits"
	case f.size&(f.size-1) != 0 || f.size > 8:
		wrong = fmt.Sprintf("-size %d: want 1, 2, 4 or 8", f.size)
	}
	if wrong != "" {
		fmt.Fprintf(stderr, "zf why: %s\n", wrong)
		return exitUsage, false
	}
	f.file = inputs[0]
	return exitOK, true
}
