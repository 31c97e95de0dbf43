// Package ascii compares and reads text without calling the runtime. It imports nothing, so that
// the whole kernel may use it. Any context.
package ascii

import "unsafe"

// Bytes returns the bytes of s, which must not be written to.
//
//go:noinline
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Same reports whether b holds the bytes of s.
//
//go:noinline
func Same(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if b[i] != s[i] {
			return false
		}
	}
	return true
}

// Equal reports whether a and b hold the same bytes.
//
//go:noinline
func Equal(a, b []byte) bool { return Same(a, unsafe.String(unsafe.SliceData(b), len(b))) }

// HasPrefix reports whether b begins with the bytes of s.
func HasPrefix(b []byte, s string) bool { return len(b) >= len(s) && Same(b[:len(s)], s) }

// Uint reads a decimal number.
func Uint(b []byte) (v uint64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' || v > (1<<64-1)/10-10 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, len(b) > 0
}

// Number reads a number, decimal or, after 0x, hexadecimal.
func Number(b []byte) (v uint64, ok bool) {
	base := uint64(10)
	if len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		base, b = 16, b[2:]
	}
	for _, c := range b {
		d := uint64(0)
		switch {
		case c >= '0' && c <= '9':
			d = uint64(c - '0')
		case base == 16 && c|0x20 >= 'a' && c|0x20 <= 'f':
			d = uint64(c|0x20-'a') + 10
		default:
			return 0, false
		}
		if v > (1<<64-1-d)/base {
			return 0, false
		}
		v = v*base + d
	}
	return v, len(b) > 0
}

// Hex reads a hexadecimal number of 32 bits; of more digits the last eight count.
func Hex(b []byte) (v uint32, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint32(c)
	}
	return v, true
}
