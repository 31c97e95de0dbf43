package inspect

import (
	"slices"
	"testing"
)

// TestWhole: of any beginning of a batch the whole events are left, and no more.
// Kinds of events that are only looked over, and states of processors and goroutines.
const (
	evProcStop    = 11
	evProcStatus  = 13
	evGoBlock     = 20
	evLog         = 44
	evStatusStack = 48

	procIdle  = 2
	goWaiting = 4
)

func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events [][]byte
	}{
		{"events", [][]byte{
			appendEvent(nil, evProcStatus, 300, 7, procIdle), appendEvent(nil, evGoBlock, 1<<40, 5, 0), appendEvent(nil, evProcStop, 2),
			appendEvent(nil, evLog, 1, 0, 200, 300, 1<<20), appendEvent(nil, evStatusStack, 1, 2, noThread, goWaiting, 3),
		}},
		{"strings", [][]byte{
			{evStrings}, append(appendEvent(nil, evString, 1, 5), "hello"...), appendEvent(nil, evString, 200, 0), append(appendEvent(nil, evString, 3, 1), 7),
		}},
	} {
		all := slices.Concat(tt.events...)
		for n := range len(all) + 1 {
			want, i := 0, 0
			for i < len(tt.events) && want+len(tt.events[i]) <= n {
				want += len(tt.events[i])
				i++
			}
			if got := len(wholeEvents(all[:n])); got != want {
				t.Errorf("%s: of %d bytes %d are whole events, not %d", tt.name, n, got, want)
			}
		}
	}
	// What is no event ends them.
	if got := wholeEvents([]byte{evProcStop, 1, 200, 1, 1}); len(got) != 2 {
		t.Errorf("% x is left", got)
	}
}
