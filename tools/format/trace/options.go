package trace

// What a Filter is asked to do, and what it has seen.

import (
	"io"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// DefaultIdle is the time without input after which a command releases what is
// held back: too short to notice at a prompt, and longer than the pauses
// between the bytes of a line.
const DefaultIdle = 50 * time.Millisecond

// Options say what a Filter does. The zero value passes everything through.
type Options struct {
	// Symbols resolves addresses; nil leaves traces as they are, with a note
	// on Log. A *symbol.File unwinds them too.
	Symbols lookup.Resolver
	// Images, instead of Symbols, are several images or such that come late: the
	// function is called once, when the first trace needs them, and may wait. It
	// returns nil if there are none after all.
	Images func() *lookup.Images
	// Force resolves traces of another build too.
	Force bool
	// Foreign resolves the traces of other systems and tools too (package foreign). Each of
	// their lines is resolved in the text, and each of them is a Trace when it has
	// ended (tools/format/foreign/group.go).
	Foreign bool
	// Prefixes finds Zeroframe's traces behind the prefixes of log collectors too. The
	// beginning of an unfinished line is then held back, up to Idle.
	Prefixes bool
	// Offsets returns, with Foreign, what foreign.KernelOffsets says of the whole input; nil:
	// it has not come yet.
	Offsets func() []foreign.KernelOffset
	// Guess takes, with Foreign, every number in the text that can be an address of
	// the code for one.
	Guess bool
	// Demangle shows, with Foreign, the functions of C++ and Rust as the source names
	// them.
	Demangle bool
	// Bias is how far above its addresses in Symbols the system of foreign traces
	// runs; nil: as the stream tells.
	Bias *uint64
	// Color marks functions, files and reasons by terminal colours.
	Color bool
	// Links makes each file that this host has a link of the terminal (OSC 8), by a
	// template such as FileLinks (CheckLinks); empty: none.
	Links string
	// Context shows as many lines of source before and behind each frame's line, up
	// to MaxContext, if this host has the file.
	Context int
	// Sources finds source files; nil: without any Remap, from Dir.
	Sources *source.Finder
	// Sanitize shows control characters instead of passing them. It belongs on
	// when the output is a terminal.
	Sanitize bool
	// Columns, with Sanitize, returns how many columns the terminal has; nil: not known. See
	// terminal.Sanitizer.
	Columns func() int
	// JSON takes one object a line for each trace that ends, foreign ones too; nil: none.
	JSON io.Writer
	// Log takes messages for the user; nil: none.
	Log io.Writer
	// Idle is the time after which Flush is called by itself when no input
	// comes; 0: never.
	Idle time.Duration
	// Dir is the folder to which paths are shown relative if they lie in it;
	// empty: the current one.
	Dir string
	// Text takes the text alone, as it passes: no line of a trace, nothing that the host says; nil:
	// not wanted. An error of it is one of the output. It must not call the Filter.
	Text io.Writer
	// OnBegin is called when the first line of a trace has come; nil: not. It must not call the
	// Filter.
	OnBegin func(*wire.Trace)
	// OnTrace is called for each trace that has ended, foreign ones too, after it has
	// been resolved and shown; nil: not. It must not call the Filter.
	OnTrace func(*wire.Trace)
	// OnList is called for each list of all goroutines that has ended; nil: not. It returns
	// lines that are shown below it, and an object that is the field waits of its last trace in
	// JSON. It must not call the Filter.
	OnList func(*List) (lines []string, json []byte)
}

// Stats counts what a Filter has seen.
type Stats struct {
	// Traces is the number of traces, Fatal of those that ended the kernel,
	// Damaged of those that were damaged or cut.
	Traces, Fatal, Damaged int
	// Foreign is the number of addresses that were resolved in other text.
	Foreign int
	// Lost is the number of foreign traces of which no ELF file had a frame.
	Lost int
	// Left is the number of frames that were not resolved although their file was given, and of
	// lines that look like frames in no form that is known.
	Left int
	// Mismatch is set when a trace came from another build than Symbols. One of
	// which no build is known does not count: it is not resolved either.
	Mismatch bool
	// MismatchBefore is set when one that another boot had left (Trace.Previous) did.
	MismatchBefore bool
}
