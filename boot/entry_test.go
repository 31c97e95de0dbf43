package boot_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// The assembler wrote entry as 64-bit code; a CPU runs it in 32-bit mode. This test decodes it as
// that CPU does and compares it with the intended instructions.

// want is the 32-bit part, in the decoder's Go syntax (which calls OUTB OUTL and
// TESTB TESTL). Displacements that the linker fills
// in are X.
var want = strings.Split(strings.TrimSpace(`
MOVL AX, SI
XORL AX, AX
INCL AX
NOPL
TESTL AX, AX
JNE
JMP
CLI
CLD
MOVL 0(BX), DX
LEAL 0x4(BX), SP
CALL
POPL BP
LEAL X, DI
LEAL 0x7(BP)(DI*1), DI
CALL
POPL BP
LEAL X, CX
LEAL 0x7(BP)(CX*1), CX
MOVL DX, 0(BX)
SUBL $0x4, CX
ANDL $0xfffffffc, CX
MOVL 0(CX), AX
MOVL AX, DX
NOTL DX
MOVL DX, 0(CX)
CMPL 0(CX), DX
JNE
MOVL AX, 0(CX)
CMPL 0(CX), AX
JNE
ADDL $0xfff, DI
ANDL $0xfffff000, DI
LEAL 0x7000(DI), SP
MOVL BX, BP
MOVL $0x80000000, AX
CPUID
CMPL AX, $0x80000001
JB
MOVL $0x80000001, AX
CPUID
TESTL $0x20000000, DX
JE
MOVL BP, BX
MOVL DI, DX
XORL AX, AX
MOVL $0x1800, CX
REP; STOSD AX, ES:0(DI)
LEAL 0x1003(DX), AX
MOVL AX, 0(DX)
MOVL AX, 0x8e0(DX)
LEAL 0x2003(DX), AX
MOVL AX, 0x1000(DX)
MOVL AX, 0x1a68(DX)
ADDL $0x1000, AX
MOVL AX, 0x1008(DX)
MOVL AX, 0x1a70(DX)
ADDL $0x1000, AX
MOVL AX, 0x1010(DX)
MOVL AX, 0x1a78(DX)
ADDL $0x1000, AX
MOVL AX, 0x1018(DX)
MOVL AX, 0x1a80(DX)
LEAL 0x2000(DX), DI
MOVL $0x83, AX
MOVL $0x800, CX
MOVL AX, 0(DI)
ADDL $0x8, DI
ADDL $0x200000, AX
SUBL $0x1, CX
JNE
MOVL $0x620, AX
MOVL AX, CR4
MOVL DX, CR3
MOVL $0xc0000080, CX
RDMSR
ORL $0x100, AX
WRMSR
MOVL CR0, AX
ANDL $0x9ffffff3, AX
ORL $0x80010022, AX
MOVL AX, CR0
CALL
POPL BP
LEAL X, DI
LEAL 0x7(BP)(DI*1), DI
PUSHL DI
PUSHL $0x170000
LGDT 0x2(SP)
CALL
POPL BP
LEAL X, DI
LEAL 0x7(BP)(DI*1), DI
PUSHL $0x8
PUSHL DI
LRET
MOVL $0x7000, SP
CALL
POPL BP
LEAL X, DI
LEAL 0x7(BP)(DI*1), DI
JMP
MOVL $0x7000, SP
MOVL CX, 0x8(SP)
LEAL 0x17ffff(CX), AX
SHRL $0x14, AX
XORL BX, BX
XORL CX, CX
XORL DX, DX
MOVL $0xa, SI
DIVL SI
SHLL CL, DX
ORL DX, BX
ADDL $0x4, CX
TESTL AX, AX
JNE
MOVL BX, 0xc(SP)
CALL
POPL BP
LEAL X, DI
LEAL 0x7(BP)(DI*1), DI
CALL
POPL BP
LEAL X, CX
LEAL 0x7(BP)(CX*1), CX
MOVL CX, 0x4(SP)
XORL BP, BP
TESTL BP, BP
JNE
XORL AX, AX
MOVB 0(DI), AL
TESTL AL, AL
JE
ADDL $0x1, DI
CMPL AX, $0xa
JAE
MOVL 0(SP)(AX*4), CX
MOVL $0x8, BP
TESTL $0xf0000000, CX
JNE
SHLL $0x4, CX
SUBL $0x1, BP
JNE
MOVL $0x1, BP
SUBL $0x1, BP
ROLL $0x4, CX
MOVL CX, AX
ANDL $0xf, AX
ADDL $0x30, AX
CMPL AX, $0x3a
JB
ADDL $0x27, AX
MOVL AX, SI
MOVL $0x3fd, DX
INL DX, AL
TESTL $0x20, AL
JE
MOVL $0x3f8, DX
MOVL SI, AX
OUTL AL, DX
JMP
MOVL $0x3fd, DX
INL DX, AL
TESTL $0x40, AL
JE
MOVL $0xf4, DX
INL DX, AL
TESTL AL, AL
JNE
MOVL $0x21, AX
OUTL AX, DX
HLT
JMP
`), "\n")

