package tracer

import "unsafe"

// The walk. A compiler that keeps frame pointers makes of each stack a linked
// list: the word at RBP is the caller's RBP, the word above it the return
// address into the caller. The walk follows that list and believes none of it:
// before a record is used it must be aligned, lie with both of its words in
// the stack that the walk is on, and be above the record before it; before a
// return address is used it must lie in the text. So a walk reads only inside
// the table of stacks, each stack only upwards and each stack only once, and
// ends after a bounded number of steps whatever the memory holds.
//
// The list ends where the entry stub made it end, at the top of the stack: a
// record of two zeros, or a frame pointer of 0 with a return address of 0 above
// the last record. Zeros anywhere else are what somebody has written over the
// stack, and no end.
//
// One stack is left for another only through a trap frame. A trap's entry code
// makes its stack look like this (addresses grow upwards), then sets RBP to
// the record:
//
//	+64  SS        pushed by the CPU
//	+56  RSP       pushed by the CPU: interrupted stack pointer
//	+48  RFLAGS    pushed by the CPU
//	+40  CS        pushed by the CPU
//	+32  RIP       pushed by the CPU: interrupted pc, exact
//	+24  error     pushed by the CPU or, as 0, by the stub
//	+16  vector    pushed by the stub
//	 +8  TrapMark  in the place of a return address
//	 +0  RBP       the interrupted frame pointer, in the place of a saved one
//
// TrapMark is no address, so it stops the fast loop just where any bad return
// address would, and trap frames cost the common case nothing.

// TrapMark stands in a trap record in the place of the return address: the
// bytes "zf1trap" with 0xf1 on top, which no canonical address has.
const TrapMark uintptr = 0xf1_7061_7274_3166_7a

// TrapRecordSize is the size of a trap record in bytes.
const TrapRecordSize = 72

// Walker holds what a walk needs and what it found. It can be reused; Walk
// resets the results.
type Walker struct {
	// Stacks is the table of stacks, at most MaxStacks.
	Stacks []Stack
	// TextLo and TextHi bound the text: TextLo <= pc < TextHi.
	TextLo, TextHi uintptr
	// Load reads the word at an 8-byte aligned address. With nil the walk
	// reads memory directly, which is the fastest; then whoever handles page
	// faults and general protection faults must honour Fixup.
	Load func(addr uintptr) (word uintptr, ok bool)
	// SPDelta, when not nil, returns the distance in bytes from SP at an exact
	// pc up to the slot of the return address, as Go's pcsp table has it. With
	// it the first frame on each stack is right even where the function has
	// not pushed RBP: leaves, prologues, epilogues.
	SPDelta func(pc uintptr) (delta uintptr, ok bool)
	// Plain leaves SPDelta aside: frame pointers only.
	Plain bool
	// Frames receives the frames, innermost first. Its length is the limit of
	// the walk. FP is set for each kind but Trap, SP only for PC, Vector and
	// Error only for Trap; other fields keep what they held.
	Frames []Frame

	// N is the number of frames found.
	N int
	// End says why the walk stopped.
	End End
	// EndValue is the offending value: the frame pointer for misaligned,
	// outside, backward and unreadable, the return address for text, the
	// stack pointer for revisit.
	EndValue uintptr

	c    chaser
	left uint64 // bit i: the walk has been on stack i
}

// chaser is the state of the fast loop, shared with load_amd64.s.
type chaser struct {
	fp       uintptr // the record to look at next
	min      uintptr // lowest word index, from lo, where it may be
	negLo    uintptr // -lo of the current stack
	span     uintptr // word indices below this have both words in the stack
	negText  uintptr // -TextLo
	textSpan uintptr // TextHi - TextLo
	meta     uintptr // Kind and Stack as they lie in a Frame
	n        uintptr // frames stored
	fault    uintptr // 1: the record at fp cannot be read
}

// Walk walks from an exact pc with the stack pointer sp and the frame pointer
// fp, and fills Frames, N, End and EndValue.
func (w *Walker) Walk(pc, sp, fp uintptr) { w.walk(PC, pc, sp, fp) }

