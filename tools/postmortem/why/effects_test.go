package why

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// at makes an entry of an instruction, with RAX = 0x1000, RCX = 0x2000 and so on.
func at(t testing.TB, pc uint64, code string) entry {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	in, err := x86asm.Decode(b, 64)
	if err != nil || in.Len != len(b) {
		t.Fatalf("%s: %v, %v", code, in, err)
	}
	e := entry{pc: pc, inst: in}
	for i := range e.gpr {
		e.gpr[i] = uint64(i+1) << 12
	}
	e.fs = 0x70000
	return e
}

var makings = map[making]string{copied: "copied", computed: "computed", constant: "constant", input: "input", unknown: "unknown"}

func TestEffects(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"48 8b 48 10", "RCX copied 0x1010"},                                // MOVQ 0x10(AX), CX
		{"48 89 48 10", "0x1010 copied RCX"},                                // MOVQ CX, 0x10(AX)
		{"c7 40 1c 01 00 00 00", "0x101c constant 1"},                       // MOVL $1, 0x1c(AX)
		{"31 c0", "RAX constant 0"},                                         // XORL AX, AX
		{"31 c8", "RAX computed RAX RCX"},                                   // XORL CX, AX
		{"48 8d 04 c8", "RAX computed RAX RCX"},                             // LEAQ (AX)(CX*8), AX
		{"48 8d 05 10 00 00 00", "RAX constant 4119"},                       // LEAQ 0x10(IP), AX
		{"48 01 c8", "RAX computed RAX RCX"},                                // ADDQ CX, AX
		{"50", "0x4ff8 copied RAX, RSP computed RSP"},                       // PUSHQ AX
		{"58", "RAX copied 0x5000"},                                         // POPQ AX
		{"e8 00 00 00 00", "0x4ff8 constant 4101"},                          // CALL
		{"48 87 08", "0x1000 copied RCX, RCX copied 0x1000"},                // XCHGQ CX, (AX)
		{"f0 48 0f c1 08", "0x1000 computed 0x1000 RCX, RCX copied 0x1000"}, // LOCK XADDQ CX, (AX)
		{"64 48 8b 0c 25 f8 ff ff ff", "RCX copied 0x6fff8"},                // MOVQ FS:0xfffffff8, CX
		{"44 0f 11 78 10", "0x1010 copied X15"},                             // MOVUPS X15, 0x10(AX)
		{"48 f7 f9", "RAX computed RAX RCX RDX, RDX computed RAX RCX RDX"},  // IDIVQ CX
		{"48 ab", "0x8000 copied RAX"},                                      // STOSQ
		{"48 a5", "0x8000 copied 0x7000"},                                   // MOVSQ
		{"ec", "RAX input"},                                                 // INB DX
		{"0f b6 48 03", "RCX copied 0x1003"},                                // MOVZX 0x3(AX), CX
		{"48 39 c8", ""},                                                    // CMPQ AX, CX
		{"75 10", ""},                                                       // JNE
		{"0f 31", "RAX input, RDX input"},                                   // RDTSC
	} {
		e := at(t, 0x1000, c.code)
		var all []string
		for _, f := range e.effects(nil) {
			s := fmt.Sprint(f.to, " ", makings[f.how])
			if f.how == constant {
				s += fmt.Sprint(" ", f.value)
			}
			for _, p := range f.from {
				s += " " + p.String()
			}
			all = append(all, s)
		}
		if got := strings.Join(all, ", "); got != c.want {
			t.Errorf("%s (%v): %s; want %s", c.code, e.inst, got, c.want)
		}
	}
}

// TestLastDef: the last instruction that has written a place is found, and of a copy where the part
// comes from that was asked for.
func TestLastDef(t *testing.T) {
	path := []entry{
		at(t, 0x1000, "48 8b 48 10"), // MOVQ 0x10(AX), CX
		at(t, 0x1004, "48 89 48 20"), // MOVQ CX, 0x20(AX)
		at(t, 0x1008, "0f 10 40 20"), // MOVUPS 0x20(AX), X0
		at(t, 0x100c, "0f 11 40 40"), // MOVUPS X0, 0x40(AX)
		at(t, 0x1010, "31 d2"),       // XORL DX, DX
		at(t, 0x1012, "31 d2"),       // an interrupt comes in front of it
		at(t, 0x2000, "6a 20"),       // PUSHQ $32: the interrupt's entry
	}
	for i := range path {
		path[i].count = uint64(min(i, 5))
	}
	w := new(Why)
	p, i := place{kind: inMemory, addr: 0x1048, size: 8}, len(path)
	var way []string
	for {
		d, ok := w.lastDef(path, i, p)
		if !ok {
			break
		}
		way = append(way, fmt.Sprintf("%d %v+%d", d.index, d.source, d.source.addr&15))
		p, i = d.source, d.index
	}
	if got, want := strings.Join(way, ", "), "3 X0+8, 2 0x1028+8"; got != want {
		t.Errorf("the upper half of a vector: %s; want %s", got, want)
	}
	p, i = place{kind: inMemory, addr: 0x1040, size: 4}, len(path)
	for way = nil; ; {
		d, ok := w.lastDef(path, i, p)
		if !ok {
			break
		}
		way = append(way, fmt.Sprintf("%d %v", d.index, d.source))
		p, i = d.source, d.index
	}
	if got, want := strings.Join(way, ", "), "3 X0, 2 0x1020, 1 RCX, 0 0x1010"; got != want {
		t.Errorf("a word: %s; want %s", got, want)
	}
	if d, ok := w.lastDef(path, len(path), register(rdx)); !ok || d.index != 4 || d.effect.how != constant {
		t.Errorf("RDX: %+v, %v", d, ok)
	}
	if _, ok := w.lastDef(path, len(path), register(rbx)); ok {
		t.Error("RBX was found, and nothing writes it")
	}
}

// FuzzEffects: no instruction makes it fail.
func FuzzEffects(f *testing.F) {
	for _, s := range []string{"\x48\x8b\x48\x10", "\xf0\x48\x0f\xc1\x08", "\x0f\xc7\xf0", "\x66\x0f\x7f\x07", "\xc5\xfe\x6f\x07"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := x86asm.Decode(b, 64)
		if err != nil {
			return
		}
		e := entry{pc: 0x1000, inst: in}
		after := e.state
		after.gpr[3]++
		for _, fx := range e.effects(&after) {
			if fx.to.kind == 0 || fx.how == 0 || fx.to.kind != inMemory && (fx.to.reg < 0 || fx.to.reg > 15) {
				t.Errorf("%v: %+v", in, fx)
			}
		}
	})
}
