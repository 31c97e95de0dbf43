package why

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// How far is looked, in instructions: the paths that are stepped through, each when the one before
// was too short; and what a stack's word is watched for first.
var windows = []uint64{2_000, 16_000, 120_000}

const stackWindow = 2_000_000

// mostHops bounds a way, mostRounds the rounds of a loop in it.
const (
	mostHops   = 400
	mostRounds = 2
	// mostSettled is how many times memory is searched for a writer when it is settled who is to
	// blame.
	mostSettled = 4
)

// cannotTell begins what is said of a way that cannot be followed to its end.
const cannotTell = "cannot be told: "

// A def is an instruction of a path that has written a place.
type def struct {
	index  int
	effect effect
	rest   place // the part of the place that was asked for which it has written
	source place // of a copy: where that part comes from
	// hidden: there is none, since what interrupted the code in front of path[index] has written it
	hidden bool
}

// lastDef finds the instruction before path[before] that has written the place last. Of memory that
// was written in pieces it is the one that has written the lowest byte, which counts most in small
// numbers.
func (w *Why) lastDef(path []entry, before int, p place) (d def, ok bool) {
	for i := before - 1; i >= 0; i-- {
		if i+1 < len(path) && path[i+1].meanwhile(p) {
			return def{index: i + 1, hidden: true}, false
		}
		e := &path[i]
		if !ran(path, i) {
			continue
		}
		if u, ok := w.unit(path, i, p); ok {
			if u.rest.addr == p.addr {
				return u, true
			}
			p.size = u.rest.addr - p.addr
		}
		var after *state
		if i+1 < len(path) {
			after = &path[i+1].state
		}
		fx := e.effects(after)
		if e.inst.Op == 0 {
			fx = e.changed(after)
		}
		for _, f := range fx {
			if !f.to.overlaps(p) || p.kind == inMemory && w.copyStart(e.pc) != 0 &&
				w.copyEntry(path, i) >= 0 {
				continue // the copy is taken as a whole, where it begins
			}
			d := narrow(i, f, p)
			if p.kind != inMemory || d.rest.addr == p.addr {
				return d, true
			}
			p.size = d.rest.addr - p.addr
		}
	}
	return def{}, false
}

// narrow makes the def of an effect: of a place that is larger or smaller than what is written.
func narrow(i int, f effect, p place) def {
	d := def{index: i, effect: f, rest: p}
	off := uint64(0)
	switch p.kind {
	case inMemory:
		lo, hi := max(p.addr, f.to.addr), min(p.addr+p.size, f.to.addr+f.to.size)
		d.rest = bytesAt(lo, hi-lo)
		off = lo - f.to.addr
	case inVector:
		off = p.addr
	}
	if f.how == copied && len(f.from) == 1 {
		s := f.from[0]
		switch s.kind {
		case inMemory:
			s.addr += off
			s.size = min(max(s.size, off)-off, d.rest.size)
			if s.size == 0 {
				s.size = d.rest.size
			}
		case inVector:
			s.addr, s.size = off, d.rest.size
		}
		d.source = s
	}
	return d
}

// chain follows one way of a value: of several operands the first.
func (w *Why) chain(s *Story, path []entry, at int, p place,
	until func(*Hop) bool) (hops []Hop, end string, err error) {
	hops, end, _, err = w.way(s, fork{path: path, at: at, p: p}, until)
	return hops, end, err
}

