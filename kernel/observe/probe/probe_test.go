package probe

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu/percputest"
	"github.com/zeroframe/zeroframe/tracer/stream"

	host "github.com/zeroframe/zeroframe/tools/format/probe"
)

// memory returns zeroed memory, as the kernel's function does.
func memory(size uintptr) uintptr {
	b, err := syscall.Mmap(-1, 0, int(size+4095)&^4095, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return 0
	}
	return uintptr(unsafe.Pointer(&b[0]))
}

// setUp prepares the package for that many functions, without places.
func setUp(t *testing.T, functions uint32) {
	t.Helper()
	percputest.Use(t)
	numFuncs, hits, stacks = functions, 0, false
	if !setCounts(memory) {
		t.Fatal("no memory")
	}
}

// goroutine is a goroutine of a model program: a g with a stack, in memory of its own.
type goroutine struct {
	tls    uintptr
	size   uintptr
	frames []modelFrame
}

type modelFrame struct {
	function uint32
	off      uintptr
	began    uint64
}

func newGoroutine(mem uintptr) *goroutine {
	g := &goroutine{tls: mem + 8, size: 1 << 20}
	word(mem, mem+16)
	g.move(0x10_0000)
	return g
}

func word(at, v uintptr) { *(*uintptr)(arch.Pointer(at)) = v }

// move gives the goroutine another stack.
func (g *goroutine) move(lo uintptr) {
	word(g.tls+8, lo)
	word(g.tls+16, lo+g.size)
}

// at returns a trap frame of the goroutine whose RSP is off below the upper end.
func (g *goroutine) at(off uintptr) *arch.TrapFrame {
	hi := *(*uintptr)(arch.Pointer(g.tls + 16))
	return &arch.TrapFrame{TLS: g.tls, SP: hi - off}
}

// TestModel runs random programs, and counts what they do.
func TestModel(t *testing.T) {
	const functions = 7
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		setUp(t, functions)
		var want [functions]counts
		mem := memory(1 << 16)
		var gs []*goroutine
		for i := range 5 {
			gs = append(gs, newGoroutine(mem+uintptr(i)*4096))
		}
		now := uint64(1000)
		for range 5000 {
			now += uint64(r.IntN(1000))
			g := gs[r.IntN(len(gs))]
			depth := uintptr(16)
			if n := len(g.frames); n > 0 {
				depth = g.frames[n-1].off
			}
			switch k := r.IntN(20); {
			case k < 9 && len(g.frames) < 60: // a call, from a function that is probed or not
				f := modelFrame{uint32(r.IntN(functions)), depth + 8 + 8*uintptr(r.IntN(100)), now}
				want[f.function].calls++
				enter(f.function, g.at(f.off), now)
				g.frames = append(g.frames, f)
			case k < 17 && len(g.frames) > 0:
				f := g.frames[len(g.frames)-1]
				g.frames = g.frames[:len(g.frames)-1]
				c, kind := &want[f.function], uint8(Return)
				if k == 16 {
					kind = Tail
					c.tails++
				} else {
					c.returns++
				}
				took := now - f.began
				c.ticks += took
				c.most = max(c.most, took)
				if c.timed == 0 || took < c.least {
					c.least = took
				}
				c.timed++
				c.histogram[Bucket(took)]++
				leave(f.function, kind, g.at(f.off), now)
			case k == 17 && len(g.frames) > 1: // a function further out recovers from a panic
				n := r.IntN(len(g.frames)-1) + 1
				for _, f := range g.frames[n:] {
					want[f.function].unwound++
				}
				g.frames = g.frames[:n]
				// The package notices the panic at the next call or return there.
				f := modelFrame{uint32(r.IntN(functions)), g.frames[n-1].off + 8, now}
				want[f.function].calls++
				enter(f.function, g.at(f.off), now)
				g.frames = append(g.frames, f)
			case k == 18:
				g.move(0x10_0000 + uintptr(r.IntN(1000))<<21)
			}
		}
		countOpen()
		for i := range want {
			for _, g := range gs {
				for _, f := range g.frames {
					if int(f.function) == i {
						want[i].open++
					}
				}
			}
			if got := *countsOf(uint32(i)); got != want[i] {
				t.Fatalf("seed %d, function %d:\n%+v\nwant\n%+v", seed, i, got, want[i])
			}
		}
	}
}

