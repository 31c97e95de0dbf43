package tracer

import "math/rand/v2"

// How a random world is made: plausible values, noise, a chain of calls, and damage to it.

// relative returns an address that does not depend on where the stacks have been mapped.
func (r *randomWorld) relative(a uintptr) uintptr {
	const near = 1 << 20
	if lo := r.all[0].Lo - near; a-lo < 2*near {
		return a - lo
	}
	return a
}

// The text is functions of 64 bytes. The first instruction of each is a PUSHQ BP of one
// byte, the next three bytes make the frame; then SP stays.
const funcSize = 64

func frameWords(pc uintptr) uintptr { return (pc / funcSize * 2654435761 >> 7) % 5 }

func (r *randomWorld) delta(pc uintptr) (uintptr, bool) {
	if r.lie != 0 {
		dice := (uint64(pc) + r.lie) * 0x9e3779b97f4a7c15 >> 20
		switch dice % 8 {
		case 0:
			return 0, false
		case 1:
			return uintptr(-int64(dice >> 8 % 64 * 8)), true
		case 2:
			return uintptr(dice >> 8), true
		}
		return uintptr(dice >> 8 % 24 * 8), true
	}
	switch off := pc % funcSize; {
	case pc >= inExit && pc < endOfMarks:
		return 0, pc == inExact+0 // of marked functions only the entry is known
	case off == 0:
		return 0, true
	case off < 4:
		return 8, true
	}
	return 8 + 8*frameWords(pc), true
}

// function returns an address in the body of some function, which is also a return address.
func (r *randomWorld) function() uintptr {
	return testTextLo + funcSize*uintptr(1+r.r.IntN(0x1000)) + 8 + uintptr(r.r.IntN(48))
}

// value returns a random word.
func (r *randomWorld) value(dice *rand.Rand) uintptr {
	x := dice.Uint64()
	n := uintptr(x >> 8)
	s := &r.all[x>>4%worldStacks]
	switch x % 16 {
	case 0, 1:
		return 0
	case 2, 3, 4, 5, 6:
		return s.Lo + n%worldWords*8
	case 7:
		return s.Lo + n%(worldWords*8)
	case 8, 9, 10:
		return testTextLo + n%0x40000
	case 11:
		return inExit + n%(endOfMarks+16-inExit)
	case 12:
		return TrapMark
	case 13:
		return s.Lo + n%worldWords*8 - (n>>8%8+1)*stackGranule
	case 14:
		return []uintptr{s.Lo, s.Lo - 8, s.Hi, s.Hi - 8, s.Hi - 16, testTextHi, testTextHi - 1, testTextLo, 1 << 63, 1 << 47, ^uintptr(0), 8}[n%12]
	}
	return uintptr(x >> (x >> 8 % 56))
}

func (r *randomWorld) make() {
	d := r.r
	r.truth, r.answers, r.stacks = r.truth[:0], r.answers[:0], append(r.stacks[:0], r.all...)
	r.damage, r.untabled, r.end, r.kind, r.lie = nothing, nothing, 0, PC, 0
	r.tables = d.IntN(4) > 0
	for s := range r.decides {
		for i := range r.decides[s] {
			r.decides[s][i] = nothing
		}
	}
	for s := range r.all {
		noise := d.IntN(3)
		for i := range uintptr(worldWords) {
			v := uintptr(0)
			switch noise {
			case 1:
				v = r.value(d)
			case 2:
				v = uintptr(Signature)
			}
			r.poke(r.all[s].Lo+i*8, v)
		}
	}
	if d.IntN(5) == 0 {
		r.noise()
		return
	}
	r.chain()
	r.spoil()
}

