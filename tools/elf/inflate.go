// Unfolding of zlib's format, which debug sections have more often than not: into memory, and with
// 64 bits at once. A section of 200 MB is what one waits for when a file has no index, and readers
// that work on any stream take two to three times as long. Of what is read little is kept at hand:
// new memory costs more than to read it.
//
// Sources: RFC 1950 (zlib), RFC 1951 (deflate).

package elf

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

var errDeflate = errors.New("damaged compressed data")

const (
	// readBehind is how many bytes must be readable behind the input, and are zero.
	readBehind = 32
	// stepRead is how many bytes a step of the inflater reads at most: twice 8, the second time
	// from at most 7 further on.
	stepRead = 15
	// atHand is how much of the input there is at a time, and stepBack how many bytes of it stay
	// when the next ones come: those that lie in inflater.b, at most.
	atHand, stepBack = 128 << 10, 8
	// writeBehind is how many more bytes than asked for a step may write: two literals, the
	// longest copy, and what its last 8 bytes are too many.
	writeBehind = 2 + 258 + 8

	litBits, distBits = 11, 8 // of a code that the first look at a table decides
	maxCode           = 15
	maxLits, maxDists = 288, 32
)

// An entry of a table says what the bits mean that lead to it:
//
//	 0..7   how many of them are the code's
//	 8..11  how many more bits belong to the value
//	12..15  what it is
//	16..31  the value: a byte, a length or distance without its extra bits, or where the
//	        second table begins, whose number of bits is in 8..11
const (
	entryLiteral = 1 << (12 + iota)
	entryTable
	entryEnd
	entryBad
)

// An inflater unfolds one stream.
type inflater struct {
	r    io.ReaderAt // of what comes behind in; nil if that is all
	in   []byte      // the data at hand; at their end, readBehind bytes more
	base int         // where in is in the data
	size int         // of the data from in on
	at   int
	b    uint64 // the next bits, the first one lowest
	n    uint   // how many of them are there; above, there may be more that count as unread

	out   []byte // with writeBehind bytes to spare
	lits  [1<<litBits + maxLits<<(maxCode-litBits)]uint32
	dists [1<<distBits + maxDists<<(maxCode-distBits)]uint32
}

// unzlib returns at most size bytes of what the stream of n bytes in r unfolds to, and the points
// that were met if it is all. The room for the result grows with what is really there, from room.
func unzlib(r io.ReaderAt, n int, size, room uint64) (out []byte, points []Point, err error) {
	z := &inflater{r: r, size: n, out: make([]byte, min(size, room)+writeBehind)}
	if err := z.more(); err != nil {
		return nil, nil, err
	}
	if in := z.in; n < 2 || in[0]&15 != 8 || in[0]>>4 > 7 || binary.BigEndian.Uint16(in)%31 != 0 || in[1]&0x20 != 0 {
		return nil, nil, errDeflate
	}
	z.at = 2
	// The checksum is made block by block: what was just unfolded is near.
	sum, summed := uint32(1), 0
	points = []Point{{In: 16, Sum: sum}}
	n, err = z.blocks(0, int(size), func(n int) {
		sum, summed = adlerOf(sum, z.out[summed:n]), n
		if uint64(n)-points[len(points)-1].Out >= pointEvery {
			points = append(points, Point{In: 8*uint64(z.base+z.at) - uint64(z.n), Out: uint64(n), Sum: sum})
		}
	})
	switch z.at -= int(z.n / 8); {
	case err != nil:
		return nil, nil, err
	case uint64(n) > size: // nobody wants the rest
		return z.out[:size], nil, nil
	case z.at+4 > z.size:
		return nil, nil, io.ErrUnexpectedEOF
	}
	if err := z.need(4); err != nil {
		return nil, nil, err
	}
	if binary.BigEndian.Uint32(z.in[z.at:]) != sum {
		return nil, nil, errDeflate
	}
	return z.out[:n], append(points, Point{In: 8 * uint64(z.base+z.at), Out: uint64(n), Sum: sum}), nil
}

