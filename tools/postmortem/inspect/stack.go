package inspect

// The stack of a goroutine whose thread stands where the runtime changes stacks. There neither the
// stack pointer nor the frame information says where the goroutine's frames are, and Delve's walk
// ends at once, or goes astray. Each such place has kept the caller elsewhere.

import (
	"github.com/go-delve/delve/pkg/proc"
)

// Stack returns the frames of a goroutine, the innermost first, at most depth of them. That of one
// that is parked stands at a call, of which its function, line and inlined calls are. Host.
func Stack(t *proc.Target, g *proc.G, depth int) ([]proc.Stackframe, error) {
	if g.Thread == nil {
		return parked(t, g, depth)
	}
	frames, err := proc.GoroutineStacktrace(t, g, depth, 0)
	if len(frames) == 0 || len(frames) > depth || Whole(frames) {
		return frames, err
	}
	from, ok := switching(t, g, &frames[0])
	if !ok {
		return frames, err
	}
	if more, err := parked(t, from, depth); err == nil && (len(more) >= depth || Whole(more)) {
		return append(frames[:1:1], more...), nil
	}
	return frames, err
}

// Whole reports whether a stack is known up to where its goroutine began. Host.
func Whole(frames []proc.Stackframe) bool {
	if len(frames) == 0 {
		return false
	}
	fn := frames[len(frames)-1].Current.Fn
	return fn != nil && fn.Name == "runtime.goexit"
}

// parked walks from where the goroutine goes on: behind a call, or where it is to begin.
func parked(t *proc.Target, g *proc.G, depth int) ([]proc.Stackframe, error) {
	at := *g
	at.Thread, at.SystemStack = nil, false
	fn := t.BinInfo().PCToFunc(at.PC)
	behind := uint64(0)
	if fn != nil && at.PC != fn.Entry {
		behind = 1
	}
	at.PC -= behind
	// With an option Delve does not take an earlier walk's frames.
	frames, err := proc.GoroutineStacktrace(t, &at, depth, proc.StacktraceG)
	for i := range frames {
		frames[i].Current.PC += behind
		frames[i].Call.PC += behind
		if !frames[i].Inlined {
			break
		}
	}
	return frames, err
}

// switching returns the goroutine as if it was parked, if its innermost frame is of a function that
// changes stacks.
//
// Source: runtime/asm_amd64.s, sys_linux_amd64.s and time_linux_amd64.s of Go 1.25 to 1.27.
func switching(t *proc.Target, g *proc.G, top *proc.Stackframe) (*proc.G, bool) {
	regs, err := g.Thread.Registers()
	if err != nil || top.Current.Fn == nil {
		return nil, false
	}
	load := func(addr uint64) uint64 {
		w, _ := word(t.Memory(), addr)
		return w
	}
	at := *g
	switch top.Current.Fn.Name {
	case "runtime.mcall": // its caller is not in g.sched yet
		cfa := uint64(top.Regs.CFA)
		at.PC, at.SP, at.BP = top.Ret, cfa, regs.BP()
		if regs.SP()+8 < cfa {
			at.BP = load(cfa - 16)
		}
	case "gogo": // it empties g.sched, but for the pc, once it has it in registers
		if at.SP == 0 {
			at.SP = regs.SP()
		}
		if at.BP == 0 {
			at.BP = regs.BP()
		}
	case "runtime.morestack": // g.sched is written before it leaves the goroutine's stack
		if !g.SystemStack {
			return nil, false
		}
	case "runtime.nanotime1", "runtime.walltime", "time.now": // on the thread's stack; RBP has stayed
		at.PC, at.SP, at.BP = load(regs.BP()+8), regs.BP()+16, load(regs.BP())
	default:
		return nil, false
	}
	return &at, true
}
