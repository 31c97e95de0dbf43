package main

// `zf heap`: the heap of a program that has died: how much of which type, and who holds it.

import (
	"fmt"
	"io"
	"strconv"

	"github.com/zeroframe/zeroframe/tools/heap"
	"github.com/zeroframe/zeroframe/tools/profile"
)

const heapText = `Heap says what is in the heap of a program that has died, from its full core
file: bytes and objects of each type, the most first.

  zf heap -e hello.elf hello.core
  zf heap -e hello.elf -held hello.core             who holds the most
  zf heap -e hello.elf -object 0xc000012340 hello.core
  zf heap -e hello.elf -svg heap.svg hello.core     a flame graph

What a root or an object holds is what would be free without it. -object shows
the way from a root to an object, and all that point to it. Objects that nothing
reaches any more, and that the garbage collector has not swept yet, are apart.

What is reachable is the collector's view, but for stacks: a word there that
looks like a pointer holds an object. The type of an object is what leads to it
says, if size and pointers fit. A name with ? is not certain; "tiny block" is
small values without pointers, put together by the runtime. The runtime's own
count of bytes stands beside ours; it differs where the program died within an
allocation.`

type heapFlags struct {
	elf, core, object, pprof, svg string
	held, json, force             bool
	rows                          int
}

func runHeap(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parseHeap(args, stderr)
	if !ok {
		return code
	}
	fail := failing("zf heap", stderr)
	var object uint64
	if f.object != "" {
		var err error
		if object, err = strconv.ParseUint(f.object, 0, 64); err != nil {
			return fail("-object %s is no address; want one such as 0xc000012340", f.object)
		}
	}
	p, err := openProgram("zf heap", f.core, f.elf, f.force, stderr)
	if err != nil {
		return fail("%v", err)
	}
	defer p.Close()
	h, err := heap.Open(p, f.elf)
	if err != nil {
		return fail("%v", err)
	}
	if f.pprof != "" {
		if err := writeFile(f.pprof, func(w io.Writer) error { return h.Profile().Write(w) }); err != nil {
			return fail("-pprof: %v", err)
		}
		fmt.Fprintf(stderr, "zf heap: wrote %s; look at it with: go tool pprof %s\n", f.pprof, f.pprof)
	}
	if f.svg != "" {
		if err := writeFile(f.svg, func(w io.Writer) error { return profile.SVG(w, h.Profile(), "heap: who holds what") }); err != nil {
			return fail("-svg: %v", err)
		}
		fmt.Fprintf(stderr, "zf heap: wrote %s\n", f.svg)
	}
	switch {
	case f.object != "":
		o, oerr := h.Object(object)
		if oerr != nil {
			return fail("%v", oerr)
		}
		if f.json {
			err = o.WriteJSON(stdout)
		} else {
			err = o.Write(stdout)
		}
	case f.held && f.json:
		err = h.WriteHoldersJSON(stdout, f.rows)
	case f.held:
		err = h.WriteHolders(stdout, f.rows)
	case f.json:
		err = h.WriteJSON(stdout)
	case f.pprof == "" && f.svg == "":
		err = h.WriteRows(stdout, f.rows)
	}
	if err != nil {
		return fail("%v", err)
	}
	return exitOK
}

func parseHeap(args []string, stderr io.Writer) (f heapFlags, code int, ok bool) {
	fs := newFlags("heap", "-e ELF [flags] CORE", heapText, stderr)
	fs.StringVar(&f.elf, "e", "", "the `ELF` file that was running")
	fs.BoolVar(&f.held, "held", false, "roots and objects by what they hold")
	fs.StringVar(&f.object, "object", "", "the object at `ADDR`: its way from a root, who points to it")
	fs.IntVar(&f.rows, "n", 40, "show `N` rows")
	fs.BoolVar(&f.json, "json", false, "write JSON, one object a line: the sums, then the types")
	fs.StringVar(&f.pprof, "pprof", "", "write a profile of who holds what to `FILE`, for go tool pprof")
	fs.StringVar(&f.svg, "svg", "", "write a flame graph of who holds what to `FILE`")
	fs.BoolVar(&f.force, "force", false, "take a core of another build, too")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return f, code, false
	}
	if f.core, ok = oneInput("heap", "core", f.elf, inputs, stderr); !ok {
		return f, exitUsage, false
	}
	if f.rows < 1 {
		fmt.Fprintf(stderr, "zf heap: -n %d: want at least one row\n", f.rows)
		return f, exitUsage, false
	}
	return f, exitOK, true
}
