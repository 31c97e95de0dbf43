package why

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestFrameless: a function has its caller's frame pointer until it has set its own, if it ever
// does.
func TestFrameless(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
		has  int // bytes of it before which there is no frame; -1: all of them
	}{
		{"leaf", []byte{0x48, 0x89, 0x08, 0xc3}, -1},                                                        // MOV [RAX], RCX; RET
		{"pushed", []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x08}, 4},             // PUSH RBP; MOV RBP, RSP; SUB RSP, 16
		{"large", []byte{0x48, 0x89, 0xac, 0x24, 0, 1, 0, 0, 0x48, 0x8d, 0xac, 0x24, 0, 1, 0, 0, 0xc3}, 16}, // MOV [RSP+256], RBP; LEA RBP, [RSP+256]
	} {
		m := &machine{insts: map[uint64]x86asm.Inst{}, funcStart: func(uint64) (uint64, bool) { return 0x1000, true }}
		for at := 0; at < len(tt.code); {
			in, err := x86asm.Decode(tt.code[at:], 64)
			if err != nil {
				t.Fatal(tt.name, err)
			}
			m.insts[0x1000+uint64(at)] = in
			at += in.Len
			if got, want := m.frameless(0x1000+uint64(at)), tt.has < 0 || at < tt.has; got != want {
				t.Errorf("%s: frameless %v at %d", tt.name, got, at)
			}
		}
	}
}

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
