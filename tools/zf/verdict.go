package main

// How a run has ended: its exit status, and the one or two lines that say it once
// more when the trace's long tables have scrolled the essentials away.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// verdict turns the end of a machine into an exit status and a message, which is
// "" if there is nothing to say that was not on the serial port.
func verdict(ctx context.Context, res qemu.Result, err error, stats trace.Stats, why stuck,
	sym *symbol.File) (int, string) {
	place, at, follow := "", "", "" // an error for a reset or a power-off has the rip
	if res.Registers != "" {
		place = where(sym, res.RIP)
		at = fmt.Sprintf(" at rip %#x%s", res.RIP, place)
		if stats.Traces == 0 {
			follow = registersFollow
		}
	}
	switch {
	case err == nil && res.Outcome == qemu.Traced:
		return exitTrace, ""
	case err == nil && res.Outcome == qemu.Exited && res.Program == 0:
		return exitOK, ""
	case err == nil && res.Outcome == qemu.Exited:
		return exitProgram + res.Program, fmt.Sprintf("the program exited with status %d", res.Program)
	case why == afterTrace:
		return exitTrace, "the machine halted after the trace"
	case why == untold:
		return exitMachine, fmt.Sprintf("the machine halted without an exit status%s%s", at, follow)
	case errors.Is(err, qemu.ErrReset) && stats.Fatal > 0:
		return exitTrace, "the machine reset after the trace"
	case errors.Is(err, qemu.ErrPowerOff) && stats.Fatal > 0:
		return exitTrace, "the machine powered off after the trace"
	case errors.Is(err, qemu.ErrReset):
		return exitMachine,
			fmt.Sprintf("%v%s, without a trace; `-qemu -d -qemu int` shows the exceptions before it%s", err,
				place, follow)
	case errors.Is(err, qemu.ErrPowerOff):
		return exitMachine, fmt.Sprintf("%v%s%s", err, place, follow)
	case errors.Is(err, qemu.ErrTimeout):
		if stats.Traces > 0 {
			return exitMachine, fmt.Sprintf("%v; the trace above says where it was", err)
		}
		return exitMachine,
			fmt.Sprintf("%v%s; no trace came in answer to an NMI; `-qemu -s` lets gdb look%s",
				err, at, follow)
	}
	return exitMachine, interrupted(ctx, err).Error()
}

// interrupted returns the error of what the user's ^C may have ended.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// columns is the width of a terminal that the last lines should fit into.
const columns = 80

// ending is the death that a machine ended with, taken from its traces in their order.
type ending struct {
	first *wire.Trace // nil: none
	seq   uint64      // of the latest trace
}

// take takes the next trace. What dies later, in the panic path, dies of the first death;
// only one that has another kind, and counts as fatal because it is damaged, gives way to it.
// Numbers begin anew with each boot, and the last boot's death is meant.
func (e *ending) take(t *wire.Trace) {
	if t.Previous > 0 || t.Seq > 0 && t.Seq <= e.seq {
		*e = ending{}
	}
	if t.Previous > 0 || t.Format != "" {
		return
	}
	if t.Seq > 0 {
		e.seq = t.Seq
	}
	if t.Fatal() && (e.first == nil || e.first.Asked() && !t.Asked()) {
		e.first = t
	}
}

// say says it again, below what has scrolled it away.
func (e *ending) say(s *streams) {
	if e.first != nil {
		dir, _ := os.Getwd() // without it, paths are absolute
		io.WriteString(s.stderr, summary(s.who, e.first, dir))
	}
}

// summary is the end of a run in two lines, for the tables of a trace scroll what
// matters away: why the kernel died, and where, with paths relative to dir. Each
// begins with the command's name.
func summary(command string, t *wire.Trace, dir string) string {
	prefix := command + ": "
	reason := printable(t.Reason)
	if reason == "" {
		reason = printable(strings.TrimSpace(t.Kind + " trace without a reason"))
	}
	if r := []rune(reason); len(prefix)+len(r) > columns {
		reason = string(r[:columns-len(prefix)-3]) + "..." // it is above in full
	}
	s := prefix + reason + "\n"

	state := "complete"
	switch {
	case t.Cut:
		state = "the trace was cut"
	case t.Damaged:
		state = "the trace is damaged: " + printable(t.Damage)
	case t.Last:
		state = "all that the kernel could say"
	case !t.Complete():
		state = "walk ended: " + printable(t.End)
	}
	if len(t.Frames) == 0 {
		return s + prefix + "no frames (" + state + ")\n"
	}
	n := "1 frame"
	if len(t.Frames) != 1 {
		n = fmt.Sprintf("%d frames", t.Depth())
	}
	i, k, _ := t.Culprit()
	place := fmt.Sprintf("at %#x", t.Frames[i].Address)
	function := ""
	if calls := t.Frames[i].Calls; len(calls) > 0 && calls[k].Function != "" {
		c := &calls[k]
		function = printable(c.Function)
		if c.File != "" {
			file := strings.TrimPrefix(c.File, dir+string(filepath.Separator))
			place = fmt.Sprintf("at %s:%d", printable(file), c.Line)
		}
		function = "in " + function + " "
	}
	line := fmt.Sprintf("%s%s%s (%s, %s)", prefix, function, place, n, state)
	if len(line) > columns {
		// The package's name does without the path to it.
		if i := strings.LastIndexByte(function, '/'); i >= 0 {
			line = fmt.Sprintf("%sin %s%s (%s, %s)", prefix, function[i+1:], place, n, state)
		}
	}
	return s + line + "\n"
}

// printable shows the control characters in what came from a target or a file
// instead of passing them to the terminal.
var printable = terminal.Clean

// registersFollow ends a message behind which come the registers: no trace has them.
const registersFollow = "; registers:"

// where says what an address is in, behind it in a message.
func where(sym *symbol.File, addr uint64) string {
	frames := sym.Lookup(addr, false)
	if len(frames) == 0 {
		return ""
	}
	f := &frames[len(frames)-1]
	name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
	return fmt.Sprintf(" (%s+%#x, %s:%d)", name, f.Offset, filepath.Base(frames[0].File),
		frames[0].Line)
}

var generalLine = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^(R..=|E(AX|SI|IP)=|CR0=)`) })

// generalRegisters cuts a dump of QEMU's monitor to the general registers, the flags, and
// the control registers, which say where tables and faults are.
func generalRegisters(dump string) string {
	var b strings.Builder
	for line := range strings.Lines(dump) {
		if generalLine().MatchString(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}
