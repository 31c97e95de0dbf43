package otlp

// The fingerprint. It is the first 8 bytes of a SHA-256, as 16 hexadecimal digits, over
// the version of these rules, the kind of the trace and, line by line, the names of up
// to maxFunctions functions, innermost first:
//
//   - Inlined functions count as others do. Whether a compiler inlines a call changes
//     from build to build, and from one Go version to the next; that it was made does not.
//   - Neither addresses nor offsets, files or lines count: an edit above moves them.
//   - What brings a panic about is left out, up to the function that did it: the
//     runtime's panic functions and its signal handler are in every trace of a kind.
//   - What a compiler adds to a name is cut off: .cold, .part.0, .isra.0, .constprop.0,
//     .llvm.NUMBER, .lto_priv.0, and what stands in the brackets of a Go instance.
//   - Recursion counts once: of a run of the same one to maxCycle functions one round is
//     left, since how deep it went is chance.
//   - Frames that were found by scanning are left out: they may be leftovers.
//
// A frame without a name counts by its address and the build ID: better a group of one
// build than one group of all that is unknown.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	// version is hashed too: groups of other rules are other groups.
	version      = "zf-fingerprint-1"
	maxFunctions = 16
	maxCycle     = 4
	// maxNames bounds what is looked at before recursion is taken out.
	maxNames = 1024
)

// Functions returns the functions of a trace that its fingerprint is made of. Those
// without a name are addresses.
func Functions(t *wire.Trace) []string {
	var names []string
	for i := range t.Frames {
		f := &t.Frames[i]
		if f.Kind == tracer.Trap || f.Kind == tracer.Scan || f.Source == wire.SourceScan {
			continue
		}
		if len(f.Calls) == 0 {
			names = append(names, fmt.Sprintf("%#x@%s", f.Address, t.BuildID))
		}
		for j := range f.Calls {
			names = append(names, f.Calls[j].Function)
		}
		if len(names) > maxNames {
			break
		}
	}
	return Reduce(names)
}

// Reduce returns those of the functions that were active, innermost first, that count.
func Reduce(names []string) []string {
	kept := make([]string, len(names))
	from := 0
	for i, name := range names {
		kept[i] = plain(name)
		if panics(kept[i]) {
			from = i + 1
		}
	}
	if from < len(kept) { // else the panicking code is all there is
		kept = kept[from:]
	}
	kept = unroll(kept)
	return kept[:min(len(kept), maxFunctions)]
}

// panicking are functions that stand above the one that panicked, in Go's runtime and in
// Linux; a star stands for any end of the name.
var panicking = strings.Fields(`
runtime.gopanic runtime.sigpanic runtime.panicmem runtime.panicmemAddr runtime.throw
runtime.fatalthrow runtime.fatalpanic runtime.fatal runtime.dieFromSignal runtime.raise
runtime.crash runtime.raisebadsignal runtime.panicdivide runtime.panicshift
runtime.panicoverflow runtime.panicnil runtime.panicdottypeE runtime.panicdottypeI
runtime.panicunsafealignment runtime.panicBounds runtime.panicBounds64 runtime.panicCheck1
runtime.panicCheck2 runtime.panicwrap runtime.morestack runtime.newstack
runtime.goPanic* runtime.panicIndex* runtime.panicSlice*
dump_stack dump_stack_lvl show_stack __warn panic report_bug handle_bug asm_exc_invalid_op
exc_invalid_op exc_page_fault asm_exc_page_fault page_fault_oops __die die oops_end __die_body
die_addr exc_general_protection asm_exc_general_protection`)

func panics(name string) bool {
	return slices.ContainsFunc(panicking, func(p string) bool {
		begin, any := strings.CutSuffix(p, "*")
		return name == p || any && strings.HasPrefix(name, begin)
	})
}

// added is what a compiler adds to the name of a part that it makes of a function.
var added = [...]string{".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".lto_priv."}

// plain cuts off what a compiler adds to a name.
func plain(name string) string {
	if i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); i > 0 && j > i {
		name = name[:i] + name[j+1:]
	}
	for _, a := range added {
		if i := strings.Index(name, a); i > 0 {
			name = name[:i]
		}
	}
	return name
}

// unroll leaves one round of each run of the same functions.
func unroll(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, name)
		for n := 1; n <= maxCycle && 2*n <= len(out); n++ {
			if slices.Equal(out[len(out)-n:], out[len(out)-2*n:len(out)-n]) {
				out = out[:len(out)-n]
				break
			}
		}
	}
	return out
}

// Fingerprint returns the fingerprint of a kind of trace and the functions that count.
func Fingerprint(kind string, functions []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", version, kind)
	for _, f := range functions {
		fmt.Fprintf(h, "%s\n", f)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
