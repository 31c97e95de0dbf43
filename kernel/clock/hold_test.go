package clock

import (
	"testing"

	"github.com/zeroframe/zeroframe/arch"
)

// TestHold: Now stands still and then continues where it was; Wall has missed nothing.
func TestHold(t *testing.T) {
	oldNanos, oldZero, oldWall := toNanos, zero, wallZero
	defer func() { toNanos, zero, wallZero = oldNanos, oldZero, oldWall }()
	toNanos, zero, wallZero = ratio(second, second), arch.ReadCounter(), 0 // as if it ran at 1 GHz
	start, began := zero, arch.ReadCounter()
	if !Hold() || Hold() {
		t.Fatal("Hold does not tell whether the clock went")
	}
	now := Now()
	for from := arch.ReadCounter(); arch.ReadCounter()-from < uint64(second/100); {
	}
	if Now() != now {
		t.Error("Now goes on while the clock is held")
	}
	all := arch.ReadCounter() - start
	held := arch.ReadCounter() - began
	Release()
	after, ran := Now(), arch.ReadCounter()-began
	if after < now || after-now >= held {
		t.Errorf("Now goes from %d to %d over %d held ticks", now, after, held)
	}
	if w := uint64(Wall()); w+1 < all || w > now+ran+uint64(second) {
		t.Errorf("Wall says %d, with Now at %d, after %d ticks", w, after, ran)
	}
}
