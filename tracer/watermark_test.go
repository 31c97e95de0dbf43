package tracer

import (
	"testing"
	"unsafe"
)

// paper is memory with a word beyond each end that nobody may write.
type paper struct {
	words  []uintptr
	lo, hi uintptr
}

func newPaper(n int) *paper {
	p := &paper{words: make([]uintptr, n+2)}
	p.lo = uintptr(unsafe.Pointer(&p.words[0])) + 8
	p.hi = p.lo + uintptr(n)*8
	return p
}

func TestPaint(t *testing.T) {
	for n := 0; n < 40; n++ {
		p := newPaper(n)
		Paint(p.lo, p.hi)
		for i, v := range p.words {
			if want := i > 0 && i <= n; (v == Signature) != want {
				t.Errorf("Paint of %d words: word %d is %#x; painted = %v", n, i-1, v, want)
			}
		}
	}
}

func TestHighWater(t *testing.T) {
	for n := 1; n < 40; n++ {
		p := newPaper(n)
		Paint(p.lo, p.hi)
		if got := HighWater(p.lo, p.hi); got != 0 {
			t.Errorf("HighWater of %d painted words = %d; want 0", n, got)
		}
		// Each deepest write gives its own mark, whatever lies above it: used stack, islands of
		// paint, or nothing else at all.
		for deepest := 1; deepest <= n; deepest++ {
			Paint(p.lo, p.hi)
			p.words[deepest] = 0
			want := uintptr(n-deepest+1) * 8
			if got := HighWater(p.lo, p.hi); got != want {
				t.Errorf("HighWater of %d words, word %d written = %d; want %d", n, deepest-1, got, want)
			}
			for i := deepest + 1; i <= n; i += 3 {
				p.words[i] = uintptr(i)
			}
			if got := HighWater(p.lo, p.hi); got != want {
				t.Errorf("HighWater of %d words, islands above word %d = %d; want %d", n, deepest-1, got, want)
			}
		}
	}
}

// TestHighWaterOneBit: a word in which any one bit differs is not paint.
func TestHighWaterOneBit(t *testing.T) {
	p := newPaper(16)
	for bit := 0; bit < 64; bit++ {
		Paint(p.lo, p.hi)
		p.words[4] ^= 1 << bit
		if got := HighWater(p.lo, p.hi); got != 13*8 {
			t.Errorf("bit %d: HighWater = %d; want %d", bit, got, 13*8)
		}
	}
}

func TestMeasure(t *testing.T) {
	p := newPaper(100)
	Paint(p.lo, p.hi)
	s := Stack{Name: "s", Lo: p.lo, Hi: p.hi, Limit: 720}
	for _, tt := range []struct {
		used  int // words written from the top
		want  uintptr
		level Level
	}{
		{0, 0, LevelOK}, {75, 600, LevelOK}, {76, 608, LevelWarning}, {90, 720, LevelWarning},
		{91, 728, LevelOverLimit}, {99, 792, LevelOverLimit}, {100, 800, LevelOverflowed},
		{10, 800, LevelOverflowed}, // a mark never falls
	} {
		Paint(p.lo, p.hi)
		for i := 0; i < tt.used; i++ {
			p.words[100-i] = 1
		}
		if got := s.Measure(); got != tt.want || s.Level() != tt.level {
			t.Errorf("%d words used: Measure, Level = %d, %v; want %d, %v", tt.used, got, s.Level(), tt.want, tt.level)
		}
	}
}

// FuzzHighWater compares the scan with the plain definition.
func FuzzHighWater(f *testing.F) {
	f.Add([]byte{0, 0, 1}, uint8(3))
	f.Add([]byte{1}, uint8(17))
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		p := newPaper(int(n))
		Paint(p.lo, p.hi)
		want := uintptr(0)
		for i := int(n); i >= 1; i-- {
			if i < len(data) && data[i]&1 != 0 {
				p.words[i] = uintptr(data[i])
				want = uintptr(int(n)-i+1) * 8
			}
		}
		if got := HighWater(p.lo, p.hi); got != want {
			t.Errorf("HighWater = %d; want %d", got, want)
		}
	})
}

func BenchmarkHighWater(b *testing.B) {
	p := newPaper(4096)
	Paint(p.lo, p.hi)
	b.SetBytes(4096 * 8)
	for b.Loop() {
		HighWater(p.lo, p.hi)
	}
}
