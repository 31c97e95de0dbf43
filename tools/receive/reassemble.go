package receive

import (
	"bytes"
	"errors"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// ErrConflict is returned for a part that cannot be of the same trace as those before it:
// it is of another size, says another length, or has other bytes.
var ErrConflict = errors.New("a part of the trace contradicts those that came before it")

// MaxHeld is the largest [Trace.Held], in bytes.
const MaxHeld = datagram.MaxPieces * datagram.MaxPiece

// Trace is one trace on its way. The zero value is an empty one. It keeps copies of what
// was added.
type Trace struct {
	shape
	pieces, parity [][]byte // by number; nil: not here
	have, held     int      // parts here, and their bytes
	whole          []byte
}

// shape is what parts say of the trace as a whole; 0 stands for not known.
type shape struct {
	size    int // of a piece, in bytes
	total   int // of the trace, in bytes
	last    int // number of the last piece, from 1
	lastLen int // its length
	full    int // the highest number of another piece, from 1
	ended   bool
	cut     bool // known if ended
}

// Add takes a part of the trace, which the caller has sorted by sender, build, boot and
// number of the trace. It reports whether the trace is whole. A part that is here already
// is ignored, as is each that comes when the trace is whole; one that contradicts those
// before it is ignored with [ErrConflict].
func (t *Trace) Add(p datagram.Part) (whole bool, err error) {
	if t.whole != nil {
		return true, nil
	}
	s := t.shape
	if !s.take(&p) {
		return false, ErrConflict
	}
	at := &t.pieces
	if p.Parity {
		at = &t.parity
	}
	for len(*at) <= int(p.No) {
		*at = append(*at, nil)
	}
	if old := (*at)[p.No]; old != nil {
		if !bytes.Equal(old, p.Chunk) {
			return false, ErrConflict
		}
		return false, nil
	}
	t.shape = s
	(*at)[p.No] = bytes.Clone(p.Chunk)
	t.have++
	t.held += len(p.Chunk)
	if n := t.numPieces(); n == 0 || t.have < n {
		return false, nil
	}
	t.finish()
	return true, nil
}

// Bytes returns the trace, and whether it was longer than the sender could keep. The
// trace is nil until it is whole.
func (t *Trace) Bytes() (trace []byte, cut bool) { return t.whole, t.cut }

// Held returns how many bytes of parts or of the whole trace are held, for who bounds
// his memory.
func (t *Trace) Held() int { return t.held }

// Missing returns how many parts are missing at least, and 0 for a whole trace. As long
// as it is not known how long the trace is, it is 1.
func (t *Trace) Missing() int {
	if t.whole != nil {
		return 0
	}
	return max(t.numPieces()-t.have, 1)
}

// Prefix returns the bytes from the beginning of the trace up to the first piece that is
// not here: what there is to show of a trace that never became whole.
func (t *Trace) Prefix() (b []byte) {
	if t.whole != nil {
		return t.whole
	}
	for _, piece := range t.pieces {
		if piece == nil {
			break
		}
		b = append(b, piece...)
	}
	return b
}

// take adds what p says, and reports whether it fits in with what is known.
func (s *shape) take(p *datagram.Part) bool {
	n, no := len(p.Chunk), int(p.No)+1
	if p.Parity || p.Last {
		if s.ended && s.cut != p.Cut {
			return false
		}
		s.ended, s.cut = true, p.Cut
	}
	switch {
	case p.Parity:
		if s.total != 0 && s.total != int(p.Total) || !s.sized(n) {
			return false
		}
		s.total = int(p.Total)
	case p.Last:
		if s.last != 0 && (s.last != no || s.lastLen != n) {
			return false
		}
		s.last, s.lastLen = no, n
		if no == 1 && !s.sized(n) {
			return false
		}
	default:
		if !s.sized(n) {
			return false
		}
		s.full = max(s.full, no)
	}
	if s.last != 0 && (s.last <= s.full || s.size != 0 && s.lastLen > s.size) {
		return false
	}
	if s.last != 0 && s.size != 0 {
		total := (s.last-1)*s.size + s.lastLen
		if s.total != 0 && s.total != total {
			return false
		}
		s.total = total
	}
	return s.total == 0 || s.total <= datagram.MaxTrace && s.full*s.size < s.total
}

// sized takes n for the size of the pieces, and reports whether it can be.
func (s *shape) sized(n int) bool {
	if s.size == 0 {
		s.size = n
	}
	return s.size == n
}

// numPieces returns how many pieces the trace has, or 0 if that is not known.
func (s *shape) numPieces() int {
	if s.total == 0 || s.size == 0 {
		return 0
	}
	return (s.total + s.size - 1) / s.size
}

// finish makes the trace of as many parts as it has pieces.
func (t *Trace) finish() {
	n := t.numPieces()
	whole := make([]byte, n*t.size)
	var missing []int
	for i := range n {
		if i < len(t.pieces) && t.pieces[i] != nil {
			copy(whole[i*t.size:], t.pieces[i])
		} else {
			missing = append(missing, i)
		}
	}
	t.recover(whole, missing)
	t.whole = whole[:t.total]
	t.pieces, t.parity = nil, nil
	t.held = len(t.whole)
}

// recover computes the missing pieces. Of each parity piece that is needed it takes away
// what the pieces that are here have added to it; what is left are as many equations as
// there are unknowns, and Gauss-Jordan elimination solves them. Each square part of a
// Cauchy matrix can be inverted, so it never fails for lack of a solution.
func (t *Trace) recover(whole []byte, missing []int) {
	var rows [][]byte  // coefficients of the missing pieces
	var sides [][]byte // their sum
	for j, parity := range t.parity {
		if len(rows) == len(missing) {
			break
		}
		if parity == nil {
			continue
		}
		side := bytes.Clone(parity)
		for i := range t.numPieces() {
			if i < len(t.pieces) && t.pieces[i] != nil {
				datagram.AddMultiple(side, whole[i*t.size:][:t.size], datagram.Coefficient(j, i))
			}
		}
		row := make([]byte, len(missing))
		for c, i := range missing {
			row[c] = datagram.Coefficient(j, i)
		}
		rows, sides = append(rows, row), append(sides, side)
	}
	for c := range missing {
		for r := c; r < len(rows); r++ {
			if rows[r][c] != 0 {
				rows[c], rows[r] = rows[r], rows[c]
				sides[c], sides[r] = sides[r], sides[c]
				break
			}
		}
		scale(rows[c], sides[c], datagram.Inverse(rows[c][c]))
		for r := range rows {
			if f := rows[r][c]; r != c && f != 0 {
				datagram.AddMultiple(rows[r], rows[c], f)
				datagram.AddMultiple(sides[r], sides[c], f)
			}
		}
	}
	for c, i := range missing {
		copy(whole[i*t.size:][:t.size], sides[c])
	}
}

// scale multiplies a row and its side with f.
func scale(row, side []byte, f byte) {
	for _, b := range [][]byte{row, side} {
		datagram.AddMultiple(b, bytes.Clone(b), f^1) // b + b*(f+1) = b*f
	}
}