// WalkCaller is Walk for code that is in a call: ra is the call's return
// address, sp and fp are what RSP and RBP will be there.
func (w *Walker) WalkCaller(ra, sp, fp uintptr) { w.walk(RA, ra, sp, fp) }

func (w *Walker) walk(kind Kind, pc, sp, fp uintptr) {
	w.N, w.End, w.EndValue, w.left = 0, 0, 0, 0
	rec := uintptr(0)
	cur := NoStack
	for {
		next := w.find(sp)
		if next == NoStack {
			// An overflow has left its stack: RSP is in the guard page, the
			// frame pointer still in the stack.
			next = w.find(fp)
		}
		if !w.add(kind, pc, sp, fp, next) {
			return
		}
		if next != NoStack && next != cur {
			if w.left&(1<<uint(next)) != 0 {
				w.stop(EndRevisit, sp)
				return
			}
			w.left |= 1 << uint(next)
			rec = 0
		}
		cur = next
		slot := w.returnSlot(kind, pc, sp)
		if slot != fp+8 && w.holds(cur, slot) {
			// The frame-pointer chain does not pass by the function's own
			// return address: it would miss the caller.
			if ra, ok := w.word(slot); ok && w.inText(ra) && !w.add(RA, ra, 0, fp, cur) {
				return
			}
		}
		if slot == 0 {
			slot = sp
		}
		rec = w.follow(cur, sp, fp, slot, rec)
		if rec == 0 {
			return
		}
		// A trap record. All of it must be on the stack that it was found on.
		if hi := w.Stacks[cur].Hi; hi-rec < TrapRecordSize {
			w.stop(EndOutside, rec)
			return
		}
		var v [7]uintptr
		for i := range v {
			x, ok := w.word(rec + 16 + uintptr(i)*8)
			if !ok {
				w.stop(EndUnreadable, rec)
				return
			}
			v[i] = x
		}
		bp, ok := w.word(rec)
		if !ok {
			w.stop(EndUnreadable, rec)
			return
		}
		pc, sp, fp = v[2], v[5], bp
		if !w.add(Trap, pc, 0, 0, cur) {
			return
		}
		f := &w.Frames[w.N-1]
		f.Vector, f.Error = uint32(v[0]), uint32(v[1])
		kind = PC
		if f.Vector == VectorCall {
			kind = RA
		}
	}
}

// returnSlot returns the address of the word that holds the return address of
// the function that runs at pc with the stack pointer sp, or 0 if that is not known.
func (w *Walker) returnSlot(kind Kind, pc, sp uintptr) uintptr {
	if !w.inText(pc) {
		// A call or jump to what is no code (nil, data): nothing has run
		// there, so the return address is still on top of the stack.
		return sp
	}
	if w.SPDelta == nil || w.Plain {
		return 0
	}
	if kind == RA {
		pc-- // the call itself: a function may end with it
	}
	if delta, ok := w.SPDelta(pc); ok {
		return sp + delta
	}
	return 0
}

// follow walks the records on stack cur from fp up. It returns the address of
// a trap record, or 0 when the walk has ended. slot is where the first frame's
// return address lies. above is the trap record through which the walk came when
// that lies on the same stack, else 0.
func (w *Walker) follow(cur int, sp, fp, slot, above uintptr) uintptr {
	if cur == NoStack {
		w.endAt(fp, cur, 0, slot)
		return 0
	}
	s := &w.Stacks[cur]
	c := &w.c
	c.fp = fp
	c.min = 0
	if s.Contains(sp) {
		c.min = (sp - s.Lo + 7) / 8
	}
	if above != 0 && c.min < (above-s.Lo+TrapRecordSize-16)/8 {
		// A trap on the stack that it interrupted: only what is above the
		// trap frame's saved RIP can be older than the trap.
		c.min = (above - s.Lo + TrapRecordSize - 16) / 8
	}
	c.negLo = -s.Lo
	c.span = 0
	if s.Size() >= 16 {
		c.span = s.Size()/8 - 1
	}
	c.negText = -w.TextLo
	c.textSpan = w.TextHi - w.TextLo
	c.meta = uintptr(RA) | uintptr(uint8(cur))<<8
	first := c.min
	w.chase()
	last := uintptr(0)
	if c.min != first {
		last = s.Lo + (c.min-2)*8 // the last record that was used
	}
	if c.fault != 0 {
		w.stop(EndUnreadable, c.fp)
		return 0
	}
	trap := w.endAt(c.fp, cur, last, slot)
	if w.N == len(w.Frames) && w.End != EndZero {
		// The walk may have come to its end just as the room did.
		w.stop(EndLimit, c.fp)
		return 0
	}
	return trap
}

