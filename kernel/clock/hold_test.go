package clock

import (
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// TestHold: Now stands still and goes on where it was; Wall has not missed anything.
func TestHold(t *testing.T) {
	oldNanos, oldZero, oldWall := toNanos, zero, wallZero
	defer func() { toNanos, zero, wallZero = oldNanos, oldZero, oldWall }()
	toNanos, zero, wallZero = ratio(second, second), amd64.ReadTSC(), 0 // as if it ran at 1 GHz
	began := amd64.ReadTSC()
	if !Hold() || Hold() {
		t.Fatal("Hold does not tell whether the clock went")
	}
	now := Now()
	time.Sleep(10 * time.Millisecond)
	if Now() != now {
		t.Error("Now goes on while the clock is held")
	}
	held := amd64.ReadTSC() - began
	Release()
	after, ran := Now(), amd64.ReadTSC()-began
	if after < now || after-now >= held {
		t.Errorf("Now goes from %d to %d over %d held ticks", now, after, held)
	}
	if w := uint64(Wall()); w < now+held-(after-now) || w > now+ran+uint64(second) {
		t.Errorf("Wall says %d, with Now at %d, after %d ticks", w, after, ran)
	}
}
