package why

import (
	"os"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

var boundSink int

//go:noinline
func panicsAlways(n int) { boundSink += n; panic("always") }

//go:noinline
func panicsBehindLoop(n int) {
	for range n {
		boundSink += n
	}
	panic("behind a loop")
}

//go:noinline
func panicsBehindIndex(n int) { boundSink = [4]int{1, 2, 3, 4}[n]; panic("behind an index") }

//go:noinline
func panicsPerhaps(n int) {
	if n > boundSink {
		return
	}
	panic("perhaps")
}

//go:noinline
func panicsEither(n int) {
	if n > boundSink {
		panic("one")
	}
	boundSink++
	panic("the other")
}

//go:noinline
func panicsBySwitch(n int, f func()) {
	switch n { // a jump by a register
	case 0:
		boundSink += 3
	case 1:
		boundSink *= 5
	case 2:
		boundSink -= 7
	case 3:
		boundSink /= 9
	case 4:
		boundSink |= 11
	case 5:
		boundSink &= 13
	case 6:
		f()
	case 7:
		boundSink ^= 15
	case 8:
		boundSink <<= 2
	}
	panic("by a switch")
}

// TestBound: whether a function had to come to its panic is seen in its code.
func TestBound(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := &Why{file: file}
	decode := func(pc uint64) x86asm.Inst {
		in, err := x86asm.Decode(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&pc))), 16), 64)
		if err != nil {
			t.Fatalf("%#x: %v", pc, err)
		}
		return in
	}
	for _, c := range []struct {
		f    any
		want []bool // by the panic, in the order of the code
	}{
		{panicsAlways, []bool{true}},
		{panicsBehindLoop, []bool{true}},
		{panicsBehindIndex, []bool{true}},
		{panicsPerhaps, []bool{false}},
		{panicsEither, []bool{false, false}},
		{panicsBySwitch, []bool{false}},
	} {
		start := uint64(reflect.ValueOf(c.f).Pointer())
		name := runtime.FuncForPC(uintptr(start)).Name()
		var got []bool
		for pc := start; ; {
			if s, ok := file.FuncStart(pc); !ok || s != start {
				break
			}
			in := decode(pc)
			next := pc + uint64(in.Len)
			if rel, ok := in.Args[0].(x86asm.Rel); ok && in.Op == x86asm.CALL {
				if f := file.Lookup(next+uint64(int64(rel)), false); len(f) > 0 && f[0].Function == fnPanic {
					got = append(got, w.bound(start, pc, decode))
				}
			}
			pc = next
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}
