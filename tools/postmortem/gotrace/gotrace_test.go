package gotrace

import (
	"slices"
	"testing"
)

// TestWhole: of any beginning of a batch the whole events are left, and no more.
func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events [][]byte
	}{
		{"events", [][]byte{
			AppendEvent(nil, ProcStatus, 300, 7, ProcIdle), AppendEvent(nil, GoBlock, 1<<40, 5, 0), AppendEvent(nil, ProcStop, 2),
			AppendEvent(nil, Log, 1, 0, 200, 300, 1<<20), AppendEvent(nil, StatusStack, 1, 2, NoThread, GoWaiting, 3),
		}},
		{"strings", [][]byte{
			{Strings}, append(AppendEvent(nil, String, 1, 5), "hello"...), AppendEvent(nil, String, 200, 0), append(AppendEvent(nil, String, 3, 1), 7),
		}},
	} {
		all := slices.Concat(tt.events...)
		for n := range len(all) + 1 {
			want, i := 0, 0
			for i < len(tt.events) && want+len(tt.events[i]) <= n {
				want += len(tt.events[i])
				i++
			}
			if got := len(Whole(all[:n])); got != want {
				t.Errorf("%s: of %d bytes %d are whole events, not %d", tt.name, n, got, want)
			}
		}
	}
	// What is no event ends them.
	if got := Whole([]byte{ProcStop, 1, 200, 1, 1}); len(got) != 2 {
		t.Errorf("% x is left", got)
	}
}
