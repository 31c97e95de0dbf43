package main

// `zf core`: a trace in a log, or a machine -> an ELF core file, for a debugger.

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/core"
	"github.com/zeroframe/zeroframe/tools/input"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/wire"
)

const coreText = `Core makes a core file of a trace in LOG, so that gdb can look at a kernel that
died elsewhere: registers, stack, callers. LOG is what the kernel sent, or what
zf symbolize or zf run made of it; - is standard input.

  zf core -e hello.elf serial.log      writes hello.core
  gdb hello.elf hello.core             then bt, info registers, x/8gx $rsp, list

A trace of more than one stack has a thread for each side of a boundary, such
as an interrupt and what it interrupted: "info threads", "thread apply all bt".
What gdb shows behind a boundary (trapEntry, systemstack) is a guess; the next
thread goes on there. Behind a death the other CPUs have threads, too. A trace
that a call asked for, as a panic does, stands at the call instruction.

A core has no memory but what the trace carries. The kernel's option
trace.stack=8192 makes it carry that many bytes of each stack. Variables are not
in it, and gdb says so. A register that the trace does not tell of is 0.

Of several traces the last that ended the kernel is taken, and they are listed.

A full core is of all memory, so that Delve has every goroutine and variable:

  zf run -core hello.core hello.elf      of a machine that dies in zf run
  zf core -e hello.elf -qmp SOCKET       of one in a QEMU that was started with
                                         -qmp unix:SOCKET,server=on,wait=off
  zf core -e hello.elf -dump FILE        of what QEMU's dump-guest-memory has
                                         written, or RAM as it is (pmemsave)
  zf core -e hello.elf -gdb HOST:PORT    of one behind a gdb stub
  dlv core hello.elf hello.core          then goroutines, frame 3, locals

It has a thread for each CPU that was in the kernel, numbered from 10000, and
one for each of the kernel's threads that run goroutines. The first one stands
where the machine has died. The file is sparse; a name that ends in .zst, or
-zstd, has it compressed. It holds what the machine held, secrets too.`

// coreFlags are the flags of zf core.
type coreFlags struct {
	elf, output, input string
	number             int
	force              bool
	qmp, dump, gdb     string // of what a full core is made
	zstd               bool
}

// full reports whether a full core is wanted.
func (f *coreFlags) full() bool { return f.qmp != "" || f.dump != "" || f.gdb != "" }

// maxListed is how many traces are listed.
const maxListed = 100

func runCore(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parseCore(args, stderr)
	if !ok {
		return code
	}
	fail := failing("zf core", stderr)
	sym, err := openSymbols(f.elf)
	if err != nil {
		return fail("%v", err)
	}
	defer sym.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if f.full() {
		c := &fullCore{command: "zf core", path: f.output, elf: f.elf, sym: sym, force: f.force, zstd: f.zstd, stderr: stderr}
		switch {
		case f.qmp != "":
			err = c.ofMonitor(ctx, f.qmp)
		case f.dump != "":
			err = c.ofFile(f.dump)
		default:
			err = c.ofStub(ctx, f.gdb)
		}
		if err != nil {
			return fail("%v", err)
		}
		return exitOK
	}
	in, err := input.Open(ctx, f.input, input.Options{Baud: input.DefaultBaud, Reconnect: input.Never, Stdin: stdin})
	if err != nil {
		return fail("%v", err)
	}
	defer in.Close()

	// Of a log of any length only the trace that is wanted is kept.
	var chosen *wire.Trace
	var others []*wire.Trace // of other CPUs, in the same death
	var list strings.Builder
	n, at := 0, 0
	filter, err := trace.NewFilter(nil, trace.Options{
		Symbols: sym, Force: f.force, Log: stderr,
		OnTrace: func(t *wire.Trace) {
			if len(t.Frames) == 0 && len(t.Registers) == 0 {
				return
			}
			n++
			withChosen := chosen != nil && t.Of != 0 && chosen.Of == 0 && t.Of == chosen.Seq &&
				t.BuildID == chosen.BuildID && t.Previous == chosen.Previous
			switch {
			case withChosen && n != f.number:
				others = append(others, t)
			case f.number != 0 && n != f.number:
			case f.number == 0 && chosen != nil && chosen.Fatal() && !t.Fatal():
			default:
				chosen, others, at = t, nil, n
			}
			if n <= maxListed {
				fmt.Fprintf(&list, "  %2d %s\n", n, coreLine(t))
			}
		},
	})
	if err != nil {
		return fail("%v", err)
	}
	err = pump(ctx, filter, in, nil)
	if cerr := filter.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return fail("%v", err)
	case n == 0:
		return fail("no trace in %s; zf symbolize shows what it has", f.input)
	case chosen == nil:
		return fail("-n %d: %s has %d; they are\n%s", f.number, f.input, n, strings.TrimSuffix(list.String(), "\n"))
	case !f.force && !sameBuild(chosen.BuildID, sym.BuildID()):
		return exitUsage // the filter has said it
	}

	info, err := writeCore(f.output, chosen, others, f.elf, sym)
	if err != nil {
		return fail("%v", err)
	}
	if n > 1 {
		if n > maxListed {
			fmt.Fprintf(&list, "  and %d more\n", n-maxListed)
		}
		why := ""
		if f.number == 0 {
			why = ", the last one that ended the kernel"
			if !chosen.Fatal() {
				why = ", the last one"
			}
		}
		fmt.Fprintf(stderr, "zf core: took trace %d%s; -n N takes another of\n%s", at, why, list.String())
	}
	fmt.Fprintf(stderr, "zf core: wrote %s: %s, %s of memory; look at it with: gdb %s %s\n",
		f.output, count(info.Threads, "thread"), count(info.Words, "word"), f.elf, f.output)
	if len(info.CPUs) > 1 {
		for _, c := range info.CPUs {
			fmt.Fprintf(stderr, "zf core: CPU %d is %s\n", c.Number, threadNumbers(c))
		}
	}
	if info.Call {
		fmt.Fprintf(stderr, "zf core: thread 1 stands at the call that asked for the trace, %#x\n", info.Address)
	}
	if chosen.Damaged {
		fmt.Fprintf(stderr, "zf core: the trace is damaged: %s\n", printable(chosen.Damage))
	}
	return exitOK
}

