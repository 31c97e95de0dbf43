package symbol

import (
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// TestConcurrent: goroutines that ask one File everything at once get the answers that
// one gets alone. `make test-symbol` runs it with the race detector.
func TestConcurrent(t *testing.T) {
	for _, path := range []string{
		buildC(t, "-g"), buildC(t, "-s"), buildGo(t, "testdata/gosample", ""), filepath.Join("testdata", "objects", "riscv64.o"),
	} {
		alone := openTest(t, path)
		addrs := textAddrs(alone, alone.TextSpans()[0].High/4000+1)
		want := make([][]lookup.Call, len(addrs))
		for i, addr := range addrs {
			want[i] = alone.Lookup(addr, true)
		}
		f := openTest(t, path)
		var wait sync.WaitGroup
		for n := range 8 {
			wait.Go(func() {
				switch n {
				case 0:
					if got := f.LookupAll(addrs, true); !reflect.DeepEqual(got, want) {
						t.Errorf("%s: LookupAll has other answers", path)
					}
				case 1:
					n := 0
					for fn := range f.Functions() {
						f.Named(fn.Name)
						if n++; n > 50 {
							break
						}
					}
				case 2:
					f.CanResolve()
					f.BuildID()
				case 3:
					f.MapSymbols()
					f.Code()
				default:
					for i, addr := range slices.Backward(addrs) {
						if got := f.Lookup(addr, true); !equalFrames(got, want[i]) {
							t.Errorf("%s: Lookup(%#x) = %+v; want %+v", path, addr, got, want[i])
							return
						}
						f.FullNamesAll([]uint64{addr}, [][]lookup.Call{f.Lookup(addr, false)})
						f.SPDelta(addr)
						f.Nearest(addr)
						f.Preceding(addr)
					}
				}
			})
		}
		wait.Wait()
	}
}