// way follows the value that a place had in front of an instruction back to where it comes from.
// Where it is made of several, and it cannot be told which of them is off, it ends with a fork for
// each. When it is settled who is to blame, the rounds of a loop in which it was computed are not
// followed one by one. With until it ends at the first step of which that is true, and does not
// fork.
func (w *Why) way(s *Story, from fork,
	until func(*Hop) bool) (hops []Hop, end string, forks []fork, err error) {
	rounds := map[call]int{}
	settledFar := 0
	path, at, p, heals := from.path, from.at, from.p, from.heals
	value, known := w.valueAt(path, at, p)
	to := func(q place, i int) { // goes on with another value
		p, at, heals = q, i, nil
		value, known = w.valueAt(path, i, q)
	}
	for range mostHops {
		if p.kind == inVector && p.reg == 15 {
			return hops, "the constant 0", nil, nil // Go's internal ABI
		}
		reader := &path[at]
		d, ok := w.lastDef(path, at, p)
		if !ok {
			if settledFar++; settledFar > mostSettled && until == nil && s.settled(hops) {
				return hops, "what was before was not followed", nil, nil
			}
			read, readAt := path, at
			var dev *deviceWrite
			if path, d, dev, end, err = w.before(path, at, p, d); dev != nil {
				h := w.deviceHop(dev, p)
				hops = append(hops, h)
				if dev.descriptor == 0 || dev.count == 0 {
					return hops, "it was written by " + dev.String(), nil, err
				}
				// Goes on with where the buffer's address came from.
				path = []entry{{count: dev.count}}
				to(bytesAt(dev.descriptor, 8), 0)
				continue
			}
			if err != nil {
				return hops, end, nil, err
			}
			if end != "" {
				h, last, err := w.nowhere(read, readAt, path, at, p, until == nil, end)
				return append(hops, h...), last, nil, err
			}
		}
		if w.copyStart(path[d.index].pc) != 0 && d.effect.to.kind == inMemory &&
			w.copyEntry(path, d.index) != d.index {
			if path, d, ok, err = w.copyCall(path, d.index, p); err != nil || !ok {
				return hops, cannotTell + "where the copy began that has written it was not found", nil, err
			}
		}
		e := &path[d.index]
		h := w.hop(path, d.index)
		h.Place, h.Value = p.String(), w.valueOf(path, d)
		if n := len(hops) - 1; from.narrows && known && n >= 0 {
			hops[n].Whole = w.narrows(path, d, p, value)
		}
		if p.size > d.rest.size {
			heals = nil
		}
		if p.size = min(p.size, d.rest.size); known {
			h.Value = value & p.mask()
		}
		h.to, h.heals = p, heals
		f := &d.effect
		h.Store = f.to.kind == inMemory && (!e.inFrame() || f.how == constant &&
			reader.byPointer(w.memmove))
		if until != nil && until(&h) {
			return append(hops, h), "", nil, nil
		}
		switch f.how {
		case constant:
			h.How = "constant"
			if k, q, ok := w.closed(path, d.index); ok {
				h.Store = false
				hops = append(hops, h)
				to(q, k)
				continue
			}
			if h.Own && f.value == 0 && w.zeroed(path, d.index) {
				h.How, h.Store = "never", true
				return append(hops, h), "never written since it was made there", nil, nil
			}
			hops = append(hops, h)
			if k, q := w.chosen(path, d.index, at); q != (place{}) {
				to(q, k)
				continue
			}
			if f.value == 0 {
				if gone, since, err := w.missed(path, d.index, &h); len(gone) > 0 || err != nil {
					return append(hops, gone...), since, nil, err
				}
			}
			// In the standard library a constant is an answer: the question was a comparison's.
			if c := w.file.Lookup(e.pc, false); len(c) > 0 && !w.own(&c[0]) && f.value == 0 {
				if k, q, ok := w.question(path, d.index); ok {
					to(q, k)
					continue
				}
			}
			return hops, w.constantEnd(f), nil, nil
		case input:
			h.How = "input"
			return append(hops, h), "it comes from " + f.what, nil, nil
		case unknown:
			h.How = "unknown"
			return append(hops, h), fmt.Sprintf(cannotTell+"what %s does with it is not known here",
				strings.ToLower(e.inst.Op.String())), nil, nil
		case computed:
			h.How = "computed"
			from := w.operands(path, d)
			if len(from) == 0 {
				return append(hops, h), "it is an address in the stack", nil, nil
			}
			// Yes or no is the answer of what was compared.
			h.turned = (turns[e.inst.Op] || sets(e.inst.Op)) && len(from) == 1
			j := 0
			// A test may have been answered by the library: by reflect.DeepEqual, say.
			answer := s.assertion && sets(e.inst.Op)
			if until == nil && len(from) > 1 && h.Own && (h.By == "" || answer) && !s.settled(hops) {
				stored := f.to.kind == inMemory || h.stored(hops)
				if j, err = w.choose(path, d.index, from, heals, stored); err != nil {
					return append(hops, h), "", nil, err
				}
				if h.passing = j >= 0 || !stored; j < 0 && !stored {
					for k, q := range from {
						f := fork{path: path, at: d.index, p: q, heals: w.onOperand(path, d.index, from, k, heals)}
						f.what = fmt.Sprintf("of %#x, line %d: %s", h.Value, h.Line, w.what(&f))
						forks = append(forks, f)
					}
					return append(hops, h), "it is made of several, and each is followed", forks, nil
				}
				j = max(j, 0)
			}
			for k, q := range from {
				if k != j {
					h.Alternatives = append(h.Alternatives, w.held(path, d.index, q))
				}
			}
			hops = append(hops, h)
			c := w.callers(path, d.index)
			if rounds[c]++; rounds[c] > mostRounds && s.settled(hops) {
				return hops, "it was computed so in each round of a loop, whose earlier ones were not followed",
					nil, nil
			}
			verdict := w.onOperand(path, d.index, from, j, heals)
			to(from[j], d.index)
			heals = verdict
			continue
		}
		h.How = "copied"
		hops = append(hops, h)
		p, at, value = d.source, d.index, moved(&e.inst, value, d.source)
		if !known {
			value, known = w.valueAt(path, at, p)
		}
	}
	return hops, cannotTell + "it has too many steps", nil, nil
}