// threadNumbers is "thread 3", or "threads 3 to 5".
func threadNumbers(c core.CPU) string {
	if c.First == c.Last {
		return fmt.Sprintf("thread %d", c.First)
	}
	return fmt.Sprintf("threads %d to %d", c.First, c.Last)
}

// sameBuild reports whether a trace with that build ID, which may be only the beginning
// of one, is of the image with that other.
func sameBuild(trace, image string) bool {
	return strings.HasPrefix(image, trace) && (trace != "" || image == "")
}

// writeCore writes the file beside its place, and puts it there when it is whole; what was there stays until then. What
// is no file, such as a pipe, is written to as it is.
func writeCore(path string, t *wire.Trace, others []*wire.Trace, elf string, sym core.Symbols) (info core.Info, err error) {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		out, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return info, err
		}
		defer out.Close()
		return core.Write(out, t, others, elf, sym)
	}
	part := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), os.Getpid()))
	out, err := os.Create(part)
	if err != nil {
		return info, err
	}
	defer func() {
		out.Close()
		if err != nil {
			os.Remove(part)
			err = fullDisk(path, err)
		}
	}()
	if info, err = core.Write(out, t, others, elf, sym); err != nil {
		return info, err
	}
	if err := out.Close(); err != nil {
		return info, err
	}
	return info, os.Rename(part, path)
}

// coreLine is one trace in the list.
func coreLine(t *wire.Trace) string {
	kind := t.Kind
	if kind == "" {
		kind = "?"
	}
	s := fmt.Sprintf("%-6s %s, %s: %s", printable(kind), count(len(t.Frames), "frame"), count(len(t.Words), "word"), printable(t.Reason))
	if t.Damaged {
		s += " (" + printable(t.Damage) + ")"
	}
	if r := []rune(s); len(r) > columns-5 {
		s = string(r[:columns-8]) + "..."
	}
	return s
}

// count is "1 thread", "2 threads".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// parseCore reads the arguments; flags may follow the log's name.
func parseCore(args []string, stderr io.Writer) (f coreFlags, code int, ok bool) {
	fs := newFlags("core", "-e ELF [flags] LOG|-qmp SOCKET|-dump FILE|-gdb HOST:PORT", coreText, stderr)
	fs.StringVar(&f.elf, "e", "", "the `ELF` file that was running")
	fs.StringVar(&f.output, "o", "", "write the core to `FILE` (default: the ELF's name, with .core)")
	fs.IntVar(&f.number, "n", 0, "take trace `N` of the log, from 1")
	fs.BoolVar(&f.force, "force", false, "take a trace, or the memory, of another or an unknown build, too")
	fs.StringVar(&f.qmp, "qmp", "", "make a full core of the machine whose QEMU has its monitor at `SOCKET`")
	fs.StringVar(&f.dump, "dump", "", "make a full core of the memory in `FILE`")
	fs.StringVar(&f.gdb, "gdb", "", "make a full core of the machine whose gdb stub is at `HOST:PORT`")
	fs.BoolVar(&f.zstd, "zstd", false, "compress a full core, as a name that ends in .zst does")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return f, code, false
	}
	wrong := ""
	switch {
	case f.elf == "":
		wrong = "-e ELF is missing: name the image that was running"
	case f.full() && len(inputs) > 0:
		wrong = "a full core is of a machine, not of " + inputs[0]
	case f.qmp != "" && f.dump+f.gdb != "" || f.dump != "" && f.gdb != "":
		wrong = "want one of -qmp, -dump, -gdb"
	case f.full() && f.number != 0:
		wrong = "-n is for a log"
	case f.zstd && !f.full():
		wrong = "-zstd is for a full core; one of a trace is small"
	case f.full():
	case len(inputs) != 1:
		wrong = fmt.Sprintf("want one log, have %d; - is standard input", len(inputs))
	case f.number < 0:
		wrong = fmt.Sprintf("-n %d: traces count from 1", f.number)
	}
	if wrong == "" {
		if !f.full() {
			f.input = inputs[0]
		}
		if f.output == "" {
			f.output = strings.TrimSuffix(filepath.Base(f.elf), ".elf") + ".core"
			if f.zstd {
				f.output += zstdSuffix
			}
		}
		f.zstd = f.full() && (f.zstd || filepath.Ext(f.output) == zstdSuffix)
		if samePath(f.output, f.elf) || samePath(f.output, f.input) || samePath(f.output, f.dump) {
			wrong = "-o " + f.output + " would overwrite what is read"
		}
	}
	if wrong != "" {
		fmt.Fprintf(stderr, "zf core: %s; `zf core -h` lists the flags\n", wrong)
		return f, exitUsage, false
	}
	return f, exitOK, true
}
