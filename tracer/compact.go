package tracer

// The compact form's byte string (wire.go). A trace repeats itself: the saved frame pointers and
// return addresses of the dump are those of the frames, registers are pointers into the same stack,
// unused stack is all the same. So each value is coded relative to the latest ones before it. What
// the traces of one boot share, above all the table of stacks, is sent once, and then only its
// changes.

// packer is a Writer's state for the compact form.
type packer struct {
	// The line.
	buf [CompactLine]byte
	n   int

	// State of this trace: the latest values, as a ring; the previous frame; the previous row.
	values   [RecentValues]uintptr
	next     int // where the next value goes
	forget   bool
	frames   int
	addr, fp uintptr
	step     uintptr // from the previous frame pointer to fp, if that was a RecNext frame
	stack    int8
	run      int // frames that the coming RecAgain record stands for
	rowNo    int // number of rows given
	rowSent  int // number of the next row that needs no number
	rowHi    uintptr
	rowSize  uintptr
	rowLimit uintptr

	// State of this boot, which a later trace builds on.
	seq      uint32 // of the previous trace, or of this one
	finished bool   // it was finished
	table    uint32 // the trace that the rows belong to; 0: none
	rows     [MaxStacks]row

	// The previous trace, to recognize it when it comes again.
	first     uintptr // pc of its frame 0
	crc       uint32
	last      uint64 // its digest
	digest    uint64 // of this one
	stopped   bool   // what follows is not part of the digest
	comparing bool   // nothing is sent
}

// rec begins a record. It first sends the frames that wait to be counted.
func (w *Writer) rec(tag byte) {
	w.endRun()
	w.pack(tag)
}

func (w *Writer) endRun() {
	if n := w.c.run; n > 0 {
		w.c.run = 0
		w.pack(RecAgain)
		w.uvarint(uint64(n))
	}
}

// pack appends a byte to the string, and sends a line when it is full.
func (w *Writer) pack(b byte) {
	c := &w.c
	w.sum(b)
	c.buf[c.n] = b
	if c.n++; c.n == CompactLine {
		w.flush(CompactTag)
	}
}

// uvarint appends v in unsigned LEB128: seven bits a byte, lowest first, the
// top bit set on each byte but the last.
func (w *Writer) uvarint(v uint64) {
	for v >= 0x80 {
		w.pack(byte(v) | 0x80)
		v >>= 7
	}
	w.pack(byte(v))
}

// high appends the n low bytes of v, highest first.
func (w *Writer) high(v uintptr, n uint) {
	for n > 0 {
		n--
		w.pack(byte(v >> (n * 8 & 63)))
	}
}

// fits reports whether v is a signed number of so many bits, less than 64.
func fits(v uintptr, bits uint) bool {
	return int64(v)<<(64-bits&63)>>(64-bits&63) == int64(v)
}

// value appends v in the shortest way.
func (w *Writer) value(v uintptr) {
	c := &w.c
	if v < 16 {
		w.pack(0xf0 | byte(v))
		return
	}
	near8, near16 := -1, -1
	for i := range RecentValues {
		d := v - c.value(i)
		if d == 0 {
			w.pack(byte(i))
			return
		}
		if d&7 != 0 || i >= 32 {
			continue
		}
		if near8 < 0 && fits(d, 8+3) {
			near8 = i
		}
		if near16 < 0 && fits(d, 16+3) {
			near16 = i
		}
	}
	// The absolute number takes as many bytes as it needs, with a sign or without.
	plain, signed := uint(1), uint(1)
	for plain < 8 && v>>(plain*8&63) != 0 {
		plain++
	}
	for signed < 8 && !fits(v, signed*8) {
		signed++
	}
	d := v - c.addr
	switch {
	case near8 >= 0:
		w.pack(0x40 | byte(near8))
		w.pack(byte((v - c.value(near8)) >> 3))
	case plain > 1 && signed > 1 && fits(d, 13):
		w.pack(0x60 | byte(d>>8)&0x1f)
		w.pack(byte(d))
	case plain > 2 && signed > 2 && fits(d, 22):
		w.pack(0x80 | byte(d>>16)&0x3f)
		w.high(d, 2)
	case plain > 2 && signed > 2 && near16 >= 0:
		w.pack(0xc0 | byte(near16))
		w.high((v-c.value(near16))>>3, 2)
	case signed < plain:
		w.pack(0xe8 | byte(signed-1))
		w.high(v, signed)
	default:
		w.pack(0xe0 | byte(plain-1))
		w.high(v, plain)
	}
	c.remember(v)
}

