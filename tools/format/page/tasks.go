package page

// Threads, goroutines and CPUs. A death, an NMI and the watchdog are followed by a trace of each
// goroutine that waits, and a death by one of each other CPU; they belong together. Threads show in
// the table of stacks: each has one of the runtime and one for signals.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// tasksView is what ran and what waited at the time of a trace.
type tasksView struct {
	Goroutines []*traceView // the one that ran first
	Threads    []threadView
}

// threadView is a thread.
type threadView struct {
	Number    uint64
	G0, Sig   *wire.Stack
	Goroutine string // that it ran, if the trace is of it
}

// incidents puts the goroutines that were listed with a trace, and the other CPUs, behind it, and
// returns the others. What the runtime has printed itself is folded where there are traces of ours,
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
		if head := deathOf(heads, v); head != nil {
			head.CPUs = append(head.CPUs, v)
			continue
		}
		heads = append(heads, v)
	}
	for _, v := range heads {
		if v.Tasks != nil {
			v.Tasks.Goroutines = alike(v.Tasks.Goroutines)
		}
		v.threads()
		v.Folded = ours && v.traceback
	}
	return heads
}

// deathOf returns the trace of the death that the trace of another CPU belongs to: the latest with
// the number that it says, of the same boot. It is nil if that is not there.
func deathOf(heads []*traceView, v *traceView) *traceView {
	if v.of == 0 {
		return nil
	}
	for _, head := range slices.Backward(heads) {
		if head.seq == v.of && head.of == 0 && head.build == v.build &&
			(head.Class == "before") == (v.Class == "before") {
			return head
		}
	}
	return nil
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

// alike makes one of those goroutines that wait for the same thing with the same stack, the
// longest waiting first.
func alike(all []*traceView) (groups []*traceView) {
	by := map[string]*traceView{}
	for _, v := range all {
		v.who()
		key := v.wait
		for _, f := range v.Frames {
			key += "\n" + f.plain + f.Address + f.Place + f.Boundary + f.How
		}
		if first := by[key]; first != nil && v.count == 1 {
			first.count++
			first.members = append(first.members, fmt.Sprint(v.Goroutine))
			first.Others = append(first.Others, v.ID)
			if v.waited > first.waited {
				first.waited, first.State = v.waited, v.State
			}
			continue
		}
		by[key] = v
		groups = append(groups, v)
	}
	slices.SortStableFunc(groups, func(a, b *traceView) int { return cmp.Compare(b.waited, a.waited) })
	return groups
}

// who reads who waits, and for how long, out of the reason: "goroutine 7 [chan receive, 2
// minutes]", or "12 goroutines [chan receive, 5 s]: 7, 8, ...".
func (v *traceView) who() {
	v.count, v.members = 1, []string{fmt.Sprint(v.Goroutine)}
	if n, rest, ok := strings.Cut(v.Reason, " goroutines ["); ok {
		if k, err := strconv.Atoi(n); err == nil && k > 1 {
			_, list, _ := strings.Cut(rest, "]: ")
			v.count, v.members = k, strings.Split(list, ", ")
		}
	}
	v.wait = v.State
	for part := range strings.SplitSeq(v.State, ", ") {
		n, unit, ok := strings.Cut(part, " ")
		k, err := strconv.Atoi(n)
		if !ok || err != nil || unit != "s" && unit != "minutes" {
			continue
		}
		if v.waited = k; unit == "minutes" {
			v.waited *= 60
		}
		v.wait = strings.Replace(v.State, ", "+part, "", 1)
	}
}

// Who names the goroutine, or says how many there are.
func (v *traceView) Who() string {
	if v.count > 1 {
		return fmt.Sprintf("%d goroutines", v.count)
	}
	return fmt.Sprintf("goroutine %d", v.Goroutine)
}

// Members are the numbers of several goroutines.
func (v *traceView) Members() string {
	if v.count == 1 {
		return ""
	}
	return strings.Join(v.members, ", ")
}

// Count is how many goroutines were listed.
func (t *tasksView) Count() (n int) {
	for _, v := range t.Goroutines {
		n += v.count
	}
	return n
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
