package receive

// A Linux oops as a crash: package trace reads its lines. Its functions are in its own
// words, so it has a fingerprint without any ELF file, and the same with the kernel's,
// by which its lines are resolved in place.

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/receive/otlp"
	"github.com/zeroframe/zeroframe/tracer"
)

var (
	// oopsBuild is the build ID that a kernel may say after its version.
	oopsBuild = regexp.MustCompile(`(?m)^.*\bComm: .* ([0-9a-f]{40})\s*$`)
	// oopsTime is the time before the text of a line.
	oopsTime = regexp.MustCompile(`^\s*\[ *[0-9]+\.[0-9]+\]\s*`)
)

// resolveOops resolves the lines of an oops.
func (s *resolver) resolveOops(a *Arrival) *result {
	t := &wire.Trace{Format: foreign.FormatLinux, Context: "kernel"}
	if m := oopsBuild.FindSubmatch(a.Bytes); m != nil {
		t.BuildID = string(m[1])
	}
	s.out.Reset()
	filter := s.newFilter(true, s.find(t.BuildID, ""), func(one *wire.Trace) {
		if one.Format != foreign.FormatLinux && one.Format != foreign.FormatAddress {
			return
		}
		if len(t.Frames) == 0 {
			t.Reason, t.Thread, t.Registers = one.Reason, one.Thread, one.Registers
		}
		// What has a question mark is a leftover.
		t.Frames = append(t.Frames, slices.DeleteFunc(one.Frames,
			func(f wire.Frame) bool { return f.Kind == tracer.Scan })...)
	})
	filter.Write(a.Bytes)
	filter.Close()
	t.Kind, t.Reason = oopsKind(a.Bytes, t.Reason)
	res := &result{a: a, text: bytes.Clone(s.out.Bytes())}
	var names []string
	for _, f := range t.Frames {
		if n := len(f.Calls); n > 0 { // what is inlined only an ELF file tells
			names = append(names, f.Calls[n-1].Function)
		}
	}
	res.add(s.r, t, &otlp.Crash{
		Kind: t.Kind, Type: "linux " + t.Kind, Functions: otlp.Reduce(names), Fatal: t.Kind != "warning",
		Stack: string(res.text),
	})
	return res
}

// oopsKind returns what an oops is, and why: as the trace says, or its first line.
func oopsKind(text []byte, reason string) (kind, why string) {
	for line := range strings.Lines(string(text)) {
		if reason == "" && !strings.Contains(line, "cut here") {
			reason = strings.TrimRight(oopsTime.ReplaceAllString(line, ""), "\r\n")
		}
	}
	switch {
	case bytes.Contains(text, []byte("Kernel panic - not syncing")):
		return "panic", reason
	case strings.Contains(reason, "WARNING: "):
		return "warning", reason
	}
	return "oops", reason
}
