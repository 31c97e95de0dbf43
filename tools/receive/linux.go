package receive

// A Linux oops as a crash: its functions are in its own words, so it has a fingerprint
// without any ELF file. With the kernel's, its lines are resolved in place.

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/receive/crash"
	"github.com/zeroframe/zeroframe/tools/trace"
)

var (
	// oopsFrame is a function on a line of a call trace, and oopsPC that of the
	// instruction itself.
	oopsFrame = regexp.MustCompile(`(?:^|[\]\s])([A-Za-z_][A-Za-z0-9_.$@]*)\+0x([0-9a-f]{1,8})/0x[0-9a-f]{1,8}(?: \[[^\]]*\])?(?: \([A-Za-z]+\))?\s*$`)
	oopsPC    = regexp.MustCompile(`(?:RIP: [0-9a-f]{4}:|EIP: |PC is at |\bpc : |\bepc : |\bNIP |WARNING: .* at \S+ )\[?<?(?:[0-9a-f]{8,16}>?\] )?([A-Za-z_][A-Za-z0-9_.$@]*)\+0x([0-9a-f]{1,8})/`)
	// A kernel may say its build ID behind its version.
	oopsBuild = regexp.MustCompile(`(?m)^.*\bComm: .* ([0-9a-f]{40})\s*$`)
)

// jsonOops has the fields of a trace's object (package trace, json.go) that an oops can
// fill.
type jsonOops struct {
	Version   int               `json:"version"`
	Kind      string            `json:"kind"`
	Reason    string            `json:"reason"`
	Context   string            `json:"context"`
	BuildID   string            `json:"build_id"`
	Thread    uint64            `json:"thread"`
	Registers map[string]string `json:"registers"`
	Complete  bool              `json:"complete"`
	End       string            `json:"end"`
	Damaged   bool              `json:"damaged"`
	Frames    []jsonOopsFrame   `json:"frames"`
	Stacks    []struct{}        `json:"stacks"`
	Text      string            `json:"text"`
}

type jsonOopsFrame struct {
	Kind     string `json:"kind"`
	Function string `json:"function"`
	Offset   uint64 `json:"offset"`
	Inlined  bool   `json:"inlined"`
}

// readOops reads the functions of an oops. What has a question mark is a leftover.
func readOops(text []byte) (kind, reason string, frames []jsonOopsFrame) {
	kind = "oops"
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.Contains(line, "Kernel panic - not syncing"):
			kind = "panic"
		case strings.Contains(line, "WARNING: ") && kind == "oops" && reason == "":
			kind = "warning"
		}
		if reason == "" && !strings.Contains(line, "cut here") {
			reason = withoutTime(line)
		}
		if m := oopsPC.FindStringSubmatch(line); m != nil {
			if len(frames) == 0 { // the registers are repeated at the end
				frames = appendOopsFrame(frames, "pc", m)
			}
			continue
		}
		if m := oopsFrame.FindStringSubmatch(line); m != nil && !strings.Contains(line, "? ") && !strings.Contains(line, "RIP") {
			if n := len(frames); n == 1 && frames[0].Kind == "pc" && frames[0].Function == m[1] {
				continue // arm64 begins with the pc
			}
			frames = appendOopsFrame(frames, "ra", m)
		}
		if len(frames) >= 256 {
			break
		}
	}
	return kind, reason, frames
}

func appendOopsFrame(frames []jsonOopsFrame, kind string, m []string) []jsonOopsFrame {
	offset, _ := strconv.ParseUint(m[2], 16, 64) // at most 8 digits
	return append(frames, jsonOopsFrame{Kind: kind, Function: m[1], Offset: offset})
}

var timeInFront = regexp.MustCompile(`^\s*\[ *[0-9]+\.[0-9]+\]\s*`)

func withoutTime(line string) string { return timeInFront.ReplaceAllString(line, "") }

// resolveOops resolves the lines of an oops.
func (s *resolver) resolveOops(a *Arrival) *result {
	res := &result{a: a}
	kind, reason, frames := readOops(a.Bytes)
	build := ""
	if m := oopsBuild.FindSubmatch(a.Bytes); m != nil {
		build = string(m[1])
	}
	c := &crash.Crash{
		ID: crashID(a, 0), Kind: kind, Type: "linux " + kind, Reason: reason, Context: "kernel", BuildID: build,
		Host: a.Machine, Address: a.Addr.String(), Time: a.Time, Fatal: kind != "warning",
	}
	var names []string
	for _, f := range frames {
		names = append(names, f.Function)
	}
	c.Functions = crash.Reduce(names)
	c.Fingerprint = crash.Fingerprint(c.Type, c.Functions)

	s.out.Reset()
	s.resolveLinux(a, build)
	res.text = bytes.Clone(s.out.Bytes())
	c.Stack = string(res.text)
	res.crashes = []*crash.Crash{c}
	if s.r.opt.JSON {
		object := bytes.TrimRight(jsonObject(&jsonOops{
			Version: 1, Kind: kind, Reason: reason, Context: "kernel", BuildID: build, Registers: map[string]string{},
			Frames: append([]jsonOopsFrame{}, frames...), Stacks: []struct{}{}, Text: string(res.text),
		}), "\n")
		res.objects = [][]byte{object[:len(object)-1]}
	}
	return res
}

// resolveLinux sends the lines through a filter that knows Linux.
func (s *resolver) resolveLinux(a *Arrival, build string) {
	var kernel trace.Resolver
	if build != "" && s.r.opt.Finder != nil {
		kernel = s.find(build, "")
	}
	filter := s.newFilter(func(images *trace.Images) {
		if kernel != nil {
			images.Given = append(images.Given, kernel)
		}
		images.Given = append(images.Given, linuxFiles(s.r.opt.Finder)...)
	})
	filter.Write(a.Bytes)
	filter.Close()
}