// nowhere is for a value that nobody has written, as end says: a key that was deleted, or a word
// that was allocated, says more.
func (w *Why) nowhere(read []entry, readAt int, path []entry, at int, p place, deep bool,
	end string) ([]Hop, string, error) {
	switch {
	case strings.HasPrefix(w.Name(p.addr), zeroValue):
		if gone, since, err := w.deleted(path, at); len(gone) > 0 || err != nil {
			return gone, since, err
		}
	case deep && w.Name(p.addr) == "":
		h, ok, err := w.allocated(read, readAt, p)
		if ok {
			return []Hop{h}, "never written since it was made there", err
		}
		return nil, end, err
	}
	return nil, end, nil
}

// operands are the places that a def has computed its value of, and that can be to blame.
func (w *Why) operands(path []entry, d def) []place {
	from := open(d.effect.from)
	if sets(path[d.index].inst.Op) {
		from = w.flags(path, d.index)
	}
	if in := &path[d.index].inst; divides(in.Op) {
		// the sign of the dividend
		from = slices.DeleteFunc(from, func(q place) bool { return q == register(rdx) })
	}
	return from
}

// chosen is for a constant that path[reader] has taken by a condition: the place that was compared,
// and in front of which instruction. In the program's own code it is an assignment under an if,
// which the compiler might have made a branch of as well: that has made the value, whatever was
// compared.
func (w *Why) chosen(path []entry, constant, reader int) (at int, p place) {
	if reader >= len(path) || constant > reader ||
		!strings.HasPrefix(path[reader].inst.Op.String(), "CMOV") {
		return 0, p
	}
	for k := reader - 1; k >= max(0, reader-4); k-- {
		if op := path[k].inst.Op; op == x86asm.BSF || op == x86asm.BSR {
			return k, w.madeOf(&path[k])
		} else if op == x86asm.CMP || op == x86asm.TEST {
			if c := w.file.Lookup(path[constant].pc, false); len(c) > 0 && w.own(&c[0]) {
				return 0, p
			}
			if from := w.compared(&path[k]); len(from) == 1 {
				return k, from[0]
			}
			return 0, p
		}
	}
	return 0, p
}

