package symbol

import (
	"cmp"
	"math/rand"
	"slices"
	"testing"
)

func TestSortByAddr(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, mask := range []uint64{0, 1, 0xff, 0xff00ff, 1<<40 - 1, ^uint64(0)} {
		for _, n := range []int{0, 1, 2, 3, 1000} {
			list := make([]funcSymbol, n)
			for i := range list {
				list[i] = funcSymbol{addr: r.Uint64()&mask | 0x40<<56&^mask, index: uint32(i)}
			}
			want := slices.Clone(list)
			slices.SortStableFunc(want, func(a, b funcSymbol) int { return cmp.Compare(a.addr, b.addr) })
			if sortByAddr(list); !slices.Equal(list, want) {
				t.Errorf("%d addresses under %#x are not in order", n, mask)
			}
		}
	}
}
