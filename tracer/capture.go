package tracer

import "unsafe"

// Capturing stacks at a high rate: at each allocation, each sample, each event. The Walker does too
// much for that. A Capture walks the records of one stack only, up to the first that is not valid,
// and keeps the two words of each. It has the Walker's guards with one exception: a record must
// begin above the one before it, but may overlap it by a word.
//
// Most stacks have been captured before, and have changed little since. A walk has to wait for each
// load before it can do the next one. The loads of a comparison with the previous capture need not
// wait for one another, so [Capture.Again] is faster than any walk.

// Record is a frame record as it lies in memory.
type Record struct {
	FP uintptr // the caller's frame pointer: where the next record is
	RA uintptr // the return address into the caller
}

// Capture holds a stack's return addresses. Set prepares it; then it can be used again and again,
// by one user at a time.
type Capture struct {
	// Records receives the records, innermost first. Its length, rounded down to a multiple of 4,
	// is the limit of the walk. Assign it before calling Set.
	Records []Record
	// N is the number of records found.
	N int

	first uintptr // the frame pointer at which the walk began
	last  uintptr // the frame pointer at which it stopped
	hi    uintptr // the top of the stack

	out, end uintptr // addresses: of Records, and of their end
	c        chaser  // negLo, span, negText and textSpan
}

// Set sets the stack to walk, and the text: textLo <= pc < textHi. Any context.
func (c *Capture) Set(s *Stack, textLo, textHi uintptr) {
	c.N, c.first = 0, 0
	c.c.negLo, c.c.span = -s.Lo, 0
	if s.Size() >= 16 && len(c.Records) >= captureUnroll {
		c.c.span = s.Size()/8 - 1
	}
	c.hi = s.Hi
	c.out = uintptr(unsafe.Pointer(unsafe.SliceData(c.Records)))
	c.end = c.out + uintptr(c.limit())*unsafe.Sizeof(Record{})
	c.c.negText, c.c.textSpan = -textLo, textHi-textLo
}

// limit is the largest number of records that a walk finds.
func (c *Capture) limit() int { return len(c.Records) &^ (captureUnroll - 1) }

// Walk follows the records from fp up and sets N. It reads memory directly, within the bounds of
// the stack; if some of it may be unmapped, faults must be handled as [Fixup] says. Any context.
func (c *Capture) Walk(fp uintptr) { capture(c, fp) }

// captureSlow is Walk for the cases when a load has faulted, when [OnReturn] has replaced return
// addresses, and for CPUs without assembly.
func captureSlow(c *Capture, fp uintptr) {
	c.first = fp
	c.N = 0
	above := uintptr(0) // index of the first word that may begin a record
	for c.N < c.limit() {
		t := fp + c.c.negLo
		t = t>>3 | t<<61
		if t >= c.c.span || t < above {
			break
		}
		ra, ok1 := ReadWord(fp + 8)
		next, ok2 := ReadWord(fp)
		if !ok1 || !ok2 || ra+c.c.negText >= c.c.textSpan {
			break
		}
		ra, _ = TrueReturn(fp+8, ra)
		c.Records[c.N] = Record{next, ra}
		c.N++
		above, fp = t+1, next
	}
	c.last = fp
}

// captureUnroll is the number of records that the assembly checks in one turn of its loop.
const captureUnroll = 4

// Again is Walk for a stack that was probably captured last. If the same records still lie there,
// it leaves them as they are and returns true; otherwise it walks. Any context.
func (c *Capture) Again(fp uintptr) (unchanged bool) {
	if fp == c.first && c.N > 0 && recapture(c) {
		return true
	}
	c.Walk(fp)
	return false
}

// Stop returns why the last walk stopped, in a Walker's terms, with the offending value. A Capture
// also ends at a trap record, and then returns EndText. Any context.
func (c *Capture) Stop() (End, uintptr) {
	fp := c.last
	s := Stack{Lo: -c.c.negLo, Hi: c.hi}
	above := fp
	if c.N > 0 {
		above = c.first
		if c.N > 1 {
			above = c.Records[c.N-2].FP
		}
		above += 16
	}
	switch {
	case c.N == c.limit():
		return EndLimit, fp
	case fp == 0:
		if s.Contains(above) && s.Hi-above <= topSlack && above%8 == 0 {
			if ra, ok := ReadWord(above); ok && ra == 0 {
				return EndZero, 0
			}
		}
		return EndOutside, 0
	case fp%8 != 0:
		return EndMisaligned, fp
	case !s.Contains(fp) || s.Hi-fp < 16:
		return EndOutside, fp
	case c.N > 0 && fp < above-8:
		return EndBackward, fp
	}
	saved, ok0 := ReadWord(fp)
	ra, ok1 := ReadWord(fp + 8)
	switch {
	case !ok0 || !ok1:
		return EndUnreadable, fp
	case saved == 0 && ra == 0 && s.Hi-fp <= topSlack:
		return EndZero, 0
	}
	return EndText, ra
}