// normal makes an instruction comparable: it drops the numbers that the linker decides.
func normal(inst x86asm.Inst, text string) string {
	switch {
	case inst.Op == x86asm.CALL, inst.Op == x86asm.JMP, strings.HasPrefix(inst.Op.String(), "J"):
		text = strings.Fields(text)[0]
	case inst.Op == x86asm.LEA:
		if m, ok := inst.Args[1].(x86asm.Mem); ok && m.Base == 0 && m.Index == 0 {
			text = "LEAL X, " + inst.Args[0].String()[1:]
		}
	}
	return text
}

func TestEntryIn32BitMode(t *testing.T) {
	code := entryCode(t)
	var got []string
	for off := 0; off < len(code); {
		inst, err := x86asm.Decode(code[off:], 32)
		if err != nil {
			if len(got) >= len(want) {
				break // alignment after the function
			}
			t.Fatalf("at +%#x: % x: %v", off, code[off:min(off+8, len(code))], err)
		}
		got = append(got, normal(inst, x86asm.GoSyntax(inst, 0, nil)))
		off += inst.Len
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("instruction %d is %q; want %q\nall: %s", i, append(got, "")[i], want[i], strings.Join(got, "\n"))
		}
	}
}

// TestEntryIn64BitMode: the instructions that Linux runs first when it runs the image as a program
// lead to the Go runtime, with all registers but AX and SI intact.
func TestEntryIn64BitMode(t *testing.T) {
	code := entryCode(t)
	var got []string
	for off := 0; len(got) < 6; {
		inst, err := x86asm.Decode(code[off:], 64)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Fields(inst.String())[0])
		off += inst.Len
	}
	// The decoder calls the prefixed NOP by its prefix.
	if got, want := strings.Join(got, " "), "MOV XOR REX TEST JNE JMP"; got != want {
		t.Errorf("entry in 64-bit mode = %s; want %s", got, want)
	}
}

func entryCode(t *testing.T) []byte { return functionCode(t, "entry") }

// functionCode returns the code of one of this package's functions from a linked crash lab.
func functionCode(t *testing.T, name string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "lab")
	cmd := exec.Command("go", "build", "-o", out, "-ldflags=-T 0x200000 -E github.com/zeroframe/zeroframe/boot.entry", "../kernel/crashlab")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if strings.TrimSuffix(s.Name, ".abi0") == "github.com/zeroframe/zeroframe/boot."+name && (name != "entry" || s.Value == f.Entry) {
			sect := f.Sections[s.Section]
			b := make([]byte, s.Size)
			if _, err := sect.ReadAt(b, int64(s.Value-sect.Addr)); err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("the image has no symbol boot.%s, at its entry address if that is entry", name)
	return nil
}
