	.section .text.other,"ax"
	.globl	other
other:
	nop
	nop
	nop
	ret
