package symbol

import (
	"reflect"
	"testing"

	"github.com/zeroframe/zeroframe/tools/lookup"
)

// TestMemoryIndex: who asks for many addresses again and again has an index made in memory, not
// before, and the answers stay the same.
func TestMemoryIndex(t *testing.T) {
	for name, path := range map[string]string{
		"many units": buildMany(t), "C++": buildCpp(t, "-O2", "-ffunction-sections"),
		"without symbols": changed(t, buildC(t, "-g"), "--strip-all", "--keep-section=.debug_*"),
	} {
		f, plain := openTest(t, path), openTest(t, path)
		addrs := askedOf(plain, 20000)
		for len(addrs) < manyAddresses {
			addrs = append(addrs, addrs...)
		}
		want := [2][][]lookup.Call{plain.LookupAll(addrs[:manyAddresses/2], false), plain.LookupAll(addrs[:manyAddresses/2], true)}
		if plain.made.Load() != nil {
			t.Errorf("%s: an index for two small batches", name)
		}
		for i := range 40 {
			got := f.LookupAll(addrs, i%2 == 1)
			if i == 0 && f.made.Load() != nil {
				t.Errorf("%s: an index for one batch", name)
			}
			for k, w := range want[i%2] {
				if !reflect.DeepEqual(got[k], w) && len(got[k])+len(w) > 0 {
					t.Fatalf("%s, batch %d: LookupAll(%#x) = %+v; want %+v", name, i, addrs[k], got[k], w)
				}
			}
			// It is of use only where DWARF is asked so often.
			if i == 39 && f.made.Load() == nil && f.asked.Load() >= 4*manyAddresses {
				t.Errorf("%s: no index after %d addresses of %d units, each of %d units read %d times", name,
					f.asked.Load(), f.unitsRead.Load(), f.dwarfData().CodeUnits(), f.unitsRead.Load())
			}
		}
	}
}

// TestMemoryIndexStopped: the making ends with the context that it is for.
func TestMemoryIndexStopped(t *testing.T) {
	f := openTest(t, buildMany(t))
	addrs := askedOf(f, 20000)
	for len(addrs) < manyAddresses {
		addrs = append(addrs, addrs...)
	}
	f.LookupAll(addrs, false)
	f.asked.Store(4 * manyAddresses)
	f.unitsRead.Store(1 << 30)
	stop := make(chan struct{})
	close(stop)
	f.lookupAll(addrs, false, stop)
	if f.made.Load() != nil {
		t.Error("an index that nobody waits for was made")
	}
}
