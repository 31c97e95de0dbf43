package why

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// A value that was made of several others is wrong because one of them is. Which one, the recording
// may tell: the same instruction was run before, in rounds that the machine survived. An operand
// that has a value as in those is cleared; one that has a value as never before is suspected, if
// the death would not have come with its earlier value. Where that names none, or several, each is
// followed, and nobody is blamed alone.

// mostRoundsSeen bounds how many earlier rounds of an instruction are looked at, mostForks how many
// ways are followed.
const (
	mostRoundsSeen = 2000
	mostForks      = 6
)

// roundReach is how many instructions back earlier rounds are looked for where there are too many.
const roundReach = 3_000_000

// A verdict reports whether the death would not have come about if the value that is followed had
// been v.
type verdict func(v uint64) bool

// A fork is an operand whose way is still to be followed.
type fork struct {
	path    []entry
	at      int
	p       place
	heals   verdict
	what    string // in words
	narrows bool   // tell of numbers of which only a part was read
}

// valueAt returns what a place held in front of path[i]; ok is false where that is not known.
func (w *Why) valueAt(path []entry, i int, p place) (v uint64, ok bool) {
	e := &path[i]
	m := p.mask()
	switch {
	case p.kind == inRegister:
		return e.gpr[p.reg] & m, true
	case p.kind == inVector:
		return e.vector[p.reg] & m, p.addr == 0
	}
	for _, a := range e.inst.Args {
		if mem, is := a.(x86asm.Mem); is && e.operand(mem) == p.addr &&
			!moves(&e.inst) {
			return e.mem & m, true
		}
	}
	if w.at == nil || w.stands != path[len(path)-1].count {
		return 0, false
	}
	if d, changed := w.lastDef(path[i:], len(path)-i, p); changed || d.hidden {
		return 0, false
	}
	v, ok = w.at.word(p.addr)
	return v & m, ok
}

