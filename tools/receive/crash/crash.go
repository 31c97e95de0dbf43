package crash

import (
	"fmt"
	"strings"
	"time"
)

// Crash is one trace of one machine, resolved as far as that was possible.
type Crash struct {
	// ID is the same whenever the crash is received again, and different from that of
	// every other crash.
	ID          string    `json:"id"`
	Fingerprint string    `json:"fingerprint"`
	Kind        string    `json:"kind"`             // panic, fault, oom, nmi, trace, oops
	Type        string    `json:"type"`             // the kind, and of a fault the exception
	Reason      string    `json:"reason,omitempty"` // in the machine's words
	Context     string    `json:"context,omitempty"`
	BuildID     string    `json:"build_id,omitempty"`
	Host        string    `json:"host"`    // the machine as it is shown
	Address     string    `json:"address"` // where it sends from
	Time        time.Time `json:"time"`    // when it arrived
	Functions   []string  `json:"functions,omitempty"`
	Stack       string    `json:"stack,omitempty"` // for people, one function a line
	Thread      uint64    `json:"thread,omitempty"`
	Fatal       bool      `json:"fatal"` // it ended the kernel
	Damaged     bool      `json:"damaged,omitempty"`
	// Bystander is set for what a CPU was at that was well when another one died: no crash, so it
	// has no fingerprint, and is not to be counted.
	Bystander bool `json:"-"`
}

// Group is all crashes of one fingerprint.
type Group struct {
	Fingerprint string    `json:"fingerprint"`
	Kind        string    `json:"kind"`
	Reason      string    `json:"reason,omitempty"` // of the latest
	Functions   []string  `json:"functions,omitempty"`
	Count       uint64    `json:"count"`
	First       time.Time `json:"first_seen"`
	Last        time.Time `json:"last_seen"`
	Hosts       []string  `json:"hosts,omitempty"`  // the latest ones, up to maxListed
	Builds      []string  `json:"builds,omitempty"` // likewise
	Fatal       bool      `json:"fatal"`
}

// maxListed is how many hosts and builds a group names.
const maxListed = 8

// add counts a crash.
func (g *Group) add(c *Crash) {
	if g.Count == 0 {
		g.Fingerprint, g.Kind, g.Functions = c.Fingerprint, c.Kind, c.Functions
		g.First, g.Last = c.Time, c.Time
	}
	g.Count++
	g.Fatal = g.Fatal || c.Fatal
	if c.Time.Before(g.First) { // a capture of last week
		g.First = c.Time
	}
	if !c.Time.Before(g.Last) {
		g.Last, g.Reason = c.Time, c.Reason
	}
	g.Hosts = latest(g.Hosts, c.Host)
	g.Builds = latest(g.Builds, c.BuildID)
}

// latest puts s at the end of the list and keeps the last ones.
func latest(list []string, s string) []string {
	if s == "" {
		return list
	}
	out := list[:0:0]
	for _, each := range list {
		if each != s {
			out = append(out, each)
		}
	}
	out = append(out, s)
	return out[max(0, len(out)-maxListed):]
}

// Where names the place of a group or a crash: its first function that counts.
func Where(functions []string) string {
	if len(functions) == 0 {
		return "an unknown place"
	}
	return functions[0]
}

// String is one line for people, without an end.
func (g *Group) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %6d  %s  %s  %s in %s", g.Fingerprint, g.Count,
		g.First.Local().Format(stamp), g.Last.Local().Format(stamp), g.Kind, Where(g.Functions))
	return b.String()
}

const stamp = "01-02 15:04"
