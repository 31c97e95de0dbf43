package crash

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

	"github.com/zeroframe/zeroframe/tools/wire"
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

// Reduce makes of the functions that were active, innermost first, those that count.
func Reduce(names []string) []string {
	kept := make([]string, 0, len(names))
	for _, name := range names {
		kept = append(kept, plain(name))
	}
	from := 0
	for i, name := range kept {
		if panics(name) {
			from = i + 1
		}
	}
	if from < len(kept) { // else the panicking code is all there is
		kept = kept[from:]
	}
	kept = unroll(kept)
	return kept[:min(len(kept), maxFunctions)]
}

// panicking are functions that stand above the one that panicked, in Go's runtime and
// in Linux.
var panicking = map[string]bool{
	"runtime.gopanic": true, "runtime.sigpanic": true, "runtime.panicmem": true, "runtime.panicmemAddr": true,
	"runtime.throw": true, "runtime.fatalthrow": true, "runtime.fatalpanic": true, "runtime.fatal": true,
	"runtime.dieFromSignal": true, "runtime.raise": true, "runtime.crash": true, "runtime.raisebadsignal": true,
	"runtime.panicdivide": true, "runtime.panicshift": true, "runtime.panicoverflow": true, "runtime.panicnil": true,
	"runtime.panicdottypeE": true, "runtime.panicdottypeI": true, "runtime.panicunsafealignment": true,
	"runtime.panicSlice3C": true, "runtime.goPanicIndex": true, "runtime.panicBounds": true, "runtime.panicBounds64": true,
	"runtime.panicCheck1": true, "runtime.panicCheck2": true, "runtime.panicwrap": true,
	"runtime.morestack": true, "runtime.newstack": true,
	"dump_stack": true, "dump_stack_lvl": true, "show_stack": true, "__warn": true, "panic": true, "report_bug": true,
	"handle_bug": true, "asm_exc_invalid_op": true, "exc_invalid_op": true, "exc_page_fault": true,
	"asm_exc_page_fault": true, "page_fault_oops": true, "__die": true, "die": true, "oops_end": true,
	"__die_body": true, "die_addr": true, "exc_general_protection": true, "asm_exc_general_protection": true,
}

func panics(name string) bool {
	return panicking[name] || strings.HasPrefix(name, "runtime.goPanic") || strings.HasPrefix(name, "runtime.panicIndex") ||
		strings.HasPrefix(name, "runtime.panicSlice")
}

// plain cuts off what a compiler adds to a name.
func plain(name string) string {
	if i := strings.IndexByte(name, '['); i > 0 {
		if j := strings.LastIndexByte(name, ']'); j > i {
			name = name[:i] + name[j+1:]
		}
	}
	for i := 1; i < len(name); i++ {
		if name[i] != '.' {
			continue
		}
		for _, added := range added {
			if strings.HasPrefix(name[i:], added) {
				return name[:i]
			}
		}
	}
	return name
}

var added = [...]string{".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".lto_priv."}

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
