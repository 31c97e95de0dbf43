package tracer

import "unsafe"

// The records of one stack: the fast loop stops at the first record that fails a guard, and only
// that one record is then examined for the reason. So the reasons cost the loop nothing.

// chaser is the state of the fast loop, shared with load_amd64.s.
type chaser struct {
	fp       uintptr // the next record
	min      uintptr // lowest word index, from lo, where it may be
	negLo    uintptr // -lo of the current stack
	span     uintptr // word indexes below this have both words in the stack
	negText  uintptr // -TextLo
	textSpan uintptr // TextHi - TextLo
	meta     uintptr // Kind and Stack in their places in a Frame
	n        uintptr // frames stored
	fault    uintptr // 1: the record at fp cannot be read
	negExact uintptr // minus the lowest address of a RuleExact function
	nearest  uintptr // the smallest distance of a return address from that
}

// follow walks the records of p's stack from p.fp up. If the walk goes on at another place, that is
// then in p; if the last record is a trap record, rec is its address; otherwise the walk has ended.
// above is the address of the place's return address, or of the word above it if the return address
// is already in the list.
func (w *Walker) follow(p *place, above uintptr) (goOn bool, rec uintptr) {
	cur := p.stack
	if cur == NoStack {
		return w.endAt(p, p.fp, 0, above)
	}
	s := &w.Stacks[cur]
	c := &w.c
	lo, size := s.Lo, s.Size()
	lowest := uintptr(0)
	if at := p.sp - lo; at < size {
		lowest = (at + 7) / 8
		if w.Arch.or().LinkRegister && lowest > 0 {
			lowest-- // the record is below SP
		}
	}
	if p.floor != 0 {
		lowest = max(lowest, (p.floor-lo+7)/8)
	}
	c.fp, c.min, c.negLo = p.fp, lowest, -lo
	c.span = max(size/8, 1) - 1
	c.negText, c.textSpan = -w.TextLo, w.TextHi-w.TextLo
	c.meta = uintptr(RA) | uintptr(uint8(cur))<<8
	c.negExact = -w.exact.lo
	for {
		found, fp := w.N, c.fp
		nearest := ^uintptr(0)
		for i := w.first; i < found; i++ {
			nearest = min(nearest, w.Frames[i].Addr-w.exact.lo)
		}
		c.nearest = nearest
		w.chase()
		if numExits != 0 {
			w.trueReturns(found, fp)
		}
		if c.nearest <= w.exact.span && w.exact.span != 0 {
			if i := w.exactFrom(w.first); i+1 < w.N {
				// What follows was walked as if the code had been called there.
				f, ra := &w.Frames[i], &w.Frames[i+1]
				w.N = i + 1
				w.exactAt(p, ra.Addr, f.FP+16, ra.FP)
				return true, 0
			}
		}
		if w.N < len(w.Frames) || c.fault != 0 || !w.room() {
			break
		}
	}
	last := uintptr(0)
	if c.min != lowest {
		last = s.Lo + (c.min-2)*8 // the last record that was used
	}
	if c.fault != 0 {
		w.stop(EndUnreadable, c.fp)
		return false, 0
	}
	goOn, rec = w.endAt(p, c.fp, last, above)
	if !goOn && w.N == len(w.Frames) && !w.End.Complete() && !(rec != 0 && w.restorer(p)) {
		// The walk may have ended just as the frames ran out, or there may be room for one more, as
		// the last is no frame.
		w.stop(EndLimit, c.fp)
		return false, 0
	}
	return goOn, rec
}

// topSlack is how far below a stack's top, in bytes, the zeros of its entry stub may lie, as the
// stub may keep some words above them.
const topSlack = 64

// endAt finds out why the record at fp was not followed. If it is a trap record, rec is its
// address; if a rule leads on, p is the next place. last is the previous record on this stack, or
// 0; above is then as in follow.
func (w *Walker) endAt(p *place, fp uintptr, last, above uintptr) (goOn bool, rec uintptr) {
	cur := p.stack
	if fp == 0 {
		// The entry stub zeroed FP, pushed a zero return address and called: the zero lies right
		// above the record of the called function.
		if last != 0 {
			above = last + 16
		}
		if goOn = w.atZero(p, above); goOn || w.End != 0 {
			return goOn, 0
		}
		if !w.Arch.or().LinkRegister && w.atTop(cur, above) && above >= p.floor {
			if ra, ok := w.word(above); ok && ra == 0 {
				w.stop(EndZero, 0)
				return false, 0
			}
		}
		w.stop(EndOutside, 0)
		return false, 0
	}
	if fp%8 != 0 {
		w.stop(EndMisaligned, fp)
		return false, 0
	}
	var s *Stack
	if cur != NoStack {
		s = &w.Stacks[cur]
	}
	if s == nil || !s.Contains(fp) || s.Hi-fp < 16 {
		if w.atOther(p, cur, fp) || w.atMoved(p, cur, fp, last) {
			return true, 0
		}
		w.stop(EndOutside, fp)
		return false, 0
	}
	if (fp-s.Lo)/8 < w.c.min {
		w.stop(EndBackward, fp)
		return false, 0
	}
	bp, ra, ok := w.record(fp)
	switch {
	case !ok:
		w.stop(EndUnreadable, fp)
	case ra == TrapMark:
		return false, fp
	case ra == 0 && bp == 0 && s.Hi-fp <= topSlack:
		w.stop(EndZero, 0)
	case !w.inText(ra) && w.N < len(w.Frames) && w.lastRule() == RuleExact:
		// The interrupted pc was no code.
		w.exactAt(p, ra, fp+16, bp)
		return true, 0
	default:
		w.stop(EndText, ra)
	}
	return false, 0
}

// chase stores a frame for each record that passes all guards and stops at the
// first that does not.
func (w *Walker) chase() {
	c := &w.c
	c.n, c.fault = 0, 0
	if w.N >= len(w.Frames) {
		return
	}
	if w.Load == nil && haveChase {
		out := unsafe.Pointer(&w.Frames[w.N])
		chase(c, out, uintptr(len(w.Frames)-w.N))
		w.N += int(c.n)
		return
	}
	part := w.Arch.or().MinInstruction - 1 // bits that are 0 in each code address
	for w.N < len(w.Frames) {
		t := c.fp + c.negLo
		t = t>>3 | t<<61 // alignment and both bounds in one compare
		if t >= c.span || t < c.min {
			return
		}
		ra, ok := w.word(c.fp + 8)
		if !ok {
			c.fault = 1
			return
		}
		next, ok := w.word(c.fp)
		if !ok {
			c.fault = 1
			return
		}
		if ra+c.negText >= c.textSpan || ra&part != 0 {
			return
		}
		f := &w.Frames[w.N]
		f.Addr, f.FP, f.Kind, f.Stack, f.Step, f.Repeat = ra, next, RA, int8(c.meta>>8), 0, 0
		w.N++
		c.min = t + 2
		c.fp = next
		c.nearest = min(c.nearest, ra+c.negExact)
	}
}
