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
