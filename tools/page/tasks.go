package page

// Threads and goroutines. A death, an NMI and the watchdog are followed by a trace of each
// goroutine that waits; they belong together. Threads show in the table of stacks: each
// has one of the runtime and one for signals.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// tasksView is what ran and what waited at the time of a trace.
type tasksView struct {
	Goroutines []*traceView // the one that ran first
	Threads    []threadView
}

// threadView is a thread.
type threadView struct {
	Number    uint64
	G0, Sig   *stackView
	Goroutine string // that it ran, if the trace is of it
}

// incidents puts the goroutines that were listed with a trace behind it, and returns the
// others. What the runtime has printed itself is folded where there are traces of ours,
// which have the same and more.
func incidents(all []*traceView) []*traceView {
	var heads []*traceView
	ours := false
	for _, v := range all {
		ours = ours || v.Class != "foreign"
		if n := len(heads); n > 0 && heads[n-1].lists(v) {
			head := heads[n-1]
			head.tasks().Goroutines = append(head.Tasks.Goroutines, v)
			continue
		}
		heads = append(heads, v)
	}
	for _, v := range heads {
		v.threads()
		v.Folded = ours && v.traceback
	}
	return heads
}

// lists reports whether o is a goroutine that was listed with trace v.
func (v *traceView) lists(o *traceView) bool {
	if o.traceback {
		return v.traceback && strings.HasPrefix(o.Reason, "goroutine ")
	}
	return o.listed && v.Class != "foreign" && v.build == o.build
}

func (v *traceView) tasks() *tasksView {
	if v.Tasks == nil {
		v.Tasks = new(tasksView)
	}
	return v.Tasks
}

// threadStack takes the name of a thread's stack apart, "g0.3" say.
func threadStack(name string) (kind string, thread uint64, ok bool) {
	kind, number, _ := strings.Cut(name, ".")
	thread, err := strconv.ParseUint(number, 10, 32)
	return kind, thread, err == nil && (kind == "g0" || kind == "sig")
}

// threads finds the threads in the table of stacks.
func (v *traceView) threads() {
	for i := range v.Stacks {
		k := &v.Stacks[i]
		kind, n, ok := threadStack(k.Name)
		if !ok {
			continue
		}
		t := v.tasks()
		at := slices.IndexFunc(t.Threads, func(o threadView) bool { return o.Number == n })
		if at < 0 {
			at = len(t.Threads)
			t.Threads = append(t.Threads, threadView{Number: n})
			if n == v.Thread {
				t.Threads[at].Goroutine = "this trace"
				if v.Goroutine > 0 {
					t.Threads[at].Goroutine = fmt.Sprintf("goroutine %d, this trace", v.Goroutine)
				}
			}
		}
		if kind == "g0" {
			t.Threads[at].G0 = k
		} else {
			t.Threads[at].Sig = k
		}
	}
}
