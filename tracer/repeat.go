package tracer

// A trace that comes again takes one short line. Whether it is the same is told by a
// digest of all that the trace says before its registers, made as it is written: so
// the trace to come is compared by saying it once without sending, and no copy of the
// one before is kept.

// mix adds v to a digest.
func mix(d, v uint64) uint64 {
	d = (d ^ v) * 0x9e3779b97f4a7c15
	return d ^ d>>29
}

func (w *Writer) mix(v uint64) { w.c.digest = mix(w.c.digest, v) }

func (w *Writer) beginDigest(kind TraceKind, ctx Context, thread uint32, goroutine uint64) {
	c := &w.c
	c.digest, c.stopped = 0, false
	w.mix(uint64(kind)<<8 | uint64(ctx))
	w.mix(uint64(thread) | uint64(w.CPU)<<32)
	w.mix(goroutine)
}

// Compare asks whether the trace to come may be the one before once more, as far as
// these can tell; pc is frame 0's address. If it may, then Reason, Cause, Mem, Frame
// and Stop compare instead of writing, until Repeat. It never may in other forms than
// Compact, nor if the kernel ends with the trace.
func (w *Writer) Compare(seq uint32, kind TraceKind, ctx Context, thread uint32, goroutine uint64, pc uintptr) bool {
	c := &w.c
	if w.Form != Compact || kind != KindNMI && kind != KindTrace ||
		!c.finished || seq != c.seq+1 || seq%WholeEvery == 1 || pc != c.first {
		return false
	}
	w.beginDigest(kind, ctx, thread, goroutine)
	c.comparing = true
	return true
}

// Repeat ends what Compare has begun. If all was the same it writes one short line,
// which is the trace, and returns true. Otherwise nothing has been written.
func (w *Writer) Repeat() bool {
	c := &w.c
	c.comparing = false
	if c.digest != c.last {
		return false
	}
	c.seq++
	w.crc = ^uint32(0)
	for _, v := range [...]uint32{c.crc, c.seq} {
		for shift := uint(32); shift > 0; {
			shift -= 8
			w.sum(byte(v >> (shift & 31)))
		}
	}
	check := ^w.crc % (85 * 85)
	w.str(RepeatTag)
	w.digit85(c.seq)
	w.digit85(check / 85)
	w.digit85(check)
	w.eol()
	return true
}