// value returns latest value i, from 0.
func (c *packer) value(i int) uintptr { return c.values[(c.next-1-i)&(RecentValues-1)] }

// remember makes v the latest value.
func (c *packer) remember(v uintptr) {
	if !c.forget {
		c.values[c.next&(RecentValues-1)] = v
		c.next++
	}
}

// packBegin begins a trace.
func (w *Writer) packBegin(seq uint32, kind TraceKind, ctx Context, thread uint32, goroutine uint64,
	build []byte) {
	c := &w.c
	whole := !c.finished || seq != c.seq+1 || seq%WholeEvery == 1
	if whole {
		c.table = 0
	}
	c.seq, c.finished = seq, false
	w.beginDigest(kind, ctx, thread, goroutine)
	c.comparing = false
	c.n, c.run, c.rowNo, c.rowSent, c.rowHi, c.rowSize, c.rowLimit = 0, 0, 0, 0, 0, 0, 0
	c.frames, c.addr, c.fp, c.step, c.stack = 0, 0, 0, 0, NoStack
	for i := range c.values {
		c.values[i] = 0
	}
	c.next, c.forget = 0, false
	c.remember(Signature)

	w.rec(RecBegin)
	w.uvarint(uint64(seq))
	w.pack(byte(kind)<<4 | byte(ctx)&15)
	w.uvarint(uint64(thread))
	n := min(len(build), 0x7f)
	if !whole && n > shortBuild {
		n = shortBuild
		w.pack(shortBuild | 0x80)
	} else {
		w.pack(byte(n))
	}
	for _, b := range build[:n] {
		w.pack(b)
	}
	if goroutine != 0 {
		w.rec(RecGo)
		w.uvarint(goroutine)
	}
	if w.CPU != 0 {
		w.rec(RecCPU)
		w.uvarint(uint64(w.CPU - 1))
		w.uvarint(uint64(w.Of))
	}
}

// shortBuild is the number of bytes of the build ID in a trace that builds on another: enough to
// tell two builds apart.
const shortBuild = 4

func (w *Writer) packReason(text []byte) {
	w.mix(uint64(len(text)))
	for _, b := range text {
		w.mix(uint64(b))
	}
	if w.c.comparing {
		return
	}
	w.rec(RecReason)
	w.uvarint(uint64(len(text)))
	for _, b := range text {
		w.pack(printable(b))
	}
}

func (w *Writer) packCause(vector, code uint32, addr uintptr, hasAddr bool) {
	w.mix(uint64(vector)<<32 | uint64(code))
	if hasAddr {
		w.mix(uint64(addr))
	}
	if w.c.comparing {
		return
	}
	if hasAddr {
		w.rec(RecCauseAddr)
	} else {
		w.rec(RecCause)
	}
	w.uvarint(uint64(vector))
	w.uvarint(uint64(code))
	if hasAddr {
		w.value(addr)
	}
}

func (w *Writer) packMem(addr uintptr, words []uintptr) {
	if !w.c.stopped {
		// The words that may change what the host makes of the next frame.
		for i, x := range words {
			if x-w.textLo < w.textSize {
				w.mix(uint64(addr) + uint64(i)*8)
				w.mix(uint64(x))
			}
		}
	}
	if w.c.comparing {
		return
	}
	w.rec(RecMem)
	w.value(addr)
	w.uvarint(uint64(len(words)))
	for _, x := range words {
		w.value(x)
	}
}

func (w *Writer) packFrame(i int, f *Frame) {
	c := &w.c
	w.mix(uint64(f.Kind)<<8 | uint64(uint8(f.Stack)))
	w.mix(uint64(f.Addr))
	switch f.Kind {
	case Trap:
		w.mix(uint64(f.Vector)<<32 | uint64(f.Error))
	case PC:
		w.mix(uint64(f.SP))
		fallthrough
	default:
		w.mix(uint64(f.FP))
	}
	w.mix(uint64(f.Repeat)<<16 | uint64(f.Step))
	if c.comparing {
		return
	}
	if i == 0 {
		c.first = f.Addr
	}
	w.oneFrame(i, f)
	if f.Repeat == 0 {
		return
	}
	// The second frame of the run tells the distance, the others are counted. The next frame is
	// coded relative to the second, as for a reader that does not know of the others.
	second := *f
	second.FP += uintptr(f.Step) * 8
	w.oneFrame(i+1, &second)
	if f.Repeat > 1 {
		w.marker(2*uint64(f.Repeat-1) | 1)
	}
}

