package receive

// A Linux oops as a crash: package trace reads its lines. Its functions are in its own
// words, so it has a fingerprint without any ELF file, and the same with the kernel's,
// by which its lines are resolved in place.

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/foreign"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/receive/crash"
	"github.com/zeroframe/zeroframe/tools/render"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// oopsBuild is the build ID that a kernel may say behind its version.
var oopsBuild = regexp.MustCompile(`(?m)^.*\bComm: .* ([0-9a-f]{40})\s*$`)

// resolveOops resolves the lines of an oops.
func (s *resolver) resolveOops(a *Arrival) *result {
	build := ""
	if m := oopsBuild.FindSubmatch(a.Bytes); m != nil {
		build = string(m[1])
	}
	s.out.Reset()
	t := s.resolveLinux(a, build)
	t.BuildID, t.Context = build, "kernel"
	t.Kind, t.Reason = oopsKind(a.Bytes, t.Reason)

	res := &result{a: a, text: bytes.Clone(s.out.Bytes())}
	c := &crash.Crash{
		ID: crashID(a, 0), Kind: t.Kind, Type: "linux " + t.Kind, Reason: t.Reason, Context: t.Context, BuildID: build,
		Host: a.Machine, Address: a.Addr.String(), Time: a.Time, Fatal: t.Kind != "warning", Stack: string(res.text),
	}
	// What is inlined only an ELF file tells.
	var names []string
	for _, f := range t.Frames {
		if n := len(f.Calls); n > 0 {
			names = append(names, f.Calls[n-1].Function)
		}
	}
	c.Functions = crash.Reduce(names)
	c.Fingerprint = crash.Fingerprint(c.Type, c.Functions)
	res.crashes = []*crash.Crash{c}
	if s.r.opt.JSON {
		text := jsonObject(&struct {
			Text string `json:"text"`
		}{c.Stack})
		object := append(bytes.TrimSuffix(render.JSON(t), []byte("}\n")), ',')
		res.objects = [][]byte{append(object, bytes.TrimSuffix(text[1:], []byte("}\n"))...)}
	}
	return res
}

// oopsKind returns what an oops is, and why: as the trace says, or its first line.
func oopsKind(text []byte, reason string) (kind, why string) {
	for line := range strings.Lines(string(text)) {
		if reason != "" {
			break
		}
		if !strings.Contains(line, "cut here") {
			reason = strings.TrimRight(withoutTime(line), "\r\n")
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

var timeInFront = regexp.MustCompile(`^\s*\[ *[0-9]+\.[0-9]+\]\s*`)

func withoutTime(line string) string { return timeInFront.ReplaceAllString(line, "") }

// resolveLinux sends the lines through a filter that knows Linux, and returns what it
// has found: one trace, with the frames of all. What has a question mark is a leftover.
func (s *resolver) resolveLinux(a *Arrival, build string) *wire.Trace {
	var kernel lookup.Resolver
	if build != "" && s.r.opt.Finder != nil {
		kernel = s.find(build, "")
	}
	all := &wire.Trace{Format: foreign.FormatLinux}
	filter := s.newFilter(func(images *lookup.Images) {
		if kernel != nil {
			images.Given = append(images.Given, kernel)
		}
		if s.r.opt.Finder != nil {
			images.Given = append(images.Given, linuxFiles(s.r.opt.Finder)...)
		}
	}, func(t *wire.Trace) {
		if t.Format != foreign.FormatLinux && t.Format != foreign.FormatAddress {
			return
		}
		if len(all.Frames) == 0 {
			all.Reason, all.Thread, all.Registers = t.Reason, t.Thread, t.Registers
		}
		all.Frames = append(all.Frames, slices.DeleteFunc(t.Frames, func(f wire.Frame) bool { return f.Kind == tracer.Scan })...)
	})
	filter.Write(a.Bytes)
	filter.Close()
	return all
}
