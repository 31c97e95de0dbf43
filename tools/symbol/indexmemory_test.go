package symbol

import (
	"bytes"
	"io"
	"math/rand"
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
		for len(addrs) < manyAddresses/4 {
			addrs = append(addrs, addrs...)
		}
		want := [2][][]lookup.Call{plain.LookupAll(addrs[:manyAddresses/8], false), plain.LookupAll(addrs[:manyAddresses/8], true)}
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
			if i == 39 && f.made.Load() == nil && f.asked.Load() >= manyAddresses {
				t.Errorf("%s: no index after %d addresses of %d units, each of %d units read %d times", name,
					f.asked.Load(), f.unitsRead.Load(), f.dwarfData().CodeUnits(), f.unitsRead.Load())
			}
		}
	}
}

// TestExpect: who says that much will be asked has an index at once, and the same answers; not for a
// few addresses, whatever is expected.
func TestExpect(t *testing.T) {
	path := buildMany(t)
	f, plain := openTest(t, path), openTest(t, path)
	addrs := askedOf(plain, 20000)
	f.Expect(1 << 20)
	f.LookupAll(addrs[:2], false)
	f.Expect(0)
	f.LookupAll(addrs, false)
	if f.made.Load() != nil {
		t.Error("an index for what is not worth one")
	}
	f.Expect(1 << 20)
	for _, ret := range [...]bool{false, true} {
		got, want := f.LookupAll(addrs, ret), plain.LookupAll(addrs, ret)
		for i, w := range want {
			if !reflect.DeepEqual(got[i], w) && len(got[i])+len(w) > 0 {
				t.Fatalf("LookupAll(%#x, %v) = %+v; want %+v", addrs[i], ret, got[i], w)
			}
		}
	}
	if f.made.Load() == nil {
		t.Error("no index")
	}
}

// TestMemoryFile: what is written in pieces of any size is read so.
func TestMemoryFile(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	want := make([]byte, 3*memoryPart+7)
	r.Read(want)
	m := new(memoryFile)
	for rest := want; len(rest) > 0; {
		n := min(r.Intn(2*memoryPart), len(rest))
		if k, err := m.Write(rest[:n]); k != n || err != nil {
			t.Fatal(k, err)
		}
		rest = rest[n:]
	}
	copy(want[memoryPart-2:], "over")
	if _, err := m.WriteAt([]byte("over"), memoryPart-2); err != nil {
		t.Error(err)
	}
	for range 100 {
		at := r.Intn(len(want))
		got := make([]byte, r.Intn(len(want)-at+1))
		if n, err := m.ReadAt(got, int64(at)); n != len(got) || err != nil || !bytes.Equal(got, want[at:at+n]) {
			t.Fatalf("%d bytes at %d: %d, %v", len(got), at, n, err)
		}
	}
	if n, err := m.ReadAt(make([]byte, 9), int64(len(want)-7)); n != 7 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if _, err := m.WriteAt([]byte("past"), int64(len(want)-1)); err == nil {
		t.Error("written past the end")
	}
}

// TestMemoryIndexStopped: the making ends with the context that it is for.
func TestMemoryIndexStopped(t *testing.T) {
	f := openTest(t, buildMany(t))
	addrs := askedOf(f, 20000)
	for len(addrs) < manyAddresses/4 {
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
