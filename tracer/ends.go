package tracer

// Both ends of a deep stack. The innermost frames tell what happened, the outermost who began it;
// the frames between them in a runaway recursion are many and say little. The walk fills Frames as
// usual. When that is full, runs of the same frame are folded. If this makes no room, the frames
// between the innermost ones and the latest Outer are left out and counted. So the walk takes one
// pass and no memory but Frames:
//
//	0          inner                                       len(Frames) = inner + 2*Outer
//	| innermost | what the walk has found since, and of      |
//	|           | that at last the Outer outermost           |
//
// A frame is folded into the previous one only if it adds nothing: a return address with the same
// value, on the same stack, at the same distance. All folded frames can be restored from what is
// left, so nothing that differs is hidden.

const (
	// minFold is how many frames a run must save to be folded.
	minFold = 2
	// unfolded is the number of latest frames that are left as they are while the walk goes on,
	// because it looks at them again. So that many more than Outer are kept until its end.
	unfolded = 2
)

// inner is the number of innermost frames that are always kept.
func (w *Walker) inner() int { return len(w.Frames) - 2*w.Outer }

// room makes room in Frames, if both ends of the stack are wanted.
func (w *Walker) room() bool {
	if !w.bothEnds() {
		return false
	}
	n := w.N
	w.deep = true
	w.fold(n - unfolded)
	w.leaveOut(w.Outer + unfolded)
	w.first = max(w.first-(n-w.N), w.N-unfolded)
	return true
}

// ends does the work at the end of a walk: if a stack has more frames than both ends hold, it folds
// and leaves out.
func (w *Walker) ends() {
	if w.bothEnds() && (w.deep || w.N > w.inner()+w.Outer) {
		w.fold(w.N)
		w.leaveOut(w.Outer)
	}
}

// bothEnds reports whether both ends are wanted and there is room for them.
func (w *Walker) bothEnds() bool { return w.Outer > unfolded && w.inner() >= unfolded }

// leaveOut drops frames after the innermost ones and keeps the outer outermost.
func (w *Walker) leaveOut(outer int) {
	inner := w.inner()
	from := w.N - outer
	if from <= inner {
		return
	}
	for i := inner; i < from; i++ {
		w.LeftOut += 1 + uint64(w.Frames[i].Repeat)
	}
	for i := range outer { // copy would call the runtime
		w.Frames[inner+i] = w.Frames[from+i]
	}
	w.N = inner + outer
}

// fold folds the runs among the frames before index end. Frame 0 is never part of a run, as it is
// sent before the walk begins. Frames after which others were left out are folded, too.
func (w *Walker) fold(end int) {
	i := 1
	if w.LeftOut > 0 {
		i = w.inner()
	}
	out := i
	for i < w.N {
		run, next := w.Frames[i], i+1
		for next < end && run.takes(&w.Frames[next]) {
			next++
		}
		if run.Repeat < minFold {
			run, next = w.Frames[i], i+1
		}
		w.Frames[out] = run
		out++
		i = next
	}
	w.N = out
}

// takes makes f stand for the following frame next, too, if next adds nothing to f.
func (f *Frame) takes(next *Frame) bool {
	step := (next.FP - f.Last()) / 8
	switch {
	case f.Kind != RA || next.Kind != RA || f.Addr != next.Addr || f.Stack != next.Stack:
		return false
	case (next.FP-f.Last())%8 != 0 || step == 0 || step != uintptr(uint16(step)):
		return false
	case f.Repeat > 0 && uintptr(f.Step) != step, next.Repeat > 0 && uintptr(next.Step) != step:
		return false
	case f.Repeat+next.Repeat+1 <= f.Repeat:
		return false
	}
	f.Step = uint16(step)
	f.Repeat += 1 + next.Repeat
	return true
}
