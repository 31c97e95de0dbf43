package qr

// The numbers of ISO/IEC 18004 for versions and levels of error correction.

// Level is a level of error correction.
type Level uint8

// The levels: some 7, 15, 25 and 30 % of a code's words may be wrong.
const (
	L Level = iota
	M
	Q
	H
)

const (
	// MaxVersion is the largest version.
	MaxVersion = 40
	// MaxSize is the size of MaxVersion in modules.
	MaxSize = 17 + 4*MaxVersion
)

// Size returns the number of modules of a side of a version.
func Size(version int) int { return 17 + 4*version }

// Version returns the largest version with at most size modules a side, or 0.
func Version(size int) int { return max(0, min((size-17)/4, MaxVersion)) }

// A table has a number of at most two digits and a blank for each version, for each level.
type table [4]string

// of returns the number for a version and a level.
func (t *table) of(version int, level Level) int {
	digits := t[level&3][(version-1)%MaxVersion*3:]
	return int(digits[0]&15)*10 + int(digits[1]&15) // a blank counts as 0
}

// checkWords is the number of error correction codewords of a block (table 9). A constant.
var checkWords = table{
	L: " 7 10 15 20 26 18 20 24 30 18 20 24 26 30 22 24 28 30 28 28 " +
		"28 28 30 30 26 28 30 30 30 30 30 30 30 30 30 30 30 30 30 30",
	M: "10 16 26 18 24 16 18 22 22 26 30 22 22 24 24 28 28 26 26 26 " +
		"26 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28 28",
	Q: "13 22 18 26 18 24 18 22 20 24 28 26 24 20 30 24 28 28 26 30 " +
		"28 30 30 30 30 28 30 30 30 30 30 30 30 30 30 30 30 30 30 30",
	H: "17 28 22 16 22 28 26 26 24 28 24 28 22 24 24 30 28 28 26 28 " +
		"30 24 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30 30",
}

// blocks is the number of blocks. A constant.
var blocks = table{
	L: " 1  1  1  1  1  2  2  2  2  4  4  4  4  4  6  6  6  6  7  8 " +
		" 8  9  9 10 12 12 12 13 14 15 16 17 18 19 19 20 21 22 24 25",
	M: " 1  1  1  2  2  4  4  4  5  5  5  8  9  9 10 10 11 13 14 16 " +
		"17 17 18 20 21 23 25 26 28 29 31 33 35 37 38 40 43 45 47 49",
	Q: " 1  1  2  2  4  4  6  6  8  8  8 10 12 16 12 17 16 18 21 20 " +
		"23 23 25 27 29 34 34 35 38 40 43 45 48 51 53 56 59 62 65 68",
	H: " 1  1  2  4  4  4  5  6  8  8 11 11 16 16 18 16 19 21 25 25 " +
		"25 34 30 32 35 37 40 42 45 48 51 54 57 60 63 66 70 74 77 81",
}

// rawWords returns the number of codewords of a version: the modules that no pattern takes, divided
// by 8.
func rawWords(version int) int {
	n := (16*version+128)*version + 64
	if version >= 2 {
		a := version/7 + 2 // alignment patterns in a row
		n -= (25*a-10)*a - 55
		if version >= 7 {
			n -= 36
		}
	}
	return n / 8
}

// dataWords returns the number of data codewords.
func dataWords(version int, level Level) int {
	return rawWords(version) - blocks.of(version, level)*checkWords.of(version, level)
}

// countBits is the number of bits for the number of digits in a code.
func countBits(version int) int {
	switch {
	case version < 10:
		return 10
	case version < 27:
		return 12
	}
	return 14
}

// Capacity returns the number of bytes that a code holds.
func Capacity(version int, level Level) int {
	bits := dataWords(version, level)*8 - modeBits - countBits(version)
	digits := bits / 10 * 3
	switch rest := bits % 10; {
	case rest >= 7:
		digits += 2
	case rest >= 4:
		digits++
	}
	n := digits / groupDigits * groupBytes
	for rest := digits % groupDigits; digitsOf(n%groupBytes+1) <= rest; {
		n++
	}
	return n
}
