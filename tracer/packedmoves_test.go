package tracer

import "testing"

// TestPackedMoves: a Packed on a goroutine's stack is whole after the stack has moved.
func TestPackedMoves(t *testing.T) {
	done := make(chan bool)
	go func() {
		defer close(done)
		var p Packed
		p.Reset(4, 0, 0x1000)
		was := p.Buffer()
		for i := range uint32(8) {
			if i == 4 {
				grow(1000)
			}
			if !p.Add(i) {
				t.Errorf("no room for unit %d", i)
			}
		}
		if p.Buffer() == was {
			t.Error("the stack has not moved")
		}
		if p.N() != 8 || p.Outermost() != 7 {
			t.Errorf("%d units, the last %d", p.N(), p.Outermost())
		}
		for i := range p.N() {
			if p.Unit(i) != uint32(i) {
				t.Errorf("unit %d is %d", i, p.Unit(i))
			}
		}
	}()
	<-done
}

//go:noinline
func grow(n int) int {
	var a [64]byte
	if n == 0 {
		return len(a)
	}
	a[n%64] = 1
	return grow(n-1) + int(a[n%64])
}