// marker appends the record that stands for frames that are not sent.
func (w *Writer) marker(n uint64) {
	w.rec(RecMem)
	w.value(uintptr(n))
	w.uvarint(0)
}

func (w *Writer) packLeftOut(n uint64) {
	w.mix(n)
	if !w.c.comparing {
		w.marker(2 * n)
	}
}

// oneFrame appends one frame.
func (w *Writer) oneFrame(i int, f *Frame) {
	c := &w.c
	c.forget = c.frames >= RecentFrames
	step := f.FP - c.fp
	switch {
	case f.Kind != RA || c.frames == 0 || f.Stack != c.stack || step-8 >= 0x80*8 || step&7 != 0:
		w.rec(RecFrame + byte(f.Kind))
		w.value(f.Addr)
		switch f.Kind {
		case Trap:
			w.uvarint(uint64(f.Vector))
			w.uvarint(uint64(f.Error))
		case PC:
			w.value(f.SP)
			fallthrough
		default:
			w.value(f.FP)
			c.fp = f.FP
		}
		w.pack(byte(f.Stack))
		c.step = 0
	case f.Addr == c.addr && step == c.step:
		c.run++
		c.fp = f.FP
		c.remember(c.fp)
	default:
		w.rec(RecNext | byte(step/8-1))
		w.value(f.Addr)
		c.fp, c.step = f.FP, step
		c.remember(c.fp)
	}
	c.addr, c.stack, c.forget = f.Addr, f.Stack, false
	c.frames++
	if i == 0 {
		w.flush(CompactTag)
	}
}

func (w *Writer) packStop(e End, value uintptr) {
	w.mix(uint64(e))
	w.mix(uint64(value))
	w.c.stopped = true
	if w.c.comparing {
		return
	}
	w.rec(RecStop)
	w.pack(byte(e))
	if !e.Complete() {
		w.value(value)
	}
}

func (w *Writer) packRegisters(values *[NumRegisters]uintptr, have uint64) {
	if w.c.comparing || have == 0 {
		return
	}
	w.rec(RecReg)
	w.uvarint(have)
	for i := range values {
		if have&(1<<uint(i)) != 0 {
			w.value(values[i])
		}
	}
}

// packDone ends the trace. Later traces may build on it.
func (w *Writer) packDone() {
	c := &w.c
	if c.comparing {
		return
	}
	w.endRun()
	if c.n > CompactLine-4 {
		w.flush(CompactTag)
	}
	c.crc, c.last, c.finished = ^w.crc, c.digest, true
	if c.rowNo > 0 {
		c.table = c.seq
	}
	for shift := uint(32); shift > 0; {
		shift -= 8
		c.buf[c.n] = byte(c.crc >> (shift & 31))
		c.n++
	}
	w.flush(CompactEnd)
}

// digit85 sends v modulo 85 as a digit.
func (w *Writer) digit85(v uint32) { w.byte('!' + byte(v%85)) }

// flush sends the collected bytes as a line, if there are any.
func (w *Writer) flush(tag string) {
	c := &w.c
	if c.n == 0 {
		return
	}
	if w.Form == Bare {
		for i := 0; i < c.n; i++ {
			w.byte(c.buf[i])
		}
		c.n = 0
		return
	}
	w.str(tag)
	if w.lines == 0 {
		w.digit85(0)
	} else {
		w.digit85((w.lines-1)%84 + 1)
	}
	for i := 0; i < c.n; i += 4 {
		var v uint32
		for k := i; k < i+4; k++ {
			v <<= 8
			if k < c.n {
				v |= uint32(c.buf[k])
			}
		}
		digits := min(c.n-i, 4) + 1
		for div := uint32(85 * 85 * 85 * 85); digits > 0; digits-- {
			w.digit85(v / div)
			div /= 85
		}
	}
	c.n = 0
	w.eol()
}
