package typed

// A line of the typed form (tracer/typed.go), as somebody has typed it from a photo: read
// with all tolerance that the characters allow, checked, and if it is wrong compared with
// the lines that one slip of a finger would have made of a right one.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tracer"
)

// lookAlikes are the characters that stand for a digit which they look like.
var lookAlikes = map[rune]byte{
	'O': '0', 'D': '0', 'Q': '0', 'I': '1', 'L': '1', '|': '1', '!': '1', 'Z': '2', 'A': '4',
	'S': '5', '$': '5', 'G': '6', 'T': '7', 'B': '8', 'F': 'E', 'N': 'H', 'M': 'H', 'X': 'K',
	'R': 'P', 'V': 'Y',
}

// unknownDigit is the value of a character that can be no digit.
const unknownDigit = 0xff

// typedDigits returns the values of the digits of a line.
func typedDigits(s string) (digits []byte) {
	for _, r := range strings.ToUpper(s) {
		switch r {
		case ' ', '\t', '\r', '-', '.', ',', '_':
			continue
		}
		if c, ok := lookAlikes[r]; ok {
			r = rune(c)
		}
		v := strings.IndexRune(tracer.TypedDigits, r)
		if v < 0 {
			v = unknownDigit
		}
		digits = append(digits, byte(v))
	}
	return digits
}

// typedText returns digits as the screen shows them.
func typedText(digits []byte) string {
	var b strings.Builder
	for i, d := range digits {
		if tracer.TypedGap(i, len(digits)) && i > 0 {
			b.WriteByte(' ')
		}
		if d == unknownDigit {
			b.WriteByte('?')
			continue
		}
		b.WriteByte(tracer.TypedDigits[d&15])
	}
	return b.String()
}

// minTyped is the least number of digits of a line, with the check.
const minTyped = 6

// typedChecks reports whether the check of a line is right.
func typedChecks(digits []byte) bool {
	n := len(digits)
	if n < minTyped || n > tracer.TypedMax {
		return false
	}
	for _, d := range digits {
		if d == unknownDigit {
			return false
		}
	}
	a, b := tracer.TypedCheck(digits[:n-2])
	return a == digits[n-2] && b == digits[n-1]
}

// A typedLine is a line whose check is right.
type typedLine struct {
	number int
	typ    byte
	value  uint64 // of the digits behind the type
	n      int    // of them
	text   string // without the check
}

var errTyped = errors.New("no line of a trace")

// parseTyped takes such a line apart. What no writer makes is an error.
func parseTyped(digits []byte) (l typedLine, err error) {
	if !typedChecks(digits) {
		return l, errTyped
	}
	d := digits[:len(digits)-2]
	l.number, l.typ, l.n = int(d[0])<<4|int(d[1]), d[2], len(d)-3
	for _, v := range d {
		l.text += tracer.TypedDigits[v : v+1]
	}
	for _, v := range d[3:] {
		l.value = l.value<<4 | uint64(v)
	}
	most, plain := 8, true // plain: a number without leading zeros
	switch l.typ {
	case tracer.TypedBegin:
		most, plain = 1+tracer.TypedBuild, false
		if kind := d[3] / 3; l.number != 0 || kind >= byte(tracer.KindTrace) {
			return l, errTyped
		}
	case byte(tracer.Trap):
		if most, plain = 9, false; l.n < 4 {
			return l, errTyped
		}
	case tracer.TypedStop:
		if most, plain = 5, false; l.n != 5 || d[3] == 0 || d[3] >= byte(tracer.NumEnds) {
			return l, errTyped
		}
	}
	if l.number == 0 && l.typ != tracer.TypedBegin || l.n > most || plain && l.n > 1 && d[3] == 0 || l.typ > tracer.TypedLeftOut {
		return l, errTyped
	}
	return l, nil
}

// typedSlip is a right line that one slip would have turned into the typed one.
type typedSlip struct {
	digits []byte
	what   string // was done, in words
}

// typedSlips returns the lines that fit: wrong characters first, and only if there are none
// what else happens.
func typedSlips(digits []byte, fits func([]byte) bool) (all []typedSlip) {
	unknown, n := -1, 0
	for i, d := range digits {
		if d == unknownDigit {
			unknown = i
			n++
		}
	}
	if n > 1 || len(digits) > tracer.TypedMax+1 || len(digits) < minTyped-1 {
		return nil
	}
	try := func(d []byte, format string, args ...any) {
		if typedChecks(d) && fits(d) {
			for _, s := range all {
				if string(s.digits) == string(d) {
					return
				}
			}
			all = append(all, typedSlip{d, fmt.Sprintf(format, args...)})
		}
	}
	changed := func(i int, with ...byte) []byte {
		d := append([]byte(nil), digits[:i]...)
		return append(append(d, with...), digits[i+1:]...)
	}
	for i, was := range digits {
		for v := byte(0); v < 16; v++ {
			if v != was && (unknown < 0 || unknown == i) {
				try(changed(i, v), "character %d, not %s", i+1, typedText(digits[i:i+1]))
			}
		}
	}
	if len(all) > 0 {
		return all
	}
	for i := range digits {
		try(changed(i), "without character %d", i+1)
		if i+1 < len(digits) {
			d := append([]byte(nil), digits...)
			d[i], d[i+1] = d[i+1], d[i]
			try(d, "characters %d and %d are exchanged", i+1, i+2)
		}
	}
	for i := 0; i <= len(digits) && unknown < 0; i++ {
		for v := byte(0); v < 16; v++ {
			d := append([]byte(nil), digits[:i]...)
			d = append(append(d, v), digits[i:]...)
			try(d, "character %d is missing", i+1)
		}
	}
	return all
}
