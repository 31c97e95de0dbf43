package main

// `zf print`: variables of a program that has died.

import (
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tools/inspect"
)

const printText = `Print shows variables of a program that has died, from its core file: package
variables, and with -goroutine and -frame the variables of a function call. An
expression has Go's syntax, but calls nothing.

  zf print -e hello.elf hello.core main.config 'm["k"]' 's[3:7]' 'len(c)'
  zf print -e hello.elf -goroutine 18 -frame 2 hello.core p.next.name
  zf print -e hello.elf hello.core '*(*main.T)(0xc000012345)'

With a frame and no expression its arguments and local variables are listed.
Frames count from 0, the innermost; zf goroutines -t lists them all, and inlined
calls are frames of their own. Without a goroutine, a name without a package is
one of package main.

A variable that the compiler keeps nowhere at that instruction is
<optimized away>; no value is guessed. The exit status is 2 if an expression has
no meaning.`

type printFlags struct {
	elf         string
	at          inspect.Place
	limits      inspect.Limits
	json, force bool
	core        string
	expressions []string
}

func runPrint(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parsePrint(args, stderr)
	if !ok {
		return code
	}
	fail := failing("zf print", stderr)
	p, err := openProgram("zf print", f.core, f.elf, f.force, stderr)
	if err != nil {
		return fail("%v", err)
	}
	defer p.Close()
	if len(f.expressions) == 0 {
		all, err := p.Variables(f.at, f.limits)
		if err != nil {
			return fail("%v", err)
		}
		if f.json {
			err = inspect.WriteValues(stdout, all)
		} else if where, werr := p.Where(f.at); werr != nil {
			err = werr
		} else {
			err = inspect.WriteVariables(stdout, where, all)
		}
		if err != nil {
			return fail("%v", err)
		}
		return exitOK
	}
	code = exitOK
	for _, e := range f.expressions {
		v, err := p.Eval(e, f.at, f.limits)
		if err == nil && f.json {
			err = inspect.WriteValues(stdout, []inspect.Value{v})
		} else if err == nil {
			err = v.Write(stdout)
		}
		if err != nil {
			code = fail("%v", err)
		}
	}
	return code
}

func parsePrint(args []string, stderr io.Writer) (f printFlags, code int, ok bool) {
	f.limits = inspect.DefaultLimits
	fs := newFlags("print", "-e ELF [flags] CORE [EXPR...]", printText, stderr)
	fs.StringVar(&f.elf, "e", "", "the `ELF` file that was running")
	fs.Int64Var(&f.at.Goroutine, "goroutine", 0, "evaluate in a frame of goroutine `N`")
	fs.IntVar(&f.at.Frame, "frame", 0, "the frame `M`, from 0, the innermost")
	fs.IntVar(&f.limits.Elements, "n", f.limits.Elements, "show `N` elements of a slice, an array or a map")
	fs.IntVar(&f.limits.Bytes, "bytes", f.limits.Bytes, "show `N` bytes of a string")
	fs.IntVar(&f.limits.Depth, "depth", f.limits.Depth, "show what is `N` pointers or structs deep")
	fs.BoolVar(&f.json, "json", false, "write JSON, one object a line: name, type, value (null if unknown), why")
	fs.BoolVar(&f.force, "force", false, "take a core of another build, too")
	if code, ok := parse(fs, args); !ok {
		return f, code, false
	}
	wrong := ""
	switch rest := fs.Args(); {
	case f.elf == "":
		wrong = "-e ELF is missing: name the image that was running"
	case len(rest) == 0:
		wrong = "want a core file"
	case len(rest) == 1 && f.at.Goroutine == 0:
		wrong = "want an expression behind the core, or -goroutine N for its variables"
	case f.at.Goroutine < 0 || f.at.Frame < 0:
		wrong = "goroutines count from 1, frames from 0"
	case f.at.Goroutine == 0 && f.at.Frame != 0:
		wrong = "-frame is one of a goroutine: give -goroutine N, too"
	case f.limits.Elements < 0 || f.limits.Bytes < 0 || f.limits.Depth < 0:
		wrong = "-n, -bytes and -depth are 0 or more"
	default:
		f.core, f.expressions = rest[0], rest[1:]
		return f, exitOK, true
	}
	fmt.Fprintf(stderr, "zf print: %s; `zf print -h` lists the flags\n", wrong)
	return f, exitUsage, false
}
