package clock

import (
	"math/rand"
	"testing"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu/percputest"
)

// TestBounds: whatever the counters are and however long the answers take, the correction is right
// to half of the width, and nothing is added if the counters may be one.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	proven := 0
	for range 20_000 {
		clock := r.Uint64() // of the first CPU: it may wrap around
		off := uint64(r.Int63()>>(1+r.Intn(62))) * uint64(1-2*r.Intn(2))
		if r.Intn(4) == 0 {
			off = 0
		}
		b, tightest := Unbounded(), ^uint64(0)
		for range 1 + r.Intn(12) {
			there, back := uint64(r.Intn(1<<r.Intn(30))), uint64(r.Intn(1<<r.Intn(30)))
			b.Narrow(clock, clock+there-off, clock+there+back)
			tightest = min(tightest, there+back)
			clock += there + back + uint64(r.Intn(1000))
		}
		if b.Width() > tightest {
			t.Fatalf("the bounds are %d apart; an answer has taken %d", b.Width(), tightest)
		}
		got := b.Skew()
		if got == 0 {
			if far := max(int64(off), -int64(off)); uint64(far) > tightest {
				t.Fatalf("%d ticks off, an answer has taken %d, and there is no proof", int64(off), tightest)
			}
			continue
		}
		proven++
		if wrong := max(int64(got-off), int64(off-got)); off == 0 || uint64(wrong) > (b.Width()+1)/2 {
			t.Fatalf("%d ticks off: %d is added; the bounds are %d apart", int64(off), int64(got), b.Width())
		}
	}
	if proven < 1000 {
		t.Errorf("%d times it was proven", proven)
	}
}

// TestBoundsOf: single answers, and one that contradicts the answer before.
func TestBoundsOf(t *testing.T) {
	for _, tt := range []struct {
		before, other, after, want uint64
	}{
		{100, 100, 100, 0}, {100, 100, 200, 0}, {100, 200, 200, 0}, {100, 150, 200, 0},
		{100, 99, 200, 51}, {100, 201, 200, ^uint64(50)}, {100, 99, 100, 1}, {^uint64(0), 0, 2, 0}, {^uint64(0) - 1, ^uint64(0) - 2, 1, 2},
	} {
		b := Unbounded()
		if b.Skew() != 0 {
			t.Error("a proof without an answer")
		}
		if b.Narrow(tt.before, tt.other, tt.after); b.Skew() != tt.want {
			t.Errorf("%d between %d and %d: %d is added; want %d", tt.other, tt.before, tt.after, int64(b.Skew()), int64(tt.want))
		}
	}
	b := Unbounded()
	b.Narrow(100, 0, 110)
	if b.Narrow(200, 500, 210); int64(b.Skew()) != -295 || b.Width() != 10 {
		t.Errorf("behind a jump, %d is added, give or take %d; want -295, 10", int64(b.Skew()), b.Width())
	}
}

// TestCorrect: the clock of a CPU includes its offset, also after it was held.
func TestCorrect(t *testing.T) {
	r := percputest.Use(t)
	oldNanos, oldZero := toNanos, zero
	defer func() { toNanos, zero, going, held = oldNanos, oldZero, 0, 0 }()
	toNanos, zero, r.CounterOffset = ratio(second, second), arch.ReadCounter(), 1<<50
	if now := Now(); now >= 1<<50 {
		t.Errorf("the clock says %d before it is corrected", now)
	}
	Correct()
	for range 2 {
		began := Now()
		if began < 1<<50 || began > 1<<51 {
			t.Errorf("the clock says %d; want 2^50 and a bit", began)
		}
		if !Hold() || Hold() {
			t.Error("Hold does not tell whether the clock went")
		}
		stopped := Now()
		for from := arch.ReadCounter(); arch.ReadCounter()-from < uint64(second/100); {
		}
		if Now() != stopped || stopped < began {
			t.Errorf("the clock goes from %d to %d to %d while it is held", began, stopped, Now())
		}
		before := arch.ReadCounter()
		Release()
		if now := Now(); now < stopped || now-stopped > arch.ReadCounter()-before {
			t.Errorf("the clock goes on at %d; it was stopped at %d", now, stopped)
		}
	}
}
