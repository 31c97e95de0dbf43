package qemu

// Go's own traceback of the same death in the same run, against the trace. The Go
// runtime unwinds by its pc tables, from the state of its scheduler, and names by
// those tables; the kernel walks frame pointers. What they have in common is the
// program. So each call that Go prints must be in the trace, at the same place of the
// list, with the same function, file, line and address, and nothing else may be there.
//
// With GOTRACEBACK=system Go prints all frames, those of the runtime too, and the
// address of each. The two lists may differ only in this:
//
//   - The trace begins where the program ended: in the call of exit_group. Go begins
//     where the runtime decided to give up, so the trace has more at its start: from
//     Go's first address on the two are the same.
//   - Go says "panic" of runtime.gopanic.
//   - Go prints the stack of g0 as a list of its own ("runtime stack:" or "goroutine
//     0"), before that of the goroutine. The latter begins with systemstack_switch, an
//     address that no call has left there. The trace of a deadlock is of a goroutine
//     that waits; what g0 did when it noticed is left out.
//   - Of a long list Go leaves the middle out, and a trace ends at its limit: the
//     first part is compared, as far as both have it.

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A goFrame is a call in Go's traceback.
type goFrame struct {
	function, file string
	line           int
	pc             uint64 // 0 if inlined
}

func (f goFrame) String() string {
	return fmt.Sprintf("%s %s:%d %#x", f.function, f.file, f.line, f.pc)
}

var (
	goHeader = regexp.MustCompile(`^goroutine (\d+) .*\[.*\]:$`)
	goPlace  = regexp.MustCompile(`^\t(.+):(\d+)(?: \+0x[0-9a-f]+)?(?: fp=0x[0-9a-f]+ sp=0x[0-9a-f]+ pc=0x([0-9a-f]+))?$`)
)

// goTraceback reads Go's traceback in a serial log: the calls on the stack of g0, if
// there is such a list and it is wanted, and those of the goroutine. cut says that Go
// left some out.
func goTraceback(t *testing.T, serial string, g0 bool, goroutine int) (all []goFrame, cut bool) {
	t.Helper()
	text, _, _ := strings.Cut(serial, "zf1 begin")
	var name string // the function whose place follows; "" for none
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := goHeader.FindStringSubmatch(line)
		switch {
		case m != nil:
			in = g0 && m[1] == "0" || m[1] == strconv.Itoa(goroutine)
		case line == "runtime stack:":
			in = g0
		case line == "":
			in = false
		case !in:
		case strings.HasPrefix(line, "..."):
			return all, true
		case strings.HasPrefix(line, "created by "):
			name = ""
		case !strings.HasPrefix(line, "\t"):
			name = line
			if i := strings.LastIndex(line, "("); i >= 0 {
				name = line[:i]
			}
			if name == "panic" {
				name = "runtime.gopanic"
			}
		case name != "":
			p := goPlace.FindStringSubmatch(line)
			if p == nil {
				t.Fatalf("Go's traceback: %q is no place", line)
			}
			f := goFrame{function: name, file: p[1]}
			f.line, _ = strconv.Atoi(p[2])
			f.pc, _ = strconv.ParseUint(p[3], 16, 64)
			if name != "runtime.systemstack_switch" {
				all = append(all, f)
			}
			name = ""
		}
	}
	return all, false
}

// goFrames are the trace's frames as Go would print them.
func (t *labTrace) goFrames() (all []goFrame) {
	for _, f := range t.Frames {
		if f.Kind == "trap" || f.Kind == "inferred" {
			continue // Go knows nothing of either: what has jumped is gone
		}
		g := goFrame{function: f.Function, file: f.File, line: f.Line}
		if !f.Inlined {
			g.pc, _ = strconv.ParseUint(f.Address, 0, 64)
		}
		for range 1 + min(f.Repeat, 200) { // Go prints no more than 50 of them
			all = append(all, g)
		}
	}
	return all
}

// compareWithGo holds the trace against Go's traceback in the same log.
func compareWithGo(t *testing.T, tr *labTrace, serial string) {
	t.Helper()
	deadlock := strings.Contains(tr.Reason, "all goroutines are asleep")
	want, cut := goTraceback(t, serial, !deadlock, tr.Goroutine)
	got := tr.goFrames()
	// Go's first address, and the calls inlined there.
	first := 0
	for first < len(want) && want[first].pc == 0 {
		first++
	}
	if first == len(want) {
		t.Errorf("Go has printed no traceback of goroutine %d", tr.Goroutine)
		return
	}
	from := 0
	for from < len(got) && got[from].pc != want[first].pc {
		from++
	}
	if from == len(got) || from < first {
		t.Errorf("the trace does not have %v, with which Go's traceback begins", want[first])
		return
	}
	got = got[from-first:]
	switch {
	case cut || tr.End == "limit":
		n := min(len(got), len(want))
		got, want = got[:n], want[:n]
	case tr.Goroutine == 0:
		// Go prints the stack of g0 alone.
		got = got[:min(len(got), len(want))]
	}
	for i := range max(len(got), len(want)) {
		var a, b string
		if i < len(got) {
			a = got[i].String()
		}
		if i < len(want) {
			b = want[i].String()
		}
		if a != b {
			t.Errorf("frame %d from where Go's traceback begins = %q; want %q, as Go says", i, a, b)
			return
		}
	}
	t.Logf("%d calls are the same in Go's traceback", len(want))
}