// unfoldFrom is what a stream unfolds to from one point to the next. window is what is before
// it, and in the stream from the point's first byte on, with readBehind bytes behind it.
func (z *inflater) unfoldFrom(from, to Point, window, in []byte) ([]byte, error) {
	end := len(window) + int(to.Out-from.Out)
	if cap(z.out) < end+writeBehind {
		z.out = make([]byte, end+writeBehind)
	}
	z.out = z.out[:cap(z.out)]
	copy(z.out, window)
	z.r, z.in, z.size, z.at = nil, in, len(in)-readBehind, 1
	z.b, z.n = uint64(in[0])>>(from.In%8), 8-uint(from.In%8)
	n, err := z.blocks(len(window), end-1, func(int) {})
	b := z.out[len(window):max(n, len(window))]
	if err == nil && (n != end || adlerOf(from.Sum, b) != to.Sum) {
		err = errDeflate
	}
	return b, err
}

// more reads what comes behind the data at hand, which go but for the last of those before z.at.
func (z *inflater) more() error {
	if z.r == nil {
		return io.ErrUnexpectedEOF
	}
	gone := max(z.at-stepBack, 0)
	have := max(len(z.in)-gone, 0)
	if z.in == nil {
		z.in = make([]byte, atHand+stepBack+readBehind)
	}
	copy(z.in, z.in[gone:])
	z.base, z.size, z.at = z.base+gone, z.size-gone, z.at-gone
	n := min(z.size, atHand)
	m, err := z.r.ReadAt(z.in[have:n], int64(z.base+have))
	if have+m < n {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	if z.in = z.in[:n]; n == z.size { // all is there
		z.r, z.in = nil, append(z.in, make([]byte, readBehind)...)
	}
	return nil
}

// need makes n bytes readable, if the data have as many.
func (z *inflater) need(n int) error {
	if z.at+n > len(z.in) {
		return z.more()
	}
	return nil
}

// refill makes it 56 bits at least. The bits above z.n are the next byte's already.
func (z *inflater) refill() error {
	if err := z.need(8); err != nil {
		return err
	}
	z.b |= binary.LittleEndian.Uint64(z.in[z.at:]) << z.n
	z.at += int((63 - z.n) >> 3)
	z.n |= 56
	return nil
}

// take returns the next k bits, of which there are as many.
func (z *inflater) take(k uint) int {
	v := z.b & (1<<k - 1)
	z.b >>= k
	z.n -= k
	return int(v)
}

// blocks unfolds blocks behind the n bytes that are there, to the stream's end or until there are
// more than size bytes. It tells after each how many bytes there are, which do not change any more.
func (z *inflater) blocks(n, size int, tell func(n int)) (_ int, err error) {
	for last := false; !last && n <= size; {
		if err := z.refill(); err != nil {
			return n, err
		}
		last = z.take(1) == 1
		switch z.take(2) {
		case 0:
			n, err = z.stored(n, size)
		case 1:
			var l [maxLits + maxDists]uint8
			for i := range l {
				switch {
				case i < 144:
					l[i] = 8
				case i < 256:
					l[i] = 9
				case i < 280:
					l[i] = 7
				case i < maxLits:
					l[i] = 8
				default:
					l[i] = 5
				}
			}
			n, err = z.coded(n, size, l[:maxLits], l[maxLits:])
		case 2:
			n, err = z.dynamic(n, size)
		default:
			err = errDeflate
		}
		if err == nil && z.at-int(z.n/8) > z.size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return n, err
		}
		tell(n)
	}
	return n, nil
}

// grow makes room for another k bytes behind the first n.
func (z *inflater) grow(n, k int) {
	if n+k+writeBehind > len(z.out) {
		out := make([]byte, 2*len(z.out)+k)
		copy(out, z.out[:n])
		z.out = out
	}
}

// stored copies a block that is not compressed.
func (z *inflater) stored(n, size int) (int, error) {
	z.at -= int(z.n / 8) // the rest of a byte does not count
	z.b, z.n = 0, 0
	if z.at+4 > z.size {
		return n, io.ErrUnexpectedEOF
	}
	if err := z.need(4); err != nil {
		return n, err
	}
	k := int(binary.LittleEndian.Uint16(z.in[z.at:]))
	if k != int(^binary.LittleEndian.Uint16(z.in[z.at+2:])) {
		return n, errDeflate
	}
	z.at += 4
	if z.at+k > z.size {
		return n, io.ErrUnexpectedEOF
	}
	k = min(k, size-n+1)
	z.grow(n, k)
	for k > 0 {
		if err := z.need(1); err != nil {
			return n, err
		}
		m := copy(z.out[n:n+k], z.in[z.at:])
		z.at, n, k = z.at+m, n+m, k-m
	}
	return n, nil
}

