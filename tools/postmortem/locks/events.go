package locks

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/flow"
)

// Which instructions take and give back a lock. The compiler inlines the short way of Mutex.Lock,
// RLock and their counterparts: one instruction with a LOCK prefix, and a call of the long way
// after it. The pc table says of which function an inlined instruction is.

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

// slow are the long ways after an inlined instruction: they return with the lock, and while they
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
	return call || strings.HasPrefix(name, "internal/sync.(*Mutex)") ||
		strings.HasPrefix(name, "sync.(*RWMutex)") ||
		strings.HasPrefix(name, "sync.(*Mutex)") || strings.HasPrefix(name, "sync.runtime_")
}

// Before does what in does to locks before it ends: a call that waits for a lock does not hold it.
func (f *function) Before(s *flow.State, in *flow.Inst) {
	if in.Op != x86asm.CALL {
		return
	}
	to, _ := f.callee(s, in)
	name, held := f.p.Name(to), of(s).held
	if name == "runtime.deferreturn" {
		// It runs what was deferred, which is taken to give back what is held.
		clear(held)
		return
	}
	act, ok := slow[name]
	if !ok {
		return
	}
	latest := func(fits func(h hold) bool) (last hold) {
		for h := range held {
			if h.mode == act.mode && h.at < in.PC && h.at > last.at && fits(h) {
				last = h
			}
		}
		return last
	}
	addr := f.Add(s.Reg(0), -act.off)
	last := latest(func(h hold) bool { return h.addr == addr })
	if last.at == 0 { // the address was computed twice: it is the one just before
		last = latest(func(h hold) bool { return in.PC-h.at < shortWay })
	}
	if last.at != 0 {
		delete(held, last)
		f.short[in.PC] = last.at
	}
}

// After does what is left of it once in has run. Registers are still those before it.
func (f *function) After(s *flow.State, in *flow.Inst) {
	if in.Op == x86asm.CALL {
		d, _ := f.CFA(in.PC)
		if to, known := f.callee(s, in); known {
			f.called(s, in, to, -d)
		} else if to, known := f.indirect(s, in); known {
			f.called(s, in, to, -d)
		}
		return
	}
	m, ok := in.Args[0].(x86asm.Mem)
	if !ok || in.Op != x86asm.CMPXCHG && in.Op != x86asm.XADD {
		return
	}
	if act, ok := f.inlinedAt(in); ok && act.op == in.Op {
		act.apply(s, f.Add(f.Address(s, in, m), -act.off), in.PC)
	}
}

// called does what a call of the function at to does, whose CFA is at a distance from this one's.
func (f *function) called(s *flow.State, in *flow.Inst, to uint64, cfa int64) {
	name := f.p.Name(to)
	f.operation(s, in, name)
	if act, ok := slow[name]; ok {
		at := in.PC
		if short, ok := f.short[in.PC]; ok {
			at = short // it is one Lock, whichever way
		}
		of(s).take(hold{act.mode, f.Add(s.Reg(0), -act.off), at}, true)
	} else if act, ok := calls[name]; ok {
		act.apply(s, s.Reg(0), in.PC)
	} else if strings.HasPrefix(name, "runtime.duff") {
		f.Fill(s)
	} else if name == "runtime.newproc" {
		f.starts(s, in)
	} else {
		f.summarize(s, in, to, cfa)
	}
}

// starts does what a go statement does to what is held: a goroutine that gives back what it has not
// taken, or calls what its code does not name, may do so to a lock of the one who has started it.
func (f *function) starts(s *flow.State, in *flow.Inst) {
	i, _ := f.Index(in.PC)
	for i--; i >= 0; i-- {
		to, ok := f.Insts[i].Pointer()
		if !ok {
			continue
		}
		if w, ok := f.p.Constant(to); ok && f.p.Name(to) == "" {
			to = w // of a closure without variables
		}
		if f.p.Name(to) == "" {
			continue
		}
		if g := f.p.variant(to, nil); f.p.comesToLock(to, maxCalls) &&
			(g == nil || g.atReturn == nil || len(of(g.atReturn).freed)+len(of(g.atReturn).calls) > 0) {
			of(s).doubt(nil)
		}
		return
	}
}

// indirect notes a call that the code does not name the function of, and returns the one that a
// stack has told. One that it has not told may give back whatever is held.
func (f *function) indirect(s *flow.State, in *flow.Inst) (uint64, bool) {
	k, v := at(in.PC), f.Get(s, in, in.Args[0])
	of(s).calls[k], f.calls[k] = v, v
	to, ok := f.targets[k]
	if !ok && f.targets != nil {
		of(s).doubt(nil)
	}
	return to, ok
}

// short is an instruction with a LOCK prefix, and what it does to a lock.
type short struct {
	op x86asm.Op
	action
}

// inlinedAt returns what the instruction is, by the function that it was inlined from.
func (f *function) inlinedAt(in *flow.Inst) (short, bool) {
	for _, c := range f.p.file.Lookup(in.PC, false) {
		if strings.HasPrefix(c.Function, "sync/atomic.") ||
			strings.HasPrefix(c.Function, "internal/runtime/atomic.") {
			continue
		}
		if act, ok := inlined[c.Function]; ok {
			return act, true
		}
		break
	}
	// Go 1.27 lets an instruction go by the line of the call: the long way after it tells.
	i, _ := f.Index(in.PC)
	for _, next := range f.Insts[i+1 : min(i+10, len(f.Insts))] {
		if to, ok := next.Target(); next.PC-in.PC <= shortWay && ok && next.Op == x86asm.CALL {
			act, ok := longWays[f.p.Name(to)]
			return act, ok
		}
	}
	return short{}, false
}

// longWays are the functions after such an instruction.
var longWays = map[string]short{
	"internal/sync.(*Mutex).lockSlow":   inlined["internal/sync.(*Mutex).Lock"],
	"internal/sync.(*Mutex).unlockSlow": inlined["internal/sync.(*Mutex).Unlock"],
	"sync.runtime_SemacquireRWMutexR":   inlined["sync.(*RWMutex).RLock"],
	"sync.(*RWMutex).rUnlockSlow":       inlined["sync.(*RWMutex).RUnlock"],
}

func (a action) apply(s *flow.State, addr value, pc uint64) {
	if a.gives {
		of(s).give(a.mode, addr, !a.maybe)
	} else {
		of(s).take(hold{a.mode, addr, pc}, !a.maybe)
	}
}

// callee returns where a call leads, if the code says so.
func (f *function) callee(s *flow.State, in *flow.Inst) (uint64, bool) {
	if to, ok := in.Target(); ok {
		return to, true
	}
	x := f.Node(f.Get(s, in, in.Args[0]))
	return uint64(x.N), x.Kind == flow.Const
}
