package profile

import (
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/percpu/percputest"
)

// TestLate: a tick that comes late by a millisecond and a tick counts for no stack if the program
// ran, and is marked if it was in a system call; a tick that is less late counts in full.
func TestLate(t *testing.T) {
	const stack, ms = 7, 1_000_000
	r := percputest.Use(t)
	for _, tt := range []struct {
		hz           uint64
		ran          uint64 // when the interrupt comes; the first tick is due after one interval
		inCall       bool
		plain, late  uint32
		stalledTicks uint64
	}{
		{1000, 1 * ms, false, 1, 0, 0},
		{1000, 19 * ms / 10, false, 1, 0, 0},
		{1000, 11 * ms, false, 1, 0, 10},
		{1000, 11 * ms, true, 1, 10, 0},
		{10, 101 * ms, false, 1, 0, 0},
		{10, 350 * ms, false, 1, 0, 2},
		{100_000, ms / 2, false, 50, 0, 0},
		{100_000, ms / 2, true, 50, 0, 0},
		{100_000, 2 * ms, false, 1, 0, 199},
		{100_000, 2 * ms, true, 1, 199, 0},
	} {
		var table [64]row
		on, used, ticks, samples, lost, stalled, cost = false, 0, 0, 0, 0, 0, 0
		Setup(uintptr(unsafe.Pointer(&table)), unsafe.Sizeof(table), tt.hz)
		Start(0)
		if w, _ := Due(interval - 1); w != 0 {
			t.Fatalf("%d ticks are due before the first", w)
		}
		w, late := Due(tt.ran)
		Count(stack, true, w, late, tt.inCall, 0)
		got := map[uint32]uint32{}
		for _, row := range table {
			if row.id != 0 {
				got[row.id] = row.count
			}
		}
		if got[stack] != tt.plain || got[stack|Late] != tt.late || stalled != tt.stalledTicks || lost != 0 {
			t.Errorf("%+v: %d, %d marked, %d in no stack", tt, got[stack], got[stack|Late], stalled)
		}
		if uint64(got[stack]+got[stack|Late])+stalled != ticks {
			t.Errorf("%+v: %d ticks", tt, ticks)
		}
		if Skip(5); Wait(tt.ran) != r.NextTick-tt.ran || r.NextTick%interval != 5 {
			t.Errorf("%+v: the next tick is due at %d", tt, r.NextTick)
		}
	}
}
