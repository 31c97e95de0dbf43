package fault

import (
	"github.com/zeroframe/zeroframe/tracer"
)

// text collects the words of a reason. A text that is too long is cut and ends in three dots.
type text struct {
	b [tracer.MaxReason]byte
	N int
}

//go:noinline
func (t *text) byte(c byte) {
	if t.N < len(t.b) {
		t.b[t.N] = c
		t.N++
		return
	}
	for i := len(t.b) - 3; i < len(t.b); i++ {
		t.b[i] = '.'
	}
}

//go:noinline
func (t *text) Str(s string) {
	for i := 0; i < len(s); i++ {
		t.byte(s[i])
	}
}

//go:noinline
func (t *text) bytes(b []byte) {
	for _, c := range b {
		t.byte(c)
	}
}

func (t *text) Dec(v uint64) {
	var b [tracer.MaxDigits]byte
	t.bytes(b[tracer.Digits(&b, v, 10):])
}

// seconds appends a time in nanoseconds as seconds, with three decimals.
func (t *text) seconds(ns uint64) {
	t.Dec(ns / 1e9)
	t.byte('.')
	for unit := uint64(1e8); unit >= 1e6; unit /= 10 {
		t.byte('0' + byte(ns/unit%10))
	}
}

func (t *text) hex(v uint64) {
	var b [tracer.MaxDigits]byte
	t.Str("0x")
	t.bytes(b[tracer.Digits(&b, v, 16):])
}

// int appends a signed number.
func (t *text) int(v int64) {
	if v < 0 {
		t.byte('-')
		v = -v
	}
	t.Dec(uint64(v))
}
