package wire

import (
	"bytes"
	"encoding/ascii85"
	"testing"
)

// TestAscii85: digits are bytes or none; a group of more than 32 bits is none.
func TestAscii85(t *testing.T) {
	for n := range 9 {
		want := bytes.Repeat([]byte{0xff}, n)
		digits := make([]byte, ascii85.MaxEncodedLen(n))
		digits = digits[:ascii85.Encode(digits, want)]
		if got, ok := Ascii85(string(digits)); !ok || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, %v; want %x", digits, got, ok, want)
		}
	}
	for _, digits := range []string{"s8W-\"", "uuuuu", "!!!!!t!!!!", "uuu", "s8W.", "!", "!!!!v", "z"} {
		if got, ok := Ascii85(digits); ok {
			t.Errorf("%s: %x; want none", digits, got)
		}
	}
}
