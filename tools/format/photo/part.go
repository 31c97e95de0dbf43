package photo

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/zeroframe/zeroframe/tracer/qr"
)

// Part is what a code has in it: a part of a trace.
type Part struct {
	Parts int    // how many parts the trace has
	N     int    // which one this is, from 0
	CRC   uint32 // of the whole trace
	Data  []byte
}

// ErrOther is the error of a code that is not of a trace.
var ErrOther = errors.New("the code in it is no trace of Zeroframe")

// restBytes is how many bytes so many digits behind the last group are.
var restBytes = map[int]int{3: 1, 5: 2, 8: 3, 10: 4, 13: 5, 15: 6}

// ParsePart reads the text of a code. The error is ErrOther.
func ParsePart(text string) (p Part, err error) {
	const groupDigits, groupBytes = 17, 7
	var b []byte
	for len(text) > 0 {
		digits, n := min(len(text), groupDigits), groupBytes
		if digits < groupDigits {
			n = restBytes[digits]
		}
		v, err := strconv.ParseUint(text[:digits], 10, 64)
		if err != nil || n == 0 || v>>(8*uint(n)) != 0 {
			return p, ErrOther
		}
		b = append(b, binary.BigEndian.AppendUint64(nil, v)[8-n:]...)
		text = text[digits:]
	}
	if len(b) <= qr.HeadBytes || b[0] != qr.Magic || b[2] >= b[1] {
		return p, ErrOther
	}
	p.Parts, p.N = int(b[1]), int(b[2])
	p.CRC, p.Data = binary.BigEndian.Uint32(b[3:]), b[qr.HeadBytes:]
	return p, nil
}
