package why

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestSuspect: the operand is suspected that has a value as never before, if its earlier one would
// have done no harm, and none where that is true of several, or of a counter.
func TestSuspect(t *testing.T) {
	below := func(limit uint64, bad ...uint64) func(j int, v uint64) (bool, bool) {
		return func(j int, v uint64) (bool, bool) { return bad[1-j]+v < limit, true }
	}
	unknown := func(int, uint64) (bool, bool) { return false, false }
	for _, c := range []struct {
		name   string
		bad    []uint64
		rounds [][]uint64
		heals  func(int, uint64) (bool, bool)
		want   int
	}{
		{"no rounds", []uint64{13, 3}, nil, below(15, 13, 3), -1},
		{"the first is new", []uint64{13, 3}, [][]uint64{{2, 5}, {2, 3}, {2, 4}}, below(15, 13, 3), 0},
		{"the second is new", []uint64{3, 13}, [][]uint64{{5, 2}, {2, 2}}, below(15, 3, 13), 1},
		{"both are new, one heals", []uint64{5, 24}, [][]uint64{{10, 2}, {10, 2}}, below(15, 5, 24), 1},
		{"both are new, both heal", []uint64{9, 9}, [][]uint64{{1, 1}, {2, 1}}, below(15, 9, 9), -1},
		{"both are as ever", []uint64{9, 9}, [][]uint64{{9, 1}, {1, 9}}, below(15, 9, 9), -1},
		{"a counter goes on", []uint64{10, 5}, [][]uint64{{10, 3}, {10, 4}}, below(15, 10, 5), -1},
		{"new, but it would have died anyway", []uint64{13, 30}, [][]uint64{{2, 30}, {2, 1}}, below(15, 13, 30), -1},
		{"new, as far as is known", []uint64{13, 3}, [][]uint64{{2, 3}, {2, 3}}, unknown, 0},
		{"two are new, and no more is known", []uint64{13, 4}, [][]uint64{{2, 3}, {2, 3}}, unknown, -1},
	} {
		if got := suspect(c.bad, c.rounds, c.heals); got != c.want {
			t.Errorf("%s: operand %d; want %d", c.name, got, c.want)
		}
	}
}

// TestAlone: an index that is less than 0 is off, whatever its bound. Of another one rounds tell in
// which the death would not have come with the bound of then.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		name         string
		index, bound uint64
		rounds       [][]uint64
		want         int
		either       bool
	}{
		{"less than 0", ^uint64(0), 7, nil, 0, true},
		{"too much, or too little", 1282, 320, nil, -1, true},
		{"an empty table", 0, 0, nil, -1, true},
		{"the bound was as now", 20, 20, [][]uint64{{18, 20}, {19, 20}}, -1, false},
		{"the bound was larger", 20, 20, [][]uint64{{3, 100}, {19, 20}}, -1, true},
	} {
		bad := []uint64{c.index, c.bound}
		heals := []verdict{func(v uint64) bool { return v < c.bound }, func(v uint64) bool { return c.index < v }}
		if got, either := alone(bad, heals), neitherCleared(c.rounds, heals); got != c.want || either != c.either {
			t.Errorf("%s: operand %d, %v; want %d, %v", c.name, got, either, c.want, c.either)
		}
	}
}

// TestEither: nobody is named where one of two changes is off; a package's initialization is none.
func TestEither(t *testing.T) {
	for bound, culprit := range map[string]string{"main.init": "main.shuffle", "main.grow": ""} {
		s := &Story{either: true}
		for i, function := range []string{bound, "main.shuffle"} {
			s.Causes = append(s.Causes, Cause{Hops: []Hop{{Function: function, Own: true, How: "computed", Count: uint64(i + 1)}}})
		}
		s.blame()
		if got := s.Culprit; (got == nil) != (culprit == "") || got != nil && got.Function != culprit || got == nil && len(s.OneOf) != 2 {
			t.Errorf("a bound of %s: %+v, one of %+v; want %q", bound, got, s.OneOf, culprit)
		}
	}
}

