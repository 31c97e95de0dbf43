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
	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
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
		return min(exitProgram+res.Program, exitMost),
			fmt.Sprintf("the program exited with status %d", res.Program)
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
	if ctx.Err() != nil {
		return exitInterrupt, errInterrupted.Error()
	}
	return exitMachine, err.Error()
}

// errInterrupted is the end of what the user's ^C has ended.
var errInterrupted = errors.New("interrupted")

// columns is the width of a terminal that the last lines should fit into.
const columns = 80

// ending is the death that a machine ended with, taken from its traces in their order.
type ending struct {
	first *wire.Trace // nil: none
	seq   uint64      // of the latest trace
	// at is, of the traces that the latest NMI has asked for, the one that tells best where the
	// program was; nil: none tells. tells is how well.
	at    *wire.Trace
	tells int
}

// signal returns the signal that has ended the program, 0 if none has.
func (e *ending) signal() (n int) {
	if e != nil && e.first != nil {
		_, text, _ := strings.Cut(e.first.Reason, "ended by signal ") // kernel/fault/programend.go
		fmt.Sscan(text, &n)
	}
	return n
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
	if t.Kind == tracer.KindNMI.String() {
		e.at, e.tells = nil, 0
	}
	if n := tells(t); t.Asked() && n > e.tells {
		e.at, e.tells = t, n
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

// tells says how well a trace tells where the program was: best what ran, then what the first
// goroutine waited for.
func tells(t *wire.Trace) int {
	b := t.Blame()
	switch {
	case b.Owner < lookup.Module, render.IsIdle(t), // whose thread has run something before
		render.Waited(t) && render.OfNetwork(t):
		return 0
	case !render.Waited(t), ran(t):
		return 3
	case t.Goroutine == 1:
		return 2
	}
	return 1
}

// ran reports whether a goroutine would run if its thread had a CPU.
func ran(t *wire.Trace) bool { return strings.HasSuffix(t.Reason, " [running]") }

// where is the line that says where the program was when it was asked.
func (e *ending) where(command, dir string) string {
	if e.at == nil {
		return command + ": the program's own place cannot be told\n"
	}
	state := ""
	if render.Waited(e.at) && !ran(e.at) {
		state = " (" + printable(e.at.Reason) + ")"
	}
	return named(command+": in ", e.at, e.at.Blame().First, dir, state)
}

// summary is the end of a run in two lines, for the tables of a trace scroll what
// matters away: why the kernel died, and where in the program, with paths relative to dir; in a
// third if that has died in a deferred function. Each begins with the command's name.
func summary(command string, t *wire.Trace, dir string) string {
	prefix := command + ": "
	reason := printable(t.Reason)
	if reason == "" {
		reason = printable(strings.TrimSpace(t.Kind + " trace without a reason"))
	}
	if r := []rune(reason); len(prefix)+len(r) > columns {
		reason = string(r[:columns-len(prefix)-3]) + "..." // it is above in full
	}
	return prefix + reason + "\n" + placeLine(prefix, t, dir)
}

// placeLine is the line that says where in the program a death was, or two.
func placeLine(prefix string, t *wire.Trace, dir string) string {
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
		return prefix + "no frames (" + state + ")\n"
	}
	n := "1 frame"
	if len(t.Frames) != 1 {
		n = fmt.Sprintf("%d frames", t.Depth())
	}
	state = fmt.Sprintf(" (%s, %s)", n, state)
	b := t.Blame()
	if !b.Told() {
		if len(t.Frames[0].Calls) > 0 {
			return prefix + "the program's own place cannot be told" + state + "\n"
		}
		return fmt.Sprintf("%sat %#x%s\n", prefix, t.Frames[0].Address, state)
	}
	s := named(prefix+"in ", t, b.First, dir, state)
	if b.Again {
		how := "then in "
		if b.Owner == lookup.Kernel {
			how = "for "
		}
		s += named(prefix+how, t, b.Then, dir, "")
	}
	return s
}

// named is the line that names a call of a trace.
func named(prefix string, t *wire.Trace, at lookup.Place, dir, state string) string {
	c := &t.Frames[at.Frame].Calls[at.Call]
	function, place := printable(c.Function), fmt.Sprintf("%#x", t.Frames[at.Frame].Address)
	if c.File != "" {
		place = fmt.Sprintf("%s:%d", printable(source.Relative(dir, c.File)), c.Line)
	}
	line := fmt.Sprintf("%s%s at %s%s", prefix, function, place, state)
	if slash := strings.LastIndexByte(function, '/'); slash >= 0 && len(line) > columns {
		// The package's name does without the path to it.
		line = fmt.Sprintf("%s%s at %s%s", prefix, function[slash+1:], place, state)
	}
	return line + "\n"
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

// count is "1 thread", "2 threads".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
