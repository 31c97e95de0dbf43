package trace

// What a Filter does when no input comes: it releases what it holds, ends a foreign trace
// that has no end of its own, and says what that lacks.

import "time"

// arm sets the timer that flushes, if there is something to flush.
func (f *Filter) arm() {
	f.quiet = 0
	held := f.opt.Idle > 0 && (f.p.Held() || len(f.san.Held) > 0 ||
		len(f.held) > 0 || f.grouped())
	switch {
	case held && f.timer == nil:
		f.timer = time.AfterFunc(f.opt.Idle, f.idle)
	case held:
		f.timer.Reset(f.opt.Idle)
	case f.timer != nil:
		f.timer.Stop()
	}
}

// grouped reports whether a foreign trace may go on, or lacks something that is not said.
func (f *Filter) grouped() bool {
	return f.foreign != nil && (f.foreign.Groups.Open() || f.foreign.Untold())
}

// groupIdle is how many times Idle a foreign trace waits for more of it. The pauses of
// a slow line within a trace are shorter.
const groupIdle = 20

// idle releases what is held when no input has come.
func (f *Filter) idle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.flush()
	if f.grouped() || len(f.held) > 0 {
		if f.quiet++; f.quiet < groupIdle {
			f.timer.Reset(f.opt.Idle)
		} else {
			if f.grouped() {
				f.foreign.EndGroup()
				f.foreign.Tell()
			}
			f.writeHeld()
		}
	}
	f.send()
}
