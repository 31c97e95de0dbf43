//go:build !lean

package main

// `zf heap`: the heap of a program that has died: how much of which type, and who holds it.

import (
	"fmt"
	"io"
	"strconv"

	"github.com/zeroframe/zeroframe/tools/format/profile"
	"github.com/zeroframe/zeroframe/tools/postmortem/heap"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

const heapText = `Heap says what is in the heap of a program that has died, from its full core
file: bytes and objects of each type, the most first.

  zf heap hello.core
  zf heap -held hello.core               who holds the most
  zf heap -object 0xc000012340 hello.core
  zf heap -svg heap.svg hello.core       a flame graph

What a root or an object holds is what would be free without it. -object shows
the way from a root to an object, and all that point to it. Objects that nothing
reaches any more, and that the garbage collector has not swept yet, are apart.

What is reachable is the collector's view, but for stacks: a word there that
looks like a pointer holds an object. The type of an object is what leads to it
says, if size and pointers fit. A name with ? is not certain; "tiny block" is
small values without pointers, put together by the runtime. The runtime's own
count of bytes stands beside ours; it differs where the program died within an
allocation.`

func runHeap(c *call) error {
	var d dead
	var at, pprof, svg string
	var held, json bool
	rows := 40
	if err := d.parse(c, "core", "take a core of another build, too", []option{
		{&held, "held", "roots and objects by what they hold"},
		{&at, "object", "the object at `ADDR`: its way from a root, who points to it"},
		{&rows, "n", "show `N` rows"},
		{&json, "json", "write JSON, one object a line: the sums, then the types"},
		{&pprof, "pprof", "write a profile of who holds what to `FILE`, for go tool pprof"},
		{&svg, "svg", "write a flame graph of who holds what to `FILE`"},
	}); err != nil {
		return err
	}
	if rows < 1 {
		return fmt.Errorf("-n %d: want at least one row", rows)
	}
	object, err := uint64(0), error(nil)
	if at != "" {
		if object, err = strconv.ParseUint(at, 0, 64); err != nil {
			return fmt.Errorf("-object %s is no address; want one such as 0xc000012340", at)
		}
	}
	p, err := d.open(&c.streams)
	if err != nil {
		return err
	}
	defer d.close(p)
	h, err := heap.Open(p, d.elf)
	if err != nil {
		return err
	}
	if err := writeHolders(c, h, pprof, svg); err != nil {
		return err
	}
	switch {
	case at != "":
		o, err := h.Object(object)
		switch {
		case err != nil:
			return err
		case json:
			return inspect.WriteJSON(c.stdout, []*heap.Object{o})
		}
		return o.Write(c.stdout)
	case held && json:
		return inspect.WriteJSON(c.stdout, h.Holders(rows))
	case held:
		return h.WriteHolders(c.stdout, rows)
	case json:
		return h.WriteJSON(c.stdout)
	case pprof == "" && svg == "":
		return h.WriteRows(c.stdout, rows)
	}
	return nil
}

// writeHolders writes a profile and a flame graph of who holds what, if they are wanted.
func writeHolders(c *call, h *heap.Heap, pprof, svg string) error {
	if pprof != "" {
		if err := writeFile(pprof, func(w io.Writer) error { return h.Profile().Write(w) }); err != nil {
			return fmt.Errorf("-pprof: %w", err)
		}
		c.say("wrote %s; look at it with: go tool pprof %[1]s", pprof)
	}
	if svg != "" {
		if err := writeFile(svg, func(w io.Writer) error {
			return profile.SVG(w, h.Profile(),
				"heap: who holds what")
		}); err != nil {
			return fmt.Errorf("-svg: %w", err)
		}
		c.say("wrote %s", svg)
	}
	return nil
}

// heapOf says what the heap in a core has; "" if that cannot be told.
func heapOf(path, elf string) string {
	p, err := inspect.Open(path, elf, false)
	if err != nil {
		return ""
	}
	defer p.Close()
	said, err := heap.Most(p, elf)
	if err != nil {
		return ""
	}
	return said
}
