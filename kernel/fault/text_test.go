package fault

import "testing"

func TestText(t *testing.T) {
	var x text
	x.Str("a ")
	x.Dec(0)
	x.byte(' ')
	x.int(-9223372036854775808)
	x.byte(' ')
	x.hex(0xfee00000)
	if got, want := string(x.b[:x.N]), "a 0 -9223372036854775808 0xfee00000"; got != want {
		t.Errorf("text = %q; want %q", got, want)
	}
	for range 100 {
		x.Str("0123456789")
	}
	if x.N != len(x.b) {
		t.Errorf("a long text has %d bytes; want it cut at %d", x.N, len(x.b))
	}
}
