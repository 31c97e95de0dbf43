package locks

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Which instructions take and give back a lock. The compiler inlines the short way of Mutex.Lock,
// RLock and their counterparts: one instruction with a LOCK prefix, and a call of the long way
// behind it. The pc table says of which function an inlined instruction is.

// Mode is the way in which a lock is held.
type Mode uint8

// The modes: alone, as by Mutex.Lock and RWMutex.Lock, or with others, as by RWMutex.RLock.
const (
	Write Mode = iota
	Read
)

// action is what a function or its inlined instruction does to a lock.
type action struct {
	gives bool
	mode  Mode
	maybe bool // it may fail
	off   int64
}

// calls are the functions whose first argument is the lock.
var calls = map[string]action{
	"sync.(*Mutex).Lock":             {},
	"sync.(*Mutex).Unlock":           {gives: true},
	"sync.(*Mutex).TryLock":          {maybe: true},
	"internal/sync.(*Mutex).Lock":    {},
	"internal/sync.(*Mutex).Unlock":  {gives: true},
	"internal/sync.(*Mutex).TryLock": {maybe: true},
	"sync.(*RWMutex).Lock":           {},
	"sync.(*RWMutex).Unlock":         {gives: true},
	"sync.(*RWMutex).TryLock":        {maybe: true},
	"sync.(*RWMutex).RLock":          {mode: Read},
	"sync.(*RWMutex).RUnlock":        {gives: true, mode: Read},
	"sync.(*RWMutex).TryRLock":       {mode: Read, maybe: true},
	"sync.(*rlocker).Lock":           {mode: Read},
	"sync.(*rlocker).Unlock":         {gives: true, mode: Read},
}

// inlined are the functions whose instruction with a LOCK prefix acts on a field of the lock.
var inlined = map[string]short{
	"internal/sync.(*Mutex).Lock":    {x86asm.CMPXCHG, action{}},
	"internal/sync.(*Mutex).TryLock": {x86asm.CMPXCHG, action{maybe: true}},
	"internal/sync.(*Mutex).Unlock":  {x86asm.XADD, action{gives: true}},
	"sync.(*RWMutex).RLock":          {x86asm.XADD, action{mode: Read, off: readerCount}},
	"sync.(*RWMutex).RUnlock":        {x86asm.XADD, action{gives: true, mode: Read, off: readerCount}},
}

// Where RWMutex has these fields, from sync/rwmutex.go: a Mutex of 8 bytes and two semaphores lie
// before readerCount.
const (
	readerSem   = 12
	readerCount = 16
)

// slow are the long ways behind an inlined instruction: they return with the lock, and while they
// run it is not held. The value is where the argument points to in the lock.
var slow = map[string]action{
	"internal/sync.(*Mutex).lockSlow": {},
	"sync.runtime_SemacquireRWMutexR": {mode: Read, off: readerSem},
}

// shortWay is how many bytes lie between the instruction with the prefix and the call of the long
// way at most: a few tests and moves.
const shortWay = 64

// primitive reports whether a function is one of those that make up a lock.
func primitive(name string) bool {
	_, call := calls[name]
	if strings.HasSuffix(name, "-fm") {
		return false // the function of a method value calls it
	}
	return call || strings.HasPrefix(name, "internal/sync.(*Mutex)") || strings.HasPrefix(name, "sync.(*RWMutex)") ||
		strings.HasPrefix(name, "sync.(*Mutex)") || strings.HasPrefix(name, "sync.runtime_")
}

// pre does what in does to locks before it ends: a call that waits for a lock does not hold it.
func (p *Program) pre(f *function, s *state, in *inst) {
	if in.Op != x86asm.CALL {
		return
	}
	to, _ := p.callee(f, s, in)
	if p.name(to) == "runtime.deferreturn" {
		// It runs what was deferred, which is taken to give back what is held.
		clear(s.held)
		return
	}
	act, ok := slow[p.name(to)]
	if !ok {
		return
	}
	addr := f.add(s.regs[0], -act.off)
	var last hold
	for h := range s.held {
		if h.mode == act.mode && h.addr == addr && h.at < in.pc && h.at > last.at {
			last = h
		}
	}
	if last.at == 0 { // the address was computed twice: it is the one just before
		for h := range s.held {
			if h.mode == act.mode && h.at < in.pc && in.pc-h.at < shortWay && h.at > last.at {
				last = h
			}
		}
	}
	if last.at != 0 {
		delete(s.held, last)
		f.short[in.pc] = last.at
	}
}