// values returns what some places held in front of path[i]; nil if that is not known of each.
func (w *Why) values(path []entry, i int, places []place) (all []uint64) {
	for _, p := range places {
		v, ok := w.valueAt(path, i, p)
		if !ok {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// madeFrom are the places that an instruction computes its value of.
func (w *Why) madeFrom(e *entry) []place {
	for _, f := range e.effects(nil) {
		if f.how == computed {
			return w.operands([]entry{*e}, def{effect: f})
		}
	}
	return nil
}

// madeOf is the one place that an instruction computes its value of; none if there are several.
func (w *Why) madeOf(e *entry) (p place) {
	if from := w.madeFrom(e); len(from) == 1 {
		p = from[0]
	}
	return p
}

// open leaves out what cannot be to blame: the stack's registers, and an operand that is there
// twice.
func open(from []place) (all []place) {
	for _, q := range from {
		if q != register(rsp) && q != register(rbp) && !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}

// rounds returns what the operands of the instruction at e held each time that it was run before,
// the earliest first; of very many the last ones. operands finds them in a state.
func (w *Why) rounds(e *entry, operands func(*entry) []place) (all [][]uint64, err error) {
	for _, reach := range []uint64{e.count, roundReach, roundReach / 100} {
		w.say("what %#x held in earlier rounds, before instruction %d", e.pc, e.count)
		m, err := w.start()
		if err != nil {
			return nil, err
		}
		seen, err := m.rounds(e.count-min(reach, e.count), e, operands)
		m.End()
		if err != nil {
			return nil, err
		}
		if len(seen) > 0 {
			all = seen
		}
		if len(seen) < mostRoundsSeen {
			break
		}
	}
	return all, nil
}

func (m *machine) rounds(from uint64, e *entry,
	operands func(*entry) []place) (all [][]uint64, err error) {
	if err = m.To(from); err == nil {
		err = m.Break(e.pc)
	}
	if err == nil {
		err = m.VM.StopAt(e.count)
	}
	for err == nil && len(all) < mostRoundsSeen {
		now, err := m.stop()
		if err != nil || now.count >= e.count {
			return all, err
		}
		if now.pc == e.pc {
			var values []uint64
			for _, p := range operands(&now) {
				v := uint64(0)
				switch p.kind {
				case inRegister:
					v = now.gpr[p.reg]
				case inMemory:
					v, _ = m.word(p.addr)
				}
				values = append(values, v&p.mask())
			}
			all = append(all, values)
		}
		run, err := m.pass(now.count)
		if err != nil {
			return nil, err
		}
		if now.pc == e.pc && !run {
			all = all[:len(all)-1]
		}
	}
	return all, err
}

// suspect returns which of the operands is off, -1 if that cannot be told, by what they held in
// earlier rounds. heals reports whether the death would not have come if operand j had been v;
// known is false where that is not known.
func suspect(bad []uint64, rounds [][]uint64, heals func(j int, v uint64) (ok, known bool)) int {
	if len(rounds) == 0 {
		return -1
	}
	var off []int
	for j, v := range bad {
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		for _, r := range rounds {
			if j < len(r) {
				lo, hi = min(lo, int64(r[j])), max(hi, int64(r[j]))
			}
		}
		if int64(v) < lo || int64(v) > hi {
			off = append(off, j)
		}
	}
	last := rounds[len(rounds)-1]
	healing := slices.DeleteFunc(slices.Clone(off), func(j int) bool {
		ok, known := heals(j, last[j])
		return known && !ok
	})
	if len(healing) != 1 || counts(bad, rounds, healing[0]) {
		return -1
	}
	if _, known := heals(healing[0], last[healing[0]]); !known && len(off) > 1 {
		return -1
	}
	return healing[0]
}

// counts reports whether an operand has only gone on as it went before: a loop's counter is no
// surprise.
func counts(bad []uint64, rounds [][]uint64, j int) bool {
	n := len(rounds)
	if n < 2 {
		return false
	}
	step := rounds[n-1][j] - rounds[n-2][j]
	return step != 0 && bad[j]-rounds[n-1][j] == step
}

// choose returns which of the operands of path[i] to follow, -1 for each. What is stored by the
// program counts as made there, unless earlier rounds say that it is not.
func (w *Why) choose(path []entry, i int, from []place, heals verdict,
	stored bool) (j int, err error) {
	e := &path[i]
	bad := w.values(path, i, from)
	if bad == nil {
		return -1, nil
	}
	with := func(j int, v uint64) (ok, known bool) {
		made, known := w.remade(path, i, from, bad, j, v)
		return known && heals != nil && heals(made), known && heals != nil
	}
	rounds, err := w.rounds(e, w.madeFrom)
	if err != nil {
		return -1, err
	}
	if j = suspect(bad, rounds, with); j >= 0 || stored || len(rounds) > 0 || len(from) != 2 ||
		e.inst.Op == x86asm.SUB {
		return j, nil
	}
	// One that is too much by itself.
	alone := -1
	for k := range from {
		if ok, known := with(1-k, 0); !known {
			return -1, nil
		} else if !ok && alone >= 0 {
			return -1, nil
		} else if !ok {
			alone = k
		}
	}
	return alone, nil
}

// remade is what the instruction at path[i] would have made if operand j had been v; known is false
// for those of which that is not computed here.
func (w *Why) remade(path []entry, i int, from []place, bad []uint64, j int,
	v uint64) (made uint64, known bool) {
	e := &path[i]
	a := func(k int) uint64 { // what an operand holds then
		switch {
		case k == j:
			return v
		case k < len(bad):
			return bad[k]
		}
		imm, _ := e.inst.Args[k].(x86asm.Imm)
		return uint64(imm)
	}
	if _, imm := e.inst.Args[1].(x86asm.Imm); len(from) == 1 && e.inst.Args[1] != nil && !imm &&
		e.inst.Op != x86asm.LEA {
		return 0, false // it is there twice
	}
	switch e.inst.Op {
	case x86asm.ADD, x86asm.XADD:
		v = a(0) + a(1)
	case x86asm.SUB:
		v = a(0) - a(1)
	case x86asm.INC:
		v++
	case x86asm.DEC:
		v--
	case x86asm.NEG:
		v = -v
	case x86asm.SHL:
		if len(from) > 1 {
			return 0, false
		}
		v <<= a(1) & 63
	case x86asm.IMUL:
		switch imm, three := e.inst.Args[2].(x86asm.Imm); {
		case three:
			v *= uint64(imm)
		case len(from) == 2:
			v = a(0) * a(1)
		default:
			return 0, false
		}
	case x86asm.LEA:
		m, ok := e.inst.Args[1].(x86asm.Mem)
		if !ok {
			return 0, false
		}
		next := *e
		next.gpr[from[j].reg] = v
		v = next.operand(m)
	default:
		return 0, false
	}
	return v & mask(min(e.computedSize(from[j].size), 8)), true
}

// computedSize is the size of what the instruction computes, or otherwise.
func (e *entry) computedSize(otherwise uint64) uint64 {
	for _, f := range e.effects(nil) {
		if f.how == computed {
			return f.to.size
		}
	}
	return otherwise
}

// onOperand makes of the verdict on what the instruction at path[i] has made one on an operand; nil
// if that is not known.
func (w *Why) onOperand(path []entry, i int, from []place, j int, heals verdict) verdict {
	bad := w.values(path, i, from)
	if bad == nil || heals == nil {
		return nil
	}
	if _, known := w.remade(path, i, from, bad, j, bad[j]); !known {
		return nil
	}
	return func(v uint64) bool {
		made, _ := w.remade(path, i, from, bad, j, v)
		return heals(made)
	}
}

// branch returns a verdict on each operand of a comparison: whether the way that was taken behind
// it would have been another one. nil if that is not known.
func (w *Why) branch(path []entry, compare int) func(j int, v uint64) bool {
	e := &path[compare]
	jump := compare + 1
	for ; jump < len(path)-1; jump++ {
		if op := path[jump].inst.Op.String(); op[0] == 'J' && path[jump].inst.Op != x86asm.JMP {
			break
		}
		if path[jump].gpr[rsp] != e.gpr[rsp] || jump > compare+8 {
			return nil
		}
	}
	args := e.inst.Args[:2]
	if e.inst.Op == x86asm.TEST && args[0] == args[1] {
		args = args[:1] // with 0
	} else if e.inst.Op != x86asm.CMP {
		return nil
	}
	if jump >= len(path)-1 || !ran(path, jump) {
		return nil
	}
	var values [2]uint64
	size := uint64(8)
	for k, a := range args {
		if imm, ok := a.(x86asm.Imm); ok {
			values[k] = uint64(imm)
		} else if p := e.placesOf(a); len(p) == 1 {
			v, ok := w.valueAt(path, compare, p[0])
			if !ok {
				return nil
			}
			values[k], size = v, min(size, p[0].size)
		}
	}
	taken := path[jump+1].pc != path[jump].next()
	op := path[jump].inst.Op
	if _, known := holds(op, values[0], values[1], size); !known {
		return nil
	}
	return func(j int, v uint64) bool {
		c := values
		c[j] = v
		is, _ := holds(op, c[0], c[1], size)
		return is != taken
	}
}

// holds reports whether a conditional jump is taken behind the comparison of two numbers of size
// bytes.
func holds(op x86asm.Op, a, b, size uint64) (is, known bool) {
	a, b = a&mask(size), b&mask(size)
	shift := 64 - 8*int(size)
	x, y := int64(a<<shift)>>shift, int64(b<<shift)>>shift
	is, known = map[x86asm.Op]bool{x86asm.JA: a > b, x86asm.JAE: a >= b, x86asm.JB: a < b,
		x86asm.JBE: a <= b, x86asm.JE: a == b, x86asm.JNE: a != b, x86asm.JG: x > y,
		x86asm.JGE: x >= y, x86asm.JL: x < y, x86asm.JLE: x <= y}[op]
	return is, known
}

// moved is what the source of a copy held, by what was made of it.
func moved(in *x86asm.Inst, v uint64, source place) uint64 {
	if in.Op == x86asm.MOVBE {
		v = bits.ReverseBytes64(v) >> (64 - 8*min(source.size, 8))
	}
	return v & source.mask()
}

// verdicts are those on the places that path[at] was about: a comparison, or an access to memory by
// a bad address.
func (w *Why) verdicts(path []entry, at int, from []place) []verdict {
	all := make([]verdict, len(from))
	e := &path[at]
	other := w.branch(path, at)
	for j, p := range from {
		if other != nil {
			all[j] = func(v uint64) bool { return other(j, v) }
			continue
		}
		for _, a := range e.inst.Args {
			if m, ok := a.(x86asm.Mem); ok && p.kind == inRegister && slices.Contains(addressPlaces(m), p) {
				all[j] = func(v uint64) bool {
					next := *e
					next.gpr[p.reg] = v
					return pointer(next.operand(m))
				}
			}
		}
	}
	return all
}

// pick returns which of the two places that a comparison was about is off, if earlier rounds tell,
// and says what they tell of the other. A bound that has grown in earlier rounds, and now has not,
// may be the one: then it sets s.Open.
func (w *Why) pick(s *Story, path []entry, at int, from []place,
	heals []verdict) (j int, said string, err error) {
	if len(from) != 2 || heals[0] == nil || heals[1] == nil {
		return -1, "", nil
	}
	bad := w.values(path, at, from)
	if bad == nil {
		return -1, "", nil
	}
	rounds, err := w.rounds(&path[at], w.compared)
	if err != nil {
		return -1, "", err
	}
	if j = alone(bad, heals); j >= 0 {
		return j, "", nil
	}
	if j = suspect(bad, rounds, func(j int, v uint64) (ok, known bool) {
		return heals[j](v),
			true
	}); j < 0 {
		s.either = strings.HasSuffix(s.Death, "out of range") && neitherCleared(rounds, heals)
		return j, "", nil
	}
	other, last := from[1-j], rounds[len(rounds)-1]
	if stale(bad, rounds, 1-j) {
		s.Open = fmt.Sprintf(
			cannotTell+"in earlier rounds %s was changed, too, and now it holds %#x as before: what has left it so may be to blame", other, bad[1-j])
	}
	return j, fmt.Sprintf("; it was %#x in the round before, of %d, and %s holds %#x", last[j],
		len(rounds), other, bad[1-j]), nil
}

// alone returns which of the two numbers of a comparison is off whatever the other had been, -1 for
// none: an index that is less than 0 is in no table. The other has been told by its sign, which no
// bound has.
func alone(bad []uint64, heals []verdict) int {
	for j, v := range bad {
		if int64(v) < 0 && int64(bad[1-j]) >= 0 && !heals[1-j](0) && !heals[1-j](math.MaxInt64) {
			return j
		}
	}
	return -1
}

// neitherCleared reports whether earlier rounds leave it open which of the two numbers is off:
// there are none, or each of the two has had a value in one of them with which the death would not
// have come.
func neitherCleared(rounds [][]uint64, heals []verdict) bool {
	for j := range heals {
		if len(rounds) > 0 && !slices.ContainsFunc(rounds,
			func(r []uint64) bool { return j < len(r) && heals[j](r[j]) }) {
			return false
		}
	}
	return true
}

// stale reports whether an operand has what it had in the round before, and had changed in earlier
// ones.
func stale(bad []uint64, rounds [][]uint64, j int) bool {
	last := rounds[len(rounds)-1][j]
	return bad[j] == last && slices.ContainsFunc(rounds, func(r []uint64) bool { return r[j] != last })
}
