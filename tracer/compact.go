package tracer

// The compact form's byte string (wire.go): records of a tag and fields, in
// base64 lines of CompactLine bytes. Addresses in a kernel share their upper
// bytes, so a difference to the one before takes two or three bytes instead of
// eight.

// rec begins a record. A begin record and whatever comes before a frame goes
// out when its line is full; nothing waits for longer than that.
func (w *Writer) rec(tag byte) { w.pack(tag) }

// pack appends a byte to the string.
func (w *Writer) pack(b byte) {
	w.sum(b)
	w.buf[w.n] = b
	if w.n++; w.n == CompactLine {
		w.flush()
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

// zigzag appends a difference: small ones of either sign become small numbers.
func (w *Writer) zigzag(d uintptr) {
	v := int64(d)
	w.uvarint(uint64(v<<1 ^ v>>63))
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// flush sends the bytes gathered so far as a line.
func (w *Writer) flush() {
	if w.n == 0 {
		return
	}
	w.str(CompactTag)
	w.dec(uint64(w.lines))
	w.byte(' ')
	for i := 0; i < w.n; i += 3 {
		var b [3]byte
		n := 0
		for n < 3 && i+n < w.n {
			b[n] = w.buf[i+n]
			n++
		}
		w.byte(alphabet[b[0]>>2])
		w.byte(alphabet[b[0]&3<<4|b[1]>>4])
		if n > 1 {
			w.byte(alphabet[b[1]&15<<2|b[2]>>6])
		} else {
			w.byte('=')
		}
		if n > 2 {
			w.byte(alphabet[b[2]&63])
		} else {
			w.byte('=')
		}
	}
	w.n = 0
	w.eol()
}