// TestOtherStack: while a signal handler runs, RSP is not in the g's stack.
func TestOtherStack(t *testing.T) {
	setUp(t, 2)
	g := newGoroutine(memory(4096))
	enter(0, g.at(100), 0)
	on := &arch.TrapFrame{TLS: g.tls, SP: 0x7000_0000}
	enter(1, on, 10)
	leave(1, Return, on, 30)
	leave(0, Return, g.at(100), 50)
	noG := &arch.TrapFrame{SP: 0x7000}
	noG.TLS = memory(4096) + 8
	enter(0, noG, 60)
	leave(0, Return, noG, 70)
	if a, b := countsOf(0), countsOf(1); a.returns != 2 || a.ticks != 60 || b.ticks != 20 || a.unwound+b.unwound != 0 {
		t.Errorf("the handler's function %+v; the goroutine's %+v", b, a)
	}
	if freeStack == 0 || *headOf(g.tls + 8) != 0 {
		t.Error("stacks without open calls are kept")
	}
}

// TestFull: when the room is full, calls are counted but not timed.
func TestFull(t *testing.T) {
	setUp(t, 1)
	g := newGoroutine(memory(4096))
	g.size = 1 << 30
	g.move(1 << 32)
	const calls = maxOpen + 100
	for i := range uintptr(calls) {
		enter(0, g.at(16+8*i), uint64(i))
	}
	c := countsOf(0)
	if c.calls != calls || c.untimed != calls-maxOpen {
		t.Errorf("%d calls, %d untimed; want %d, and all but %d", c.calls, c.untimed, calls, maxOpen)
	}
	untimed := c.untimed
	for i := uintptr(calls); i > 0; i-- {
		leave(0, Return, g.at(16+8*(i-1)), calls)
	}
	if c.returns != calls || c.timed != calls-untimed || c.unwound != 0 {
		t.Errorf("%d returns, %d timed, %d unwound; want %d, %d, 0", c.returns, c.timed, c.unwound, calls, calls-untimed)
	}
	for range maxStacks + 50 {
		enter(0, newGoroutine(memory(4096)).at(16), 0)
	}
	if c.untimed <= untimed {
		t.Error("more stacks than there is room for are timed")
	}
}

// TestEmulate compares the emulation with the instructions' effects.
func TestEmulate(t *testing.T) {
	mem := memory(4096)
	f := &arch.TrapFrame{PC: 0x1000, SP: mem + 64, FP: 0x1234}
	if !emulate(&Place{Action: ActPushBP, Len: 1}, f) || f.PC != 0x1001 || f.SP != mem+56 || *(*uintptr)(arch.Pointer(mem + 56)) != 0x1234 {
		t.Errorf("PUSH RBP: %+v", f)
	}
	word(mem+56, 0x4444)
	if !emulate(&Place{Action: ActRet, Len: 1}, f) || f.PC != 0x4444 || f.SP != mem+64 {
		t.Errorf("RET: %+v", f)
	}
	if !emulate(&Place{Action: ActJump, Len: 5, Arg: -0x100}, f) || f.PC != 0x4444+5-0x100 {
		t.Errorf("JMP: %+v", f)
	}
	if emulate(&Place{Action: ActStep, Len: 1}, f) {
		t.Error("what is to be stepped over is emulated")
	}
}

// TestFormats: this package and the host use the same numbers.
func TestFormats(t *testing.T) {
	if File != host.File || Kind != host.Kind || MaxFunctions != host.MaxFunctions || MaxPlaces != host.MaxPlaces ||
		Entry != host.Entry || Return != host.Return || Tail != host.Tail {
		t.Error("a constant differs from tools/format/probe's")
	}
	table := host.PlanOf([]host.Function{{Name: "f", Places: []host.Place{{Addr: 0x20_0010, Kind: Entry}}}, {Name: "g", Places: []host.Place{{Addr: 0x20_0020, Kind: Tail}}}}, 0x20_0000).Table(true)
	h := (*header)(unsafe.Pointer(&table[0]))
	if !begins(&h.magic) || h.functions != 2 || h.sites != 2 || h.flags != FlagStacks || h.buildIDLen != 0 {
		t.Errorf("the table's header is %+v", *h)
	}
	p := (*Place)(unsafe.Pointer(&table[unsafe.Sizeof(header{})+unsafe.Sizeof(Place{})]))
	if want := (Place{Offset: 0x20, Function: 1, Kind: Tail}); *p != want {
		t.Errorf("the second place is %+v; want %+v", *p, want)
	}
}

