# The kernel of ../probe.go, for GNU as: it does in a few instructions what a virtual
# processor has to be able to do for a real kernel.
	.intel_syntax noprefix
	.code32
# Multiboot: load this file at 1 MiB, enter it behind this header.
base:	.long 0x1badb002, 0x10000, -(0x1badb002 + 0x10000)
	.long 0x100000, 0x100000, 0, 0, 0x100020
# Page tables: the first 2 MiB as one page.
	cli
	cld
	xor eax, eax
	mov edi, 0x180000
	mov ecx, 0xc00
	rep stosd
	mov dword ptr [0x180000], 0x181003
	mov dword ptr [0x181000], 0x182003
	mov dword ptr [0x182000], 0x83
	mov eax, 0x180000
	mov cr3, eax
# CR4: PAE, OSFXSR, OSXMMEXCPT. EFER: LME. CR0: PG, MP, PE.
	mov eax, cr4
	or eax, 0x620
	mov cr4, eax
	mov ecx, 0xc0000080
	rdmsr
	or eax, 0x100
	wrmsr
	mov eax, cr0
	and eax, ~4
	or eax, 0x80000003
	mov cr0, eax
	lgdt [0x100000 + gdtr - base]
	.byte 0xea
	.long 0x100000 + long - base
	.word 8
# Long mode. The IDT has one gate, for INT3, and a trap goes through it.
	.code64
long:	mov esp, 0x180000
	lea rax, [rip + handler]
	mov edi, 0x170030
	mov word ptr [rdi], ax
	mov dword ptr [rdi+2], 0x8e000008
	shr rax, 16
	mov word ptr [rdi+6], ax
	mov qword ptr [rdi+8], 0
	lidt [rip + idtr]
	int3
	fxsave [rsp-512]
	xor eax, eax
	cpuid
	rdtsc
# The exit status: ExitOK.
	mov eax, 0x20
	out 0xf4, eax
1:	hlt
	jmp 1b
handler: iretq
	.balign 8
gdt:	.quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff
gdtr:	.word 23
	.long 0x100000 + gdt - base
idtr:	.word 0x3f
	.quad 0x170000
