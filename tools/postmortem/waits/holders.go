package waits

import (
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/postmortem/locks"
)

// A hold is a lock that a frame of a goroutine has.
type hold struct {
	mode  locks.Mode
	addr  uint64
	known bool // addr is
	must  bool // it is held for certain
}

// The bits of sync.Mutex's state, from internal/sync/mutex.go.
const (
	mutexLocked   = 1
	mutexStarving = 4
)

// holds finds the locks that a goroutine's frames have. An inner frame may have given back what
// an outer one has taken.
func (p *program) holds(g *Goroutine) {
	if p.code == nil {
		return
	}
	// Of a stack whose outer end is not known, an outer frame may have anything.
	g.whole = g.has("runtime.goexit") >= 0
	var freed []hold
	unsure := false // a panic runs what outer frames have deferred
	points, bad := p.points(g)
	g.heldOK = g.whole && !bad
	for i := range g.frames {
		f := &g.frames[i]
		if f.Inlined || f.SystemStack || f.Current.Fn == nil {
			continue
		}
		switch name := f.Current.Fn.Name; {
		case name == "runtime.gopanic" || name == "runtime.Goexit":
			unsure = true
			continue
		case name == "sync.(*Cond).Wait":
			if c := p.receiver(g, i, "c"); c != 0 {
				l := p.word(p.at(c, "sync.Cond.L") + 8)
				freed = append(freed, hold{locks.Write, l, true, true}, hold{locks.Read, l, true, true})
			} else {
				freed = append(freed, hold{mode: locks.Write})
			}
			continue
		}
		q := points[i]
		if q == nil {
			continue
		}
		g.heldOK = g.heldOK && !q.Open
		// What the frame itself has given back by another pointer, before or after it was taken.
		outer := len(freed)
		for _, h := range q.Freed {
			y := hold{mode: h.Mode}
			y.addr, y.known = q.Address(h)
			freed = append(freed, y)
		}
		for _, h := range q.Held {
			x := hold{mode: h.Mode, must: h.Must && !unsure}
			x.addr, x.known = q.Address(h)
			if x.stillHeld(freed) {
				g.held = append(g.held, x)
			}
		}
		for i, h := range q.Freed {
			freed[outer+i].must = h.Must
		}
	}
}

// stillHeld reports whether a lock may be held in spite of those that were given back. If it may be
// one of them, it need not be held.
func (x *hold) stillHeld(freed []hold) bool {
	for _, y := range freed {
		switch {
		case y.mode != x.mode:
		case y.known && x.known && y.addr != x.addr:
		case y.known && x.known && y.must:
			return false
		default:
			x.must = false
		}
	}
	return true
}

// points returns what is known of the place in its code of each frame that is not the runtime's;
// nil of an inlined one. bad says that the code of one cannot be followed.
func (p *program) points(g *Goroutine) (points []*locks.Point, bad bool) {
	points = make([]*locks.Point, len(g.frames))
	var caller *locks.Point
	for i := len(g.frames) - 1; i >= 0; i-- {
		f := &g.frames[i]
		if f.Inlined {
			continue
		}
		if f.SystemStack || f.Current.Fn == nil || strings.HasPrefix(f.Current.Fn.Name, "runtime.") {
			caller = nil
			continue
		}
		view := locks.View{SP: uint64(f.Regs.CFA) - 8, Word: p.readWord, Caller: caller}
		known, ret := p.registers(g, i)
		if delete(known, flagsRegister); !ret {
			view.Registers = known
		}
		var err error
		if points[i], err = p.code.At(f.Current.PC, ret, view); err != nil {
			points[i], bad = nil, true
		}
		caller = points[i]
	}
	return points, bad
}

// locals returns a frame's variables that lie in memory.
func (p *program) locals(g *Goroutine, i int) []*proc.Variable {
	scope := proc.FrameToScope(p.t, p.mem, g.proc, 0, g.frames[i:]...)
	vars, err := scope.Locals(0, "")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(vars, func(v *proc.Variable) bool {
		return v == nil || v.Addr == 0 || v.Unreadable != nil || v.RealType == nil ||
			v.Flags&proc.VariableFakeAddress != 0
	})
}

// argument returns a pointer or number that a variable of a frame holds, 0 if it is not there.
func (p *program) argument(g *Goroutine, i int, name string) uint64 {
	for _, v := range p.locals(g, i) {
		if v.Name == name {
			return p.uint(v.Addr, min(v.RealType.Size(), 8))
		}
	}
	return 0
}

// object is what is waited for, by its kind and address.
type object struct {
	kind Kind
	addr uint64
}

// holdersOf finds the holders of what a goroutine waits for.
func (p *program) holdersOf(all []*Goroutine, waiting map[object][]*Goroutine,
	g *Goroutine, o *Object) {
	switch {
	case o.Kind == Mutex:
		p.exclusive(all, o, o.Addr)
	case o.Kind == Once:
		p.exclusive(all, o, p.at(o.Addr, "sync.Once.m"))
	case o.Kind == WLock && p.holder(p.semas[g.g], "sync.RWMutex.writerSem") == o.Addr &&
		g.State == "sync.RWMutex.Lock":
		n := int32(p.get(o.Addr, "sync.RWMutex.readerWait"))
		p.find(all, o, o.Addr, locks.Read, int(n))
		o.State, o.readers = plural(int(n), "reader"), true
	case o.Kind == WLock || o.Kind == RLock:
		p.writer(all, waiting, o)
	}
}

// exclusive finds the one who has a Mutex.
func (p *program) exclusive(all []*Goroutine, o *Object, mu uint64) {
	state := p.get(mu, "internal/sync.Mutex.state")
	if state&(mutexLocked|mutexStarving) == 0 {
		o.State, o.free = "unlocked meanwhile", true
		return
	}
	p.find(all, o, mu, locks.Write, 1)
}

// writer finds the one for whom readers and other writers of a RWMutex wait: who has it, or is
// the first to wait for those who read.
func (p *program) writer(all []*Goroutine, waiting map[object][]*Goroutine, o *Object) {
	for _, w := range waiting[object{WLock, o.Addr}] {
		if w.State == "sync.RWMutex.Lock" {
			o.Holders, o.Certain, o.behind = []int64{w.ID}, true, true
			return
		}
	}
	if c := int32(p.get(o.Addr, "sync.RWMutex.readerCount")); c >= 0 && o.Kind == RLock {
		o.State, o.free = "unlocked meanwhile", true
		return
	}
	p.find(all, o, o.Addr, locks.Write, 1)
}

// find lists those whose frames have the lock. n is how many have it.
func (p *program) find(all []*Goroutine, o *Object, addr uint64, mode locks.Mode, n int) {
	var sure, perhaps []int64
	followed := p.code != nil && (p.list == nil || p.list.complete)
	for _, g := range all {
		followed = followed && g.heldOK
		must, may := false, false
		for _, h := range g.held {
			switch {
			case h.mode != mode || h.known && h.addr != addr:
			case h.known && h.must:
				must = true
			default:
				may = true
			}
		}
		if must {
			sure = append(sure, g.ID)
		} else if may {
			perhaps = append(perhaps, g.ID)
		}
	}
	switch {
	case len(sure) > 0 && len(sure) <= n:
		o.Holders, o.Certain = sure, true
	case len(sure) > n:
		o.Holders = sure
	default:
		o.Holders, o.Certain = perhaps, len(perhaps) == 0 && followed
	}
	slices.Sort(o.Holders)
}