// post does what is left of it once in has run. Registers are still those before it.
func (p *Program) post(f *function, s *state, in *inst) {
	if in.Op == x86asm.CALL {
		sp := value(0)
		if d, ok := f.spDelta(in.pc); ok {
			sp = f.frame(-int64(d) - 8)
		}
		if to, known := p.callee(f, s, in); known {
			p.called(f, s, in, to, sp)
		} else if to, known := p.indirect(f, s, in); known {
			p.called(f, s, in, to, sp)
		}
		return
	}
	if in.Op != x86asm.CMPXCHG && in.Op != x86asm.XADD {
		return
	}
	m, ok := in.Args[0].(x86asm.Mem)
	if !ok {
		return
	}
	act, ok := p.inlinedAt(f, in)
	if ok && act.op == in.Op {
		act.apply(s, f.add(f.address(s, in, m), -act.off), in.pc)
	}
}

// called does what a call of the function at to does, at whose entry SP is sp.
func (p *Program) called(f *function, s *state, in *inst, to uint64, sp value) {
	name := p.name(to)
	p.operation(f, s, in, name)
	if act, ok := slow[name]; ok {
		at := in.pc
		if short, ok := f.short[in.pc]; ok {
			at = short // it is one Lock, whichever way
		}
		s.take(hold{act.mode, f.add(s.regs[0], -act.off), at}, true)
	} else if act, ok := calls[name]; ok {
		act.apply(s, s.regs[0], in.pc)
	} else if strings.HasPrefix(name, "runtime.duff") {
		f.fill(s)
	} else if name == "runtime.newproc" {
		p.starts(f, s, in)
	} else {
		p.summarize(f, s, in, to, sp)
	}
}

// starts does what a go statement does to what is held: a goroutine that gives back what it has not
// taken, or calls what its code does not name, may do so to a lock of the one who has started it.
func (p *Program) starts(f *function, s *state, in *inst) {
	i, _ := f.index(in.pc)
	for i--; i >= 0; i-- {
		m, ok := f.insts[i].Args[1].(x86asm.Mem)
		if !ok || f.insts[i].Op != x86asm.LEA || m.Base != x86asm.RIP {
			continue
		}
		to := uint64(int64(f.insts[i].next) + m.Disp)
		if w, ok := p.constant(to); ok && p.name(to) == "" {
			to = w // of a closure without variables
		}
		if p.name(to) == "" {
			continue
		}
		if g := p.variant(to, nil); p.comesToLock(to, maxCalls) &&
			(g == nil || g.atReturn == nil || len(g.atReturn.freed)+len(g.atReturn.calls) > 0) {
			s.doubt()
		}
		return
	}
}

// indirect notes a call that the code does not name the function of, and returns the one that a
// stack has told. One that it has not told may give back whatever is held.
func (p *Program) indirect(f *function, s *state, in *inst) (uint64, bool) {
	k, v := at(in.pc), p.get(f, s, in, in.Args[0])
	s.calls[k], f.calls[k] = v, v
	to, ok := f.targets[k]
	if !ok && f.targets != nil {
		s.doubt()
	}
	return to, ok
}

// short is an instruction with a LOCK prefix, and what it does to a lock.
type short struct {
	op x86asm.Op
	action
}

// inlinedAt returns what the instruction is, by the function that it was inlined from.
func (p *Program) inlinedAt(f *function, in *inst) (short, bool) {
	for _, c := range p.file.Lookup(in.pc, false) {
		if strings.HasPrefix(c.Function, "sync/atomic.") || strings.HasPrefix(c.Function, "internal/runtime/atomic.") {
			continue
		}
		if act, ok := inlined[c.Function]; ok {
			return act, true
		}
		break
	}
	// Go 1.27 lets an instruction go by the line of the call: the long way behind it tells.
	i, _ := f.index(in.pc)
	for _, next := range f.insts[i+1 : min(i+10, len(f.insts))] {
		if next.pc-in.pc > shortWay {
			break
		}
		if to, ok := next.target(); ok && next.Op == x86asm.CALL {
			act, ok := longWays[p.name(to)]
			return act, ok
		}
	}
	return short{}, false
}

// longWays are the functions behind such an instruction.
var longWays = map[string]short{
	"internal/sync.(*Mutex).lockSlow":   inlined["internal/sync.(*Mutex).Lock"],
	"internal/sync.(*Mutex).unlockSlow": inlined["internal/sync.(*Mutex).Unlock"],
	"sync.runtime_SemacquireRWMutexR":   inlined["sync.(*RWMutex).RLock"],
	"sync.(*RWMutex).rUnlockSlow":       inlined["sync.(*RWMutex).RUnlock"],
}

func (a action) apply(s *state, addr value, pc uint64) {
	if a.gives {
		s.give(a.mode, addr, !a.maybe)
	} else {
		s.take(hold{a.mode, addr, pc}, !a.maybe)
	}
}

// callee returns where a call leads, if the code says so.
func (p *Program) callee(f *function, s *state, in *inst) (uint64, bool) {
	if to, ok := in.target(); ok {
		return to, true
	}
	if x := f.nodes[p.get(f, s, in, in.Args[0])]; x.kind == konst {
		return uint64(x.n), true
	}
	return 0, false
}
