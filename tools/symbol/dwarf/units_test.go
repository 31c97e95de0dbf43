package dwarf

import (
	"runtime"
	"slices"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// TestUnitsAtOnce: the headers of all units are found the same whether they are looked for from one
// place on or from several, and whatever is said of where they are.
func TestUnitsAtOnce(t *testing.T) {
	const units = 600
	var info []byte
	var want []uint64
	for i := range units {
		want = append(want, uint64(len(info)))
		n := 11 + i%7
		info = append(info, byte(n), 0, 0, 0)
		info = append(info, make([]byte, n)...)
	}
	f := openProgram(t)
	open := func(info []byte) *Data { return &Data{File: f, info: elf.FixedContents(f, info)} }
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	off := slices.Clone(want)
	for i := range off {
		off[i] += 2
	}
	for name, told := range map[string][]uint64{"none": nil, "all": want, "wrong": off, "the first": make([]uint64, units)} {
		if got := open(info).allUnitsWith(told); !slices.Equal(got, want) {
			t.Errorf("%s: %d units, want %d", name, len(got), units)
		}
		// The 400th is cut, and what follows it is lost.
		cut := info[:want[400]+5]
		if got := open(cut).allUnitsWith(told[:min(len(told), 400)]); !slices.Equal(got, want[:400]) {
			t.Errorf("%s, cut: %d units, want 400", name, len(got))
		}
	}
}
