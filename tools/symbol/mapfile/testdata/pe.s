	.text
	.globl mainCRTStartup
mainCRTStartup:
	call work
	call helper
	ret
	.p2align 4
	.def work; .scl 2; .type 32; .endef
	.globl work
work:
	nop
	nop
	ret
	.def helper; .scl 3; .type 32; .endef
helper:
	nop
	jmp work
	.data
	.globl counter
counter: .long 7
	.bss
	.globl room
room: .space 64