// noise is a world without a chain.
func (r *randomWorld) noise() {
	d := r.r
	r.damage = 0
	if d.IntN(4) == 0 {
		r.kind = RA
	}
	r.pc, r.sp, r.fp = r.value(d), r.value(d), r.value(d)
	if d.IntN(2) == 0 {
		r.lie = d.Uint64() | 1
	}
	for range 4 + d.IntN(20) {
		at := r.all[d.IntN(worldStacks)].Lo + uintptr(d.IntN(worldWords-9))*8
		if d.IntN(3) == 0 {
			r.noiseTrap(at)
			continue
		}
		r.poke(at, r.value(d))
		r.poke(at+8, testTextLo+uintptr(d.IntN(0x40000)))
	}
	for i := range r.stacks {
		switch s := &r.stacks[i]; d.IntN(8) {
		case 0:
			s.Lo = s.Hi - uintptr(d.IntN(worldWords+1))*8
		case 1:
			s.Hi = s.Lo + uintptr(d.IntN(worldWords+1))*8
		}
	}
	r.stacks = r.stacks[:1+d.IntN(worldStacks)]
}

// noiseTrap writes a trap record with random contents.
func (r *randomWorld) noiseTrap(at uintptr) {
	for i := range uintptr(9) {
		r.poke(at+i*8, r.value(r.r))
	}
	r.poke(at+8, TrapMark)
	if r.r.IntN(3) == 0 {
		r.poke(at+16, VectorCall)
	}
}

// A builder makes a chain from the innermost frame outwards.
type builder struct {
	*randomWorld
	stack int     // the current stack
	at    int     // the first free word there
	left  uint    // the stacks used so far, as bits
	fpAt  uintptr // the word with the last frame's frame pointer, or 0 for the register
	fpOf  int     // the first frame that has it
}

// word takes the next word of the stack, after a few unused ones.
func (b *builder) word(n int) uintptr {
	b.at += n
	a := b.all[b.stack].Lo + uintptr(b.at)*8
	b.at++
	return a
}

// keep writes a word that later frames depend on.
func (b *builder) keep(a, v uintptr, decides int) {
	b.poke(a, v)
	for s := range b.all {
		if b.all[s].Contains(a) {
			b.decides[s][(a-b.all[s].Lo)/8] = int16(decides)
		}
	}
}

func (b *builder) frame(kind Kind, addr uintptr) int {
	b.truth = append(b.truth, Frame{Kind: kind, Addr: addr, Stack: int8(b.stack)})
	return len(b.truth) - 1
}

// link sets the last frame's frame pointer.
func (b *builder) link(fp uintptr) {
	if b.fpAt == 0 {
		b.fp = fp
	} else {
		b.keep(b.fpAt, fp, 2*b.fpOf+1)
	}
	for i := b.fpOf; i < len(b.truth); i++ {
		b.truth[i].FP = fp
	}
}

// record makes the last frame's record, whose return address is ra.
func (b *builder) record(gap int, ra uintptr) uintptr {
	a := b.word(gap)
	b.word(0)
	b.link(a)
	i := b.frame(RA, ra)
	b.keep(a+8, ra, 2*i)
	b.fpAt, b.fpOf = a, i
	return a
}

// place begins at a place with known registers: in a function's body, or in its prologue. It
// returns the stack pointer there. fpAt has been set.
func (b *builder) place(kind Kind, i int) (sp uintptr) {
	sp = b.all[b.stack].Lo + uintptr(b.at)*8
	f := &b.truth[i]
	b.fpOf = i
	off := f.Addr % funcSize
	if kind == RA || off >= 4 || !b.tables {
		// The record lies where the tables say.
		n := frameWords(f.Addr)
		if kind == RA {
			n = frameWords(f.Addr - 1)
		}
		b.record(int(n), b.function())
		b.decidesAll(sp+n*8+8, 2*i+2)
		return sp
	}
	if off > 0 {
		b.word(0) // the saved frame pointer, which is still in the register
	}
	ra := b.function()
	a := b.word(0)
	j := b.frame(RA, ra)
	b.keep(a, ra, 2*j)
	return sp
}

// decidesAll notes that everything from what on depends on the word at a.
func (b *builder) decidesAll(a uintptr, what int) {
	s := b.stack
	i := (a - b.all[s].Lo) / 8
	b.decides[s][i] = min(b.decides[s][i], int16(what))
}

