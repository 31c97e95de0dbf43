package probe

import (
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/observe/stackid"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// Kind is the kind of the record that Write writes.
const Kind = "probes"

// Version is the version of its format, the record's first number. All numbers are written by
// stream.Writer.Uvarint:
//
//	Version, ticks in a second, hits, ticks spent on them, calls without a row by callers
//	number of functions that follow; each:
//	    number, calls, returns, jumps, unwound, open, untimed
//	    timed, ticks, least, most
//	    buckets that follow, each: number, count
//	number of rows by callers; each:
//	    function, calls, timed, ticks
//	    frames that follow: return addresses less the start of the text, innermost first
const Version = 1

// maxFrames is the number of frames of a row that are written.
const maxFrames = 32

// Write writes the counts into a record that has been begun. Kernel context.
func Write(w *stream.Writer, tscHz uint64) {
	w.Uvarints(Version, tscHz, hits)
	spent := uint64(0)
	for n := range percpu.Count() {
		spent += percpu.At(n).ProbeTicks
	}
	w.Uvarints(spent, lostRows)
	countOpen()
	n := uint64(0)
	for i := range numFuncs {
		if used(countsOf(i)) {
			n++
		}
	}
	w.Uvarint(n)
	for i := range numFuncs {
		c := countsOf(i)
		if !used(c) {
			continue
		}
		w.Uvarints(uint64(i), c.calls, c.returns, c.tails, c.unwound+c.gone, c.open,
			c.untimed, c.timed, c.ticks, c.least, c.most)
		n := uint64(0)
		for k := range c.histogram {
			if c.histogram[k] != 0 {
				n++
			}
		}
		w.Uvarint(n)
		for k := range c.histogram {
			if c.histogram[k] != 0 {
				w.Uvarints(uint64(k), uint64(c.histogram[k]))
			}
		}
	}
	writeRows(w)
}

func used(c *counts) bool { return c.calls|c.returns|c.tails != 0 }

// countOpen sets the number of open calls of each function. Calls of a goroutine that ended by
// runtime.Goexit are not open. It changes nothing else, because an NMI may have interrupted other
// code here.
func countOpen() {
	for i := range numFuncs {
		countsOf(i).open, countsOf(i).gone = 0, 0
	}
	for h := range uintptr(numHeads) {
		for i := *headAt(h); i != 0; i = stackAt(i).next {
			s := stackAt(i)
			over := ended(s)
			for o := s.top; o != 0; o = openAt(o).outer {
				if c := countsOf(openAt(o).function); over {
					c.gone++
				} else {
					c.open++
				}
			}
		}
	}
}

// ended reports whether a stack belongs to a goroutine that no longer exists.
func ended(s *stack) bool {
	if s.key&1 != 0 || s.id == 0 {
		return false
	}
	g, ok := goinfo.ReadG(s.key)
	return ok && (g.ID != s.id || g.Dead())
}

// writeRows writes the rows by callers.
func writeRows(w *stream.Writer) {
	if !stacks {
		w.Uvarint(0)
		return
	}
	w.Uvarint(uint64(usedRows))
	for i := range uint32(maxCallers) {
		r := rowAt(i)
		if r.calls == 0 {
			continue
		}
		w.Uvarints(uint64(r.function), r.calls, r.timed, r.ticks)
		n := uint64(0)
		c := stackid.Depot().Frames(r.stack)
		c.Next() // the function itself
		for n < maxFrames {
			if _, _, _, ok := c.Next(); !ok {
				break
			}
			n++
		}
		w.Uvarint(n)
		c = stackid.Depot().Frames(r.stack)
		c.Next()
		for range n {
			_, addr, _, _ := c.Next()
			w.Uvarint(uint64(addr - textLo))
		}
	}
}