// TestRemade: what an instruction would have made of another operand.
func TestRemade(t *testing.T) {
	w := new(Why)
	for _, c := range []struct {
		code    string
		from    []place
		j       int
		v, want uint64
		known   bool
	}{
		{"48 01 c8", []place{register(rax), register(rcx)}, 1, 5, 0x1005, true},             // ADDQ CX, AX
		{"48 29 c8", []place{register(rax), register(rcx)}, 1, 5, 0xffb, true},              // SUBQ CX, AX
		{"48 0f af c1", []place{register(rax), register(rcx)}, 0, 3, 0x6000, true},          // IMULQ CX, AX
		{"48 8d 44 c8 07", []place{register(rax), register(rcx)}, 1, 2, 0x1017, true},       // LEAQ 7(AX)(CX*8), AX
		{"48 83 c0 ff", []place{register(rax)}, 0, 5, 4, true},                              // ADDQ $-1, AX
		{"48 c1 e0 04", []place{register(rax)}, 0, 5, 0x50, true},                           // SHLQ $4, AX
		{"48 01 c0", []place{register(rax)}, 0, 5, 0, false},                                // ADDQ AX, AX
		{"48 21 c8", []place{register(rax), register(rcx)}, 0, 3, 0, false},                 // ANDQ CX, AX
		{"83 c0 ff", []place{{kind: inRegister, reg: rax, size: 4}}, 0, 0, 1<<32 - 1, true}, // ADDL $-1, AX
	} {
		e := at(t, 0x1000, c.code)
		var bad []uint64
		for _, p := range c.from {
			bad = append(bad, e.gpr[p.reg])
		}
		if got, known := w.remade([]entry{e}, 0, c.from, bad, c.j, c.v); got != c.want || known != c.known {
			t.Errorf("%v: %#x, %v; want %#x, %v", e.inst, got, known, c.want, c.known)
		}
	}
}

// TestHolds: conditional jumps take numbers for signed or unsigned, of their size.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		op         x86asm.Op
		a, b, size uint64
		want       bool
	}{
		{x86asm.JA, 1<<64 - 1, 5, 8, true}, {x86asm.JG, 1<<64 - 1, 5, 8, false}, {x86asm.JB, 4, 5, 8, true}, {x86asm.JL, 0xfffffffe, 1, 4, true},
		{x86asm.JAE, 5, 5, 8, true}, {x86asm.JBE, 6, 5, 8, false}, {x86asm.JE, 1<<32 + 5, 5, 4, true}, {x86asm.JNE, 1<<32 + 5, 5, 8, true}, {x86asm.JGE, 5, 6, 8, false}, {x86asm.JLE, 5, 5, 1, true},
	} {
		if got, known := holds(c.op, c.a, c.b, c.size); got != c.want || !known {
			t.Errorf("%v of %#x and %#x: %v, %v", c.op, c.a, c.b, got, known)
		}
	}
	if _, known := holds(x86asm.JO, 1, 2, 8); known {
		t.Error("JO is known")
	}
}

// TestUnit: a copy counts as one instruction, from which each byte comes from its place in the
// source; one in whose midst the path begins has its entry still to be found.
func TestUnit(t *testing.T) {
	w := &Why{memmove: 0x1000}
	e := at(t, 0x1000, "48 89 c7") // MOVQ AX, DI
	e.gpr[rax], e.gpr[rbx], e.gpr[rcx] = 0x8010, 0x8000, 1000
	d, ok := w.unit([]entry{e}, 0, place{kind: inMemory, addr: 0x8200, size: 8})
	if want := (place{kind: inMemory, addr: 0x81f0, size: 8}); !ok || d.source != want {
		t.Errorf("%+v, %v; want %+v", d, ok, want)
	}
	d, ok = w.unit([]entry{e}, 0, place{kind: inMemory, addr: 0x83f4, size: 8})
	if want := (place{kind: inMemory, addr: 0x83e4, size: 4}); !ok || d.source != want || d.rest.size != 4 {
		t.Errorf("at the end: %+v, %v; want %+v", d, ok, want)
	}
	if _, ok = w.unit([]entry{e}, 0, place{kind: inMemory, addr: 0x83f8, size: 8}); ok {
		t.Error("it has written what is behind it")
	}
}

// TestWrote: where string instructions have written, by the registers behind them.
func TestWrote(t *testing.T) {
	e := at(t, 0x1000, "f3 48 a5") // REP MOVSQ
	e.gpr[rdi] = 0x9008
	for _, c := range []struct{ flags, want uint64 }{{0, 0x9000}, {1 << 10, 0x9010}} {
		e.flags = c.flags
		if p, ok := e.wrote(&e.inst); !ok || p.addr != c.want || p.size != 8 {
			t.Errorf("flags %#x: %+v, %v; want %#x", c.flags, p, ok, c.want)
		}
	}
}