// held says what a place held in front of path[i].
func (w *Why) held(path []entry, i int, q place) string {
	if v, ok := w.valueAt(path, i, q); ok {
		return fmt.Sprintf("%s (%#x)", q, v)
	}
	return q.String()
}

// call is an instruction, and where the calls that it is in return to.
type call [4]uint64

func (w *Why) callers(path []entry, i int) (c call) {
	c[0] = path[i].pc
	for n := 1; n < len(c); n++ {
		k, ok := callerOf(path, i)
		if ok {
			c[n] = path[k].next()
		} else if k, ok = returnOf(path, i); ok {
			c[n] = path[k].pc
		} else {
			break
		}
		i = k
	}
	return c
}

// turns are the instructions that write the bytes of a number in the other order.
var turns = map[x86asm.Op]bool{x86asm.BSWAP: true, x86asm.MOVBE: true, x86asm.ROL: true,
	x86asm.ROR: true}

// before goes farther back than the path: a longer one for a register, the last write to a word for
// memory. hidden is what lastDef has said of the path. end says why there is nothing, dev is set for
// a device.
func (w *Why) before(path []entry, at int, p place,
	hidden def) (_ []entry, d def, dev *deviceWrite, end string, err error) {
	count := path[at].count
	if p.kind != inMemory {
		for _, n := range windows {
			if n <= count-path[0].count {
				continue
			}
			if path, err = w.pathTo(count, n); err != nil {
				return nil, d, nil, "", err
			}
			at = len(path) - 1
			if d, ok := w.lastDef(path, at, p); ok {
				return path, d, nil, "", nil
			}
		}
		if w.Begins > 0 && count-w.Begins < windows[len(windows)-1] {
			return path, d, nil, w.earlier(p), nil
		}
		return path, d, nil, fmt.Sprintf(cannotTell+"%s was set more than %d instructions earlier", p,
			windows[len(windows)-1]), nil
	}
	first := &path[hidden.index]
	until := first.count
	if hidden.index < at {
		until++ // it has not written that; a write right before it is seen for certain so
	}
	if p.addr >= w.constants[0] && p.addr < w.constants[1] && p.size <= 8 {
		if v, ok := w.at.word(p.addr); ok && w.loadedAs(p, v&mask(p.size)) {
			return path, d, nil, w.neverWritten(p), nil
		}
	}
	last, found, err := w.lastWrite(p, until, first.gpr[rsp])
	switch {
	case errors.Is(err, errDevice):
		found, err := w.byDevice(p, last.count, first.count)
		if found.stored {
			return path, d, nil, fmt.Sprintf(cannotTell+"the write of %s before instruction %d was not seen",
				p, found.count), err
		}
		return path, d, &found, "", err
	case err != nil:
		return nil, d, nil, "", err
	case !found:
		return path, d, nil, w.neverWritten(p), nil
	}
	if path, err = w.pathTo(last.count, windows[0]); err != nil {
		return nil, d, nil, "", err
	}
	at = len(path) - 1
	if d, ok := w.lastDef(path, at, p); ok {
		return path, d, nil, "", nil
	}
	return path, d, nil,
		fmt.Sprintf(cannotTell+"how %s was written before instruction %d is not known here", p,
			last.count), nil
}

// hopAt returns the path to where so many instructions were run, and its last entry as a step.
func (w *Why) hopAt(count uint64) (path []entry, h Hop, err error) {
	if path, err = w.pathTo(count, windows[0]); err == nil {
		h = w.hop(path, len(path)-1)
	}
	return path, h, err
}

// pathAgain reads the way to path[at] again, as its last entry: the machine's memory is needed
// then.
func (w *Why) pathAgain(path []entry, at int) ([]entry, int, error) {
	path, err := w.pathTo(path[at].count, windows[0])
	return path, len(path) - 1, err
}

