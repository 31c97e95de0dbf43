package datagram

// The sender's side. Datagrams are numbered from 0: the pieces of the trace, then the
// parity pieces.

// Plan says how a trace of n bytes (1 to [MaxTrace]) is sent: the size of its pieces in
// bytes, how many there are, and how many parity pieces. Any context.
func Plan(n int) (size, pieces, parity int) {
	pieces = (n + MaxPiece - 1) / MaxPiece
	size = (n + pieces - 1) / pieces
	pieces = (n + size - 1) / size
	return size, pieces, parityPieces(pieces)
}

// ParityPort returns the UDP port for the parity pieces of traces whose pieces go to port: the next
// one. So whoever reads text at port sees only text. Any context.
func ParityPort(port uint16) uint16 {
	if port == 1<<16-1 {
		return port - 1
	}
	return port + 1
}

// parityPieces is a simple bound, no lower than what keeps losses at one trace in ten million when
// three of ten datagrams are lost; a test compares it with the binomial distribution.
func parityPieces(pieces int) int { return min(11+2*pieces, 16+pieces) }

// Write writes datagram i of a trace into dst, which has room for [MaxPayload] bytes, and returns
// its length. It uses Build, Boot, Seq and Cut of p. i is less than the number of pieces and parity
// pieces of [Plan]. Any context.
func Write(dst []byte, p *Part, trace []byte, i int) int {
	size, pieces, _ := Plan(len(trace))
	w := writer{dst: dst}
	for j := 0; j < len(tag); j++ {
		w.byte(tag[j])
	}
	if len(p.Build) == 0 {
		w.byte('-')
	}
	for _, c := range p.Build {
		w.byte(c)
	}
	w.byte(' ')
	w.hex(p.Boot, bootDigits)
	w.byte(' ')
	w.dec(p.Seq)
	w.byte(' ')
	parity := i >= pieces
	switch {
	case parity:
		w.dec(uint32(i - pieces))
		w.byte(' ')
		w.byte('x')
		w.dec(uint32(len(trace)))
		if p.Cut {
			w.byte('!')
		}
	default:
		w.dec(uint32(i))
		w.byte(' ')
		switch {
		case i < pieces-1:
			w.byte('+')
		case p.Cut:
			w.byte('!')
		default:
			w.byte('.')
		}
	}
	covered := w.n
	at := covered + len(" ") + crcDigits + len("\n")
	piece := dst[at:]
	if parity {
		piece = piece[:size]
		parityPiece(piece, trace, i-pieces)
	} else {
		from := trace[i*size : min((i+1)*size, len(trace))]
		piece = piece[:len(from)]
		for j := range piece {
			piece[j] = from[j]
		}
	}
	sum := crcFinish(AddCRC(AddCRC(crcStart, dst[:covered]), piece))
	w.byte(' ')
	w.hex(uint64(sum), crcDigits)
	w.byte('\n')
	return at + len(piece)
}

// writer writes the fields of a header.
type writer struct {
	dst []byte
	n   int
}

//go:noinline
func (w *writer) byte(c byte) {
	w.dst[w.n] = c
	w.n++
}

func (w *writer) hex(v uint64, digits int) {
	for digits--; digits >= 0; digits-- {
		w.byte("0123456789abcdef"[v>>(uint(digits)*4)&15])
	}
}

func (w *writer) dec(v uint32) {
	div := uint32(1)
	for v/div >= 10 {
		div *= 10
	}
	for ; div > 0; div /= 10 {
		w.byte('0' + byte(v/div%10))
	}
}
