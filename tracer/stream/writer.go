package stream

import "github.com/zeroframe/zeroframe/tracer"

const (
	// PieceSize is the most bytes of data in one piece.
	PieceSize = 480
	// MaxKind is the most bytes in a kind.
	MaxKind = 32
	// MaxLine bounds the bytes of a piece on the wire, line or frame.
	MaxLine = 768
)

// Writer writes records one after another. It allocates nothing; its own memory is some 1.5 KiB, so
// it is best a static variable. Any context, one user at a time.
type Writer struct {
	// Out takes a piece for the wire: a whole line with its line ending, or a whole
	// frame. It must not keep the slice.
	Out func(piece []byte)
	// Frames writes frames of bytes instead of lines.
	Frames bool
	// ID is the number of the latest record that has sent a piece.
	ID uint32
	// Latest is the latest ID of all writers that share the wire, or nil if this writer is alone.
	// Records are numbered in the order of their first pieces on the wire, so a gap in the numbers
	// is a lost record.
	Latest *uint32

	open    bool // a record has begun and not yet ended
	kind    [MaxKind]byte
	kindLen int
	no      uint32 // of the next piece
	sum     uint32 // CRC of the pieces so far
	length  uint64

	data [PieceSize]byte
	n    int // bytes in data
	out  [MaxLine]byte
	at   int // bytes in out
}

// Begin starts a record. kind is cut to [MaxKind] bytes; it must consist of letters, digits and
// points.
func (w *Writer) Begin(kind string) {
	w.open = true
	makeTables()
	w.no, w.n, w.length, w.sum = 0, 0, 0, 0
	w.kindLen = min(len(kind), MaxKind)
	for i := 0; i < w.kindLen; i++ {
		w.kind[i] = kind[i]
	}
}

// Byte adds a byte to the record.
func (w *Writer) Byte(b byte) {
	if w.n == PieceSize {
		w.flush(false)
	}
	w.data[w.n] = b
	w.n++
}

// Bytes adds b to the record.
func (w *Writer) Bytes(b []byte) {
	for len(b) > 0 {
		switch {
		case w.n == PieceSize:
			w.flush(false)
		case w.n == 0 && len(b) > PieceSize:
			// Sent from where it is; the last piece must wait for End.
			w.piece(b[:PieceSize], false)
			b = b[PieceSize:]
		default:
			n := min(len(b), PieceSize-w.n)
			for i, c := range b[:n] {
				w.data[w.n+i] = c
			}
			w.n += n
			b = b[n:]
		}
	}
}

// String adds a string to the record: its length as [Writer.Uvarint] writes it, then its
// bytes.
func (w *Writer) String(s string) {
	w.Uvarint(uint64(len(s)))
	for i := 0; i < len(s); i++ {
		w.Byte(s[i])
	}
}

// Uvarint adds a number to the record, as encoding/binary's AppendUvarint does.
func (w *Writer) Uvarint(v uint64) {
	for ; v >= 0x80; v >>= 7 {
		w.Byte(byte(v) | 0x80)
	}
	w.Byte(byte(v))
}

// Uvarints writes several numbers as Uvarint does.
func (w *Writer) Uvarints(vs ...uint64) {
	for _, v := range vs {
		w.Uvarint(v)
	}
}

// Varint adds a signed number to the record, as encoding/binary's AppendVarint does.
func (w *Writer) Varint(v int64) { w.Uvarint(uint64(v)<<1 ^ uint64(v>>63)) }

// End ends the record.
func (w *Writer) End() {
	w.flush(true)
	w.open = false
}

// Open reports whether a record has begun and not yet ended.
func (w *Writer) Open() bool { return w.open }

// flush sends the collected bytes.
func (w *Writer) flush(last bool) {
	w.piece(w.data[:w.n], last)
	w.n = 0
}

// piece sends up to PieceSize bytes.
func (w *Writer) piece(data []byte, last bool) {
	if w.no == 0 {
		w.ID++
		if w.Latest != nil {
			*w.Latest++
			w.ID = *w.Latest
		}
	}
	w.sum = crc32sum(w.sum, data)
	w.length += uint64(len(data))
	w.at = 0
	if w.Frames {
		w.frame(data, last)
	} else {
		w.line(data, last)
	}
	w.no++
	w.Out(w.out[:w.at])
}

func (w *Writer) line(data []byte, last bool) {
	w.put(0x1e)
	first := w.at
	w.text("zfr")
	if last {
		w.put('.')
	} else {
		w.put(' ')
	}
	w.putKind()
	w.dec(uint64(w.ID))
	w.dec(uint64(w.no))
	w.put(' ')
	if len(data) == 0 {
		w.put('-')
	}
	w.ascii85(data)
	if last {
		w.dec(w.length)
		w.put(' ')
		w.digits(w.sum, 5)
	}
	check := crc32sum(0, w.out[first:w.at])
	w.put(' ')
	w.digits(check, 5)
	w.text("\r\n")
}

// ascii85 puts the digits of data.
func (w *Writer) ascii85(data []byte) {
	out := w.out[w.at:]
	for len(data) >= 4 && len(out) >= 5 {
		v := uint32(data[0])<<24 | uint32(data[1])<<16 | uint32(data[2])<<8 | uint32(data[3])
		q := v / 85
		out[4] = '!' + byte(v-q*85)
		v, q = q, q/85
		out[3] = '!' + byte(v-q*85)
		v, q = q, q/85
		out[2] = '!' + byte(v-q*85)
		v, q = q, q/85
		out[1] = '!' + byte(v-q*85)
		out[0] = '!' + byte(q)
		data, out = data[4:], out[5:]
		w.at += 5
	}
	if n := len(data); n > 0 {
		var group uint32
		for k := range 4 {
			group <<= 8
			if k < n {
				group |= uint32(data[k])
			}
		}
		w.digits(group, n+1)
	}
}

func (w *Writer) frame(data []byte, last bool) {
	w.put(0xf5)
	w.text("zfr")
	first := w.at
	if last {
		w.put(1)
	} else {
		w.put(0)
	}
	w.put(byte(w.kindLen))
	w.little(uint64(len(data)), 2)
	w.little(uint64(w.ID), 4)
	w.little(uint64(w.no), 4)
	if last {
		w.little(w.length, 8)
		w.little(uint64(w.sum), 4)
	}
	w.putKind()
	out := w.out[w.at:][:len(data)]
	for i := range out {
		out[i] = data[i]
	}
	w.at += len(data)
	w.little(uint64(crc32sum(0, w.out[first:w.at])), 4)
}

func (w *Writer) put(b byte) {
	w.out[w.at] = b
	w.at++
}

func (w *Writer) text(s string) {
	for i := 0; i < len(s); i++ {
		w.put(s[i])
	}
}

func (w *Writer) putKind() {
	for _, b := range w.kind[:w.kindLen] {
		w.put(b)
	}
}

// dec puts a blank and a number in base 10.
func (w *Writer) dec(v uint64) {
	w.put(' ')
	var b [tracer.MaxDigits]byte
	for _, d := range b[tracer.Digits(&b, v, 10):] {
		w.put(d)
	}
}

// digits puts the first n of the five Ascii85 digits of v.
func (w *Writer) digits(v uint32, n int) {
	for div := uint32(85 * 85 * 85 * 85); n > 0; n-- {
		w.put('!' + byte(v/div%85))
		div /= 85
	}
}

// little puts the n low bytes of v, the lowest first.
func (w *Writer) little(v uint64, n int) {
	for ; n > 0; n-- {
		w.put(byte(v))
		v >>= 8
	}
}
