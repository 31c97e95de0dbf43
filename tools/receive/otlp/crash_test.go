package otlp

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// stackOf makes a trace of functions: one frame a string, inlined calls parted by blanks.
func stackOf(build string, base uint64, frames ...[]string) *wire.Trace {
	t := &wire.Trace{Kind: "panic", BuildID: build}
	for i, calls := range frames {
		f := wire.Frame{Kind: tracer.RA, Address: base + uint64(i)*32}
		for j, name := range calls {
			f.Calls = append(f.Calls, lookup.Call{Function: name, Offset: base & 0xff, File: "/x/" + name, Line: int(base & 0xfff), Inlined: j < len(calls)-1})
		}
		t.Frames = append(t.Frames, f)
	}
	return t
}

func fingerprint(t *wire.Trace) string { return Fingerprint(t.Kind, Functions(t)) }

func TestFingerprintIsOfFunctions(t *testing.T) {
	one := stackOf("aa", 0x201000, []string{"runtime.gopanic"}, []string{"main.leaf", "main.work"}, []string{"main.main"})
	want := fingerprint(one)
	if len(want) != 16 {
		t.Fatalf("fingerprint %q", want)
	}
	for name, same := range map[string]*wire.Trace{
		"another build":         stackOf("bb", 0x205123, []string{"runtime.gopanic"}, []string{"main.leaf", "main.work"}, []string{"main.main"}),
		"nothing inlined":       stackOf("bb", 0x205123, []string{"runtime.gopanic"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"more of the runtime":   stackOf("bb", 1<<20, []string{"runtime.fatalpanic"}, []string{"runtime.gopanic"}, []string{"runtime.goPanicIndex"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"recursion":             stackOf("bb", 1<<20, []string{"main.leaf"}, []string{"main.leaf"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"recursion through two": stackOf("bb", 1<<20, []string{"main.leaf"}, []string{"main.work"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"a part of a function":  stackOf("bb", 1<<20, []string{"main.leaf.cold"}, []string{"main.work.part.0"}, []string{"main.main"}),
		"another instance":      stackOf("bb", 1<<20, []string{"main.leaf[go.shape.int]"}, []string{"main.work[...]"}, []string{"main.main"}),
	} {
		if got := fingerprint(same); got != want {
			t.Errorf("%s: %s of %q, want %s", name, got, Functions(same), want)
		}
	}
	for name, other := range map[string]*wire.Trace{
		"another function": stackOf("aa", 0x201000, []string{"main.leaf"}, []string{"main.play"}, []string{"main.main"}),
		"another order":    stackOf("aa", 0x201000, []string{"main.work"}, []string{"main.leaf"}, []string{"main.main"}),
		"no names":         stackOf("aa", 0x201000, nil, nil, nil),
	} {
		if got := fingerprint(other); got == want {
			t.Errorf("%s has the same fingerprint", name)
		}
	}
	fault := *one
	fault.Kind = "fault"
	if fingerprint(&fault) == want {
		t.Error("another kind has the same fingerprint")
	}
	if fingerprint(stackOf("aa", 0x201000, nil)) == fingerprint(stackOf("bb", 0x201000, nil)) {
		t.Error("addresses of two builds have the same fingerprint")
	}
	// What scanning has found counts for nothing.
	scanned := stackOf("aa", 0x201000, []string{"main.leaf"}, []string{"main.old"}, []string{"main.work"}, []string{"main.main"})
	scanned.Frames[1].Kind = tracer.Scan
	if got := fingerprint(scanned); got != want {
		t.Errorf("with a scanned frame: %q", Functions(scanned))
	}
}

// The fingerprint is kept for years: these may change with the version of the rules only.
func TestFingerprintIsStable(t *testing.T) {
	if got := Fingerprint("panic", []string{"main.leaf", "main.work", "main.main"}); got != "1cf4157eca1ef36d" {
		t.Errorf("%s: have the rules changed? Then their version must too", got)
	}
}

func TestReduceIsBounded(t *testing.T) {
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprint("f", i))
	}
	if got := Reduce(names); len(got) != maxFunctions || got[0] != "f0" {
		t.Errorf("%q", got)
	}
	if got := Reduce([]string{"runtime.throw", "runtime.gopanic"}); !reflect.DeepEqual(got, []string{"runtime.throw", "runtime.gopanic"}) {
		t.Errorf("of the panicking code alone: %q", got)
	}
	if got := Reduce(nil); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}
