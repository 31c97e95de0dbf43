package tracer

// A trace that equals the previous one takes one short line. A digest tells: it covers everything
// that the trace says before its registers, and is made while the trace is written. So the next
// trace is compared by writing it once without sending, and no copy of the previous one is kept.

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

// Compare asks whether the next trace may equal the previous one, as far as its arguments tell; pc
// is frame 0's address. If it may, then Reason, Cause, Mem, Frame and Stop compare instead of
// writing, until Repeat. It returns false in forms other than Compact, and if the kernel ends with
// the trace.
func (w *Writer) Compare(seq uint32, kind TraceKind, ctx Context, thread uint32, goroutine uint64,
	pc uintptr) bool {
	c := &w.c
	if w.Form != Compact || kind != KindNMI && kind != KindTrace ||
		!c.finished || seq != c.seq+1 || seq%WholeEvery == 1 || pc != c.first {
		return false
	}
	w.beginDigest(kind, ctx, thread, goroutine)
	c.comparing = true
	return true
}

// Repeat ends the comparison that Compare began. If the traces were equal it writes one short line,
// which is the whole trace, and returns true. Otherwise nothing was written.
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
