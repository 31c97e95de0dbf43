package crash

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// maxStack bounds the text of a stack in bytes: the spool keeps it.
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
		for j := range f.Calls {
			c := &f.Calls[j]
			fmt.Fprintf(&b, "%s%s(...)\n", doubt, c.Function)
			if c.File != "" {
				fmt.Fprintf(&b, "\t%s:%d", c.File, c.Line)
				if !c.Inlined && f.Kind != tracer.Inferred {
					fmt.Fprintf(&b, " +%#x", c.Offset)
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}