// dynamic unfolds a block that begins with its codes.
func (z *inflater) dynamic(n, size int) (int, error) {
	lits, dists, order := z.take(5)+257, z.take(5)+1, codeOrder[:z.take(4)+4]
	if lits > 286 || dists > 30 {
		return n, errDeflate
	}
	var l [maxLits + maxDists]uint8
	var codes [19]uint8
	for _, i := range order {
		if err := z.refill(); err != nil {
			return n, err
		}
		codes[i] = uint8(z.take(3))
	}
	table := z.lits[:]
	if !makeTable(table, 7, codes[:], lengthCodes[:]) {
		return n, errDeflate
	}
	for i := 0; i < lits+dists; {
		if err := z.refill(); err != nil {
			return n, err
		}
		e := table[z.b&(1<<7-1)]
		if e&entryBad != 0 {
			return n, errDeflate
		}
		z.take(uint(e & 0xff))
		v, repeat := uint8(e>>16), 1+z.take(uint(e>>8&15))
		switch v {
		case 16:
			if repeat += 2; i == 0 {
				return n, errDeflate
			}
			v = l[i-1]
		case 17:
			v, repeat = 0, repeat+2
		case 18:
			v, repeat = 0, repeat+10
		}
		if i+repeat > lits+dists {
			return n, errDeflate
		}
		for range repeat {
			l[i] = v
			i++
		}
	}
	return z.coded(n, size, l[:lits], l[lits:lits+dists])
}

// codeOrder is the order in which the lengths of the codes for lengths come.
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// makeTable makes the table of a code from its codes' lengths. first bits decide at the
// first look; a second table has the rest. It reports false if there is no such code. One
// that has a single code need not be complete, as in zlib.
func makeTable(table []uint32, first uint, lengths []uint8, values []uint32) bool {
	var count, next [maxCode + 1]int
	for _, l := range lengths {
		count[l]++
	}
	count[0] = 0
	code, longest, all := 0, 0, 0
	for l := 1; l <= maxCode; l++ {
		code = (code + count[l-1]) << 1
		next[l] = code
		if all += count[l]; count[l] != 0 {
			longest = l
		}
	}
	if next[maxCode]+count[maxCode] != 1<<maxCode && (all > 1 || longest > 1) {
		return false
	}
	second := uint(max(longest-int(first), 0)) // bits of the second tables
	end := uint32(1) << first
	for i := range table[:end] {
		table[i] = entryBad
	}
	for sym, l := range lengths {
		if l == 0 {
			continue
		}
		r := uint32(bits.Reverse16(uint16(next[l]))) >> (16 - l)
		next[l]++
		if uint(l) <= first {
			for e := values[sym] | uint32(l); r < 1<<first; r += 1 << l {
				table[r] = e
			}
			continue
		}
		head := &table[r&(1<<first-1)]
		if *head&entryTable == 0 {
			*head = end<<16 | entryTable | uint32(second)<<8 | uint32(first)
			end += 1 << second
		}
		at := *head >> 16
		for e := values[sym] | uint32(l) - uint32(first); r>>first < 1<<second; r += 1 << l {
			table[at+r>>first] = e
		}
	}
	return true
}

// What the codes of the three kinds mean (RFC 1951, 3.2.5 and 3.2.7).
var (
	literals    [maxLits]uint32
	distances   [maxDists]uint32
	lengthCodes [19]uint32
)