// TestRecord: the host can read this package's record.
func TestRecord(t *testing.T) {
	setUp(t, 3)
	g := newGoroutine(memory(4096))
	for i := range uint64(100) {
		enter(1, g.at(100), i*10)
		leave(1, Return, g.at(100), i*10+i*1000)
	}
	enter(2, g.at(100), 0)
	var data []byte
	w := &stream.Writer{Frames: true, Out: func(piece []byte) {
		kind, n := int(piece[5]), int(binary.LittleEndian.Uint16(piece[6:]))
		at := 16 + kind
		if piece[4] == 1 {
			at += 12
		}
		data = append(data, piece[at:at+n]...)
	}}
	w.Begin(Kind)
	Write(w, 1e9)
	w.End()
	plan := host.PlanOf([]host.Function{{Name: "unused"}, {Name: "f"}, {Name: "g"}}, 0)
	rep, err := plan.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Functions) != 2 {
		t.Fatalf("%d functions; want 2", len(rep.Functions))
	}
	f, last := rep.Functions[0], rep.Functions[1]
	if f.Function != "f" || f.Calls != 100 || f.Returns != 100 || f.Total != 4950000 || f.Mean != 49500 || f.Min != 0 || f.Max != 99000 {
		t.Errorf("f: %+v", f)
	}
	if f.P50 < 44000 || f.P50 > 58000 || f.P99 < 90000 || f.P99 > 99000 {
		t.Errorf("p50 %v, p99 %v; want about 50 us and 99 us", f.P50, f.P99)
	}
	if last.Function != "g" || last.Open != 1 || last.Timed != 0 {
		t.Errorf("g: %+v", last)
	}
	for n := range data {
		if _, err := plan.Read(data[:n]); err == nil {
			t.Errorf("a record cut to %d of %d bytes is read", n, len(data))
		}
	}
}

// TestBuckets: each number is in the bucket that the host takes.
func TestBuckets(t *testing.T) {
	last := -1
	for _, v := range []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 100, 1000, 1 << 20, 1 << 39, 1<<40 - 1} {
		b := Bucket(v)
		if b < last || host.Lowest(uint64(b)) > v || host.Lowest(uint64(b)+1) <= v {
			t.Errorf("Bucket(%d) = %d, from %d; the next from %d", v, b, host.Lowest(uint64(b)), host.Lowest(uint64(b)+1))
		}
		last = b
	}
	if Bucket(1<<63) != Buckets-1 {
		t.Errorf("Bucket(1<<63) = %d; want the last", Bucket(1<<63))
	}
}

// TestDamagedTable: a damaged table is refused before anything is changed.
func TestDamagedTable(t *testing.T) {
	text := memory(4096)
	good := host.PlanOf([]host.Function{{Name: "f", Places: []host.Place{{Addr: uint64(text) + 16}}}}, uint64(text)).Table(false)
	for what, change := range map[string]func(b []byte) []byte{
		"cut":              func(b []byte) []byte { return b[:len(b)-1] },
		"short":            func(b []byte) []byte { return b[:20] },
		"another magic":    func(b []byte) []byte { b[0] = 'x'; return b },
		"many places":      func(b []byte) []byte { b[15] = 1; return b },
		"another build":    func(b []byte) []byte { b[20] = 20; return b },
		"another byte":     func(b []byte) []byte { b[len(b)-2] = 0x55; return b },
		"an unknown owner": func(b []byte) []byte { b[len(b)-12] = 9; return b },
		"out of the text":  func(b []byte) []byte { b[len(b)-14] = 1; return b },
	} {
		on = false
		b := change(append([]byte(nil), good...))
		if wrong := Start(uintptr(reflect.ValueOf(b).Pointer()), uintptr(len(b)), text, text+4096, nil, memory); wrong == "" || on {
			t.Errorf("%s: the table is taken", what)
		}
	}
	b := good
	none := func(uintptr) uintptr { return 0 }
	if wrong := Start(uintptr(reflect.ValueOf(b).Pointer()), uintptr(len(b)), text, text+4096, nil, none); wrong != "there is not enough RAM for the probes" {
		t.Errorf("without memory: %q", wrong)
	}
}
