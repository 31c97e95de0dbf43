package trace

// Resolving: an address means something in one image only, so the build ID
// comes first, and a trace of another image is not resolved at all: the names
// would be wrong and look right.

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer"
)

// Resolver says what is at an address of an image. A *symbol.File is one.
type Resolver interface {
	// BuildID returns the GNU build ID in lower-case hexadecimal, or "".
	BuildID() string
	// Lookup returns the functions at an address, innermost first: inlined
	// calls, then the function itself; nil if there is none. ret says that the
	// address is a return address: the call lies before it.
	Lookup(addr uint64, ret bool) []symbol.Frame
	// SPDelta returns how many bytes above the stack pointer the return address
	// lies when the instruction at pc is about to run.
	SPDelta(pc uint64) (uint64, bool)
	// IsText reports whether the address lies in the text.
	IsText(addr uint64) bool
	// Nearest names the place of an address that is in no function.
	Nearest(addr uint64) string
}

// maxCalls bounds the calls that are shown for one address, whatever a
// hostile ELF says.
const maxCalls = 64

// injected reports whether the function is called by a signal handler as if the
// interrupted instruction had called it: the return address that it finds is the
// interrupted pc itself. A target that knows these functions says pc by itself.
func injected(function string) bool {
	return function == "runtime.sigpanic" || function == "runtime.asyncPreempt"
}

// session resolves the frames of one trace, in their order.
type session struct {
	sym    Resolver // nil: nothing is resolved
	exact  bool     // the next return address is an exact pc
	missed *Frame   // a caller that the walk may have missed (repair.go)
	at     int      // where it belongs in Trace.Frames
	known  *known   // of sym; nil: nothing is remembered
	looked uint64   // the Write for which was looked ahead
}

// resolve looks up the frame's address.
func (s *session) resolve(f *Frame) {
	exact := s.exact
	s.exact = false
	if s.sym == nil || f.Kind == tracer.Trap {
		return
	}
	ret := f.Kind != tracer.PC && !(f.Kind == tracer.RA && exact)
	f.Calls = s.lookup(f.Address, ret)
	if len(f.Calls) > maxCalls {
		f.Calls = f.Calls[len(f.Calls)-maxCalls:]
	}
	if n := len(f.Calls); n > 0 {
		s.exact = injected(f.Calls[n-1].Function)
	}
}

// frame resolves the frame at index i of the trace, which is its latest one.
func (s *session) frame(t *Trace, i int) {
	s.resolve(&t.Frames[i])
	if s.sym == nil {
		return
	}
	if caller, ok := s.repair(t, &t.Frames[i]); ok && len(t.Frames) < MaxFrames {
		s.missed, s.at = &caller, i+1
	}
}

// unknownBuild returns what to tell the user when nothing says from which image
// the trace comes, or "". Such a trace gets no benefit of the doubt: the log of
// another image, cut at its start, looks just like it.
func unknownBuild(t *Trace) string {
	if !t.noBuild {
		return ""
	}
	which, why := "a trace", "its begin line is missing"
	if t.Seq != 0 {
		which = fmt.Sprintf("trace %d", t.Seq)
	}
	if !t.noBegin && !t.Last {
		why = "its begin line has none"
	}
	return which + " carries no build ID (" + why + "): not resolved; -force resolves it with this ELF"
}

// wrongBuild returns what to tell the user when the trace comes from another
// image than sym, or "".
func wrongBuild(t *Trace, sym Resolver) string {
	have := sym.BuildID()
	if t.partBuild && t.BuildID != "" && strings.HasPrefix(have, t.BuildID) {
		t.BuildID, t.partBuild = have, false // now the rest is known
	}
	if t.BuildID == have && !t.partBuild {
		return ""
	}
	is := "is build " + clean(have)
	if have == "" {
		is = "has no build ID"
	}
	return fmt.Sprintf("the trace comes from %s, but the ELF file %s: not resolved\n"+
		"zf: give the ELF file that was running (-force resolves it all the same)", cameFrom(t), is)
}

// cameFrom names the image that a trace says it comes from.
func cameFrom(t *Trace) string {
	switch {
	case t.BuildID == "":
		return "an image without a build ID"
	case t.partBuild:
		return "build " + clean(t.BuildID) + "..."
	}
	return "build " + clean(t.BuildID)
}
