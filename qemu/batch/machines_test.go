package batch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeResult is a machine whose number is odd, or not.
type fakeResult struct {
	Sent
	odd bool
}

func (r *fakeResult) Line() (string, bool) { return "odd", r.odd }

// TestMachines: the table has all machines up to the first that is missing, and is written as
// they are booted.
func TestMachines(t *testing.T) {
	stop := errors.New("stop")
	m := Machines[*fakeResult]{
		Name: "fake", Corner: "seed", Columns: []string{"even", "odd"}, Rows: []string{"machines", "twice"},
		Column: func(r *fakeResult) int { return If(r.odd) },
		Count:  func(*fakeResult) []int { return []int{1, 2} },
		Boot: func(_ context.Context, _ *Lab, seed uint64, n int) (*fakeResult, error) {
			if n == 203 {
				return nil, stop
			}
			return &fakeResult{Sent{"serial"}, uint64(n)%2 != seed%2}, nil
		},
	}
	s := Settings{N: 200, First: 100, Parallel: 2, Seed: 2, out: filepath.Join(t.TempDir(), "table")}
	var progress strings.Builder
	results, err := m.Sweep(t.Context(), nil, s, &progress)
	if !errors.Is(err, stop) || !strings.HasPrefix(err.Error(), "machine 203: ") || len(results) < 100 || len(results) > 103 {
		t.Errorf("%d results, %v; want those up to machine 203", len(results), err)
	}
	if results[0].Serial != "" || !strings.Contains(progress.String(), "101\todd\n") || !strings.Contains(progress.String(), "100/200 machines") {
		t.Errorf("the progress is\n%s", progress.String())
	}
	written, err := os.ReadFile(s.out)
	if err != nil || !strings.HasPrefix(string(written), "fake: ") {
		t.Errorf("the file has %.20q, %v", written, err)
	}
	const want = "fake: 3 of 200 machines, from 100, seed 2\n\n" +
		"      seed  even  odd  all\n  machines     2    1    3\n     twice     4    2    6\n\n101\todd\n"
	if got := m.Table(results[:3], s); got != want {
		t.Errorf("the table is\n%swant\n%s", got, want)
	}
}
