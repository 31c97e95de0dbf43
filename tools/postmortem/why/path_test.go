package why

import "testing"

// TestLeadsTo: an instruction has led to where it goes by what it is; a step that has delivered an
// interrupt or an exception instead went to another stack, or pushed more than a call.
func TestLeadsTo(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		pc         uint64
		grown      int64 // RSP, in bytes
		want       bool
	}{
		{"next", "48 8b 48 10", 0x1004, 0, true},
		{"push", "50", 0x1001, -8, true},
		{"fault", "48 8b 48 10", 0x2000, -48, false},
		{"interrupt on another stack", "31 d2", 0x2000, 0x5000, false},
		{"jump", "74 10", 0x1012, 0, true},
		{"interrupt before a jump", "74 10", 0x2000, -40, false},
		{"call", "e8 00 01 00 00", 0x1105, -8, true},
		{"interrupt before a call", "e8 00 01 00 00", 0x2000, -40, false},
		{"return", "c3", 0x3000, 8, true},
		{"interrupt before a return", "c3", 0x2000, -48, false},
		{"round of a repetition", "f3 48 ab", 0x1000, 0, true},
		{"interrupt before a repetition", "f3 48 ab", 0x2000, -40, false},
		{"halt and interrupt", "f4", 0x2000, -40, false}, // which has run: its count tells
	} {
		e := at(t, 0x1000, tt.code)
		next := entry{pc: tt.pc, state: e.state}
		next.gpr[rsp] += uint64(tt.grown)
		if got := e.leadsTo(&next); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestUninterrupted: what an interrupt has run is not on the way of a register's value, which the
// kernel has put back; a word in memory that it has written is not taken for what it was before.
func TestUninterrupted(t *testing.T) {
	raw := []entry{
		at(t, 0x1000, "b9 1d 00 00 00"), // MOVL $29, CX
		at(t, 0x1005, "48 89 48 20"),    // MOVQ CX, 0x20(AX), to 0x1020: not run
		at(t, 0x2000, "51"),             // PUSHQ CX
		at(t, 0x2001, "48 89 48 30"),    // MOVQ CX, 0x30(AX), to 0x1030
		at(t, 0x2005, "31 c9"),          // XORL CX, CX
		at(t, 0x1005, "48 89 48 20"),    // once more: not run either
		at(t, 0x2000, "51"),
		at(t, 0x1005, "48 89 48 20"), // now it is run
		at(t, 0x1009, "90"),
	}
	for i, n := range []uint64{0, 1, 1, 2, 3, 4, 4, 5, 6} {
		raw[i].count = n
	}
	path := uninterrupted(raw)
	if len(path) != 3 || path[1].count != 5 || len(path[1].between) != 5 {
		t.Fatalf("%d entries: %+v", len(path), path)
	}
	w := new(Why)
	if d, ok := w.lastDef(path, 2, register(rcx)); !ok || d.index != 0 {
		t.Errorf("the register: %+v, %v", d, ok)
	}
	if d, ok := w.lastDef(path, 2, place{kind: inMemory, addr: 0x1020, size: 8}); !ok || d.index != 1 {
		t.Errorf("the word: %+v, %v", d, ok)
	}
	if d, ok := w.lastDef(path, 2, place{kind: inMemory, addr: 0x1030, size: 8}); ok || !d.hidden || d.index != 1 {
		t.Errorf("the kernel's word: %+v, %v", d, ok)
	}
	raw[7].gpr[rcx]++ // as a signal's handler may have done
	if path = uninterrupted(raw); len(path) != len(raw)-4 {
		t.Errorf("%d of %d entries, with another value of a register", len(path), len(raw))
	}
}
