package wire

import (
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// TestFoldNothing: what is no run of frames is not folded.
func TestFoldNothing(t *testing.T) {
	for _, b := range [][]byte{
		{tracer.RecMem, 0xe7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0},
		{tracer.RecFrame + 2, 0xf1, 0xf8, 0, tracer.RecMem, 0xf3, 0},
		{tracer.RecFrame + 2, 0xf1, 0xf8, 0, tracer.RecNext, 0xf2, tracer.RecMem, 0xf3, 0},
	} {
		if d := decodeCompact(b, &table{}, true); d.err != errFold {
			t.Errorf("% x: %v; want %v", b, d.err, errFold)
		}
	}
}
