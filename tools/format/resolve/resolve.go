package resolve

// Resolving: an address means something in one image only, so the build ID
// comes first, and a trace of another image is not resolved at all: the names
// would be wrong and look right.

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// A Session resolves the frames of one trace, in their order, and finds the callers that
// its walk has missed. The zero value resolves nothing.
type Session struct {
	sym    lookup.Resolver // nil: nothing is resolved
	exact  bool            // the next return address is an exact pc
	missed *wire.Frame     // a caller that the walk may have missed (repair.go)
	at     int             // where it belongs in Trace.Frames
	known  *known          // of sym; nil: nothing is remembered
	looked uint64          // the Write for which was looked ahead
	cache  *Cache
}

// Image returns the image of the trace, nil if nothing is resolved.
func (s *Session) Image() lookup.Resolver { return s.sym }

// Resolve looks up the frame's address.
func (s *Session) Resolve(f *wire.Frame) {
	exact := s.exact
	s.exact = false
	if s.sym == nil || f.Kind == tracer.Trap {
		return
	}
	ret := f.Kind != tracer.PC && !(f.Kind == tracer.RA && exact)
	f.Calls = s.lookup(f.Address, ret)
	if len(f.Calls) > lookup.MaxCalls {
		f.Calls = f.Calls[len(f.Calls)-lookup.MaxCalls:]
	}
	if n := len(f.Calls); n > 0 {
		s.exact = lookup.Injected(f.Calls[n-1].Function)
	}
}

// Frame resolves the frame at index i of the trace, which is its latest one.
func (s *Session) Frame(t *wire.Trace, i int) {
	s.Resolve(&t.Frames[i])
	if s.sym == nil {
		return
	}
	if caller, ok := s.repair(t, &t.Frames[i]); ok && len(t.Frames) < wire.MaxFrames {
		s.missed, s.at = &caller, i+1
	}
}

// Events resolves the events and the branches of a trace that has ended.
func (s *Session) Events(t *wire.Trace) {
	if s.sym == nil {
		return
	}
	for i := range t.Events {
		if pc, ok := t.Events[i].PC(); ok {
			t.Events[i].Calls = s.lookup(pc, false)
		}
	}
	for i := range t.Branches {
		b := &t.Branches[i]
		b.FromCalls, b.ToCalls = s.lookup(b.From, false), s.lookup(b.To, false)
	}
}

// UnknownBuild returns what to tell the user when nothing says from which image
// the trace comes, or "". Such a trace gets no benefit of the doubt: the log of
// another image, cut at its start, looks just like it.
func UnknownBuild(t *wire.Trace) string {
	if !t.NoBuild {
		return ""
	}
	which, why := "a trace", "its begin line is missing"
	if t.Seq != 0 {
		which = fmt.Sprintf("trace %d", t.Seq)
	}
	if !t.NoBegin && !t.Last {
		why = "its begin line has none"
	}
	return which + " carries no build ID (" + why + "): not resolved; -force resolves it with this ELF"
}

// wrongBuild returns what to tell the user when the trace comes from another
// image than sym, or "".
func wrongBuild(t *wire.Trace, sym lookup.Resolver) string {
	have := sym.BuildID()
	if t.PartBuild && t.BuildID != "" && strings.HasPrefix(have, t.BuildID) {
		t.BuildID, t.PartBuild = have, false // now the rest is known
	}
	if t.BuildID == have && !t.PartBuild {
		return ""
	}
	is := "is build " + terminal.Clean(have)
	if have == "" {
		is = "has no build ID"
	}
	return fmt.Sprintf("the trace comes from %s, but the ELF file %s: not resolved\n"+
		"zf: give the ELF file that was running (-force resolves it all the same)", cameFrom(t), is)
}

// cameFrom names the image that a trace says it comes from.
func cameFrom(t *wire.Trace) string {
	switch {
	case t.BuildID == "":
		return "an image without a build ID"
	case t.PartBuild:
		return "build " + terminal.Clean(t.BuildID) + "..."
	}
	return "build " + terminal.Clean(t.BuildID)
}

// Image returns the image that the trace comes from. If it is none of them, why says
// what to tell the user; sym is then the one to take all the same, or nil.
func Image(im *lookup.Images, t *wire.Trace) (sym lookup.Resolver, why string) {
	for _, sym := range im.Given {
		if why := wrongBuild(t, sym); why == "" {
			return sym, ""
		}
	}
	if !t.PartBuild {
		if sym := im.Build(t.BuildID); sym != nil {
			return sym, ""
		}
	} else if sym := im.Other(t.BuildID+wire.PartMark, ""); sym != nil && wrongBuild(t, sym) == "" {
		return sym, ""
	}
	switch len(im.Given) {
	case 0:
		return nil, fmt.Sprintf(
			"the trace comes from %s, which is in none of the folders given: not resolved", cameFrom(t))
	case 1:
		return im.Given[0], wrongBuild(t, im.Given[0])
	}
	var all []string
	for _, sym := range im.Given {
		is := "no build ID"
		if id := sym.BuildID(); id != "" {
			is = "build " + terminal.Clean(id)
		}
		all = append(all, fmt.Sprintf("zf:   %s: %s\n", terminal.Clean(lookup.FileName(sym)), is))
	}
	return im.Given[0], fmt.Sprintf("the trace comes from %s, but the ELF files are\n%s"+
		"zf: so it is not resolved; give the ELF file that was running too", cameFrom(t),
		strings.Join(all, ""))
}
