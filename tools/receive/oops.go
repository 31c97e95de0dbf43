package receive

// Linux's oopses come as log lines. With the lines of one together its functions are
// known, so it can be counted and resolved as a trace is. A block begins with one of
// the words below and ends with the line that says so, or when the machine says
// nothing for a moment: after a panic it never does again.

import (
	"bytes"
	"time"
)

const (
	// maxOops is the longest block in bytes.
	maxOops  = 32 << 10
	oopsWait = 500 * time.Millisecond
)

// oops is a block that has not ended.
type oops struct {
	text  []byte
	heard time.Time
}

var oopsBegins = [][]byte{
	[]byte("BUG: "), []byte("------------[ cut here ]"), []byte("Oops: "), []byte("Oops["),
	[]byte("Unable to handle kernel"), []byte("general protection fault"), []byte("Internal error: "),
	[]byte("Kernel panic - not syncing"), []byte("watchdog: BUG"), []byte("divide error: "),
	[]byte("invalid opcode: "),
}

var oopsEnds = [][]byte{[]byte("---[ end trace"), []byte("---[ end Kernel panic")}

func containsAny(b []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(b, w) {
			return true
		}
	}
	return false
}

// maybeOops rules out most lines of a log by one look: each of the words above has a
// capital letter or a colon or a dash before its first blank, and all have one of
// these letters behind.
func maybeOops(b []byte) bool {
	return bytes.IndexByte(b, ':') >= 0 || bytes.IndexByte(b, '[') >= 0 ||
		bytes.Contains(b, []byte("kernel")) ||
		bytes.Contains(b, []byte("fault")) || bytes.Contains(b, []byte("panic"))
}

// gather takes a line if it belongs to an oops.
func (in *Intake) gather(m *machine, l *Line) bool {
	if m.oops == nil {
		if !maybeOops(l.Text) || !containsAny(l.Text, oopsBegins) {
			return false
		}
		m.oops = new(oops)
		in.waiting[m] = struct{}{}
		in.hold(maxOops)
		if m.oops == nil {
			return false // there is no room at all
		}
	}
	o := m.oops
	o.heard = l.Time
	o.text = append(append(o.text, l.Text...), '\n')
	if containsAny(l.Text, oopsEnds) || len(o.text) > maxOops {
		in.endOops(m)
	}
	return true
}

// endOops hands on the block.
func (in *Intake) endOops(m *machine) {
	o := m.oops
	if o == nil {
		return
	}
	m.oops = nil
	in.held -= maxOops
	in.stats.Oopses++
	in.makeRegular(m)
	in.sink.Trace(&Arrival{Machine: m.name, Addr: m.addr, Time: o.heard, Bytes: o.text, Oops: true})
}