// topSlack is how far below a stack's top, in bytes, the zeros of its entry stub
// may lie: the stub may keep some words above them.
const topSlack = 64

// endAt says why the record at fp was not followed, or that it is a trap
// record (whose address it then returns). last is the record before it on this
// stack, or 0; slot is then where the first frame's return address lies.
func (w *Walker) endAt(fp uintptr, cur int, last, slot uintptr) uintptr {
	if fp == 0 {
		// The entry stub zeroed RBP, pushed a zero return address and called:
		// it lies right above the record of the function that was called.
		if last != 0 {
			slot = last + 16
		}
		if w.atTop(cur, slot) {
			if ra, ok := w.word(slot); ok && ra == 0 {
				w.stop(EndZero, 0)
				return 0
			}
		}
		w.stop(EndOutside, 0)
		return 0
	}
	if fp%8 != 0 {
		w.stop(EndMisaligned, fp)
		return 0
	}
	if cur == NoStack || !w.Stacks[cur].Contains(fp) || w.Stacks[cur].Hi-fp < 16 {
		w.stop(EndOutside, fp)
		return 0
	}
	if (fp-w.Stacks[cur].Lo)/8 < w.c.min {
		w.stop(EndBackward, fp)
		return 0
	}
	bp, ok0 := w.word(fp)
	ra, ok1 := w.word(fp + 8)
	switch {
	case !ok0 || !ok1:
		w.stop(EndUnreadable, fp)
	case ra == TrapMark:
		return fp
	case ra == 0 && bp == 0 && w.atTop(cur, fp):
		w.stop(EndZero, 0)
	default:
		w.stop(EndText, ra)
	}
	return 0
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
		if ra+c.negText >= c.textSpan {
			return
		}
		f := &w.Frames[w.N]
		f.Addr, f.FP, f.Kind, f.Stack = ra, next, RA, int8(c.meta>>8)
		w.N++
		c.min = t + 2
		c.fp = next
	}
}

// add appends a frame, or ends the walk at the limit.
func (w *Walker) add(kind Kind, addr, sp, fp uintptr, stack int) bool {
	if w.N >= len(w.Frames) {
		w.stop(EndLimit, addr)
		return false
	}
	f := &w.Frames[w.N]
	w.N++
	f.Kind, f.Addr, f.SP, f.FP, f.Stack = kind, addr, sp, fp, int8(stack)
	f.Vector, f.Error = 0, 0
	return true
}

func (w *Walker) stop(e End, v uintptr) { w.End, w.EndValue = e, v }

func (w *Walker) inText(pc uintptr) bool { return pc-w.TextLo < w.TextHi-w.TextLo }

// find returns the index of the stack that holds the address a, or NoStack.
func (w *Walker) find(a uintptr) int {
	for i := range w.Stacks {
		if i >= MaxStacks {
			break
		}
		if w.Stacks[i].Contains(a) {
			return i
		}
	}
	return NoStack
}

// atTop reports whether the word at a lies in stack i so near to the top that its
// entry stub may have written it.
func (w *Walker) atTop(i int, a uintptr) bool {
	return w.holds(i, a) && w.Stacks[i].Hi-a <= topSlack
}

// holds reports whether the word at a lies in stack i.
func (w *Walker) holds(i int, a uintptr) bool {
	return i != NoStack && a%8 == 0 && w.Stacks[i].Contains(a)
}

func (w *Walker) word(a uintptr) (uintptr, bool) {
	if w.Load != nil {
		return w.Load(a)
	}
	return ReadWord(a)
}