func init() {
	for i := range lengthCodes {
		lengthCodes[i] = uint32(i) << 16
	}
	lengthCodes[16] |= 2 << 8
	lengthCodes[17] |= 3 << 8
	lengthCodes[18] |= 7 << 8
	for i := range 256 {
		literals[i] = uint32(i)<<16 | entryLiteral
	}
	literals[256] = entryEnd
	base := 3
	for i := range 28 {
		extra := max(i/4-1, 0)
		literals[257+i] = uint32(base)<<16 | uint32(extra)<<8
		base += 1 << extra
	}
	literals[285] = 258 << 16
	literals[286], literals[287] = entryBad, entryBad
	base = 1
	for i := range 30 {
		extra := max(i/2-1, 0)
		distances[i] = uint32(base)<<16 | uint32(extra)<<8
		base += 1 << extra
	}
	distances[30], distances[31] = entryBad, entryBad
}

// coded unfolds a block whose codes have the given lengths, behind the n bytes that are there.
func (z *inflater) coded(n, size int, lits, dists []uint8) (_ int, err error) {
	if !makeTable(z.lits[:], litBits, lits, literals[:]) || !makeTable(z.dists[:], distBits, dists, distances[:]) {
		return n, errDeflate
	}
	for end := false; n <= size && !end && err == nil; {
		z.grow(n, 0)
		if z.at > len(z.in)-stepRead {
			if err = z.more(); err != nil {
				break
			}
		}
		n, end, err = z.symbols(n, size)
	}
	return n, err
}

// symbols unfolds as much of a block as there is room for and data at hand, and reports whether
// that is its end. It calls nothing: what it goes by stays in registers.
func (z *inflater) symbols(n, size int) (_ int, end bool, err error) {
	in, out, at, b, have := z.in, z.out, z.at, z.b, z.n // of have, the lowest byte counts
	last, room := len(in)-stepRead, min(len(out)-writeBehind, size)
	for n <= room && at <= last {
		b |= binary.LittleEndian.Uint64(in[at:]) << (have & 63)
		at += int(63-have&63) >> 3
		have |= 56
		// 56 bits: two literals of the first table, and another one or a length's code.
		e := z.lits[b&(1<<litBits-1)]
		if e&entryLiteral != 0 {
			b >>= e & 63
			have -= uint(e)
			out[n] = byte(e >> 16)
			n++
			if e = z.lits[b&(1<<litBits-1)]; e&entryLiteral != 0 {
				b >>= e & 63
				have -= uint(e)
				out[n] = byte(e >> 16)
				n++
				e = z.lits[b&(1<<litBits-1)]
			}
		}
		if e&entryTable != 0 {
			b >>= litBits
			have -= litBits
			e = z.lits[e>>16+uint32(b)&(1<<(e>>8&15)-1)]
		}
		b >>= e & 63
		have -= uint(e)
		if e&(entryLiteral|entryEnd|entryBad) != 0 {
			if e&entryLiteral != 0 {
				out[n] = byte(e >> 16)
				n++
				continue
			}
			if end = e&entryBad == 0; !end {
				err = errDeflate
			}
			break
		}
		// Up to 37 bits are gone; a length's rest and a distance take 33.
		b |= binary.LittleEndian.Uint64(in[at:]) << (have & 63)
		at += int(63-have&63) >> 3
		have |= 56
		extra := e >> 8 & 15
		to := n + int(e>>16) + int(b&(1<<extra-1))
		b >>= extra
		have -= uint(extra)
		e = z.dists[b&(1<<distBits-1)]
		if e&entryTable != 0 {
			b >>= distBits
			have -= distBits
			e = z.dists[e>>16+uint32(b)&(1<<(e>>8&15)-1)]
		}
		b >>= e & 63
		have -= uint(e)
		extra = e >> 8 & 15
		back := int(e>>16) + int(b&(1<<extra-1))
		b >>= extra
		have -= uint(extra)
		if e&entryBad != 0 || back > n {
			err = errDeflate
			break
		}
		switch {
		case back >= 8: // 8 bytes at a time, up to 7 too many
			for ; n < to; n += 8 {
				binary.LittleEndian.PutUint64(out[n:], binary.LittleEndian.Uint64(out[n-back:]))
			}
		case back == 1:
			for v := uint64(out[n-1]) * 0x0101010101010101; n < to; n += 8 {
				binary.LittleEndian.PutUint64(out[n:], v)
			}
		default:
			for ; n < to; n++ {
				out[n] = out[n-back]
			}
		}
		n = to
	}
	z.at, z.b, z.n = at, b, have&63
	return n, end, err
}