func (b *builder) room() int { return worldWords - b.at }

// otherStack returns a stack that the chain has not used.
func (b *builder) otherStack() bool {
	for range 6 {
		s := b.r.IntN(worldStacks)
		if b.left&(1<<s) == 0 {
			b.left |= 1 << s
			b.stack, b.at = s, b.r.IntN(16)
			return true
		}
	}
	return false
}

// somewhere returns an exact pc: in a body, or where a function has no record yet.
func (b *builder) somewhere() uintptr {
	pc := b.function()
	if b.tables && b.r.IntN(2) == 0 {
		pc = pc/funcSize*funcSize + uintptr(b.r.IntN(4))
	}
	return pc
}

// chain makes the chain.
func (r *randomWorld) chain() {
	d := r.r
	b := builder{randomWorld: r}
	b.otherStack()
	if d.IntN(4) == 0 {
		r.kind, r.pc = RA, r.function()
	} else {
		r.pc = b.somewhere()
	}
	b.fpAt = 0
	r.sp = b.place(r.kind, b.frame(r.kind, r.pc))
	for {
		for n := d.IntN(5); n > 0 && b.room() > 30; n-- {
			b.record(d.IntN(4), r.function())
		}
		if b.room() < 36 || d.IntN(6) == 0 {
			break
		}
		switch d.IntN(6) {
		case 0: // a trap, or something that looks like one
			b.trap(false)
		case 1:
			b.trap(true)
		case 2: // an injected call
			b.record(d.IntN(4), inExact+4)
			pc := b.somewhere()
			a := b.word(d.IntN(4))
			b.word(0)
			b.link(a)
			i := b.frame(PC, pc)
			b.keep(a+8, pc, 2*i)
			b.fpAt = a
			b.place(PC, i)
		case 3: // a switch of stacks
			if b.left != 1<<worldStacks-1 {
				b.record(d.IntN(4), inSwitch+4)
				for !b.otherStack() {
				}
			}
			b.record(d.IntN(4), r.function())
		case 4: // left for good
			if b.left == 1<<worldStacks-1 {
				continue
			}
			slot := b.record(d.IntN(4), inSaved+4) + 16
			b.link(0)
			for !b.otherStack() {
			}
			ra := r.function()
			r.answers = append(r.answers, answer{at: inSaved + 4, slot: slot, pc: ra, ok: true})
			k := len(r.answers) - 1
			// The answer has the frame pointer: for a while it is the register's.
			fp := r.fp
			b.fpAt = 0
			sp := b.place(RA, b.frame(RA, ra))
			r.answers[k].sp, r.answers[k].fp = sp, r.fp
			r.fp = fp
		case 5: // a frame pointer from before the stack moved; the tables show that
			ra := r.function()
			a := b.record(d.IntN(4), ra)
			if fp := b.record(int(frameWords(ra-1)), r.function()); r.tables {
				r.poke(a, fp-uintptr(1+d.IntN(9))*stackGranule)
				r.untabled = min(r.untabled, 2*(len(r.truth)-2)+1)
			}
		}
	}
	b.top()
	if r.kind == RA && r.tables && d.IntN(8) == 0 {
		r.fp += uintptr(1+d.IntN(9)) * stackGranule
		r.untabled = min(r.untabled, 1)
	}
}

