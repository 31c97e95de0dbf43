package otlp

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// Crash is one trace of one machine, resolved as far as that was possible.
type Crash struct {
	// ID is the same whenever the crash is received again, and different from that of
	// every other crash.
	ID          string
	Fingerprint string // "" for a bystander
	Kind        string // panic, fault, oom, nmi, trace, oops
	Type        string // the kind, and for a fault the CPU's exception
	Reason      string // in the machine's words
	Context     string
	BuildID     string
	Host        string    // the machine as it is shown
	Address     string    // where it sends from
	Time        time.Time // when it arrived
	Functions   []string  // those that count for the fingerprint
	Stack       string    // for people, one function a line
	Thread      uint64
	Fatal       bool // it ended the kernel
	Damaged     bool
	// Bystander is set for the trace of a CPU that was well when another one died. That is
	// no crash, so it is not counted.
	Bystander bool
}

// Where names the place of a crash: its first function that counts.
func (c *Crash) Where() string {
	if len(c.Functions) == 0 {
		return "an unknown place"
	}
	return c.Functions[0]
}

// maxStack bounds the text of a stack in bytes: it waits until a collector takes it.
const maxStack = 16 << 10

// Stack returns the frames of a trace as Go shows them, for people and for what reads
// Go's stacks: the function, and on the next line file, line and offset.
func Stack(t *wire.Trace) string {
	var b strings.Builder
	for i := range t.Frames {
		f := &t.Frames[i]
		if b.Len() > maxStack {
			b.WriteString("...\n")
			break
		}
		if f.Elided > 0 {
			fmt.Fprintf(&b, "...%d frames elided...\n", f.Elided)
		}
		if f.Kind == tracer.Trap {
			continue
		}
		doubt := ""
		if f.Kind == tracer.Scan || f.Source == wire.SourceScan {
			doubt = "? "
		}
		if len(f.Calls) == 0 {
			fmt.Fprintf(&b, "%s%#x\n", doubt, f.Address)
		}
		for _, c := range f.Calls {
			fmt.Fprintf(&b, "%s%s(...)\n", doubt, c.Function)
			if c.File == "" {
				continue
			}
			fmt.Fprintf(&b, "\t%s:%d", c.File, c.Line)
			if !c.Inlined && f.Kind != tracer.Inferred {
				fmt.Fprintf(&b, " +%#x", c.Offset)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
