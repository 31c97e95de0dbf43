package code

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestDecodeAgainstObjdump decodes all text of a Go program and of a C program
// with a whole C library in it (hand-written SSE, AVX, AVX-512), and compares
// each length and each target with objdump's. It logs where x86asm fails.
func TestDecodeAgainstObjdump(t *testing.T) {
	for _, c := range []struct {
		name, file string
	}{{"go", buildGo(t)}, {"gcc", buildC(t, "-static")}} {
		t.Run(c.name, func(t *testing.T) {
			text := textOf(t, c.file)
			bytesSeen, insts, wrong, asmBad, asmWrong, asmBytes := 0, 0, 0, 0, 0, 0
			objdump(t, c.file, func(pc uint64, b []byte, words []string) {
				off := pc - text.Addr
				if words[0] == "(bad)" || off >= uint64(len(text.Bytes)) {
					return
				}
				i := Decode(text.Bytes[off:])
				insts++
				bytesSeen += len(b)
				if i.Len != len(b) || i.Op == Bad {
					if wrong++; wrong < 20 {
						t.Errorf("%#x: % x: %v, %d bytes; objdump has %s, %d bytes", pc, b, i.Op, i.Len, strings.Join(words, " "), len(b))
					}
				}
				if why := flowDiffers(&i, pc, words); why != "" {
					if wrong++; wrong < 20 {
						t.Errorf("%#x: % x (%s): %s", pc, b, strings.Join(words, " "), why)
					}
				}
				switch a, err := x86asm.Decode(text.Bytes[off:], 64); {
				case err != nil:
					asmBad++
					asmBytes += len(b)
				case a.Len != len(b):
					asmWrong++
					if a.Op != x86asm.VZEROUPPER && a.Op != x86asm.VZEROALL && wrong < 20 {
						t.Logf("x86asm takes % x (%s) to be %d bytes", b, strings.Join(words, " "), a.Len)
					}
				}
			})
			if insts < 10000 {
				t.Fatalf("objdump gave %d instructions only", insts)
			}
			t.Logf("%d instructions, %d bytes: %d wrong; x86asm does not know %d (%.3f %% of the instructions, %.3f %% of the bytes) and takes %d to be of another length",
				insts, bytesSeen, wrong, asmBad, 100*float64(asmBad)/float64(insts), 100*float64(asmBytes)/float64(bytesSeen), asmWrong)
		})
	}
}

// objdump calls f for each instruction in the text of the file.
func objdump(t *testing.T, file string, f func(pc uint64, b []byte, words []string)) {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "-z", "-w", "-j", ".text", file).Output()
	if err != nil {
		t.Fatalf("objdump %s: %v (the tests need gcc and binutils)", filepath.Base(file), err)
	}
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f3 := strings.SplitN(s.Text(), "\t", 3)
		if len(f3) != 3 {
			continue
		}
		pc, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(f3[0]), ":"), 16, 64)
		b, err2 := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(f3[1]), " ", ""))
		words := strings.Fields(f3[2])
		if err == nil && err2 == nil && len(words) > 0 {
			f(pc, b, words)
		}
	}
}

// flowDiffers compares the flow of control with what objdump wrote.
func flowDiffers(i *Inst, pc uint64, words []string) string {
	for len(words) > 1 {
		switch strings.SplitN(words[0], ".", 2)[0] {
		case "notrack", "bnd", "rep", "repz", "repnz", "lock", "data16", "cs", "ds", "es", "ss", "addr32", "rex":
			words = words[1:]
			continue
		}
		if strings.HasSuffix(words[0], ",pt") || strings.HasSuffix(words[0], ",pn") {
			words[0] = words[0][:len(words[0])-3]
		}
		break
	}
	op := words[0]
	target, indirect := uint64(0), false
	if len(words) > 1 {
		indirect = strings.HasPrefix(words[1], "*")
		target, _ = strconv.ParseUint(words[1], 16, 64)
	}
	want := Other
	switch {
	case strings.HasPrefix(op, "call") && indirect, op == "lcall":
		want = CallIndirect
	case strings.HasPrefix(op, "call"):
		want = Call
	case op == "jmp" && indirect, op == "ljmp":
		want = JumpIndirect
	case op == "jmp":
		want = Jump
	case strings.HasPrefix(op, "j"), strings.HasPrefix(op, "loop"):
		want = Branch
	case strings.HasPrefix(op, "ret"), strings.HasPrefix(op, "iret"), strings.HasPrefix(op, "sysret"), strings.HasPrefix(op, "lret"):
		want = Return
	case strings.HasPrefix(op, "ud"):
		want = Trap
	case op == "int3":
		want = Break
	}
	got := i.Op
	switch {
	case got == Nop && want == Other && (strings.HasPrefix(op, "nop") || op == "xchg" || op == "data16"):
		return ""
	case got == JumpTable && want == JumpIndirect && strings.HasSuffix(words[1], ",8)"):
		return ""
	case got != want:
		return "decoded as " + strconv.Itoa(int(got)) + ", want " + strconv.Itoa(int(want))
	case i.Direct() && i.Target(pc) != target:
		return "goes to " + strconv.FormatUint(i.Target(pc), 16)
	}
	return ""
}

// textOf returns the .text of an ELF file.
func textOf(t testing.TB, file string) Segment {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".text")
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return Segment{Addr: s.Addr, Bytes: b}
}

func TestDecodeShort(t *testing.T) {
	for _, s := range []string{"", "66", "48", "e8", "e8010203", "0f", "0f38", "c5", "c4e2", "62f17c48", "8f08",
		"ff", "c7", "48b80102030405", "a1020304050607", "8b0425010203", "666666666666666666666666666690cc"} {
		b, _ := hex.DecodeString(s)
		if i := Decode(b); i.Op == Bad != (len(b) < 15) || i.Op == Bad && i.Len != 1 {
			t.Errorf("Decode(%s) = %+v", s, i)
		}
	}
	long, _ := hex.DecodeString("66666666666666666666666666666690")
	if i := Decode(long); i.Op != Bad {
		t.Errorf("Decode(16 bytes) = %+v; want Bad", i)
	}
}

// FuzzDecode: any bytes give a length within them, and the one that x86asm gives
// when it knows the instruction.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"e800000000", "ff5008", "c5f877", "62f17c4810041d01000000", "0f1f4400000000", "f30f1efa",
		"48b80102030405060708", "ff24c508000000", "8fe97812c0", "f6042501020304ff"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		i := Decode(b)
		if i.Len < 1 || i.Op != Bad && (i.Len > len(b) || i.Len > maxInst) {
			t.Fatalf("Decode(% x) = %+v", b, i)
		}
		a, err := x86asm.Decode(b, 64)
		if err != nil || a.Op == 0 || a.Op == x86asm.VZEROUPPER || a.Op == x86asm.VZEROALL || i.Op == Bad {
			return
		}
		if odd(b) || i.code&mapVEX != 0 && i.code>>8&0xf > 3 { // x86asm knows no half-precision floats
			return
		}
		if a.Len != i.Len {
			t.Fatalf("% x: %d bytes; x86asm has %v, %d bytes", b[:min(len(b), maxInst)], i.Len, a, a.Len)
		}
	})
}

// odd reports whether b has what no compiler writes and x86asm takes otherwise
// than CPUs do: more than one prefix, or one before a jump or a call.
func odd(b []byte) bool {
	n := 0
	for ; n < len(b); n++ {
		switch b[n] {
		case 0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65:
			continue
		}
		break
	}
	return n > 1
}