// String names a place.
func (p place) String() string {
	switch p.kind {
	case inRegister:
		return strings.ToUpper(gprNames[p.reg])
	case inVector:
		return fmt.Sprintf("X%d", p.reg)
	}
	return fmt.Sprintf("%#x", p.addr)
}

// valueOf returns what the def has written, where the state behind it tells.
func (w *Why) valueOf(path []entry, d def) (v uint64) {
	after := &path[min(d.index+1, len(path)-1)]
	f := &d.effect
	switch {
	case f.how == constant:
		return f.value
	case f.to.kind == inRegister:
		return after.gpr[f.to.reg]
	case d.source.kind == inRegister:
		return path[d.index].gpr[d.source.reg]
	case f.to.kind == inVector:
		return after.vector[f.to.reg]
	}
	if d.rest.kind == inMemory && w.at != nil {
		v, _ = w.at.word(d.rest.addr)
		v &= d.rest.mask()
	}
	return v
}

// inFrame reports whether the instruction writes by the stack pointer or the frame pointer: a
// variable of its function, or a register that is put aside.
func (e *entry) inFrame() bool {
	m, ok := e.inst.Args[0].(x86asm.Mem)
	return ok && (m.Base == x86asm.RSP || m.Base == x86asm.RBP) || e.inst.Op == x86asm.PUSH ||
		e.inst.Op == x86asm.CALL
}

// byPointer reports whether the instruction, or the copying that begins there, reads memory by a
// pointer that is not the stack's: what it reads is a variable of its function no more, wherever it
// lies. Of a register's copy it matters who has made that.
func (e *entry) byPointer(memmove uint64) bool {
	for _, a := range e.inst.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base != x86asm.RSP && m.Base != x86asm.RBP &&
			e.inst.Op != x86asm.LEA {
			return true
		}
	}
	return e.pc == memmove
}

// question finds the comparison that has led to path[k], and what it has compared: one place with a
// constant.
func (w *Why) question(path []entry, k int) (compare int, p place, ok bool) {
	if compare, ok = w.branchBefore(path, k); !ok {
		return 0, p, false
	}
	if from := w.compared(&path[compare]); len(from) == 1 {
		return compare, from[0], true
	}
	return 0, p, false
}

// branchBefore finds the comparison whose branch has led to path[k] in the same call of its
// function.
func (w *Why) branchBefore(path []entry, k int) (compare int, ok bool) {
	sp, jump := path[k].gpr[rsp], -1
	start, _ := w.file.FuncStart(path[k].pc)
	for i := k - 1; i >= 0; i-- {
		e := &path[i]
		if e.gpr[rsp] != sp {
			continue
		}
		if s, _ := w.file.FuncStart(e.pc); s != start {
			continue
		}
		op := e.inst.Op.String()
		switch {
		case jump < 0 && op[0] == 'J' && op != "JMP":
			jump = i
		case jump >= 0 && forms[e.inst.Op] == compares:
			return i, true
		}
	}
	return 0, false
}

// callerOf finds the call instruction by which the function of path[i] was called.
func callerOf(path []entry, i int) (call int, ok bool) {
	sp := path[i].gpr[rsp]
	for k := i - 1; k >= 0; k-- {
		if path[k].gpr[rsp] > sp {
			if path[k].inst.Op == x86asm.CALL {
				return k, true
			}
			sp = path[k].gpr[rsp]
			if sp-path[i].gpr[rsp] > 1<<20 {
				return 0, false
			}
		}
	}
	return 0, false
}

// returnOf finds the instruction behind the one by which the function of path[i] returns.
func returnOf(path []entry, i int) (back int, ok bool) {
	sp := path[i].gpr[rsp]
	for k := i; k+1 < len(path); k++ {
		if path[k].inst.Op == x86asm.RET && path[k].gpr[rsp] >= sp && path[k].gpr[rsp]-sp < 1<<20 {
			return k + 1, true
		}
	}
	return 0, false
}