// trap makes a trap record and the frame that it interrupted, on another stack if it can.
func (b *builder) trap(signal bool) {
	if signal {
		// The handler returns to the restorer, which is not a frame.
		b.record(b.r.IntN(4), inRestorer)
		b.truth = b.truth[:len(b.truth)-1]
		b.decidesAll(b.fpAt+8, 2*len(b.truth))
	}
	rec := b.word(b.r.IntN(4))
	b.at += 8
	last := len(b.truth)
	if signal {
		b.keep(b.fpAt, rec, 2*last)
	} else {
		b.link(rec)
	}
	kind, vector := PC, uintptr(b.r.IntN(256))
	pc := b.somewhere()
	if !signal && b.r.IntN(3) == 0 {
		kind, vector, pc = RA, VectorCall, b.function()
	}
	code := uintptr(uint32(b.r.Uint64()))
	i := b.frame(Trap, pc)
	b.truth[i].Vector, b.truth[i].Error = uint32(vector), uint32(code)
	b.keep(rec+8, TrapMark, 2*i)
	b.keep(rec+16, vector, 2*i)
	b.keep(rec+24, code, 2*i)
	b.keep(rec+32, pc, 2*i)
	if b.r.IntN(3) > 0 {
		b.otherStack()
	}
	j := b.frame(kind, pc)
	b.fpAt = rec
	sp := b.place(kind, j)
	b.truth[j].SP = sp
	b.keep(rec+56, sp, 2*j)
}

// top ends the chain in one of the possible ways.
func (b *builder) top() {
	lo, n := b.all[b.stack].Lo, worldWords
	switch way := b.r.IntN(4); way {
	case 0: // a record of two zeros
		a := lo + uintptr(n-2-b.r.IntN(7))*8
		b.link(a)
		b.keep(a, 0, 2*len(b.truth))
		b.keep(a+8, 0, 2*len(b.truth))
		b.end = EndZero
	case 1: // a frame pointer of 0, and a 0 above the last record
		a := n - 3 - b.r.IntN(6)
		b.at = a
		b.record(0, b.function())
		b.link(0)
		b.keep(lo+uintptr(a+2)*8, 0, 2*len(b.truth))
		b.end = EndZero
	case 2:
		b.record(b.r.IntN(4), inExit+1)
		b.link(0)
		b.end = EndGoexit
	case 3:
		b.record(b.r.IntN(4), inStart+5)
		b.link(0)
		b.end = EndZero
	}
}

// spoil damages the world.
func (r *randomWorld) spoil() {
	d := r.r
	change := func(s, i int, v uintptr) {
		a := r.all[s].Lo + uintptr(i)*8
		if r.peek(a) != v {
			r.poke(a, v)
			r.damage = min(r.damage, int(r.decides[s][i]))
		}
	}
	switch d.IntN(12) {
	case 0, 1: // none
	case 2: // registers
		if d.IntN(2) == 0 {
			r.pc = r.value(d)
			r.damage = 0
		}
		if d.IntN(2) == 0 {
			r.sp = r.value(d)
			r.damage = 0
		}
		r.fp = r.value(d)
		r.damage = min(r.damage, 1)
	case 3: // from some word up
		s, from := d.IntN(worldStacks), d.IntN(worldWords)
		for i := from; i < min(worldWords, from+1+d.IntN(16)); i++ {
			change(s, i, r.value(d))
		}
	case 4: // a trap record over something
		s, at := d.IntN(worldStacks), d.IntN(worldWords-8)
		for i := range 9 {
			r.damage = min(r.damage, int(r.decides[s][at+i]))
		}
		r.noiseTrap(r.all[s].Lo + uintptr(at)*8)
	case 5: // the tables lie, so only the first frame is known
		r.lie = d.Uint64() | 1
		r.damage = min(r.damage, 1, r.untabled)
	case 6: // a stack is not in the table
		r.stacks = r.stacks[:1+d.IntN(worldStacks)]
		r.damage = 0
	case 7: // nor is part of one
		s := &r.stacks[d.IntN(worldStacks)]
		s.Lo = s.Hi - uintptr(d.IntN(worldWords))*8
		r.damage = 0
	case 8: // a word that decides something
		for range 64 {
			if s, i := d.IntN(worldStacks), d.IntN(worldWords); r.decides[s][i] < nothing {
				change(s, i, r.value(d))
				break
			}
		}
	default:
		for range 1 + d.IntN(3) {
			change(d.IntN(worldStacks), d.IntN(worldWords), r.value(d))
		}
	}
}
