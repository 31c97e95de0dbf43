	.section .text.a,"ax"
	.globl	vectors
vectors:
	jmp	_start
	.fill	60,1,0x12
	nop
	nop
	.section .text.dropped,"ax"
	nop
	nop
	nop
