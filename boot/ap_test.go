package boot_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// want16 and want32 are the start of another CPU as that CPU decodes it: 48 bytes in 16-bit mode,
// then in 32-bit mode (ap.go has the offsets).
var want16 = strings.Split(strings.TrimSpace(`
cli
cld
xor ebx, ebx
mov bx, cs
mov ds, bx
mov byte ptr [0xfe0], 0x1
shl ebx, 0x4
lgdt ptr [0xfa2]
mov eax, cr0
or al, 0x1
mov cr0, eax
jmp far ptr [0xfa8]
hlt
hlt
hlt
hlt
hlt
hlt
hlt
hlt
hlt
hlt
hlt
`), "\n")

var want32 = strings.Split(strings.TrimSpace(`
mov eax, 0x10
mov ds, ax
mov es, ax
mov ss, ax
lea esp, ptr [ebx+0xf80]
lidt ptr [ebx+0xfe8]
mov byte ptr [ebx+0xfe0], 0x2
mov eax, 0x620
mov cr4, eax
mov eax, dword ptr [ebx+0xfb8]
mov cr3, eax
mov ecx, 0xc0000080
rdmsr
or eax, 0x100
wrmsr
lidt ptr [ebx+0xff0]
mov eax, cr0
and eax, 0x9ffffff3
or eax, 0x80010022
mov cr0, eax
jmp far ptr [ebx+0xfb0]
`), "\n")

func TestAPModes(t *testing.T) {
	code := functionCode(t, "apCode")
	off := 0
	for _, part := range []struct {
		bits int
		want []string
	}{{16, want16}, {32, want32}} {
		for i, want := range part.want {
			inst, err := x86asm.Decode(code[off:], part.bits)
			if err != nil {
				t.Fatalf("%d-bit instruction %d, % x: %v", part.bits, i, code[off:], err)
			}
			if got := x86asm.IntelSyntax(inst, 0, nil); got != want {
				t.Errorf("%d-bit instruction %d is %q; want %q", part.bits, i, got, want)
			}
			off += inst.Len
		}
		if part.bits == 16 && off != 48 {
			t.Fatal(fmt.Sprint("the 16-bit part takes ", off, " bytes; want 48"))
		}
	}
}
